import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, type Environment, environment, isEmbedded, loadConfig } from '../config.ts'
import type { Logger } from '../lib/logger.ts'
import { EMBEDDED_APPLICATION } from '../settings/settings.ts'
import { invocation, say } from './language.ts'
import { printAside } from './output.ts'

const DIRECTORY = '.dirsync'

/** Whether there is a trial in this folder, of whatever version. */
export function isTrialHere(): boolean {
  return existsSync(join(DIRECTORY, 'postgres'))
}

/**
 * Placeholders for the addresses of the embedded parts, so that the other settings can be checked before anything is
 * started.
 */
const UNOPENED = {
  DATABASE_URL: 'postgres://embedded',
  HR_DATABASE_URL: 'postgres://embedded',
  HR_EMPLOYEES_SQL: 'embedded',
  PLATFORM_BASE_URL: 'http://embedded',
  PLATFORM_APP_ID: 'embedded',
  PLATFORM_APP_SECRET: 'embedded',
}

/**
 * Parses the settings that a command needs.
 * @throws ConfigError
 */
type Load<Settings> = (env: Environment) => Settings

/** The settings, as far as they are known before anything is opened. */
export interface CheckedSettings {
  env: Environment
  /** True if none of the three addresses is set: everything runs embedded. */
  embedded: boolean
  /** LOG_LEVEL, if it is set. */
  logLevel: string | null
  /** The language for people. */
  language: Config['DIRSYNC_LANG']
  /** How a person types the program's name. */
  program: string
}

/** The settings of a command. Embedded parts stay up until this is disposed. */
interface OpenSettings<Settings> extends AsyncDisposable {
  config: Settings
}

/**
 * Checks the settings without opening anything.
 * @throws ConfigError
 */
export function checkSettings(
  load: Load<Pick<Config, 'DIRSYNC_LANG' | 'LOG_LEVEL'>> = loadConfig,
): CheckedSettings {
  const env = environment()
  const embedded = isEmbedded(env)
  const { DIRSYNC_LANG: language, LOG_LEVEL } = load(embedded ? orElse(env, UNOPENED) : env)
  const logLevel = env.LOG_LEVEL || env.LOG_LEVEL_FILE ? LOG_LEVEL : null
  return { env, embedded, logLevel, language, program: invocation(env) }
}

/**
 * Opens the settings, and starts the embedded parts if there are any. That may be because settings were forgotten, so it is said.
 * @param options.fresh deletes the data of the embedded parts first
 * @param options.isSaid the command says by itself that everything runs embedded
 * @throws ConfigError, EmbeddedError
 */
export async function openSettings<Settings>(
  { env, embedded }: CheckedSettings,
  load: Load<Settings>,
  logger: Logger,
  options: { fresh?: boolean; isSaid?: boolean } = {},
): Promise<OpenSettings<Settings>> {
  if (!embedded) return { config: load(env), async [Symbol.asyncDispose]() {} }
  if (!options.isSaid) printAside(say('shell.is_trial', { folder: `${DIRECTORY}/` }))
  const { openEmbedded } = await import('../trial/environment.ts')
  const parts = await openEmbedded({ directory: DIRECTORY, fresh: options.fresh ?? false, logger })
  try {
    // Settings other than the addresses (a schedule, a rate, a log level) also apply to the embedded parts,
    // whose platform knows no application but its own.
    const application = Object.fromEntries(EMBEDDED_APPLICATION.map(name => [name, parts.settings[name]]))
    const config = { ...load({ ...orElse(env, parts.settings), ...application }), embedded: true }
    return { config, [Symbol.asyncDispose]: () => parts.close() }
  } catch (error) {
    await parts.close()
    throw error
  }
}

/** The settings, with others for those that the environment lacks. */
export function orElse(env: Environment, others: Environment): Environment {
  const lacking = Object.entries(others).filter(([name]) => !env[name] && !env[`${name}_FILE`])
  return { ...env, ...Object.fromEntries(lacking) }
}
