import { NEEDED_ROLES } from '../../sync/processes/process.ts'
import { rolesText } from '../../texts/failures.ts'
import { durationText, numbers, percentText } from '../../texts/figures.ts'
import { textOr } from '../../texts/texts.ts'
import { ago, answer, lastError, MINUTE_MS, minutes, type RuleDefinition } from './kind.ts'

/** Fewer rejected calls are chance, whatever their share. */
const FEWEST_REJECTED = 5

const GIGABYTE = 1e9

/** dirsync itself: its processes, how the platform takes its calls, its database, and the channels. */
export const RUNNING = {
  /** No running process has a role that the work needs. Subject: the role. */
  role_missing: {
    severity: 'critical',
    meaning: 'Minutes without a running worker or scheduler before it is an alert.',
    figure: { min: 0, max: 1440, default: 1, example: 5, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ processes }) =>
      NEEDED_ROLES.filter(needed => !processes.some(({ role }) => role === needed)).map(role => ({
        subject: role,
        facts: { role },
      })),
    values: (language, _, subject) => ({ role: textOr(language, `process_role.${subject}`, subject) }),
    screen: 'halts',
    prometheus: {
      expr: 'max by (job, role) (dirsync_processes{role=~"worker|scheduler"}) == 0',
      summary: 'No living {{ $labels.role }} of dirsync',
      description:
        'Other processes of the deployment are alive, but none with this role. Nothing is lost, but nothing goes on.',
    },
  },

  /**
   * A process stopped sending heartbeats without signing off, and no other took its place. Heartbeats are compared
   * with each other, because all of them are late after the database was down. Subject: its host and number.
   */
  process_lost: {
    severity: 'warning',
    inhibitedBy: ['role_missing', 'database_away'],
    meaning: 'Minutes after a process died or froze, without being replaced, before it is an alert.',
    figure: { min: 0, max: 1440, default: 2, example: 10, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ lostProcesses }) =>
      lostProcesses.map(({ process, roles }) => ({ subject: process, facts: { roles } })),
    values: (language, facts) => ({ roles: rolesText(language, facts.text('roles').split(', ')) }),
    screen: 'halts',
    prometheus: {
      expr: 'max by (job) (dirsync_processes_lost) > 0',
      summary: '{{ $value }} process(es) of dirsync are gone or frozen',
      description:
        'They ended without a word, and none was started in their place. Others may do their work meanwhile.',
    },
  },

  /**
   * No running worker, or no scheduler, reaches the queue; or a process does not, while others do. Subject: that process's host
   * and number.
   */
  queue_away: {
    severity: 'critical',
    inhibitedBy: ['database_away'],
    meaning: 'Minutes that the queue may be away before it is an alert.',
    figure: { min: 0, max: 1440, default: 1, example: 5, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ queueAway, queueAwayForAll }, { now }) =>
      queueAwayForAll === null
        ? // Since they were found: processes reach it again one after the other.
          queueAway.map(({ process, error }) => ({ subject: process, facts: { process, error } }))
        : [{ facts: { error: queueAway[0]?.error ?? null }, since: ago(queueAwayForAll, now) }],
    values: (language, facts) => ({
      ...lastError(language, facts),
      process: facts.has('process') ? facts.text('process') : 'none',
    }),
    screen: 'halts',
    prometheus: {
      expr: minutes => `max by (job, scope) (dirsync_queue_away_seconds) > ${minutes * 60}`,
      isTimed: true,
      summary:
        '{{ if eq $labels.scope `process` }}A process of dirsync does not reach the queue{{ else }}No worker, or no scheduler, of dirsync reaches the queue{{ end }}',
      description:
        'It has been so for {{ $value | humanizeDuration }}. Work is kept, and waits for processes that reach it.',
    },
  },

  /** A running process has other HR sources than the one started last, so it does nothing for those that differ. */
  hr_sources_differ: {
    severity: 'critical',
    meaning:
      'Minutes that processes may have different HR sources, as during a restart, before it is an alert.',
    figure: { min: 0, max: 1440, default: 2, example: 10, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ outdatedProcesses: outdated }) =>
      outdated.length === 0 ? [] : [{ facts: { count: outdated.length, processes: outdated.join(', ') } }],
    values: (_, facts) => ({ ...facts.numbers('count'), processes: facts.text('processes') }),
    screen: 'halts',
    prometheus: {
      expr: 'max by (job) (dirsync_processes_outdated) > 0',
      summary: 'Processes of dirsync have different HR sources',
      description:
        '{{ $value }} of them plan and send nothing for the sources that differ. Give all processes the same HR_SOURCES, and restart these.',
    },
  },

  /** What fails for a running process alone has it leave all work to others. Subject: its host and number. */
  process_aside: {
    severity: 'warning',
    inhibitedBy: ['database_away'],
    meaning:
      'Minutes that a process may leave all work to others, because the platform refuses its application secret or cannot be reached from it, before it is an alert.',
    figure: { min: 0, max: 1440, default: 2, example: 10, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ asideProcesses }) =>
      asideProcesses.map(({ process, reason }) => ({ subject: process, facts: { reason } })),
    values: (_, facts) => ({ reason: facts.text('reason') }),
    screen: 'halts',
    prometheus: {
      expr: 'max by (job, reason) (dirsync_processes_aside) > 0',
      summary: '{{ $value }} process(es) of dirsync leave all work to others',
      description:
        'Reason: {{ $labels.reason }}. The platform refuses their application secret, or they do not reach it, while others work. `dirsync status` names them.',
    },
  },

  /** The platform rejects calls because there are too many. */
  calls_rejected: {
    severity: 'warning',
    meaning: 'It is an alert when the platform rejects more than this percentage of the calls as too many.',
    figure: { min: 0, max: 100, default: 1, example: 5 },
    find: ({ recentCalls: { calls, rejected } }, { figure }) =>
      rejected < FEWEST_REJECTED || rejected * 100 <= figure * calls
        ? []
        : [{ facts: { share: rejected / calls, rejected, calls } }],
    values: (language, facts) => ({
      share: percentText(language, facts.number('share')),
      ...facts.numbers('rejected', 'calls'),
    }),
    screen: 'platform',
    prometheus: {
      expr: percent => `sum by (job) (increase(dirsync_platform_calls_rate_limited_total[15m]))
  / sum by (job) (increase(dirsync_platform_calls_total[15m])) > ${percent / 100}
  and on (job) (sum by (job) (increase(dirsync_platform_calls_rate_limited_total[15m])) >= ${FEWEST_REJECTED})`,
      summary: 'The platform rejects {{ $value | humanizePercentage }} of the calls as too many',
      description:
        'Over the last 15 minutes. Something else calls it with the same application, or the limit is lower than PLATFORM_RATE_LIMIT.',
    },
  },

  /** The clock differs from the platform's. */
  clock: {
    severity: 'warning',
    meaning: "Seconds that this machine's clock may differ from the platform's.",
    figure: { min: 1, max: 300, default: 60, example: 30 },
    find: ({ clockOffset }, { figure }) =>
      clockOffset === null || Math.abs(clockOffset) <= figure
        ? []
        : [{ facts: { seconds: Math.round(clockOffset) } }],
    values: (language, facts) => ({
      seconds: durationText(language, Math.abs(facts.number('seconds')) * 1000),
    }),
    prometheus: {
      expr: seconds => `max by (job) (dirsync_clock_offset_seconds) > ${seconds}`,
      summary: "The clock differs from the platform's by {{ $value | humanizeDuration }}",
      description:
        'dirsync corrects its calls for it, but from 5 minutes on a receiver on that machine refuses notifications. Let it keep time by NTP.',
    },
  },

  /** Far more access tokens are created than needed: something invalidates them. */
  tokens: {
    severity: 'warning',
    meaning: 'Access tokens created within an hour before it is an alert. The platform permits 60.',
    figure: { min: 1, max: 60, default: 20, example: 40 },
    find: ({ tokenCreations: count }, { figure }) => (count <= figure ? [] : [{ facts: { count } }]),
    values: (_, facts) => facts.numbers('count'),
    screen: 'platform',
    prometheus: {
      expr: figure => `max by (job) (dirsync_token_creations_last_hour) > ${figure}`,
      summary: '{{ $value }} access tokens were created within an hour',
      description:
        'Something takes them away, probably another program with the same application. The platform permits 60.',
    },
  },

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
    figure: { min: 0, max: 1440, default: 1, example: 5, lasts: 'minutes' },
    holdsMs: minutes,
    values: lastError,
    prometheus: {
      expr: 'max by (job) (dirsync_database_up) == 0',
      summary: "dirsync's database does not answer, or takes no writes",
      description:
        'No process of the deployment can work with it. No call leaves until it is back; nothing is lost.',
    },
  },

  /** A channel does not accept messages, or not for all of its recipients. Subject: its name. Told on the other channels. */
  dead_channel: {
    severity: 'warning',
    meaning:
      'Minutes that messages of a channel do not reach all of its recipients before the other channels are told.',
    figure: { min: 1, max: 1440, default: 10, example: 30, lasts: 'minutes' },
    find: ({ failingChannels }, { figure, now }) =>
      failingChannels
        .filter(({ since }) => now.getTime() - since.getTime() > figure * MINUTE_MS)
        .map(({ channel, since, answer }) => ({ subject: channel, facts: { channel, answer }, since })),
    values: answer,
    prometheus: {
      expr: minutes => `max by (job, channel) (dirsync_alert_channel_failing_seconds) > ${minutes * 60}`,
      summary: 'Alerts do not reach the channel {{ $labels.channel }}',
      description:
        'Its messages have not reached all of its recipients for {{ $value | humanizeDuration }}. `dirsync alerts channels` shows what its server answers.',
    },
  },

  /** The monitor at HEARTBEAT_URL does not accept the calls. */
  heartbeat_failing: {
    severity: 'warning',
    meaning: 'Minutes that the monitor at HEARTBEAT_URL accepts no call before it is an alert.',
    figure: { min: 1, max: 1440, default: 10, example: 30, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ heartbeatFailing }) =>
      heartbeatFailing === null ? [] : [{ facts: { answer: heartbeatFailing } }],
    values: answer,
    prometheus: {
      expr: 'max by (job) (dirsync_heartbeat_failing) > 0',
      summary: 'The heartbeat of dirsync does not get through',
      description:
        'The monitor of HEARTBEAT_URL takes no call. It raises its own alarm although dirsync works.',
    },
  },
} as const satisfies Record<string, RuleDefinition>
