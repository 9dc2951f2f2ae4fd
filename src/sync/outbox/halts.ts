import type { SourceScope } from '../../hr/sources.ts'
import { type ClientBase, type Pool, WORK_MS } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import type { PlatformClient } from '../../platform/client.ts'
import type { PlatformError } from '../../platform/errors.ts'
import { message, type Said, toStore } from '../../texts/message.ts'
import { OUTAGE } from '../processes/process.ts'
import type { Standing } from '../processes/standing.ts'
import { LONGEST_DELAY_MS, LONGEST_PROBE_DELAY_MS, nextProbeDelay, probeDelay } from './backoff.ts'

/** A reason why no calls are made, for everything or for one enterprise. */
export interface Halt {
  /** `*` or an enterprise code. */
  scope: string
  category: string
  platform_code: number | null
  message: Said
  remedy: Said
  since: Date
  /** dirsync, or the person who paused all calls. */
  raised_by: string
  /** Failed probes. */
  probes: number
  /** Null: not before a person resumes. */
  next_probe_at: Date | null
  /** False: a person has paused all calls, so that none is made as a probe. */
  may_probe: boolean
}

const LONGEST_DELAY = `interval '${LONGEST_DELAY_MS} milliseconds'`

/** Condition on a halt. A wait longer than any interval between probes means that the clock was put back. */
export const PROBE_IS_DUE = `next_probe_at <= now()
  or next_probe_at < 'infinity' and next_probe_at > now() + ${LONGEST_DELAY}`

/** For how long after the call of a job the next one is waited for: about twice as long as from one probe to the next. */
const JOBS_PROBE = `interval '${2 * LONGEST_PROBE_DELAY_MS} milliseconds'`
/** For how long others leave it to jobs again, once they have probed in their place. */
const OTHERS_PROBE_EVERY = `interval '30 seconds'`

/** What keeps work back, for those who look: a person's pause, or a halt. */
export const HALT_KINDS = ['paused', 'halted'] as const
export type HaltKind = (typeof HALT_KINDS)[number]

/** SQL: which kind of halt is in force; null without one. @param condition on `dirsync.halt h` */
export function haltWhere(condition: string): string {
  return `(select case when h.category = 'paused' then 'paused' else 'halted' end from dirsync.halt h
           where ${condition} order by h.scope <> '*' limit 1)`
}

/** SQL condition on `dirsync.halt h`: it is in force for an enterprise. @param code an expression */
export function isInForceFor(code: string): string {
  return `h.scope in ('*', ${code})`
}

/**
 * SQL condition on `dirsync.halt h`: it holds back a row of the outbox. One that was fed while the halt was in force is let
 * through, to probe.
 */
export function holdsBack(row: string): string {
  return `${isInForceFor(`${row}.enterprise_code`)} and (${row}.enqueued_at is null or ${row}.enqueued_at < h.since)`
}

/** How long a ping may take, in milliseconds: as long as any other call, and its turn. */
export const PING_MS = 15_000

type Reason = Pick<Halt, 'category' | 'message' | 'remedy'> & { platformCode: number | null }

interface Dependencies {
  pool: Pool
  logger: Logger
}

/** Raises a halt, and logs an alarm when it is new. */
async function halt({ pool, logger }: Dependencies, scope: string, reason: Reason): Promise<void> {
  const { category, remedy, platformCode } = reason
  if (await raiseHalt(pool, { ...reason, scope }, probeDelay(0, Math.random())))
    logger.error({
      ...{ scope, category, platformCode, remedy },
      msg: message('said.halted', { reason: [reason.message] }),
    })
}

/**
 * Returns true when the halt is new. A halt because of HR gives way to one because of the platform: it does not stop mirrors,
 * and is raised again if HR stays away. An outage gives way to what the platform itself answers.
 */
export async function raiseHalt(
  db: Pool,
  { scope, category, platformCode, ...reason }: Reason & { scope: string },
  firstProbeMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into dirsync.halt as h (scope, category, platform_code, message, remedy, next_probe_at, jobs_probe_until)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond', now() + ${JOBS_PROBE})
     on conflict (scope) do update
     set (category, platform_code, message, remedy, next_probe_at, jobs_probe_until, since, probes)
       = (excluded.category, excluded.platform_code, excluded.message, excluded.remedy,
          excluded.next_probe_at, excluded.jobs_probe_until, now(), 0)
     where h.category = 'hr_unavailable' and excluded.category <> 'hr_unavailable'
        or h.category = '${OUTAGE}' and excluded.platform_code is not null`,
    [scope, category, platformCode, toStore(reason.message), toStore(reason.remedy), firstProbeMs],
  )
  return rowCount === 1
}

/**
 * Lifts the halts that are disproved by a successful call that began at `startedAt`, and logs it.
 * @param except categories that the call says nothing about
 */
export async function liftHalts(
  deps: Dependencies,
  enterpriseCode: string,
  startedAt: Date,
  except: string[] = [],
): Promise<void> {
  const disproved = `${isInForceFor('$1')} and since < $2 and category <> 'paused' and category <> all ($3)`
  await liftAndLog(deps, disproved, [enterpriseCode, startedAt, except])
}

/** Ends an outage that began before a call of work to which the platform has answered, if only by a refusal that halts. */
export async function endOutage(deps: Dependencies, startedAt: Date): Promise<void> {
  await liftAndLog(deps, `category = '${OUTAGE}' and since < $1`, [startedAt])
}

async function liftAndLog(
  { pool, logger }: Dependencies,
  condition: string,
  values: unknown[],
): Promise<void> {
  for (const scope of await lift(pool, condition, values)) logger.info({ scope }, 'the halt is over')
}

/** Deletes halts, and has the work fed that they held back. @param condition on `dirsync.halt h` @returns their scopes */
async function lift(db: ClientBase | Pool, condition: string, values: unknown[]): Promise<string[]> {
  const { rows } = await db.query<{ scope: string }>(
    `with lifted as (delete from dirsync.halt h where ${condition} returning scope)
     select scope, pg_notify('dirsync', 'feed') from lifted`,
    values,
  )
  return rows.map(({ scope }) => scope)
}

/** The scopes that a source of HR halts: everything, or its own enterprises. */
function scopesOf({ codes }: SourceScope): readonly string[] {
  return codes ?? ['*']
}

/** Stops everything, or with several sources the work that waits for this one, until HR answers again. */
export async function haltForHr(deps: Dependencies, source: SourceScope, reason: Said): Promise<void> {
  for (const scope of scopesOf(source))
    await halt(deps, scope, {
      category: 'hr_unavailable',
      message: source.name
        ? message('said.source_unread_because', { name: source.name, reason })
        : message('said.hr_unread_because', { reason }),
      remedy: message('said.hr_unread_remedy'),
      platformCode: null,
    })
}

/** Lifts the halts for an HR source that has answered, and logs it. */
export async function healHrHalt(
  { db, logger }: { db: ClientBase | Pool; logger: Logger },
  source: SourceScope,
  startedAt: Date,
): Promise<void> {
  const healed = `scope = any ($2) and category = 'hr_unavailable' and since < $1`
  for (const scope of await lift(db, healed, [startedAt, scopesOf(source)]))
    logger.info({ scope, ...(source.name && { source: source.name }) }, 'HR answers again: the halt is over')
}

/** Has halts begin now that began later: the clock was put back, and no success could disprove them, nor a job be their probe. */
export async function endLateHalts(db: Pool): Promise<void> {
  await db.query('update dirsync.halt set since = clock_timestamp() where since > clock_timestamp()')
}

/** Whether a person has paused all calls (`dirsync.pause`). */
export async function isPaused(db: Pool): Promise<boolean> {
  const statement = {
    text: `select from dirsync.halt where scope = '*' and category = 'paused'`,
    query_timeout: WORK_MS,
  }
  const { rowCount } = await db.query(statement)
  return rowCount === 1
}

/** Everything's halt first, then those of enterprises. */
export async function readHalts(db: Pool): Promise<Halt[]> {
  const { rows } = await db.query<Halt>(
    `select scope, category, platform_code, message, remedy, since, raised_by, probes,
            nullif(next_probe_at, 'infinity') as next_probe_at,
            not exists (select from dirsync.halt where category = 'paused') as may_probe
     from dirsync.halt order by scope <> '*', scope`,
  )
  return rows
}

/** Why HR could not tell of some whose work has left a run: by halts, whether they are over by now or not, or without a full reading. */
export async function untoldIn(db: Pool, runId: number): Promise<{ message: Said; remedy?: Said }[]> {
  const { rows } = await db.query<{ message: Said; halted: boolean }>(
    // A source halts each of its enterprises. What a worker has halted is repeated in the run, or leaves it later.
    `select distinct error as message, outcome = 'halted' as halted from dirsync.attempt
     where run_id = $1 and (outcome = 'halted' and error ->> 'key' = 'said.source_unread_because'
                            or outcome = 'obsolete' and error ->> 'key' = 'said.not_read_since')
     order by 2 desc`,
    [runId],
  )
  return rows.map(({ message: what, halted }) => ({
    message: what,
    ...(halted && { remedy: message('said.hr_unread_remedy') }),
  }))
}

/** Categories of halts that are not the platform's: a call's answer says nothing of them. */
export const HALTS_OF_OTHERS = ['hr_unavailable']

/** The platform's halt that forbids a call for the enterprise. Null: the call may be made, perhaps as the probe of a halt. */
export async function forbidding(
  db: Pool,
  enterpriseCode: string,
): Promise<{ halt: Halt | null; isProbe: boolean }> {
  // The halt of everything comes first: while it holds, the enterprise's own cannot be disproved.
  const halt = (await readHalts(db)).find(
    ({ scope, category }) => ['*', enterpriseCode].includes(scope) && !HALTS_OF_OTHERS.includes(category),
  )
  if (!halt) return { halt: null, isProbe: false }
  return (await isToProbe(db, halt)) ? { halt: null, isProbe: true } : { halt, isProbe: false }
}

/** SQL: there is a job to be the probe of a halt `h` for an outage: other calls may succeed while those of jobs do not. */
const IS_UP_TO_JOB = `h.category = '${OUTAGE}' and exists (
  select from dirsync.pending p where p.not_before <= now()
    and not exists (select from dirsync.halt own where own.scope = p.enterprise_code))`

/** SQL: a job of the halt `h` is waited for. If for longer than any delay, the clock was put back. */
const IS_LEFT_TO_JOBS = `(h.jobs_probe_until between now() and now() + ${LONGEST_DELAY})`

/**
 * SQL condition on `dirsync.halt h`: a call that is no job's may be its probe. Jobs may make none: they read HR first, which may be
 * away, and without a scheduler or a queue they come to no worker.
 */
export const IS_FOR_ANYONE = `case when ${IS_UP_TO_JOB} then not ${IS_LEFT_TO_JOBS} else ${PROBE_IS_DUE} end`

/** Whether the caller, which is no job, is to probe the halt. Then the next probe is later; in the place of jobs, that of others. */
export async function isToProbe(db: Pool, { scope, probes }: Halt): Promise<boolean> {
  const { rowCount } = await db.query(
    `update dirsync.halt h
     set probes = probes + 1,
         -- Where others ask in vain, as a gateway refuses what they ask for, the next job may yet succeed.
         next_probe_at = case when ${IS_UP_TO_JOB} then next_probe_at else now() + $2 * interval '1 millisecond' end,
         jobs_probe_until = case when ${IS_LEFT_TO_JOBS} then jobs_probe_until else now() + ${OTHERS_PROBE_EVERY} end
     where scope = $1 and probes = $3 and ${IS_FOR_ANYONE}`,
    [scope, nextProbeDelay(probes), probes],
  )
  return rowCount === 1
}

/** Leaves the probes to jobs: one has made a call for the enterprise, which has not ended its halts. */
export async function leaveProbesToJobs(db: Pool, enterpriseCode: string): Promise<void> {
  await db.query(
    `update dirsync.halt h set jobs_probe_until = now() + ${JOBS_PROBE} where ${isInForceFor('$1')}`,
    [enterpriseCode],
  )
}

/**
 * The platform answers no job of this process: everything is halted; unless it answers this process alone not even a ping, and others
 * work: it stands aside then.
 */
export async function haltForOutage(
  deps: Dependencies & { standing: Standing; client: Pick<PlatformClient, 'ping'> },
  { said }: Pick<PlatformError['verdict'], 'said'>,
): Promise<void> {
  const { standing, client } = deps
  const hasLeft = await standing.leaveIfCutOff(() => client.ping({ signal: AbortSignal.timeout(PING_MS) }))
  // Where that cannot be told, the next failure asks again.
  if (hasLeft !== false) return
  await halt(deps, '*', { category: OUTAGE, message: said.meaning, remedy: said.remedy, platformCode: null })
}

/** Raises the halt that a refusal demands; or has this process stand aside, if it may be its secret alone. */
export async function haltForPlatform(
  deps: Dependencies & { standing: Standing },
  scope: string,
  { category, said }: Pick<PlatformError['verdict'], 'category' | 'said'>,
  platformCode: number | null,
): Promise<void> {
  if (category === 'credentials' && (await deps.standing.leaveForSecret())) return
  await halt(deps, scope, { category, message: said.meaning, remedy: said.remedy, platformCode })
}
