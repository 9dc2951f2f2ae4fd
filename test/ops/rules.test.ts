import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { RULE_NAMES, RULES, type RuleName } from '../../src/alerts/rule.ts'
import { SETTINGS } from '../../src/config.ts'
import { STANDINGS_IN_SCOPE } from '../../src/report/figures.ts'
import { anchorsOf } from '../docs/pages.ts'

/* The rules for Prometheus say what dirsync's own rules say. That they find it is shown by promtool, in promtool.test.ts. */

interface AlertingRule {
  alert: string
  expr: string
  for?: string
  labels: Record<string, string>
  annotations: Record<string, string>
}

const FOLDER = join(import.meta.dirname, '../../ops/prometheus')
const read = (file: string) => parse(readFileSync(join(FOLDER, file), 'utf8'))
const groups: { name: string; rules: (AlertingRule | { record: string; expr: string })[] }[] =
  read('dirsync.rules.yml').groups
const alerts = groups.flatMap(({ rules }) => rules).filter(rule => 'alert' in rule)

/** `held_run` is DirsyncHeldRun. */
function alertOf(rule: RuleName): string {
  return `Dirsync${rule.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}`
}

/** Raised by what dirsync cannot know about itself. */
const OUTSIDE = ['DirsyncDown', 'DirsyncRestarting']

test('each rule of dirsync has its alert, with its severity and its place in the runbook', () => {
  expect([...new Set(alerts.map(({ alert }) => alert))]).toEqual([...RULE_NAMES.map(alertOf), ...OUTSIDE])
  for (const rule of RULE_NAMES)
    for (const { labels, annotations } of alerts.filter(({ alert }) => alert === alertOf(rule))) {
      expect(labels.severity, rule).toBe(RULES[rule].severity)
      expect(annotations.runbook, rule).toBe(`docs/runbook.md#${rule}`)
      expect(Object.keys(annotations), rule).toEqual(['summary', 'description', 'runbook'])
    }
})

test('each alert leads to a section that there is', () => {
  const sections = ['docs/runbook.md', 'docs/monitoring.md'].flatMap(page =>
    anchorsOf(page).map(anchor => `${page}#${anchor}`),
  )
  for (const { annotations } of alerts) expect(sections).toContain(annotations.runbook)
})

/** Defaults of the settings, and the figures of the rules that have none. */
const defaultOf = (name: `ALERT_${string}` & keyof typeof SETTINGS) => Number(SETTINGS[name].default)

/** What stands in each alert: words of its expression, and how long it must hold where that is not at once. */
const FIGURES: Readonly<Record<RuleName, { says: string[]; for?: string }>> = {
  halt: { says: [], ...minutes(defaultOf('ALERT_HALT')) },
  paused: { says: [], for: `${defaultOf('ALERT_PAUSED')}h` },
  held_run: { says: [], ...minutes(defaultOf('ALERT_HELD_RUN')) },
  source_suspect: { says: [], ...minutes(defaultOf('ALERT_SOURCE_SUSPECT')) },
  run_overdue: { says: [`> ${defaultOf('ALERT_RUN_OVERDUE')} *`] },
  cases_jump: {
    says: [`> ${defaultOf('ALERT_CASES_JUMP')}`, ` ${defaultOf('ALERT_CASES_JUMP_PERCENT') / 100} *`],
  },
  out_of_step: { says: [`< ${defaultOf('ALERT_OUT_OF_STEP') / 100}`], for: '1h' },
  work_stuck: { says: [`> ${defaultOf('ALERT_WORK_STUCK') * 60}`] },
  money_unknown: { says: [], ...minutes(defaultOf('ALERT_MONEY_UNKNOWN')) },
  calls_rejected: { says: [`> ${defaultOf('ALERT_CALLS_REJECTED') / 100}`, '>= 5)'] },
  role_missing: { says: ['== 0'], ...minutes(defaultOf('ALERT_ROLE_MISSING')) },
  notification_misfit: { says: [`>= ${defaultOf('ALERT_NOTIFICATION_MISFIT')}`] },
  clock: { says: [`> ${defaultOf('ALERT_CLOCK')}`] },
  tokens: { says: [`> ${defaultOf('ALERT_TOKENS')}`] },
  queue_away: { says: [`> ${defaultOf('ALERT_QUEUE_AWAY') * 60}`] },
  database_full: { says: [`>= ${defaultOf('ALERT_DATABASE_FULL') / 100}`] },
  database_slow: { says: [`> ${defaultOf('ALERT_DATABASE_SLOW') / 1000}`], for: '1m' },
  database_away: { says: ['== 0'], ...minutes(defaultOf('ALERT_DATABASE_AWAY')) },
  dead_channel: { says: [`> ${defaultOf('ALERT_DEAD_CHANNEL') * 60}`] },
}

function minutes(count: number): { for?: string } {
  return count === 0 ? {} : { for: `${count}m` }
}

test('the figures are the defaults of the settings', () => {
  for (const rule of RULE_NAMES)
    for (const alert of alerts.filter(({ alert }) => alert === alertOf(rule))) {
      const { says, ...rest } = FIGURES[rule]
      const words = `${alert.expr} `.replace(/\s+/g, ' ')
      for (const text of says) expect(words, rule).toContain(`${text} `)
      expect({ for: alert.for }, rule).toEqual({ for: rest.for })
    }
  const size = alerts.find(({ labels }) => labels.subject === 'size')
  expect(size?.expr).toContain(`/ ${defaultOf('ALERT_DATABASE_GB')}e9 `)
})

test('the share in step counts the employees that the console counts', () => {
  const scope = groups
    .flatMap(({ rules }) => rules)
    .find(rule => 'record' in rule && rule.record === 'job:dirsync_employees_in_scope:sum')
  expect(scope?.expr).toContain(`{standing=~"${STANDINGS_IN_SCOPE.join('|')}"}`)
})

test('promtool sees each alert raised, not yet raised, and over', () => {
  interface Check {
    alertname: string
    exp_alerts: unknown[]
  }
  const tests: { alert_rule_test?: Check[] }[] = read('dirsync.test.yml').tests
  const names = new Set(alerts.map(({ alert }) => alert))
  for (const name of names) {
    const seen = tests.map(({ alert_rule_test: checks = [] }) =>
      checks
        .filter(({ alertname }) => alertname === name)
        .map(({ exp_alerts }) => (exp_alerts.length > 0 ? 'raised' : 'quiet')),
    )
    expect(
      seen.filter(states => states.join(' ').endsWith('quiet raised quiet')),
      name,
    ).not.toEqual([])
  }
})

test('Alertmanager keeps back what dirsync keeps back', () => {
  interface Inhibition {
    source_matchers: string[]
    target_matchers: string[]
    equal: string[]
  }
  const inhibitions: Inhibition[] = read('alertmanager.yml').inhibit_rules
  expect(inhibitions).toEqual(
    RULE_NAMES.flatMap(rule => {
      const by = RULES[rule].inhibitedBy
      if (!by) return []
      return [
        {
          source_matchers: [`alertname=~"${by.map(alertOf).join('|')}"`],
          target_matchers: [`alertname="${alertOf(rule)}"`],
          equal: ['job'],
        },
      ]
    }),
  )
})
