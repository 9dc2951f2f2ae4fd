import { haltedText } from '../../texts/failures.ts'
import { translator } from '../../texts/texts.ts'
import { hours, minutes, type RuleDefinition, sourceFact } from './kind.ts'

export const HALTS = {
  /**
   * Work is halted for everything or for one enterprise, but not by a person. Subject: its scope, or `HR` and a
   * source.
   */
  halt: {
    severity: 'critical',
    meaning: 'Minutes that a halt lasts before it is an alert.',
    figure: { min: 0, max: 1440, default: 0, example: 5, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ stops }) =>
      stops
        .filter(({ category }) => category !== 'paused')
        .map(({ scope, source, category, platform_code, message, remedy, since }) => ({
          subject: source ? `HR ${source}` : scope,
          facts: { scope, category, platform_code, message, remedy, ...sourceFact(source) },
          since,
        })),
    values: (language, facts) => {
      return {
        place: facts.has('source')
          ? translator(language)('halts.hr_source', { source: facts.text('source') })
          : haltedText(language, facts.text('scope')),
        message: facts.said(language, 'message'),
        remedy: facts.said(language, 'remedy'),
      }
    },
    screen: 'halts',
    prometheus: {
      expr: 'max by (job, category, scope, source) (dirsync_halts{category!="paused"}) > 0',
      summary: 'dirsync is halted: {{ $labels.category }}',
      description:
        'Nothing is sent for {{ $value }} scope(s) ({{ $labels.scope }}). One job is let through now and then; work goes on by itself once it succeeds.',
    },
  },

  /** A person has paused all calls for a long time, and may have forgotten it. */
  paused: {
    severity: 'warning',
    meaning: 'Hours that calls stay paused before it is an alert.',
    figure: { min: 0, max: 720, default: 4, example: 12, lasts: 'hours' },
    holdsMs: hours,
    find: ({ stops }) =>
      stops
        .filter(({ category }) => category === 'paused')
        .map(({ category, message, remedy, raised_by, since }) => ({
          facts: { by: raised_by, category, message, remedy },
          since,
        })),
    values: (language, facts) => ({ message: facts.said(language, 'message') }),
    screen: 'halts',
    prometheus: {
      expr: 'max by (job) (dirsync_halts{category="paused"}) > 0',
      summary: 'All calls of dirsync have been paused for 4 hours',
      description: 'A person paused them and may have forgotten to resume. Nothing is sent meanwhile.',
    },
  },
} as const satisfies Record<string, RuleDefinition>
