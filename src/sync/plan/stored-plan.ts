import { z } from 'zod'
import { toDesired } from '../../directory/desired.ts'
import {
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeFields,
  keysOfName,
  keyText,
} from '../../directory/employee.ts'
import { type AcknowledgedHashes, fieldHash, rowHash } from '../../directory/hash.ts'
import { type HrEmployeeRow, isOfHr } from '../../hr/source.ts'
import type { EmployeeLookup } from '../../hr/sources.ts'
import { whileLocked } from '../../lib/advisory-lock.ts'
import { countUpTo, type PlaceValue, type Pool, placeholders, transaction } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import { likeBeginning } from '../../lib/text.ts'
import { type SaidKey, saidBy, toStore } from '../../texts/message.ts'
import { keyList, MOST_KEYS, soughtText } from '../cases/case-filter.ts'
import type { Work } from '../outbox/outbox.ts'
import { UNFINISHED } from '../outbox/outcome.ts'
import { HELD_RUNS, runAndParts } from '../runs/run.ts'

/**
 * The stored plan of a held run beside HR. The plan itself keeps only hashes, so HR's rows are needed to tell which fields
 * change, and in which departments. They are read once in the background after a run was held, so that a page about a plan of a
 * million rows reads a few.
 */

/** One entity of a stored plan, with its stored state. */
export interface PlannedEntity {
  operation: Work['operation']
  enterpriseCode: string
  entityKey: string
  /** One of `PLAN_REASONS`. */
  reason: string
  /** Hash of the HR row as the plan saw it; null where HR had none. */
  sourceHash: string | null
  /** Per field the hash of the last value that the platform had confirmed when the plan was carried out, or by now. */
  acknowledged: AcknowledgedHashes
  /** Department that the platform last showed for the employee. */
  deptCode: string | null
  /** `deptCode` is as of before it was sent, if it was. */
  isOld: boolean
  /** As read in the background; null before that. */
  department: string | null
  fields: string[] | null
  /** Few rows of the plan have the same reason and changed fields, or go with those to the same department. */
  odd: boolean
  /** The decision about this row, in a plan that is decided in parts; null: there is none yet. */
  decision: { approved: boolean; by: string; at: Date; run: number | null } | null
  /** What came of sending it last, by the run of its plan or part; null: it was not sent. */
  outcome: string | null
  /**
   * The later run that dealt with it, because HR had changed it by then, or a person had rejected it; null: no attempt that is
   * still kept tells of one. Without a run: the platform was found to have all of it although it was rejected.
   */
  later: { run: number | null; outcome: string } | null
}

/** Where the next page of a plan begins. */
export interface PlanCursor {
  enterpriseCode: string
  entityKey: string
}

/** Why an employee or a department is in a stored plan. */
export const PLAN_REASONS = ['new', 'changed', 'asked', 'left', 'vanished', 'delete'] as const

/** A part of a stored plan. */
export const PlanPart = z.object({
  reason: z.enum(PLAN_REASONS).optional(),
  field: soughtText(60).optional().describe('A field that changes, or breaks a rule'),
  from: soughtText(200).optional().describe('The department that employees leave, as a whole code'),
  department: soughtText(200).optional().describe('Department code, as a whole'),
  enterprise: soughtText(100).optional().describe('Enterprise code'),
  key: soughtText(120).optional().describe('The beginning of a user id or department code'),
  keys: keyList
    .optional()
    .describe(
      `These alone: user ids or department codes, or enterprise/user id, at most ${MOST_KEYS}, separated by commas`,
    ),
  odd: z
    .enum(['yes'])
    .optional()
    .describe(
      'Only rows whose reason and changed fields are rare in the plan, or the department that they go to',
    ),
})
export type PlanPart = z.infer<typeof PlanPart>

/** What is decided of a plan. */
export const PLAN_DECISIONS = ['open', 'approved', 'rejected', 'all'] as const

/** The filter of a stored plan. */
export const PlanFilter = PlanPart.extend({
  decision: z
    .enum(PLAN_DECISIONS)
    .optional()
    .describe(
      'Of a plan that is decided in parts: rows with this decision, with none yet, or all. Default: all; of a page of one that is held: none yet',
    ),
})
export type PlanFilter = z.infer<typeof PlanFilter>

/**
 * Conditions on the rows of a plan that match a filter.
 * @param decisions those that the filter is about
 * @param place adds a value to those of the statement
 */
function matching(
  { reason, field, from, department, enterprise, key, keys, decision }: PlanFilter,
  decisions: readonly number[],
  place: PlaceValue,
): string[] {
  return [
    reason !== undefined && `w.reason = ${place(reason)}`,
    field !== undefined && `w.fields @> array[${place(field)}]`,
    from !== undefined && `w.from_department = ${place(from)}`,
    department !== undefined && `w.department = ${place(department)}`,
    enterprise !== undefined && `w.enterprise_code = ${place(enterprise)}`,
    key !== undefined && `w.entity_key collate "C" like ${place(likeBeginning(key))}`,
    // The first condition is for the index.
    keys !== undefined &&
      `w.entity_key collate "C" = any (${place(keys.flatMap(keysOfName).map(({ userid }) => userid))})
       and concat_ws('/', nullif(w.enterprise_code, ''), w.entity_key) = any (${place(keys)})`,
    decision === 'open' && 'w.decision_id is null',
    (decision === 'approved' || decision === 'rejected') && `w.decision_id = any (${place(decisions)})`,
  ].filter(condition => condition !== false)
}

/** So few rows with a field are sorted faster than they are found in the order of their keys. */
const FEW = 5000

/** How many rows of a plan have a field, as counted in the background; before that, many. */
async function rowsWithField(db: Pool, runId: number, field: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select coalesce((select (f ->> 'n')::int from jsonb_array_elements(fields) f where f ->> 'field' = $2), 0) as n
     from dirsync.plan_reading where run_id = $1 and state = 'done'`,
    [runId, field],
  )
  return rows[0]?.n ?? Number.POSITIVE_INFINITY
}

/**
 * The next page of a stored plan in the order of its keys, without rows that are only stored.
 * @param asked.isOdd only rows that are rare in the plan, or only the others; default: all
 */
export async function plannedEntities(
  db: Pool,
  runId: number,
  asked: PlanFilter & { after?: PlanCursor | undefined; limit: number; isOdd?: boolean },
): Promise<PlannedEntity[]> {
  const { after, limit, isOdd, ...filter } = asked
  const { rows: decided } = await db.query<{ id: number }>(
    'select id from dirsync.plan_decision where run_id = $1 and approved = $2',
    [runId, filter.decision === 'approved'],
  )
  // As values, so that PostgreSQL knows how many rows each has.
  const decisions = decided.map(({ id }) => id)
  const { values, place } = placeholders(runId, limit)
  // The statement has only the given conditions: each combination has an index of its own.
  const conditions = ['w.run_id = $1', 'w.reason is not null', ...matching(filter, decisions, place)]
  const { field } = filter
  // In the order of its keys the whole plan would be read for a field that few rows have.
  const isRare = field !== undefined && (await rowsWithField(db, runId, field)) <= FEW
  const planned = isRare
    ? `(select * from dirsync.planned_work
        where run_id = $1 and reason is not null and fields @> array[${place(field)}] offset 0)`
    : 'dirsync.planned_work'
  if (isOdd !== undefined) conditions.push(isOdd ? 'w.odd' : 'not w.odd')
  if (after !== undefined)
    conditions.push(
      `(w.entity_key collate "C", w.enterprise_code) > (${place(after.entityKey)}, ${place(after.enterpriseCode)})`,
    )
  const unfinished = `${place(UNFINISHED)}::text[]`
  const { rows } = await db.query<PlannedEntity>(
    `select w.operation, w.enterprise_code as "enterpriseCode", w.entity_key as "entityKey", w.reason,
            w.source_hash as "sourceHash", w.department, w.fields,
            coalesce(w.acknowledged, e.acknowledged, '{}') as acknowledged,
            coalesce(w.from_department, w.known_department, e.dept_code) as "deptCode",
            coalesce(w.from_department, w.known_department) is not null or o.outcome is null as "isOld", w.odd,
            case when d.id is not null then
              jsonb_build_object('approved', d.approved, 'by', d.decided_by, 'at', d.decided_at, 'run', d.part_run)
            end as decision,
            o.outcome, case when l.outcome is not null then jsonb_build_object('run', l.run, 'outcome', l.outcome) end as later
     from ${planned} w
     join dirsync.sync_run r on r.id = w.run_id
     left join dirsync.plan_decision d on d.id = w.decision_id
     left join dirsync.employee e on w.operation = 'update-employee'
       and e.enterprise_code = w.enterprise_code and e.userid = w.entity_key
     cross join lateral (
       select coalesce(w.outcome, (select a.outcome from dirsync.attempt a
                                   where ${OF_THE_ROW} and a.run_id = coalesce(d.part_run, w.run_id)
                                   order by a.id desc limit 1)) as outcome) o
     left join lateral (
       select case when not ${FOUND_THERE} then a.run_id end as run, a.outcome from dirsync.attempt a
       where ${OF_THE_ROW} and (a.run_id <> coalesce(d.part_run, w.run_id) or ${FOUND_THERE}) and a.outcome <> all (${unfinished})
         and a.started_at > coalesce(d.decided_at, r.decided_at)
       order by a.id limit 1) l on o.outcome is null or o.outcome = any (${unfinished})
     where ${conditions.join(' and ')}
     order by w.entity_key collate "C", w.enterprise_code limit $2`,
    values,
  )
  return rows.map(({ decision, ...row }) => ({
    ...row,
    decision: decision && { ...decision, at: new Date(decision.at) },
  }))
}

/** How many undecided rows of a stored plan match a filter, at most so many. */
export async function countOpen(db: Pool, runId: number, filter: PlanPart, most: number): Promise<number> {
  const { values, place } = placeholders(runId)
  const conditions = ['w.run_id = $1', 'w.reason is not null']
  conditions.push(...matching({ ...filter, decision: 'open' }, [], place))
  if (filter.odd) conditions.push('w.odd')
  return countUpTo(db, most, `from dirsync.planned_work w where ${conditions.join(' and ')}`, values)
}

/** SQL: the attempt `a` found that the platform has all of the planned row `w`, which was rejected; `e` is its employee. */
const FOUND_THERE = `coalesce(a.error ->> 'key' = '${'said.rejected_but_there' satisfies SaidKey}'
  and w.source_hash = e.acknowledged_hash, false)`

/** SQL: the attempt `a` is about the planned row `w`. */
const OF_THE_ROW = `a.enterprise_code = w.enterprise_code and a.entity_key = w.entity_key and a.operation = w.operation`

/**
 * Keeps with each row of approved plans whose runs have ended what came of it, before its attempts are deleted.
 * @returns how many decisions this was about
 */
export async function keepOutcomes(db: Pool): Promise<number> {
  const { rows } = await db.query<{ id: number; sender: number; held: number; part: number | null }>(
    `select d.id, r.id as sender, d.run_id as held, d.part_run as part
     from dirsync.plan_decision d join dirsync.sync_run r on r.id = coalesce(d.part_run, d.run_id)
     where d.approved and not d.kept and r.finished_at is not null order by d.id`,
  )
  for (const { id, sender, held, part } of rows)
    await db.query(
      `with last as materialized (
         select distinct on (operation, enterprise_code, entity_key) operation, enterprise_code, entity_key, outcome
         from dirsync.attempt where run_id = $2 and operation in ('update-employee', 'delete-department')
         order by operation, enterprise_code, entity_key, id desc
       ), stored as (
         update dirsync.planned_work w set outcome = a.outcome from last a
         where ${OF_THE_ROW} and (w.run_id = $2 or w.run_id = $3 and $4::bigint is not null and w.decision_id = $1)
       )
       update dirsync.plan_decision set kept = true where id = $1`,
      [id, sender, held, part],
    )
  return rows.length
}

/** The changes of a planned entity, by its current HR row. */
export interface PlannedChange {
  department: string | null
  /** For a changed employee: HR's values that differ from the last confirmed ones. */
  changed: EmployeeFields
  /** Columns that break rules, whose values may be anything. */
  broken: { field: string; value: string | null }[]
  /** HR's row has changed since the plan: approval does not send this one. */
  changedSince: boolean
}

/** Compares one entity with its HR row; null: HR has none, or the entity is a department. */
export function changeOf(entity: PlannedEntity, row: HrEmployeeRow | 'duplicate' | null): PlannedChange {
  const { reason, sourceHash, deptCode } = entity
  const change = { department: deptCode, changed: {}, broken: [], changedSince: false }
  if (entity.operation === 'delete-department') return { ...change, department: entity.entityKey }
  const present = row === 'duplicate' ? null : row
  const hash = present && rowHash(Object.keys(present), present)
  if (row === 'duplicate' || hash !== sourceHash) return { ...change, changedSince: true }
  if (present === null) return change
  const validated = toDesired(present, Object.keys(present))
  if (!validated.ok) {
    const fields = [...new Set<string>(validated.problems.map(problem => problem.field))]
    return { ...change, broken: fields.map(field => ({ field, value: present[field] ?? null })) }
  }
  const { fields } = validated.desired
  const changed = reason === 'changed' ? changedFields(fields, entity) : {}
  return { ...change, department: fields.dept_code || deptCode, changed }
}

/** As read in the background, which later sending does not change; else as they differ. */
function changedFields(
  fields: EmployeeFields,
  { fields: read, acknowledged }: Pick<PlannedEntity, 'fields' | 'acknowledged'>,
): EmployeeFields {
  const differs = (field: EmployeeField, value: string | null) =>
    read ? read.includes(field) : fieldHash(field, value) !== acknowledged[field]
  const differing = EMPLOYEE_FIELDS.flatMap((field): [EmployeeField, string | null][] => {
    const value = fields[field]
    return value !== undefined && differs(field, value) ? [[field, value]] : []
  })
  return Object.fromEntries(differing)
}

/** The HR rows of planned employees. @throws HrUnavailableError, HrDataError, MappingError */
export async function rowsOf(
  hr: EmployeeLookup,
  entities: readonly PlannedEntity[],
  timeoutMs?: number,
): Promise<(entity: PlannedEntity) => HrEmployeeRow | 'duplicate' | null> {
  const keyOf = ({ enterpriseCode, entityKey }: PlannedEntity) => ({ enterpriseCode, userid: entityKey })
  const employees = entities.filter(({ operation }) => operation === 'update-employee')
  const inHr = new Set(
    employees
      .filter(({ sourceHash }) => sourceHash !== null)
      .map(keyOf)
      .map(keyText),
  )
  const rows = await hr.lookup(employees.map(keyOf), {
    expected: missing => missing.filter(key => inHr.has(keyText(key))),
    ...(timeoutMs !== undefined && { timeoutMs }),
  })
  return entity => rows.get(keyText(keyOf(entity))) ?? null
}

// In the background

/** Entities looked up in HR together. */
const PAGE = 1000
/** Departments, and moves between them, that figures keep at least. */
export const DEPARTMENTS_KEPT = 50
const RETRY = '1 minute'
/** How long a plan that was decided before HR was read is still read for. Later, HR tells little of what the plan saw. */
export const READ_AFTER_DECISION_MS = 86_400_000
/** States of a held run, also once it is decided, whose plan is worth reading: in the others none of it, or not all, counts. */
export const READ_STATES = ['held', 'requested', 'planning', 'running', 'done', 'rejected'] as const

interface PlanReaderDeps {
  pool: Pool
  hr: EmployeeLookup
  logger: Logger
}

/**
 * Reads HR for the next plan that was held and not read yet, those that wait for a decision first, or continues where a process that died has stopped.
 * @returns false without one, or when another process is reading
 */
export async function readNextPlan(deps: PlanReaderDeps, signal: AbortSignal): Promise<boolean> {
  const done = await whileLocked(deps.pool, 'planReader', async () => {
    const next = await claimReading(deps.pool)
    if (next) await readPlan(deps, next, signal)
    return next !== null
  })
  return done ?? false
}

interface Reading {
  run: number
  after: PlanCursor | undefined
}

/** SQL: a process of version 1.0 has read, at least to the end. Its reading is begun again. */
const READ_BY_1_0 = `(p.moves is null or p.state = 'done')`

async function claimReading(db: Pool): Promise<Reading | null> {
  const { rows } = await db.query<{ run: number; key: string; code: string }>(
    `insert into dirsync.plan_reading as p (run_id, state, moves)
     select wanted.run_id, 'running', 'null'
     from (select id as run_id, true as is_held from ${HELD_RUNS} held
           union
           select d.run_id, false from dirsync.plan_decision d join dirsync.sync_run r on r.id = d.run_id
           where d.fields is null and r.state = any ($1) and r.state <> 'held'
             and r.decided_at > now() - $2 * interval '1 ms') wanted
     left join dirsync.plan_reading known on known.run_id = wanted.run_id
     where known.run_id is null or known.state = 'running' or known.state = 'failed' and known.retry_at <= now()
       -- It was over, and is held again.
       or known.state = 'stopped' and wanted.is_held
       or known.state = 'done' and jsonb_typeof(known.moves) is distinct from 'array'
     order by wanted.is_held desc, wanted.run_id desc limit 1
     on conflict (run_id) do update
     set state = 'running', message = null, retry_at = null, finished_at = null,
         moves = coalesce(p.moves, 'null'),
         after_key = case when ${READ_BY_1_0} then '' else p.after_key end,
         after_code = case when ${READ_BY_1_0} then '' else p.after_code end,
         looked_at = case when ${READ_BY_1_0} then 0 else p.looked_at end,
         changed_since = case when ${READ_BY_1_0} then 0 else p.changed_since end
     returning p.run_id as run, p.after_key as key, p.after_code as code`,
    [READ_STATES, READ_AFTER_DECISION_MS],
  )
  const [row] = rows
  if (!row) return null
  const { run, key, code } = row
  return { run, after: key === '' ? undefined : { entityKey: key, enterpriseCode: code } }
}

async function readPlan({ pool, hr, logger }: PlanReaderDeps, reading: Reading, signal: AbortSignal) {
  const { run } = reading
  try {
    for (let { after } = reading; ; ) {
      // The process that takes it up continues after the last page.
      if (signal.aborted) return
      const planned = await plannedEntities(pool, run, { after, limit: PAGE })
      // What version 1.0 found to differ need not be what this one sends.
      const entities = planned.map(entity => ({ ...entity, fields: null }))
      const last = entities.at(-1)
      if (!last) break
      const rowOf = await rowsOf(hr, entities)
      if (!(await storePage(pool, run, entities, rowOf))) return
      after = last
    }
    await storeFigures(pool, run)
  } catch (error) {
    if (!isOfHr(error)) throw error
    logger.warn({ runId: run, error }, 'the figures of a held plan wait for HR')
    await pool.query(
      `update dirsync.plan_reading
       set state = 'failed', message = $2, finished_at = now(), retry_at = now() + interval '${RETRY}'
       where run_id = $1`,
      [run, toStore(saidBy(error))],
    )
  }
}

/** Stores the results of a page. False if the plan counts no more: the rest is not needed. */
async function storePage(
  db: Pool,
  run: number,
  entities: PlannedEntity[],
  rowOf: Awaited<ReturnType<typeof rowsOf>>,
): Promise<boolean> {
  const changes = entities.map(entity => {
    const { department, changed, broken, changedSince } = changeOf(entity, rowOf(entity))
    const fields = [...Object.keys(changed), ...broken.map(({ field }) => field)]
    const { deptCode } = entity
    const from = changed.dept_code && deptCode !== department ? deptCode : null
    return { key: entity.entityKey, code: entity.enterpriseCode, from, department, fields, changedSince }
  })
  const last = entities.at(-1)
  return transaction(db, async client => {
    // Whoever is deciding about a part is waited for, so that its copies are seen.
    await client.query('select from dirsync.sync_run where id = $1 for no key update', [run])
    const { rows } = await client.query<{ state: string }>(
      `with page as materialized (
       select * from jsonb_to_recordset($2) as p (key text, code text, "from" text, department text, fields text[])
     ), stored as (
       -- Parts that were approved before have copies of their rows.
       update dirsync.planned_work w set from_department = p."from", department = p.department, fields = p.fields
       from page p
       where w.run_id = any (${runAndParts('$1')})
         and w.operation = $3 and w.enterprise_code = p.code and w.entity_key = p.key
     )
     update dirsync.plan_reading r
     set looked_at = looked_at + $4, changed_since = changed_since + $5, after_key = $6, after_code = $7,
         state = case when counts then 'running' else 'stopped' end,
         finished_at = case when not counts then now() end
     from (select state = any ($8) as counts from dirsync.sync_run where id = $1) run
     where r.run_id = $1
     returning r.state`,
      [
        run,
        JSON.stringify(changes),
        last?.operation,
        entities.length,
        changes.filter(({ changedSince }) => changedSince).length,
        last?.entityKey,
        last?.enterpriseCode,
        READ_STATES,
      ],
    )
    return rows[0]?.state === 'running'
  })
}

/** A group of rows is odd when the largest one has at least this many times as many. */
const ODD = 10

async function storeFigures(db: Pool, run: number): Promise<void> {
  await db.query(
    `with alike as materialized (
       select reason, fields, case when 'dept_code' = any (fields) then department end as target, count(*) as n
       from dirsync.planned_work where run_id = $1 and reason is not null and fields is not null group by 1, 2, 3
     ), kinds as materialized (
       select reason, fields, sum(n) as n, max(n) as most from alike group by 1, 2
     )
     update dirsync.planned_work w set odd = true
     from alike a join kinds k on k.reason = a.reason and k.fields = a.fields
     where w.run_id = $1 and w.reason = a.reason and w.fields = a.fields
       and (a.target is null or w.department = a.target)
       and (k.n * ${ODD} <= (select max(n) from kinds) or a.target is not null and a.n * ${ODD} <= k.most)`,
    [run],
  )
  // How rare a field is decides which index finds it.
  await db.query('analyze dirsync.planned_work')
  await db.query(
    `with by_field as (
       select field, count(*)::int as n
       from dirsync.planned_work w, unnest(w.fields) as f (field)
       where w.run_id = $1 and w.reason is not null group by field
     ), by_department as (
       select enterprise_code, department, count(*)::int as n from dirsync.planned_work
       where run_id = $1 and reason is not null and department is not null
       group by 1, 2 order by n desc, department, enterprise_code limit ${DEPARTMENTS_KEPT}
     ), by_move as (
       select enterprise_code, from_department as "from", department, count(*)::int as n from dirsync.planned_work
       where run_id = $1 and reason is not null and from_department is not null
       group by 1, 2, 3 order by n desc, "from", department, enterprise_code limit ${DEPARTMENTS_KEPT}
     )
     update dirsync.plan_reading
     set state = 'done', finished_at = now(),
         fields = coalesce((select jsonb_agg(f order by n desc, field) from by_field f), '[]'),
         moves = coalesce((select jsonb_agg(m order by n desc, "from", department, enterprise_code) from by_move m), '[]'),
         departments = coalesce((select jsonb_agg(d order by n desc, department, enterprise_code) from by_department d), '[]')
     where run_id = $1`,
    [run],
  )
  // What was decided meanwhile has been read, too.
  await db.query(
    `select dirsync.count_decision(d.id) from dirsync.plan_decision d join dirsync.sync_run r on r.id = d.run_id
     where d.run_id = $1 and d.fields is null and r.undecided is not null`,
    [run],
  )
  await db.query(
    `update dirsync.plan_decision d
     set fields = coalesce((select jsonb_object_agg(f ->> 'field', f -> 'n') from jsonb_array_elements(p.fields) f), '{}'),
         departments = p.departments, moves = p.moves
     from dirsync.plan_reading p join dirsync.sync_run r on r.id = p.run_id
     where d.run_id = $1 and d.fields is null and p.run_id = $1 and r.undecided is null`,
    [run],
  )
}
