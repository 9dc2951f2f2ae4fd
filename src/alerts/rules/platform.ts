import { durationText, percentText } from '../../texts/figures.ts'
import type { RuleDefinition } from './kind.ts'

/** Fewer rejected calls are chance, whatever their share. */
const FEWEST_REJECTED = 5

export const PLATFORM = {
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
      expr: percent => `sum by (job) (increase(dirsync_platform_calls_too_fast_total[15m]))
  / sum by (job) (increase(dirsync_platform_calls_total[15m])) > ${percent / 100}
  and on (job) (sum by (job) (increase(dirsync_platform_calls_too_fast_total[15m])) >= ${FEWEST_REJECTED})`,
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
        'dirsync corrects for it, but other programs on the machine do not. Let it keep time by NTP.',
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
} as const satisfies Record<string, RuleDefinition>
