import { minutes, type RuleDefinition } from './kind.ts'

export const MONEY = {
  /** A refund or top-up whose outcome is unknown: it may have been carried out. Subject: `refund` or `topup`. */
  money_unknown: {
    severity: 'critical',
    meaning: 'Minutes that the outcome of a refund or top-up is unknown before it is an alert.',
    figure: { min: 0, max: 1440, default: 0, example: 30 },
    holdsMs: minutes,
    find: ({ outcomesUnknown }) =>
      (['refund', 'topup'] as const).flatMap(subject => {
        const { since, ...facts } = outcomesUnknown[subject]
        return since === null ? [] : [{ subject, facts, since }]
      }),
    values: (_, facts) => facts.numbers('count', 'for_person'),
    screen: 'money',
    prometheus: {
      expr: 'max by (job, kind) (dirsync_outcomes_unknown) > 0',
      summary: 'The outcome of {{ $value }} {{ $labels.kind }}(s) is unknown',
      description: 'The platform may have carried them out. dirsync asks, and never sends them again.',
    },
  },

  /** A signed refund notification matches no refund that was sent. */
  notification_misfit: {
    severity: 'warning',
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
