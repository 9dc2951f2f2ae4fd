import type { Facts } from './facts.ts'
import { HALTS } from './rules/halts.ts'
import type { Found, RuleDefinition } from './rules/kind.ts'
import { RUNNING } from './rules/running.ts'
import { RUNS } from './rules/runs.ts'
import { WORK } from './rules/work.ts'

export { SEVERITIES, type Severity } from './rules/kind.ts'

/**
 * An alert that comes back this soon after it was gone is flapping: it is over only once it has been gone for as
 * long.
 */
export const CALM_MINUTES = 15

const CHAPTERS = { ...HALTS, ...RUNS, ...WORK, ...RUNNING }
export type RuleName = keyof typeof CHAPTERS
export type FigureName = `ALERT_${Uppercase<RuleName>}`
/** The settings of second thresholds. */
export type SecondName = Extract<(typeof CHAPTERS)[RuleName], { second: object }>['second']['name']

interface Rule extends RuleDefinition {
  inhibitedBy?: readonly RuleName[]
  second?: NonNullable<RuleDefinition['second']> & { name: SecondName }
}

/** Every alert rule. */
export const RULES: Readonly<Record<RuleName, Rule>> = CHAPTERS
export const RULE_NAMES = Object.keys(CHAPTERS) as RuleName[]

/** The setting with the threshold of a rule. */
export function settingOf(rule: RuleName): FigureName {
  return `ALERT_${rule.toUpperCase() as Uppercase<RuleName>}`
}

/** A problem that a rule finds at this moment. */
export interface Finding extends Found {
  rule: RuleName
  /** Empty if the rule has only one subject. */
  subject: string
  /** How long it must last before it is raised. */
  forMs: number
}

/** The thresholds of the rules, as settings; null switches a rule off. */
export type AlertLimits = Readonly<Record<FigureName, number | null> & Record<SecondName, number>>

/**
 * What is wrong now, by every rule except `database_away`, which is told from memory. Whether it has lasted long
 * enough, and who is told, is decided elsewhere.
 * @param now by the clock of the database
 */
export function findings(facts: Facts, limits: AlertLimits, now: Date): Finding[] {
  return RULE_NAMES.flatMap(rule => {
    const { find, second, holdsMs } = RULES[rule]
    const figure = limits[settingOf(rule)]
    if (!find || figure === null) return []
    const given = { figure, second: second ? limits[second.name] : Number.NaN, now }
    const forMs = holdsMs?.(figure) ?? 0
    return find(facts, given).map(found => ({ rule, subject: '', forMs, ...found }))
  })
}

/** An alert as a possible cause of others. Its facts may have come as JSON. */
export interface Cause {
  rule: string
  facts: Readonly<Record<string, unknown>>
  /** Null while it fires. */
  endedAt: Date | null
}

/**
 * The rule that covers an alert: it says the same, or is its cause, and so keeps the alert from being told.
 * @param causes alerts that fire or ended recently
 */
export function inhibitorOf(
  { rule, facts }: Pick<Cause, 'facts'> & { rule: RuleName },
  causes: readonly Cause[],
  now: Date,
): RuleName | undefined {
  const { inhibitedBy, mendsWithinMinutes = 0 } = RULES[rule]
  const counts = ({ endedAt }: Cause) =>
    endedAt === null || now.getTime() - endedAt.getTime() < mendsWithinMinutes * 60_000
  return inhibitedBy?.find(name =>
    causes.some(
      cause => cause.rule === name && counts(cause) && covers(extentOf(cause), extentOf({ facts })),
    ),
  )
}

/** What an alert is about; an undefined element means no restriction. */
function extentOf({ facts }: Pick<Cause, 'facts'>): (unknown | undefined)[] {
  const { scope, source, kind, process } = facts
  // A source that is down halts each of its enterprises, but is one alert.
  // Runs of changes and full runs read the same rows.
  const rows = kind === 'full' ? 'changes' : (kind ?? undefined)
  const enterprise = scope === '*' || source ? undefined : (scope ?? undefined)
  return [process ?? undefined, enterprise, source || undefined, rows]
}

function covers(cause: readonly unknown[], effect: readonly unknown[]): boolean {
  const rows = effect.length - 1
  return cause.every(
    (value, i) =>
      value === undefined ||
      value === effect[i] ||
      // What is about all kinds of runs follows from any of them.
      (i === rows && effect[i] === undefined),
  )
}

/** A rule, or one of its subjects (null: all of them), that is muted until a moment. */
export interface Mute {
  rule: string
  subject: string | null
  until: Date
}

/** The mute that applies to an alert. */
export function muteOf<M extends Mute>(
  { rule, subject }: { rule: string; subject: string },
  mutes: readonly M[],
  now: Date,
): M | undefined {
  return mutes.find(
    mute => mute.rule === rule && (mute.subject === null || mute.subject === subject) && mute.until > now,
  )
}
