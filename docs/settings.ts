import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CRON_JOBS } from '../jobs/index.ts'
import { settingName } from '../jobs/scheduler.ts'
import { CHANNEL_PREFIX, CHANNEL_SETTINGS } from '../src/alerts/channel-settings.ts'
import { ESSENTIAL, SETTINGS } from '../src/settings/settings.ts'

/**
 * `npm run docs:settings`: generates docs/settings.md from src/settings/settings.ts, src/alerts/channel-settings.ts and
 * jobs/index.ts.
 */

const FILE = join(import.meta.dirname, 'settings.md')

const INTRODUCTION = `# Settings

This page is generated from \`src/settings/settings.ts\`, \`src/alerts/channel-settings.ts\` and \`jobs/index.ts\` by
\`npm run docs:settings\`. Do not edit it.

All settings are environment variables. Each but \`TZ\` and those of [schedules](#schedules) can also be given as
\`NAME_FILE\`, the path of a file whose first line is the value: use that for secrets (marked ⚿ below). The variable itself
takes precedence over its file.

If \`DATABASE_URL\`, \`HR_DATABASE_URL\`, \`HR_SOURCES\` and \`PLATFORM_BASE_URL\` are all absent, everything runs embedded and
nothing is required; \`PLATFORM_APP_ID\`, \`PLATFORM_APP_SECRET\` and \`PLATFORM_SIGN_ALGORITHM\` then have no effect.
Otherwise a missing or wrong setting stops the start with exit code 2 and a sentence that names it. \`dirsync doctor\` also
finds misspelt names.

How the address of a PostgreSQL asks for TLS: [PostgreSQL with TLS](mapping.md#postgresql-with-tls).
`

const CHANNELS = `### Channels

Where alerts go. \`${CHANNEL_PREFIX}<NAME>\` defines a channel. You choose its name, in capitals and digits, such as
\`OPS\`; there may be any number. The address determines the kind of channel; if a proxy hides that, put the kind before
it, as in \`dingtalk+https://proxy.example.com/…\`. How to get the address from each vendor: [alerts](alerts.md#channels).
`

const SCHEDULES = `## Schedules

Each cron job has a setting for its schedule: a cron expression of five fields, or of six that begin with seconds, in
the time zone of the process (\`TZ\`), or \`off\`, except for the sweep: without it what the queue loses would never be
sent. With a day of the month and a day of the week, a job runs only on days that match both, unlike in crontab:
\`0 2 1-7 * 1\` is the first Monday of the month.

However many processes run, a tick runs once. A tick that was missed while everything was down runs once at the next
start. A process that is both scheduler and worker also syncs at its start, without what is off or paused; \`start --once\`
syncs everything.

In the night in which summer time begins, a time that the clocks leave out has no tick: \`0 2 * * *\` does not run in that
night in Berlin. When summer time ends, the hour that comes twice has ticks in only one of the two, unless the schedule
has them in every hour of every day: \`*/5 0-22 * * *\` rests for an hour in that night. Choose other hours if that
matters.

\`TZ\` is the name of a zone, such as \`Asia/Shanghai\`; without it, the zone is that of the machine, or UTC in a container. A
name that does not exist, such as \`Asia/Beijing\` or \`UTC+8\`, stops the start.
`

interface Shown {
  group: string
  meaning: string
  type: { description?: string | undefined }
  example: string
  default?: string
  secret?: true
}

/** The whole page. */
export function settingsPage(): string {
  const settings = Object.entries<Shown>(SETTINGS)
  const groups = [...new Set(settings.map(([, { group }]) => group))]
  const sections = groups.flatMap(group => {
    const rows = settings
      .filter(([, setting]) => setting.group === group)
      .map(([name, setting]) => [
        `\`${name}\`${setting.secret ? ' ⚿' : ''}`,
        defaultOf(name, setting),
        `${setting.meaning}`,
        setting.type.description ?? 'text',
        `\`${setting.example}\``,
      ])
    const section = `## ${group}\n\n${table(HEADER, rows)}`
    return group === 'Alerts' ? [section, CHANNELS, channelTable()] : [section]
  })
  const schedules = CRON_JOBS.map(job => [`\`${settingName(job.name)}\``, `\`${job.schedule}\``, job.does])
  return [
    INTRODUCTION,
    ...sections,
    SCHEDULES,
    table(['Setting', 'Default', 'What the job does'], schedules),
  ].join('\n')
}

const HEADER = ['Setting', 'Default', 'What it is', 'Values', 'Example']

function channelTable(): string {
  const rows = Object.entries<Omit<Shown, 'group' | 'type'> & { values: string }>(CHANNEL_SETTINGS).map(
    ([part, setting]) => [
      `\`${CHANNEL_PREFIX}<NAME>${part}\`${setting.secret ? ' ⚿' : ''}`,
      setting.default === undefined ? '–' : `\`${setting.default}\``,
      setting.meaning,
      setting.values,
      `\`${setting.example}\``,
    ],
  )
  return table(HEADER, rows)
}

function defaultOf(name: string, setting: Shown): string {
  if ((ESSENTIAL as readonly string[]).includes(name)) return 'required'
  if (setting.default === undefined) return '–'
  return setting.default === '' ? 'empty' : `\`${setting.default}\``
}

/** A table with its columns aligned, as the formatter wants it. */
export function table(header: string[], rows: string[][]): string {
  const widths = header.map((_, column) =>
    Math.max(3, ...[header, ...rows].map(cells => (cells[column] ?? '').length)),
  )
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const rule = widths.map(width => '-'.repeat(width))
  return `${[header, rule, ...rows].map(line).join('\n')}\n`
}

if (import.meta.main) {
  const page = settingsPage()
  if (page !== readFileSync(FILE, { encoding: 'utf8', flag: 'a+' })) writeFileSync(FILE, page)
}
