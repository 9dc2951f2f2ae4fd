import { z } from 'zod'
import { runbookOf } from '../../alerts/message.ts'
import { AlertHistory, AlertsReport, RuleReport, readAlertHistory, readAlerts } from '../../alerts/report.ts'
import { RULE_NAMES, type RuleName } from '../../alerts/rule.ts'
import type { Ask } from '../ask.ts'
import { cursor, pageSize } from '../endpoint.ts'
import { RANGE, rangeOf, SINCE } from '../range.ts'
import type { Services } from '../services.ts'

export const ruleName = z.enum(RULE_NAMES)

/** Filters of the history; they are kept in the page's address. */
export const HistoryInput = z.object({
  rule: ruleName.optional(),
  ...RANGE,
  ...SINCE,
  cursor,
  limit: pageSize,
})
export type HistoryInput = z.infer<typeof HistoryInput>

export function readConsoleHistory(
  { pool }: Pick<Services, 'pool'>,
  ask: Ask,
  input: HistoryInput,
): Promise<AlertHistory> {
  const { rule, cursor, limit } = input
  const filter = { rule, ...rangeOf(ask, input) }
  return readAlertHistory(pool, ask.language, filter, { after: cursor, limit })
}

/** The answer of `/api/v1/alerts/rules/:rule`. */
export const RuleResult = RuleReport.extend({
  runbook: z.array(z.string()).describe('What to do, step by step'),
  alerts: AlertsReport.shape.alerts.describe('Alerts that are active or about to be raised'),
  lately: AlertHistory.shape.items.describe('Alerts that have ended, the latest first'),
})
export type RuleResult = z.infer<typeof RuleResult>

/** How many ended alerts the page of a rule lists. */
const LATELY = 20

export async function readRule(
  { pool, config }: Pick<Services, 'pool' | 'config'>,
  ask: Ask,
  name: RuleName,
): Promise<RuleResult> {
  const { language } = ask
  const [{ alerts, rules }, { items: lately }] = await Promise.all([
    readAlerts(pool, config, { language, only: name }),
    readAlertHistory(pool, language, { rule: name }, { limit: LATELY }),
  ])
  const rule = rules.find(each => each.rule === name) as RuleReport
  return { ...rule, runbook: runbookOf(language, name), alerts, lately }
}
