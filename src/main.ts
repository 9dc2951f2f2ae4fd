import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { CRON_JOBS } from '../jobs/index.ts'
import { CronScheduler, scheduledJobs } from '../jobs/scheduler.ts'
import { type Config, ConfigError } from './config.ts'
import { accountOf, connectHr, connectPlatform } from './connections.ts'
import { startConsole } from './console/server.ts'
import { ChangeListener } from './hr/change-listener.ts'
import type { Pool } from './lib/database.ts'
import { createPool } from './lib/database.ts'
import { Listener } from './lib/listener.ts'
import type { Logger } from './lib/logger.ts'
import { migrate } from './lib/migrate.ts'
import { SessionLocks } from './lib/session-locks.ts'
import { MirrorRunner } from './mirrors/mirror-runner.ts'
import { startReceiver } from './money/receiver.ts'
import { RefundSettler } from './money/settle.ts'
import { PLATFORM_CODES } from './platform/codes.ts'
import { createQueueBackend } from './queue/backend.ts'
import { jobsInHand } from './queue/job-worker.ts'
import { Coordinator } from './sync/coordinator.ts'
import { claimDeployment } from './sync/deployment.ts'
import { Feeder } from './sync/feeder.ts'
import { JobProcessor } from './sync/job-processor.ts'
import { Planner } from './sync/planner.ts'
import { deregister, heartbeat, type Pacing, ROLES, type Role } from './sync/process.ts'
import { HrChanges, requestScheduledRun } from './sync/run-requests.ts'
import { limitsOf } from './sync/safety.ts'
import { VERSION } from './version.ts'

export { ROLES, type Role }

const HEARTBEAT_MS = 5000
/** How often the worker takes on as much as pacer and platform permit by then. */
const FOLLOW_PACER_MS = 500
/** Jobs in hand get so long to end by themselves; the whole stop stays below 10 s. */
const STOP_DEADLINE_MS = 6000
/** What works (workers, plans, cron jobs) stops at the same time, within this. */
const WORK_STOPS_WITHIN_MS = 7500
/** Every other part; one that hangs, on an HR database that does not answer say, is left behind. */
const PART_STOPS_WITHIN_MS = 500

export interface Service {
  readonly pool: Pool
  /** Where the console listens; null without that role. */
  readonly consoleUrl: string | null
  /** Where the receiver of refund notifications listens; null without that role. */
  readonly receiverUrl: string | null
  /** Stops everything, what was started last first, within 10 s. Idempotent. */
  stop(): Promise<void>
}

/**
 * Builds and starts the roles of one process: the composition root.
 * @param options.schedule false leaves the cron jobs out (`--once`); the scheduler still plans and feeds
 * @throws ConfigError, MappingError, MigrationError, AccountError, QueueError; what was started by then is stopped
 */
export async function startService(options: {
  config: Config
  roles: readonly Role[]
  logger: Logger
  schedule: boolean
}): Promise<Service> {
  const { config, roles, logger } = options
  const stops: (() => Promise<unknown>)[] = []
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= stopAll(stops, logger)
    return stopping
  }
  try {
    const parts = await startRoles(config, roles, logger, options.schedule, stops)
    return { ...parts, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startRoles(
  config: Config,
  roles: readonly Role[],
  logger: Logger,
  schedule: boolean,
  stops: (() => Promise<unknown>)[],
): Promise<Omit<Service, 'stop'>> {
  const jobs = scheduledJobs(CRON_JOBS, config.schedules)
  const hr = await connectHr(config, logger)
  stops.push(() => hr.close())
  const pool = createPool(config.DATABASE_URL, { max: 12, name: roles.join(','), logger })
  stops.push(() => pool.end())
  const { applied, reviewerStatements } = await migrate(pool)
  if (applied.length > 0) logger.info({ applied }, 'schema brought up to date')
  if (reviewerStatements.length > 0)
    logger.warn('the role dirsync_reviewer could not be created: `dirsync migrate` prints what to run')
  const processId = randomUUID()
  let pacing: (() => Pacing) | undefined
  const sign = () =>
    heartbeat(pool, {
      id: processId,
      host: hostname(),
      pid: process.pid,
      roles: [...roles],
      version: VERSION,
      pacer: pacing?.() ?? null,
    })
  await sign()
  const beat = setInterval(
    () => sign().catch(error => logger.debug({ err: error.message }, 'no heartbeat')),
    HEARTBEAT_MS,
  )
  stops.push(async () => {
    clearInterval(beat)
    await deregister(pool, processId)
  })
  // Whoever switches the account sees this process, or this process sees the other account.
  const deployment = await claimDeployment(pool, accountOf(config))

  const queue = createQueueBackend({
    redisUrl: config.REDIS_URL,
    databaseUrl: config.DATABASE_URL,
    deployment: deployment.id,
    logger,
  })
  stops.push(() => queue.close())
  await queue.prepare()

  const needsQueue = roles.includes('worker') || roles.includes('scheduler')
  // Stopped after the work: a process that is stopping still shows that it is alive.
  const web = !roles.includes('console')
    ? null
    : await startConsole({
        config,
        roles,
        version: VERSION,
        checkQueue: needsQueue ? () => queue.counts() : null,
        platformCodes: Object.keys(PLATFORM_CODES),
        logger,
      })
  if (web) stops.push(() => web.close())
  const receiver = !roles.includes('notifications')
    ? null
    : await startReceiver(config, logger, web?.metrics.observeNotification)
  if (receiver) stops.push(() => receiver.close())

  const work: (() => Promise<unknown>)[] = []
  if (roles.includes('worker')) {
    const client = connectPlatform(config, pool, logger, web?.metrics.observeCall)
    stops.push(async () => client[Symbol.asyncDispose]())
    // Where the pacer knows of no limit, the worker has one.
    pacing = () => {
      const snapshot = client.pacing()
      return { ...snapshot, concurrency: snapshot.concurrency ?? config.WORKER_CONCURRENCY }
    }
    web?.metrics.watchPacer(pacing)
    await sign()
    const locks = new SessionLocks(config.DATABASE_URL, logger)
    stops.push(() => locks.close())
    const processor = new JobProcessor({
      pool,
      client,
      hr,
      locks,
      logger: logger.child({ component: 'worker' }),
      concurrentCalls: config.WORKER_CONCURRENCY,
      departmentGraceMs: config.DEPARTMENT_GRACE_HOURS * 3_600_000,
      onSettled: web?.metrics.observeJob,
    })
    const worker = queue.work((job, signal) => processor.process(job, signal), {
      concurrency: jobsInHand(config.WORKER_CONCURRENCY, client.pacing().ratePerSecond),
      logger,
    })
    const following = setInterval(() => {
      const { ratePerSecond, concurrency } = client.pacing()
      const calls = Math.min(config.WORKER_CONCURRENCY, concurrency ?? config.WORKER_CONCURRENCY)
      processor.setConcurrentCalls(calls)
      worker.setConcurrency(jobsInHand(calls, ratePerSecond))
    }, FOLLOW_PACER_MS)
    work.push(() => {
      clearInterval(following)
      return worker.close(STOP_DEADLINE_MS)
    })
    const settler = new RefundSettler({
      pool,
      client,
      logger: logger.child({ component: 'refunds' }),
      notCarriedOutAfterMs: config.REFUND_LOST_AFTER_HOURS * 3_600_000,
    })
    settler.start()
    work.push(() => settler.stop())
    const mirrors = new MirrorRunner({
      pool,
      client,
      locks,
      logger: logger.child({ component: 'mirrors' }),
      ownEnterprise: config.PLATFORM_ENTERPRISE_CODE,
      orderDays: config.PAYMENT_ORDER_DAYS,
      taxpayerIdentifiers: config.TAXPAYER_IDENTIFIERS,
    })
    mirrors.start()
    work.push(() => mirrors.stop())
  }

  if (roles.includes('scheduler')) {
    const feeder = new Feeder({ pool, queue, highWater: config.QUEUE_HIGH_WATER, logger })
    const planner = new Planner({
      pool,
      hr,
      logger,
      sellerAppids: config.SELLER_APPIDS,
      ownEnterprise: config.PLATFORM_ENTERPRISE_CODE,
      limits: limitsOf(config),
    })
    const coordinator = new Coordinator({
      pool,
      planner,
      feeder,
      logger: logger.child({ component: 'scheduler' }),
    })
    coordinator.start()
    work.push(() => coordinator.stop())
    const listener = new Listener(config.DATABASE_URL, logger, () => coordinator.wake())
    await listener.start()
    stops.push(() => listener.close())
    if (schedule) {
      const changes = new HrChanges({
        pool,
        limits: limitsOf(config),
        logger: logger.child({ component: 'trigger' }),
      })
      work.push(() => changes.stop())
      const trigger = new ChangeListener(config.HR_DATABASE_URL, deployment.id, logger, userids =>
        changes.changed(userids),
      )
      void trigger.start()
      stops.push(() => trigger.close())
    }
    const requestRun = async (kind: Parameters<typeof requestScheduledRun>[1]) => {
      await requestScheduledRun(pool, kind, 'cron', logger)
    }
    const cron = new CronScheduler({
      pool,
      // Without a schedule the sweep still runs: a queue that is wiped during --once is fed again.
      jobs: schedule ? jobs : jobs.filter(({ job }) => job.name === 'sweep'),
      context: { pool, feeder, logger, mirrors: config.MIRRORS, requestRun },
      processId,
      logger,
    })
    await cron.start()
    work.push(() => cron.stop())
  }
  stops.push(() => {
    web?.setPhase('stopping')
    return stopTogether(work, logger)
  })
  web?.setPhase('running')
  return { pool, consoleUrl: web?.url ?? null, receiverUrl: receiver?.url ?? null }
}

async function stopAll(stops: (() => Promise<unknown>)[], logger: Logger): Promise<void> {
  // The work is what was started last, and so stops first.
  for (const [i, stop] of stops.reverse().entries())
    await stopWithin(i === 0 ? WORK_STOPS_WITHIN_MS : PART_STOPS_WITHIN_MS, stop, logger)
}

async function stopTogether(stops: (() => Promise<unknown>)[], logger: Logger): Promise<void> {
  await Promise.all(stops.map(stop => stopWithin(WORK_STOPS_WITHIN_MS, stop, logger)))
}

async function stopWithin(ms: number, stop: () => Promise<unknown>, logger: Logger): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(() => {
    logger.warn('a part did not stop in time; it is left behind')
    late.resolve()
  }, ms)
  try {
    await Promise.race([stop(), late.promise])
  } catch (error) {
    logger.warn({ err: (error as Error).message }, 'a part did not stop cleanly')
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The roles that were asked for.
 * @throws ConfigError for an unknown one
 */
export function parseRoles(text: string): Role[] {
  const roles = text
    .split(',')
    .map(role => role.trim())
    .filter(Boolean)
  const unknown = roles.filter(role => !(ROLES as readonly string[]).includes(role))
  if (unknown.length > 0 || roles.length === 0)
    throw new ConfigError(
      `--roles holds ${JSON.stringify(text)} but should be some of ${ROLES.join(', ')}, separated by commas`,
    )
  return roles as Role[]
}
