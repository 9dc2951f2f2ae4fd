import { inLanguage } from '../../texts/failures.ts'
import { isSaid, type Said } from '../../texts/message.ts'
import { FULL_STOP, type Language, type TextValues, textOr } from '../../texts/texts.ts'
import type { Facts } from '../facts.ts'

/** Severities, lowest first. Each channel has a least severity of its own. */
export const SEVERITIES = ['info', 'warning', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]

/**
 * A rule, complete except for its words, which the catalogues have as `alert.<rule>…`, `alert_rule.<rule>`,
 * `runbook.<rule>` and, unless its threshold says how long the problem lasts, `alerts.figure.<rule>`. Its name is its key in a
 * chapter.
 */
export interface RuleDefinition {
  severity: Severity
  /** Hours after the first message at which reminders are sent while it lasts; absent: every ALERT_REPEAT_HOURS. */
  remindedAfterHours?: readonly number[]
  /**
   * Names of rules that cover this one. While one of them fires about everything, or about the same subject, this
   * rule is not told. A warning never holds back a critical alert.
   */
  inhibitedBy?: readonly string[]
  /**
   * How long the problem may take to clear by itself after the covering alert has ended; until then it is not told
   * either. For example, work that piled up for hours is not done in the minute in which a halt ends.
   */
  mendsWithinMinutes?: number
  /**
   * Facts that are counts or times of what a person has acknowledged. Once one of them grows, the alert is no longer acknowledged, and is
   * told at once.
   */
  newsIfMore?: readonly string[]
  /** The meaning of its threshold, in one plain sentence. */
  meaning: string
  /** The threshold, as the setting `ALERT_<RULE>`; `off` switches the rule off. */
  figure: Figure & { lasts?: 'minutes' | 'hours' }
  /** A second threshold, with a setting of its own. */
  second?: Figure & { name: `ALERT_${string}`; meaning: string }
  /** How long the problem must last before it is raised; absent: it is raised at once. */
  holdsMs?: (figure: number) => number
  /** What is wrong at this moment; absent for a rule that is told by other means. */
  find?: (facts: Facts, given: Given) => readonly Found[]
  /** The values of its texts besides the subject, made from the facts of a finding. */
  values: (language: Language, facts: FactReader, subject: string) => TextValues
  /** The same rule for Prometheus; ops/prometheus is generated from it. */
  prometheus: PrometheusRule | readonly PrometheusRule[]
  /** The screen of the console where the problem can be seen and fixed. */
  screen?: 'cases' | 'employees' | 'halts' | 'money' | 'platform' | 'runs' | 'schedules'
}

interface Figure {
  min: number
  max: number
  default: number
  example: number
}

/** An alerting rule of Prometheus, with the default thresholds. */
export interface PrometheusRule {
  /** A label that distinguishes it from the others of its rule. */
  subject?: string
  expr: string | ((figure: number, second: number) => string)
  /** The expression includes the duration; otherwise it must hold for `holdsMs`. */
  isTimed?: true
  /** How long it must hold, if that differs from the rule's value. */
  forMs?: number
  summary: string
  description: string
}

export interface Given {
  figure: number
  /** NaN if the rule has no second threshold. */
  second: number
  /** By the clock of the database. */
  now: Date
}

export interface Found {
  /** The subject, for a rule that may find several problems. */
  subject?: string
  /** For its text (`alert.<rule>.what`). */
  facts: FactValues
  /** Since when, if the rows say so; absent: since it was first found. */
  since?: Date
  /** How long it must last, if that differs from the rule's value. */
  forMs?: number
}

export const SECOND_MS = 1000
export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000

// For a threshold that is the time for which the problem must last, in minutes.
export const minutes = (figure: number) => figure * MINUTE_MS
export const hours = (figure: number) => figure * HOUR_MS

export function ago(seconds: number, now: Date): Date {
  return new Date(now.getTime() - seconds * SECOND_MS)
}

/** The HR source that a finding is about, if there are several. */
export function sourceFact(source: string): { source?: string } {
  return source === '' ? {} : { source }
}

export function ofSource(kind: string, source: string): string {
  return source === '' ? kind : `${kind} ${source}`
}

/* Values that the texts of several rules share. */

/** Figures and names; no personal data. */
export type FactValues = Readonly<Record<string, string | number | Said | null>>

/** Reads facts from the database, which an earlier version may have written. */
export class FactReader {
  readonly #facts: FactValues

  constructor(facts: FactValues) {
    this.#facts = facts
  }

  text(name: string): string {
    return String(this.#facts[name] ?? '')
  }

  number(name: string): number {
    return Number(this.#facts[name] ?? 0)
  }

  has(name: string): boolean {
    return (this.#facts[name] ?? null) !== null
  }

  /** A message in words, as a sentence that another one may follow. */
  said(language: Language, name: string): string {
    const fact = this.#facts[name] ?? ''
    return sentence(language, isSaid(fact) ? inLanguage(language, fact) : String(fact))
  }

  /** Numbers as they are, for texts that need nothing else. */
  numbers(...names: string[]): TextValues {
    return Object.fromEntries(names.map(name => [name, this.number(name)]))
  }
}

/** The last answer of the other side, if known. */
export function answer(_: Language, facts: FactReader): TextValues {
  return { answer: facts.has('answer') ? facts.text('answer') : 'none' }
}

/** The last error, for a text that quotes it if known. */
export function lastError(language: Language, facts: FactReader): TextValues {
  return {
    error: facts.has('error') ? facts.said(language, 'error') : 'none',
  }
}

/** The kind of runs, and the HR source. */
export function kindText(language: Language, facts: FactReader, otherwise = ''): string {
  const kind = facts.has('kind') ? facts.text('kind') : otherwise
  const text = textOr(language, `run_kind.${kind}`, kind)
  return facts.has('source') ? `${text}, ${facts.text('source')}` : text
}

/** A stored text as a full sentence that another one may follow. */
export function sentence(language: Language, text: string): string {
  const trimmed = text.trim()
  if (trimmed === '' || /[.!?。！？]$/.test(trimmed)) return trimmed
  return trimmed + FULL_STOP[language]
}
