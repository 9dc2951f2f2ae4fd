import { type Language, translator } from '../texts/texts.ts'
import { CALM_MINUTES, type Finding, RULES, type RuleName } from './rule.ts'
import { FactReader } from './rules/words.ts'

/** An alert in words. */
export interface AlertText {
  /** A few words: what is wrong and where. */
  title: string
  /** One or two sentences with the figures. */
  what: string
  /** What to do. */
  remedy: string
  /** One sentence for when it is over. */
  over: string
}

/**
 * The texts of an alert in a language. Facts that an earlier version did not record are left blank.
 * @param alert.returns how often it came back soon after it had ended
 */
export function alertText(
  language: Language,
  alert: Pick<Finding, 'rule' | 'subject' | 'facts'> & { returns?: number },
): AlertText {
  const t = translator(language)
  const facts = new FactReader(alert.facts)
  const values = { subject: alert.subject, ...RULES[alert.rule].values(language, facts, alert.subject) }
  const what = t(`alert.${alert.rule}.what`, values)
  return {
    title: t(`alert.${alert.rule}.title`, values),
    what: alert.returns
      ? t('alerts.message.flapping', { what, returns: alert.returns, minutes: CALM_MINUTES })
      : what,
    remedy: t(`alert.${alert.rule}.remedy`, values),
    over: t(`alert.${alert.rule}.over`, values),
  }
}

/** The runbook of a rule: short steps. */
export function runbookOf(language: Language, rule: RuleName): string[] {
  return translator(language)(`runbook.${rule}`).split('\n')
}
