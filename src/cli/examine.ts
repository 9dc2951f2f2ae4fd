import { CRON_JOBS } from '../../jobs/index.ts'
import { scheduledJobs, settingName } from '../../jobs/scheduler.ts'
import { type Config, ConfigError, environment, SETTINGS } from '../config.ts'
import { assertNoPooler, onlyRow, type Pool, PoolerError } from '../lib/database.ts'
import { migrationFindings } from '../lib/migrate.ts'
import { openQueueStore } from '../queue/backend.ts'
import {
  type Account,
  AccountError,
  accountText,
  type Deployment,
  isSameAccount,
} from '../sync/deployment.ts'
import { readHalts } from '../sync/halts.ts'
import { aliveProcesses } from '../sync/process.ts'
import { missingAmong, nobodyAlive } from './context.ts'
import { sentenceOf } from './failure.ts'
import { shortTime } from './output.ts'
import { type CheckedSettings, checkSettings } from './settings.ts'

/** One line of `dirsync doctor`. */
export interface Finding {
  check: string
  /** `warning`: it works, but somebody should know. */
  status: 'ok' | 'warning' | 'failed'
  what: string
  remedy?: string
}

export function ok(check: string, what: string): Finding {
  return { check, status: 'ok', what }
}

export function warning(check: string, what: string, remedy?: string): Finding {
  return { check, status: 'warning', what, ...(remedy && { remedy }) }
}

export function failed(check: string, what: string, remedy?: string): Finding {
  return { check, status: 'failed', what, ...(remedy && { remedy }) }
}

/** The settings, and variables that only look like some; `checked` is null where nothing further can be checked. */
export function examineSettings(): { findings: Finding[]; checked: CheckedSettings | null } {
  const misspelt = misspeltSettings()
  try {
    const checked = checkSettings()
    const what = checked.embedded
      ? 'no address is set, so everything runs embedded, with its data in .dirsync/'
      : 'complete'
    return { findings: [ok('settings', what), ...misspelt], checked }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const findings = error.message
      .split('\n')
      .map(line => failed('settings', line, 'Correct it, then run this again: the rest was not checked.'))
    return { findings: [...findings, ...misspelt], checked: null }
  }
}

/** Names that begin like this are meant for dirsync, as far as anyone can tell. */
const OURS = /^(?:PLATFORM|HR|GATE|BREAKER|SCHEDULE|SELLER|SWEEP)_/

/** Variables that look like settings and are none, with the setting that may be meant. */
function misspeltSettings(): Finding[] {
  const settings = [...Object.keys(SETTINGS), ...CRON_JOBS.map(job => settingName(job.name))]
  const known = new Set(settings.flatMap(name => [name, `${name}_FILE`]))
  return Object.keys(environment())
    .filter(name => !known.has(name))
    .map(name => ({ name, meant: closest(name.toUpperCase(), settings) }))
    .filter(({ name, meant }) => meant !== undefined || OURS.test(name))
    .sort((a, b) => a.name.localeCompare(b.name))
    .map(({ name, meant }) =>
      warning(
        'settings',
        `${name} is not a setting of dirsync`,
        meant ? `Did you mean ${meant}?` : 'Remove it, or correct its name.',
      ),
    )
}

/** The name that is at most two letters away. */
function closest(name: string, names: string[]): string | undefined {
  return names.find(other => areClose(name, other, 1)) ?? names.find(other => areClose(name, other, 2))
}

/** Whether one text becomes the other by inserting, removing or replacing at most so many letters. */
function areClose(a: string, b: string, left: number): boolean {
  let same = 0
  while (same < a.length && a[same] === b[same]) same += 1
  const [restA, restB] = [a.slice(same), b.slice(same)]
  if (restA === '' || restB === '') return restA.length + restB.length <= left
  if (left === 0) return false
  const [nextA, nextB] = [restA.slice(1), restB.slice(1)]
  return [
    [nextA, nextB],
    [nextA, restB],
    [restA, nextB],
  ].some(([x = '', y = '']) => areClose(x, y, left - 1))
}

/** The schedules of the cron jobs. */
export function examineSchedules(config: Config): Finding[] {
  try {
    const jobs = scheduledJobs(CRON_JOBS, config.schedules)
    const off = CRON_JOBS.filter(({ name }) => !jobs.some(({ job }) => job.name === name))
    const others = off.length > 0 ? `; off: ${off.map(({ name }) => name).join(', ')}` : ''
    return [ok('schedules', `${jobs.length} cron jobs${others}`)]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [failed('schedules', error.message)]
  }
}

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
  return { findings: [answers, ok('schema', 'up to date'), reviewer], isReady: true }
}

/** Which account of the platform the database belongs to. */
export function examineAccount(deployment: Deployment | null, settings: Account): Finding {
  if (deployment === null)
    return ok(
      'account',
      `the database belongs to no account yet; the first start binds it to ${accountText(settings)}`,
    )
  if (!isSameAccount(deployment, settings))
    return failed('account', new AccountError(deployment, settings).message)
  const { id, name, since } = deployment
  const called = name === null ? id : `${name} (${id})`
  return ok('account', `${accountText(deployment)}, since ${shortTime(since)}; deployment ${called}`)
}

/** The queue, as its store sees itself. */
export async function examineQueue({ REDIS_URL, DATABASE_URL }: Config): Promise<Finding[]> {
  const found = await openQueueStore({ redisUrl: REDIS_URL, databaseUrl: DATABASE_URL }).doctor()
  return found.map(({ ok: isWell, what, remedy }) =>
    isWell ? ok('queue', what) : failed('queue', what, remedy),
  )
}

/** Which processes are running, and what halts them. */
export async function examineService(pool: Pool, program: string): Promise<Finding[]> {
  const [processes, halts] = await Promise.all([aliveProcesses(pool), readHalts(pool)])
  const missing = missingAmong(processes)
  const roles = processes.flatMap(process => process.roles)
  const alive = [...new Set(roles)].map(role => `${roles.filter(other => other === role).length} ${role}`)
  return [
    missing.length > 0
      ? warning('processes', nobodyAlive(missing, program))
      : ok('processes', `running: ${alive.join(', ')}`),
    ...halts.map(({ scope, message, remedy }) =>
      scope === '*'
        ? failed('halt', `everything is halted: ${message}`, remedy)
        : warning('halt', `enterprise ${scope} is halted: ${message}`, remedy),
    ),
  ]
}
