import { CRON_JOBS } from '../../jobs/index.ts'
import { scheduledJobs } from '../../jobs/scheduler.ts'
import { type Config, ConfigError } from '../config.ts'
import { assertNoPooler, onlyRow, type Pool, PoolerError } from '../lib/database.ts'
import { sentenceOf } from '../lib/failure.ts'
import { migrationFindings } from '../lib/migrate.ts'
import { ownZone, shortTime, zoneName } from '../lib/time-text.ts'
import { openQueueStore } from '../queue/backend.ts'
import {
  type Account,
  AccountError,
  accountText,
  type Deployment,
  isSameAccount,
} from '../sync/deployment.ts'
import { readHalts } from '../sync/halts.ts'
import {
  aliveProcesses,
  countRoles,
  differingAddresses,
  missingAmong,
  NEEDED_ROLES,
} from '../sync/process.ts'
import { withActor } from '../texts/actor.ts'
import { type CheckResult, failed, inEnglish, ok, warning } from './finding.ts'

/** The schedules of the cron jobs. */
export function examineSchedules(config: Config): CheckResult[] {
  try {
    const jobs = scheduledJobs(CRON_JOBS, config.schedules)
    const off = CRON_JOBS.filter(({ name }) => !jobs.some(({ job }) => job.name === name))
    const others = off.length > 0 ? `; off: ${off.map(({ name }) => name).join(', ')}` : ''
    return [ok('schedules', `${jobs.length} cron jobs, scheduled in the time zone ${ownZone()}${others}`)]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [failed('schedules', error.message)]
  }
}

/** dirsync's own database; `isReady` if it answers, keeps its locks and has the complete schema. */
export async function examineDatabase(
  pool: Pool,
  { DATABASE_URL: url, embedded }: Config,
  program: string,
): Promise<{ findings: CheckResult[]; isReady: boolean }> {
  let version: string
  try {
    const { rows } = await pool.query<{ server_version: string }>('show server_version')
    version = onlyRow(rows).server_version
    await assertNoPooler(url)
  } catch (error) {
    const what = `dirsync's own database does not answer: ${sentenceOf(error)}`
    const finding =
      error instanceof PoolerError
        ? failed('database', error.message)
        : failed('database', what, 'Start the server, or correct DATABASE_URL.')
    return { findings: [finding], isReady: false }
  }
  const answers = ok('database', `PostgreSQL ${version} answers`)
  const { missing, hasReviewer } = await migrationFindings(pool)
  if (missing.length > 0) {
    const what = `the database lacks ${missing.join(', ')}`
    const remedy = `${program} migrate brings it up to date, and so does every start.`
    return { findings: [answers, failed('schema', what, remedy)], isReady: false }
  }
  const reviewer = hasReviewer
    ? ok('reviewer', 'the role dirsync_reviewer may read failed_syncs')
    : warning(
        'reviewer',
        'the role dirsync_reviewer is missing or may not read failed_syncs',
        `${program} migrate prints what an administrator has to run.`,
      )
  const { rows } = await pool.query<{ rolsuper: boolean }>(
    'select rolsuper from pg_roles where rolname = session_user',
  )
  // An embedded cluster belongs to the trial alone.
  const owner =
    onlyRow(rows).rolsuper && !embedded
      ? [
          warning(
            'owner',
            'the role of DATABASE_URL is a superuser: what it runs can switch the audit off',
            'Let a role own the database that is no superuser: docs/compose.md has the statements.',
          ),
        ]
      : []
  return { findings: [answers, ok('schema', 'up to date'), reviewer, ...owner], isReady: true }
}

/** Which account of the platform the database belongs to. */
export function examineAccount(deployment: Deployment | null, settings: Account): CheckResult {
  if (deployment === null)
    return ok(
      'account',
      `the database belongs to no account yet; the first start binds it to ${accountText(settings)}`,
    )
  if (!isSameAccount(deployment, settings))
    return failed('account', new AccountError(deployment, settings).message)
  const { id, name, since } = deployment
  const called = name === null ? id : `${name} (${id})`
  return ok(
    'account',
    `${accountText(deployment)}, since ${shortTime(since)} ${zoneName(since)}; deployment ${called}`,
  )
}

/** The queue, as its store reports it. */
export async function examineQueue({ REDIS_URL, DATABASE_URL }: Config): Promise<CheckResult[]> {
  const found = await openQueueStore({ redisUrl: REDIS_URL, databaseUrl: DATABASE_URL }).doctor()
  return found.map(({ ok: isWell, what, remedy }) =>
    isWell ? ok('queue', what) : failed('queue', what, remedy),
  )
}

/** Which processes are running, and what halts them. */
export async function examineService(pool: Pool, program: string): Promise<CheckResult[]> {
  const [processes, halts, addresses] = await Promise.all([
    aliveProcesses(pool),
    readHalts(pool),
    differingAddresses(pool),
  ])
  const missing = missingAmong(processes)
  const alive = Object.entries(countRoles(processes)).map(([role, count]) => `${count} ${role}`)
  return [
    missing.length > 0
      ? warning('processes', missingRolesText(missing, program))
      : ok('processes', `running: ${alive.join(', ')}`),
    ...addresses.map(({ source, address, processes }) =>
      warning(
        'processes',
        `${source === '' ? 'HR' : `HR source ${source}`} is read at ${address} by ${processes}, and elsewhere by others`,
        'Where these are different databases, give all processes the same one and restart them: each would send what its own says.',
      ),
    ),
    ...halts.map(({ scope, message, remedy, raisedBy }) => {
      const why = withActor({ t: inEnglish }, message, raisedBy)
      return scope === '*'
        ? failed('halt', `everything is halted: ${why}`, remedy)
        : warning('halt', `enterprise ${scope} is halted: ${why}`, remedy)
    }),
  ]
}

function missingRolesText(missing: readonly string[], program: string): string {
  const command = `${program} start`
  return missing.length === NEEDED_ROLES.length
    ? inEnglish('shell.nobody', { command })
    : inEnglish('shell.nobody_is', { role: missing.join(), command: `${command} --roles ${missing.join()}` })
}
