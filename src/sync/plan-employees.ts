import { type EmployeeKey, keyOfText, keyText } from '../directory/employee.ts'
import type { SourceStatistics } from '../directory/hash.ts'
import type { HrSource } from '../hr/source.ts'
import { type SourceScope, WHOLE } from '../hr/sources.ts'
import { personOf } from '../lib/actor.ts'
import { type ClientBase, databaseTime, onlyRow, type Pool, repeatStepOnDeadlock } from '../lib/database.ts'
import { traced } from '../lib/tracing.ts'
import { type Message, message, type Said, toStore } from '../texts/message.ts'
import { endCases } from './cases.ts'
import { present } from './employee.ts'
import { compare, type Difference, stageRows, stageScan, writeEmployeePlan } from './plan-tables.ts'
import { heldRun, OF_EVERYBODY, type PlannedRun, type Run } from './run.ts'
import {
  type Breaker,
  duplication,
  leaversAbound,
  mayHaveEmptied,
  misassignment,
  type RunLimits,
  straying,
  suspicion,
  trips,
  type UndeliveredEnterprise,
} from './safety.ts'

/** Rows changed while the newest one was read may carry an earlier time, so this much is read again. */
export const WATERMARK_OVERLAP_MS = 5 * 60_000

export interface EmployeePlan extends PlannedRun {
  state: 'running' | 'held' | 'source_suspect'
  source: SourceStatistics
  difference: Difference
}

/**
 * Plans a `changes` or `full` run inside the caller's transaction: HR streamed and hashed, staged, joined, checked. Only
 * temporary tables are written; `applyEmployeePlan` writes a plan that may run.
 * @param scope which source `hr` is, where there are several: only its own enterprises are checked and planned
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planEmployees(
  db: ClientBase,
  hr: Pick<HrSource, 'inspect' | 'scan'>,
  run: Pick<Run, 'kind' | 'state' | 'maxAgeMs'> & Partial<Pick<Run, 'wantsAll'>>,
  limits: Pick<RunLimits, 'gate' | 'breaker' | 'maxLeavers' | 'readAllEveryMs'>,
  signal: AbortSignal,
  scope: SourceScope = WHOLE,
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
    (await databaseTime(db)).getTime() - last.at.getTime() >= limits.readAllEveryMs ||
    // Rows that are held, taken back or found changed by a worker can be anywhere: only a full reading covers them.
    run.state === 'held' ||
    (await heldRun(db, ['changes', 'full'], scope.name)) !== null ||
    replans ||
    (await cancelledSince(db, last.at, scope))
  const read = async (since: Date | null) => {
    const scanned = await traced('read HR', () => stageScan(db, hr, since, codes, signal))
    const readAll = since === null
    const wanted = { everything: isFull, maxAgeMs: run.maxAgeMs, readAll, replans, codes }
    return {
      ...scanned,
      readAll,
      difference: await traced('compare', () => compare(db, scanned.staged, wanted)),
    }
  }
  const newer = readsAll ? null : await read(new Date(newest.getTime() - WATERMARK_OVERLAP_MS))
  const isEnough = newer && last && !looksOdd(newer, last.statistics, limits)
  const { staged, readAll, source, mapping, difference } = isEnough ? newer : await read(null)
  const { inScope, total, reasons, sample, skipped, changing, first } = difference
  const planned = {
    difference,
    readAll,
    inScope,
    plan: { reasons, sample, total, ...(run.maxAgeMs !== null && { skipped }) },
    source,
    mapping,
  }
  const before = last?.statistics ?? (codes && (await knownAs(db, codes)))
  const missing = last === null && codes ? await undelivered(db, codes) : []
  const suspect =
    straying(source, readAll ? null : (last?.statistics.rows ?? null), limits) ??
    (readAll
      ? suspicion(source, before, difference.duplicates, limits.gate)
      : duplication(difference.duplicates)) ??
    misassignment(missing)
  if (suspect)
    return { ...planned, state: 'source_suspect', message: message('said.suspect', { reason: suspect }) }
  if (!first) {
    const verdict = withinBreaker(changing, total, limits.breaker)
    const before = verdict.message && (await rejectedBefore(db))
    return { ...planned, ...verdict, ...(before && { message: [verdict.message ?? [], before] }) }
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

/**
 * Whether newer rows alone look as if the breaker or the gate might stop them, or lack even the newest earlier row: then only
 * all rows show HR's state.
 */
function looksOdd(
  { source, difference: { changing, total } }: { source: SourceStatistics; difference: Difference },
  last: SourceStatistics,
  { gate, breaker }: Pick<RunLimits, 'gate' | 'breaker'>,
): boolean {
  return source.rows === 0 || trips(breaker, changing, total) || mayHaveEmptied(source, last, gate)
}

/**
 * Plans a `changes` run of the rows that HR's trigger named, as `planEmployees` plans one of all. Employees whom HR no longer
 * has are `missing`: left to a run that reads every row, since only that can tell a leaver from a broken mapping.
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planNamedRows(
  db: ClientBase,
  hr: HrSource,
  candidates: readonly EmployeeKey[],
  breaker: Breaker,
  scope: SourceScope,
): Promise<{ planned: PlannedRun; missing: EmployeeKey[] }> {
  const { codes } = scope
  const { fingerprint: mapping } = await hr.inspect()
  // Missing employees are left to a run that reads every row, whatever the reason.
  const found = await traced('read HR', () =>
    hr.lookup(candidates, { mapping, anyEnterprise: true, expected: () => [] }),
  )
  const inSource = [...found]
    .map(([text, row]) => ({ key: keyOfText(text), row }))
    .filter(({ key }) => codes === null || codes.includes(key.enterpriseCode))
  const suspect = duplication(inSource.flatMap(({ key, row }) => (row === 'duplicate' ? [key.userid] : [])))
  if (suspect)
    return {
      planned: {
        state: 'source_suspect',
        readAll: false,
        message: message('said.suspect', { reason: suspect }),
      },
      missing: [],
    }
  const rows = inSource.flatMap(({ key, row }) => (row === 'duplicate' ? [] : [{ key, row }]))
  const staged = await stageRows(db, rows)
  const replans = await awaitReplan(db, codes)
  const wanted = { everything: false, maxAgeMs: null, readAll: false, replans, codes }
  const { inScope, total, reasons, sample, changing } = await traced('compare', () =>
    compare(db, staged, wanted),
  )
  return {
    planned: {
      readAll: false,
      inScope,
      plan: { reasons, sample, total },
      mapping,
      ...withinBreaker(changing, total, breaker),
    },
    missing: await present(
      db,
      candidates.filter(key => !found.has(keyText(key))),
    ),
  }
}

/** Employees in `difference` whose last change a person rejected, with the reason; HR has changed them once more. Null: none. */
async function rejectedBefore(db: ClientBase): Promise<Said | null> {
  const { rows } = await db.query<{ count: number; run: number; actor: string; reason: string | null }>(
    `select count(*)::int as count, r.id as run, r.decision_reason as reason, r.decided_by as actor
     from difference d
     join dirsync.employee e on e.enterprise_code = d.enterprise_code and e.userid = d.userid
     join dirsync.sync_run r on r.id = e.held_run
     where e.rejected and d.fresh group by r.id order by r.id desc limit 3`,
  )
  const said = rows.map(({ count, run, actor, reason }) => {
    const person = personOf(actor).name
    const name = reason === null ? person : `${person} (${reason})`
    return message(count === 1 ? 'said.was_rejected' : 'said.were_rejected', { count, run, name })
  })
  return said.length === 0 ? null : said
}

const PASSED = { state: 'running' } as const

/** Whether this many changes pass the breaker. */
function withinBreaker(
  changing: number,
  total: number,
  breaker: Breaker,
): Pick<EmployeePlan, 'state' | 'message'> {
  if (!trips(breaker, changing, total)) return PASSED
  return {
    state: 'held',
    message: message('said.employees_change', { changing, total, ...breaker }),
  }
}

// What earlier runs have found

/**
 * Statistics, time and mapping of the last good run that read every HR row. Null where a source has got other enterprises
 * since: its earlier rows do not tell what it should deliver now.
 */
export async function lastFullReading(
  db: ClientBase | Pool,
  { name, codes }: SourceScope = WHOLE,
): Promise<{ statistics: SourceStatistics; at: Date; mapping: string | null } | null> {
  const { rows } = await db.query<{ statistics: SourceStatistics; at: Date; mapping: string | null }>(
    `select source as statistics, planned_at as at, mapping from dirsync.sync_run
     where ${OF_EVERYBODY} and hr_source = $1 and read_all and source is not null and state in ('running', 'done')
     order by id desc limit 1`,
    [name],
  )
  const [last] = rows
  if (!last || (codes && !isSameSet(codes, last.statistics.codes ?? []))) return null
  return last
}

/** Whether the last run of a source that chose its own rows passed, and none is held: HR looked right. */
export async function lastPlanPassed(db: ClientBase | Pool, source = ''): Promise<boolean> {
  const { rows } = await db.query<{ passed: boolean }>(
    `select state in ('running', 'done', 'cancelled')
            and not exists (select from dirsync.sync_run h
                            where h.state = 'held' and h.kind in ('changes', 'full')
                              and h.finished_at is null and h.hr_source = $1) as passed
     from dirsync.sync_run
     where ${OF_EVERYBODY} and hr_source = $1 and planned_at is not null order by id desc limit 1`,
    [source],
  )
  return rows[0]?.passed ?? false
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every(item => other.includes(item))
}

/** Statistics of a source that was never read as a whole, from what is known of its enterprises. */
async function knownAs(db: ClientBase, codes: readonly string[]): Promise<SourceStatistics | null> {
  const { rows } = await db.query<{ employees: number }>(
    `select count(*)::int as employees from dirsync.employee
     where enterprise_code = any ($1) and vanished_at is null`,
    [codes],
  )
  const { employees } = onlyRow(rows)
  return employees === 0 ? null : { rows: employees, keyless: 0, empty: {}, newest: null }
}

/** Enterprises of a source with their known employees, where `staged` has no row of the enterprise. */
async function undelivered(db: ClientBase, codes: readonly string[]): Promise<UndeliveredEnterprise[]> {
  const { rows } = await db.query<UndeliveredEnterprise>(
    `select e.enterprise_code as code, count(*)::int as employees from dirsync.employee e
     where e.enterprise_code = any ($1) and e.active and e.vanished_at is null
       and not exists (select from staged s where s.enterprise_code = e.enterprise_code)
     group by 1 order by 1`,
    [codes],
  )
  return rows
}

/**
 * Newest `updated_at` that good runs of a source have seen since its last readAll, but never later than the run that saw it: a
 * row from the future must not hide the present. Null when none is known.
 */
export async function watermark(db: ClientBase | Pool, { name }: SourceScope = WHOLE): Promise<Date | null> {
  const { rows } = await db.query<{ newest: Date | null }>(
    `select max(greatest(least((source ->> 'newest')::timestamptz, planned_at), 'epoch')) as newest
     from dirsync.sync_run
     where kind in ('changes', 'full') and source ->> 'newest' is not null and state in ('running', 'done')
       and hr_source = $1
       -- No older run sent anything for the current account.
       and planned_at >= coalesce((select since from dirsync.deployment), '-infinity')
       and id >= (select coalesce(max(id), 0) from dirsync.sync_run
                  where ${OF_EVERYBODY} and hr_source = $1 and read_all and source is not null
                    and state in ('running', 'done'))`,
    [name],
  )
  return onlyRow(rows).newest
}

/** Whether a run was cancelled since, or the last of it came back: its rows have to be read again, however old they are. */
async function cancelledSince(db: ClientBase, at: Date, { name }: SourceScope): Promise<boolean> {
  const { rowCount } = await db.query(
    // Runs of no source may have had work of any.
    `select from dirsync.sync_run
     where cancelled_at is not null and greatest(cancelled_at, finished_at) > $1 and hr_source in ('', $2)
     limit 1`,
    [at, name],
  )
  return (rowCount ?? 0) > 0
}

/** Whether rows of the outbox wait for a plan, because workers found that HR has changed since the last one. */
async function awaitReplan(db: ClientBase, codes: SourceScope['codes']): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from dirsync.pending where replan_at is not null ${codes ? 'and enterprise_code = any ($1)' : ''} limit 1`,
    codes ? [codes] : [],
  )
  return (rowCount ?? 0) > 0
}

// Into the outbox

/**
 * Writes the plan in `difference`, and the number of rows without a usable key.
 * @param keyless how many of those there are; null when not every row was read
 */
export async function applyEmployeePlan(
  db: ClientBase,
  runId: number,
  { isFull, keyless, scope = WHOLE }: { isFull: boolean; keyless: number | null; scope?: SourceScope },
): Promise<void> {
  await repeatStepOnDeadlock(db, () => writeEmployeePlan(db, runId, isFull))
  if (keyless !== null) await recordKeyless(db, runId, keyless, scope)
}

/** Stands for the user id in the case about rows that have none. */
export const NO_USER_ID = '(no user id)'

/**
 * HR rows without a usable user id belong to no employee, so no job can fail for them: one case of each source gives their
 * number, until a run that reads every row finds none. When a person has accepted it, it reopens as the number changes.
 */
export async function recordKeyless(
  db: ClientBase,
  runId: number,
  rows: number,
  { name, codes }: SourceScope = WHOLE,
): Promise<void> {
  const [operation, field] = codes ? ['read-hr', name] : ['update-employee', 'userid']
  if (rows > 0)
    await db.query(
      `select dirsync.record_failure(jsonb_build_object(
         'enterprise_code', '', 'entity', 'employee', 'entity_key', $1::text,
         'operation', $5::text, 'field', $6::text, 'category', 'invalid_hr_row',
         'message', $2::jsonb, 'remedy', $3::jsonb, 'source_hash', md5($2::jsonb::text)::uuid, 'state', 'open',
         'last_run_id', $4::bigint))`,
      [
        NO_USER_ID,
        toStore(keylessMessage(rows, name)),
        toStore(message('said.keyless_remedy')),
        runId,
        operation,
        field,
      ],
    )
  else {
    const { rows: open } = await db.query<{ id: number }>(
      `select id from dirsync.dead_letter
       where entity_key = $1 and operation = $2 and field = $3 and state <> 'resolved'`,
      [NO_USER_ID, operation, field],
    )
    await endCases(
      db,
      open.map(({ id }) => ({ id, runId, resolution: 'succeeded' })),
    )
  }
}

function keylessMessage(count: number, name: string): Message {
  if (name === '') return count === 1 ? message('said.keyless_one') : message('said.keyless_many', { count })
  return count === 1
    ? message('said.keyless_one_of', { name })
    : message('said.keyless_many_of', { count, name })
}
