import { userInfo } from 'node:os'
import { type Config, loadConfig, loadStores } from '../config.ts'
import type { HrSources } from '../hr/sources.ts'
import { createPool, type Pool } from '../lib/database.ts'
import { databaseTrouble } from '../lib/failure.ts'
import { io } from '../lib/io.ts'
import { createLogger, type Logger } from '../lib/logger.ts'
import { missingMigrations } from '../lib/migrate.ts'
import type { PlatformClient } from '../platform/client.ts'
import { assertAccount } from '../sync/health/deployment.ts'
import { aliveProcesses, missingAmong, missingRolesSaid, type NeededRole } from '../sync/processes/process.ts'
import { type Asker, Commands } from '../sync/runs/commands.ts'
import { noticeRestore } from '../sync/runs/restored.ts'
import { message } from '../texts/message.ts'
import { FailedError, STOP_SIGNALS } from './failure.ts'
import { logWords, said, say, speak } from './language.ts'
import { printAside } from './output.ts'
import { type CheckedSettings, checkSettings, isTrialHere, openSettings } from './settings.ts'

export { NEEDED_ROLES } from '../sync/processes/process.ts'

/** dirsync's own database, and the settings with its address. */
interface Stores<Settings> extends AsyncDisposable {
  readonly config: Settings
  readonly checked: CheckedSettings
  readonly logger: Logger
  readonly pool: Pool
}

/** What a command works with. Disposing it closes everything that was opened. */
export interface CommandContext extends AsyncDisposable {
  readonly config: Config
  readonly embedded: boolean
  /** How a person types the program's name, for hints. */
  readonly program: string
  readonly logger: Logger
  /** dirsync's own database; it has been checked to answer and to have the schema. */
  readonly pool: Pool
  /** Who runs the command, for the audit: `cli:` and the shell user. */
  readonly actor: string
  /** The same, for what is recorded. */
  readonly asker: Asker
  /** What they can change, in their name. */
  readonly commands: Commands
  /** Connects to HR. @throws ConfigError, MappingError */
  hr(): Promise<HrSources>
  /**
   * Connects to the platform, behind the pacer and the token that all processes share.
   * @throws AccountError if the database belongs to another account
   */
  platform(): Promise<PlatformClient>
  /**
   * For commands that compare with the memory, or request work.
   * @throws AccountError if the database belongs to another account
   */
  assertAccount(): Promise<void>
}

/**
 * Opens what a command needs.
 * @param options.handlesSignals the command reacts to signals itself
 * @throws ConfigError, EmbeddedError, FailedError
 */
export async function openContext(options: { handlesSignals?: boolean } = {}): Promise<CommandContext> {
  await using opened = new AsyncDisposableStack()
  const { config, checked, logger, pool } = opened.use(
    await open(loadConfig, { ...options, needsSchema: true }),
  )
  await assertMigrated(pool, checked)
  // What a command shows is so, also before anything was started.
  await noticeRestore(pool, logger)
  // Most commands call neither HR nor the platform, and start faster without loading those clients.
  const connections = () => import('../connections.ts')
  const assertOurs = async () => assertAccount(pool, (await connections()).accountOf(config))
  const asker = { actor: `cli:${shellUser()}` }
  const stack = opened.move()
  return {
    config,
    embedded: checked.embedded,
    program: checked.program,
    logger,
    pool,
    actor: asker.actor,
    asker,
    commands: new Commands(pool, asker),
    async hr() {
      const { connectHr } = await connections()
      return stack.adopt(await connectHr(config, logger), hr => hr.close())
    },
    async platform() {
      await assertOurs()
      const { connectPlatform } = await connections()
      return stack.use(connectPlatform(config, pool, logger))
    },
    assertAccount: assertOurs,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/**
 * Opens only dirsync's own database, whether or not it has the schema. Needs no other setting.
 * @throws ConfigError, EmbeddedError, FailedError
 */
export async function openStores(): Promise<Stores<Pick<Config, 'DATABASE_URL' | 'REDIS_URL'>>> {
  return await open(loadStores)
}

/** Renewing a token needs a second connection, planning a third. */
const CONNECTIONS = 4

async function open<Settings extends Pick<Config, 'DATABASE_URL' | 'DIRSYNC_LANG' | 'LOG_LEVEL'>>(
  load: (env: CheckedSettings['env']) => Settings,
  options: { handlesSignals?: boolean; needsSchema?: boolean } = {},
): Promise<Stores<Settings>> {
  const checked = checkSettings(load)
  speak(checked.language)
  if (options.needsSchema && checked.embedded && !isTrialHere()) throw nothingHere(checked)
  const logger = createLogger({ level: checked.logLevel ?? 'warn', say: logWords })
  await using opened = new AsyncDisposableStack()
  const settings = opened.use(await openSettings(checked, load, logger))
  if (!options.handlesSignals) opened.use(closedBySignal(settings))
  const { config } = settings
  const pool = opened.adopt(
    createPool(config.DATABASE_URL, { max: CONNECTIONS, name: 'cli', logger }),
    async pool => pool.end(),
  )
  await assertAnswers(pool)
  const stack = opened.move()
  return { config, checked, logger, pool, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/**
 * Ctrl-C ends the command at once, but stops the embedded parts first. Output that is no longer read does the same, and has set
 * the exit code.
 */
function closedBySignal(settings: AsyncDisposable): Disposable {
  const program = io()
  const end = () => {
    void Promise.resolve(settings[Symbol.asyncDispose]()).finally(() => program.exit(program.exitCode ?? 130))
  }
  for (const signal of STOP_SIGNALS) program[signal === 'SIGHUP' ? 'on' : 'once'](signal, end)
  return {
    [Symbol.dispose]() {
      for (const signal of STOP_SIGNALS) program.off(signal, end)
    },
  }
}

/** @throws FailedError if dirsync's own database cannot be used */
export async function assertAnswers(pool: Pool): Promise<void> {
  await usable(() => pool.query('select 1'))
}

async function usable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new FailedError(message('said.and_remedy', databaseTrouble(error)), { cause: error })
  }
}

async function assertMigrated(pool: Pool, checked: CheckedSettings): Promise<void> {
  const missing = await usable(() => missingMigrations(pool))
  if (missing.length === 0) return
  if (checked.embedded) throw nothingHere(checked)
  throw new FailedError(
    message('said.schema_lacks', { count: missing.length, command: `${checked.program} migrate` }),
  )
}

/** Without settings and without a trial there is nothing to look at. */
export function nothingHere({ program }: CheckedSettings): FailedError {
  return new FailedError(message('said.nothing_here_yet', { command: `${program} start` }))
}

function shellUser(): string {
  try {
    return userInfo().username
  } catch {
    // In a container, the user id may have no name.
    return String(process.getuid?.() ?? 'unknown')
  }
}

/** The roles that a run needs and that no running process has. */
export async function missingRoles(pool: Pool, needed?: readonly NeededRole[]): Promise<NeededRole[]> {
  return missingAmong(await aliveProcesses(pool), needed)
}

/** Warns on standard error if a request has to wait because no running process would carry it out. */
export async function warnOfMissingRoles(
  { pool, program }: CommandContext,
  needed?: readonly NeededRole[],
): Promise<void> {
  const missing = await missingRoles(pool, needed)
  if (missing.length > 0)
    printAside(say('shell.request_waits', { reason: said(missingRolesSaid(missing, program)) }))
}
