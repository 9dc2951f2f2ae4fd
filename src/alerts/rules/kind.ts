import type { Language, TextValues } from '../../texts/texts.ts'
import type { Facts } from '../facts.ts'
import type { FactReader, FactValues } from './words.ts'

/** How much an alert matters. Channels have a least severity of their own. */
export const SEVERITIES = ['info', 'warning', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]

/**
 * Everything about a rule but its words, which the catalogues have as `alert.<rule>…`, `alert_rule.<rule>`, `alerts.figure.<rule>`
 * and `runbook.<rule>`. The key under which a chapter has it is its name.
 */
export interface RuleDefinition {
  severity: Severity
  /** Hours after its first message at which it is told again while it goes on; absent: every ALERT_REPEAT_HOURS. */
  remindedAfterHours?: readonly number[]
  /**
   * Names of rules. While one of them fires about everything, or about the same, this rule is not told: it says the same, or
   * follows from it. A warning keeps nothing back that is critical.
   */
  inhibitedBy?: readonly string[]
  /**
   * How long it may take to mend by itself once what inhibits it is over: until then it is not told either. Work that stood
   * still for hours is not done in the minute in which a halt ends.
   */
  mendsWithinMinutes?: number
  /** What its figure is, in one plain sentence. */
  meaning: string
  /** The figure as the setting `ALERT_<RULE>`; `off` switches the rule off. */
  figure: Figure
  /** A second figure, with a setting of its own. */
  second?: Figure & { name: `ALERT_${string}`; meaning: string }
  /** How long something must hold before it is raised; absent: it is at once. */
  holdsMs?: (figure: number) => number
  /** What it finds wrong at this moment; absent: it is told by other means. */
  find?: (facts: Facts, given: Given) => readonly Found[]
  /** What its texts name besides the subject, made from the facts of a finding. */
  values: (language: Language, facts: FactReader, subject: string) => TextValues
  /** The same for those who alert with Prometheus: ops/prometheus is made from it. */
  prometheus: PrometheusRule | readonly PrometheusRule[]
  /** The screen of the console on which it can be seen and mended. */
  screen?: 'cases' | 'employees' | 'halts' | 'money' | 'platform' | 'runs' | 'schedules'
}

interface Figure {
  min: number
  max: number
  default: number
  example: number
}

/** An alerting rule of Prometheus, with the defaults of the figures. */
export interface PrometheusRule {
  /** A label that tells it from the others of its rule. */
  subject?: string
  expr: string | ((figure: number, second: number) => string)
  /** Its expression says for how long; otherwise it has to hold for `holdsMs`. */
  isTimed?: true
  summary: string
  description: string
}

export interface Given {
  figure: number
  /** NaN where the rule has no second figure. */
  second: number
  /** By the clock of the database. */
  now: Date
}

export interface Found {
  /** What it is about, where a rule may find several things; absent: there is but one. */
  subject?: string
  /** For its text (`alert.<rule>.what`). */
  facts: FactValues
  /** Since when, where the rows say so; absent: since it was first found. */
  since?: Date
  /** How long it must hold, where that differs from the rule's. */
  forMs?: number
}

const SECOND_MS = 1000
export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000

// The figure as the time that something must hold.
export const minutes = (figure: number) => figure * MINUTE_MS
export const hours = (figure: number) => figure * HOUR_MS

export function ago(seconds: number, now: Date): Date {
  return new Date(now.getTime() - seconds * SECOND_MS)
}

/** Which of several HR systems a finding is about. */
export function named(source: string): { source?: string } {
  return source === '' ? {} : { source }
}

export function ofSource(kind: string, source: string): string {
  return source === '' ? kind : `${kind} ${source}`
}
