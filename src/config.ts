import { z } from 'zod'
import type { ChannelSettings } from './alerts/channel.ts'
import {
  CHANNEL_PREFIX,
  CHANNEL_SETTINGS,
  type OwnSettings,
  parseChannels,
  partOf,
} from './alerts/channel-settings.ts'
import { readSourceList, SourceListError, type SourceSettings } from './hr/source-list.ts'
import { type Environment, readSetting } from './lib/io.ts'
import { isClockOf } from './lib/time-text.ts'
import { hrAddress, joinedValues } from './settings/kinds.ts'
import { ESSENTIAL, SETTINGS, type Setting, type SettingName } from './settings/settings.ts'
import {
  inEnglish,
  type Message,
  type MessageValue,
  message,
  type Said,
  saidBySchema,
} from './texts/message.ts'

export { type Environment, environment, readSetting } from './lib/io.ts'

/* Reads the settings that src/settings/ describes from the environment. */

/** Wrong or missing settings: for each a sentence that names the variable, what it holds and what it should hold. */
export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID'
  readonly problems: readonly Said[]

  constructor(problems: readonly Said[], options?: ErrorOptions) {
    super(problems.map(inEnglish).join('\n'), options)
    this.problems = problems
  }
}

const schema = z.object(
  Object.fromEntries(Object.entries(SETTINGS).map(([name, { type }]) => [name, type])) as {
    [N in SettingName]: (typeof SETTINGS)[N]['type']
  },
)

export type Config = z.infer<typeof schema> & {
  /** `SCHEDULE_<JOB>` as given, by job name in lower case with hyphens; checked by the jobs themselves. */
  schedules: Record<string, string>
  /** Where alerts go: `ALERT_CHANNEL_<NAME>` and the settings of each. */
  channels: readonly ChannelSettings[]
  /** The HR systems: that of HR_DATABASE_URL, or those of HR_SOURCES. */
  sources: readonly SourceSettings[]
  /** The platform is the emulator of the trial, whose port may change at each start. */
  embedded: boolean
}

/** True when none of the addresses is set, so that everything runs embedded. */
export function isEmbedded(env: Environment): boolean {
  return (['DATABASE_URL', 'HR_DATABASE_URL', 'HR_SOURCES', 'PLATFORM_BASE_URL'] as const).every(
    name => !present(env, name),
  )
}

/**
 * Reads the settings; each also as `NAME_FILE`, whose first line is the value.
 * @throws ConfigError with everything that is missing, in one line, and every wrong setting, one line each.
 */
export function loadConfig(env: Environment): Config {
  const { channels, complaints } = readChannelSettings(env)
  const config = readWithSources(env, schema, [...complaints, ...zoneComplaints(env)])
  assertWholeOidc(config)
  return {
    ...config,
    schedules: schedules(env),
    channels: speaking(channels, config.DIRSYNC_LANG),
    embedded: false,
  }
}

/** Reads settings that include HR's, with the systems that they name. */
function readWithSources<Schema extends z.ZodObject>(
  env: Environment,
  wanted: Schema,
  complaints: readonly Message[] = [],
): z.output<Schema> & { sources: readonly SourceSettings[] } {
  const named = present(env, 'HR_SOURCES') ? readSources(env) : null
  const further = [...complaints, ...(named?.complaints ?? [])]
  const config = readAll(named ? { ...env, ...IN_PLACE_OF_ONE } : env, wanted, further)
  const { HR_DATABASE_URL, HR_EMPLOYEES_SQL = '', HR_DEPARTMENTS_SQL } = config as Partial<Config>
  const one = {
    name: '',
    address: HR_DATABASE_URL ?? '',
    employeesSql: HR_EMPLOYEES_SQL,
    departmentsSql: HR_DEPARTMENTS_SQL ?? null,
    codes: null,
  }
  return { ...config, sources: named?.sources ?? [one] }
}

/** Placeholders for use with HR_SOURCES. They are never read, since HR is connected by `Config.sources`. */
const IN_PLACE_OF_ONE = { HR_DATABASE_URL: 'postgres://sources', HR_EMPLOYEES_SQL: 'sources' }

/** The HR systems that HR_SOURCES names, and the errors in it. */
function readSources(env: Environment): { sources: SourceSettings[]; complaints: Message[] } {
  const beside = (['HR_DATABASE_URL', 'HR_EMPLOYEES_SQL', 'HR_DEPARTMENTS_SQL'] as const).filter(name =>
    present(env, name),
  )
  const complaints = beside.map(name =>
    message('said.setting_beside_sources', { name: env[name]?.trim() ? name : `${name}_FILE` }),
  )
  const found = readSetting(env, 'HR_SOURCES')
  // If HR_SOURCES_FILE cannot be read, that is reported with the other settings.
  if (!('value' in found)) return { sources: [], complaints }
  try {
    return { sources: readSourceList(found.value, hrAddress), complaints }
  } catch (error) {
    if (!(error instanceof SourceListError)) throw error
    const problems = error.problems.map(wanted => holding('HR_SOURCES', found.value, wanted))
    return { sources: [], complaints: [...complaints, ...problems] }
  }
}

/** Refuses a partial configuration of the identity provider, which would look as if it worked. */
function assertWholeOidc(config: z.infer<typeof schema>): void {
  const wanted = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES'] as const
  if (wanted.every(name => config[name] === null)) return
  const missing = [...wanted, 'CONSOLE_URL' as const].filter(name => config[name] === null)
  if (missing.length > 0)
    throw new ConfigError([message('said.settings_missing_for_oidc', { names: missing })])
}

/**
 * Reads only the settings of dirsync's own stores and of the log.
 * @throws ConfigError as {@link loadConfig} does
 */
export function loadStores(
  env: Environment,
): Pick<Config, 'DATABASE_URL' | 'REDIS_URL' | 'DIRSYNC_LANG' | 'LOG_LEVEL'> {
  return readAll(
    env,
    schema.pick({ DATABASE_URL: true, REDIS_URL: true, DIRSYNC_LANG: true, LOG_LEVEL: true }),
  )
}

/**
 * Reads only the application's id and secret, and how it signs.
 * @throws ConfigError as {@link loadConfig} does
 */
export function loadApplication(
  env: Environment,
): Pick<Config, 'PLATFORM_APP_ID' | 'PLATFORM_APP_SECRET' | 'PLATFORM_SIGN_ALGORITHM'> {
  return readAll(
    env,
    schema.pick({ PLATFORM_APP_ID: true, PLATFORM_APP_SECRET: true, PLATFORM_SIGN_ALGORITHM: true }),
  )
}

const HR_SETTINGS = {
  HR_DATABASE_URL: true,
  HR_ROW_LIMIT_KB: true,
  HR_FILES_ENCODING: true,
  HR_FILES_COMPLETE: true,
  HR_FILES_HEADINGS: true,
  HR_FILES_KEEP: true,
  HR_DEPARTMENTS_SQL: true,
  PLATFORM_ENTERPRISE_CODE: true,
  BREAKER_LEAVERS_PERCENT: true,
  DIRSYNC_LANG: true,
  LOG_LEVEL: true,
} as const

/** The settings that say where HR is, and how to read it. */
export type HrSettings = Pick<Config, keyof typeof HR_SETTINGS | 'sources'>

/**
 * Reads only the settings of HR and of the log.
 * @throws ConfigError as {@link loadConfig} does
 */
export function loadHr(env: Environment): HrSettings {
  return readWithSources(env, schema.pick({ ...HR_SETTINGS, HR_EMPLOYEES_SQL: true }))
}

/** The same without a mapping of employees, for callers that have none yet or name another one. */
export function loadUnmappedHr(env: Environment): HrSettings {
  return readWithSources(env, schema.pick(HR_SETTINGS))
}

/**
 * Reads only the channels of alerts, and the settings that their messages need.
 * @throws ConfigError as {@link loadConfig} does
 */
export function loadAlerts(
  env: Environment,
): Pick<Config, 'channels' | 'CONSOLE_URL' | 'DEPLOYMENT_NAME' | 'DIRSYNC_LANG'> {
  const { channels, complaints } = readChannelSettings(env)
  const config = readAll(
    env,
    schema.pick({ CONSOLE_URL: true, DEPLOYMENT_NAME: true, DIRSYNC_LANG: true }),
    complaints,
  )
  return { ...config, channels: speaking(channels, config.DIRSYNC_LANG) }
}

/** The channels, each with a language. @param language for channels that do not set one */
function speaking(channels: readonly OwnSettings[], language: Config['DIRSYNC_LANG']): ChannelSettings[] {
  return channels.map(channel => ({ ...channel, language: channel.language ?? language }))
}

/** @param further errors in other settings, reported together with these */
function readAll<Schema extends z.ZodObject>(
  env: Environment,
  wanted: Schema,
  further: readonly Message[] = [],
): z.output<Schema> {
  const values: Record<string, string | undefined> = {}
  const missing: MessageValue[] = []
  const complaints: Message[] = []
  const names = new Set([...ESSENTIAL.filter(name => name in wanted.shape), ...Object.keys(wanted.shape)])
  for (const name of names as Set<SettingName>) {
    const found = readSetting(env, name)
    const isEssential = (ESSENTIAL as readonly SettingName[]).includes(name)
    if ('value' in found) values[name] = found.value
    else if (found.flaw === 'absent' && !isEssential) values[name] = (SETTINGS[name] as Setting).default
    else if (found.flaw === 'absent') missing.push(name)
    else if (found.flaw === 'empty' && isEssential)
      missing.push(message('said.empty_file', { name, file: found.file }))
    else complaints.push(fileComplaint(name, found))
  }
  if (missing.length > 0) complaints.unshift(lacking(env, missing))
  const parsed = wanted.safeParse(values)
  // A value that could not be read has been reported already.
  const issues = parsed.error?.issues.filter(({ path }) => String(path[0]) in values) ?? []
  complaints.push(...issues.map(issue => complaint(issue, values)), ...further)
  if (!parsed.success || complaints.length > 0) throw new ConfigError(complaints)
  return parsed.data
}

function fileComplaint(
  name: string,
  { file, flaw }: { file: string; flaw: 'empty' | 'unreadable' },
): Message {
  // A secret itself may stand there by mistake.
  const isShown = !isSecret(name) || /^\.{0,2}\//.test(file)
  return holding(`${name}_FILE`, isShown ? file : null, message(`said.that_file_${flaw}`))
}

function isSecret(name: string): boolean {
  const setting =
    name in SETTINGS ? SETTINGS[name as SettingName] : CHANNEL_SETTINGS[partOf(name)?.part ?? '']
  return 'secret' in setting
}

/** A password or parameter in an address, even a mistyped one; the content of HR_SOURCES' file in place of its path. */
const MAY_BE_SECRET = /@|\?.*=|^\s*[[{]/s

/** What is wrong with the value of a setting, which is shown unless it is null or may be secret. */
function holding(name: string, value: string | null | undefined, wanted: Said): Message {
  const held =
    value === null || MAY_BE_SECRET.test(value ?? '') ? message('said.secret') : JSON.stringify(value ?? '')
  return message('said.setting_holds', { name, held, wanted })
}

/** People in a checkout may have meant to run embedded. They are not told where any setting comes from a file. */
function lacking(env: Environment, missing: MessageValue[]): Message {
  const hasFiles = Object.keys(SETTINGS).some(name => env[`${name}_FILE`]?.trim())
  const names = joinedValues('said.both', missing)
  return message(hasFiles ? 'said.settings_missing' : 'said.settings_missing_or_embedded', { names })
}

function complaint(issue: z.core.$ZodIssue, values: Record<string, string | undefined>): Message {
  const name = String(issue.path[0]) as SettingName
  const inner = issue.code === 'invalid_union' ? issue.errors.flat()[0] : issue
  const wanted =
    inner?.code === 'invalid_value'
      ? message('said.wanted_one_of', { names: inner.values.map(String) })
      : saidBySchema(inner?.message ?? issue.message)
  return holding(name, isSecret(name) ? null : values[name], wanted)
}

/** TZ is Node.js' own, and read before anything else. */
function zoneComplaints({ TZ }: Environment): Message[] {
  if (!TZ || isClockOf(TZ)) return []
  return [holding('TZ', TZ, message('said.wanted_time_zone', { example: 'Asia/Shanghai' }))]
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

/** The channels of alerts, each setting also as `NAME_FILE`, and their errors. */
function readChannelSettings(env: Environment): ReturnType<typeof parseChannels> {
  // A setting without a channel's name is meant for a channel, too.
  const names = Object.keys(env).filter(name => `${name}_`.startsWith(CHANNEL_PREFIX))
  const values = new Map<string, string>()
  const complaints: Message[] = []
  for (const name of new Set(names.map(name => name.replace(/_FILE$/, '')))) {
    const found = readSetting(env, name)
    if ('value' in found) values.set(name, found.value)
    else if (found.flaw !== 'absent') complaints.push(fileComplaint(name, found))
  }
  const read = parseChannels(values)
  return { ...read, complaints: [...complaints, ...read.complaints] }
}

function present(env: Environment, name: string): boolean {
  return Boolean(env[name]?.trim() || env[`${name}_FILE`]?.trim())
}
