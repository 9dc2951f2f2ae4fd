import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RULE_NAMES, RULES, type RuleName } from '../../src/alerts/rule.ts'

/**
 * `npm run ops:rules`: generates the alerts of dirsync's own rules in dirsync.rules.yml, and the inhibitions in
 * alertmanager.yml, from src/alerts/rules. The rest of these files is written by hand.
 */

/** `held_run` is DirsyncHeldRun. */
export function alertOf(rule: RuleName): string {
  return `Dirsync${rule.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}`
}

function alertsOf(rule: RuleName): string[] {
  const { severity, holdsMs, figure, second, prometheus } = RULES[rule]
  return [prometheus].flat().map(({ subject, expr, isTimed, forMs: ownMs, summary, description }) => {
    const forMs = ownMs ?? (isTimed ? 0 : (holdsMs?.(figure.default) ?? 0))
    const text = typeof expr === 'string' ? expr : expr(figure.default, second?.default ?? Number.NaN)
    return `      - alert: ${alertOf(rule)}
        expr: ${text.includes('\n') ? `|\n${text.replace(/^/gm, '          ')}` : text}
${forMs === 0 ? '' : `        for: ${durationOf(forMs)}\n`}\
        labels: { severity: ${severity}${subject ? `, subject: ${subject}` : ''} }
        annotations:
          summary: ${JSON.stringify(summary)}
          description: ${JSON.stringify(description)}
          runbook: docs/runbook.md#${rule}
`
  })
}

function durationOf(ms: number): string {
  return ms % 3_600_000 === 0 ? `${ms / 3_600_000}h` : `${ms / 60_000}m`
}

/**
 * The labels that identify the subject of alerts, unless they are about everything, with the labels that both alerts
 * must share; `lacks` is one without which what follows is about all.
 */
const EXTENTS: Partial<Record<RuleName, { only?: string; equal: string[]; lacks?: string }[]>> = {
  halt: [
    { only: 'scope="everything"', equal: [] },
    { only: 'scope="source"', equal: ['source'] },
  ],
  source_suspect: [{ equal: ['kind', 'source'] }, { equal: ['source'], lacks: 'kind' }],
  run_overdue: [{ equal: ['source'] }],
  queue_away: [{ only: 'scope="everything"', equal: [] }],
}

const hasLabel = (rule: RuleName, label: string) =>
  alertsOf(rule).every(text => text.includes(`${label})`) || text.includes(`${label},`))

/** What a rule suppresses. Alerts that lack a shared label are not suppressed. */
function inhibitionsOf(cause: RuleName): string[] {
  const effects = RULE_NAMES.filter(rule => RULES[rule].inhibitedBy?.includes(cause))
  if (effects.length === 0) return []
  return (EXTENTS[cause] ?? [{ equal: [] }]).map(({ only, equal, lacks }) => {
    const targets = effects
      .filter(rule => equal.every(label => hasLabel(rule, label)) && !(lacks && hasLabel(rule, lacks)))
      .map(alertOf)
    const matcher = targets.length === 1 ? `="${targets}"` : `=~"${targets.join('|')}"`
    return `  - source_matchers: ['alertname="${alertOf(cause)}"'${only ? `, '${only}'` : ''}]
    target_matchers:
      - 'alertname${matcher}'
    equal: [${['job', ...equal].join(', ')}]
`
  })
}

/** The files with their generated part: from a line to another one, or to the end. */
export const FILES = [
  {
    name: 'dirsync.rules.yml',
    made: /(?<= {6}# Made by `npm run ops:rules`.*\n\n).*?(?=\n {2}# The objective)/s,
    text: RULE_NAMES.flatMap(alertsOf).join('\n'),
  },
  {
    name: 'alertmanager.yml',
    made: /(?<=^inhibit_rules:\n).*/ms,
    text: RULE_NAMES.flatMap(inhibitionsOf).join(''),
  },
].map(({ name, made, text }) => {
  const path = join(import.meta.dirname, name)
  return { name, path, made: readFileSync(path, 'utf8').replace(made, () => text) }
})

if (import.meta.main) for (const { path, made } of FILES) writeFileSync(path, made)
