import type { SourceStatistics } from '../../directory/hash.ts'
import type { SourceScope } from '../../hr/sources.ts'
import { type ClientBase, ifPast, onlyRow, type Pool } from '../../lib/database.ts'
import { ACCOUNT_SINCE, EMPLOYEE_KINDS_SQL, OF_EVERYBODY } from './run.ts'

/** What earlier runs have found, which a later one is compared with. */

/** Rows changed while the newest one was read may carry an earlier time, so this much is read again. */
export const WATERMARK_OVERLAP_MS = 5 * 60_000

/** SQL: good runs that read every HR row. */
export const FULL_READING = `${OF_EVERYBODY} and read_all and source is not null and state in ('running', 'done') and cancelled_at is null`

/**
 * SQL: the newest run when a source got its present enterprises; of the only HR, when there was one once more. That and earlier ones do not tell
 * what it should deliver now, nor what another source has sent of these meanwhile.
 * @param source SQL of its name
 */
export const codesSince = (source: string) =>
  `greatest((select codes_since from dirsync.hr_source where name = ${source}),
            (select one_hr_since from dirsync.deployment), 0)`

/** SQL: when that was; null: never, before it was kept, or by a clock that was put back since. @param source SQL of its name */
export const codesSinceAt = (source: string) =>
  `greatest((select ${ifPast('codes_since_at')} from dirsync.hr_source where name = ${source}),
            (select ${ifPast('one_hr_since_at')} from dirsync.deployment))`

/** Whether there were several sources before the only HR: what is known of them tells what it should deliver. */
export async function followsSeveral(db: ClientBase): Promise<boolean> {
  const { rowCount } = await db.query('select from dirsync.deployment where one_hr_since is not null')
  return rowCount === 1
}

/** SQL: good runs that read every HR row of a source as it is now. @param source SQL of its name */
export const fullReadingOf = (source: string) =>
  `${FULL_READING} and hr_source = ${source} and id > ${codesSince(source)}`

/** Statistics, time and mapping of the last good run that read every HR row. Null where a source has got other enterprises since. */
export async function lastFullReading(
  db: ClientBase | Pool,
  { name, codes }: SourceScope,
): Promise<{ statistics: SourceStatistics; at: Date; mapping: string | null } | null> {
  const { rows } = await db.query<{ statistics: SourceStatistics; at: Date; mapping: string | null }>(
    `select source as statistics, planned_at as at, mapping from dirsync.sync_run
     where ${fullReadingOf('$1')}
     order by id desc limit 1`,
    [name],
  )
  const [last] = rows
  // Of a change before `codes_since` was kept, only the codes tell.
  if (!last || (codes && !isSameSet(codes, last.statistics.codes ?? []))) return null
  return last
}

/**
 * Whether the last run of a source that chose its own rows passed, and none is held: HR looked right. What passed for another
 * account says nothing of where this one has people.
 */
export async function lastPlanPassed(db: ClientBase | Pool, source: string): Promise<boolean> {
  const { rows } = await db.query<{ passed: boolean }>(
    `select state in ('running', 'done', 'cancelled') and planned_at >= ${ACCOUNT_SINCE}
            and not exists (select from dirsync.sync_run h
                            where h.state = 'held' and h.kind in ${EMPLOYEE_KINDS_SQL}
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

/**
 * Newest `updated_at` that good runs of a source have seen since its last full reading, but never later than the run that saw it: a
 * row from the future must not hide the present. Null when none is known.
 */
export async function watermark(db: ClientBase | Pool, { name }: SourceScope): Promise<Date | null> {
  const { rows } = await db.query<{ newest: Date | null }>(
    `select max(greatest(least((source ->> 'newest')::timestamptz, planned_at), 'epoch')) as newest
     from dirsync.sync_run
     where kind in ${EMPLOYEE_KINDS_SQL} and source ->> 'newest' is not null and state in ('running', 'done')
       and hr_source = $1
       -- No older run sent anything for the current account, nor has one seen what another source sent of the same employees.
       and planned_at >= ${ACCOUNT_SINCE}
       and id > ${codesSince('$1')}
       and id >= (select coalesce(max(id), 0) from dirsync.sync_run
                  where ${fullReadingOf('$1')})`,
    [name],
  )
  return onlyRow(rows).newest
}

/** Whether a run was cancelled since, or any of it may have come back: its rows have to be read again, however old they are. */
export async function cancelledSince(db: ClientBase, at: Date, { name }: SourceScope): Promise<boolean> {
  const { rowCount } = await db.query(
    // Runs of no source may have had work of any, and so may those of a source that is no more.
    `select from dirsync.sync_run r
     where cancelled_at is not null and coalesce(finished_at, 'infinity') > $1
       and (hr_source = $2 or not exists (select from dirsync.hr_source h where h.name = r.hr_source))
     limit 1`,
    [at, name],
  )
  return (rowCount ?? 0) > 0
}
