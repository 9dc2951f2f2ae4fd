import { z } from 'zod'
import {
  type FigureName,
  RULE_NAMES,
  RULES,
  type RuleName,
  type SecondName,
  settingOf,
} from '../alerts/rule.ts'
import { ACCESS_ROLES } from '../console/auth/viewer.ts'
import { completeness, ENCODINGS, headingRows } from '../hr/files/settings.ts'
import { isThisMachine } from '../lib/http-server.ts'
import { isBareAddress } from '../lib/text.ts'
import { MIRRORS, type Mirror } from '../sync/runs/mirror-kind.ts'
import { worded } from '../texts/message.ts'
import {
  anyText,
  atMost,
  bearerText,
  choice,
  claimRoles,
  figureOrOff,
  flag,
  host,
  hrAddress,
  httpHeaders,
  integer,
  isRange,
  language,
  list,
  number,
  operationLimits,
  optional,
  parsed,
  path,
  redisAddress,
  url,
} from './kinds.ts'

/*
 * Every setting of dirsync, as data. `npm run docs:settings` writes docs/settings.md from this file, and a test compares the two.
 */

export interface Setting {
  /** Its heading in docs/settings.md. */
  group: string
  /** Its meaning, in one plain sentence. */
  meaning: string
  type: z.ZodType
  example: string
  /** The value when unset. */
  default?: string
  /** Never shown, and better given as NAME_FILE. */
  secret?: true
}

const ruleFigure = <Type extends z.ZodType>(
  meaning: string,
  figure: (typeof RULES)[RuleName]['figure'],
  type: (min: number, max: number) => Type,
) => ({
  ...{ group: 'Alerts', meaning, type: type(figure.min, figure.max) },
  ...{ default: String(figure.default), example: String(figure.example) },
})
type RuleFigure<Type extends z.ZodType> = ReturnType<typeof ruleFigure<Type>>

const RULE_FIGURES = Object.fromEntries(
  RULE_NAMES.flatMap(rule => {
    const { meaning, figure, second } = RULES[rule]
    return [
      [settingOf(rule), ruleFigure(meaning, figure, figureOrOff)],
      ...(second ? [[second.name, ruleFigure(second.meaning, second, number)]] : []),
    ]
  }),
) as Record<FigureName, RuleFigure<ReturnType<typeof figureOrOff>>> &
  Record<SecondName, RuleFigure<ReturnType<typeof number>>>

/** Every setting but the schedules (`SCHEDULE_<JOB>`, one per cron job) and the channels (`ALERT_CHANNEL_<NAME>`). */
export const SETTINGS = {
  DATABASE_URL: {
    group: 'Databases',
    meaning:
      "PostgreSQL for dirsync's own tables. Not through a pooler in transaction mode, which is refused.",
    type: url('postgres', 'postgresql'),
    example: 'postgres://dirsync:secret@localhost:5432/dirsync',
    secret: true,
  },
  REDIS_URL: {
    group: 'Databases',
    meaning:
      'Redis for the queue: one server, redis+sentinel://host:26379,host:26379/master, or redis+cluster://host:6379,host:6379; with TLS rediss in place of redis. Without it the queue lives in DATABASE_URL.',
    type: optional(redisAddress),
    example: 'redis://localhost:6379',
    secret: true,
  },
  HR_DATABASE_URL: {
    group: 'HR',
    meaning:
      'The HR system: a PostgreSQL, MySQL or MariaDB database, or the folder where HR delivers files. dirsync only reads it.',
    type: hrAddress,
    example: 'postgres://hr_reader:secret@hr.example:5432/hr',
    secret: true,
  },
  HR_POLL_SECONDS: {
    group: 'HR',
    meaning:
      'How often to check HR for rows with a newer updated_at, or for a new delivery of files, so that changes are sent at once without a trigger. 0 to never check.',
    type: number(0, 3600),
    default: '0',
    example: '1',
  },
  HR_ROW_LIMIT_KB: {
    group: 'HR',
    meaning:
      'The longest row that is read from HR, in kB. A longer one stops the run with a message that names it: the mapping may have joined a photo.',
    type: number(1, 102_400),
    default: '1024',
    example: '4096',
  },
  DRY_RUN_MEMORY_MB: {
    group: 'HR',
    meaning:
      'Memory limit, in MB, of the process that reads HR for a dry run of another SELECT. A dry run that needs more fails.',
    type: number(256, 65_536),
    default: '512',
    example: '1024',
  },
  HR_FILES_COMPLETE: {
    group: 'HR',
    meaning:
      'When a delivery of files is complete: once nothing has changed for this time, or once a marker file is there that is newer than them.',
    type: parsed(completeness, worded('said.wanted_completeness')).describe('time, or marker:NAME'),
    default: '60s',
    example: 'marker:_SUCCESS',
  },
  HR_FILES_ENCODING: {
    group: 'HR',
    meaning:
      'Encoding of CSV and JSON files without a byte order mark. With auto, dirsync detects it for each file.',
    type: choice('auto', ...ENCODINGS),
    default: 'auto',
    example: 'gb18030',
  },
  HR_FILES_HEADINGS: {
    group: 'HR',
    meaning:
      'The row of a workbook, or line of a CSV, with the column names, by table; only for tables where dirsync does not find it by itself.',
    type: parsed(headingRows, worded('said.wanted_headings')).describe('TABLE=ROW, …'),
    default: '',
    example: 'staff=3',
  },
  HR_FILES_KEEP: {
    group: 'HR',
    meaning:
      "Folder for a copy of the last complete delivery of files, for look-ups. Readable only by dirsync's user.",
    type: path,
    default: '.dirsync/hr-files',
    example: '/var/lib/dirsync/hr-files',
  },
  HR_EMPLOYEES_SQL: {
    group: 'HR',
    meaning: 'File with the SELECT that maps HR rows to employee fields.',
    type: path,
    example: 'mapping/employees.sql',
  },
  HR_DEPARTMENTS_SQL: {
    group: 'HR',
    meaning:
      'File with the SELECT that maps HR rows to departments. Without it, departments are never deleted.',
    type: optional(path),
    example: 'mapping/departments.sql',
  },
  HR_SOURCES: {
    group: 'HR',
    meaning:
      'File that names several HR systems, each with its mappings and enterprises, in place of HR_DATABASE_URL, HR_EMPLOYEES_SQL and HR_DEPARTMENTS_SQL.',
    type: optional(path),
    example: 'hr/sources.json',
  },
  PLATFORM_BASE_URL: {
    group: 'Platform',
    meaning: "The base address of the platform's test or production environment.",
    // One spelling per address: tokens, pacing and the deployment are kept under it.
    type: url('http', 'https')
      .refine(isBareAddress, { error: worded('said.wanted_no_login'), abort: true })
      .transform(text => new URL(text).href.replace(/\/+$/, ''))
      .describe('address, https://…'),
    example: 'https://platform.example.com',
  },
  PLATFORM_APP_ID: {
    group: 'Platform',
    meaning: 'The application id.',
    type: atMost(32),
    example: 'demo-application',
  },
  PLATFORM_APP_SECRET: {
    group: 'Platform',
    meaning: "The application's secret.",
    type: anyText,
    example: 's3cret',
    secret: true,
  },
  PLATFORM_SIGN_ALGORITHM: {
    group: 'Platform',
    meaning: 'The hash function that signs requests.',
    type: choice('sha256', 'sha1', 'sha512'),
    default: 'sha256',
    example: 'sha1',
  },
  PLATFORM_ENTERPRISE_CODE: {
    group: 'Platform',
    meaning: 'Enterprise code of rows for which the mapping gives none. Empty for a single enterprise.',
    type: atMost(20),
    default: '',
    example: 'E100',
  },
  SELLER_APPIDS: {
    group: 'Platform',
    meaning: 'Merchant applications whose open ids are bound for every employee.',
    type: list
      .refine(ids => ids.every(id => id.length <= 8), {
        error: worded('said.wanted_app_ids'),
      })
      .describe('ids of at most 8 characters, separated by commas'),
    default: '',
    example: '20000001,20000002',
  },
  PLATFORM_RATE_LIMIT: {
    group: 'Pace',
    meaning: 'Calls per second that all processes together may make. With auto, dirsync learns the limit.',
    type: number(0.01, 100_000, 'auto').or(z.literal('auto')).describe('number from 0.01, or auto'),
    default: '10',
    example: '80',
  },
  OPERATION_RATE_LIMITS: {
    group: 'Pace',
    meaning: 'Lower limits for single operations, in calls per second.',
    type: list.transform(operationLimits).describe('operation=number, separated by commas'),
    default: '',
    example: 'employee/get=20,employee/update=5',
  },
  RATE_LIMITED_CODES: {
    group: 'Pace',
    meaning: 'The platform\'s codes that mean "too many calls". HTTP 429 always does.',
    type: list
      .refine(codes => codes.every(code => /^\d{1,15}$/.test(code)), {
        error: worded('said.wanted_integers'),
      })
      .transform(codes => codes.map(Number))
      .describe('whole numbers, separated by commas'),
    default: '',
    example: '1000210099',
  },
  WORKER_CONCURRENCY: {
    group: 'Pace',
    meaning: 'The most calls to the platform that one worker process makes at a time.',
    type: integer(1, 1000),
    default: '16',
    example: '32',
  },
  QUEUE_HIGH_WATER: {
    group: 'Pace',
    meaning: 'The most employees and departments in the queue. Further work waits in the outbox.',
    type: integer(1, 100_000),
    default: '1000',
    example: '5000',
  },
  GATE_MAX_FEWER_ROWS: {
    group: 'Safety',
    meaning:
      'A run is suspect when HR has lost more than this percentage of its rows since the last good run, both of all and of those in service.',
    type: number(0, 100),
    default: '20',
    example: '10',
  },
  GATE_MAX_EMPTIED: {
    group: 'Safety',
    meaning:
      'A run is suspect when a column turned empty for more than this percentage of the employees in service.',
    type: number(0, 100),
    default: '20',
    example: '10',
  },
  BREAKER_EMPLOYEES: {
    group: 'Safety',
    meaning: 'A run is held when it would change more employees than this …',
    type: integer(0, 10_000_000),
    default: '50',
    example: '200',
  },
  BREAKER_EMPLOYEES_PERCENT: {
    group: 'Safety',
    meaning: '… and more than this percentage of them.',
    type: number(0, 100),
    default: '10',
    example: '5',
  },
  BREAKER_LEAVERS_PERCENT: {
    group: 'Safety',
    meaning:
      'The first run is held, and `dirsync hr check` warns, when more than this percentage of the employees have left.',
    type: number(0, 100),
    default: '50',
    example: '80',
  },
  BREAKER_DEPARTMENTS: {
    group: 'Safety',
    meaning: 'A run is held when it would delete more departments than this …',
    type: integer(0, 10_000_000),
    default: '3',
    example: '10',
  },
  BREAKER_DEPARTMENTS_PERCENT: {
    group: 'Safety',
    meaning: '… and more than this percentage of them.',
    type: number(0, 100),
    default: '5',
    example: '2',
  },
  DEPARTMENT_GRACE_HOURS: {
    group: 'Safety',
    meaning: 'Hours that a department must be closed before it is deleted.',
    type: number(0, 8760),
    default: '24',
    example: '168',
  },
  HR_READ_ALL_MINUTES: {
    group: 'Safety',
    meaning: 'How often a changes run reads every row of HR, even though updated_at is mapped.',
    type: number(0, 10_080),
    default: '60',
    example: '15',
  },
  REFUND_PRICE_DIFFERENCE: {
    group: 'Money',
    meaning: 'true if refunds are settled by price difference: each then needs costAmount or tradeInfo.',
    type: flag,
    default: 'false',
    example: 'true',
  },
  REFUND_LOST_AFTER_HOURS: {
    group: 'Money',
    meaning:
      'Hours after which a refund of unknown outcome counts as not carried out, if order record and payment orders show nothing of it.',
    type: number(0.2, 8760),
    default: '24',
    example: '48',
  },
  NOTIFICATION_URL: {
    group: 'Money',
    meaning:
      'Public address of the receiver of refund notifications. If it is set, start runs the receiver, and refunds name the address.',
    type: optional(
      url('http', 'https')
        .refine(text => text.length <= 254, worded('said.wanted_at_most', { limit: 254 }))
        .describe('address of at most 254 characters'),
    ),
    example: 'https://hr.example.com/notifications/refund',
  },
  NOTIFICATION_HOST: {
    group: 'Money',
    meaning: 'Address that the receiver listens on.',
    type: host,
    default: '127.0.0.1',
    example: '0.0.0.0',
  },
  NOTIFICATION_PORT: {
    group: 'Money',
    meaning: 'Port of the receiver. 0 for any free port.',
    type: integer(0, 65_535),
    default: '8081',
    example: '9081',
  },
  MIRRORS: {
    group: 'Mirrors',
    meaning: "Which of the platform's data to copy into dirsync's own tables.",
    type: list
      .refine(names => names.every(name => (MIRRORS as readonly string[]).includes(name)), {
        error: worded('said.wanted_some_of', { names: MIRRORS }),
      })
      .transform(names => names as Mirror[])
      .describe(`some of ${MIRRORS.join(', ')}, separated by commas`),
    default: '',
    example: 'orders,accounts',
  },
  PAYMENT_ORDER_DAYS: {
    group: 'Mirrors',
    meaning: 'How many days back payment orders are mirrored.',
    type: integer(1, 366),
    default: '30',
    example: '90',
  },
  TAXPAYER_IDENTIFIERS: {
    group: 'Mirrors',
    meaning: 'Identification numbers of the taxpayers to mirror.',
    type: list
      .refine(ids => ids.every(id => /^[^\s;，；、]{1,45}$/.test(id)), {
        error: worded('said.wanted_identifiers'),
      })
      .describe('at most 45 characters each, separated by commas'),
    default: '',
    example: '91000000SAMPLE0001',
  },
  CONSOLE_HOST: {
    group: 'Console and log',
    meaning: 'Address that the console listens on.',
    type: host,
    default: '127.0.0.1',
    example: '0.0.0.0',
  },
  CONSOLE_PORT: {
    group: 'Console and log',
    meaning: 'Port of the console, with health and metrics. 0 for any free port.',
    type: integer(0, 65_535),
    default: '8080',
    example: '9090',
  },
  CONSOLE_TOKEN: {
    group: 'Console and log',
    meaning: 'Bearer token for /metrics. Without it, /metrics is open to everyone.',
    type: optional(bearerText),
    example: 't0ken',
    secret: true,
  },
  CONSOLE_URL: {
    group: 'Console and log',
    meaning:
      "The console's public address. With https://, its cookies are sent over TLS only. Required for OIDC.",
    type: optional(
      url('https', 'http')
        .refine(text => /^https?:\/\/[^/?#]+\/?$/.test(text), { error: worded('said.wanted_no_path') })
        .transform(text => new URL(text).origin)
        .describe('address without a path, https://…'),
    ),
    example: 'https://dirsync.example.com',
  },
  CONSOLE_READ_ONLY: {
    group: 'Console and log',
    meaning: 'true if the console may show everything but change nothing.',
    type: flag,
    default: 'false',
    example: 'true',
  },
  CONSOLE_NAMES: {
    group: 'Console and log',
    meaning:
      'false if pages should not show the names of people and departments. They come from HR at each look and are kept nowhere; viewers see them masked.',
    type: flag,
    default: 'true',
    example: 'false',
  },
  CONSOLE_PROXIES: {
    group: 'Console and log',
    meaning: 'Reverse proxies in front of the console whose X-Forwarded-… headers are trusted.',
    type: list
      .refine(items => items.every(isRange), {
        error: worded('said.wanted_ranges'),
      })
      .describe('addresses or ranges, separated by commas'),
    default: '',
    example: '10.0.0.1,172.16.0.0/12',
  },
  OIDC_ISSUER: {
    group: 'Sign-in',
    meaning:
      'The identity provider (OpenID Connect). If it is set, people may sign in there as well as with passwords.',
    type: optional(
      url('https', 'http').refine(
        text => text.startsWith('https:') || isThisMachine(new URL(text).hostname),
        { error: worded('said.wanted_https') },
      ),
    ),
    example: 'https://login.example.com/realms/company',
  },
  OIDC_CLIENT_ID: {
    group: 'Sign-in',
    meaning:
      "dirsync's client id at the identity provider. Its redirect URI is CONSOLE_URL/sign-in/oidc/callback.",
    type: optional(anyText),
    example: 'dirsync',
  },
  OIDC_CLIENT_SECRET: {
    group: 'Sign-in',
    meaning: "dirsync's secret at the identity provider.",
    type: optional(anyText),
    example: 's3cret',
    secret: true,
  },
  OIDC_ROLES: {
    group: 'Sign-in',
    meaning: 'Which values of which claim give which role. A person with none of them may not sign in.',
    type: optional(
      parsed(claimRoles, worded('said.wanted_claim_roles', { roles: ACCESS_ROLES })).describe(
        `claim:value=role,…, with the roles ${ACCESS_ROLES.join(', ')}`,
      ),
    ),
    example: 'groups:dirsync-admins=admin,dirsync-reviewers=reviewer',
  },
  OIDC_SCOPES: {
    group: 'Sign-in',
    meaning: 'The scopes to request from the identity provider. Some providers need an extra one for groups.',
    type: z
      .string()
      .refine(text => text.split(/\s+/).includes('openid'), { error: worded('said.wanted_openid') })
      .describe('scopes, separated by blanks'),
    default: 'openid profile email',
    example: 'openid profile email groups',
  },
  ...RULE_FIGURES,
  ALERT_REPEAT_HOURS: {
    group: 'Alerts',
    meaning: 'Hours after which a continuing alert is sent again.',
    type: number(0.1, 720),
    default: '4',
    example: '12',
  },
  ALERT_MESSAGES_PER_HOUR: {
    group: 'Alerts',
    meaning:
      'The most messages about one rule that a channel gets within an hour; then it gets one summary. New critical alerts are always sent.',
    type: integer(1, 1000),
    default: '20',
    example: '60',
  },
  HEARTBEAT_URL: {
    group: 'Alerts',
    meaning:
      'Called (GET) after each successful changes or full run, for an external monitor that notices when the calls stop. While a run of employees is held as a whole, its HR source triggers no call.',
    type: optional(url('https', 'http')),
    example: 'https://monitor.example.com/ping/0b3e',
    secret: true,
  },
  DEPLOYMENT_NAME: {
    group: 'Console and log',
    meaning: 'Your name for this deployment, shown in alerts, the console and `dirsync status`.',
    type: optional(
      z
        .string()
        .refine(text => text.length <= 40 && !/\p{Cc}/u.test(text), {
          error: worded('said.wanted_one_line', { limit: 40 }),
        })
        .describe('text of at most 40 characters'),
    ),
    example: 'production',
  },
  DIRSYNC_LANG: {
    group: 'Console and log',
    meaning:
      'The language of what commands print, their help included, and of log messages that ask for action. --json and CSV are always English.',
    type: language,
    default: 'en',
    example: 'zh-CN',
  },
  LOG_LEVEL: {
    group: 'Console and log',
    meaning: 'How much is logged.',
    type: choice('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    default: 'info',
    example: 'debug',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    group: 'Traces',
    meaning:
      'Collector for OpenTelemetry traces (OTLP over HTTP), without /v1/traces. Without it, no traces are sent.',
    type: optional(url('http', 'https')),
    example: 'http://otel-collector.example:4318',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    group: 'Traces',
    meaning: 'Headers of the requests to the collector, such as its key.',
    type: optional(
      parsed(httpHeaders, worded('said.wanted_headers')).describe(
        'name=value,…, with values percent-encoded',
      ),
    ),
    example: 'authorization=Bearer%20t0ken',
    secret: true,
  },
  OTEL_SERVICE_NAME: {
    group: 'Traces',
    meaning: 'The service name in traces.',
    type: anyText,
    default: 'dirsync',
    example: 'dirsync-test',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    group: 'Traces',
    meaning: 'Share of successful jobs whose traces are sent. Those of runs and failures always are.',
    type: number(0, 1),
    default: '1',
    example: '0.05',
  },
} as const satisfies Record<string, Setting>

/** Settings of versions before 1.0.0 that are called otherwise now; the old name has no effect. */
export const RENAMED_SETTINGS: Readonly<Record<string, SettingName>> = {
  ALERT_OUT_OF_STEP: 'ALERT_OUT_OF_SYNC',
  SWEEP_INTERVAL_MINUTES: 'HR_READ_ALL_MINUTES',
  TOO_FAST_CODES: 'RATE_LIMITED_CODES',
}

export type SettingName = keyof typeof SETTINGS

/** The settings that a deployment needs. If none of the first three is set, everything runs embedded. */
export const ESSENTIAL = [
  'DATABASE_URL',
  'HR_DATABASE_URL',
  'PLATFORM_BASE_URL',
  'HR_EMPLOYEES_SQL',
  'PLATFORM_APP_ID',
  'PLATFORM_APP_SECRET',
] as const satisfies readonly SettingName[]

/** Settings that embedded parts bring themselves, whatever the environment says: their platform knows one application. */
export const EMBEDDED_APPLICATION = [
  'PLATFORM_APP_ID',
  'PLATFORM_APP_SECRET',
  'PLATFORM_SIGN_ALGORITHM',
] as const satisfies readonly SettingName[]
