import { CHANNELS } from './rules/channels.ts'
import { DATABASE } from './rules/database.ts'
import { HALTS } from './rules/halts.ts'
import type { Found, RuleDefinition } from './rules/kind.ts'
import { MONEY } from './rules/money.ts'
import { PLATFORM } from './rules/platform.ts'
import { PROCESSES } from './rules/processes.ts'
import { RUNS } from './rules/runs.ts'
import { WORK } from './rules/work.ts'

export { SEVERITIES, type Severity } from './rules/kind.ts'

/** An alert that comes back so soon after it was gone is flapping: it is over only once it has been gone for as long. */
export const CALM_MINUTES = 15

const CHAPTERS = {
  ...HALTS,
  ...RUNS,
  ...WORK,
  ...MONEY,
  ...PROCESSES,
  ...PLATFORM,
  ...DATABASE,
  ...CHANNELS,
}
export type RuleName = keyof typeof CHAPTERS
export type FigureName = `ALERT_${Uppercase<RuleName>}`
/** The settings of second figures. */
export type SecondName = Extract<(typeof CHAPTERS)[RuleName], { second: object }>['second']['name']

interface Rule extends RuleDefinition {
  inhibitedBy?: readonly RuleName[]
  second?: NonNullable<RuleDefinition['second']> & { name: SecondName }
}

/** Every rule that alerts are raised by. */
export const RULES: Readonly<Record<RuleName, Rule>> = CHAPTERS
export const RULE_NAMES = Object.keys(CHAPTERS) as RuleName[]

/** The setting that has the figure of a rule. */
export function settingOf(rule: RuleName): FigureName {
  return `ALERT_${rule.toUpperCase() as Uppercase<RuleName>}`
}

/** Something that a rule finds wrong at this moment. */
export interface Finding extends Found {
  rule: RuleName
  /** Empty where the rule finds but one thing. */
  subject: string
  /** How long it must hold before it is raised. */
  forMs: number
}

/** An alert, as far as others may follow from it. Its facts may have come as JSON. */
export interface Cause {
  rule: string
  facts: Readonly<Record<string, unknown>>
  /** Null: it fires. */
  endedAt: Date | null
}

/**
 * The rule that says the same as an alert, or what it follows from, and so keeps it from being told.
 * @param causes alerts that fire or have ended lately
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

/** What an alert is about; what is undefined does not limit it. */
function extentOf({ facts }: Pick<Cause, 'facts'>): (unknown | undefined)[] {
  const { scope, source, kind } = facts
  // A source that is away halts each of its enterprises, and is one alert.
  return [scope === '*' || source ? undefined : (scope ?? undefined), source || undefined, kind ?? undefined]
}

function covers(cause: readonly unknown[], effect: readonly unknown[]): boolean {
  return cause.every((value, i) => value === undefined || value === effect[i])
}

/** A rule, or one thing that it is about (null: everything), that nobody wants to hear of until then. */
export interface Mute {
  rule: string
  subject: string | null
  until: Date
}

/** The mute that keeps an alert from channels. */
export function muteOf<M extends Mute>(
  { rule, subject }: { rule: string; subject: string },
  mutes: readonly M[],
  now: Date,
): M | undefined {
  return mutes.find(
    mute => mute.rule === rule && (mute.subject === null || mute.subject === subject) && mute.until > now,
  )
}
