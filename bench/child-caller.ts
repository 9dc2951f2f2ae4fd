import { loadConfig } from '../src/config.ts'
import { connectPlatform } from '../src/connections.ts'
import { createPool } from '../src/lib/database.ts'
import { createLogger } from '../src/lib/logger.ts'
import { PlatformError } from '../src/platform/errors.ts'
import { BareCaller } from './bare-call.ts'
import { loopWithBackoff, unlessOver } from './bare-loop.ts'
import { workBareQueue } from './bare-queue.ts'
import { answerWhenTold } from './child.ts'
import type { CallerTask } from './trial.ts'

type Run = (signal: AbortSignal) => Promise<void>

// Calls the platform as fast as permitted for some seconds; there are always callers waiting.
answerWhenTold<CallerTask, null>(async task => {
  const run = await { dirsync, bullmq, loop }[task.caller](task)
  return async () => {
    await run(AbortSignal.timeout(task.seconds * 1000))
    return null
  }
})

/** The client, composed as in every process of dirsync. */
async function dirsync(task: CallerTask): Promise<Run> {
  const { platform, databaseUrl, userids, concurrency } = task
  const logger = createLogger({ level: 'error', pretty: false })
  const config = loadConfig({
    DATABASE_URL: databaseUrl,
    HR_DATABASE_URL: databaseUrl,
    HR_EMPLOYEES_SQL: 'not read',
    PLATFORM_BASE_URL: platform.baseUrl,
    PLATFORM_APP_ID: platform.appId,
    PLATFORM_APP_SECRET: platform.appSecret,
    PLATFORM_RATE_LIMIT: String(task.rate),
  })
  const pool = createPool(databaseUrl, { max: 4, name: 'caller', logger })
  const client = connectPlatform(config, pool, logger)
  await client.tokens.info()
  let begun = 0
  const run = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      const userid = userids[begun++ % userids.length] as string
      await client.employees.get({ userid }, { signal }).catch(error => {
        if (!(error instanceof PlatformError)) unlessOver(signal)(error)
      })
    }
  }
  return async signal => {
    await Promise.all(Array.from({ length: concurrency }, () => run(signal)))
    await client[Symbol.asyncDispose]()
    await pool.end()
  }
}

/** A BullMQ worker with its own limiter. A refused job fails, and the next one is tried. */
async function bullmq(task: CallerTask): Promise<Run> {
  const caller = new BareCaller(task.platform, task.concurrency)
  await caller.createToken()
  return async signal => {
    const worker = workBareQueue(
      task,
      async userid => {
        await caller.getEmployee(userid)
      },
      task.concurrency,
      Number(task.rate),
    )
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    await worker.close()
    await caller.close()
  }
}

async function loop(task: CallerTask): Promise<Run> {
  const caller = new BareCaller(task.platform, 1)
  await caller.createToken()
  return async signal => {
    await loopWithBackoff(task.platform, caller, task.userids, task.concurrency, signal)
    await caller.close()
  }
}
