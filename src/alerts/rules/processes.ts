import { NEEDED_ROLES } from '../../sync/process.ts'
import { textOr } from '../../texts/texts.ts'
import { ago, minutes, type RuleDefinition } from './kind.ts'
import { lastError } from './words.ts'

export const PROCESSES = {
  /** No running process has a role that the work needs. Subject: the role. */
  role_missing: {
    severity: 'critical',
    meaning: 'Minutes without a running worker or scheduler before it is an alert.',
    figure: { min: 0, max: 1440, default: 1, example: 5 },
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
    figure: { min: 0, max: 1440, default: 2, example: 10 },
    holdsMs: minutes,
    find: ({ lostProcesses }) =>
      lostProcesses.map(({ process, roles }) => ({ subject: process, facts: { roles } })),
    values: (_, facts) => ({ roles: facts.text('roles') }),
    screen: 'halts',
    prometheus: {
      expr: 'max by (job) (dirsync_processes_lost) > 0',
      summary: '{{ $value }} process(es) of dirsync are gone or frozen',
      description:
        'They ended without a word, and none was started in their place. Others may do their work meanwhile.',
    },
  },

  /** A running process does not reach the queue. */
  queue_away: {
    severity: 'critical',
    inhibitedBy: ['database_away'],
    meaning: 'Minutes that the queue may be away before it is an alert.',
    figure: { min: 0, max: 1440, default: 1, example: 5 },
    holdsMs: minutes,
    find: ({ queueAway }, { now }) =>
      queueAway === null ? [] : [{ facts: { error: queueAway.error }, since: ago(queueAway.age, now) }],
    values: lastError,
    screen: 'halts',
    prometheus: {
      expr: minutes => `max by (job) (dirsync_queue_away_seconds) > ${minutes * 60}`,
      isTimed: true,
      summary: 'A process of dirsync does not reach the queue',
      description:
        'It has not for {{ $value | humanizeDuration }}. Work is kept, but does not reach the workers.',
    },
  },

  /** A running process has other HR sources than the one started last, so it does nothing for those that differ. */
  hr_sources_differ: {
    severity: 'critical',
    meaning:
      'Minutes that processes may have different HR sources, as during a restart, before it is an alert.',
    figure: { min: 0, max: 1440, default: 2, example: 10 },
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
} as const satisfies Record<string, RuleDefinition>
