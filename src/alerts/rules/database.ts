import { numbers, percentText } from '../../texts/figures.ts'
import { MINUTE_MS, minutes, type RuleDefinition } from './kind.ts'
import { lastError } from './words.ts'

const GIGABYTE = 1e9

export const DATABASE = {
  /** dirsync's database is large, or has few connections left. Subject: `size` or `connections`. */
  database_full: {
    severity: 'critical',
    meaning:
      "Percentage of the connections of dirsync's database, and of ALERT_DATABASE_GB, that may be used.",
    figure: { min: 1, max: 100, default: 80, example: 90 },
    second: {
      name: 'ALERT_DATABASE_GB',
      ...{ min: 0.1, max: 100_000, default: 50, example: 200 },
      meaning: "How large dirsync's database may become, in GB.",
    },
    find: ({ database }, { figure, second }) =>
      [
        { subject: 'size', used: database.bytes, limit: second * GIGABYTE },
        { subject: 'connections', used: database.connections, limit: database.connectionsLimit },
      ]
        .filter(({ used, limit }) => used * 100 >= limit * figure)
        .map(({ subject, used, limit }) => ({ subject, facts: { used, limit, share: used / limit } })),
    values: (language, facts, subject) => {
      const style = { style: 'unit', unit: 'gigabyte', maximumFractionDigits: 1 } as const
      const amount = (name: string) =>
        subject === 'size'
          ? numbers(language, style).format(facts.number(name) / GIGABYTE)
          : numbers(language, {}).format(facts.number(name))
      return {
        used: amount('used'),
        limit: amount('limit'),
        percent: percentText(language, facts.number('share')),
      }
    },
    prometheus: [
      {
        subject: 'size',
        expr: (percent, gigabytes) =>
          `max by (job) (dirsync_database_size_bytes) / ${gigabytes}e9 >= ${percent / 100}`,
        summary: "dirsync's database has used {{ $value | humanizePercentage }} of its 50 GB",
        description: 'Find out what grows, or give it more room and say so here.',
      },
      {
        subject: 'connections',
        expr: percent =>
          `max by (job) (dirsync_database_connections) / max by (job) (dirsync_database_connections_limit) >= ${percent / 100}`,
        summary: "{{ $value | humanizePercentage }} of the connections of dirsync's database are used",
        description: 'Without one left, processes cannot start and pages do not open.',
      },
    ],
  },

  database_slow: {
    severity: 'warning',
    meaning: "Milliseconds that reading dirsync's figures may take, three times in a row.",
    figure: { min: 10, max: 10_000, default: 1000, example: 3000 },
    // Two evaluations after the first.
    holdsMs: () => MINUTE_MS,
    find: ({ took }, { figure }) =>
      took * 1000 <= figure ? [] : [{ facts: { milliseconds: Math.round(took * 1000) } }],
    values: (_, facts) => ({ milliseconds: Math.round(facts.number('milliseconds')) }),
    prometheus: {
      expr: milliseconds => `min by (job) (dirsync_figures_seconds) > ${milliseconds / 1000}`,
      summary: "Reading dirsync's figures takes {{ $value | humanizeDuration }}",
      description: 'They cost a few milliseconds on a healthy database, however many employees there are.',
    },
  },

  /** dirsync's database does not answer. Told from memory, by the process that evaluated last. */
  database_away: {
    severity: 'critical',
    meaning: "Minutes that dirsync's database may be away before it is an alert.",
    figure: { min: 0, max: 1440, default: 1, example: 5 },
    holdsMs: minutes,
    values: lastError,
    prometheus: {
      expr: 'max by (job) (dirsync_database_up) == 0',
      summary: "dirsync's database does not answer",
      description:
        'No process of the deployment can read it. No call leaves until it is back; nothing is lost.',
    },
  },
} as const satisfies Record<string, RuleDefinition>
