import { createPool } from '../src/lib/database.ts'
import { createLogger } from '../src/lib/logger.ts'
import { migrate } from '../src/lib/migrate.ts'
import { fillBareQueue } from './bare-queue.ts'
import { readyChild } from './child.ts'
import { type Limit, LimitedPlatform, type RecordedCall } from './limited-platform.ts'
import type { PlatformAccess, Workshop } from './workshop.ts'

/** Before and after the measured time, for the start of the process and the last answers. */
const EXTRA_SECONDS = 2
const USERIDS = Array.from({ length: 1000 }, (_, i) => `e${String(i).padStart(8, '0')}`)

/** Callers against a platform with a limit. */
export interface Trial {
  caller: 'dirsync' | 'bullmq' | 'loop'
  processes: number
  limit: Limit
  /** The rate in the callers' settings. */
  rate: number | 'auto'
  /** Calls that each process has waiting or in flight. */
  concurrency: number
  seconds: number
  /** Runs while the callers call, from their start on. */
  meanwhile?(platform: LimitedPlatform): Promise<void>
}

/** The task of a caller's process. */
export interface CallerTask {
  caller: Trial['caller']
  platform: PlatformAccess
  databaseUrl: string
  redisUrl: string
  rate: number | 'auto'
  concurrency: number
  userids: readonly string[]
  seconds: number
}

/** The platform, database and Redis of one trial. */
interface Site {
  platform: LimitedPlatform
  databaseUrl: string
  redisUrl: string
}

/** Runs trials concurrently, each with parts of its own, which are reused for the next ones. */
export class Trials {
  readonly #workshop: Workshop
  readonly #sites: Promise<Site>[] = []

  constructor(workshop: Workshop) {
    this.#workshop = workshop
  }

  /**
   * Prepares all trials, then starts all at the same time.
   * @returns the calls of each
   */
  async run(trials: readonly Trial[]): Promise<RecordedCall[][]> {
    const prepared: Prepared[] = []
    for (const [i, trial] of trials.entries()) {
      this.#sites[i] ??= this.#openSite()
      prepared.push(await this.#prepare(trial, await this.#sites[i]))
    }
    return await Promise.all(prepared.map(trial => trial.run()))
  }

  async #prepare(trial: Trial, site: Site): Promise<Prepared> {
    const { platform, databaseUrl, redisUrl } = site
    await platform.lift()
    if (trial.caller === 'bullmq')
      await fillBareQueue(
        { databaseUrl, redisUrl },
        someUserids(trial.limit.perSecond * trial.seconds * 2),
        500,
      )
    const seconds = trial.seconds + EXTRA_SECONDS
    const { caller, rate, concurrency } = trial
    const task = { caller, platform: platform.access, databaseUrl, redisUrl, rate, concurrency, seconds }
    const children = await Promise.all(
      Array.from({ length: trial.processes }, (_, i) =>
        readyChild<CallerTask, null>(this.#workshop.folder, 'child-caller.ts', {
          ...task,
          // Different from its neighbours', and more than its concurrency, so that no two look-ups are the same.
          userids: USERIDS.slice(i * 200, (i + 1) * 200),
        }),
      ),
    )
    return {
      async run() {
        await platform.permit(trial.limit)
        await platform.begin()
        await Promise.all([...children.map(child => child.go()), trial.meanwhile?.(platform)])
        return await platform.calls()
      },
    }
  }

  async #openSite(): Promise<Site> {
    const databaseUrl = await this.#workshop.database()
    const logger = createLogger({ level: 'error', pretty: false })
    const pool = createPool(databaseUrl, { max: 1, name: 'bench', logger })
    try {
      await migrate(pool)
    } finally {
      await pool.end()
    }
    const employees = USERIDS.map(userid => ({ userid, name: userid }))
    const platform = new LimitedPlatform(await this.#workshop.emulator({ employees }))
    return { platform, databaseUrl, redisUrl: await this.#workshop.ownRedis() }
  }
}

interface Prepared {
  run(): Promise<RecordedCall[]>
}

function someUserids(count: number): string[] {
  return Array.from({ length: count }, (_, i) => USERIDS[i % USERIDS.length] as string)
}
