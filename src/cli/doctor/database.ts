import type { Pool } from '../../lib/database.ts'
import { assertNoPooler, onlyRow, PoolerError } from '../../lib/database.ts'
import { migrationFindings } from '../../lib/migrate.ts'
import {
  type Account,
  AccountError,
  accountText,
  type Deployment,
  isSameAccount,
} from '../../sync/deployment.ts'
import { readHalts } from '../../sync/halts.ts'
import { aliveProcesses } from '../../sync/process.ts'
import { missingRoles, nobodyAlive } from '../context.ts'
import { sentenceOf } from '../failure.ts'
import { shortTime } from '../output.ts'
import { type Finding, failed, ok, warning } from './doctor.ts'

/** dirsync's own database; `isReady` when it answers, keeps its locks and has the whole schema. */
export async function examineDatabase(
  pool: Pool,
  url: string,
  program: string,
): Promise<{ findings: Finding[]; isReady: boolean }> {
  let version: string
  try {
    const { rows } = await pool.query<{ server_version: string }>('show server_version')
    version = onlyRow(rows).server_version
    await assertNoPooler(url)
  } catch (error) {
    if (error instanceof PoolerError) return { findings: [failed('database', error.message)], isReady: false }
    const what = `dirsync's own database does not answer: ${sentenceOf(error)}`
    return {
      findings: [failed('database', what, 'Start the server, or correct DATABASE_URL.')],
      isReady: false,
    }
  }
  const answers = ok('database', `PostgreSQL ${version} answers`)
  const { missing, hasReviewer } = await migrationFindings(pool)
  if (missing.length > 0)
    return {
      findings: [
        answers,
        failed(
          'schema',
          `the database lacks ${missing.join(', ')}`,
          `${program} migrate brings it up to date, and so does every start.`,
        ),
      ],
      isReady: false,
    }
  const reviewer = hasReviewer
    ? ok('reviewer', 'the role dirsync_reviewer may read failed_syncs')
    : warning(
        'reviewer',
        'the role dirsync_reviewer is missing or may not read failed_syncs',
        `${program} migrate prints what somebody who may create roles has to run.`,
      )
  return { findings: [answers, ok('schema', 'up to date'), reviewer], isReady: true }
}

/** Whose memory the database is. */
export function examineAccount(deployment: Deployment | null, settings: Account): Finding {
  if (deployment === null)
    return ok('account', `nobody's memory yet; the first start makes it that of ${accountText(settings)}`)
  if (!isSameAccount(deployment, settings))
    return failed('account', new AccountError(deployment, settings).message)
  const { id, name, since } = deployment
  return ok(
    'account',
    `${accountText(deployment)}, since ${shortTime(since)}; deployment ${name === null ? id : `${name} (${id})`}`,
  )
}

/** Who is at work, and what keeps them from it. */
export async function examineService(pool: Pool, program: string): Promise<Finding[]> {
  const [processes, missing, halts] = await Promise.all([
    aliveProcesses(pool),
    missingRoles(pool),
    readHalts(pool),
  ])
  const roles = processes.flatMap(process => process.roles)
  const alive = [...new Set(roles)].map(role => `${roles.filter(other => other === role).length} ${role}`)
  return [
    missing.length > 0
      ? warning('processes', nobodyAlive(missing, program))
      : ok('processes', `alive: ${alive.join(', ')}`),
    ...halts.map(({ scope, message, remedy }) =>
      scope === '*'
        ? failed('halt', `everything is halted: ${message}`, remedy)
        : warning('halt', `enterprise ${scope} is halted: ${message}`, remedy),
    ),
  ]
}
