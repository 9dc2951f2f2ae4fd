import { hkdfSync } from 'node:crypto'
import { type Config, ConfigError, type HrSettings } from './config.ts'
import { MappingError } from './hr/errors.ts'
import { readMappingFile } from './hr/mapping.ts'
import type { HrServer } from './hr/server.ts'
import { hrServer } from './hr/servers.ts'
import { HrSource } from './hr/source.ts'
import type { SourceSettings } from './hr/source-list.ts'
import { HrSources, type NamedSource } from './hr/sources.ts'
import type { Pool } from './lib/database.ts'
import type { Logger } from './lib/logger.ts'
import { type Tracing, UNTRACED } from './lib/tracing.ts'
import { CallCounter } from './pacing/call-minute.ts'
import { PostgresSlots } from './pacing/postgres-slots.ts'
import { SlotPacer } from './pacing/slot-pacer.ts'
import { type CallReport, PlatformClient } from './platform/client.ts'
import { OPERATION_BUDGETS } from './platform/operations/index.ts'
import { PostgresTokenStore } from './platform/token-store.ts'
import { redisPlace } from './queue/redis-address.ts'
import type { Account } from './sync/health/deployment.ts'
import { isPaused } from './sync/outbox/halts.ts'
import type { KnownSource } from './sync/plan/claim-sources.ts'
import type { Pacing } from './sync/processes/process.ts'
import { message } from './texts/message.ts'

/**
 * The platform as the settings describe it, behind the pacer and the token that all processes share. Its calls are counted, and
 * belong to the current trace.
 */
export function connectPlatform(
  config: Config,
  pool: Pool,
  logger: Logger,
  {
    onCall,
    tracing = UNTRACED,
  }: { onCall?: ((call: CallReport) => void) | undefined; tracing?: Tracing } = {},
): PlatformClient & AsyncDisposable & { pacing(): Pacing } {
  const slots = new PostgresSlots({ url: config.DATABASE_URL, logger })
  const pacer = new SlotPacer({
    slots,
    rate: config.PLATFORM_RATE_LIMIT,
    budgets: new Map([...OPERATION_BUDGETS, ...config.OPERATION_RATE_LIMITS]),
    isPaused: () => isPaused(pool),
    logger,
  })
  const counter = new CallCounter(pool, logger)
  const account = {
    baseUrl: config.PLATFORM_BASE_URL,
    appId: config.PLATFORM_APP_ID,
    appSecret: config.PLATFORM_APP_SECRET,
  }
  const client = new PlatformClient({
    ...account,
    signAlgorithm: config.PLATFORM_SIGN_ALGORITHM,
    rateLimitedCodes: config.RATE_LIMITED_CODES,
    priceDifferenceMode: config.REFUND_PRICE_DIFFERENCE,
    tokenStore: new PostgresTokenStore({ pool, ...account }),
    pacer,
    logger,
    onCall: call => {
      counter.count(call)
      onCall?.(call)
      traceCall(tracing, call)
    },
  })
  return Object.assign(client, {
    pacing: () => ({
      ...pacer.snapshot(),
      callsPerSecond: counter.perSecond,
      concurrency: config.WORKER_CONCURRENCY,
      clockOffsetMs: client.clockOffset.measuredMs,
    }),
    async [Symbol.asyncDispose]() {
      await client.close()
      await pacer.close()
      await counter.close()
      await slots.close()
    },
  })
}

/** Traces a call from its request to its answer, with the platform's own trace id, by which its vendor finds it. */
export function traceCall(tracing: Tracing, call: CallReport): void {
  const { operation, durationMs, waitedMs, code, httpStatus, traceId, rateLimited } = call
  tracing.tell({
    name: operation,
    kind: 'client',
    tookMs: waitedMs + durationMs,
    ...(waitedMs >= 1 && { waited: { for: 'pacer', ms: waitedMs } }),
    attributes: {
      'dirsync.platform.operation': operation,
      'dirsync.platform.code': String(code),
      'dirsync.platform.waited_ms': tenths(waitedMs),
      'dirsync.platform.took_ms': tenths(durationMs),
      ...(traceId !== undefined && { 'dirsync.platform.trace_id': traceId }),
      ...(rateLimited && { 'dirsync.platform.rate_limited': true }),
      ...(httpStatus !== undefined && { 'http.response.status_code': httpStatus }),
    },
    failed: code !== 0,
  })
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** The server of one of the HR systems. Not connected yet. */
export function hrServerOf(config: HrSettings, { address }: SourceSettings, logger: Logger): HrServer {
  const { HR_FILES_ENCODING: encoding, HR_FILES_COMPLETE: complete, HR_FILES_KEEP: keep } = config
  const files = { encoding, complete, keep, headings: config.HR_FILES_HEADINGS }
  return hrServer(address, logger, files, config.HR_ROW_LIMIT_KB * 1024)
}

/**
 * HR as the settings describe it.
 * @throws ConfigError when a mapping file cannot be read; MappingError when it does not hold a single SELECT
 */
export async function connectHr(config: Config, logger: Logger): Promise<HrSources> {
  await using stack = new AsyncDisposableStack()
  const sources: NamedSource[] = []
  for (const settings of config.sources) {
    const { name, codes } = settings
    const hr = stack.adopt(await connectSource(config, settings, logger), source => source.close())
    sources.push({ name, codes, hr })
  }
  stack.move()
  return new HrSources(sources)
}

/** One of the HR systems. @throws ConfigError, MappingError */
export async function connectSource(
  config: HrSettings,
  settings: SourceSettings,
  logger: Logger,
): Promise<HrSource> {
  const { name, employeesSql, departmentsSql, codes } = settings
  // Rows without a code can only belong to the single enterprise.
  const [onlyCode] = codes?.length === 1 ? codes : []
  const of = (setting: string, field: string) => (name === '' ? setting : `${field} of HR source ${name}`)
  return new HrSource({
    server: hrServerOf(config, settings, name === '' ? logger : logger.child({ source: name })),
    employeesSql: await mapping(of('HR_EMPLOYEES_SQL', 'employees_sql'), employeesSql),
    departmentsSql:
      departmentsSql === null
        ? null
        : await mapping(of('HR_DEPARTMENTS_SQL', 'departments_sql'), departmentsSql),
    reread: readMappingFile,
    defaultEnterpriseCode: onlyCode ?? config.PLATFORM_ENTERPRISE_CODE,
    logger: name === '' ? logger : logger.child({ source: name }),
  })
}

/** The HR systems that HR_SOURCES names, as the database stores them; empty when there is only one. */
export function knownSources({ sources }: Config, hr: HrSources): KnownSource[] {
  return sources.flatMap(source => {
    const { name, codes } = source
    const kind = hr.named(name)?.hr.kind
    return codes && kind ? [{ name, kind, address: placeOf(source), enterpriseCodes: codes }] : []
  })
}

/** The address of each HR system in the settings, by its name. */
export function hrAddresses({ sources }: Config): Record<string, string> {
  return Object.fromEntries(sources.map(source => [source.name, placeOf(source)]))
}

/** The other HR systems that are read at the same address. */
export function sourcesBeside(source: SourceSettings, { sources }: Config): SourceSettings[] {
  return sources.filter(other => other.name !== source.name && placeOf(other) === placeOf(source))
}

/** Where the queue is. */
export function queueAddress({ REDIS_URL }: Pick<Config, 'REDIS_URL'>): string {
  return REDIS_URL === null ? 'PostgreSQL' : `Redis ${redisPlace(REDIS_URL)}`
}

/** Tells apart processes whose calls are signed differently, and nothing else: 32 bits of a derived key. */
export function secretPrint({
  PLATFORM_APP_ID,
  PLATFORM_APP_SECRET,
  PLATFORM_SIGN_ALGORITHM,
}: Pick<Config, 'PLATFORM_APP_ID' | 'PLATFORM_APP_SECRET' | 'PLATFORM_SIGN_ALGORITHM'>): string {
  const signing = `dirsync process ${PLATFORM_SIGN_ALGORITHM}`
  const derived = hkdfSync('sha256', PLATFORM_APP_SECRET, PLATFORM_APP_ID, signing, 4)
  return Buffer.from(derived).toString('hex')
}

const DEFAULT_PORTS: Record<string, string> = {
  'postgres:': '5432',
  'postgresql:': '5432',
  'mysql:': '3306',
  'mariadb:': '3306',
}

/** Without user, password and parameters, so that the same place has the same text in every process. */
function placeOf({ address }: SourceSettings): string {
  const { protocol, hostname, port, pathname } = new URL(address)
  return [hostname, port || DEFAULT_PORTS[protocol]].filter(Boolean).join(':') + pathname
}

/** The account of the platform that the settings name. */
export function accountOf(config: Config): Account {
  const { embedded, PLATFORM_BASE_URL, PLATFORM_APP_ID, PLATFORM_ENTERPRISE_CODE } = config
  return {
    baseUrl: embedded ? 'embedded' : PLATFORM_BASE_URL,
    appId: PLATFORM_APP_ID,
    enterpriseCode: PLATFORM_ENTERPRISE_CODE,
  }
}

async function mapping(setting: string, file: string) {
  try {
    return { file, sql: await readMappingFile(file) }
  } catch (cause) {
    if (cause instanceof MappingError) throw cause
    const held = { name: setting, held: JSON.stringify(file), wanted: message('said.that_file_unreadable') }
    throw new ConfigError([message('said.setting_holds', held)], { cause })
  }
}
