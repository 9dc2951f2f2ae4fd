import { onlyRow, type Pool, type PoolClient, transaction } from '../lib/database.ts'
import type { RunKind } from './run.ts'

/** What a person asked for cannot be done: there is no such thing (any more), or an argument is wrong. */
class CommandError extends Error {
  readonly code: 'COMMAND_NOT_FOUND' | 'COMMAND_INVALID'

  constructor(code: CommandError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandError'
    this.code = code
  }
}

/** SQLSTATEs that the functions for people raise. */
const CODES: Record<string, CommandError['code']> = { P0002: 'COMMAND_NOT_FOUND', '22023': 'COMMAND_INVALID' }

/**
 * What a person may ask for. Everything goes through the SQL functions that reviewers use too, so that the rules and the
 * audit in `dirsync.command` are the same. A method throws a CommandError when it cannot be done.
 */
export class Commands {
  readonly #pool: Pool
  readonly #actor: string

  /** @param actor who asks, beside the database user: `cli:` and the shell user */
  constructor(pool: Pool, actor: string) {
    this.#pool = pool
    this.#actor = actor
  }

  /** Requests a run, or finds the same one that still waits to begin. Returns its number. */
  resync(kind: Exclude<RunKind, 'employees' | 'retry'>): Promise<number> {
    return this.#ask('select dirsync.resync($1)', [kind])
  }

  /** The same for a full run. @param maxAgeMs leaves out whom the platform confirmed within this time; null: nobody */
  resyncFull(maxAgeMs: number | null): Promise<number> {
    return this.#ask(`select dirsync.resync('full', max_age => $1 * interval '1 millisecond')`, [maxAgeMs])
  }

  /** One run for all the named employees: user ids, or `enterprise/userid`. */
  resyncEmployees(names: string[]): Promise<number> {
    return this.#ask(`select dirsync.request_run('employees', $1, 'resync', $2)`, [
      names,
      { kind: 'employees', keys: names },
    ])
  }

  /** One run that tries all the cases again. There is none when one of them does not exist or is resolved. */
  retry(ids: number[]): Promise<number> {
    return this.#do(async client => {
      const { rows } = await client.query<{ id: number }>(
        `select w.id from unnest($1::bigint[]) as w (id)
         where not exists (select from dirsync.dead_letter d where d.id = w.id and d.state <> 'resolved')`,
        [ids],
      )
      if (rows.length > 0)
        throw new CommandError(
          'COMMAND_NOT_FOUND',
          `there is no unresolved dead letter ${rows.map(row => row.id).join(', ')}`,
        )
      return scalar(client, `select dirsync.request_run('retry', $1, 'retry', $2)`, [
        ids.map(String),
        ids.length === 1 ? { id: ids[0] } : { ids },
      ])
    })
  }

  retryCategory(category: string): Promise<number> {
    return this.#ask('select dirsync.retry_category($1)', [category])
  }

  ignore(id: number, reason: string): Promise<number> {
    return this.#ask('select dirsync.ignore($1, $2)', [id, reason])
  }

  snooze(id: number, until: Date, reason: string | null): Promise<number> {
    return this.#ask('select dirsync.snooze($1, $2, $3)', [id, until, reason])
  }

  approve(run: number): Promise<number> {
    return this.#ask('select dirsync.approve($1)', [run])
  }

  reject(run: number, reason: string | null): Promise<number> {
    return this.#ask('select dirsync.reject($1, $2)', [run, reason])
  }

  /** Takes a run's waiting work back; what is in hand ends. */
  cancel(run: number, reason: string | null): Promise<number> {
    return this.#ask('select dirsync.cancel($1, $2)', [run, reason])
  }

  /** Stops all calls of the deployment. Returns the reason. */
  pause(reason: string): Promise<string> {
    return this.#ask('select dirsync.pause($1)', [reason])
  }

  /** Lets calls go on. Returns whether they were paused. */
  resume(): Promise<boolean> {
    return this.#ask('select dirsync.resume()', [])
  }

  /** Lowers the rate of all calls until a time; then it comes back by itself. Returns the rate. */
  lowerRate(perSecond: number, until: Date, reason: string): Promise<number> {
    return this.#ask('select dirsync.lower_rate($1, $2, $3)', [perSecond, until, reason])
  }

  /** Ends it before its time. Returns whether the rate was lowered. */
  restoreRate(): Promise<boolean> {
    return this.#ask('select dirsync.restore_rate()', [])
  }

  /** Leaves a cron job's ticks out. Returns what that means for the directory; null: nothing. */
  pauseSchedule(job: string, reason: string): Promise<string | null> {
    return this.#ask('select dirsync.pause_schedule($1, $2)', [job, reason])
  }

  /** Lets it run again. Returns whether it was paused. */
  resumeSchedule(job: string): Promise<boolean> {
    return this.#ask('select dirsync.resume_schedule($1)', [job])
  }

  /** Runs a cron job once, at once. Returns when that was asked for: `due_at` of the tick. */
  runSchedule(job: string): Promise<Date> {
    return this.#ask('select dirsync.run_schedule($1)', [job])
  }

  /** Lets the next probe of a halt happen at once. Returns its scope. */
  probeNow(scope: string): Promise<string> {
    return this.#ask('select dirsync.probe_now($1)', [scope])
  }

  #ask<T = number>(sql: string, values: unknown[]): Promise<T> {
    return this.#do(client => scalar<T>(client, sql, values))
  }

  async #do<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await transaction(this.#pool, async client => {
        await client.query(`select set_config('dirsync.actor', $1, true)`, [this.#actor])
        return work(client)
      })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? CODES[String(error.code)] : undefined
      if (code === undefined) throw error
      throw new CommandError(code, (error as Error).message, { cause: error })
    }
  }
}

async function scalar<T = number>(client: PoolClient, sql: string, values: unknown[]): Promise<T> {
  const { rows } = await client.query<[T]>({ text: sql, values, rowMode: 'array' })
  return onlyRow(rows)[0]
}
