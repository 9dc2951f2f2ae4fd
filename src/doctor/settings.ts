import { CRON_JOBS } from '../../jobs/index.ts'
import { settingName } from '../../jobs/scheduler.ts'
import { CHANNEL_PREFIX, CHANNEL_SETTINGS, partOf } from '../alerts/channel-settings.ts'
import { type Config, type ConfigError, type Environment, readSetting, SETTINGS } from '../config.ts'
import { closestName } from '../lib/text.ts'
import { type Finding, failed, ok, warning } from './finding.ts'

/** Settings that are complete, and variables that only look like some. */
export function settingsFindings(env: Environment, embedded: boolean): Finding[] {
  const what = embedded
    ? 'no address is set, so everything runs embedded, with its data in .dirsync/'
    : 'complete'
  return [ok('settings', what), ...misspeltSettings(env)]
}

/** Settings with which nothing can run, so that nothing further can be checked. */
export function settingsFailures({ message }: ConfigError, env: Environment): Finding[] {
  const remedy = 'Correct it, then run this again: the rest was not checked.'
  return [...message.split('\n').map(line => failed('settings', line, remedy)), ...misspeltSettings(env)]
}

/** Names that begin like this are probably meant for dirsync. */
const OURS = /^(?:DIRSYNC|PLATFORM|HR|GATE|BREAKER|SCHEDULE|SELLER|SWEEP|ALERT)_/
/** Those of docker-compose.yml. */
const OF_COMPOSE = ['DEPLOYMENT', 'NOTIFICATION_PORT', 'PORT', 'VERSION', 'WORKERS'].map(
  name => `DIRSYNC_${name}`,
)

/** Variables that look like settings and are none, with the setting that may be meant. */
export function misspeltSettings(env: Environment): Finding[] {
  const settings = [...Object.keys(SETTINGS), ...CRON_JOBS.map(job => settingName(job.name))]
  const known = new Set([...settings.flatMap(name => [name, `${name}_FILE`]), ...OF_COMPOSE])
  return (
    Object.keys(env)
      // A channel's are checked with the settings, and stop the start.
      .filter(name => !known.has(name) && !`${name}_`.startsWith(CHANNEL_PREFIX))
      .map(name => ({ name, meant: closestName(name.toUpperCase(), settings) }))
      .filter(({ name, meant }) => meant !== undefined || OURS.test(name))
      .sort((a, b) => a.name.localeCompare(b.name))
      .map(({ name, meant }) =>
        warning(
          'settings',
          `${name} is not a setting of dirsync`,
          meant ? `Did you mean ${meant}?` : 'Remove it, or correct its name.',
        ),
      )
  )
}

/** A setting as it may be shown to anybody who may see settings. */
export interface DescribedSetting {
  name: string
  group: string
  meaning: string
  /** Its value is never shown; see `isSet`. */
  secret: boolean
  /** As text; an address without its password and parameters. Null: not set, or a secret that is no address. */
  value: string | null
  isSet: boolean
  /** What holds where it is not set; null: nothing. */
  default: string | null
  source: 'environment' | 'file' | 'default' | 'embedded' | 'none'
  /** Where it comes from a file (`NAME_FILE`). */
  file: string | null
}

const SCHEDULES = 'Schedules'
const ALERTS = 'Alerts'

/** Every setting, as it holds: those of src/config.ts, the channels of alerts, and the schedules of the cron jobs. */
export function describeSettings(env: Environment, config: Config): DescribedSetting[] {
  const settings = Object.entries<Shown>(SETTINGS).map(([name, setting]) =>
    describe(env, config, name, setting),
  )
  const schedules = CRON_JOBS.map(({ name, does, schedule }) => {
    const setting = { group: SCHEDULES, meaning: `When the cron job runs that ${does}.`, default: schedule }
    // A schedule is read from its variable alone; an empty one counts as none.
    return describe({ [settingName(name)]: env[settingName(name)] }, config, settingName(name), setting)
  })
  return [...settings, ...channelSettings(env, config), ...schedules]
}

/** What is set for channels; where nothing is, that one may. */
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
  /** What the type's description would be, where there is no type. */
  values?: string
  default?: string
  secret?: true
}

function describe(env: Environment, config: Config, name: string, setting: Shown): DescribedSetting {
  const { group, meaning, secret = false } = setting
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
  })
  const found = readSetting(env, name)
  if ('value' in found) return of(found.file === null ? 'environment' : 'file', found.value, found.file)
  const held = config.embedded ? (config as Record<string, unknown>)[name] : undefined
  const embedded = typeof held === 'number' ? String(held) : held
  if (typeof embedded === 'string' && embedded !== setting.default) return of('embedded', embedded)
  return setting.default === undefined ? of('none', null) : of('default', setting.default)
}

/**
 * An address loses its password, and everything after its path: parameters may hold a password too; of a web address that is
 * a secret, the path may be just that. Any other secret is not shown at all.
 */
function shownValue(text: string, { type, values, secret }: Shown): string | null {
  if (!/^address[ ,]/.test(type?.description ?? values ?? '')) return secret ? null : text
  const [, kind = '', address = ''] = /^([a-z]+\+)?(.*)$/.exec(text) ?? []
  if (!URL.canParse(address)) return null
  const { protocol, username, host, pathname } = new URL(address)
  if (secret && protocol.startsWith('http')) return `${kind}${protocol}//${host}/…`
  return `${kind}${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}
