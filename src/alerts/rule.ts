/** How much an alert matters. Channels have a least severity of their own. */
export const SEVERITIES = ['info', 'warning', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]

interface Rule {
  severity: Severity
  /** Hours after its first message at which it is told again while it goes on; absent: every ALERT_REPEAT_HOURS. */
  remindedAfterHours?: readonly number[]
  /** While one of these fires, this rule is not told: it says the same, or follows from it. */
  inhibitedBy?: readonly RuleName[]
  /**
   * How long it may take to mend by itself once what inhibits it is over: until then it is not told either. Work that stood
   * still for hours is not done in the minute in which a halt ends.
   */
  mendsWithinMinutes?: number
}

export const RULE_NAMES = [
  'halt',
  'paused',
  'held_run',
  'source_suspect',
  'run_overdue',
  'cases_jump',
  'out_of_step',
  'work_stuck',
  'money_unknown',
  'calls_rejected',
  'role_missing',
  'notification_misfit',
  'clock',
  'tokens',
  'queue_away',
  'database_full',
  'database_slow',
  'database_away',
  'dead_channel',
] as const
export type RuleName = (typeof RULE_NAMES)[number]

/** Every rule that alerts are raised by. Its setting is `ALERT_<RULE>`, its text `alert.<rule>…` in the catalogue. */
export const RULES: Readonly<Record<RuleName, Rule>> = {
  /** Work stands still for everything or for an enterprise, not because a person said so. Subject: its scope, or `HR` and a source. */
  halt: { severity: 'critical' },
  /** All calls have been paused by a person for long: perhaps somebody forgot. */
  paused: { severity: 'warning' },
  /** A run waits for a person's word. Subject: its number. */
  held_run: { severity: 'warning', remindedAfterHours: [4, 24] },
  /** The latest run of a kind found HR wrong. Subject: the kind, and the source where HR has several. */
  source_suspect: { severity: 'critical' },
  /** No good `changes` or `full` run for several of its intervals. Subject: as of `source_suspect`. */
  run_overdue: {
    severity: 'critical',
    inhibitedBy: [
      'halt',
      'paused',
      'held_run',
      'source_suspect',
      'role_missing',
      'queue_away',
      'database_away',
    ],
    mendsWithinMinutes: 15,
  },
  /** The open cases of a category jumped within an hour. Subject: the category. */
  cases_jump: { severity: 'warning' },
  /** The share of employees in step is low. */
  out_of_step: {
    severity: 'warning',
    inhibitedBy: ['halt', 'paused', 'held_run', 'source_suspect'],
    mendsWithinMinutes: 15,
  },
  /** Work other than that of full runs is old although nothing is halted. Some waits for a plan to pass, and so for HR. */
  work_stuck: {
    severity: 'critical',
    inhibitedBy: ['halt', 'paused', 'held_run', 'source_suspect', 'role_missing', 'queue_away'],
    mendsWithinMinutes: 15,
  },
  /** A refund or top-up may have been carried out and nobody knows. Subject: `refund` or `topup`. */
  money_unknown: { severity: 'critical' },
  /** The platform rejects calls because there are too many. */
  calls_rejected: { severity: 'warning' },
  /** No living process has a role that the work needs. Subject: the role. */
  role_missing: { severity: 'critical' },
  /** A signed refund notification fits no refund that was sent. */
  notification_misfit: { severity: 'warning' },
  /** The clock is off against the platform's. */
  clock: { severity: 'warning' },
  /** Far more access tokens are created than needed: something takes them away. */
  tokens: { severity: 'warning' },
  /** A living process does not reach the queue. */
  queue_away: { severity: 'critical', inhibitedBy: ['database_away'] },
  /** dirsync's database is large, or has few connections left. Subject: `size` or `connections`. */
  database_full: { severity: 'critical' },
  database_slow: { severity: 'warning' },
  /** dirsync's database does not answer: told from memory, by whoever judged last. */
  database_away: { severity: 'critical' },
  /** A channel takes no message. Subject: its name. Told on the others. */
  dead_channel: { severity: 'warning' },
}

/** Something that a rule finds wrong at this moment. */
export interface Finding {
  rule: RuleName
  /** What it is about, where a rule may find several things; otherwise empty. */
  subject: string
  /** Figures and names for its text (`alert.<rule>.what`). Nothing about a person. */
  facts: Readonly<Record<string, string | number | null>>
  /** Since when, where the rows say so; absent: since it was first found. */
  since?: Date
  /** How long it must hold before it is raised. */
  forMs: number
}

/**
 * The rule that says the same as another one, or what it follows from, and so keeps it from being told.
 * @param causes rules of which alerts fire or have ended, with when the latest did; null: one fires
 * @param source of HR, which something about another source does not follow from
 */
export function inhibitorOf(
  rule: RuleName,
  causes: readonly { rule: string; endedAt: Date | null; source?: string }[],
  now: Date,
  source = '',
): RuleName | undefined {
  const { inhibitedBy, mendsWithinMinutes = 0 } = RULES[rule]
  const counts = (endedAt: Date | null) =>
    endedAt === null || now.getTime() - endedAt.getTime() < mendsWithinMinutes * 60_000
  const isApart = (other = '') => source !== '' && other !== '' && other !== source
  return inhibitedBy?.find(name =>
    causes.some(cause => cause.rule === name && counts(cause.endedAt) && !isApart(cause.source)),
  )
}
