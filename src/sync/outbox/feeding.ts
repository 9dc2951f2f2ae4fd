import pg from 'pg'
import { type ClientBase, LOOK_MS, onlyRow, type Pool } from '../../lib/database.ts'
import { LONGEST_DELAY_MS } from './backoff.ts'
import { type ClaimKey, LATE_EFFECT_MS } from './claim.ts'
import { PROBE_IS_DUE } from './halts.ts'
import { LOCK_NAME, PRIORITY } from './outbox.ts'

/** The feeder's view of the outbox: which rows are due for the queue, which probe a halt, and which the queue has lost. */

/** A row that a feeder took for the queue. */
export interface Fed extends ClaimKey {
  priority: number
  /** Which job it is in: the moment of `enqueued_at`, which all rows of a job share. */
  job: string
  /** Identifies the request for the entity: the same until a worker begins it, and never reused for an entity. */
  request: string
}

/** SQL: the priority that a row has in the queue. */
function priorityOf(row: string): string {
  return `case when ${row}.starts > 0 then least(${row}.priority, ${PRIORITY.resumed}) else ${row}.priority end`
}

/** A row as `Fed`. */
const FED = `p.operation, p.enterprise_code as "enterpriseCode", p.entity_key as "entityKey", p.detail,
       ${priorityOf('p')} as priority, p.enqueued_at::text as job,
       coalesce(p.execution::text, extract(epoch from p.created_at)::text) as request`

/**
 * True for a row `q` whose wave has come: its enterprise has nothing left of an earlier one, whichever run requested it. Only
 * departments have waves, and an index of their own for this.
 */
const WAVE_HAS_COME = `(q.wave = 0 or not exists (
    select from dirsync.pending w
    where w.operation = 'delete-department' and w.enterprise_code = q.enterprise_code
      and w.wave < q.wave))`

const IS_DUE = `q.enqueued_at is null and q.not_before <= now() and ${WAVE_HAS_COME}`

/** What is read of a due row `q`. */
const DUE = `q.ctid, q.operation, ${priorityOf('q')} as "inQueue"`

/** A plan or an outcome is writing the others, and they come with the next ones. */
const LOCKED = 'for update skip locked'

/**
 * SQL: up to $1 due rows `q`, in feeding order.
 * @param columns of `q`
 * @param of which enterprise; default: all
 */
const dueRows = (columns: string, of?: string) => `
  select ${columns} from dirsync.pending q
  where ${IS_DUE}
    ${of === undefined ? '' : `and q.enterprise_code = ${pg.escapeLiteral(of)}`}
  order by q.priority, q.not_before limit $1`

/**
 * The same, locked, for the enterprises that have due work and no halt of their own. Each is read by an index and merged with the
 * others, so that a halted one is never scanned, however much waits in it. Of the merged rows only as many are locked as are
 * taken: with a lock in each branch, as many would be in each.
 */
async function dueBeside(db: ClientBase, halted: readonly string[]): Promise<string> {
  if (halted.length === 0) return `${dueRows(DUE)} ${LOCKED}`
  const { rows } = await db.query<{ code: string }>(
    `select enterprise_code as code from dirsync.tally
     where source = 'pending' and not enqueued and enterprise_code <> all ($1)
     group by 1 having sum(n) > 0`,
    [halted],
  )
  const each = rows.map(({ code }) => `(${dueRows('q.ctid, q.priority, q.not_before', code)})`)
  return each.length === 0
    ? `select ${DUE} from dirsync.pending q where false limit $1`
    : `select due.* from (${each.join(' union all ')}) w
       cross join lateral (select ${DUE} from dirsync.pending q where q.ctid = w.ctid and ${IS_DUE} ${LOCKED}) due
       order by w.priority, w.not_before limit $1`
}

/**
 * Takes up to `room` due rows for the queue, best priority first, and marks them as enqueued. Rows of one operation and one
 * priority are divided into jobs of `perJob` keys, which differ in `enqueued_at` by a microsecond. Only one feeder at a time may
 * call it. Rows of a halted scope are not taken here: see `takeProbes`.
 */
export async function takeForQueue(
  db: ClientBase,
  room: number,
  perJob: (rows: number) => number,
): Promise<Fed[]> {
  const scopes = await haltedScopes(db)
  if (scopes.includes('*')) return []
  const { rows: due } = await db.query<DueRow>(await dueBeside(db, scopes), [room])
  const { rows } = await db.query<Fed>(
    // With the array, rows are fetched one by one, as they were found; a join might read the whole outbox for them.
    `with taken as materialized (select * from unnest($1::tid[], $2::int[]) as t (ctid, job))
     update dirsync.pending p set enqueued_at = now() + t.job * interval '1 microsecond'
     from taken t where p.ctid = any (array(select ctid from taken)) and p.ctid = t.ctid
     returning ${FED}`,
    [due.map(({ ctid }) => ctid), divided(due, perJob(due.length))],
  )
  return rows
}

interface DueRow {
  ctid: string
  operation: string
  /** The priority of its job. */
  inQueue: number
}

/** The number of the job that each row is in. */
function divided(due: readonly DueRow[], perJob: number): number[] {
  const open = new Map<string, { job: number; keys: number }>()
  let jobs = 0
  return due.map(({ operation, inQueue }) => {
    const kind = `${operation} ${inQueue}`
    let latest = open.get(kind)
    if (latest === undefined || latest.keys === perJob) {
      jobs += 1
      latest = { job: jobs, keys: 0 }
      open.set(kind, latest)
    }
    latest.keys += 1
    return latest.job
  })
}

async function haltedScopes(db: ClientBase): Promise<string[]> {
  const { rows } = await db.query<{ scope: string }>('select scope from dirsync.halt')
  return rows.map(({ scope }) => scope)
}

/** How many rows are searched for the best probe. */
const PROBED = 1000

/**
 * Lets one row through for every halted scope whose probe is due, and sets the time of the next. Without a row, the probe stays
 * due for the next row, or for a mirror. While a person has paused all calls none is let through: it could make no call.
 */
export async function takeProbes(db: ClientBase, nextProbe: (probes: number) => number): Promise<Fed[]> {
  const { rows: halts } = await db.query<{ scope: string; probes: number }>(
    `select scope, probes from dirsync.halt
     where (${PROBE_IS_DUE}) and not exists (select from dirsync.halt where category = 'paused')
     order by scope = '*' desc for update`,
  )
  const probes: Fed[] = []
  for (const { scope, probes: soFar } of halts) {
    const own = async () => (await haltedScopes(db)).filter(other => other !== '*')
    const due = scope === '*' ? await dueBeside(db, await own()) : `${dueRows(DUE, scope)} ${LOCKED}`
    const { rows } = await db.query<Fed>(
      `update dirsync.pending p set enqueued_at = now()
       where p.ctid = (select q.ctid from dirsync.pending q
                       where q.ctid = any (array(select ctid from (${due}) due)) and q.enqueued_at is null
                       -- The row that has failed least is the best probe.
                       order by q.attempts, q.priority, q.not_before limit 1)
       returning ${FED}`,
      [PROBED],
    )
    if (rows.length === 0) continue
    await db.query(
      `update dirsync.halt
       set next_probe_at = now() + $2 * interval '1 millisecond', probes = probes + 1 where scope = $1`,
      [scope, nextProbe(soFar)],
    )
    probes.push(...rows)
  }
  return probes
}

/** What is in the queue and not begun, as far as the outbox knows. */
export async function countEnqueued(db: Pool): Promise<{ rows: number; jobs: number }> {
  const { rows } = await db.query<{ rows: number; jobs: number }>({
    text: `select count(*)::int as rows, count(distinct enqueued_at)::int as jobs
     from dirsync.pending where enqueued_at is not null and not in_hand`,
    query_timeout: LOOK_MS,
  })
  return onlyRow(rows)
}

/** Marks rows that nobody has begun as not enqueued, so that they are fed again; harmless for those that the queue still has. */
export async function refeed(db: Pool, olderThanMs: number): Promise<number> {
  const { rowCount } = await db.query(
    `with lost as (
       select p.ctid from dirsync.pending p
       where not p.in_hand and (p.enqueued_at < now() - $1 * interval '1 millisecond'
         -- Enqueued before the clock was put back: no worker claims it until it is due.
         or p.enqueued_at > now() + $1 * interval '1 millisecond')
       for update skip locked
     )
     update dirsync.pending p set enqueued_at = null, not_before = least(p.not_before, now())
     from lost where p.ctid = lost.ctid`,
    [olderThanMs],
  )
  return rowCount ?? 0
}

/**
 * Marks rows as not enqueued whose execution has ended without a word: nobody has the lock any more that is held from before
 * it begins until its outcome is written. Its process is dead, or has lost its locks. They are due in a moment.
 */
export async function refeedAbandoned(db: Pool): Promise<number> {
  const { rowCount } = await db.query({
    text: `with locks as materialized (
       select (classid::bigint << 32) | objid::bigint as hash from pg_locks
       where locktype = 'advisory' and objsubid = 1 and granted
         and database = (select oid from pg_database where datname = current_database())
     ), abandoned as materialized (
       select p.ctid from dirsync.pending p
       where p.ctid = any (array(
           select q.ctid from dirsync.pending q where q.enqueued_at is not null and q.in_hand
           union all
           -- Requested anew meanwhile: such a row is due, and whoever claims it gives it back, unless its run is cancelled.
           select q.ctid from dirsync.sync_run r
           -- With the offset, the outbox is read only where there is such a run.
           cross join lateral (select p.ctid from dirsync.pending p
                               where p.run_id = r.id and p.enqueued_at is null and p.in_hand offset 0) q
           where r.cancelled_at is not null and r.finished_at is null))
         and p.in_hand and hashtextextended(${LOCK_NAME}, 0) not in (select hash from locks)
       for update skip locked
     )
     update dirsync.pending p
     set enqueued_at = null, in_hand = false, not_before = greatest(not_before, now() + interval '${LATE_EFFECT_MS} milliseconds')
     from abandoned where p.ctid = any (array(select ctid from abandoned)) and p.ctid = abandoned.ctid`,
    query_timeout: LOOK_MS,
  })
  return rowCount ?? 0
}

/** A time later than now by more than this is of a clock that was put back. */
const AHEAD = `now() + interval '3 seconds'`
const TOO_LATE = `now() + interval '${LONGEST_DELAY_MS} milliseconds'`

/**
 * Makes work due that waits since the clock was put back: for longer than any delay, or it was requested later than now and not
 * begun. What is to be tried again has waits of its own. Returns how much.
 */
export async function endLateDelays(db: Pool): Promise<number> {
  const { rowCount } = await db.query(
    `update dirsync.pending p set not_before = now()
     where p.ctid = any (array(
       select q.ctid from generate_series(0, 9) as level (priority)
       -- One index look-up for each.
       cross join lateral (
         select l.ctid from dirsync.pending l
         where l.priority = level.priority and l.enqueued_at is null and l.not_before < 'infinity'
           and l.not_before > (
             -- All that waits is looked through only while a run shows that the clock was put back.
             select case when exists (select from dirsync.sync_run where requested_at > ${AHEAD}) then ${AHEAD}
                         else ${TOO_LATE} end)
           and (l.not_before > ${TOO_LATE} or l.created_at > ${AHEAD} and l.execution is null)
         for update skip locked) q))`,
  )
  return rowCount ?? 0
}
