import { CRON_JOBS } from '../../jobs/index.ts'
import { scheduledJobs } from '../../jobs/scheduler.ts'
import { ChannelError, type ChannelSettings, getsAlerts, targetOf } from '../alerts/channel.ts'
import { CHANNEL_PREFIX } from '../alerts/channel-settings.ts'
import { checkMailServer } from '../alerts/channels/mail.ts'
import { FAILING_CHANNELS } from '../alerts/facts.ts'
import { type Config, ConfigError } from '../config.ts'
import { assertNoPooler, isReadOnly, onlyRow, type Pool, PoolerError } from '../lib/database.ts'
import { codeOf, databaseTrouble, readOnlyTrouble, sentenceOf } from '../lib/failure.ts'
import { isThisMachine } from '../lib/http-server.ts'
import { MigrationError, migrationFindings } from '../lib/migrate.ts'
import { ownZone, shortTime, zoneName } from '../lib/time-text.ts'
import { NOTIFICATION_PATH } from '../platform/notification.ts'
import { openQueueStore } from '../queue/backend.ts'
import {
  type Account,
  AccountError,
  accountSaid,
  type Deployment,
  isSameAccount,
} from '../sync/health/deployment.ts'
import { readHalts } from '../sync/outbox/halts.ts'
import {
  aliveProcesses,
  countRoles,
  missingAmong,
  missingRolesSaid,
  processDifferences,
} from '../sync/processes/process.ts'
import { haltOf } from '../texts/failures.ts'
import { message, type Said, saidBy } from '../texts/message.ts'
import { type CheckResult, failed, ok, warning } from './finding.ts'

/** The schedules of the cron jobs. */
export function examineSchedules(config: Config): CheckResult[] {
  try {
    const jobs = scheduledJobs(config.schedules, config.MIRRORS)
    const off = CRON_JOBS.filter(({ name }) => !jobs.some(({ job }) => job.name === name))
    const what = { count: jobs.length, name: ownZone() }
    return [
      ok(
        'schedules',
        off.length === 0
          ? message('doctor.cron_jobs', what)
          : message('doctor.cron_jobs_off', { ...what, jobs: off.map(({ name }) => name) }),
      ),
    ]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [failed('schedules', error.problems)]
  }
}

/** dirsync's own database; `isReady` if it answers, keeps its locks and has the complete schema. */
export async function examineDatabase(
  pool: Pool,
  { DATABASE_URL: url, embedded }: Config,
  program: string,
): Promise<{ findings: CheckResult[]; isReady: boolean }> {
  let version: string
  let takesNoWrites: boolean
  try {
    const { rows } = await pool.query<{ version: string }>(
      `select current_setting('server_version') as version`,
    )
    version = onlyRow(rows).version
    takesNoWrites = await isReadOnly(pool)
    await assertNoPooler(url)
  } catch (error) {
    const { what, remedy } = databaseTrouble(error)
    const finding =
      error instanceof PoolerError ? failed('database', error.said) : failed('database', what, remedy)
    return { findings: [finding], isReady: false }
  }
  const name = `PostgreSQL ${version}`
  if (takesNoWrites) {
    const { what, remedy } = readOnlyTrouble(name)
    return { findings: [failed('database', what, remedy)], isReady: false }
  }
  const answers = ok('database', message('doctor.answers', { name }))
  let found: Awaited<ReturnType<typeof migrationFindings>>
  try {
    found = await migrationFindings(pool)
  } catch (error) {
    const { what, remedy } = databaseTrouble(error)
    const finding =
      error instanceof MigrationError ? failed('schema', error.said) : failed('schema', what, remedy)
    return { findings: [answers, finding], isReady: false }
  }
  const { missing, hasReviewer } = found
  if (missing.length > 0) {
    const what = message('doctor.database_lacks', { names: missing })
    const remedy = message('doctor.migrate', { command: `${program} migrate` })
    return { findings: [answers, failed('schema', what, remedy)], isReady: false }
  }
  const reviewer = hasReviewer
    ? ok('reviewer', message('doctor.reviewer'))
    : warning(
        'reviewer',
        message('doctor.no_reviewer'),
        message('doctor.print_grants', { command: `${program} migrate` }),
      )
  const { rows } = await pool.query<{ rolsuper: boolean }>(
    'select rolsuper from pg_roles where rolname = session_user',
  )
  // An embedded cluster belongs to the trial alone.
  const owner =
    onlyRow(rows).rolsuper && !embedded
      ? [warning('owner', message('doctor.superuser'), message('doctor.no_superuser'))]
      : []
  return {
    findings: [answers, ok('schema', message('doctor.up_to_date')), reviewer, ...owner],
    isReady: true,
  }
}

/** Which account of the platform the database belongs to. */
export function examineAccount(deployment: Deployment | null, settings: Account): CheckResult {
  if (deployment === null)
    return ok('account', message('doctor.no_account', { account: accountSaid(settings) }))
  if (!isSameAccount(deployment, settings))
    return failed('account', saidBy(new AccountError(deployment, settings)))
  const { id, name, since } = deployment
  const called = name === null ? id : `${name} (${id})`
  return ok(
    'account',
    message('doctor.account', {
      account: accountSaid(deployment),
      time: `${shortTime(since)} ${zoneName(since)}`,
      name: called,
    }),
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
  const [processes, halts, differences] = await Promise.all([
    aliveProcesses(pool),
    readHalts(pool),
    processDifferences(pool),
  ])
  const missing = missingAmong(processes)
  const alive = Object.entries(countRoles(processes)).map(([role, count]) =>
    message('doctor.running_as', { count, role }),
  )
  return [
    missing.length > 0
      ? warning('processes', missingRolesSaid(missing, program))
      : ok('processes', message('doctor.running', { processes: alive })),
    ...differences.map(({ what, remedy }) => warning('processes', what, remedy)),
    ...halts.map(({ scope, category, message: reason, remedy }) => {
      if (category === 'paused') return warning('halt', reason, remedy)
      const what = message('said.halt', { what: haltOf(scope), reason })
      return scope === '*' ? failed('halt', what, remedy) : warning('halt', what, remedy)
    }),
  ]
}

/** The address that refunds name for their notifications, and whether any has come. */
export async function examineNotifications(
  { NOTIFICATION_URL, PLATFORM_BASE_URL }: Config,
  pool: Pool,
): Promise<CheckResult[]> {
  if (NOTIFICATION_URL === null) return []
  const { origin, pathname, hostname } = new URL(NOTIFICATION_URL)
  // Without its parameters: they may be a secret.
  const address = `${origin}${pathname}`
  const { rows } = await pool.query<{ latest: Date | null; is_overdue: boolean }>(
    // One that came says nothing of refunds that were sent after it.
    `select latest,
            exists (select from dirsync.refund
                    where state = 'accepted' and sent_at < now() - interval '1 day'
                      and sent_at > coalesce(latest, '-infinity')) as is_overdue
     from (select max(notified_at) as latest from dirsync.refund) notified`,
  )
  const { latest, is_overdue } = onlyRow(rows)
  const came =
    latest === null
      ? message('doctor.never_notified', { address })
      : message('doctor.notified', { address, time: `${shortTime(latest)} ${zoneName(latest)}` })
  const found = (isWell: boolean, remedy: Said) => (isWell ? [] : [warning('notifications', came, remedy)])
  const flaws = [
    ...found(
      !isThisMachine(hostname) || isThisMachine(new URL(PLATFORM_BASE_URL).hostname),
      message('doctor.notified_here'),
    ),
    ...found(
      pathname.endsWith(NOTIFICATION_PATH),
      message('doctor.notified_elsewhere', { path: NOTIFICATION_PATH }),
    ),
    ...found(!is_overdue, message('doctor.check_notifications')),
  ]
  return flaws.length > 0 ? flaws : [ok('notifications', came)]
}

/** How long to wait for the identity provider, in seconds. */
const PATIENCE_S = 5

type ConsoleSettings = Pick<
  Config,
  'CONSOLE_HOST' | 'CONSOLE_URL' | 'OIDC_ISSUER' | 'OIDC_CLIENT_ID' | 'embedded'
>

/** Who can sign in to the console, and whether passwords are encrypted on the way. */
export async function examineConsole(
  config: ConsoleSettings,
  pool: Pool,
  program: string,
): Promise<CheckResult[]> {
  return [
    await examineUsers(config, pool, program),
    ...(await examineProvider(config)),
    ...examineAddress(config),
  ]
}

async function examineUsers(
  { OIDC_ISSUER, embedded }: ConsoleSettings,
  pool: Pool,
  program: string,
): Promise<CheckResult> {
  const { rowCount } = await pool.query(
    `select from dirsync.console_user where source = 'password' and disabled_at is null limit 1`,
  )
  if (rowCount !== 0) return ok('console', message('doctor.by_password'))
  if (OIDC_ISSUER !== null) return ok('console', message('doctor.by_provider'))
  if (embedded) return ok('console', message('doctor.by_key', { command: program }))
  return warning(
    'console',
    message('doctor.nobody_signs_in'),
    message('doctor.add_user', { command: program }),
  )
}

/** Whether the identity provider answers with its discovery document, and is the expected issuer. */
async function examineProvider({ OIDC_ISSUER, OIDC_CLIENT_ID }: ConsoleSettings): Promise<CheckResult[]> {
  if (OIDC_ISSUER === null || OIDC_CLIENT_ID === null) return []
  try {
    // Loaded where it is needed: most deployments have no provider, and every command loads this file.
    const { allowInsecureRequests, discovery } = await import('openid-client')
    await discovery(new URL(OIDC_ISSUER), OIDC_CLIENT_ID, undefined, undefined, {
      timeout: PATIENCE_S,
      execute: OIDC_ISSUER.startsWith('http:') ? [allowInsecureRequests] : [],
    })
    return [ok('sign-in', message('doctor.answers', { name: OIDC_ISSUER }))]
  } catch (error) {
    const reason = codeOf(error) || sentenceOf(error)
    return [
      failed(
        'sign-in',
        message('doctor.provider_silent', { address: OIDC_ISSUER, reason }),
        message('doctor.check_provider'),
      ),
    ]
  }
}

/** Findings about a console that other machines can reach without TLS. */
function examineAddress({ CONSOLE_HOST, CONSOLE_URL }: ConsoleSettings): CheckResult[] {
  const isPublic = !isThisMachine(CONSOLE_HOST)
  if (!isPublic || CONSOLE_URL === null || CONSOLE_URL.startsWith('https:')) return []
  if (isThisMachine(new URL(CONSOLE_URL).hostname)) return []
  return [
    warning('console', message('doctor.without_tls', { address: CONSOLE_URL }), message('doctor.with_tls')),
  ]
}

/**
 * Whether alerts reach people. Nothing is sent; robots and webhooks can only be tried with a message, so it counts what they
 * answered to those that the service sent.
 * @param pool null if the database is not ready
 */
export async function examineChannels(
  { channels, CONSOLE_URL, embedded }: Pick<Config, 'channels' | 'CONSOLE_URL' | 'embedded'>,
  pool: Pool | null,
  program: string,
): Promise<CheckResult[]> {
  const failing = pool === null ? [] : await failingChannels(pool)
  const findings = await Promise.all(
    channels.map(settings => {
      // What another address answered says nothing of one that was set since.
      const found = failing.find(
        ({ channel, target }) => channel === settings.name && target === targetOf(settings),
      )
      return examineChannel(settings, found?.answer, program)
    }),
  )
  if (!channels.some(getsAlerts))
    findings.unshift(
      embedded
        ? ok('alerts', message('doctor.channel_shown'))
        : warning(
            'alerts',
            message('doctor.no_channel'),
            message('doctor.set_channel', { setting: `${CHANNEL_PREFIX}OPS` }),
          ),
    )
  if (channels.length > 0 && CONSOLE_URL === null)
    findings.push(warning('alerts', message('doctor.no_console_url'), message('doctor.set_console_url')))
  return findings
}

/** The channels that do not take messages, with their latest answers. */
async function failingChannels(
  pool: Pool,
): Promise<{ channel: string; target: string; answer: string | null }[]> {
  const { rows } = await pool.query(
    `select f.channel, c.target, f.answer from (${FAILING_CHANNELS}) f join dirsync.alert_channel c on c.name = f.channel`,
  )
  return rows
}

/** @param refusal what a channel that does not take messages answered last; undefined if it takes them */
async function examineChannel(
  settings: ChannelSettings,
  refusal: string | null | undefined,
  program: string,
): Promise<CheckResult> {
  const { name, kind, least, events = [], url } = settings
  const setting = CHANNEL_PREFIX + name.toUpperCase()
  try {
    if (kind === 'mail') await checkMailServer(settings)
    if (refusal !== undefined)
      return warning(
        'alerts',
        message('doctor.channel_refuses', { channel: name, answer: refusal ?? '?' }),
        message('doctor.test_channel', { setting, command: program, channel: name }),
      )
    const { protocol, hostname } = new URL(url)
    if (protocol === 'http:' && !isThisMachine(hostname))
      return warning(
        'alerts',
        message('doctor.channel_without_tls', { channel: name, address: targetOf(settings) }),
        message('doctor.channel_with_tls', { setting }),
      )
    const channel = { channel: name, means: kind, address: targetOf(settings) }
    return ok(
      'alerts',
      getsAlerts(settings)
        ? message('doctor.channel', { ...channel, least })
        : message('doctor.channel_of_events', { ...channel, names: events.join(', ') }),
    )
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error
    return warning(
      'alerts',
      message('doctor.channel_fails', { channel: name, reason: error.said }),
      message('doctor.correct_channel', { setting }),
    )
  }
}
