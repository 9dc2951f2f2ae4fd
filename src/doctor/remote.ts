import { type Config, ConfigError } from '../config.ts'
import { connectPlatform, connectSource, hrServerOf } from '../connections.ts'
import { isHeard } from '../hr/postgres/change-listener.ts'
import { connectClient } from '../hr/postgres/connection.ts'
import { triggeredTables } from '../hr/postgres/trigger.ts'
import { type HrSource, HrUnavailableError, MappingError } from '../hr/source.ts'
import type { SourceSettings } from '../hr/source-list.ts'
import { listenerOf } from '../hr/sources.ts'
import { type ChangedRow, judgeTimes, printedMoment, UpdatedTimesCollector } from '../hr/updated-times.ts'
import type { Pool } from '../lib/database.ts'
import { sentenceOf } from '../lib/failure.ts'
import type { Logger } from '../lib/logger.ts'
import { duration } from '../lib/time-text.ts'
import type { PacerSnapshot } from '../pacing/pacer.ts'
import { PlatformError } from '../platform/errors.ts'
import { SIGN_ALGORITHMS, type SignAlgorithm } from '../platform/request.ts'
import type { Deployment } from '../sync/deployment.ts'
import { type CheckResult, failed, inEnglish, ok, warning } from './finding.ts'

/**
 * The HR systems and their mappings, checked concurrently. If they have names, each finding carries the name of its
 * source.
 * @param deployment null if nothing was started yet
 */
export async function examineHr(
  config: Config,
  deployment: Deployment | null,
  logger: Logger,
): Promise<CheckResult[]> {
  const findings = await Promise.all(
    config.sources.map(async settings => {
      const found = await examineSource(config, settings, deployment, logger)
      const { name } = settings
      return name === '' ? found : found.map(one => ({ ...one, check: `${one.check} ${name}` }))
    }),
  )
  return findings.flat()
}

async function examineSource(
  config: Config,
  settings: SourceSettings,
  deployment: Deployment | null,
  logger: Logger,
): Promise<CheckResult[]> {
  const access = await examineAccess(config, settings, logger)
  const isAway = access.some(({ status }) => status === 'failed')
  let hr: HrSource
  try {
    hr = await connectSource(config, settings, logger)
  } catch (error) {
    if (!(error instanceof ConfigError) && !(error instanceof MappingError)) throw error
    return [...access, failed('mapping', error.message, 'Correct the file, or the setting that names it.')]
  }
  try {
    if (isAway) return access
    return [
      ...access,
      ...(await examineMapping(config, settings, hr)),
      ...(await examineTrigger(config, settings, hr, deployment)),
    ]
  } finally {
    await hr.close()
  }
}

/** Whether HR answers, and what its user may do there. */
async function examineAccess(
  config: Config,
  settings: SourceSettings,
  logger: Logger,
): Promise<CheckResult[]> {
  const server = hrServerOf(config, settings, logger)
  try {
    const { product, readOnly, writableTables, session, unheeded = [], hidden = [] } = await server.facts()
    const findings = [ok('hr', `${product} answers; sessions are read-only (${readOnly})`)]
    if (session !== undefined) findings.push(ok('hr', session))
    if (unheeded.length > 0)
      findings.push(
        warning(
          'hr',
          `the HR server's sql_mode has ${unheeded.join(', ')}, which mappings are read without`,
          'In mappings, write names in backticks, texts in single quotes, and concat() instead of ||.',
        ),
      )
    if (hidden.length > 0)
      findings.push(
        warning(
          'hr',
          `row-level security decides which rows of ${hidden.join(', ')} the HR user sees, and may hide all of them`,
          'Give the HR user a policy that shows all employees, or BYPASSRLS.',
        ),
      )
    if (!config.embedded && writableTables > 0)
      findings.push(
        warning(
          'hr',
          `the HR user may write to ${writableTables} tables, though dirsync never does`,
          'Give HR_DATABASE_URL a user that may only SELECT.',
        ),
      )
    return findings
  } catch (error) {
    if (!(error instanceof HrUnavailableError)) throw error
    return [failed('hr', error.message)]
  } finally {
    await server.close()
  }
}

/** For HR in files: the latest delivery, and why the folder's present content is not used. */
async function examineDelivery(hr: HrSource): Promise<CheckResult[]> {
  const delivery = await hr.delivery()
  // Without any delivery, the check of the mapping says why.
  if (!delivery?.files) return []
  const { files, problem, ignored } = delivery
  const findings = [ok('hr', `the last whole delivery: ${files}`)]
  if (problem !== null)
    findings.push(
      warning(
        'hr',
        `what is in the folder now is no whole delivery: ${problem}`,
        'Runs stop until it is one; look-ups read the last whole delivery.',
      ),
    )
  if (ignored.length > 0) findings.push(ok('hr', `not data, and not read: ${ignored.join(', ')}`))
  return findings
}

async function examineMapping(
  { HR_POLL_SECONDS }: Config,
  { codes }: SourceSettings,
  hr: HrSource,
): Promise<CheckResult[]> {
  try {
    const delivered = await examineDelivery(hr)
    const { employees, departments } = await hr.inspect()
    const polls = HR_POLL_SECONDS > 0
    const readWhole = await hr.lookupReadsWhole()
    return [
      ...delivered,
      ok('mapping', `${employees.file}: ${employees.columns.join(', ')}`),
      departments
        ? ok('mapping', `${departments.file}: ${departments.columns.join(', ')}`)
        : ok(
            'mapping',
            `${codes ? 'departments_sql' : 'HR_DEPARTMENTS_SQL'} is not set: no department is ever deleted`,
          ),
      ...(polls && hr.kind !== 'files' && !employees.columns.includes('updated_at')
        ? [
            warning(
              'mapping',
              'HR_POLL_SECONDS is set, but updated_at is not mapped: nobody looks for newer rows',
              'Map updated_at, or unset HR_POLL_SECONDS.',
            ),
          ]
        : []),
      ...examineTimes(await hr.changedSince(new Date(Date.now() - DAY_MS)), new Date()),
      ...readWhole.map(({ table, rows, index }) =>
        warning(
          'mapping',
          `every look-up of an employee reads all of ${table}, about ${rows} rows`,
          index === null
            ? 'Write the mapping so that an index finds one user id: map its column as it is, and join by indexed columns.'
            : `Have an index made in HR: ${index}.`,
        ),
      ),
    ]
  } catch (error) {
    if (error instanceof HrUnavailableError) return [failed('hr', error.message)]
    if (!(error instanceof MappingError)) throw error
    return [failed('mapping', error.message, 'Correct the mapping file.')]
  }
}

const DAY_MS = 86_400_000

/** What `updated_at` says about the last day; null if it is not mapped. */
function examineTimes(rows: readonly ChangedRow[] | null, now: Date): CheckResult[] {
  if (rows === null) return []
  const times = new UpdatedTimesCollector(now)
  for (const { updatedAt } of rows) times.add(printedMoment(updatedAt))
  const findings = judgeTimes(times.result, now).map(({ key, remedy, ...figure }) => {
    const shown = 'ageMs' in figure ? { time: duration(figure.ageMs) } : figure
    const what = inEnglish(key, shown)
    return remedy === null ? ok('mapping', what) : warning('mapping', what, inEnglish(remedy))
  })
  return times.result.newest === null ? [ok('mapping', inEnglish('doctor.none_new')), ...findings] : findings
}

/** The optional trigger: whether it is there, and whether a process listens. */
async function examineTrigger(
  config: Config,
  settings: SourceSettings,
  { kind }: HrSource,
  deployment: Deployment | null,
): Promise<CheckResult[]> {
  if (kind === 'files')
    return [
      config.HR_POLL_SECONDS > 0
        ? ok('trigger', `HR is in files: a new delivery is looked for every ${config.HR_POLL_SECONDS} s`)
        : ok('trigger', 'HR is in files: cron jobs find a new delivery, and at once with HR_POLL_SECONDS'),
    ]
  if (kind !== 'postgres')
    return [
      config.HR_POLL_SECONDS > 0
        ? ok(
            'trigger',
            `HR is not in PostgreSQL, which alone can have one: newer rows are looked for every ${config.HR_POLL_SECONDS} s`,
          )
        : ok(
            'trigger',
            'HR is not in PostgreSQL, which alone can have one: cron jobs find what HR changes, and at once with HR_POLL_SECONDS',
          ),
    ]
  const client = await connectClient(settings.address)
  try {
    const names = (await triggeredTables(client)).map(({ schema, name }) => `${schema}.${name}`).join(', ')
    if (names === '') return [ok('trigger', 'not installed: cron jobs find what HR changes')]
    if (deployment && (await isHeard(client, listenerOf(deployment.id, settings))))
      return [ok('trigger', `${names}: a scheduler listens`)]
    return [
      warning(
        'trigger',
        `${names}: installed, and nobody listens`,
        'Start a scheduler. Where one runs, HR_DATABASE_URL must not lead through a pooler or to a replica.',
      ),
    ]
  } catch (error) {
    return [warning('trigger', `not checked: ${(error as Error).message}`)]
  } finally {
    await client.end()
  }
}

/** How long to wait for the platform. */
const PATIENCE_MS = 15_000
/** The platform tolerates 5 minutes. A clock that is this far off is not synchronised. */
const CLOCK_MS = 30_000

/** The platform, the clock and the credentials, checked by querying the token that all processes share. */
export async function examinePlatform(config: Config, pool: Pool, logger: Logger): Promise<CheckResult[]> {
  await using client = connectPlatform(config, pool, logger)
  const address = config.PLATFORM_BASE_URL
  try {
    const { expires_in } = await client.tokens.info({
      signal: AbortSignal.timeout(PATIENCE_MS),
      priority: 0,
    })
    return [
      ok('platform', `${address} answers`),
      clock(client.clockOffset.measuredMs),
      ok('credentials', `the access token is valid for another ${duration(expires_in * 1000)}`),
      rate(client.pacing()),
    ]
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const { category, meaning, remedy } = error.verdict
    if (category === 'paused')
      return [
        warning('platform', `${address} was not asked: all calls are paused, see dirsync status`),
        warning('credentials', 'not checked, because all calls are paused'),
      ]
    if (category === 'platform_unavailable' || category === 'rate_limited' || category === 'aborted') {
      const cause = error.cause instanceof Error ? `: ${sentenceOf(error.cause)}` : ''
      return [
        failed(
          'platform',
          category === 'aborted'
            ? `no call got through to ${address} within ${duration(PATIENCE_MS)}`
            : `${address} gives no usable answer${cause}`,
          category === 'rate_limited' ? remedy : 'Check PLATFORM_BASE_URL and the network.',
        ),
        warning('credentials', 'not checked, because the platform does not answer'),
      ]
    }
    const answers = ok('platform', `${address} answers`)
    if (category === 'clock_skew') return [answers, failed('clock', meaning, remedy)]
    const measured = clock(client.clockOffset.measuredMs)
    if (category !== 'credentials') return [answers, measured, failed('credentials', meaning, remedy)]
    return [answers, measured, await refusedApplication(config, pool, logger)]
  }
}

/**
 * Why the platform refuses an application (1000210003), as far as the other signature algorithms can tell. Each try
 * may create a token, and only 60 an hour are allowed, so there are at most two tries.
 */
async function refusedApplication(config: Config, pool: Pool, logger: Logger): Promise<CheckResult> {
  const given = config.PLATFORM_SIGN_ALGORITHM
  const tried: SignAlgorithm[] = [given]
  for (const algorithm of SIGN_ALGORITHMS.filter(other => other !== given)) {
    const verdict = await tryAlgorithm({ ...config, PLATFORM_SIGN_ALGORITHM: algorithm }, pool, logger)
    if (verdict === 'accepted')
      return failed(
        'credentials',
        `The platform does not accept signatures of ${given}; it accepts ${algorithm}.`,
        `Set PLATFORM_SIGN_ALGORITHM to ${algorithm}.`,
      )
    if (verdict === 'refused') tried.push(algorithm)
  }
  const vain = `${tried.slice(0, -1).join(', ')}${tried.length > 1 ? ' or ' : ''}${tried.at(-1)}`
  return failed(
    'credentials',
    `The platform does not accept the application id, its secret or the signature with ${vain}.`,
    `In this order: ${tried.length === SIGN_ALGORITHMS.length ? 'leave' : 'correct'} PLATFORM_SIGN_ALGORITHM, correct PLATFORM_APP_ID, then PLATFORM_APP_SECRET (of this very application, nothing around it), then this machine's clock.`,
  )
}

/** Whether the platform accepts the signature by these settings; unknown if it does not get that far. */
async function tryAlgorithm(
  config: Config,
  pool: Pool,
  logger: Logger,
): Promise<'accepted' | 'refused' | 'unknown'> {
  await using client = connectPlatform(config, pool, logger)
  try {
    await client.tokens.info({ signal: AbortSignal.timeout(PATIENCE_MS), priority: 0 })
    return 'accepted'
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return error.verdict.category === 'credentials' ? 'refused' : 'unknown'
  }
}

function rate({ ratePerSecond, set, learnt, ceiling }: PacerSnapshot): CheckResult {
  const calls = `${Number(ratePerSecond.toPrecision(3))} calls per second`
  if (!learnt) return ok('rate', `${calls}, all processes together`)
  if (set !== null)
    return warning(
      'rate',
      `${calls}, although PLATFORM_RATE_LIMIT is ${set}: ${ceiling?.toPrecision(3)} were refused`,
      'Nothing to do; set what the vendor permits, or auto, to begin there.',
    )
  return ok(
    'rate',
    `${calls}: learnt, ${ceiling === null ? 'none refused yet' : `${ceiling.toPrecision(3)} were refused`}`,
  )
}

function clock(offsetMs: number | null): CheckResult {
  if (offsetMs === null) return ok('clock', 'the platform does not tell its time')
  const off = Math.abs(offsetMs)
  const what = `this machine's clock is ${duration(off)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the platform's`
  if (off < CLOCK_MS)
    return ok('clock', off < 1000 ? "this machine's clock agrees with the platform's" : what)
  return failed('clock', what, "Set this machine's clock (NTP).")
}
