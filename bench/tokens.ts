import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createPool } from '../src/lib/database.ts'
import { migrate } from '../src/lib/migrate.ts'
import { registerChild } from '../test/helpers/children.ts'
import { controlOf } from '../test/helpers/emulator-control.ts'
import { watchCalls } from './emulator-log.ts'
import type { RunBenchmark } from './figure.ts'
import type { PlatformAccess, Workshop } from './workshop.ts'

const PROCESSES = 4
const RESTARTS = 50
/**
 * Processes that share nothing create a token each: this many restarts show it, and stay below the platform's limit.
 */
const ALONE_RESTARTS = 5
const CALLS_EACH = 50
/** Latency of a call, long enough for all calls to be in flight before the first is answered. */
const LATENCY_MS = 500

/** How to compose a process. */
export interface TokenTask {
  /** The environment. */
  settings: Record<string, string>
  /** Whether it shares its token and its pacer with the others. */
  shared: boolean
}

/** Tells a process to ask for these employees at the same time. */
export interface TokenCall {
  task: TokenTask
  userids: string[]
}

/** How many tokens a deployment creates over restarts, and when all calls find at once that theirs has expired. */
export function tokens(workshop: Workshop, logger: Logger): RunBenchmark {
  return {
    name: 'token-creations',
    measures: `token/create calls that the emulator saw: over ${RESTARTS} restarts of ${PROCESSES} processes on one database, each killed (-9) after its first call; then with ${PROCESSES * CALLS_EACH} calls of ${PROCESSES} processes under way that are all answered "token expired"`,
    against: `processes that keep their token to themselves: ${ALONE_RESTARTS} restarts counted for ${RESTARTS}, and one creation per process`,
    async run(_parts, report) {
      const databaseUrl = await workshop.database()
      const pool = createPool(databaseUrl, { max: 1, name: 'bench', logger })
      await migrate(pool)
      await pool.end()
      const userids = Array.from({ length: PROCESSES * CALLS_EACH }, (_, i) => `e${i}`)
      const platform = await workshop.emulator({ employees: userids.map(userid => ({ userid })) })
      const bench = new TokenBench(workshop.folder, platform, databaseUrl, userids)

      const alone = await bench.restart(ALONE_RESTARTS, false)
      const aloneExpired = await bench.expire(false)
      report(`alone: ${alone} creations over ${ALONE_RESTARTS} restarts, ${aloneExpired} for expired tokens`)
      const shared = await bench.restart(RESTARTS, true)
      const sharedExpired = await bench.expire(true)
      report(`shared: ${shared} creations over ${RESTARTS} restarts, ${sharedExpired} for expired tokens`)
      return [
        {
          name: 'token-creations',
          value: shared,
          unit: 'creations',
          baseline: (alone / ALONE_RESTARTS) * RESTARTS,
          goal: { valueAtMost: 2 },
        },
        {
          name: 'token-expired',
          value: sharedExpired,
          unit: 'creations',
          baseline: aloneExpired,
          goal: { valueAtMost: 1 },
        },
      ]
    },
  }
}

class TokenBench {
  readonly #folder: string
  readonly #platform: PlatformAccess
  readonly #settings: Record<string, string>
  readonly #userids: string[]

  constructor(folder: string, platform: PlatformAccess, databaseUrl: string, userids: string[]) {
    this.#folder = folder
    this.#platform = platform
    this.#userids = userids
    this.#settings = {
      DATABASE_URL: databaseUrl,
      HR_DATABASE_URL: databaseUrl,
      HR_EMPLOYEES_SQL: 'employees.sql',
      PLATFORM_BASE_URL: platform.baseUrl,
      PLATFORM_APP_ID: platform.appId,
      PLATFORM_APP_SECRET: platform.appSecret,
      PLATFORM_RATE_LIMIT: '5000',
    }
  }

  /**
   * Starts all processes and kills them when each has made a call, repeatedly.
   * @returns the number of tokens created
   */
  async restart(times: number, shared: boolean): Promise<number> {
    const creations = await this.#watchCreations()
    for (let i = 0; i < times; i++) {
      const children = this.#start()
      await this.#call(children, shared, 1)
      await kill(children)
    }
    return creations()
  }

  /**
   * Expires the token of all processes and lets all calls find out at the same time.
   * @returns the number of tokens created then
   */
  async expire(shared: boolean): Promise<number> {
    const children = this.#start()
    await this.#call(children, shared, 1)
    const control = controlOf(this.#platform.baseUrl)
    await control('POST', 'token/expire')
    await control('POST', 'faults', { operation: 'employee/get', latencyMs: LATENCY_MS })
    const creations = await this.#watchCreations()
    const expired = await watchCalls(this.#platform)
    await this.#call(children, shared, CALLS_EACH)
    const refused = (await expired.all()).filter(({ code }) => code === TOKEN_EXPIRED)
    if (refused.length !== this.#userids.length)
      throw new Error(`${this.#userids.length} calls should find the token expired: ${refused.length} did`)
    await control('DELETE', 'faults')
    await kill(children)
    return creations()
  }

  #start(): ChildProcess[] {
    return Array.from({ length: PROCESSES }, () => {
      const file = join(import.meta.dirname, 'child-token.ts')
      const child = fork(file, {
        execArgv: ['--disable-warning=ExperimentalWarning'],
        env: { ...process.env, NODE_COMPILE_CACHE: join(this.#folder, 'compiled') },
      })
      registerChild(this.#folder, child)
      return child
    })
  }

  /**
   * Has every process make a number of concurrent calls.
   * @throws Error with the failure of one
   */
  async #call(children: ChildProcess[], shared: boolean, count: number): Promise<void> {
    const task = { settings: this.#settings, shared }
    const answers = children.map((child, i) => {
      child.send({ task, userids: this.#userids.slice(i * CALLS_EACH, i * CALLS_EACH + count) })
      return once(child, 'message')
    })
    for (const [{ error }] of await Promise.all(answers)) if (error !== undefined) throw new Error(error)
  }

  async #watchCreations(): Promise<() => Promise<number>> {
    const watched = await watchCalls(this.#platform)
    return async () => (await watched.all()).filter(({ operation }) => operation === 'token/create').length
  }
}

/** The platform's code for a token that is not valid (any more). */
const TOKEN_EXPIRED = 1000210004

async function kill(children: ChildProcess[]): Promise<void> {
  const exits = children.map(child => once(child, 'exit'))
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(exits)
}
