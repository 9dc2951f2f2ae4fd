import { Agent, request } from 'undici'
import type { Pool } from '../lib/database.ts'
import { codeOf } from '../lib/failure.ts'
import type { Logger } from '../lib/logger.ts'
import { Loop } from '../lib/loop.ts'
import { readHealth } from '../sync/health/health.ts'
import { jitter } from '../sync/outbox/backoff.ts'
import { EACH_EMPLOYEE_KIND, OF_EVERYBODY, RUN_SOURCES } from '../sync/runs/run.ts'

/** How often to check for a good run. */
const POLL_MS = 5000
/** The time limit for a call to the monitor. */
const CALL_MS = 10_000
/** The same for the last call, while the process stops. */
const LAST_CALL_MS = 3000
/** Longer than a call; when it expires, the caller counts as dead. */
const LEASE_MS = 30_000
/** A run that ended longer ago says nothing about the present; the next good run triggers the call. */
const NEWS = `interval '1 hour'`

/** Work is overdue after this time, unless only the halt of an enterprise holds it back. */
const OVERDUE_SECONDS = 15 * 60

/** Milliseconds until the monitor is called again after so many failures: 5 s, doubling up to 5 min, ± 30 %. */
function callAgainMs(attempts: number, random: number): number {
  return jitter(Math.min(5000 * 2 ** Math.min(attempts - 1, 20), 300_000), random)
}

interface HeartbeatOptions {
  pool: Pool
  /** HEARTBEAT_URL. It is not logged, because knowing it is enough to call it. */
  url: string
  logger: Logger
}

/**
 * Calls an external monitor after each good `changes` or `full` run over all employees, so that the monitor notices
 * when none comes. Any number of processes may run one; a run is called for once, and if several have ended, only the
 * latest. No call is made while planned work is stuck, because runs can end well without it.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  readonly #loop: Loop
  readonly #agent = new Agent({ connections: 1 })
  #isFailing = false

  constructor(options: HeartbeatOptions) {
    this.#options = options
    this.#loop = new Loop({
      step: signal => this.#callIfDue(CALL_MS, signal),
      pauseMs: POLL_MS,
      failed: error => options.logger.debug({ error }, 'no good run was looked for'),
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Stops after a last check: `--once` ends as soon as its runs have. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#callIfDue(LAST_CALL_MS).catch(() => undefined)
    await this.#agent.destroy()
  }

  async #callIfDue(timeoutMs: number, stopping?: AbortSignal): Promise<void> {
    const { pool, logger } = this.#options
    if (!(await isDue(pool)) || (await isOverdue(pool))) return
    const due = await takeDue(pool)
    if (!due) return
    const { ok, answer } = await this.#call(timeoutMs, stopping)
    await noteAnswer(pool, due, ok, answer, stopping?.aborted ? 0 : callAgainMs(due.attempts, Math.random()))
    if (!ok && !this.#isFailing && !stopping?.aborted)
      logger.warn({ answer }, 'the monitor of HEARTBEAT_URL did not take the call; trying again')
    if (ok && this.#isFailing) logger.info('the monitor of HEARTBEAT_URL takes calls again')
    this.#isFailing = !ok
  }

  /** Calls the monitor. The answer is for people, and does not contain the address. */
  async #call(timeoutMs: number, stopping?: AbortSignal): Promise<{ ok: boolean; answer: string }> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = stopping ? AbortSignal.any([timeout, stopping]) : timeout
    try {
      const { statusCode, body } = await request(this.#options.url, {
        dispatcher: this.#agent,
        headers: { 'user-agent': 'dirsync' },
        signal,
      })
      await body.dump({ limit: 1024, signal }).catch(() => undefined) // the content is not used
      return { ok: statusCode >= 200 && statusCode < 300, answer: `HTTP ${statusCode}` }
    } catch (error) {
      if (timeout.aborted) return { ok: false, answer: `no answer within ${timeoutMs / 1000} s` }
      return { ok: false, answer: codeOf(error) || (error as Error).name }
    }
  }
}

interface Due {
  runId: number
  /** Including the call that is due. */
  attempts: number
}

/** The latest good run. */
const LATEST = `
  with good as (
    select latest.id, latest.finished_at
    from ${EACH_EMPLOYEE_KIND} k (kind)
    cross join lateral ${RUN_SOURCES} s
    cross join lateral (
      select r.id, r.finished_at from dirsync.sync_run r
      where r.kind = k.kind and r.hr_source = s.name and r.state = 'done' and ${OF_EVERYBODY}
        -- One of the future is from before the clock was put back: it would be the latest until then.
        and r.finished_at between now() - ${NEWS} and now()
      order by r.finished_at desc, r.id desc limit 1) latest
  ), latest as (
    select id from good order by finished_at desc, id desc limit 1
  )`

/** SQL: whether a call for a run is due, and not yet made, in progress or delayed. */
const isCallable = (run: string) => `(
  c.run_id <> ${run}
  or c.called_at is null and c.not_before <= now() and (c.leased_until is null or c.leased_until <= now()))`

async function isDue(db: Pool): Promise<boolean> {
  const { rowCount } = await db.query(
    `${LATEST} select from latest left join dirsync.heartbeat_call c on true
     where c.run_id is null or ${isCallable('latest.id')}`,
  )
  return rowCount === 1
}

/** Whether work waits too long, if not for its enterprise alone, or cannot get through the queue. */
async function isOverdue(db: Pool): Promise<boolean> {
  const { work, haltedWork, queueAwayForAll } = await readHealth(db)
  return queueAwayForAll !== null || Math.max(work[0]?.age ?? 0, haltedWork ?? 0) > OVERDUE_SECONDS
}

/** Claims the call for the latest good run, if it is due. */
async function takeDue(db: Pool): Promise<Due | null> {
  const { rows } = await db.query<Due>(
    `${LATEST}
     insert into dirsync.heartbeat_call as c (run_id, attempts, leased_until)
     select id, 1, now() + $1 * interval '1 ms' from latest
     on conflict (only_row) do update
     set run_id = excluded.run_id, called_at = null, leased_until = excluded.leased_until,
         attempts = case when c.run_id = excluded.run_id then c.attempts else 0 end + 1,
         answer = case when c.called_at is null then c.answer end
     where ${isCallable('excluded.run_id')}
     returning run_id as "runId", attempts`,
    [LEASE_MS],
  )
  return rows[0] ?? null
}

async function noteAnswer(
  db: Pool,
  { runId, attempts }: Due,
  ok: boolean,
  answer: string,
  delayMs: number,
): Promise<void> {
  await db.query(
    `update dirsync.heartbeat_call
     set called_at = case when $3 then now() end, answer = $4, leased_until = null,
         not_before = now() + $5 * interval '1 ms'
     where run_id = $1 and attempts = $2 and called_at is null`,
    [runId, attempts, ok, answer, delayMs],
  )
}
