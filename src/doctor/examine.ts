import type { Config, Environment } from '../config.ts'
import { accountOf } from '../connections.ts'
import { createPool } from '../lib/database.ts'
import { saidOf } from '../lib/failure.ts'
import type { Logger } from '../lib/logger.ts'
import { readDeployment } from '../sync/health/deployment.ts'
import { message } from '../texts/message.ts'
import { type CheckResult, failed, warning } from './finding.ts'
import {
  examineAccount,
  examineChannels,
  examineConsole,
  examineDatabase,
  examineNotifications,
  examineQueue,
  examineSchedules,
  examineService,
} from './local.ts'
import { examineHr, examinePlatform } from './remote.ts'
import { settingsFindings } from './settings.ts'

/** The input of an examination. */
export interface ExamineOptions {
  config: Config
  env: Environment
  /** How a person types the program's name, for hints. */
  program: string
  /** Silent if the findings are shown, since the log would repeat them. */
  logger: Logger
}

/**
 * Runs all checks in the order of their dependencies, and yields each finding as soon as it is known. Checks that
 * depend on a failed one are left out. Nothing is changed, except that an access token is created if there is none.
 */
export async function* examine({
  config,
  env,
  program,
  logger,
}: ExamineOptions): AsyncGenerator<CheckResult> {
  yield* settingsFindings(env, config.embedded)
  yield* examineSchedules(config)
  const pool = createPool(config.DATABASE_URL, { max: 4, name: 'doctor', logger })
  try {
    const database = await examineDatabase(pool, config, program)
    yield* database.findings
    const deployment = database.isReady ? await readDeployment(pool) : null
    if (database.isReady) yield examineAccount(deployment, accountOf(config))
    yield* await examineQueue(config)
    yield* await examineHr(config, deployment, logger)
    if (database.isReady) {
      yield* await examinePlatform(config, pool, logger)
      yield* await examineService(pool, program)
      yield* await examineNotifications(config, pool)
      yield* await examineConsole(config, pool, program)
    } else yield warning('platform', message('doctor.needs_database'))
    yield* await examineChannels(config, database.isReady ? pool : null, program)
  } catch (error) {
    // What no check foresaw is a finding too; earlier findings stay.
    yield failed('dirsync', saidOf(error))
  } finally {
    await pool.end()
  }
}
