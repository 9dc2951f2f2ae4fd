import { type DueDeletion, type KnownDepartment, planDeletions } from '../../directory/department.ts'
import { qualified } from '../../directory/employee.ts'
import type { DepartmentCount, DepartmentsInHr, HrDepartmentRow } from '../../hr/departments.ts'
import { HrDeliveryError } from '../../hr/source.ts'
import { hrSettingOf, type NamedSource, type SourceScope } from '../../hr/sources.ts'
import { type ClientBase, databaseTime, type Pool } from '../../lib/database.ts'
import { traced } from '../../lib/tracing.ts'
import { type Message, message, type Said, saidBy } from '../../texts/message.ts'
import { beginRetry, unwantedDepartmentCases } from '../cases/retries.ts'
import { IS_UNLOCATED } from '../outbox/claim.ts'
import { enterprisesIn } from '../outbox/employee.ts'
import { addWork, PRIORITY, type Work } from '../outbox/outbox.ts'
import { lastFullReading, lastPlanPassed } from '../runs/earlier-runs.ts'
import { restoredSince } from '../runs/restored.ts'
import {
  type CheckedPlan,
  EMPLOYEE_KINDS,
  EMPLOYEE_KINDS_SQL,
  heldRun,
  heldRuns,
  IN_PARTS,
  IS_HELD_WHOLE,
  isHeldWhole,
  NOT_BEGUN,
  noWork,
  planFigures,
  runsInParts,
} from '../runs/run.ts'
import { missingEmployees, type RunLimits, trips } from '../runs/safety.ts'

/** HR's current departments, merged into the stored ones, and the deletions that follow from them. */
export interface DepartmentFacts {
  /** Departments that HR delivers; without any, nothing is stored and nothing is to be deleted. */
  inHr: number
  /** Departments not deleted yet. */
  total: number
  /** Why their employees are uncertain, so that none may be deleted; null when they are certain. */
  doubt: { isSuspect: boolean; message: Said } | null
  /**
   * Someone of an enterprise who may be in any department, as the platform has not told where they are. None of its departments may
   * be deleted.
   */
  unlocated: ReadonlyMap<string, string>
  /**
   * Enterprises with departments of which HR delivers none. It has not closed them all: more likely it has lost the enterprise, or that is
   * not the source's. None of its departments may be deleted.
   */
  lost: ReadonlySet<string>
  /** A run's deletions, without those that failed before: they wait for the retry of their case. */
  deletions: DueDeletion[]
  /** How many of these wait for the decision about a run that is held as a whole: those of its plan, or all once it has grown. */
  stillHeld: number
  /** Everything that HR wants deleted, whatever its state so far. */
  wanted: DueDeletion[]
  /** Departments whose deletion a person has rejected, by `qualified`, and the run with which that was. */
  rejected: ReadonlyMap<string, number>
}

export type DepartmentLimits = Pick<RunLimits, 'gate' | 'departmentGraceMs'>

/** Plans a run that deletes a source's departments. */
export async function planDepartments(
  db: ClientBase,
  source: NamedSource,
  limits: RunLimits,
  signal: AbortSignal,
): Promise<CheckedPlan> {
  if (!source.hr.hasDepartments) return noWork('running', withoutDepartments(source), 0)
  // While HR is in doubt, nothing tells that it no longer wants what a plan holds.
  const undecidedInDoubt = async (held: number) => ({
    count: (await storedDeletions(db, held)).length,
    changed: null,
  })
  let inHr: DepartmentsInHr
  try {
    inHr = await traced('read HR', () => source.hr.departments({ signal }))
  } catch (error) {
    // The runs of employees, which come more often, say that HR is suspect, and when it no longer is.
    if (error instanceof HrDeliveryError)
      return { ...noWork('running', saidBy(error)), undecided: undecidedInDoubt }
    throw error
  }
  // Locked before departments are, as by decisions; and not while HR is read, which may take long.
  const inParts = await runsInParts(db, source.name, true)
  const facts = await departmentFacts(db, source, inHr, limits)
  const { total, deletions, wanted, doubt, unlocated, lost } = facts
  const { state, message: why } = departmentsVerdict(facts, limits)
  const isWanted = new Set(wanted.map(departmentName))
  if (state !== 'held' && (doubt || state === 'source_suspect'))
    return { ...noWork(state, why ?? [], total), undecided: undecidedInDoubt }
  // Of a plan that is held whole, only what waits for the platform, or for HR, is not planned anew.
  const undecided = async (held: number) => {
    const stored = (await storedDeletions(db, held)).filter(
      ({ enterpriseCode }) =>
        inParts.includes(held) || unlocated.has(enterpriseCode) || lost.has(enterpriseCode),
    )
    return { stored, wanted: stored.filter(one => isWanted.has(nameOf(one))) }
  }
  const work = deletions.map(
    ({ enterpriseCode, deptCode, wave }): Work => ({
      operation: 'delete-department',
      enterpriseCode,
      entityKey: deptCode,
      detail: '',
      wave,
    }),
  )
  return {
    planned: {
      state,
      inScope: total,
      plan: planFigures('delete', work.map(nameOf)),
      ...(why && { message: why }),
    },
    apply: async id => {
      // A case whose department HR wants to keep after all ends when its job finds nothing to do.
      const unwanted = await beginRetry(db, await unwantedDepartmentCases(db, wanted, source.codes), id)
      await addWork(db, id, PRIORITY.background, unwanted)
      await addWork(db, id, PRIORITY.background, work)
    },
    store: id => storeDeletions(db, id, work),
    changedSince: async held => {
      const stored = new Set((await storedDeletions(db, held)).map(nameOf))
      const now = new Set([...work, ...(await undecided(held)).wanted].map(nameOf))
      return [...stored, ...now].filter(name => !stored.has(name) || !now.has(name)).length
    },
    outgrows: async held => {
      const stored = new Set((await storedDeletions(db, held)).map(nameOf))
      const joined = work.filter(one => !stored.has(nameOf(one))).length
      return trips(limits.departments, joined, total)
    },
    undecided: async held => {
      const { stored, wanted } = await undecided(held)
      return { count: wanted.length, changed: stored.length - wanted.length }
    },
  }
}

/** The state that a run reaches by these facts, and why it deletes nothing at once; null: it does what is to be done. */
export function departmentsVerdict(
  facts: DepartmentFacts,
  limits: Pick<RunLimits, 'departments'>,
): { state: 'running' | 'held' | 'source_suspect'; message: Said | null } {
  const { inHr, total, doubt, deletions, stillHeld } = facts
  if (doubt) return { state: doubt.isSuspect ? 'source_suspect' : 'running', message: doubt.message }
  if (inHr === 0 && total > 0)
    return {
      state: 'source_suspect',
      message: message('said.suspect', { reason: message('said.no_departments') }),
    }
  const changing = deletions.length
  const staying = stayingOf(facts)
  const isMuch = trips(limits.departments, changing, total)
  if (!isMuch && stillHeld === 0) return { state: 'running', message: staying.length > 0 ? staying : null }
  const why = isMuch
    ? message('said.departments_go', { changing, total, ...limits.departments })
    : message('said.still_held', { count: stillHeld })
  return { state: 'held', message: [why, ...staying] }
}

/** Why departments stay that HR wants deleted, or no longer has; empty: none does for want of knowledge. */
function stayingOf({ wanted, unlocated, lost }: DepartmentFacts): Message[] {
  const one = wanted.find(({ enterpriseCode }) => unlocated.has(enterpriseCode) && !lost.has(enterpriseCode))
  return [
    ...(one ? [employeeUnlocated(one.enterpriseCode, unlocated)] : []),
    ...[...lost].map(enterpriseLost),
  ]
}

export function withoutDepartments(
  { codes }: Pick<SourceScope, 'codes'>,
  key: 'said.no_departments_sql' | 'said.older_without_departments' = 'said.no_departments_sql',
): Message {
  return message(key, { setting: hrSettingOf(codes !== null, 'departments_sql') })
}

export function employeeUnlocated(enterpriseCode: string, unlocated: DepartmentFacts['unlocated']): Message {
  return message('said.employee_unlocated', {
    name: qualified(enterpriseCode, unlocated.get(enterpriseCode) ?? ''),
  })
}

export function enterpriseLost(code: string): Message {
  return code === '' ? message('said.own_enterprise_lost') : message('said.enterprise_lost', { code })
}

/** A department as people name it. */
export function departmentName({
  enterpriseCode,
  deptCode,
}: Pick<KnownDepartment, 'enterpriseCode' | 'deptCode'>): string {
  return qualified(enterpriseCode, deptCode)
}

function nameOf({ enterpriseCode, entityKey }: Work): string {
  return qualified(enterpriseCode, entityKey)
}

/** Stores a source's departments as HR has delivered them, and plans deletions. Other sources' are left alone. */
export async function departmentFacts(
  db: ClientBase | Pool,
  source: NamedSource,
  inHr: DepartmentsInHr,
  limits: DepartmentLimits,
): Promise<DepartmentFacts> {
  return checked(db, source, await remembered(db, source, inHr), limits)
}

/** A source's departments in HR at one moment. */
export interface DepartmentReading {
  departments: number
  /** Enterprises with a department. */
  delivering: ReadonlySet<string>
  counts: DepartmentCount[]
  /** As of `DepartmentsInHr`. */
  mapping: string
}

/** Stores a source's departments as HR has delivered them. */
export async function remembered(
  db: ClientBase | Pool,
  { codes }: NamedSource,
  { departments: delivered, employees, mapping }: DepartmentsInHr,
): Promise<DepartmentReading> {
  const isOwn = ({ enterpriseCode }: { enterpriseCode: string }) => !codes || codes.includes(enterpriseCode)
  const departments = delivered.filter(isOwn)
  if (departments.length > 0) await rememberDepartments(db, departments, codes)
  const delivering = new Set(departments.map(({ enterpriseCode }) => enterpriseCode))
  return { departments: departments.length, delivering, counts: employees.filter(isOwn), mapping }
}

/** Plans the deletions that follow from the stored departments. */
export async function checked(
  db: ClientBase | Pool,
  source: NamedSource,
  { departments: inHr, delivering, counts, mapping }: DepartmentReading,
  { gate, departmentGraceMs }: DepartmentLimits,
): Promise<DepartmentFacts> {
  const known = await knownDepartments(db, counts, source.codes)
  const kept = known.filter(department => !department.deleted)
  const total = kept.length
  const lost = new Set(kept.map(({ enterpriseCode }) => enterpriseCode).filter(code => !delivering.has(code)))
  const doubt = await doubtOf(db, source, { counts, mapping }, gate)
  const unlocated = await unlocatedIn(db, source.codes)
  const rejected = new Map(
    known.flatMap(one => (one.rejectedRun === null ? [] : [[departmentName(one), one.rejectedRun] as const])),
  )
  const nothing = { deletions: [], stillHeld: 0, wanted: [] }
  if (inHr === 0 || doubt) return { inHr, total, doubt, unlocated, lost, rejected, ...nothing }
  const all = known.map(department => ({ ...department, setAside: false }))
  const now = await databaseTime(db)
  const deletions = planDeletions(known, now, departmentGraceMs).filter(
    ({ enterpriseCode }) => !lost.has(enterpriseCode) && !unlocated.has(enterpriseCode),
  )
  const due = new Set(deletions.map(departmentName))
  const held = await heldRun(db, ['departments'], source.name)
  const waits = isHeldWhole(held) && held.grown ? known : known.filter(({ isHeld }) => isHeld)
  return {
    inHr,
    total,
    doubt,
    unlocated,
    lost,
    rejected,
    deletions,
    stillHeld: waits.filter(one => due.has(departmentName(one))).length,
    wanted: planDeletions(all, now, departmentGraceMs),
  }
}

/**
 * A department's staff is trusted as far as the sanity gate and the breaker trust HR's employees: a deletion cannot be undone.
 */
async function doubtOf(
  db: ClientBase | Pool,
  source: SourceScope,
  { counts, mapping }: Pick<DepartmentReading, 'counts' | 'mapping'>,
  gate: RunLimits['gate'],
): Promise<DepartmentFacts['doubt']> {
  const last = await lastFullReading(db, source)
  const suspect = last && missingEmployees(sum(counts), last.statistics, gate)
  if (suspect) return { isSuspect: true, message: message('said.suspect', { reason: suspect }) }
  const unpassed = await unpassedEmployees(db, source, mapping)
  return unpassed && { isSuspect: false, message: unpassed }
}

/**
 * Why runs of employees leave it open whether a source's are right; null: they do not.
 * @param mapping fingerprint of the one in use: by another, employees may be in other departments; null: it is not known
 */
export async function unpassedEmployees(
  db: ClientBase | Pool,
  source: SourceScope,
  mapping: string | null = null,
): Promise<Message | null> {
  const last = await lastFullReading(db, source)
  const isSince = last !== null && !(await restoredSince(db, last.at))
  if (isSince && (await lastPlanPassed(db, source.name))) {
    if (mapping === null || mapping === last.mapping) return null
    if (last.mapping !== null) return message('said.mapping_differs')
  }
  const held = (await heldRuns(db)).find(
    ({ kind, source: of }) => of === source.name && EMPLOYEE_KINDS.includes(kind),
  )
  if (held) return message('said.employees_held', { run: held.id })
  return message((await hadRun(db, source)) ? 'said.employees_unread' : 'said.employees_never_read')
}

/** Whether there is a run of employees to look at. */
async function hadRun(db: ClientBase | Pool, { name }: SourceScope): Promise<boolean> {
  const { rows } = await db.query(
    `select from dirsync.sync_run where kind in ${EMPLOYEE_KINDS_SQL} and hr_source = $1 limit 1`,
    [name],
  )
  return rows.length > 0
}

/** Of each enterprise among some, an employee of whom the platform is yet to tell where they are. @param codes null: all */
export async function unlocatedIn(
  db: ClientBase | Pool,
  codes: SourceScope['codes'] = null,
): Promise<DepartmentFacts['unlocated']> {
  const { rows } = await db.query<{ code: string; userid: string }>(
    `select code, e.userid from (${enterprisesIn('department')}) known
     cross join lateral (
       select userid from dirsync.employee
       where enterprise_code = known.code and ${IS_UNLOCATED} limit 1) e
     where $1::text[] is null or code = any ($1)`,
    [codes],
  )
  return new Map(rows.map(({ code, userid }) => [code, userid]))
}

function sum(counts: readonly DepartmentCount[]): number {
  return counts.reduce((total, { employees }) => total + employees, 0)
}

/**
 * Stores HR's current departments: new, closed, reopened and missing ones. Other rows are not touched, and rows are locked in
 * the order of their keys, as jobs of several workers store the same. None is missing of an enterprise that delivers no department:
 * that is lost as a whole.
 * @param codes the source's enterprises; null: all
 */
export async function rememberDepartments(
  db: ClientBase | Pool,
  seen: HrDepartmentRow[],
  codes: SourceScope['codes'],
): Promise<void> {
  await db.query(
    `with seen as materialized (
       select "enterpriseCode" as enterprise_code, "deptCode" as dept_code, "parentCode" as parent_code, active,
              "closedAt" as closed_at
       from jsonb_to_recordset($1) as s (
         "enterpriseCode" text, "deptCode" text, "parentCode" text, active boolean, "closedAt" timestamptz)
     ), differing as materialized (
       select d.enterprise_code, d.dept_code, s.dept_code is null as missing,
              d.enterprise_code not in (select enterprise_code from seen) as lost
       from dirsync.department d
       left join seen s using (enterprise_code, dept_code)
       where case when d.enterprise_code not in (select enterprise_code from seen)
                  then not d.lost and ($2::text[] is null or d.enterprise_code = any ($2))
                  when s.dept_code is null then d.first_missing_at is null or d.lost
                  else (d.parent_code, d.active) is distinct from (s.parent_code, s.active)
                    or d.first_missing_at is not null or d.lost
                    or s.active and (d.closed_at is not null or d.deleted_at is not null)
                    or not s.active and (d.closed_at is null or d.closed_at <> s.closed_at) end
       order by 1, 2 for update of d
     ), missing as (
       update dirsync.department d
       set lost = f.lost, first_missing_at = coalesce(d.first_missing_at, case when not f.lost then now() end)
       from differing f
       where f.missing and d.enterprise_code = f.enterprise_code and d.dept_code = f.dept_code
     )
     insert into dirsync.department as d (enterprise_code, dept_code, parent_code, active, closed_at)
     select enterprise_code, dept_code, s.parent_code, s.active,
            case when not s.active then coalesce(s.closed_at, known.closed_at, now()) end
     from seen s
     left join dirsync.department known using (enterprise_code, dept_code)
     left join differing f using (enterprise_code, dept_code)
     where known.dept_code is null or f.dept_code is not null
     order by 1, 2
     on conflict (enterprise_code, dept_code) do update
     set parent_code = excluded.parent_code, active = excluded.active, first_missing_at = null,
         lost = false, closed_at = excluded.closed_at,
         -- A department that HR opens again may be closed and deleted again.
         deleted_at = case when excluded.active then null else d.deleted_at end,
         rejected_run = case when excluded.active = d.active and d.first_missing_at is null
                              and excluded.parent_code is not distinct from d.parent_code then d.rejected_run end,
         parked_at = case when excluded.active is distinct from d.active then null else d.parked_at end`,
    [JSON.stringify(seen), codes],
  )
}

/** The enterprises with departments of which HR delivered none when they were last read. */
export async function lostEnterprises(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ code: string }>(
    `select code from (${enterprisesIn('department')}) known
     where exists (select from dirsync.department
                   where enterprise_code = known.code and lost and deleted_at is null)
     order by code`,
  )
  return rows.map(({ code }) => code)
}

/** Condition on a department `d`: its deletion `w` is in the plan of an unfinished run `r` that meets a condition. */
const isPlannedBy = (condition: string) => `exists (
  select from dirsync.sync_run r
  join dirsync.planned_work w on w.run_id = r.id and w.operation = 'delete-department'
    and w.enterprise_code = d.enterprise_code and w.entity_key = d.dept_code
  where r.finished_at is null and ${condition})`

/**
 * Condition on a department `d`, see `setAside` of a known one. Of a plan that is decided in parts, what is not decided, or has
 * not begun, is.
 */
export const IS_SET_ASIDE = `(d.parked_at is not null or d.rejected_run is not null
  or ${isPlannedBy(`${IN_PARTS} and ${NOT_BEGUN}`)})`

/** SQL: since when HR has closed or lacks a department, from which `planDeletions` counts its grace period; null while HR has it. */
export function closedSince(d: string): string {
  return `coalesce(case when not ${d}.active then ${d}.closed_at end, ${d}.first_missing_at)`
}

/** Condition: an update whose outcome is not known may have moved employee `e` to department `d`. */
export const IS_MOVING = `e.enterprise_code = d.enterprise_code and e.moving_to = d.dept_code
  and e.dept_code is distinct from d.dept_code`

interface StoredDepartment extends KnownDepartment {
  /** The run with which a person rejected its deletion; null: none, or HR has changed it since. */
  rejectedRun: number | null
  /** A run that is held as a whole would delete it. */
  isHeld: boolean
}

/**
 * Every department of some enterprises with its employees: in HR (counted by the caller), as known of the platform, and those whom
 * an update whose outcome is not known may have moved to it.
 */
export async function knownDepartments(
  db: ClientBase | Pool,
  employeesInHr: DepartmentCount[],
  codes: SourceScope['codes'],
): Promise<StoredDepartment[]> {
  const { rows } = await db.query<StoredDepartment>(
    `select d.enterprise_code as "enterpriseCode", d.dept_code as "deptCode", d.parent_code as "parentCode",
            d.active, d.closed_at as "closedAt", d.first_missing_at as "missingSince",
            d.deleted_at is not null as deleted,
            ${IS_SET_ASIDE} as "setAside", d.rejected_run as "rejectedRun",
            ${isPlannedBy(IS_HELD_WHOLE)} as "isHeld",
            coalesce(h.employees, 0)
              + (select count(*)::int from dirsync.employee e
                 where e.platform_state = 'in_service' and e.enterprise_code = d.enterprise_code
                   and e.dept_code = d.dept_code)
              + (select count(*)::int from dirsync.employee e where ${IS_MOVING}) as employees
     from dirsync.department d
     left join jsonb_to_recordset($1) as h ("enterpriseCode" text, "deptCode" text, employees int)
       on h."enterpriseCode" = d.enterprise_code and h."deptCode" = d.dept_code
     where $2::text[] is null or d.enterprise_code = any ($2)`,
    [JSON.stringify(employeesInHr), codes],
  )
  return rows
}

/** Stores deletions of departments as the plan of a held run. */
async function storeDeletions(db: ClientBase, runId: number, work: Work[]): Promise<void> {
  await db.query(
    `insert into dirsync.planned_work (run_id, operation, enterprise_code, entity_key, reason, wave)
     select $2, operation, "enterpriseCode", "entityKey", 'delete', wave
     from jsonb_to_recordset($1)
       as w (operation text, "enterpriseCode" text, "entityKey" text, wave smallint)`,
    [JSON.stringify(work), runId],
  )
}

/** The undecided deletions in the stored plan of a held run. */
export async function storedDeletions(db: ClientBase, runId: number): Promise<Work[]> {
  const { rows } = await db.query<Work>(
    `select operation, enterprise_code as "enterpriseCode", entity_key as "entityKey", '' as detail, wave
     from dirsync.planned_work
     where run_id = $1 and operation = 'delete-department' and decision_id is null`,
    [runId],
  )
  return rows
}
