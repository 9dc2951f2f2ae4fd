import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { CronScheduler, scheduledJobs } from '../jobs/scheduler.ts'
import { startAlertService } from './alerts/alerter.ts'
import { type Config, type Environment, environment } from './config.ts'
import {
  accountOf,
  connectHr,
  connectPlatform,
  hrAddresses,
  knownSources,
  queueAddress,
  secretPrint,
} from './connections.ts'
import { startConsole } from './console/server.ts'
import { ChangeListener } from './hr/postgres/change-listener.ts'
import { type HrSources, listenerOf, type NamedSource, type SourceScope, WHOLE } from './hr/sources.ts'
import { createPool, type Pool } from './lib/database.ts'
import { dirsyncListener } from './lib/listener.ts'
import type { Logger } from './lib/logger.ts'
import type { Loop, Loops } from './lib/loop.ts'
import { migrate } from './lib/migrate.ts'
import { SessionLocks } from './lib/session-locks.ts'
import { Shift } from './lib/shift.ts'
import { Stops } from './lib/stops.ts'
import { Tracer, type Tracing, UNTRACED } from './lib/tracing.ts'
import { mirrorRunner } from './mirrors/mirror-runner.ts'
import { startReceiver } from './money/receiver.ts'
import { refundSettler } from './money/settle.ts'
import { openOtlp } from './otlp.ts'
import { entryOfCode, PLATFORM_CODES } from './platform/codes.ts'
import { createQueueBackend, type QueueBackend } from './queue/backend.ts'
import { bulkRunner } from './sync/cases/bulk.ts'
import { coordinator, hrReadings } from './sync/coordinator.ts'
import { claimDeployment, type Deployment } from './sync/health/deployment.ts'
import { probeAccount } from './sync/outbox/account-probe.ts'
import { Feeder } from './sync/outbox/feeder.ts'
import { JOBS_AT_A_TIME, keysInHand } from './sync/outbox/job-size.ts'
import { claimSources } from './sync/plan/claim-sources.ts'
import { Planner } from './sync/plan/planner.ts'
import {
  type Aside,
  deregister,
  FITS,
  heartbeat,
  type Misfit,
  NEEDED_ROLES,
  type Pacing,
  type QueueState,
  type Role,
} from './sync/processes/process.ts'
import { Standing } from './sync/processes/standing.ts'
import { HrPoller } from './sync/runs/hr-poller.ts'
import { noticeRestore, restoreWatch } from './sync/runs/restored.ts'
import { HrChanges, requestScheduledRun } from './sync/runs/run-requests.ts'
import { limitsOf, type RunLimits } from './sync/runs/safety.ts'
import { JobProcessor } from './sync/work/job-processor.ts'
import { inEnglish } from './texts/message.ts'
import { storeTexts } from './texts/store.ts'
import { VERSION } from './version.ts'

/** A process of dirsync, from its start to its stop. */
export interface Service {
  readonly pool: Pool
  /** Where the console listens; null without that role. */
  readonly consoleUrl: string | null
  /** Where the receiver of refund notifications listens; null without that role. */
  readonly receiverUrl: string | null
  /** Resolves when this process has asked the platform whether it accepts the application. At once without a worker. */
  readonly accountTried: Promise<void>
  /** Stops everything within 10 s: first the work, then its resources. Idempotent. */
  stop(): Promise<void>
}

interface ServiceOptions {
  config: Config
  roles: readonly Role[]
  logger: Logger
  /** False leaves the cron jobs out (`--once`); the scheduler still plans and feeds. */
  schedule: boolean
  /** Where the settings came from; default: the environment of this process. */
  env?: Environment
  /** How a person types the program, for hints. */
  program?: string
  /** Aborts when the process is told to stop: whatever has not started by then does not. */
  signal?: AbortSignal
}

/**
 * Starts one process with the requested roles.
 * @throws ConfigError, MappingError, MigrationError, AccountError, QueueError, the signal's reason; parts started by then are stopped
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { roles, logger, signal } = options
  const stops = new Stops(logger)
  try {
    const core = await startCore(options, stops)
    // Started before the work and stopped after it: a process that is stopping still shows that it is alive.
    const web = roles.includes('console') ? await startConsoleRole(core, stops) : null
    const receiver = roles.includes('notifications') ? await startNotifications(core, web, stops) : null
    signal?.throwIfAborted()
    const probe = roles.includes('worker') ? await startWorker(core, web, stops) : null
    signal?.throwIfAborted()
    if (roles.includes('scheduler')) await startScheduler(core, stops)
    signal?.throwIfAborted()
    if (roles.includes('scheduler') || roles.includes('console')) startBulk(core, stops)
    startAlerts(core, web, stops)
    await listen(core, stops)
    web?.setPhase('running')
    const stop = () => {
      web?.setPhase('stopping')
      return stops.run()
    }
    return {
      pool: core.pool,
      consoleUrl: web?.url ?? null,
      receiverUrl: receiver?.url ?? null,
      accountTried: probe?.tried ?? Promise.resolve(),
      stop,
    }
  } catch (error) {
    await stops.run()
    throw error
  }
}

/** What all roles share. */
interface Core extends ServiceOptions {
  hr: HrSources
  pool: Pool
  queue: QueueBackend
  deployment: Deployment
  entry: Awaited<ReturnType<typeof register>>
  cronJobs: ReturnType<typeof scheduledJobs>
  tracing: Tracing
  /** Called with the payload of each notification of channel `dirsync`; empty after a reconnect, when some may have been missed. */
  notified: ((payload: string) => void)[]
}

/** Connections to dirsync's own database of a process with all roles. */
const CONNECTIONS = 12
/** Each planner may be waiting for its HR, with the lock on one and the transaction on another one. */
const CONNECTIONS_OF_A_PLANNER = 2

async function startCore(options: ServiceOptions, stops: Stops): Promise<Core> {
  const { config, roles, logger } = options
  // Checked before anything is opened.
  const cronJobs = scheduledJobs(config.schedules, config.MIRRORS)
  const otlp = await openOtlp(config, logger)
  stops.afterwards(async () => otlp?.close())

  const hr = await connectHr(config, logger)
  stops.afterwards(() => hr.close())
  const max = CONNECTIONS + (hr.areNamed ? CONNECTIONS_OF_A_PLANNER * hr.all.length : 0)
  const pool = createPool(config.DATABASE_URL, { max, name: roles.join(','), logger })
  stops.afterwards(() => pool.end())
  const { applied, reviewerStatements } = await migrate(pool)
  await storeTexts(pool)
  if (applied.length > 0) logger.info({ applied }, 'schema brought up to date')
  if (reviewerStatements.length > 0)
    logger.warn('the role dirsync_reviewer could not be created: `dirsync migrate` prints what to run')

  // Registered before the deployment is claimed: either the command that switches the account sees this process, or this
  // process sees the other account.
  const entry = await register(pool, options, hr, stops)
  const deployment = await claimDeployment(pool, accountOf(config), config.DEPLOYMENT_NAME)
  await noticeRestore(pool, logger)
  keepRunning(stops, restoreWatch(pool, logger))
  // Processes that only display, or hear notifications, have no say in which sources there are.
  if (needsQueue(roles)) await claimSources(pool, knownSources(config, hr))
  await entry.watchSources(isOutdated => {
    if (isOutdated) logger.error({ sources: hr.all.map(({ name }) => name) }, OUTDATED)
    else logger.info('the HR sources of this process are those in force again: it goes on')
  })
  const tracing =
    otlp === null
      ? UNTRACED
      : new Tracer({
          deployment: deployment.id,
          share: config.OTEL_TRACES_SAMPLER_ARG,
          collect: otlp.collect,
        })

  const queue = createQueueBackend({
    redisUrl: config.REDIS_URL,
    databaseUrl: config.DATABASE_URL,
    deployment: deployment.id,
    logger,
  })
  stops.afterwards(() => queue.close())
  if (needsQueue(roles)) {
    await queue.prepare()
    for (const { ok, what, remedy = [] } of await queue.doctor())
      if (!ok) logger.warn({ remedy: inEnglish(remedy) }, inEnglish(what))
  }
  entry.showQueue(queue)
  return { ...options, hr, pool, queue, deployment, entry, cronJobs, tracing, notified: [] }
}

const ASIDE: Record<Aside, string> = {
  secret:
    'the platform refuses the application secret of this process, and others work with another one: it leaves all work to them. Give all processes the same PLATFORM_APP_SECRET and PLATFORM_SIGN_ALGORITHM, and restart this one',
  unreachable:
    'this process cannot reach the platform, and others work: it leaves all work to them. Check the network, a firewall or a list of permitted addresses',
}

const OUTDATED =
  'another process was started later with other HR sources: this one plans and sends nothing for those that differ. Give both the same HR_SOURCES, and restart this one'

/** Whether the roles plan or do the work of runs. */
function needsQueue(roles: readonly Role[]): boolean {
  return NEEDED_ROLES.some(role => roles.includes(role))
}

/** Listens for requests of people and other processes, on one connection for all roles. */
async function listen({ config, logger, notified }: Core, stops: Stops): Promise<void> {
  if (notified.length === 0) return
  const listener = dirsyncListener(config.DATABASE_URL, logger, payload => {
    for (const wake of notified) wake(payload)
  })
  stops.afterwards(() => listener.close())
  await listener.start()
}

/** Calls `wake` at notifications with this payload, and when some may have been missed. */
function onNotified({ notified }: Core, payload: string, wake: () => void): void {
  notified.push(given => {
    if (given === payload || given === '') wake()
  })
}

const HEARTBEAT_MS = 5000

/** Registers this process in `dirsync.process` and keeps it alive there by heartbeats. */
async function register(pool: Pool, { config, roles, logger }: ServiceOptions, hr: HrSources, stops: Stops) {
  const me = {
    ...{ id: randomUUID(), host: hostname(), pid: process.pid, roles: [...roles], version: VERSION },
    ...{ hrOwners: hr.owners, hrAddresses: hrAddresses(config) },
    ...{ queueAddress: queueAddress(config), secretPrint: secretPrint(config) },
    oidcIssuer: roles.includes('console') ? config.OIDC_ISSUER : null,
  }
  const standing = new Standing(pool, me)
  let pacing: (() => Pacing) | undefined
  let queue: QueueState | undefined
  let consoleUrl: string | undefined
  let isOutdated = false
  const watching: ((isOutdated: boolean) => void)[] = []
  const sign = async () => {
    const pacer = pacing?.() ?? null
    const was = isOutdated
    const misfit = await heartbeat(pool, { ...me, pacer, queue, consoleUrl })
    isOutdated = misfit.outdated
    if (isOutdated !== was) for (const told of watching) told(isOutdated)
    standing.see(misfit.aside)
  }
  // While the database is away, the next one tells.
  const beat = () => sign().catch(error => logger.debug({ error }, 'no heartbeat'))
  const timer = setInterval(beat, HEARTBEAT_MS)
  stops.afterwards(async () => {
    clearInterval(timer)
    await deregister(pool, me.id)
  })
  await sign()
  return {
    id: me.id,
    /** From now on each heartbeat includes the state of the pacer. */
    showPacing(of: () => Pacing): Promise<void> {
      pacing = of
      return sign()
    },
    /** From now on each heartbeat says where the console listens. */
    showConsole(url: string): Promise<void> {
      consoleUrl = url
      return sign()
    },
    standing,
    /** What this process leaves to others. */
    misfit: (): Misfit => ({ outdated: isOutdated, aside: standing.aside }),
    /** From now on `told` is called when that becomes so, and when it is over. */
    watchSources(told: (isOutdated: boolean) => void): Promise<void> {
      watching.push(told)
      return beat()
    },
    /** From now on each heartbeat includes the state of the queue. */
    showQueue(of: QueueState): void {
      queue = of
    },
  }
}

type Console = Awaited<ReturnType<typeof startConsole>>

async function startConsoleRole(core: Core, stops: Stops): Promise<Console> {
  const { config, roles, logger, queue, pool, hr, tracing, notified } = core
  const works = needsQueue(roles)
  // Pages, and what the platform notifies, come to those that leave the work to others, too.
  const serves = roles.includes('console') || roles.includes('notifications')
  const web = await startConsole({
    config,
    roles,
    version: VERSION,
    checkQueue: works ? () => queue.check() : null,
    misfit: () => (works ? { ...core.entry.misfit(), ...(serves && { aside: null }) } : FITS),
    platformCodes: Object.keys(PLATFORM_CODES),
    hr,
    platform(onCall) {
      const client = connectPlatform(config, pool, logger, { onCall, tracing })
      stops.afterwards(async () => client[Symbol.asyncDispose]())
      return client
    },
    env: core.env ?? environment(),
    program: core.program ?? 'dirsync',
    logger,
  })
  web.metrics.watchPool('main', pool)
  notified.push(() => web.wake())
  stops.afterwards(() => web.close())
  await core.entry.showConsole(web.url)
  return web
}

async function startNotifications({ config, logger }: Core, web: Console | null, stops: Stops) {
  const receiver = await startReceiver(config, logger, web?.metrics.observeNotification)
  web?.metrics.watchPool('notifications', receiver.pool)
  stops.afterwards(() => receiver.close())
  return receiver
}

/** How often the worker adjusts what it has in hand to what the pacer allows. */
const FOLLOW_PACER_MS = 500
/** How long running jobs may take to end by themselves. */
const JOBS_END_WITHIN_MS = 6000

/**
 * Does the jobs of the queue, settles refunds and reads the mirrors: everything that calls the platform. While this process stands
 * aside, others do.
 */
async function startWorker(core: Core, web: Console | null, stops: Stops): Promise<Loop> {
  const { config, pool, hr, tracing } = core
  const { standing } = core.entry
  const logger = core.logger.child({ component: 'worker' })
  const most = config.WORKER_CONCURRENCY
  const client = connectPlatform(config, pool, core.logger, {
    onCall(call) {
      web?.metrics.observeCall(call)
      standing.called(call)
      // Not every call's failure raises a halt.
      if (entryOfCode(Number(call.code))?.category === 'credentials')
        standing.leaveForSecret().catch(error => logger.debug({ error }, 'a refused secret was not noted'))
    },
    tracing,
  })
  stops.afterwards(async () => client[Symbol.asyncDispose]())
  const locks = new SessionLocks(config.DATABASE_URL, core.logger)
  stops.afterwards(() => locks.close())

  const pacing = () => client.pacing()
  web?.metrics.watchPacer(pacing)
  await core.entry.showPacing(pacing)

  const processor = new JobProcessor({
    pool,
    client,
    hr,
    locks,
    standing,
    logger,
    concurrentCalls: most,
    limits: limitsOf(config),
    tracing,
    onSettled: web?.metrics.observeJob,
  })
  const followPacer = () => processor.setRoom(keysInHand(most, permitted(client.pacing())))
  followPacer()
  const following = setInterval(followPacer, FOLLOW_PACER_MS)
  const shift = new Shift({
    begin() {
      const worker = core.queue.work((job, signal) => processor.process(job, signal), {
        concurrency: JOBS_AT_A_TIME,
        logger: core.logger,
      })
      const settler = refundSettler({
        pool,
        client,
        logger: core.logger.child({ component: 'refunds' }),
        notCarriedOutAfterMs: config.REFUND_LOST_AFTER_HOURS * 3_600_000,
      })
      const mirrors = mirrorRunner({
        pool,
        client,
        locks,
        standing,
        logger: core.logger.child({ component: 'mirrors' }),
        tracing,
        ownEnterprise: config.PLATFORM_ENTERPRISE_CODE,
        orderDays: config.PAYMENT_ORDER_DAYS,
        taxpayerIdentifiers: config.TAXPAYER_IDENTIFIERS,
      })
      settler.start()
      mirrors.start()
      return {
        mirrors,
        async end() {
          await Promise.all([worker.close(JOBS_END_WITHIN_MS), settler.stop(), mirrors.stop()])
        },
      }
    },
    failed: error => logger.error({ error }, 'the work was not taken up, or laid down'),
  })
  standing.watch(aside => {
    if (aside) logger.error(ASIDE[aside])
    else logger.info('this process goes on with the work')
    shift.set(aside === null)
  })
  shift.set(standing.aside === null)
  stops.work(async () => {
    const at = performance.now()
    clearInterval(following)
    await shift.end()
    await processor.close(Math.max(0, JOBS_END_WITHIN_MS - (performance.now() - at)))
  })

  const probe = probeAccount({ pool, client, standing, logger: core.logger })
  keepRunning(stops, probe)
  onNotified(core, 'run', () => shift.present?.mirrors.wake())
  return probe
}

/** Starts loops, which stop with the work. */
function keepRunning(stops: Stops, ...loops: (Loop | Loops)[]): void {
  for (const loop of loops) {
    loop.start()
    stops.work(() => loop.stop())
  }
}

/** Calls per second that may leave now. */
function permitted({ ratePerSecond, cap }: Pacing): number {
  return Math.min(ratePerSecond, cap ?? ratePerSecond)
}

/** Plans runs, feeds the queue and reads HR for pages; with a schedule it also runs the cron jobs and listens to HR's trigger. */
async function startScheduler(core: Core, stops: Stops): Promise<void> {
  const { config, pool, hr, queue, tracing, logger, schedule } = core
  const limits = limitsOf(config)
  const feeder = new Feeder({ pool, queue, highWater: config.QUEUE_HIGH_WATER, logger })
  const planners = (hr.areNamed ? [WHOLE, ...hr.all] : hr.all).map(
    source =>
      new Planner({
        pool,
        hr,
        source: source.name,
        logger: loggerOf(core, source),
        sellerAppids: config.SELLER_APPIDS,
        ownEnterprise: config.PLATFORM_ENTERPRISE_CODE,
        limits,
        tracing,
      }),
  )
  const coordinating = coordinator({
    pool,
    planners,
    feeder,
    ownEnterprise: config.PLATFORM_ENTERPRISE_CODE,
    logger: logger.child({ component: 'scheduler' }),
    tracing,
  })
  const readings = hrReadings({
    pool,
    hr,
    limits,
    memoryMb: config.DRY_RUN_MEMORY_MB,
    logger: logger.child({ component: 'readings' }),
  })
  keepRunning(stops, coordinating, readings)
  const cron = cronOf(core, feeder)
  core.notified.push(() => {
    coordinating.wake()
    readings.wake()
  })
  onNotified(core, 'schedule', () => cron.wake())

  for (const source of schedule ? hr.all : []) {
    startListener(core, source, limits, stops)
    if (config.HR_POLL_SECONDS > 0) startPoller(core, source, limits, stops)
  }

  stops.work(() => cron.stop())
  await cron.start()
}

/** Listens to HR's trigger, which only PostgreSQL can have. */
function startListener(core: Core, scope: NamedSource, limits: RunLimits, stops: Stops): void {
  const { config, pool, deployment } = core
  const settings = config.sources.find(({ name }) => name === scope.name)
  if (scope.hr.kind !== 'postgres' || !settings) return
  const logger = loggerOf(core, scope)
  const changes = new HrChanges({
    pool,
    scope,
    limits,
    by: 'trigger',
    logger: logger.child({ component: 'trigger' }),
  })
  stops.work(() => changes.stop())
  const listening = listenerOf(deployment.id, scope)
  const listen = () => {
    const trigger = new ChangeListener(settings.address, listening, logger, userids =>
      changes.changed(userids),
    )
    trigger.start()
    return trigger
  }
  let trigger = listen()
  stops.afterwards(() => trigger.close())
  // A process with the sources in force takes over.
  void core.entry.watchSources(isOutdated => {
    if (isOutdated) void trigger.close()
    else trigger = listen()
  })
}

function loggerOf({ logger }: Core, { name }: SourceScope): Logger {
  return name === '' ? logger : logger.child({ source: name })
}

/** Polls a source for newer rows between the cron jobs. */
function startPoller(core: Core, scope: NamedSource, limits: RunLimits, stops: Stops): void {
  const { config, pool } = core
  const { hr } = scope
  const logger = loggerOf(core, scope).child({ component: 'poller' })
  const locks = new SessionLocks(config.DATABASE_URL, logger)
  stops.afterwards(() => locks.close())
  const changes = new HrChanges({ pool, scope, limits, by: 'poller', logger })
  stops.work(() => changes.stop())
  const everyMs = config.HR_POLL_SECONDS * 1000
  const poller = new HrPoller({ pool, hr, scope, changes, locks, everyMs, logger })
  poller.start()
  stops.work(() => poller.stop())
}

/** The cron jobs of this process, not started yet. */
function cronOf({ pool, logger, schedule, cronJobs, entry }: Core, feeder: Feeder): CronScheduler {
  return new CronScheduler({
    pool,
    // Without a schedule the sweep still runs: a queue that is wiped during --once is fed again.
    jobs: schedule ? cronJobs : cronJobs.filter(({ job }) => job.name === 'sweep'),
    recordsOthersAsOff: schedule,
    context: {
      pool,
      feeder,
      logger,
      requestRun: kind => requestScheduledRun(pool, kind, 'cron', logger),
    },
    processId: entry.id,
    logger,
  })
}

/** Carries out bulk actions on cases. */
function startBulk(core: Core, stops: Stops): void {
  const { pool, logger } = core
  const runner = bulkRunner({ pool, logger: logger.child({ component: 'bulk' }) })
  keepRunning(stops, runner)
  onNotified(core, 'bulk', () => runner.wake())
}

/** Evaluates alerts and sends them, in every process, so that any process alive does it. */
function startAlerts(core: Core, web: Console | null, stops: Stops): void {
  const { config, deployment, entry, logger } = core
  const alerts = startAlertService({
    config,
    deployment,
    processId: entry.id,
    logger: logger.child({ component: 'alerts' }),
  })
  web?.metrics.watchPool('alerts', alerts.pool)
  stops.afterwards(() => alerts.close())
  stops.work(() => alerts.stop())
  onNotified(core, 'alerts', () => alerts.wake())
}
