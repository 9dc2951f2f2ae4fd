import { type EmployeeKey, keyText } from '../directory/employee.ts'
import type { SourceStatistics } from '../directory/hash.ts'
import type { HrSource } from '../hr/source.ts'
import { type SourceScope, WHOLE } from '../hr/sources.ts'
import { type ClientBase, onlyRow, type Pool, repeatStepOnDeadlock } from '../lib/database.ts'
import { traced } from '../lib/tracing.ts'
import { endCases } from './cases.ts'
import { compare, type Difference, stageRows, stageScan, writeEmployeePlan } from './plan-tables.ts'
import { OF_EVERYBODY, type PlannedRun, type Run } from './run.ts'
import {
  type Breaker,
  duplication,
  misassignment,
  type RunLimits,
  straying,
  suspicion,
  trips,
  type UndeliveredEnterprise,
} from './safety.ts'

/** Rows changed while the newest one was read may carry an older time; so much is read again. */
export const WATERMARK_OVERLAP_MS = 5 * 60_000

export interface EmployeePlan extends PlannedRun {
  state: 'running' | 'held' | 'source_suspect'
  source: SourceStatistics
  difference: Difference
}

/**
 * Plans a `changes` or `full` run inside the caller's transaction: HR streamed and hashed, staged, joined, judged.
 * Nothing but temporary tables is written; `applyEmployeePlan` writes a plan that may run.
 * @param scope which source `hr` is, where there are several: its own enterprises alone are judged and planned
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planEmployees(
  db: ClientBase,
  hr: Pick<HrSource, 'inspect' | 'scan'>,
  run: Pick<Run, 'kind' | 'state' | 'maxAgeMs'>,
  limits: Pick<RunLimits, 'gate' | 'breaker' | 'sweepIntervalMs'>,
  signal: AbortSignal,
  scope: SourceScope = WHOLE,
): Promise<EmployeePlan> {
  const { codes } = scope
  const isFull = run.kind === 'full'
  const last = await lastSweep(db, scope)
  const replans = await awaitReplan(db, codes)
  const { employees, fingerprint } = await hr.inspect()
  const newest = isFull || !employees.columns.includes('updated_at') ? null : await watermark(db, scope)
  const sweep =
    newest === null ||
    !last ||
    // Rows that HR did not touch may look different through another mapping.
    last.mapping !== fingerprint ||
    Date.now() - last.at.getTime() >= limits.sweepIntervalMs ||
    // Whatever rows are in question, held, taken back or found changed by a worker: only all of them tell.
    run.state === 'held' ||
    replans ||
    (await cancelledSince(db, last.at, scope))
  const since = sweep ? null : new Date(newest.getTime() - WATERMARK_OVERLAP_MS)
  const { staged, source, mapping } = await traced('read HR', () => stageScan(db, hr, since, codes, signal))
  const wanted = { everything: isFull, maxAgeMs: run.maxAgeMs, sweep, replans, codes }
  const difference = await traced('compare', () => compare(db, staged, wanted))
  const { inScope, reasons, sample, skipped, changing, first } = difference
  const planned = {
    difference,
    sweep,
    inScope,
    plan: { reasons, sample, ...(run.maxAgeMs !== null && { skipped }) },
    source,
    mapping,
  }
  const before = last?.statistics ?? (codes && (await knownAs(db, codes)))
  const missing = last === null && codes ? await undelivered(db, codes) : []
  const suspect =
    straying(source, sweep ? null : last.statistics.rows, limits) ??
    (sweep
      ? suspicion(source, before, difference.duplicates, limits.gate)
      : duplication(difference.duplicates)) ??
    misassignment(missing)
  if (suspect) return { ...planned, state: 'source_suspect', message: `${suspect}. Nothing was enqueued.` }
  const total = sweep ? inScope : (last?.statistics.rows ?? inScope)
  // The first run changes everybody, which is as it should be.
  return { ...planned, ...(first ? PASSED : judged(changing, total, limits.breaker)) }
}

/**
 * Plans a `changes` run of the rows that HR's trigger named, as `planEmployees` does one of all. Whoever HR no longer has is
 * left to a run that reads every row, since only that can tell a leaver from a mapping that broke.
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planNamedRows(
  db: ClientBase,
  hr: HrSource,
  candidates: readonly EmployeeKey[],
  breaker: Breaker,
  scope: SourceScope,
): Promise<PlannedRun> {
  const { codes } = scope
  const { fingerprint: mapping } = await hr.inspect()
  const found = await traced('read HR', () => hr.lookup(candidates, { mapping, anyEnterprise: true }))
  const twice = candidates.filter(key => found.get(keyText(key)) === 'duplicate')
  const suspect = duplication(twice.map(({ userid }) => userid))
  if (suspect) return { state: 'source_suspect', sweep: false, message: `${suspect}. Nothing was enqueued.` }
  const rows = candidates.flatMap(key => {
    const row = found.get(keyText(key))
    return row === undefined || row === 'duplicate' ? [] : [{ key, row }]
  })
  const staged = await stageRows(db, rows)
  const replans = await awaitReplan(db, codes)
  const wanted = { everything: false, maxAgeMs: null, sweep: false, replans, codes }
  const { inScope, reasons, sample, changing } = await traced('compare', () => compare(db, staged, wanted))
  const total = (await lastSweep(db, scope))?.statistics.rows ?? inScope
  return {
    sweep: false,
    inScope,
    plan: { reasons, sample },
    mapping,
    ...judged(changing, total, breaker),
  }
}

const PASSED = { state: 'running' } as const

/** Whether so many changes pass the breaker. */
function judged(changing: number, total: number, breaker: Breaker): Pick<EmployeePlan, 'state' | 'message'> {
  if (!trips(breaker, changing, total)) return PASSED
  return {
    state: 'held',
    message: `${changing} of ${total} employees would change, more than ${breaker.count} and ${breaker.percent} %: look at the plan, then approve or reject the run.`,
  }
}

// What earlier runs have found

/**
 * Statistics of the last good run that read every HR row, when it did, and with which mapping. Where a source has got other
 * enterprises since, there is none: what it delivered then does not tell what it should deliver now.
 */
export async function lastSweep(
  db: ClientBase | Pool,
  { name, codes }: SourceScope = WHOLE,
): Promise<{ statistics: SourceStatistics; at: Date; mapping: string | null } | null> {
  const { rows } = await db.query<{ statistics: SourceStatistics; at: Date; mapping: string | null }>(
    `select source as statistics, planned_at as at, mapping from dirsync.sync_run
     where ${OF_EVERYBODY} and hr_source = $1 and sweep and source is not null and state in ('running', 'done')
     order by id desc limit 1`,
    [name],
  )
  const [last] = rows
  if (!last || (codes && !isSameSet(codes, last.statistics.codes ?? []))) return null
  return last
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every(item => other.includes(item))
}

/** What a source delivers as far as is known of its enterprises, for one that was never read as a whole. */
async function knownAs(db: ClientBase, codes: readonly string[]): Promise<SourceStatistics | null> {
  const { rows } = await db.query<{ employees: number }>(
    `select count(*)::int as employees from dirsync.employee
     where enterprise_code = any ($1) and vanished_at is null`,
    [codes],
  )
  const { employees } = onlyRow(rows)
  return employees === 0 ? null : { rows: employees, keyless: 0, empty: {}, newest: null }
}

/** Enterprises of a source with the employees who are known of them, where `staged` has no row of the enterprise. */
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
 * Newest `updated_at` that good runs of a source have seen since its last sweep, but never later than the run that saw it: a
 * row from the future must not hide the present. Null when none is known.
 */
export async function watermark(db: ClientBase | Pool, { name }: SourceScope = WHOLE): Promise<Date | null> {
  const { rows } = await db.query<{ newest: Date | null }>(
    `select max(greatest(least((source ->> 'newest')::timestamptz, planned_at), 'epoch')) as newest
     from dirsync.sync_run
     where kind in ('changes', 'full') and source ->> 'newest' is not null and state in ('running', 'done')
       and hr_source = $1
       -- Of the account that is remembered now, no older run sent anything.
       and planned_at >= coalesce((select since from dirsync.deployment), '-infinity')
       and id >= (select coalesce(max(id), 0) from dirsync.sync_run
                  where ${OF_EVERYBODY} and hr_source = $1 and sweep and source is not null
                    and state in ('running', 'done'))`,
    [name],
  )
  return onlyRow(rows).newest
}

/** Whether a run was cancelled since: what it took back is to be read again, however old its rows are. */
async function cancelledSince(db: ClientBase, at: Date, { name }: SourceScope): Promise<boolean> {
  const { rowCount } = await db.query(
    // Runs of no source may have had work of any.
    `select from dirsync.sync_run where cancelled_at > $1 and hr_source in ('', $2) limit 1`,
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
 * Writes the plan that `difference` holds, and what the run found of rows that are nobody's.
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
export const NOBODY = '(no user id)'

/**
 * HR rows without a usable user id are about nobody, so no job can fail for them: one case of each source tells how many there
 * are, until a run that reads every row finds none. When a person has accepted it, it reopens as the number changes.
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
         'message', $2::text, 'remedy', $3::text, 'source_hash', md5($2)::uuid, 'state', 'open',
         'last_run_id', $4::bigint))`,
      [
        NOBODY,
        keylessMessage(rows, name),
        'Give each a user id of at most 100 characters in HR, or leave them out of the mapping. The next run that reads every row then closes this.',
        runId,
        operation,
        field,
      ],
    )
  else {
    const { rows: open } = await db.query<{ id: number }>(
      `select id from dirsync.dead_letter
       where entity_key = $1 and operation = $2 and field = $3 and state <> 'resolved'`,
      [NOBODY, operation, field],
    )
    await endCases(
      db,
      open.map(({ id }) => ({ id, runId, resolution: 'succeeded' })),
    )
  }
}

function keylessMessage(rows: number, source: string): string {
  if (source === '')
    return `${rows === 1 ? 'One row of HR has' : `${rows} rows of HR have`} no user id, or one that is far too long.`
  return rows === 1
    ? `One row of HR source ${source} has no user id, or one that is far too long.`
    : `${rows} rows of HR source ${source} have no user id, or one that is far too long.`
}
