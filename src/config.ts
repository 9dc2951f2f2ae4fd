import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { OPERATION_NAMES } from './platform/operation.ts'
import { MIRRORS, type Mirror } from './sync/mirror-kind.ts'

/** The types of settings: from the text of a variable to its value. */

/** A raw @, # or ? in a password ends up in the host name or in nothing at all. */
const isEncoded = (text: string) => {
  const afterScheme = text.slice(text.indexOf('://') + 3)
  return !afterScheme.includes('#') && (afterScheme.match(/@/g)?.length ?? 0) <= 1
}
const url = (...protocols: string[]) =>
  z
    .string()
    .refine(isEncoded, {
      error: 'should have special characters of its password percent-encoded',
      abort: true,
    })
    .refine(text => URL.canParse(text) && protocols.includes(text.split('://')[0] as string), {
      error: `should be an address beginning with ${protocols.map(protocol => `${protocol}://`).join(' or ')}`,
    })
const number = (min: number, max: number, otherwise = '') =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/, `should be a number${otherwise}`)
    .transform(Number)
    .refine(value => value >= min && value <= max, {
      error: `should be between ${min} and ${max}${otherwise}`,
      abort: true,
    })
const integer = (min: number, max: number) =>
  number(min, max).refine(Number.isInteger, { error: 'should be a whole number' })
const absent = z.undefined().transform(() => null)
const list = z.string().transform(text => [
  ...new Set(
    text
      .split(',')
      .map(item => item.trim())
      .filter(Boolean),
  ),
])

/** Calls per second by operation, from items such as `employee/get=20`. */
function operationLimits(items: string[], context: z.RefinementCtx): Map<string, number> {
  const limits = new Map<string, number>()
  for (const item of items) {
    const [operation = '', rate = ''] = item.split('=').map(part => part.trim())
    const parsed = number(0.01, 100_000).safeParse(rate)
    const flaw = (OPERATION_NAMES as readonly string[]).includes(operation)
      ? parsed.error && `${operation} ${parsed.error.issues[0]?.message}`
      : `should name operations, such as employee/get=20; they are ${OPERATION_NAMES.join(', ')}`
    if (flaw) context.addIssue(flaw)
    else limits.set(operation, parsed.data as number)
  }
  return limits
}

/** A wrong or missing setting: one sentence naming the variable, what it holds and what it should hold. */
export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID'
}

interface Setting {
  /** Shown in the README's settings table and by `dirsync start --help`. */
  help: string
  /** Text shown as default; undefined when there is none. */
  default?: string
  secret?: true
}

/** Every setting but the schedules (`SCHEDULE_<JOB>`, one per cron job). */
export const SETTINGS = {
  DATABASE_URL: { help: "PostgreSQL for dirsync's own tables; no transaction-mode pooler", secret: true },
  REDIS_URL: { help: 'Redis for the queue and the pacer; absent: both live in DATABASE_URL', secret: true },
  HR_DATABASE_URL: { help: 'PostgreSQL of the HR system; only read', secret: true },
  HR_EMPLOYEES_SQL: { help: 'File with the SELECT that maps HR rows to employee fields' },
  HR_DEPARTMENTS_SQL: {
    help: 'File with the SELECT that maps HR rows to departments; absent: no department is ever deleted',
  },
  PLATFORM_BASE_URL: { help: "The platform's base address" },
  PLATFORM_APP_ID: { help: 'Application id' },
  PLATFORM_APP_SECRET: { help: 'Application secret', secret: true },
  PLATFORM_SIGN_ALGORITHM: { help: 'sha256, sha1 or sha512', default: 'sha256' },
  PLATFORM_ENTERPRISE_CODE: {
    help: 'Enterprise code for rows whose mapping has none; empty for a single enterprise',
    default: '',
  },
  PLATFORM_RATE_LIMIT: {
    help: 'Calls per second at most, all processes together; auto: learnt from what the platform refuses',
    default: '10',
  },
  TOO_FAST_CODES: {
    help: "The platform's codes that mean too many calls, separated by commas; HTTP 429 always does",
    default: '',
  },
  OPERATION_RATE_LIMITS: {
    help: 'Calls per second of single operations, within the rate, such as employee/get=20,employee/update=5',
    default: '',
  },
  REFUND_PRICE_DIFFERENCE: {
    help: 'true where refunds are settled by price difference: each then needs costAmount or tradeInfo',
    default: 'false',
  },
  REFUND_LOST_AFTER_HOURS: {
    help: 'Hours after which a refund of unknown outcome counts as lost (not carried out), if neither order record nor payment order shows it',
    default: '24',
  },
  SELLER_APPIDS: { help: 'Merchant application ids for open ids, separated by commas', default: '' },
  WORKER_CONCURRENCY: {
    help: 'Calls to the platform that one worker process makes at a time, at most; fewer while rate and latency need fewer',
    default: '16',
  },
  QUEUE_HIGH_WATER: { help: 'Jobs in the queue at most; the rest waits in the outbox', default: '1000' },
  GATE_MAX_FEWER_ROWS: {
    help: 'A run is suspect when HR has more than this percentage fewer rows',
    default: '20',
  },
  GATE_MAX_EMPTIED: {
    help: 'A run is suspect when a column turned empty for more than this percentage of rows',
    default: '20',
  },
  BREAKER_EMPLOYEES: { help: 'A run is held above this many changed employees …', default: '50' },
  BREAKER_EMPLOYEES_PERCENT: { help: '… or this percentage, whichever is more', default: '10' },
  BREAKER_DEPARTMENTS: { help: 'A run is held above this many deleted departments …', default: '3' },
  BREAKER_DEPARTMENTS_PERCENT: { help: '… or this percentage, whichever is more', default: '5' },
  DEPARTMENT_GRACE_HOURS: {
    help: 'Hours that a department must be closed before it is deleted',
    default: '24',
  },
  SWEEP_INTERVAL_MINUTES: {
    help: 'With updated_at mapped: how often a changes run reads every row all the same',
    default: '60',
  },
  CONSOLE_HOST: { help: 'Address that the console listens on', default: '127.0.0.1' },
  CONSOLE_PORT: { help: 'Port of the console (health, metrics); 0: any free port', default: '8080' },
  CONSOLE_TOKEN: { help: 'Bearer token for /metrics; absent: open', secret: true },
  MIRRORS: {
    help: "Platform data kept in dirsync's own tables: some of orders, accounts, taxpayers, separated by commas",
    default: '',
  },
  PAYMENT_ORDER_DAYS: { help: 'Days back that payment orders are mirrored', default: '30' },
  TAXPAYER_IDENTIFIERS: {
    help: 'Identification numbers of the taxpayers to mirror, separated by commas',
    default: '',
  },
  NOTIFICATION_URL: {
    help: 'Public address of the receiver of refund notifications, ending in /notifications/refund; set: start runs the receiver, and refunds name it',
  },
  NOTIFICATION_HOST: { help: 'Address that the receiver listens on', default: '127.0.0.1' },
  NOTIFICATION_PORT: { help: 'Port of the receiver; 0: any free port', default: '8081' },
  LOG_LEVEL: { help: 'trace, debug, info, warn, error or silent', default: 'info' },
} as const satisfies Record<string, Setting>

type Name = keyof typeof SETTINGS

/** The settings that a deployment cannot do without; none of the first three set: everything embedded. */
export const ESSENTIAL = [
  'DATABASE_URL',
  'HR_DATABASE_URL',
  'PLATFORM_BASE_URL',
  'HR_EMPLOYEES_SQL',
  'PLATFORM_APP_ID',
  'PLATFORM_APP_SECRET',
] as const satisfies readonly Name[]

const schema = z.object({
  DATABASE_URL: url('postgres', 'postgresql'),
  REDIS_URL: url('redis', 'rediss').or(absent),
  HR_DATABASE_URL: url('postgres', 'postgresql'),
  HR_EMPLOYEES_SQL: z.string(),
  HR_DEPARTMENTS_SQL: z.string().or(absent),
  // One spelling per address: tokens, pacing and the deployment are kept under it.
  PLATFORM_BASE_URL: url('http', 'https').transform(text => new URL(text).href.replace(/\/+$/, '')),
  PLATFORM_APP_ID: z.string().max(32, 'should have at most 32 characters'),
  PLATFORM_APP_SECRET: z.string(),
  PLATFORM_SIGN_ALGORITHM: z.enum(['sha256', 'sha1', 'sha512']),
  PLATFORM_ENTERPRISE_CODE: z.string().max(20, 'should have at most 20 characters'),
  PLATFORM_RATE_LIMIT: number(0.01, 100_000, ', or auto').or(z.literal('auto')),
  TOO_FAST_CODES: list
    .refine(codes => codes.every(code => /^\d{1,15}$/.test(code)), {
      error: 'should be whole numbers, separated by commas',
    })
    .transform(codes => codes.map(Number)),
  OPERATION_RATE_LIMITS: list.transform(operationLimits),
  REFUND_PRICE_DIFFERENCE: z.enum(['true', 'false']).transform(value => value === 'true'),
  REFUND_LOST_AFTER_HOURS: number(0.2, 8760),
  SELLER_APPIDS: list.refine(ids => ids.every(id => id.length === 8), {
    error: 'should be application ids of 8 characters, separated by commas',
  }),
  WORKER_CONCURRENCY: integer(1, 1000),
  QUEUE_HIGH_WATER: integer(1, 100_000),
  GATE_MAX_FEWER_ROWS: number(0, 100),
  GATE_MAX_EMPTIED: number(0, 100),
  BREAKER_EMPLOYEES: integer(0, 10_000_000),
  BREAKER_EMPLOYEES_PERCENT: number(0, 100),
  BREAKER_DEPARTMENTS: integer(0, 10_000_000),
  BREAKER_DEPARTMENTS_PERCENT: number(0, 100),
  DEPARTMENT_GRACE_HOURS: number(0, 8760),
  SWEEP_INTERVAL_MINUTES: number(0, 10_080),
  CONSOLE_HOST: z.string(),
  CONSOLE_PORT: integer(0, 65_535),
  CONSOLE_TOKEN: z.string().or(absent),
  MIRRORS: list
    .refine(names => names.every(name => (MIRRORS as readonly string[]).includes(name)), {
      error: `should be some of ${MIRRORS.join(', ')}, separated by commas`,
    })
    .transform(names => names as Mirror[]),
  PAYMENT_ORDER_DAYS: integer(1, 366),
  TAXPAYER_IDENTIFIERS: list.refine(ids => ids.every(id => id.length <= 45), {
    error: 'should be identification numbers of at most 45 characters, separated by commas',
  }),
  NOTIFICATION_URL: url('http', 'https')
    .refine(text => text.length <= 254, 'should have at most 254 characters')
    .or(absent),
  NOTIFICATION_HOST: z.string(),
  NOTIFICATION_PORT: integer(0, 65_535),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
})

export type Config = z.infer<typeof schema> & {
  /** `SCHEDULE_<JOB>` as given, by job name in lower case with hyphens; checked by the jobs themselves. */
  schedules: Record<string, string>
  /** The platform is the emulator of the trial, whose port may be another one at each start. */
  embedded: boolean
}

export type Environment = Record<string, string | undefined>

/** The process's environment: the only place that reads it. */
export function environment(): Environment {
  return process.env
}

/** True when none of the three addresses is set, so that everything runs embedded. */
export function isEmbedded(env: Environment): boolean {
  return (['DATABASE_URL', 'HR_DATABASE_URL', 'PLATFORM_BASE_URL'] as const).every(
    name => !present(env, name),
  )
}

/**
 * Reads the settings; each also as `NAME_FILE`, whose first line is the value.
 * @throws ConfigError with everything that is missing, in one line, and every wrong setting, one line each.
 */
export function loadConfig(env: Environment): Config {
  return { ...readAll(env, schema), schedules: schedules(env), embedded: false }
}

/**
 * Reads the settings of dirsync's own stores, and of the log, alone.
 * @throws ConfigError as {@link loadConfig} does
 */
export function loadStores(env: Environment): Pick<Config, 'DATABASE_URL' | 'REDIS_URL' | 'LOG_LEVEL'> {
  return readAll(env, schema.pick({ DATABASE_URL: true, REDIS_URL: true, LOG_LEVEL: true }))
}

function readAll<Schema extends z.ZodObject>(env: Environment, wanted: Schema): z.output<Schema> {
  const values: Record<string, string | undefined> = {}
  const missing = new Map<Name, string>()
  const complaints: string[] = []
  const unread = new Set<string>()
  for (const name of Object.keys(wanted.shape) as Name[]) {
    const found = read(env, name)
    if ('value' in found) values[name] = found.value
    else if (isEssential(name) && found.flaw !== 'unreadable')
      missing.set(name, found.flaw === 'empty' ? `${name} (${found.file} is empty)` : name)
    else if (found.flaw !== 'absent')
      complaints.push(
        `${name}_FILE holds ${JSON.stringify(found.file)} but that file ${found.flaw === 'empty' ? 'is empty' : 'cannot be read'}`,
      )
    else values[name] = (SETTINGS[name] as Setting).default
    if (!(name in values)) unread.add(name)
  }
  const named = ESSENTIAL.flatMap(name => missing.get(name) ?? [])
  if (named.length > 0) complaints.unshift(`missing settings: ${named.join(', ')}${wayOut(env)}`)
  const parsed = wanted.safeParse(values)
  const issues = parsed.error?.issues.filter(issue => !unread.has(String(issue.path[0]))) ?? []
  complaints.push(...issues.map(issue => complaint(issue, values)))
  if (!parsed.success || complaints.length > 0) throw new ConfigError(complaints.join('\n'))
  return parsed.data
}

/** What else a person in a checkout may have meant. Where settings come in files there is nothing embedded. */
function wayOut(env: Environment): string {
  const hasFiles = Object.keys(SETTINGS).some(name => env[`${name}_FILE`]?.trim())
  return hasFiles
    ? ''
    : ' (set them, or unset DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL to run embedded)'
}

function isEssential(name: Name): boolean {
  return (ESSENTIAL as readonly Name[]).includes(name)
}

function complaint(issue: z.core.$ZodIssue, values: Record<string, string | undefined>): string {
  const name = String(issue.path[0]) as Name
  const held = 'secret' in SETTINGS[name] ? '(secret)' : JSON.stringify(values[name])
  const inner = issue.code === 'invalid_union' ? issue.errors.flat()[0] : issue
  const wanted =
    inner?.code === 'invalid_value'
      ? `should be one of ${inner.values.join(', ')}`
      : (inner?.message ?? issue.message)
  return `${name} holds ${held} but ${wanted}`
}

function schedules(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env)
      .filter(([name, value]) => name.startsWith('SCHEDULE_') && value)
      .map(([name, value]) => [
        name.slice('SCHEDULE_'.length).toLowerCase().replaceAll('_', '-'),
        (value as string).trim(),
      ]),
  )
}

function present(env: Environment, name: string): boolean {
  return Boolean(env[name]?.trim() || env[`${name}_FILE`]?.trim())
}

type Found = { value: string } | { flaw: 'absent' } | { flaw: 'empty' | 'unreadable'; file: string }

function read(env: Environment, name: string): Found {
  const value = env[name]?.trim()
  if (value) return { value }
  const file = env[`${name}_FILE`]?.trim()
  if (!file) return { flaw: 'absent' }
  try {
    const line = (readFileSync(file, 'utf8').split('\n')[0] as string).trim()
    return line === '' ? { flaw: 'empty', file } : { value: line }
  } catch {
    return { flaw: 'unreadable', file }
  }
}
