import type { Pool } from '../../lib/database.ts'
import { pause } from '../../lib/waiting.ts'

/** How often the runs that callers wait for are looked at: by one statement for all callers of this process, and at once for a newcomer. */
const LOOK_MS = 1000

/** Lets callers wait for the end of runs, without a connection of their own. */
export class RunWatch {
  readonly #pool: Pool
  readonly #waiting = new Map<number, Set<() => void>>()
  #isLooking = false
  #newcomer = Promise.withResolvers<void>()

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Resolves when the run is over, held or unknown; after so long; or when the caller has gone. */
  async ended(run: number, ms: number, gone: AbortSignal): Promise<void> {
    if (gone.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const callers = this.#waiting.get(run) ?? new Set()
    this.#waiting.set(run, callers.add(resolve))
    gone.addEventListener('abort', () => resolve(), { once: true })
    this.#newcomer.resolve()
    void this.#look()
    await pause(ms, promise)
    callers.delete(resolve)
    if (callers.size === 0) this.#waiting.delete(run)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    while (this.#waiting.size > 0) {
      this.#newcomer = Promise.withResolvers()
      const runs = [...this.#waiting.keys()]
      // If the database is away, the answer says so.
      const ended = await this.#ended(runs).catch(() => runs)
      for (const run of ended) for (const resolve of this.#waiting.get(run) ?? []) resolve()
      await pause(LOOK_MS, this.#newcomer.promise)
    }
    this.#isLooking = false
  }

  async #ended(runs: readonly number[]): Promise<number[]> {
    const { rows } = await this.#pool.query<{ id: number }>({
      name: 'console ended runs',
      text: `
        select w.id from unnest($1::bigint[]) w (id)
        where not exists (select from dirsync.sync_run r
                          where r.id = w.id and r.finished_at is null and r.state <> 'held')`,
      values: [runs],
    })
    return rows.map(({ id }) => id)
  }
}
