import { CRON_JOBS } from '../../jobs/index.ts'
import { settingName } from '../../jobs/scheduler.ts'
import { CHANNEL_PREFIX, CHANNEL_SETTINGS, partOf } from '../alerts/channel-settings.ts'
import { type Config, type ConfigError, type Environment, readSetting } from '../config.ts'
import { closestName } from '../lib/text.ts'
import { EMBEDDED_APPLICATION, RENAMED_SETTINGS, SETTINGS } from '../settings/settings.ts'
import { message } from '../texts/message.ts'
import { type CheckResult, failed, ok, warning } from './finding.ts'

/** Settings that are complete, and variables that only look like some. */
export function settingsFindings(env: Environment, embedded: boolean): CheckResult[] {
  const what = message(embedded ? 'doctor.embedded' : 'doctor.complete')
  return [ok('settings', what), ...misspeltSettings(env)]
}

/** Settings with which nothing can run, so that nothing further can be checked. */
export function settingsFailures({ problems }: ConfigError, env: Environment): CheckResult[] {
  const remedy = message('doctor.correct_it')
  return [...problems.map(problem => failed('settings', problem, remedy)), ...misspeltSettings(env)]
}

/** Names with these prefixes are probably meant for dirsync. */
const OURS = /^(?:DIRSYNC|PLATFORM|HR|GATE|BREAKER|SCHEDULE|SELLER|ALERT)_/
/** Those of docker-compose.yml. */
const OF_COMPOSE = ['DEPLOYMENT', 'NOTIFICATION_PORT', 'PORT', 'VERSION', 'WORKERS'].map(
  name => `DIRSYNC_${name}`,
)

/** Variables that look like settings but are not, with the setting that is meant, or may be. */
export function misspeltSettings(env: Environment): CheckResult[] {
  const settings = [...Object.keys(SETTINGS), ...CRON_JOBS.map(job => settingName(job.name))]
  const known = new Set([...settings.flatMap(name => [name, `${name}_FILE`]), ...OF_COMPOSE])
  return (
    Object.keys(env)
      // Channel settings are checked together with all settings, and an error there prevents the start.
      .filter(name => !known.has(name) && !`${name}_`.startsWith(CHANNEL_PREFIX))
      .sort((a, b) => a.localeCompare(b))
      .flatMap(name => {
        const renamed = RENAMED_SETTINGS[name.replace(/_FILE$/, '')]
        if (renamed) {
          const what = message('doctor.renamed', { name, setting: renamed })
          return [warning('settings', what, message('doctor.rename_it'))]
        }
        const meant = closestName(name.toUpperCase(), settings)
        if (meant === undefined && !OURS.test(name)) return []
        const remedy = meant ? message('doctor.meant', { setting: meant }) : message('doctor.remove_it')
        return [warning('settings', message('doctor.misspelt', { name }), remedy)]
      })
  )
}

/** A setting in a form that may be shown to anyone who may see settings. */
export interface DescribedSetting {
  name: string
  group: string
  meaning: string
  /** Its value is never shown; see `isSet`. */
  secret: boolean
  /**
   * As text; an address without its password and parameters. Null if not set, or if it is a secret other than an
   * address.
   */
  value: string | null
  isSet: boolean
  /** The value that applies if it is not set; null for none. */
  default: string | null
  source: 'environment' | 'file' | 'default' | 'embedded' | 'none'
  /** The file, if the value comes from one (`NAME_FILE`). */
  file: string | null
  /** A line for settings.env: the value as it is, or an example of one that is not set or not shown. */
  line: string
}

/** A line for settings.env with an example value. */
export function exampleLine(name: keyof typeof SETTINGS | `${typeof CHANNEL_PREFIX}<NAME>`): string {
  const { example } = name in SETTINGS ? SETTINGS[name as keyof typeof SETTINGS] : CHANNEL_SETTINGS['']
  return lineOf(name, example)
}

/** The line that sets when a cron job runs. */
export function scheduleLine(job: string, expression: string): string {
  return lineOf(settingName(job), expression)
}

function lineOf(name: string, value: string): string {
  return `${name.replace('<NAME>', 'OPS')}=${value}`
}

const SCHEDULES = 'Schedules'
const ALERTS = 'Alerts'

/** Every setting with its value: those of src/config.ts, the alert channels, and the schedules of the cron jobs. */
export function describeSettings(env: Environment, config: Config): DescribedSetting[] {
  const settings = Object.entries<Shown>(SETTINGS).map(([name, setting]) =>
    describe(env, config, name, setting),
  )
  const schedules = CRON_JOBS.map(({ name, does, schedule }) => {
    const setting = { group: SCHEDULES, meaning: `When the cron job runs that ${does}.`, default: schedule }
    // A schedule is read only from its variable; an empty one counts as not set.
    return describe({ [settingName(name)]: env[settingName(name)] }, config, settingName(name), setting)
  })
  return [...settings, ...channelSettings(env, config), ...schedules]
}

/** The settings of channels; if there are none, an entry that shows how to add one. */
function channelSettings(env: Environment, config: Config): DescribedSetting[] {
  const names = Object.keys(env).map(name => name.replace(/_FILE$/, ''))
  const set = [...new Set(names)]
    .filter(name => partOf(name) !== null && 'value' in readSetting(env, name))
    .sort()
  if (set.length === 0)
    return [describe({}, config, `${CHANNEL_PREFIX}<NAME>`, { group: ALERTS, ...CHANNEL_SETTINGS[''] })]
  return set.map(name =>
    describe(env, config, name, { group: ALERTS, ...CHANNEL_SETTINGS[partOf(name)?.part ?? ''] }),
  )
}

interface Shown {
  group: string
  meaning: string
  type?: { description?: string | undefined }
  /** Described in place of a type, for settings that have none. */
  values?: string
  default?: string
  example?: string
  secret?: true
}

function describe(env: Environment, config: Config, name: string, setting: Shown): DescribedSetting {
  const { group, meaning, secret = false, example = '' } = setting
  const of = (source: DescribedSetting['source'], text: string | null, file: string | null = null) => ({
    name,
    group,
    meaning,
    secret,
    value: text === null ? null : shownValue(text, setting),
    isSet: text !== null,
    default: setting.default ?? null,
    source,
    file,
    line: lineOf(
      name,
      // Even an address that is no secret may hold a password.
      (secret || text === null ? null : shownValue(text, setting)) ?? setting.default ?? example,
    ),
  })
  const isBrought = config.embedded && (EMBEDDED_APPLICATION as readonly string[]).includes(name)
  const found = readSetting(isBrought ? {} : env, name)
  if ('value' in found) return of(found.file === null ? 'environment' : 'file', found.value, found.file)
  const held = config.embedded ? (config as Record<string, unknown>)[name] : undefined
  // As it would be written in settings.env: a list with commas.
  const embedded = typeof held === 'number' || Array.isArray(held) ? String(held) : held
  if (typeof embedded === 'string' && embedded !== setting.default) return of('embedded', embedded)
  return setting.default === undefined ? of('none', null) : of('default', setting.default)
}

/**
 * The shown form of a value. An address loses its password and everything after its path, because parameters may hold
 * a password too; if a web address is a secret, it also loses its path. Any other secret is not shown at all.
 */
function shownValue(text: string, { type, values, secret }: Shown): string | null {
  if (!/^address[ ,]/.test(type?.description ?? values ?? '')) return secret ? null : text
  const [, kind = '', address = ''] = /^([a-z]+\+)?(.*)$/.exec(text) ?? []
  if (!URL.canParse(address)) return null
  const { protocol, username, host, pathname } = new URL(address)
  if (secret && protocol.startsWith('http')) return `${kind}${protocol}//${host}/…`
  return `${kind}${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}
