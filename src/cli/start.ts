import type { Command } from 'commander'
import { CRON_JOBS } from '../../jobs/index.ts'
import { jobsInForce, scheduledJobs } from '../../jobs/scheduler.ts'
import { type Config, type Environment, loadConfig } from '../config.ts'
import { connectHr } from '../connections.ts'
import { createSignInKey, hasNoUsers } from '../console/auth/sign-in-key.ts'
import { misspeltSettings } from '../doctor/settings.ts'
import { HrUnavailableError, MappingError, usable } from '../hr/source.ts'
import type { NamedSource } from '../hr/sources.ts'
import { assertNoPooler, createPool } from '../lib/database.ts'
import { tellCrashes } from '../lib/in-hand.ts'
import { io } from '../lib/io.ts'
import { createLogger, type Logger } from '../lib/logger.ts'
import { within } from '../lib/waiting.ts'
import type { Service } from '../main.ts'
import { ROLES, type Role } from '../sync/processes/process.ts'
import { hasRuns, type RunKind } from '../sync/runs/run.ts'
import { message, saidBy } from '../texts/message.ts'
import { wrongOption } from './arguments.ts'
import { assertAnswers, NEEDED_ROLES } from './context.ts'
import { FailedError, stopSignal, UsageError } from './failure.ts'
import { firstSync, printSummary } from './first-sync.ts'
import { logWords, namedList, say, speak } from './language.ts'
import { printAside } from './output.ts'
import { type CheckedSettings, checkSettings, openSettings } from './settings.ts'

interface StartOptions {
  roles?: Role[]
  once?: boolean
  json?: boolean
  fresh?: true
}

/** `dirsync start`: the service, or one sync of everything with `--once`. */
export function startCommand(program: Command): void {
  program
    .command('start')
    .description('run the service; without settings, everything embedded')
    .option(
      '--roles <roles>',
      'roles of this process: scheduler, worker, console, notifications (default: all; the last only where NOTIFICATION_URL is set)',
      rolesOf,
    )
    .option('--once', 'sync everything once, print a summary and end')
    .option('--json', 'print the summary as JSON')
    .option('--fresh', 'embedded: forget all data and start over')
    .addHelpText(
      'after',
      `
Without DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL everything runs
embedded, with its data in .dirsync/.
With --once: exit 0 when every run is done, 1 when one failed or is held, or
when halts kept the platform from being asked about anyone, or about some who
were in sync.

Examples:
  dirsync start                       the whole service in one process
  dirsync start --roles worker        one more worker beside it
  dirsync start --once --json         sync once, for a cron job of your own`,
    )
    .action(start)
}

function rolesOf(text: string): Role[] {
  const roles = text
    .split(',')
    .map(role => role.trim())
    .filter(Boolean)
  if (roles.length === 0 || roles.some(role => !(ROLES as readonly string[]).includes(role)))
    throw wrongOption('--roles', text, message('said.wanted_some_of', { names: ROLES }))
  return roles as Role[]
}

/** The settings, with the schedules, which are otherwise read only where the scheduler starts. */
function loadScheduled(env: Environment): Config {
  const config = loadConfig(env)
  scheduledJobs(config.schedules, config.MIRRORS)
  return config
}

async function start(options: StartOptions): Promise<void> {
  const checked = checkSettings(loadScheduled)
  speak(checked.language)
  const roles = options.roles ?? defaultRoles(checked)
  const isWhole = NEEDED_ROLES.every(role => roles.includes(role))
  if (options.once && !isWhole) throw new UsageError(message('said.once_needs_roles'))
  if (options.fresh && !checked.embedded) throw new UsageError(message('said.fresh_only_embedded'))
  const isWatched = io().stderr.isTTY === true
  // With a progress bar on the screen, only problems are logged.
  const level = checked.logLevel ?? (isWatched || options.once ? 'warn' : 'info')
  const isRead = isWatched || (options.once === true && !options.json)
  const logger = createLogger({ level, pretty: isRead, say: logWords })
  // An unattended service writes only its log to standard error, in one format; these few lines are always printed.
  const isLogged = !isWatched && !options.once
  tellCrashes(logger)
  const announcer = logger.child({}, { level: 'info' })
  const tell = (line: string) => {
    if (options.json) return
    if (isLogged) announcer.info(line)
    else printAside(line)
  }

  const greet = () => {
    tell(greeting(checked, roles))
    for (const { what, remedy } of misspeltSettings(checked.env)) logger.warn({ msg: what, remedy })
  }

  const stopped = stopSignal()
  if (!isLogged) greet()
  await using settings = await openSettings(checked, loadConfig, logger, {
    fresh: options.fresh ?? false,
    isSaid: true,
  })
  const { config } = settings
  const stopping = new AbortController()
  const told = stopped.then(() => {
    stopping.abort()
    return null
  })
  // Until here nothing is in hand, so whatever hangs is left behind.
  const main = await Promise.race([told, assertUsable(config, logger).then(() => import('../main.ts'))])
  const starting =
    main?.startService({
      config,
      roles: options.once ? NEEDED_ROLES : roles,
      logger,
      schedule: !options.once,
      env: checked.env,
      program: checked.program,
      signal: stopping.signal,
    }) ?? null
  const service = await Promise.race([told, starting])
  if (service === null) {
    tell(say('shell.stopping'))
    await endStart(starting, logger)
    if (options.once) throw new FailedError(message('said.stopped_before_end'))
    return
  }
  // Printed this late so that a refused start is one sentence and no log.
  if (isLogged) greet()
  const sync = () => syncAtStart(service, options, checked, config, isLogged, tell, stopped)
  try {
    if (options.once) return await sync()
    if (isWhole)
      await sync().catch(error => {
        // The service itself survives this: planned work goes on, and cron does the rest.
        logger.warn({ error }, 'the first sync could not be followed to its end')
      })
    if (service.consoleUrl) tell(await consoleLine(service, service.consoleUrl, checked, config, isLogged))
    if (service.receiverUrl) tell(say('shell.receiver', { url: service.receiverUrl }))
    tell(say('shell.running', { command: `${checked.program} status` }))
    await stopped
    tell(say('shell.stopping'))
  } finally {
    await service.stop()
  }
}

/** As long as a service may take to stop: a process on a busy machine also ends within 10 s. */
const START_ENDS_WITHIN_MS = 7500

/** Ends a service that was told to stop while it was starting. One that hangs is left behind. */
async function endStart(starting: Promise<Service> | null, logger: Logger): Promise<void> {
  try {
    // A start that fails has stopped its parts.
    const started = Promise.resolve(starting).catch(() => null)
    await within(
      START_ENDS_WITHIN_MS,
      started.then(service => service?.stop()),
    )
  } catch (error) {
    logger.warn({ error }, 'the start did not stop cleanly')
  }
}

/** Prints where the console is, and how to sign in. */
async function consoleLine(
  { pool }: Service,
  url: string,
  { embedded, program }: CheckedSettings,
  { CONSOLE_URL, OIDC_ISSUER }: Config,
  isLogged: boolean,
): Promise<string> {
  // Whoever reads a log may be anyone; whoever watches this terminal may run the command anyway.
  if (embedded && !isLogged)
    return say('shell.console_key', { url: `${url}/sign-in/key?key=${await createSignInKey(pool)}` })
  const address = CONSOLE_URL ?? url
  if (OIDC_ISSUER !== null || !(await hasNoUsers(pool))) return say('shell.console', { url: address })
  if (!isLogged)
    return say('shell.console_first', { url: `${address}/sign-in/key?key=${await createSignInKey(pool)}` })
  return say('shell.console_nobody', { url: address, command: `${program} users link` })
}

/** All roles, but the receiver of refund notifications only if the platform can be told its address. */
function defaultRoles({ env }: CheckedSettings): Role[] {
  const isReachable = Boolean(env.NOTIFICATION_URL?.trim() || env.NOTIFICATION_URL_FILE?.trim())
  return ROLES.filter(role => role !== 'notifications' || isReachable)
}

function greeting({ embedded, env }: CheckedSettings, roles: Role[]): string {
  return embedded
    ? say('shell.start_embedded')
    : say('shell.start_roles', {
        roles: namedList('process_role', roles),
        place: env.REDIS_URL || env.REDIS_URL_FILE ? 'Redis' : 'PostgreSQL',
      })
}

/**
 * Refuses a start that cannot work. HR may be down: a run reports that, and the next one tries again.
 * @throws FailedError, ConfigError, MappingError, PoolerError
 */
async function assertUsable(config: Config, logger: Logger): Promise<void> {
  await using opened = new AsyncDisposableStack()
  // Reads the mappings, and connects to HR only later: a wrong setting is refused whether or not a database answers.
  const hr = await connectHr(config, logger)
  opened.defer(() => hr.close())
  const pool = createPool(config.DATABASE_URL, { max: 1, name: 'start', logger })
  opened.defer(() => pool.end())
  await assertAnswers(pool)
  await assertNoPooler(config.DATABASE_URL)
  await Promise.all(hr.all.map(source => assertSource(source, logger)))
}

/** How long a start waits for one of several sources. */
const SOURCE_MS = 5000

/** Checks one of several sources. A fault there must not prevent the others from working. */
async function assertSource({ name, hr }: NamedSource, logger: Logger): Promise<void> {
  try {
    const inspected = hr.inspect()
    const late = () => new HrUnavailableError(message('said.folder_silent'))
    usable((await (name === '' ? inspected : within(SOURCE_MS, inspected, late))).departments)
  } catch (error) {
    if (!(error instanceof HrUnavailableError) && !(name !== '' && error instanceof MappingError)) throw error
    const reason = saidBy(error)
    logger.warn({ msg: name === '' ? reason : message('said.of_source', { name, reason }) })
  }
}

/**
 * The first sync of a start, with its summary.
 * @throws FailedError with `--once`, if it failed
 */
async function syncAtStart(
  { pool, accountTried }: Service,
  { once = false, json = false }: StartOptions,
  { embedded, env, program }: CheckedSettings,
  { MIRRORS }: Config,
  isLogged: boolean,
  tell: (line: string) => void,
  stopped: Promise<void>,
): Promise<void> {
  // With --once a person asks for everything. A service does by itself only what its cron jobs may do.
  const inForce = once ? CRON_JOBS.map(({ name }) => name) : await jobsInForce(pool)
  const everything = once || !(await hasRuns(pool))
  // Where nothing is acknowledged yet, the sync of changes plans everyone, as the full run does.
  const isFull = everything && (inForce.includes('full-resync') || !inForce.includes('sync-changes'))
  // At a restart of the service, the mirrors are left to their schedules.
  const mirrors = everything ? MIRRORS : []
  const kinds: readonly RunKind[] = [isFull ? 'full' : 'changes', 'departments', 'openids', ...mirrors]
  const jobs = CRON_JOBS.filter(({ name, kind }) => name === 'retry-due' || (kind && kinds.includes(kind)))
  const leftOut = jobs.filter(({ name }) => !inForce.includes(name))
  if (leftOut.length > 0) {
    const names = leftOut.map(({ name }) => name)
    tell(say('shell.left_out', { jobs: namedList('job', names) }))
  }
  const result = await firstSync({
    pool,
    kinds: kinds.filter(kind => !leftOut.some(job => job.kind === kind)),
    retries: inForce.includes('retry-due'),
    stopped,
    accountTried,
    quiet: json || isLogged,
  })
  if (!result) {
    if (once) throw new FailedError(message('said.stopped_before_end'))
    return
  }
  printSummary(result, { json, program, psql: !embedded && Boolean(env.DATABASE_URL) })
  if (once && !result.ok) throw new FailedError('')
}
