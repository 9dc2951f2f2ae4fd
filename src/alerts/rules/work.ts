import { EMPLOYEE_STATUSES_IN_SCOPE } from '../../sync/health/figures.ts'
import { durationText, percentText } from '../../texts/figures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Facts } from '../facts.ts'
import { ago, HOUR_MS, minutes, type RuleDefinition } from './kind.ts'

/**
 * Those about whom a person has decided, or `held_run` asks for a decision, and those whom no run brings in sync: `out_of_sync` is
 * about the others.
 */
export const NOT_OVERDUE = ['held', 'rejected', 'accepted', 'no_source'] as const

export const WORK = {
  /**
   * The number of open cases of a category jumped within an hour. What the first sync finds is not a jump. Subject:
   * the category.
   */
  cases_jump: {
    severity: 'warning',
    meaning: 'It is an alert when the open cases of a category rise within an hour by more than this …',
    figure: { min: 0, max: 10_000_000, default: 20, example: 100 },
    second: {
      name: 'ALERT_CASES_JUMP_PERCENT',
      ...{ min: 0, max: 100, default: 5, example: 2 },
      meaning: '… and by more than this percentage of the employees.',
    },
    find: (facts, { figure, second }) => {
      const { firstSync, leastCases } = facts
      if (firstSync !== 'long_ago' || leastCases === null) return []
      const most = Math.max(figure, (second / 100) * inScope(facts))
      return [...openCases(facts)]
        .map(([category, count]) => ({ category, count, rise: count - (leastCases[category] ?? 0) }))
        .filter(({ rise }) => rise > most)
        .map(facts => ({ subject: facts.category, facts }))
    },
    values: (language, facts, subject) => ({
      category: textOr(language, `category.${subject}`, subject),
      ...facts.numbers('count', 'rise'),
    }),
    screen: 'cases',
    prometheus: {
      expr: (figure, percent) => `# What the first sync finds has been so before.
job_category:dirsync_open_cases:rise1h > ${figure}
  and on (job, category) (
    job_category:dirsync_open_cases:rise1h > on (job) group_left () ${percent / 100} * job:dirsync_employees_in_scope:sum)
  and on (job) (dirsync_run_last_success_age_seconds{kind=~"changes|full"} offset 1h)`,
      summary: 'Cases of {{ $labels.category }} jumped by {{ $value }} within an hour',
      description:
        'Look at a few of them. So many at once often have one cause, in HR, in the mapping or on the platform.',
    },
  },

  /** The share of employees in sync is low. Not raised during the first sync, when no employee is in sync yet. */
  out_of_sync: {
    severity: 'warning',
    inhibitedBy: ['halt'],
    mendsWithinMinutes: 15,
    meaning: 'It is an alert when less than this percentage of the employees is in sync for an hour.',
    figure: { min: 0, max: 100, default: 98, example: 95 },
    holdsMs: () => HOUR_MS,
    find: (facts, { figure }) => {
      const all = NOT_OVERDUE.reduce((rest, status) => rest - countOf(facts, status), inScope(facts))
      const inSync = countOf(facts, 'in_sync')
      // A pause is an alert only after hours, if at all, so it could not hold this one back.
      const isPaused = facts.stops.some(({ scope, category }) => scope === '*' && category === 'paused')
      if (isPaused || facts.firstSync === 'never' || all === 0 || (inSync / all) * 100 >= figure) return []
      return [{ facts: { share: inSync / all, in_sync: inSync, in_scope: all } }]
    },
    values: (language, facts) => ({
      // Rounded down, so that a share below the threshold never looks sufficient.
      share: percentText(language, Math.floor(facts.number('share') * 1e4) / 1e4),
      ...facts.numbers('in_sync', 'in_scope'),
    }),
    screen: 'employees',
    prometheus: {
      expr: percent => `# During the first sync no one is in sync yet.
job:dirsync_employees_in_sync:ratio < ${percent / 100}
  and on (job) dirsync_run_last_success_age_seconds{kind=~"changes|full"}
  unless on (job) dirsync_halts{category="paused"} > 0`,
      summary: 'Only {{ $value | humanizePercentage }} of the employees are in sync',
      description: "This has been so for an hour. The console's overview tells what the others wait for.",
    },
  },

  /**
   * Work other than that of full runs is old although nothing is halted. Work may also wait for a plan to pass, and
   * so for HR.
   */
  work_stuck: {
    severity: 'critical',
    inhibitedBy: ['halt', 'role_missing', 'queue_away'],
    mendsWithinMinutes: 15,
    meaning:
      'Minutes that work waits, while nothing is halted, before it is an alert. Full runs do not count.',
    figure: { min: 1, max: 10_080, default: 60, example: 120 },
    find: ({ work: [oldest], lastJob }, { figure, now }) => {
      if (!oldest || oldest.age <= figure * 60) return []
      const { operation, count, queued, age, isPutOff } = oldest
      const cause = isPutOff
        ? 'put_off'
        : queued === 0
          ? 'not_queued'
          : lastJob === null || lastJob > age
            ? 'not_taken'
            : 'others_first'
      const idle = lastJob === null ? null : Math.round(lastJob)
      const facts = { operation, count, age_seconds: Math.round(age), cause, idle_seconds: idle }
      return [{ facts, since: ago(age, now) }]
    },
    values: (language, facts) => ({
      operation: textOr(language, `operation.${facts.text('operation')}`, facts.text('operation')),
      count: facts.number('count'),
      age: durationText(language, facts.number('age_seconds') * 1000),
      cause: facts.text('cause'),
      idle: facts.has('idle_seconds') ? durationText(language, facts.number('idle_seconds') * 1000) : 'never',
    }),
    screen: 'halts',
    prometheus: {
      expr: minutes => `max by (job) (dirsync_work_oldest_age_seconds) > ${minutes * 60}`,
      summary: 'The oldest work of dirsync is {{ $value | humanizeDuration }} old',
      description: 'Full runs and what is halted do not count. Workers may be too few, too slow or stuck.',
    },
  },

  /** A refund or top-up whose outcome is unknown: it may have been carried out. Subject: `refund` or `topup`. */
  money_unknown: {
    severity: 'critical',
    // Another one may come while one is settled.
    newsIfMore: ['count', 'for_person', 'latest_at'],
    meaning: 'Minutes that the outcome of a refund or top-up is unknown before it is an alert.',
    figure: { min: 0, max: 1440, default: 0, example: 30, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ money }) =>
      Object.entries(money).flatMap(([subject, { unknown: count, for_person, oldest: since, latest }]) =>
        since === null || latest === null
          ? []
          : [{ subject, facts: { count, for_person, latest_at: latest.getTime() }, since }],
      ),
    values: (_, facts) => facts.numbers('count', 'for_person'),
    screen: 'money',
    prometheus: {
      expr: 'max by (job, kind) (dirsync_outcomes_unknown) > 0',
      summary: 'The outcome of {{ $value }} {{ $labels.kind }}(s) is unknown',
      description:
        'The platform may have carried them out. dirsync never sends them again. It asks the order record about refunds; about top-ups a person has to ask.',
    },
  },

  /** A refund or top-up turned out, or may have, otherwise than recorded: another one may have been sent instead, or none. Subject: as above. */
  money_contradicted: {
    severity: 'critical',
    newsIfMore: ['count'],
    meaning:
      'Refunds, or top-ups, within seven days that turned out, or may have turned out, otherwise than they were recorded before it is an alert.',
    figure: { min: 1, max: 10_000, default: 1, example: 3 },
    find: ({ outcomesContradicted }, { figure }) =>
      outcomesContradicted
        .filter(({ count }) => count >= figure)
        .map(({ kind, ...facts }) => ({ subject: kind, facts })),
    values: (_, facts) => ({
      count: facts.number('count'),
      latest: facts.text('latest'),
      of: facts.text('of'),
      how: facts.text('how'),
    }),
    screen: 'money',
    prometheus: {
      expr: figure => `max by (job, kind) (dirsync_outcomes_contradicted_last_week) >= ${figure}`,
      summary:
        '{{ $value }} {{ $labels.kind }}(s) that turned out, within seven days, otherwise than recorded, or perhaps',
      description:
        'They were called not carried out, or the other way round. A second one may have been sent meanwhile. Check the order, or the account, for one.',
    },
  },

  /** A signed refund notification matches no refund that was sent. */
  notification_misfit: {
    severity: 'warning',
    newsIfMore: ['count'],
    meaning: 'Signed notifications within a day that match no refund before it is an alert.',
    figure: { min: 1, max: 10_000, default: 1, example: 3 },
    find: ({ notificationsRefused: { count, latest } }, { figure }) =>
      count < figure ? [] : [{ facts: { count, latest } }],
    values: (_, facts) => ({ count: facts.number('count'), latest: facts.text('latest') }),
    screen: 'money',
    prometheus: {
      expr: figure => `max by (job) (dirsync_notifications_refused_last_day) >= ${figure}`,
      summary: '{{ $value }} signed refund notification(s) within a day fit no refund',
      description:
        "Another system sends refunds with the same application, or the refund is not in dirsync's journal.",
    },
  },
} as const satisfies Record<string, RuleDefinition>

function countOf({ employees }: Facts, wanted: Facts['employees'][number]['status']): number {
  return employees.find(({ status }) => status === wanted)?.count ?? 0
}

/** Number of employees in service according to HR. */
function inScope({ employees }: Facts): number {
  const counted: readonly string[] = EMPLOYEE_STATUSES_IN_SCOPE
  return employees.filter(({ status }) => counted.includes(status)).reduce((sum, { count }) => sum + count, 0)
}

/** Cases that are neither resolved nor ignored, by category, as `dirsync.status_history` counts them. */
function openCases({ deadLetters }: Facts): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { category, state, count } of deadLetters)
    if (state !== 'ignored') counts.set(category, (counts.get(category) ?? 0) + count)
  return counts
}
