import { accountOf } from '../../connections.ts'
import { createPool } from '../../lib/database.ts'
import { createLogger } from '../../lib/logger.ts'
import { openQueueStore } from '../../queue/backend.ts'
import { readDeployment } from '../../sync/deployment.ts'
import { sentenceOf } from '../failure.ts'
import { openSettings } from '../settings.ts'
import { examineAccount, examineDatabase, examineService } from './database.ts'
import { type Finding, failed, warning } from './doctor.ts'
import { examineHr } from './hr.ts'
import { examinePlatform } from './platform.ts'
import { examineSchedules, examineSettings } from './settings.ts'

/** Everything that has to be right before dirsync can work; what needs something that is wrong is not looked at. */
export async function examine(): Promise<Finding[]> {
  const { findings, checked } = examineSettings()
  if (!checked) return findings
  // Whatever is wrong is a finding; the log would say it a second time.
  const logger = createLogger({ level: 'silent', pretty: false })
  await using opened = new AsyncDisposableStack()
  try {
    const { config } = opened.use(await openSettings(checked, logger))
    findings.push(...examineSchedules(config))
    const pool = opened.adopt(
      createPool(config.DATABASE_URL, { max: 4, name: 'doctor', logger }),
      async pool => pool.end(),
    )
    const database = await examineDatabase(pool, config.DATABASE_URL, checked.program)
    findings.push(...database.findings)
    const deployment = database.isReady ? await readDeployment(pool) : null
    if (database.isReady) findings.push(examineAccount(deployment, accountOf(config)))
    const queue = openQueueStore({ redisUrl: config.REDIS_URL, databaseUrl: config.DATABASE_URL })
    for (const { ok, what, remedy } of await queue.doctor())
      findings.push({
        check: 'queue',
        status: ok ? 'ok' : 'failed',
        what,
        ...(remedy ? { remedy } : {}),
      })
    findings.push(...(await examineHr(config, deployment, logger)))
    if (database.isReady) {
      findings.push(...(await examinePlatform(config, pool, logger)))
      findings.push(...(await examineService(pool, checked.program)))
    } else findings.push(warning('platform', 'not checked: the token and the pacer live in the database'))
  } catch (error) {
    // Something that no check foresaw: it is a finding too, and what was found by then stays.
    findings.push(failed('dirsync', sentenceOf(error)))
  }
  return findings
}
