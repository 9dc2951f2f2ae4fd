import { CRON_JOBS } from '../../../jobs/index.ts'
import { scheduledJobs, settingName } from '../../../jobs/scheduler.ts'
import { type Config, ConfigError, type Environment, environment, SETTINGS } from '../../config.ts'
import { type CheckedSettings, checkSettings } from '../settings.ts'
import { type Finding, failed, ok, warning } from './doctor.ts'

/** The settings, and variables that only look like some; null where nothing further can be checked. */
export function examineSettings(): { findings: Finding[]; checked: CheckedSettings | null } {
  const misspelt = misspeltSettings(
    environment(),
    CRON_JOBS.map(job => settingName(job.name)),
  ).map(({ name, meant }) =>
    warning(
      'settings',
      `${name} is no setting of dirsync`,
      meant ? `Did you mean ${meant}?` : 'Remove it, or correct its name.',
    ),
  )
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

/** The schedules of the cron jobs. */
export function examineSchedules(config: Config): Finding[] {
  try {
    const jobs = scheduledJobs(CRON_JOBS, config.schedules)
    const off = CRON_JOBS.filter(({ name }) => !jobs.some(({ job }) => job.name === name))
    return [
      ok(
        'schedules',
        `${jobs.length} cron jobs${off.length > 0 ? `; off: ${off.map(({ name }) => name).join(', ')}` : ''}`,
      ),
    ]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [failed('schedules', error.message)]
  }
}

/** Names that begin so are meant for dirsync, as far as anyone can tell. */
const OURS = /^(?:PLATFORM|HR|GATE|BREAKER|SCHEDULE|SELLER|SWEEP)_/

/** Variables that look like settings and are none, with the setting that may be meant. */
function misspeltSettings(
  env: Environment,
  schedules: readonly string[],
): { name: string; meant: string | null }[] {
  const settings = [...Object.keys(SETTINGS), ...schedules]
  const known = new Set(settings.flatMap(name => [name, `${name}_FILE`]))
  return Object.keys(env)
    .filter(name => !known.has(name))
    .map(name => ({ name, meant: nearest(name.toUpperCase(), settings) }))
    .filter(({ name, meant }) => meant !== null || OURS.test(name))
    .sort((a, b) => a.name.localeCompare(b.name))
}

/** The setting that is at most two letters away. */
function nearest(name: string, settings: string[]): string | null {
  const ranked = settings
    .map(setting => ({ setting, distance: distance(name, setting) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best && best.distance <= 2 ? best.setting : null
}

/** Letters to insert, remove or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1)
      next.push(
        Math.min(
          (row[j] ?? 0) + 1,
          (next[j - 1] ?? 0) + 1,
          (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      )
    row = next
  }
  return row[b.length] ?? 0
}
