import type { Facts } from '../../src/alerts/facts.ts'
import type { Finding, RuleName } from '../../src/alerts/rule.ts'
import { inWords } from '../../src/texts/message.ts'
import { healthyFacts, NO_MONEY } from './facts-under-test.ts'

/* What each rule finds, and what is just not enough. */

export const NOW = new Date('2026-11-22T08:00:00Z')
export const MINUTE = 60_000
export const HOUR = 3_600_000
export const ago = (ms: number) => new Date(NOW.getTime() - ms)

export const STOP = {
  source: '',
  category: 'credentials',
  platform_code: 1000210003,
  message: inWords('m'),
  remedy: inWords('r'),
  raised_by: 'dirsync',
  since: ago(5000),
}
export const SCHEDULE = {
  kind: 'changes' as const,
  source: '',
  interval: 300,
  lastGood: 901,
  unsuccessful: 901,
  error: inWords('relation "staff" does not exist'),
}
export const WORK = { operation: 'update-employee' as const, count: 3, queued: 2, age: 3601, isPutOff: false }
export const MONEY = { ...NO_MONEY, unknown: 2, for_person: 1, oldest: ago(MINUTE), latest: ago(MINUTE) }
/** Of 1000 in scope. */
export const status = (inSync: number): Facts['employees'] => [
  { status: 'in_sync', count: inSync },
  { status: 'waiting', count: 1000 - inSync },
  { status: 'left', count: 5000 },
]
export const open = (count: number, category = 'duplicate_mobile'): Facts['deadLetters'] => [
  { category, state: 'open', count: count - 1 },
  { category, state: 'retry_scheduled', count: 1 },
  { category, state: 'ignored', count: 100_000 },
]
export const database = (differs: Partial<Facts['database']>) => ({
  database: { bytes: 2e9, connections: 20, connectionsLimit: 100, ...differs },
})

/** What each rule finds just beyond its figure, and does not find at it. */
export const BORDERS: {
  rule: RuleName
  name: string
  beyond: Partial<Facts>
  at: Partial<Facts>
  found: Partial<Finding>
}[] = [
  {
    rule: 'halt',
    name: 'a halt',
    beyond: { stops: [{ ...STOP, scope: 'E900' }] },
    at: { stops: [] },
    found: {
      subject: 'E900',
      since: STOP.since,
      forMs: 0,
      facts: {
        scope: 'E900',
        category: 'credentials',
        platform_code: 1000210003,
        message: inWords('m'),
        remedy: inWords('r'),
      },
    },
  },
  {
    rule: 'paused',
    name: 'a pause',
    beyond: { stops: [{ ...STOP, scope: '*', category: 'paused', raised_by: 'dirsync (console:ann)' }] },
    at: { stops: [] },
    found: {
      subject: '',
      since: STOP.since,
      forMs: 4 * HOUR,
      facts: { by: 'dirsync (console:ann)', category: 'paused', message: inWords('m'), remedy: inWords('r') },
    },
  },
  {
    rule: 'held_run',
    name: 'a held run',
    beyond: { heldRuns: [{ run: 7, kind: 'changes', source: '', planned: 300, since: ago(MINUTE) }] },
    at: { heldRuns: [] },
    found: {
      subject: '7',
      since: ago(MINUTE),
      forMs: 0,
      facts: { run: 7, kind: 'changes', planned: 300 },
    },
  },
  {
    rule: 'source_suspect',
    name: 'a suspect source',
    beyond: {
      suspects: [
        {
          run: 8,
          kind: 'full',
          source: '',
          message: inWords('HR delivered no rows at all'),
          since: ago(HOUR),
        },
      ],
    },
    at: { suspects: [] },
    found: {
      subject: 'full',
      since: ago(HOUR),
      forMs: 0,
      facts: { run: 8, kind: 'full', message: inWords('HR delivered no rows at all') },
    },
  },
  {
    rule: 'run_overdue',
    name: 'three intervals without a good run',
    beyond: { schedules: [SCHEDULE] },
    at: { schedules: [{ ...SCHEDULE, unsuccessful: 900 }] },
    found: {
      subject: 'changes',
      since: ago(901_000),
      forMs: 0,
      facts: {
        ...{ kind: 'changes', age_seconds: 901, interval_seconds: 300 },
        error: inWords('relation "staff" does not exist'),
      },
    },
  },
  {
    rule: 'cases_jump',
    name: 'more than 5 % of 1000 employees',
    beyond: { deadLetters: open(61) },
    at: { deadLetters: open(60) },
    found: {
      subject: 'duplicate_mobile',
      forMs: 0,
      facts: { category: 'duplicate_mobile', count: 61, rise: 51 },
    },
  },
  {
    rule: 'cases_jump',
    name: 'more than 20 cases of few employees, of a category that there was not',
    beyond: { employees: [{ status: 'in_sync', count: 10 }], deadLetters: open(21, 'invalid_hr_row') },
    at: { employees: [{ status: 'in_sync', count: 10 }], deadLetters: open(20, 'invalid_hr_row') },
    found: { subject: 'invalid_hr_row', facts: { category: 'invalid_hr_row', count: 21, rise: 21 } },
  },
  {
    rule: 'out_of_sync',
    name: 'less than 98 % in sync',
    beyond: { employees: status(979) },
    at: { employees: status(980) },
    found: { subject: '', forMs: HOUR, facts: { share: 0.979, in_sync: 979, in_scope: 1000 } },
  },
  {
    rule: 'work_stuck',
    name: 'work of more than an hour',
    beyond: { work: [WORK, { ...WORK, operation: 'bind-openid', age: 3600 }] },
    at: { work: [{ ...WORK, age: 3600 }] },
    found: {
      subject: '',
      since: ago(3_601_000),
      forMs: 0,
      facts: {
        ...{ operation: 'update-employee', count: 3, age_seconds: 3601 },
        ...{ cause: 'others_first', idle_seconds: 100 },
      },
    },
  },
  {
    rule: 'money_unknown',
    name: 'unknown refunds',
    beyond: { money: { refund: MONEY, topup: NO_MONEY } },
    at: { money: { refund: NO_MONEY, topup: NO_MONEY } },
    found: {
      subject: 'refund',
      since: MONEY.oldest,
      forMs: 0,
      facts: { count: 2, for_person: 1, latest_at: MONEY.latest.getTime() },
    },
  },
  {
    rule: 'money_unknown',
    name: 'unknown top-ups',
    beyond: { money: { refund: NO_MONEY, topup: MONEY } },
    at: { money: { refund: NO_MONEY, topup: NO_MONEY } },
    found: { subject: 'topup' },
  },
  {
    rule: 'money_contradicted',
    name: 'a refund that was called rejected and was carried out',
    beyond: {
      outcomesContradicted: [{ kind: 'refund', count: 1, latest: 'R-1', of: 'T-1', how: 'carried_out' }],
    },
    at: { outcomesContradicted: [] },
    found: { subject: 'refund', forMs: 0, facts: { count: 1, latest: 'R-1', of: 'T-1', how: 'carried_out' } },
  },
  {
    rule: 'money_contradicted',
    name: 'a top-up that was called rejected and was carried out',
    beyond: {
      outcomesContradicted: [{ kind: 'topup', count: 1, latest: 'U-1', of: 'points', how: 'carried_out' }],
    },
    at: { outcomesContradicted: [] },
    found: { subject: 'topup' },
  },
  {
    rule: 'calls_rejected',
    name: 'more than 1 % of the calls rejected',
    beyond: { recentCalls: { calls: 1000, rejected: 11 } },
    at: { recentCalls: { calls: 1000, rejected: 10 } },
    found: { subject: '', forMs: 0, facts: { share: 0.011, rejected: 11, calls: 1000 } },
  },
  {
    rule: 'calls_rejected',
    name: 'five rejected calls of few',
    beyond: { recentCalls: { calls: 5, rejected: 5 } },
    at: { recentCalls: { calls: 4, rejected: 4 } },
    found: { facts: { share: 1, rejected: 5, calls: 5 } },
  },
  {
    rule: 'role_missing',
    name: 'no worker',
    beyond: { processes: [{ role: 'scheduler', count: 2 }] },
    at: { processes: healthyFacts().processes },
    found: { subject: 'worker', forMs: MINUTE, facts: { role: 'worker' } },
  },
  {
    rule: 'role_missing',
    name: 'no scheduler',
    beyond: {
      processes: [
        { role: 'worker', count: 1 },
        { role: 'console', count: 1 },
      ],
    },
    at: { processes: healthyFacts().processes },
    found: { subject: 'scheduler' },
  },
  {
    rule: 'notification_misfit',
    name: 'a notification that fits no refund',
    beyond: { notificationsRefused: { count: 1, latest: 'R-1' } },
    at: { notificationsRefused: { count: 0, latest: null } },
    found: { subject: '', forMs: 0, facts: { count: 1, latest: 'R-1' } },
  },
  {
    rule: 'clock',
    name: 'a clock that is more than 60 s behind',
    beyond: { clockOffset: 60.6 },
    at: { clockOffset: 60 },
    found: { subject: '', forMs: 0, facts: { seconds: 61 } },
  },
  {
    rule: 'clock',
    name: 'a clock that is more than 60 s ahead',
    beyond: { clockOffset: -61 },
    at: { clockOffset: -60 },
    found: { facts: { seconds: -61 } },
  },
  {
    rule: 'tokens',
    name: 'more than 20 tokens',
    beyond: { tokenCreations: 21 },
    at: { tokenCreations: 20 },
    found: { subject: '', forMs: 0, facts: { count: 21 } },
  },
  {
    rule: 'queue_away',
    name: 'a queue that no worker or no scheduler reaches',
    beyond: { queueAway: [{ process: 'a (7)', age: 6, error: 'OOM' }], queueAwayForAll: 5 },
    at: { queueAway: [], queueAwayForAll: null },
    found: { subject: '', since: ago(5000), forMs: MINUTE, facts: { error: 'OOM' } },
  },
  {
    rule: 'hr_sources_differ',
    name: 'a process with other HR sources',
    beyond: { outdatedProcesses: ['a (7)', 'b (8)'] },
    at: { outdatedProcesses: [] },
    found: { subject: '', forMs: 2 * MINUTE, facts: { count: 2, processes: 'a (7), b (8)' } },
  },
  {
    rule: 'process_aside',
    name: 'a process that leaves all work to others',
    beyond: { asideProcesses: [{ process: 'a (7)', reason: 'unreachable' }] },
    at: { asideProcesses: [] },
    found: { subject: 'a (7)', forMs: 2 * MINUTE, facts: { reason: 'unreachable' } },
  },
  {
    rule: 'database_full',
    name: '80 % of the size that was set',
    beyond: database({ bytes: 40e9 }),
    at: database({ bytes: 40e9 - 1 }),
    found: { subject: 'size', forMs: 0, facts: { used: 40e9, limit: 50e9, share: 0.8 } },
  },
  {
    rule: 'database_full',
    name: '80 % of the connections',
    beyond: database({ connections: 80 }),
    at: database({ connections: 79 }),
    found: { subject: 'connections', facts: { used: 80, limit: 100, share: 0.8 } },
  },
  {
    rule: 'database_slow',
    name: 'more than a second for the figures, three judgements long',
    beyond: { took: 1.2344 },
    at: { took: 1 },
    found: { subject: '', forMs: MINUTE, facts: { milliseconds: 1234 } },
  },
  {
    rule: 'dead_channel',
    name: 'a channel that takes nothing for more than ten minutes',
    beyond: { failingChannels: [{ channel: 'ops', since: ago(10 * MINUTE + 1), answer: '500' }] },
    at: { failingChannels: [{ channel: 'ops', since: ago(10 * MINUTE), answer: '500' }] },
    found: {
      subject: 'ops',
      since: ago(10 * MINUTE + 1),
      forMs: 0,
      facts: { channel: 'ops', answer: '500' },
    },
  },
  {
    rule: 'files_overdue',
    name: 'a delivery of files to one of several sources, after four days',
    beyond: { deliveries: [{ source: 'north', age: 96 * 3600 + 60 }] },
    at: { deliveries: [{ source: 'north', age: 96 * 3600 }] },
    found: {
      ...{ subject: 'north', since: ago(96 * HOUR + MINUTE), forMs: 0 },
      facts: { source: 'north' },
    },
  },
  {
    rule: 'schedule_paused',
    name: 'a job that is paused, after four hours',
    beyond: { pausedSchedules: [{ job: 'prune', by: 'cli:ann', reason: 'a backup runs', age: 60 }] },
    at: { pausedSchedules: [] },
    found: {
      ...{ subject: 'prune', since: ago(MINUTE), forMs: 4 * HOUR },
      facts: { by: 'cli:ann', reason: 'a backup runs' },
    },
  },
  {
    rule: 'job_failing',
    name: 'a job that fails, after ten minutes',
    beyond: {
      failingJobs: [{ job: 'departments', source: 'beijing', error: inWords('HR is away'), age: 60 }],
    },
    at: { failingJobs: [] },
    found: {
      ...{ subject: 'departments beijing', since: ago(MINUTE), forMs: 10 * MINUTE },
      facts: { error: inWords('HR is away'), source: 'beijing' },
    },
  },
  {
    rule: 'process_lost',
    name: 'a process that is gone without a word, two minutes after that was found',
    beyond: { lostProcesses: [{ process: 'a (7)', roles: 'worker' }] },
    at: { lostProcesses: [] },
    found: { subject: 'a (7)', forMs: 2 * MINUTE, facts: { roles: 'worker' } },
  },
  {
    rule: 'heartbeat_failing',
    name: 'a monitor that takes no call, after ten minutes',
    beyond: { heartbeatFailing: 'HTTP 404' },
    at: { heartbeatFailing: null },
    found: { subject: '', forMs: 10 * MINUTE, facts: { answer: 'HTTP 404' } },
  },
]
