import { userInfo } from 'node:os'
import type { Config } from '../config.ts'
import type { HrSource } from '../hr/source.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { PlatformClient } from '../platform/client.ts'
import { aliveProcesses } from '../sync/process.ts'
import { FailedError, sentenceOf } from './failure.ts'
import { wrap } from './output.ts'
import type { CheckedSettings } from './settings.ts'

/** A token's renewal needs a second connection beside the one in hand, a plan a third. */
const CONNECTIONS = 4

/** What a command works with; everything that was opened is closed with it. */
export interface CommandContext extends AsyncDisposable {
  readonly config: Config
  readonly embedded: boolean
  /** How a person types the program, for hints. */
  readonly program: string
  readonly logger: Logger
  /** dirsync's own database, which answers and has the schema. */
  readonly pool: Pool
  /** Who asks, for the audit: `cli:` and the shell user. */
  readonly actor: string
  /** HR, connected when it is first asked. @throws ConfigError, MappingError */
  hr(): Promise<HrSource>
  /**
   * The platform, behind the pacer and the token that all processes share.
   * @throws AccountError when the database is the memory of another account
   */
  platform(): Promise<PlatformClient>
  /** For what compares with the memory, or asks others to. @throws AccountError when it is that of another account */
  assertAccount(): Promise<void>
}

/** dirsync's own stores, whether or not the database has the schema. */
interface Stores extends AsyncDisposable {
  readonly config: Pick<Config, 'DATABASE_URL' | 'REDIS_URL'>
  readonly checked: CheckedSettings
  readonly logger: Logger
  readonly pool: Pool
}

/**
 * Opens dirsync's own stores alone; no other setting is needed for them.
 * @throws ConfigError, EmbeddedError, FailedError
 */
export async function openStores(): Promise<Stores> {
  const [{ createLogger }, { createPool }, { checkStores, openStoreSettings }] = await Promise.all([
    import('../lib/logger.ts'),
    import('../lib/database.ts'),
    import('./settings.ts'),
  ])
  const checked = checkStores()
  const logger = createLogger({
    level: checked.logLevel ?? 'warn',
    pretty: process.stderr.isTTY === true,
  })
  await using opened = new AsyncDisposableStack()
  const settings = opened.use(await openStoreSettings(checked, logger))
  opened.use(closedBySignal(settings))
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
 * Opens what a command needs. Heavy modules are loaded here and not before, so that `--help` is quick.
 * @param options.handlesSignals the command ends by itself when a signal asks it to
 * @throws ConfigError, EmbeddedError, FailedError
 */
export async function openContext(options: { handlesSignals?: boolean } = {}): Promise<CommandContext> {
  const [{ createLogger }, { checkSettings, openSettings }] = await Promise.all([
    import('../lib/logger.ts'),
    import('./settings.ts'),
  ])
  const checked = checkSettings()
  const logger = createLogger({
    level: checked.logLevel ?? 'warn',
    pretty: process.stderr.isTTY === true,
  })
  await using opened = new AsyncDisposableStack()
  const settings = opened.use(await openSettings(checked, logger))
  if (!options.handlesSignals) opened.use(closedBySignal(settings))
  const { config } = settings
  const { createPool } = await import('../lib/database.ts')
  const pool = opened.adopt(
    createPool(config.DATABASE_URL, { max: CONNECTIONS, name: 'cli', logger }),
    async pool => pool.end(),
  )
  await assertAnswers(pool)
  await assertMigrated(pool, checked)
  const stack = opened.move()
  const assertAccount = async () => {
    const [{ accountOf }, { assertAccount }] = await Promise.all([
      import('../connections.ts'),
      import('../sync/deployment.ts'),
    ])
    await assertAccount(pool, accountOf(config))
  }
  return {
    config,
    embedded: checked.embedded,
    program: checked.program,
    logger,
    pool,
    actor: `cli:${shellUser()}`,
    async hr() {
      const { connectHr } = await import('../connections.ts')
      return stack.adopt(await connectHr(config, logger), hr => hr.close())
    },
    assertAccount,
    async platform() {
      await assertAccount()
      const { connectPlatform } = await import('../connections.ts')
      return stack.use(connectPlatform(config, pool, logger))
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** @throws FailedError when dirsync's own database does not answer */
export async function assertAnswers(pool: Pool): Promise<void> {
  try {
    await pool.query('select 1')
  } catch (error) {
    throw new FailedError(
      `dirsync's own database does not answer (${sentenceOf(error)}): check DATABASE_URL and that the server is up`,
    )
  }
}

async function assertMigrated(pool: Pool, { embedded, program }: CheckedSettings): Promise<void> {
  const { missingMigrations } = await import('../lib/migrate.ts')
  const missing = await missingMigrations(pool)
  if (missing.length === 0) return
  throw new FailedError(
    embedded
      ? `nothing is here yet, or it is of an older version: run ${program} start`
      : `the database lacks ${missing.join(', ')}: run ${program} migrate`,
  )
}

/** Ctrl-C ends the command at once, but not without taking the embedded parts down. */
function closedBySignal(settings: AsyncDisposable): Disposable {
  const end = () => {
    void Promise.resolve(settings[Symbol.asyncDispose]()).finally(() => process.exit(130))
  }
  process.once('SIGINT', end)
  process.once('SIGTERM', end)
  return {
    [Symbol.dispose]() {
      process.off('SIGINT', end)
      process.off('SIGTERM', end)
    },
  }
}

function shellUser(): string {
  try {
    return userInfo().username
  } catch {
    // In a container the user id may have no name.
    return String(process.getuid?.() ?? 'unknown')
  }
}

/** What a run needs. */
export const NEEDED_ROLES = ['scheduler', 'worker'] as const

/** Roles without which a run does not go on, and which no living process has. */
export async function missingRoles(pool: Pool): Promise<(typeof NEEDED_ROLES)[number][]> {
  const alive = await aliveProcesses(pool)
  return NEEDED_ROLES.filter(role => !alive.some(({ roles }) => roles.includes(role)))
}

/** Says that nobody is there to do the work, and how to start somebody. */
export function nobodyAlive(missing: readonly string[], program: string): string {
  const roles = missing.length === NEEDED_ROLES.length ? '' : ` --roles ${missing.join(',')}`
  return `no ${missing.join(' and no ')} is alive: start one with ${program} start${roles}`
}

/** Warns on standard error when what was asked for has to wait because nobody is there to do it. */
export async function warnWhenNobodyWorks({ pool, program }: CommandContext): Promise<void> {
  const missing = await missingRoles(pool)
  if (missing.length === 0) return
  const lines = wrap(`warning: ${nobodyAlive(missing, program)}. What was asked for waits until then.`, 78)
  process.stderr.write(lines.map(line => `${line}\n`).join(''))
}
