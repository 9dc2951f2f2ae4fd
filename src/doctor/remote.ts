import { type Config, ConfigError } from '../config.ts'
import { connectPlatform, connectSource, hrServerOf, sourcesBeside } from '../connections.ts'
import { readMappingFile } from '../hr/mapping.ts'
import { isHeard } from '../hr/postgres/change-listener.ts'
import { connectClient } from '../hr/postgres/connection.ts'
import { tablesRead, tableWord, triggeredTables, triggersOf } from '../hr/postgres/trigger.ts'
import type { TableReadWhole } from '../hr/server.ts'
import { type HrSource, HrUnavailableError, MappingError, usable } from '../hr/source.ts'
import type { SourceSettings } from '../hr/source-list.ts'
import { hrSettingOf, listenerOf } from '../hr/sources.ts'
import {
  type ChangedRow,
  findingsOfTimes,
  printedMoment,
  UpdatedTimesCollector,
} from '../hr/updated-times.ts'
import type { Pool } from '../lib/database.ts'
import { codeOf, NO_RIGHT, saidOf } from '../lib/failure.ts'
import type { Logger } from '../lib/logger.ts'
import { duration } from '../lib/time-text.ts'
import type { PacerSnapshot } from '../pacing/pacer.ts'
import { PlatformError } from '../platform/errors.ts'
import { SIGN_ALGORITHMS, type SignAlgorithm } from '../platform/request.ts'
import type { Deployment } from '../sync/health/deployment.ts'
import { withoutDepartments } from '../sync/plan/departments.ts'
import { isUnasked, whyHeldOff } from '../sync/processes/why-not-told.ts'
import { type Message, message } from '../texts/message.ts'
import { type CheckResult, failed, ok, warning } from './finding.ts'

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
    return [...access, failed('mapping', saidOf(error), message('doctor.correct_file'))]
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
    const findings = [ok('hr', message('doctor.sessions_read_only', { name: product, state: readOnly }))]
    if (session !== undefined) findings.push(ok('hr', session))
    if (unheeded.length > 0)
      findings.push(
        warning('hr', message('doctor.sql_mode', { modes: unheeded }), message('doctor.portable_sql')),
      )
    if (hidden.length > 0)
      findings.push(
        warning('hr', message('doctor.hidden_rows', { names: hidden }), message('doctor.show_rows')),
      )
    if (!config.embedded && writableTables > 0)
      findings.push(
        warning(
          'hr',
          message('doctor.may_write', { count: writableTables }),
          message('doctor.select_only', { setting: hrSettingOf(settings.name !== '', 'address') }),
        ),
      )
    return findings
  } catch (error) {
    if (!(error instanceof HrUnavailableError)) throw error
    return [failed('hr', error.said)]
  } finally {
    await server.close()
  }
}

/** For HR in files: the latest delivery, and why the folder's present content is not used. */
async function examineDelivery(hr: HrSource): Promise<CheckResult[]> {
  const delivery = await hr.delivery()
  // Without any delivery, the check of the mapping says why.
  if (!delivery?.files) return []
  const { files, problem, ignored, hidden } = delivery
  const findings = [ok('hr', message('doctor.delivery', { words: files }))]
  if (problem !== null)
    findings.push(
      warning('hr', message('doctor.delivery_next', { problem }), message('doctor.delivery_wait')),
    )
  if (hidden !== null)
    findings.push(warning('hr', message('doctor.delivery_hidden', hidden), message('doctor.rename_ahead')))
  if (ignored.length > 0) findings.push(ok('hr', message('doctor.delivery_ignored', { words: ignored })))
  return findings
}

async function examineMapping(
  { HR_POLL_SECONDS }: Config,
  source: SourceSettings,
  hr: HrSource,
): Promise<CheckResult[]> {
  try {
    const delivered = await examineDelivery(hr)
    const { employees, ...inspected } = await hr.inspect()
    const departments = usable(inspected.departments)
    const polls = HR_POLL_SECONDS > 0
    const readWhole = await hr.lookupReadsWhole()
    return [
      ...delivered,
      ok('mapping', message('doctor.columns', { file: employees.file, names: employees.columns })),
      departments
        ? ok('mapping', message('doctor.columns', { file: departments.file, names: departments.columns }))
        : ok('mapping', withoutDepartments(source)),
      ...(polls && hr.kind !== 'files' && !employees.columns.includes('updated_at')
        ? [warning('mapping', message('doctor.poll_unmapped'), message('doctor.map_updated_at'))]
        : []),
      ...examineTimes(await hr.changedSince(new Date(Date.now() - DAY_MS)), new Date()),
      ...readWhole.map(table => warning('mapping', ...readsWholeSaid(table))),
    ]
  } catch (error) {
    if (error instanceof HrUnavailableError) return [failed('hr', error.said)]
    if (!(error instanceof MappingError)) throw error
    const isForbidden = codeOf(error.cause) === NO_RIGHT
    const remedy = message(isForbidden ? 'doctor.grant_select' : 'doctor.correct_mapping')
    return [failed('mapping', error.said, remedy)]
  }
}

/** What is wrong with a look-up that reads a whole table, and what to do about it. */
export function readsWholeSaid({ table, rows, index }: TableReadWhole): [Message, Message] {
  return [
    rows === null
      ? message('doctor.reads_whole_foreign', { table })
      : message('doctor.reads_whole', { table, rows: rows.toLocaleString('en') }),
    index === null ? message('doctor.map_plainly') : message('doctor.make_index', { statement: index }),
  ]
}

const DAY_MS = 86_400_000

/** What `updated_at` says about the last day; null if it is not mapped. */
function examineTimes(rows: readonly ChangedRow[] | null, now: Date): CheckResult[] {
  if (rows === null) return []
  const times = new UpdatedTimesCollector(now)
  for (const { updatedAt } of rows) times.add(printedMoment(updatedAt))
  const findings = findingsOfTimes(times.result, now).map(({ key, remedy, ...figure }) => {
    const values = 'ageMs' in figure ? { time: duration(figure.ageMs) } : { count: figure.count }
    return remedy === null
      ? ok('mapping', { key, values })
      : warning('mapping', { key, values }, message(remedy))
  })
  return times.result.newest === null ? [ok('mapping', message('doctor.none_new')), ...findings] : findings
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
        ? ok('trigger', message('doctor.files_polled', { seconds: config.HR_POLL_SECONDS }))
        : ok('trigger', message('doctor.files_cron')),
    ]
  if (kind !== 'postgres')
    return [
      config.HR_POLL_SECONDS > 0
        ? ok('trigger', message('doctor.trigger_polled', { seconds: config.HR_POLL_SECONDS }))
        : ok('trigger', message('doctor.trigger_impossible')),
    ]
  const isNamed = settings.name !== ''
  const client = await connectClient(settings.address)
  try {
    const none = [ok('trigger', message('doctor.no_trigger'))]
    if ((await triggeredTables(client)).length === 0) return none
    const file = settings.employeesSql
    const beside = sourcesBeside(settings, config)
    const { tables, without, strays, mustName } = await triggersOf(
      client,
      { file, sql: await readMappingFile(file) },
      await tablesRead(beside),
    )
    if (tables.length === 0) return none
    const names = tables.map(tableWord)
    const install = (on: string[]) => {
      // Without other sources, those that are not named lose it.
      const named = beside.length === 0 ? new Set([...names, ...on]) : on
      const source = isNamed ? ` --source ${settings.name}` : ''
      const table = mustName ? ` --table ${[...named].join(' ')}` : ''
      return message('doctor.install_trigger', { command: `dirsync hr install-trigger${source}${table}` })
    }
    const disabled = tables.filter(({ isDisabled }) => isDisabled).map(tableWord)
    if (disabled.length > 0)
      return [warning('trigger', message('doctor.trigger_disabled', { names: disabled }), install(disabled))]
    if (without.length > 0 && strays.length > 0)
      return [
        warning(
          'trigger',
          message('doctor.trigger_stray', { names: without, others: strays }),
          install(without),
        ),
      ]
    if (deployment && (await isHeard(client, listenerOf(deployment.id, settings))))
      return [ok('trigger', message('doctor.trigger_heard', { names }))]
    return [
      warning(
        'trigger',
        message('doctor.trigger_unheard', { names }),
        message('doctor.start_scheduler', { setting: hrSettingOf(isNamed, 'address') }),
      ),
    ]
  } catch (error) {
    return [warning('trigger', message('doctor.not_checked', { reason: saidOf(error) }))]
  } finally {
    await client.end()
  }
}

/** How long to wait for the platform. */
const PATIENCE_MS = 15_000
/** A clock that is this far off is not synchronised; calls are corrected for it. */
const CLOCK_MS = 30_000
/** The platform tolerates no more, and the receiver of its notifications neither. */
const WRONG_CLOCK_MS = 300_000

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
      ok('platform', message('doctor.answers', { name: address })),
      clock(client.clockOffset.measuredMs),
      ok('credentials', message('doctor.valid', { time: duration(expires_in * 1000) })),
      rate(client.pacing()),
    ]
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const {
      category,
      said: { meaning, remedy },
    } = error.verdict
    if (category === 'paused')
      return [
        warning('platform', message('doctor.not_asked', { address })),
        warning('credentials', message('doctor.because_paused')),
      ]
    const heldOff = isUnasked(error) ? await whyHeldOff(pool) : null
    if (heldOff)
      return [warning('platform', heldOff), warning('credentials', message('doctor.because_held_off'))]
    if (category === 'platform_unavailable' || category === 'rate_limited' || category === 'aborted') {
      return [
        failed(
          'platform',
          category === 'aborted'
            ? message('doctor.no_way_through', { address, time: duration(PATIENCE_MS) })
            : error.cause instanceof Error
              ? message('doctor.unusable_because', { address, reason: saidOf(error.cause) })
              : message('doctor.no_usable_answer', { address }),
          // One that is unavailable (503) may ask for a pause, too.
          category === 'rate_limited' && error.httpStatus !== 503 ? remedy : message('doctor.check_network'),
        ),
        warning('credentials', message('doctor.because_silent')),
      ]
    }
    const answers = ok('platform', message('doctor.answers', { name: address }))
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
        message('doctor.other_algorithm', { given, algorithm }),
        message('doctor.set_algorithm', { algorithm }),
      )
    if (verdict === 'refused') tried.push(algorithm)
  }
  return failed(
    'credentials',
    message('doctor.application', { tried }),
    message(
      tried.length === SIGN_ALGORITHMS.length ? 'doctor.check_application_alone' : 'doctor.check_application',
    ),
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

function rate({ ratePerSecond, set, learnt, ceiling, cap }: PacerSnapshot): CheckResult {
  const calls = Number(ratePerSecond.toPrecision(3))
  // A cap above the rate lowers nothing.
  if (cap !== null && cap < ratePerSecond)
    return ok('rate', message('doctor.rate_by_hand', { rate: Number(cap.toPrecision(3)), usual: calls }))
  if (!learnt) return ok('rate', message('doctor.rate_together', { rate: calls }))
  if (set !== null)
    return warning(
      'rate',
      message('doctor.rate_below_set', { rate: calls, set, ceiling: ceiling?.toPrecision(3) ?? '' }),
      message('doctor.set_rate'),
    )
  return ok(
    'rate',
    ceiling === null
      ? message('doctor.rate_learnt', { rate: calls })
      : message('doctor.rate_refused', { rate: calls, ceiling: ceiling.toPrecision(3) }),
  )
}

function clock(offsetMs: number | null): CheckResult {
  if (offsetMs === null) return ok('clock', message('doctor.clock_unknown'))
  const off = Math.abs(offsetMs)
  const what = message(offsetMs > 0 ? 'doctor.clock_behind' : 'doctor.clock_ahead', { time: duration(off) })
  if (off < CLOCK_MS) return ok('clock', off < 1000 ? message('doctor.clock_agrees') : what)
  return (off < WRONG_CLOCK_MS ? warning : failed)('clock', what, message('doctor.set_clock'))
}
