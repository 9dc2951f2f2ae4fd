import type { Command } from 'commander'
import type { Config } from '../config.ts'
import type { Logger } from '../lib/logger.ts'
import type { Role, Service } from '../main.ts'
import { assertAnswers, NEEDED_ROLES } from './context.ts'
import { FailedError, sentenceOf, stopSignal, UsageError } from './failure.ts'
import { wrap } from './output.ts'
import type { CheckedSettings } from './settings.ts'

interface StartOptions {
  roles?: string
  once?: true
  json?: true
  fresh?: true
}

/** `dirsync start`: the service, or one sync of everything with `--once`. */
export function startCommand(program: Command): void {
  program
    .command('start')
    .summary('run the service, or one sync with --once')
    .description('run the service; without settings: everything embedded')
    .option(
      '--roles <roles>',
      'roles of this process: scheduler, worker, console, notifications (default: all of them; the last only where NOTIFICATION_URL is set)',
    )
    .option('--once', 'one sync of everything to the end, a summary, exit')
    .option('--json', 'print the summary as JSON')
    .option('--fresh', 'embedded: forget all data and start over')
    .addHelpText(
      'after',
      `
Without DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL everything runs
embedded, with its data in .dirsync/.
With --once: exit 0 when every run is done, 1 when one failed or is held.

Examples:
  dirsync start                       the whole service in one process
  dirsync start --roles worker        one more worker beside it
  dirsync start --once --json         sync once, for a cron job of your own`,
    )
    .action(start)
}

async function start(options: StartOptions): Promise<void> {
  const [{ createLogger }, { parseRoles, ROLES, startService }, { checkSettings, openSettings }] =
    await Promise.all([import('../lib/logger.ts'), import('../main.ts'), import('./settings.ts')])
  const checked = checkSettings()
  const roles = options.roles === undefined ? defaultRoles(ROLES, checked) : parseRoles(options.roles)
  const isWhole = NEEDED_ROLES.every(role => roles.includes(role))
  if (options.once && !isWhole)
    throw new UsageError('--once needs the roles scheduler and worker: leave --roles out')
  if (options.fresh && !checked.embedded)
    throw new UsageError('--fresh is for the embedded default alone: it never clears a database of yours')
  const watched = process.stderr.isTTY === true
  // Somebody who watches the progress bar wants to see trouble only.
  const logger = createLogger({
    level: checked.logLevel ?? (watched || options.once ? 'warn' : 'info'),
    pretty: watched,
  })
  // A service that nobody watches writes nothing but its log to standard error, in one format; these few lines always.
  const isLogged = !watched && !options.once
  const announcer = logger.child({}, { level: 'info' })
  const say = (line: string) => {
    if (options.json) return
    if (isLogged) announcer.info(line)
    else
      process.stderr.write(
        wrap(line, 80)
          .map(part => `${part}\n`)
          .join(''),
      )
  }

  const stopped = stopSignal()
  if (!isLogged) say(greeting(checked, roles))
  await using settings = await openSettings(checked, logger, options.fresh ? { fresh: true } : {})
  await assertUsable(settings.config, logger)
  const service = await startService({
    config: settings.config,
    roles: options.once ? NEEDED_ROLES : roles,
    logger,
    schedule: !options.once,
  })
  // Not before: a start that is refused is one sentence and no log.
  if (isLogged) say(greeting(checked, roles))
  try {
    if (options.once) return await sync(service, options, checked, settings.config, stopped)
    if (isWhole)
      await sync(service, { ...options, quiet: isLogged }, checked, settings.config, stopped).catch(error => {
        // The service itself rides it out: what is planned goes on, and cron does the rest.
        logger.warn({ err: sentenceOf(error) }, 'the first sync could not be followed to its end')
      })
    if (service.consoleUrl) say(`Health and metrics: ${service.consoleUrl}`)
    if (service.receiverUrl) say(`Refund notifications: ${service.receiverUrl}`)
    say(`Running. Stop with Ctrl-C; look closer with: ${checked.program} status`)
    await stopped
    say('Stopping …')
  } finally {
    await service.stop()
  }
}

/** Nothing waits for refund notifications unless the platform can be told where to send them. */
function defaultRoles(all: readonly Role[], { env }: CheckedSettings): Role[] {
  const isReachable = Boolean(env.NOTIFICATION_URL?.trim() || env.NOTIFICATION_URL_FILE?.trim())
  return all.filter(role => role !== 'notifications' || isReachable)
}

function greeting({ embedded, env }: CheckedSettings, roles: Role[]): string {
  return embedded
    ? 'dirsync: no settings found, so everything runs embedded: PostgreSQL, the queue on it, the platform emulator and a sample HR database, with data in .dirsync/'
    : `dirsync: roles ${roles.join(', ')}; queue in ${env.REDIS_URL || env.REDIS_URL_FILE ? 'Redis' : 'PostgreSQL'}`
}

/**
 * A start that cannot end well ends at once. HR that is away is no reason: a run says so, and the next one tries.
 * @throws FailedError, ConfigError, MappingError, PoolerError
 */
async function assertUsable(config: Config, logger: Logger): Promise<void> {
  const [{ createPool }, { assertNoPooler }, { connectHr }, { HrUnavailableError }] = await Promise.all([
    import('../lib/database.ts'),
    import('../lib/database.ts'),
    import('../connections.ts'),
    import('../hr/source.ts'),
  ])
  await using opened = new AsyncDisposableStack()
  await assertAnswers(
    opened.adopt(createPool(config.DATABASE_URL, { max: 1, name: 'start', logger }), async pool =>
      pool.end(),
    ),
  )
  await assertNoPooler(config.DATABASE_URL)
  const hr = opened.adopt(await connectHr(config, logger), async hr => hr.close())
  try {
    await hr.inspect()
  } catch (error) {
    if (!(error instanceof HrUnavailableError)) throw error
    logger.warn(error.message)
  }
}

/** The first sync of a start, with its summary. @throws FailedError when it was all that was asked for and failed */
async function sync(
  { pool }: Service,
  options: StartOptions & { quiet?: boolean },
  { embedded, env, program }: CheckedSettings,
  { MIRRORS }: Config,
  stopped: Promise<unknown>,
): Promise<void> {
  const [{ latestRuns }, { firstSync }, { printSummary }] = await Promise.all([
    import('../sync/run.ts'),
    import('./first-sync.ts'),
    import('./first-sync.ts'),
  ])
  const json = options.json === true
  const first = (await latestRuns(pool, 1)).length === 0
  const everything = options.once === true || first
  // A service that starts again leaves the mirrors to their schedules.
  const mirrors = everything ? MIRRORS : []
  const result = await firstSync({
    pool,
    everything,
    mirrors,
    stopped,
    quiet: json || options.quiet === true,
  })
  if (!result) {
    if (options.once)
      throw new FailedError('stopped before the end; what is left goes on with the next start')
    return
  }
  printSummary(result, { json, program, psql: !embedded && Boolean(env.DATABASE_URL) })
  if (options.once && !result.ok) throw new FailedError('')
}
