import { actorText } from '../../texts/actor.ts'
import { durationText } from '../../texts/figures.ts'
import { changed, type Said, says } from '../../texts/message.ts'
import { translator } from '../../texts/texts.ts'
import {
  ago,
  hours,
  kindText,
  lastError,
  MINUTE_MS,
  minutes,
  ofSource,
  type RuleDefinition,
  SECOND_MS,
  sentence,
  sourceFact,
} from './kind.ts'

/** A user id may be a mobile number, or a name. */
function withoutKeys(what: Said): Said {
  return changed(what, one => (one.values?.keys ? { ...one, values: { keys: '…' } } : one))
}

/** How long a delivery of files may be incomplete without an alert, since deliveries take time every night. */
const DELIVERING_MINUTES = 15

export const RUNS = {
  /** A run waits for a decision. Subject: its number. */
  held_run: {
    severity: 'warning',
    remindedAfterHours: [4, 24],
    meaning: 'Minutes that a held run waits before it is an alert.',
    figure: { min: 0, max: 1440, default: 0, example: 15 },
    holdsMs: minutes,
    find: ({ heldRuns }) =>
      heldRuns.map(({ run, kind, source, planned, since }) => ({
        subject: String(run),
        facts: { run, kind, planned, ...sourceFact(source) },
        since,
      })),
    values: (language, facts) => ({
      run: facts.text('run'),
      kind: kindText(language, facts),
      planned: facts.number('planned'),
    }),
    screen: 'runs',
    prometheus: {
      expr: 'max by (job) (dirsync_runs{state="held"}) > 0',
      summary: "{{ $value }} run(s) of dirsync wait for a person's word",
      description:
        'The plan would change more than a breaker allows. Look at it, then approve or reject it. What no person has approved is not sent.',
    },
  },

  /** The latest run found HR suspect. Subject: the kind of the first that did, and the source if HR has several. */
  source_suspect: {
    severity: 'critical',
    meaning:
      'Minutes that HR looks wrong before it is an alert; at least 15 while files are being delivered.',
    figure: { min: 0, max: 1440, default: 0, example: 15, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ suspects }, { figure }) =>
      suspects.map(({ run, kind, source, message, since }) => ({
        subject: ofSource(kind, source),
        facts: { run, kind, message: withoutKeys(message), ...sourceFact(source) },
        since,
        ...(says(message, 'said.delivery_incomplete') && {
          forMs: Math.max(figure, DELIVERING_MINUTES) * MINUTE_MS,
        }),
      })),
    values: (language, facts) => ({
      run: facts.text('run'),
      kind: kindText(language, facts),
      message: facts.said(language, 'message'),
    }),
    screen: 'runs',
    prometheus: [
      {
        expr: 'max by (job, kind, source) (dirsync_run_suspect{delivery=""}) > 0',
        summary: 'HR looks wrong to dirsync ({{ $labels.kind }}{{ with $labels.source }}, {{ . }}{{ end }})',
        description: 'The latest run found rows or columns missing, or keys twice. Nothing was sent.',
      },
      {
        subject: 'delivery',
        expr: 'max by (job, kind, source) (dirsync_run_suspect{delivery="incomplete"}) > 0',
        forMs: DELIVERING_MINUTES * MINUTE_MS,
        summary: "HR's files are incomplete ({{ $labels.kind }}{{ with $labels.source }}, {{ . }}{{ end }})",
        description: 'They have been for a quarter of an hour. Nothing was sent meanwhile.',
      },
    ],
  },

  /** No good `changes` or `full` run for several of its intervals. Subject: as for `source_suspect`. */
  run_overdue: {
    severity: 'critical',
    inhibitedBy: ['halt', 'source_suspect', 'role_missing', 'queue_away', 'database_away'],
    mendsWithinMinutes: 15,
    meaning: 'Intervals of its schedule without a good changes or full run before it is an alert.',
    figure: { min: 1, max: 100, default: 3, example: 6 },
    find: ({ schedules }, { figure, now }) =>
      schedules
        .filter(({ interval, unsuccessful }) => unsuccessful > figure * interval)
        .map(({ kind, source, interval, lastGood, error }) => ({
          subject: ofSource(kind, source),
          facts: {
            kind,
            age_seconds: lastGood && Math.round(lastGood),
            interval_seconds: interval,
            ...(error && { error: withoutKeys(error) }),
            ...sourceFact(source),
          },
          ...(lastGood !== null && { since: ago(lastGood, now) }),
        })),
    values: (language, facts, subject) => ({
      kind: kindText(language, facts, subject),
      lasted: facts.has('age_seconds') ? 'long' : 'never',
      age: durationText(language, facts.number('age_seconds') * 1000),
      interval: durationText(language, facts.number('interval_seconds') * 1000),
      ...lastError(language, facts),
    }),
    screen: 'runs',
    prometheus: {
      expr: figure => `max by (job, kind, source) (dirsync_run_unsuccessful_seconds)
  > ${figure} * max by (job, kind, source) (dirsync_run_interval_seconds)`,
      summary:
        'No good {{ $labels.kind }} run{{ with $labels.source }} of {{ . }}{{ end }} for {{ $value | humanizeDuration }}',
      description: 'That is more than three times the interval of its schedule.',
    },
  },

  /** HR's files no longer come: what is read is right, and old. Subject: the source, if HR has several. */
  files_overdue: {
    severity: 'warning',
    inhibitedBy: ['halt', 'source_suspect', 'run_overdue', 'role_missing', 'database_away'],
    meaning:
      'Hours without a new delivery of HR’s files before it is an alert. As long as a long weekend by default.',
    figure: { min: 1, max: 8760, default: 96, example: 30 },
    // Not by how long it holds: each delivery would be a problem from its first minute on.
    find: ({ deliveries }, { figure, now }) =>
      deliveries
        .filter(({ age }) => age * SECOND_MS > hours(figure))
        .map(({ source, age }) => ({
          subject: source,
          facts: sourceFact(source),
          since: ago(age, now),
        })),
    values: (_, facts) => ({ source: facts.has('source') ? facts.text('source') : 'none' }),
    screen: 'runs',
    prometheus: {
      expr: hours => `max by (job, source) (dirsync_hr_delivery_seconds) > ${hours * 3600}`,
      summary:
        "HR's files{{ with $labels.source }} of {{ . }}{{ end }} have not come for {{ $value | humanizeDuration }}",
      description: 'The latest delivery is still read. Changes in HR since then do not reach the platform.',
    },
  },

  /** A schedule has been paused for a long time, and may have been forgotten. Subject: its job. */
  schedule_paused: {
    severity: 'warning',
    meaning: 'Hours that a cron job stays paused before it is an alert.',
    figure: { min: 0, max: 720, default: 4, example: 24, lasts: 'hours' },
    holdsMs: hours,
    find: ({ pausedSchedules }, { now }) =>
      pausedSchedules.map(({ job, by, reason, age }) => ({
        subject: job,
        facts: { by, reason },
        since: ago(age, now),
      })),
    values: (language, facts) => ({
      by: actorText({ t: translator(language) }, facts.text('by')),
      reason: sentence(language, facts.text('reason')),
    }),
    screen: 'schedules',
    prometheus: {
      expr: hours => `max by (job, schedule) (dirsync_schedule_paused_seconds) > ${hours * 3600}`,
      isTimed: true,
      summary:
        'The job {{ $labels.schedule }} of dirsync has been paused for {{ $value | humanizeDuration }}',
      description: 'A person paused its schedule and may have forgotten to resume it.',
    },
  },

  /**
   * A job fails, or the runs that it requests do; `run_overdue` covers `changes` and `full`. Subject: the job, and
   * the source of HR.
   */
  job_failing: {
    severity: 'warning',
    inhibitedBy: ['halt', 'database_away'],
    meaning: 'Minutes that a cron job, or the runs that it requests, keep failing before it is an alert.',
    figure: { min: 0, max: 1440, default: 10, example: 120, lasts: 'minutes' },
    holdsMs: minutes,
    find: ({ failingJobs }, { now }) =>
      failingJobs.map(({ job, source, error, age }) => ({
        subject: ofSource(job, source),
        facts: { ...(error && { error: withoutKeys(error) }), ...sourceFact(source) },
        since: ago(age, now),
      })),
    values: lastError,
    screen: 'schedules',
    prometheus: {
      expr: minutes => `max by (job, schedule, source) (dirsync_job_failing_seconds) > ${minutes * 60}`,
      isTimed: true,
      summary:
        'The job {{ $labels.schedule }}{{ with $labels.source }} of {{ . }}{{ end }} has failed for {{ $value | humanizeDuration }}',
      description:
        "It has not gone well since then. The console's screens Schedules and Runs tell the error.",
    },
  },
} as const satisfies Record<string, RuleDefinition>
