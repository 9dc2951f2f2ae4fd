import type { Config } from '../config.ts'
import { isOfDelivery } from '../hr/errors.ts'
import { STANDINGS_IN_SCOPE } from '../report/figures.ts'
import { NEEDED_ROLES } from '../sync/process.ts'
import { withoutKeys } from '../sync/safety.ts'
import type { Facts } from './facts.ts'
import type { Finding } from './rule.ts'

/** The figures of the rules, as settings; null switches a rule off. */
export type AlertLimits = Pick<Config, Extract<keyof Config, `ALERT_${string}`>>

const SECOND_MS = 1000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** Share of rejected calls: fewer are chance. */
const FEWEST_REJECTED = 5
/** How long the share in step has to be low. */
const OUT_OF_STEP_FOR_MS = HOUR_MS
/** Two judgements after the first. */
const SLOW_FOR_MS = MINUTE_MS
const GIGABYTE = 1e9

/**
 * What is wrong now: every rule but `database_away`, which whoever judged last tells from memory. Whether it has been so for
 * long enough, and who is told, is decided elsewhere.
 * @param now by the clock of the database
 */
export function findings(facts: Facts, limits: AlertLimits, now: Date): Finding[] {
  return JUDGES.flatMap(judge => judge(facts, limits, now))
}

type Judge = (facts: Facts, limits: AlertLimits, now: Date) => Finding[]

/** Which of several HR systems a finding is about. */
function named(source: string): { source?: string } {
  return source === '' ? {} : { source }
}

function ofSource(kind: string, source: string): string {
  return source === '' ? kind : `${kind} ${source}`
}

const halts: Judge = ({ stops }, { ALERT_HALT: minutes }) =>
  minutes === null
    ? []
    : stops
        .filter(({ category }) => category !== 'paused')
        .map(({ scope, source, category, platformCode, message, remedy, since }) => ({
          rule: 'halt',
          subject: source ? `HR ${source}` : scope,
          facts: { scope, category, platform_code: platformCode, message, remedy, ...named(source) },
          since,
          forMs: minutes * MINUTE_MS,
        }))

const paused: Judge = ({ stops }, { ALERT_PAUSED: hours }) =>
  hours === null
    ? []
    : stops
        .filter(({ category }) => category === 'paused')
        .map(({ category, message, remedy, raisedBy, since }) => ({
          rule: 'paused',
          subject: '',
          facts: { by: raisedBy, category, message, remedy },
          since,
          forMs: hours * HOUR_MS,
        }))

const heldRuns: Judge = (facts, { ALERT_HELD_RUN: minutes }) =>
  minutes === null
    ? []
    : facts.heldRuns.map(({ run, kind, source, planned, since }) => ({
        rule: 'held_run',
        subject: String(run),
        facts: { run, kind, planned, ...named(source) },
        since,
        forMs: minutes * MINUTE_MS,
      }))

/** A delivery of files may be under way for so long, every night, before anybody has to look. */
const DELIVERING_MINUTES = 15

const suspectSources: Judge = ({ suspects }, { ALERT_SOURCE_SUSPECT: minutes }) =>
  minutes === null
    ? []
    : suspects.map(({ run, kind, source, message, since }) => ({
        rule: 'source_suspect',
        subject: ofSource(kind, source),
        // A user id may be a mobile number, or a name.
        facts: { run, kind, message: withoutKeys(message), ...named(source) },
        since,
        forMs: (isOfDelivery(message) ? Math.max(minutes, DELIVERING_MINUTES) : minutes) * MINUTE_MS,
      }))

const overdueRuns: Judge = ({ schedules }, { ALERT_RUN_OVERDUE: intervals }, now) =>
  intervals === null
    ? []
    : schedules
        .filter(({ interval, unsuccessful }) => unsuccessful > intervals * interval)
        .map(({ kind, source, interval, lastGood }) => ({
          rule: 'run_overdue',
          subject: ofSource(kind, source),
          facts: {
            kind,
            age_seconds: lastGood && Math.round(lastGood),
            interval_seconds: interval,
            ...named(source),
          },
          ...(lastGood !== null && { since: ago(lastGood, now) }),
          forMs: 0,
        }))

/** What the first sync finds has been so before. */
const jumpingCases: Judge = (facts, limits) => {
  const { ALERT_CASES_JUMP: cases, ALERT_CASES_JUMP_PERCENT: percent } = limits
  const { goodRun, leastCases } = facts
  if (cases === null || goodRun !== 'long_ago' || leastCases === null) return []
  const most = Math.max(cases, (percent / 100) * inScope(facts))
  return [...openCases(facts)]
    .map(([category, count]) => ({ category, count, rise: count - (leastCases[category] ?? 0) }))
    .filter(({ rise }) => rise > most)
    .map(({ category, count, rise }) => ({
      rule: 'cases_jump',
      subject: category,
      facts: { category, count, rise },
      forMs: 0,
    }))
}

/** During the first sync nobody is in step yet. */
const outOfStep: Judge = (facts, { ALERT_OUT_OF_STEP: percent }) => {
  const all = inScope(facts)
  if (percent === null || facts.goodRun === 'never' || all === 0) return []
  const inStep = facts.employees.find(({ standing }) => standing === 'in_step')?.count ?? 0
  if ((inStep / all) * 100 >= percent) return []
  return [
    {
      rule: 'out_of_step',
      subject: '',
      facts: { share: inStep / all, in_step: inStep, in_scope: all },
      forMs: OUT_OF_STEP_FOR_MS,
    },
  ]
}

const stuckWork: Judge = ({ work }, { ALERT_WORK_STUCK: minutes }, now) => {
  const [oldest] = work
  if (minutes === null || !oldest || oldest.age <= minutes * 60) return []
  const { operation, count, age } = oldest
  return [
    {
      rule: 'work_stuck',
      subject: '',
      facts: { operation, count, age_seconds: Math.round(age) },
      since: ago(age, now),
      forMs: 0,
    },
  ]
}

const unknownMoney: Judge = ({ outcomesUnknown }, { ALERT_MONEY_UNKNOWN: minutes }) =>
  minutes === null
    ? []
    : (['refund', 'topup'] as const).flatMap(subject => {
        const { count, for_person, since } = outcomesUnknown[subject]
        if (since === null) return []
        return [
          {
            rule: 'money_unknown',
            subject,
            facts: { count, for_person },
            since,
            forMs: minutes * MINUTE_MS,
          },
        ]
      })

const rejectedCalls: Judge = ({ recentCalls: { calls, rejected } }, { ALERT_CALLS_REJECTED: percent }) => {
  if (percent === null || rejected < FEWEST_REJECTED || rejected * 100 <= percent * calls) return []
  const facts = { share: rejected / calls, rejected, calls }
  return [{ rule: 'calls_rejected', subject: '', facts, forMs: 0 }]
}

const missingRoles: Judge = ({ processes }, { ALERT_ROLE_MISSING: minutes }) =>
  minutes === null
    ? []
    : NEEDED_ROLES.filter(needed => !processes.some(({ role }) => role === needed)).map(role => ({
        rule: 'role_missing',
        subject: role,
        facts: { role },
        forMs: minutes * MINUTE_MS,
      }))

const misfits: Judge = ({ notificationsRefused }, { ALERT_NOTIFICATION_MISFIT: most }) => {
  const { count, latest } = notificationsRefused
  if (most === null || count < most) return []
  return [{ rule: 'notification_misfit', subject: '', facts: { count, latest }, forMs: 0 }]
}

const wrongClock: Judge = ({ clockOffset }, { ALERT_CLOCK: seconds }) => {
  if (seconds === null || clockOffset === null || Math.abs(clockOffset) <= seconds) return []
  return [{ rule: 'clock', subject: '', facts: { seconds: Math.round(clockOffset) }, forMs: 0 }]
}

const manyTokens: Judge = ({ tokenCreations }, { ALERT_TOKENS: most }) =>
  most === null || tokenCreations <= most
    ? []
    : [{ rule: 'tokens', subject: '', facts: { count: tokenCreations }, forMs: 0 }]

const awayQueue: Judge = ({ queueAway }, { ALERT_QUEUE_AWAY: minutes }, now) =>
  minutes === null || queueAway === null
    ? []
    : [
        {
          rule: 'queue_away',
          subject: '',
          facts: {},
          since: ago(queueAway, now),
          forMs: minutes * MINUTE_MS,
        },
      ]

const fullDatabase: Judge = ({ database }, limits) => {
  const { ALERT_DATABASE_FULL: percent, ALERT_DATABASE_GB: gigabytes } = limits
  if (percent === null) return []
  return [
    { subject: 'size', used: database.bytes, limit: gigabytes * GIGABYTE },
    { subject: 'connections', used: database.connections, limit: database.connectionsLimit },
  ]
    .filter(({ used, limit }) => used * 100 >= limit * percent)
    .map(({ subject, used, limit }) => ({
      rule: 'database_full',
      subject,
      facts: { used, limit, share: used / limit },
      forMs: 0,
    }))
}

const slowDatabase: Judge = ({ took }, { ALERT_DATABASE_SLOW: milliseconds }) =>
  milliseconds === null || took * SECOND_MS <= milliseconds
    ? []
    : [
        {
          rule: 'database_slow',
          subject: '',
          facts: { milliseconds: Math.round(took * SECOND_MS) },
          forMs: SLOW_FOR_MS,
        },
      ]

const deadChannels: Judge = ({ failingChannels }, { ALERT_DEAD_CHANNEL: minutes }, now) =>
  minutes === null
    ? []
    : failingChannels
        .filter(({ since }) => now.getTime() - since.getTime() > minutes * MINUTE_MS)
        .map(({ channel, since, answer }) => ({
          rule: 'dead_channel',
          subject: channel,
          facts: { channel, answer },
          since,
          forMs: 0,
        }))

const JUDGES: readonly Judge[] = [
  halts,
  paused,
  heldRuns,
  suspectSources,
  overdueRuns,
  jumpingCases,
  outOfStep,
  stuckWork,
  unknownMoney,
  rejectedCalls,
  missingRoles,
  misfits,
  wrongClock,
  manyTokens,
  awayQueue,
  fullDatabase,
  slowDatabase,
  deadChannels,
]

function ago(seconds: number, now: Date): Date {
  return new Date(now.getTime() - seconds * SECOND_MS)
}

/** Employees whom HR has in service. */
function inScope({ employees }: Facts): number {
  const counted: readonly string[] = STANDINGS_IN_SCOPE
  return employees
    .filter(({ standing }) => counted.includes(standing))
    .reduce((sum, { count }) => sum + count, 0)
}

/** Cases that are neither resolved nor ignored, by category, as `dirsync.standing_history` counts them. */
function openCases({ deadLetters }: Facts): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { category, state, count } of deadLetters)
    if (state !== 'ignored') counts.set(category, (counts.get(category) ?? 0) + count)
  return counts
}
