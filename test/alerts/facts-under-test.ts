import type { Facts } from '../../src/alerts/facts.ts'
import type { AlertLimits } from '../../src/alerts/rule.ts'
import { loadConfig } from '../../src/config.ts'
import { LEAST } from '../helpers/least-settings.ts'

export const NO_MONEY = { requested: 0, unknown: 0, for_person: 0, oldest: null, latest: null }

/** The default thresholds of the rules, except for these settings. */
export function alertLimits(settings: Record<string, string> = {}): AlertLimits {
  return loadConfig({ ...LEAST, ...settings })
}

/** A deployment of 1000 employees in which all goes well, but for what differs. */
export function healthyFacts(differs: Partial<Facts> = {}): Facts {
  return {
    pending: [],
    deadLetters: [{ category: 'duplicate_mobile', state: 'open', count: 10 }],
    runs: [{ state: 'done', count: 500 }],
    endedRuns: [],
    lastSuccesses: [{ kind: 'changes', source: '', age: 100 }],
    halts: [],
    employees: [
      { status: 'in_sync', count: 980 },
      { status: 'dead_lettered', count: 10 },
      { status: 'awaiting_activation', count: 10 },
      { status: 'left', count: 400 },
      { status: 'vanished', count: 20 },
    ],
    processes: [
      { role: 'scheduler', count: 1 },
      { role: 'worker', count: 2 },
    ],
    pace: { calls_per_second: 0, permitted_per_second: 10, utilisation: 0 },
    platformPause: 0,
    sourceChecks: [{ kind: 'changes', source: '', suspect: false, delivering: false }],
    schedules: [
      { kind: 'changes', source: '', interval: 300, lastGood: 100, unsuccessful: 100, error: null },
      { kind: 'full', source: '', interval: 86_400, lastGood: 40_000, unsuccessful: 40_000, error: null },
    ],
    pausedSchedules: [],
    deliveries: [],
    failingJobs: [],
    lostProcesses: [],
    heartbeatFailing: null,
    work: [],
    haltedWork: null,
    lastJob: 100,
    money: { refund: NO_MONEY, topup: NO_MONEY },
    outcomesContradicted: [],
    notificationsRefused: { count: 0, latest: null },
    tokenCreations: 1,
    clockOffset: 0.4,
    queueAway: [],
    queueAwayForAll: null,
    outdatedProcesses: [],
    asideProcesses: [],
    database: { bytes: 2e9, connections: 20, connectionsLimit: 97 },
    alerts: [],
    messages: [],
    channels: [{ channel: 'ops', failing: 0 }],
    took: 0.02,
    stops: [],
    heldRuns: [],
    suspects: [],
    leastCases: { duplicate_mobile: 10 },
    firstSync: 'long_ago',
    recentCalls: { calls: 1000, rejected: 0 },
    failingChannels: [],
    ...differs,
  }
}
