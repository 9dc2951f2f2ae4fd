import type { Config } from '../config.ts'
import type { Facts } from './facts.ts'
import { type Finding, RULE_NAMES, RULES, settingOf } from './rule.ts'

/** The thresholds of the rules, as settings; null switches a rule off. */
export type AlertLimits = Pick<Config, Extract<keyof Config, `ALERT_${string}`>>

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
