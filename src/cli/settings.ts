import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Config, type Environment, environment, isEmbedded, loadConfig, loadStores } from '../config.ts'
import type { Logger } from '../lib/logger.ts'

const DIRECTORY = '.dirsync'

/** Stand in for what the embedded parts will tell, so that the rest can be checked before anything is brought up. */
const UNOPENED = {
  DATABASE_URL: 'postgres://embedded',
  HR_DATABASE_URL: 'postgres://embedded',
  HR_EMPLOYEES_SQL: 'embedded',
  PLATFORM_BASE_URL: 'http://embedded',
  PLATFORM_APP_ID: 'embedded',
  PLATFORM_APP_SECRET: 'embedded',
}

/** The settings as far as they can be known without opening anything. */
export interface CheckedSettings {
  env: Environment
  /** True where none of the three addresses is set: everything runs embedded. */
  embedded: boolean
  /** LOG_LEVEL where somebody set it. */
  logLevel: string | null
  /** How a person types the program. */
  program: string
}

/** The settings of a command, and the embedded parts behind them where nothing is set. */
interface OpenSettings extends AsyncDisposable {
  config: Config
}

/**
 * Reads and checks the settings.
 * @throws ConfigError
 */
export function checkSettings(): CheckedSettings {
  const env = environment()
  const embedded = isEmbedded(env)
  const { LOG_LEVEL } = loadConfig(embedded ? { ...UNOPENED, ...given(env) } : env)
  return {
    env,
    embedded,
    logLevel: setLogLevel(env, LOG_LEVEL),
    program: invocation(env),
  }
}

/**
 * Reads and checks the settings of dirsync's own stores alone.
 * @throws ConfigError
 */
export function checkStores(): CheckedSettings {
  const env = environment()
  if (isEmbedded(env)) return checkSettings()
  const { LOG_LEVEL } = loadStores(env)
  return { env, embedded: false, logLevel: setLogLevel(env, LOG_LEVEL), program: invocation(env) }
}

/**
 * Opens the settings of dirsync's own stores, as {@link openSettings} does.
 * @throws ConfigError, EmbeddedError
 */
export async function openStoreSettings(
  checked: CheckedSettings,
  logger: Logger,
): Promise<AsyncDisposable & { config: Pick<Config, 'DATABASE_URL' | 'REDIS_URL'> }> {
  if (checked.embedded) return openSettings(checked, logger)
  return { config: loadStores(checked.env), async [Symbol.asyncDispose]() {} }
}

/**
 * Opens the settings; where everything is embedded, brings it up for as long as the command runs.
 * @param options.fresh forget the data of the embedded parts
 * @throws ConfigError, EmbeddedError
 */
export async function openSettings(
  { env, embedded }: CheckedSettings,
  logger: Logger,
  options: { fresh?: boolean } = {},
): Promise<OpenSettings> {
  if (!embedded) return { config: loadConfig(env), async [Symbol.asyncDispose]() {} }
  const { openEmbedded } = await import('../trial/environment.ts')
  const parts = await openEmbedded({ directory: DIRECTORY, fresh: options.fresh ?? false, logger })
  try {
    // What a person sets besides the addresses (a schedule, a rate, a log level) holds for the embedded parts too.
    const config = { ...loadConfig({ ...parts.settings, ...given(env) }), embedded: true }
    return { config, [Symbol.asyncDispose]: () => parts.close() }
  } catch (error) {
    await parts.close()
    throw error
  }
}

function setLogLevel(env: Environment, level: string): string | null {
  return env.LOG_LEVEL || env.LOG_LEVEL_FILE ? level : null
}

function given(env: Environment) {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value))
}

/** How a person types the program: `dirsync` where it is installed (the image), `npx dirsync` in a checkout. */
function invocation(env: Environment): 'dirsync' | 'npx dirsync' {
  const folders = (env.PATH ?? '')
    .split(delimiter)
    // npm puts these on the path of what it runs, and they are not there for the person.
    .filter(folder => folder !== '' && !/node_modules\/\.bin\/?$/.test(folder))
  return folders.some(folder => isExecutable(join(folder, 'dirsync'))) ? 'dirsync' : 'npx dirsync'
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
