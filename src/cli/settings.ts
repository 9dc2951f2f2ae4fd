import { type Config, environment, isEmbedded, loadConfig } from '../config.ts'
import { openEmbedded } from '../embedded/environment.ts'
import type { Logger } from '../logger.ts'

const DIRECTORY = '.dirsync'

/** The settings of a command, and the embedded parts behind them where nothing is set. */
export interface OpenSettings extends AsyncDisposable {
  config: Config
  embedded: boolean
}

/**
 * Reads the settings; where none of the three addresses is set, brings up everything embedded for as long as the command runs.
 * @param options.fresh forget the data of the embedded parts
 * @throws ConfigError, EmbeddedError
 */
export async function openSettings(logger: Logger, options: { fresh?: boolean } = {}): Promise<OpenSettings> {
  const env = environment()
  if (!isEmbedded(env)) return { config: loadConfig(env), embedded: false, async [Symbol.asyncDispose]() {} }
  const parts = await openEmbedded({ directory: DIRECTORY, fresh: options.fresh ?? false, logger })
  try {
    // What a person sets besides the addresses (a schedule, a rate, a log level) holds for the embedded parts too.
    const config = loadConfig({ ...parts.settings, ...given(env) })
    return { config, embedded: true, [Symbol.asyncDispose]: () => parts.close() }
  } catch (error) {
    await parts.close()
    throw error
  }
}

function given(env: ReturnType<typeof environment>) {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value))
}
