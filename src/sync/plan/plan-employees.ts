import {
  type EmployeeField,
  type EmployeeKey,
  keyOfText,
  keyText,
  qualified,
} from '../../directory/employee.ts'
import { clearsField } from '../../directory/field-rules.ts'
import type { SourceStatistics } from '../../directory/hash.ts'
import { type HrSource, noSourceHas } from '../../hr/source.ts'
import { type HrSources, type NamedSource, type SourceScope, sourceUnread } from '../../hr/sources.ts'
import { personOf } from '../../lib/actor.ts'
import { type ClientBase, databaseTime, onlyRow, repeatStepOnDeadlock } from '../../lib/database.ts'
import { traced } from '../../lib/tracing.ts'
import { type Message, message, type Said } from '../../texts/message.ts'
import { beginRetryOf } from '../cases/retries.ts'
import { enterpriseCodes, findEmployees, HELD_DECISION, knownInHr } from '../outbox/employee.ts'
import { addRequested, awaitPlan, PRIORITY, updateOf } from '../outbox/outbox.ts'
import {
  cancelledSince,
  followsSeveral,
  lastFullReading,
  lastPlanPassed,
  WATERMARK_OVERLAP_MS,
  watermark,
} from '../runs/earlier-runs.ts'
import {
  type CheckedPlan,
  EMPLOYEE_KINDS,
  heldRun,
  noWork,
  type PlannedRun,
  planFigures,
  type Run,
  runsInParts,
} from '../runs/run.ts'
import {
  type Breaker,
  duplication,
  enterprisesLeave,
  isEmptyThroughout,
  leaversAbound,
  mayHaveEmptied,
  misassignment,
  type RunLimits,
  straying,
  suspicion,
  trips,
  type UndeliveredEnterprise,
} from '../runs/safety.ts'
import {
  changedEmployees,
  compare,
  countChangedSince,
  countJoined,
  countStillHeld,
  countUndecided,
  type Difference,
  markHeld,
  stageRows,
  stageScan,
  storeEmployeePlan,
  writeEmployeePlan,
} from './plan-tables.ts'
import { recordKeyless, recordStray } from './unplanned-rows.ts'

/** The plan of a `changes` or `full` run that chooses its own rows among a source's. */
export async function planEverybody(
  db: ClientBase,
  source: NamedSource,
  run: Run,
  limits: RunLimits,
  signal: AbortSignal,
): Promise<CheckedPlan> {
  const planned = await planEmployees(db, source.hr, run, limits, signal, source)
  const { breaker } = limits
  const { undelivered: leaving } = planned
  return employeePlan(db, source, planned, { breaker, isFull: run.kind === 'full', leaving })
}

/**
 * What may become of a plan whose rows are in `difference`.
 * @param options.missing employees who wait for a run that reads every row
 * @param options.leaving enterprises about which a person decides, however few they are
 */
function employeePlan(
  db: ClientBase,
  source: NamedSource,
  planned: PlannedRun,
  {
    breaker,
    isFull = false,
    missing = [],
    leaving = [],
  }: {
    breaker: Breaker
    isFull?: boolean
    missing?: EmployeeKey[]
    leaving?: readonly UndeliveredEnterprise[]
  },
): CheckedPlan {
  const { readAll = false, source: scanned } = planned
  const compared = { readAll, codes: source.codes }
  const keyless = readAll && scanned ? scanned.keyless : null
  return {
    planned,
    apply: async id => {
      await awaitPlan(db, missing)
      await applyEmployeePlan(db, id, { isFull, keyless, scope: source })
      await markHeld(db, null, compared)
      if (scanned && source.codes) await recordStray(db, id, source, readAll)
    },
    store: id => storeEmployeePlan(db, id),
    mark: id => markHeld(db, id, compared),
    changedSince: held => countChangedSince(db, held, source.codes),
    outgrows: async held => {
      if (trips(breaker, await countJoined(db, held), planned.plan?.total ?? 0)) return true
      // Of those whom the platform does not have, nothing is to be sent that could be held.
      const codes = leaving.map(({ code }) => code)
      return codes.length > 0 && (await countJoined(db, held, codes)) > 0
    },
    undecided: held => countUndecided(db, held, source.codes),
  }
}

export interface EmployeePlan extends PlannedRun {
  state: 'running' | 'held' | 'source_suspect'
  source: SourceStatistics
  difference: Difference
  /** Enterprises of which the only HR, after several, has nobody. */
  undelivered: readonly UndeliveredEnterprise[]
}

/**
 * Plans a `changes` or `full` run inside the caller's transaction: HR streamed and hashed, staged, joined, checked. Only
 * temporary tables are written; `applyEmployeePlan` writes a plan that may run.
 * @param run.id default: it is a preview, during which others may decide about held runs
 * @param scope which source `hr` is, where there are several: only its own enterprises are checked and planned
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planEmployees(
  db: ClientBase,
  hr: Pick<HrSource, 'inspect' | 'scan'>,
  run: Pick<Run, 'kind' | 'state' | 'maxAgeMs'> & Partial<Pick<Run, 'wantsAll' | 'id'>>,
  limits: Pick<RunLimits, 'gate' | 'breaker' | 'maxLeavers' | 'readAllEveryMs'>,
  signal: AbortSignal,
  scope: SourceScope,
): Promise<EmployeePlan> {
  const { codes } = scope
  const isFull = run.kind === 'full'
  const last = await lastFullReading(db, scope)
  const replans = await awaitReplan(db, codes)
  const { employees, fingerprint } = await hr.inspect()
  const newest = isFull || !employees.columns.includes('updated_at') ? null : await watermark(db, scope)
  const readsAll =
    newest === null ||
    !last ||
    run.wantsAll ||
    // Rows that HR did not touch may look different through another mapping.
    last.mapping !== fingerprint ||
    isOver((await databaseTime(db)).getTime() - last.at.getTime(), limits.readAllEveryMs) ||
    // Rows that are held, taken back or found changed by a worker can be anywhere: only a full reading covers them.
    run.state === 'held' ||
    (await heldRun(db, EMPLOYEE_KINDS, scope.name)) !== null ||
    replans ||
    (await cancelledSince(db, last.at, scope))
  const read = async (since: Date | null) => {
    const scanned = await traced('read HR', () => stageScan(db, hr, since, codes, signal))
    const readAll = since === null
    const inParts = await runsInParts(db, scope.name, run.id !== undefined)
    const wanted = { everything: isFull, maxAgeMs: run.maxAgeMs, readAll, replans, codes, inParts }
    return {
      ...scanned,
      readAll,
      difference: await traced('compare', () => compare(db, scanned.staged, wanted)),
    }
  }
  const newer = readsAll ? null : await read(new Date(newest.getTime() - WATERMARK_OVERLAP_MS))
  const isEnough = newer && last && !looksOdd(newer, last.statistics, limits)
  const { staged, readAll, source, mapping, difference } = isEnough ? newer : await read(null)
  const { inScope, total, reasons, sample, skipped, first } = difference
  // An only HR that never was one of several can lack nobody: a mistake in its mapping may be why its first run was cancelled.
  const isKnown = codes !== null ? last === null : await followsSeveral(db)
  const before = last === null && isKnown ? await knownAs(db, codes) : (last?.statistics ?? null)
  const missing = isKnown ? await undelivered(db, last === null) : []
  const planned = {
    difference,
    undelivered: codes === null ? missing : [],
    readAll,
    inScope,
    plan: { reasons, sample, total, ...(run.maxAgeMs !== null && { skipped }) },
    source,
    mapping,
  }
  const suspect =
    straying(source, readAll ? null : (last?.statistics.rows ?? null), limits) ??
    (readAll
      ? suspicion(source, before, difference.duplicates, limits.gate)
      : duplication(difference.duplicates)) ??
    (codes && misassignment(missing))
  if (suspect)
    return { ...planned, state: 'source_suspect', message: message('said.suspect', { reason: suspect }) }
  const leaving = enterprisesLeave(planned.undelivered)
  if (!first || leaving) {
    return { ...planned, ...(await withinBreaker(db, difference, limits.breaker, scope, leaving)) }
  }
  // The first run changes all employees, as it should; but most of them should be there.
  const { rows, active } = staged
  const left = rows - active
  if (!leaversAbound(left, rows, limits.maxLeavers)) return { ...planned, ...PASSED }
  return {
    ...planned,
    plan: { ...planned.plan, leavers: { left, of: rows } },
    state: 'held',
    message: message('said.most_left', { left, total: rows, percent: limits.maxLeavers }),
  }
}

/** Whether a time is over, or the clock was put back since it began, so that no other time tells what came after it. */
function isOver(elapsedMs: number, ms: number): boolean {
  return elapsedMs < 0 || elapsedMs >= ms
}

/**
 * Whether newer rows alone look as if the breaker or the gate might stop them, or lack even the newest earlier row: then only
 * all rows show HR's state.
 */
function looksOdd(
  { source, difference: { changing, total, reasons } }: { source: SourceStatistics; difference: Difference },
  last: SourceStatistics,
  { gate, breaker }: Pick<RunLimits, 'gate' | 'breaker'>,
): boolean {
  const { rows, active = rows, empty } = source
  return (
    rows === 0 ||
    trips(breaker, changing, total) ||
    mayHaveEmptied(source, last, gate) ||
    isEmptyThroughout(reasons.changed ?? 0, column => (empty[column] ?? 0) >= active, last)
  )
}

/** Employees in `difference` whose last change a person rejected, with the reason; HR has changed them once more. Null: none. */
async function rejectedBefore(db: ClientBase): Promise<Said | null> {
  const { rows } = await db.query<{ count: number; run: number; actor: string; reason: string | null }>(
    `select count(*)::int as count, o.run, o.reason, coalesce(o.decided_by, '') as actor
     from difference d
     join dirsync.employee e on e.enterprise_code = d.enterprise_code and e.userid = d.userid
     cross join lateral (${HELD_DECISION}) o
     where e.rejected and d.fresh group by 2, 3, 4 order by 2 desc, 1 desc limit 3`,
  )
  const said = rows.map(({ count, run, actor, reason }) => {
    const person = personOf(actor).name
    const name = reason === null ? person : `${person} (${reason})`
    return message(count === 1 ? 'said.was_rejected' : 'said.were_rejected', { count, run, name })
  })
  return said.length === 0 ? null : said
}

const PASSED = { state: 'running' } as const

/**
 * Whether this many changes pass the breaker, none of which waits for a decision already: HR may have taken back the others of these.
 * @param leaving why a person decides about them however few they are
 */
async function withinBreaker(
  db: ClientBase,
  { changing, gone, total }: Difference,
  breaker: Breaker,
  { name }: SourceScope,
  leaving: Message | null,
): Promise<Pick<EmployeePlan, 'state' | 'message'>> {
  if (!trips(breaker, changing, total)) {
    if (leaving) return { state: 'held', message: leaving }
    const count = await countStillHeld(db, name)
    return count === 0 ? PASSED : { state: 'held', message: message('said.still_held', { count }) }
  }
  const why =
    gone === 0
      ? message('said.employees_change', { changing, total, ...breaker })
      : message('said.employees_change_or_leave', { changing, total, gone, ...breaker })
  const rejected = await rejectedBefore(db)
  return { state: 'held', message: [why, leaving, rejected].filter(what => what !== null) }
}

/** Condition on an employee `e` of `difference` who had not left: they had vanished by a plan that was cancelled. */
const WAS_TAKEN_BACK = 'not e.active'

/** Condition on an employee: the platform has told of them. */
const HAS_BEEN_ASKED = `platform_state <> 'unknown'`

/**
 * Statistics of a source that was never read as a whole, from what is known of its enterprises; of the only HR, of those in `staged`.
 * Whom only a plan has known that was held or cancelled, HR need not have.
 */
async function knownAs(db: ClientBase, codes: SourceScope['codes']): Promise<SourceStatistics | null> {
  const { rows } = await db.query<{ employees: number; active: number }>(
    `select count(*)::int as employees, count(*) filter (where active)::int as active from dirsync.employee
     where enterprise_code in (${codes ? 'select unnest($1::text[])' : 'select enterprise_code from staged'})
       and vanished_at is null and (coalesce(source_hash, acknowledged_hash, parked_hash) is not null or ${HAS_BEEN_ASKED})`,
    codes ? [codes] : [],
  )
  const { employees, active } = onlyRow(rows)
  return employees === 0 ? null : { rows: employees, active, keyless: 0, empty: {}, newest: null }
}

/**
 * Enterprises of which every row was asked for and `staged` has none, with their employees in `difference` who would leave by that.
 * @param isFirst no reading has settled yet what HR should deliver. One that has took for settled what plans in work had: of
 * these, whose plan was cancelled is asked about again.
 */
async function undelivered(db: ClientBase, isFirst: boolean): Promise<UndeliveredEnterprise[]> {
  const { rows } = await db.query<UndeliveredEnterprise>(
    `select enterprise_code as code, count(*)::int as employees
     from difference d join dirsync.employee e using (enterprise_code, userid)
     where d.hash is null and d.fresh and not d.had_left
       -- The latter: one of an approved plan that was cancelled before their turn.
       and (d.previous_hash is not null or ${HAS_BEEN_ASKED})
       and not exists (select from staged s where s.enterprise_code = d.enterprise_code)
     group by 1 having $1 or bool_or(${WAS_TAKEN_BACK}) order by 1`,
    [isFirst],
  )
  return rows
}

/** Whether rows of the outbox wait for a plan, because workers found that HR has changed since the last one. */
async function awaitReplan(db: ClientBase, codes: SourceScope['codes']): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from dirsync.pending where replan_at is not null ${codes ? 'and enterprise_code = any ($1)' : ''} limit 1`,
    codes ? [codes] : [],
  )
  return (rowCount ?? 0) > 0
}

/**
 * The plan of a `changes` run of the rows that HR's trigger named by user id, in any enterprise. Employees whom HR no longer has
 * are left to a run that reads every row, since only that can tell a leaver from a broken mapping. So are those who change and all
 * lack a value that most have, as while a table that the mapping joins is empty for a moment; and all of them while the mapping is
 * another than that of the last such run, or while that one has not passed.
 * @returns null where the breaker objects: what HR did to these rows it may have done to others, and a person decides about all of them
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planTriggered(
  db: ClientBase,
  source: NamedSource,
  { changedUserids, state }: Run,
  ownEnterprise: string,
  breaker: Breaker,
): Promise<CheckedPlan | null> {
  // By an earlier version, which held some rows by themselves.
  if (state === 'held') return null
  const { hr, codes } = source
  const enterprises = codes ?? (await enterpriseCodes(db, ownEnterprise))
  const candidates = changedUserids.flatMap(userid =>
    enterprises.map(enterpriseCode => ({ enterpriseCode, userid })),
  )
  const { fingerprint } = await hr.inspect()
  const last = await lastFullReading(db, source)
  // Through another mapping any row may look different, so that none is sent before all of them have been checked. Nor is one while
  // HR as a whole looks wrong, which the run before may have found.
  const isChecked = last?.mapping === fingerprint && (await lastPlanPassed(db, source.name))
  const mapping = isChecked ? fingerprint : undefined
  // Missing employees are left to a run that reads every row, whatever the reason.
  const found = await traced('read HR', async () =>
    mapping === undefined
      ? new Map()
      : hr.lookup(candidates, { mapping, anyEnterprise: true, expected: () => [] }),
  )
  const inSource = [...found]
    .map(([text, row]) => ({ key: keyOfText(text), row }))
    .filter(({ key }) => codes === null || codes.includes(key.enterpriseCode))
  const suspect = duplication(inSource.flatMap(({ key, row }) => (row === 'duplicate' ? [key.userid] : [])))
  if (suspect) {
    const what = message('said.suspect', { reason: suspect })
    return { planned: { state: 'source_suspect', readAll: false, message: what }, apply: async () => {} }
  }
  const looked = inSource.flatMap(({ key, row }) => (row === 'duplicate' ? [] : [{ key, row }]))
  const replans = await awaitReplan(db, codes)
  const inParts = await runsInParts(db, source.name, true)
  const wanted = { everything: false, maxAgeMs: null, readAll: false, replans, codes, inParts }
  const comparedWith = async (rows: typeof looked) => {
    const staged = await stageRows(db, rows)
    return traced('compare', () => compare(db, staged, wanted))
  }
  const whole = await comparedWith(looked)
  if (trips(breaker, whole.changing, whole.total)) return null
  const keys = await changedEmployees(db)
  const changed = looked.filter(({ key }) => keys.has(keyText(key)))
  const isOdd =
    last &&
    isEmptyThroughout(
      changed.length,
      column => changed.every(({ row }) => clearsField(column as EmployeeField, row[column] ?? '')),
      last.statistics,
    )
  const waiting = isOdd ? changed : []
  const difference = isOdd ? await comparedWith(looked.filter(one => !changed.includes(one))) : whole
  const { inScope, total, reasons, sample } = difference
  const missing = await knownInHr(
    db,
    candidates.filter(key => !found.has(keyText(key))),
  )
  const planned: PlannedRun = {
    ...{ ...PASSED, readAll: false, inScope, plan: { reasons, sample, total }, mapping },
    ...(isOdd && { message: message('said.changed_all_lack', { count: changed.length }) }),
  }
  return employeePlan(db, source, planned, {
    breaker,
    missing: [...missing, ...waiting.map(({ key }) => key)],
  })
}

/** The plan of a run of employees whom a person named: those that HR or dirsync knows by that user id, in any enterprise. */
export async function planNamed(
  db: ClientBase,
  hr: HrSources,
  { named }: Run,
  ownEnterprise: string,
): Promise<CheckedPlan> {
  const found = await findEmployees(db, named)
  // Without a source for the enterprise, HR's state is unknown.
  const known = found.filter(({ enterpriseCode }) => hr.of(enterpriseCode))
  const enterprises = await enterpriseCodes(db, ownEnterprise)
  const mapping = await hr.fingerprint()
  const { keys: inHr, failures } = await traced('read HR', () =>
    hr.find(named, enterprises, { mapping, expected: missing => knownInHr(db, missing) }),
  )
  const [failed] = failures
  // A name that one source cannot look up may belong to another one.
  if (failed && !hr.areNamed) throw failed.error
  const employees = [...new Map([...known, ...inHr].map(key => [keyText(key), key])).values()]
  const isCalled = (name: string, { enterpriseCode, userid }: EmployeeKey) =>
    userid === name || `${enterpriseCode}/${userid}` === name
  const missing = named.filter(name => !employees.some(key => isCalled(name, key)))
  const strays = found.filter(key => missing.some(name => isCalled(name, key)))
  const names = missing.filter(name => !strays.some(key => isCalled(name, key)))
  if (employees.length + strays.length + failures.length === 0)
    return noWork('failed', message('said.knows_nobody', { names }))
  const unread = [
    ...[...new Set(strays.map(({ enterpriseCode }) => enterpriseCode))].map(noSourceHas),
    ...failures.map(({ source, error }) => sourceUnread(source, error)),
  ]
  const unknown =
    missing.length === 0
      ? null
      : names.length === 0
        ? message('said.problems', { problems: unread })
        : unread.length === 0
          ? message('said.unknown_names', { names })
          : message('said.unknown_and_unread', { names, unread })
  if (employees.length === 0) return noWork('failed', unknown ?? [])
  const work = employees.map(key => ({ ...updateOf(key), named: true }))
  const sample = employees.map(({ enterpriseCode, userid }) => qualified(enterpriseCode, userid))
  return {
    planned: {
      state: 'running',
      inScope: work.length,
      plan: planFigures('asked', sample),
      mapping,
      ...(unknown && { message: unknown }),
    },
    apply: async id => {
      const added = await addRequested(db, id, PRIORITY.named, work)
      await beginRetryOf(
        db,
        added.map(({ enterpriseCode, entityKey }) => ({ enterpriseCode, userid: entityKey })),
        id,
      )
    },
  }
}

// Into the outbox

/**
 * Writes the plan in `difference`, and the number of rows without a usable key.
 * @param keyless how many of those there are; null when not every row was read
 */
export async function applyEmployeePlan(
  db: ClientBase,
  runId: number,
  { isFull, keyless, scope }: { isFull: boolean; keyless: number | null; scope: SourceScope },
): Promise<void> {
  await repeatStepOnDeadlock(db, () => writeEmployeePlan(db, runId, isFull))
  if (keyless !== null) await recordKeyless(db, runId, keyless, scope)
}
