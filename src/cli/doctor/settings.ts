import { CRON_JOBS } from '../../../jobs/index.ts'
import { type Config, ConfigError, environment } from '../../config.ts'
import { scheduledJobs, settingName } from '../../cron-scheduler.ts'
import type { CheckedSettings } from '../settings.ts'
import { checkSettings } from '../settings.ts'
import { type Finding, failed, ok, warning } from './finding.ts'
import { misspeltSettings } from './misspelt.ts'

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
