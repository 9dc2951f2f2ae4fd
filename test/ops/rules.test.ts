import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { DASHBOARDS } from '../../ops/grafana/dashboards.ts'
import { alertOf, FILES } from '../../ops/prometheus/rules.ts'
import { RULE_NAMES } from '../../src/alerts/rule.ts'
import { NOT_OVERDUE } from '../../src/alerts/rules/work.ts'
import { EMPLOYEE_STATUSES_OUT_OF_SCOPE } from '../../src/sync/health/figures.ts'
import { readComposeFile } from '../compose/compose-file.ts'
import { anchorsOf } from '../docs/pages.ts'

/* The rules for Prometheus are made from dirsync's own. That they find the same is shown by promtool, in promtool.test.ts. */

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

/** Raised by what dirsync cannot know about itself. */
const OUTSIDE = ['DirsyncChangesLate', 'DirsyncDown', 'DirsyncRestarting', 'DirsyncProcessDown']

test.each(FILES)('$name has what `npm run ops:rules` makes', ({ path, made }) => {
  expect(readFileSync(path, 'utf8')).toBe(made)
})

test('each rule of dirsync has its alert, and each alert says what it is about', () => {
  expect([...new Set(alerts.map(({ alert }) => alert))]).toEqual([...RULE_NAMES.map(alertOf), ...OUTSIDE])
  for (const { alert, annotations } of alerts)
    expect(Object.keys(annotations), alert).toEqual(['summary', 'description', 'runbook'])
})

test('that files do not come is held back by what stops the runs of their source alone', () => {
  const inhibitions: { source_matchers: string[]; target_matchers: string[]; equal: string[] }[] =
    read('alertmanager.yml').inhibit_rules
  const held = inhibitions.filter(({ target_matchers: [target = ''] }) =>
    target.includes('DirsyncFilesOverdue'),
  )
  for (const cause of ['DirsyncSourceSuspect', 'DirsyncRunOverdue'])
    expect(
      held.filter(({ source_matchers: [source = ''] }) => source.includes(cause)).map(({ equal }) => equal),
      cause,
    ).toEqual([['job', 'source']])
})

test('all services of Compose that have a console are scraped', () => {
  const [{ dns_sd_configs: found }] = read('prometheus.yml').scrape_configs
  const started = Object.entries(readComposeFile().services).filter(
    ([, { command }]) => command?.[0] === 'start',
  )
  expect(found[0].names).toEqual(started.map(([name]) => name))
})

test('each alert leads to a section that there is', () => {
  const sections = ['docs/runbook.md', 'docs/monitoring.md'].flatMap(page =>
    anchorsOf(page).map(anchor => `${page}#${anchor}`),
  )
  for (const { annotations } of alerts) expect(sections).toContain(annotations.runbook)
})

test('the share in sync counts the employees that the console counts', () => {
  const scope = groups
    .flatMap(({ rules }) => rules)
    .find(rule => 'record' in rule && rule.record === 'job:dirsync_employees_in_scope:sum')
  expect(scope?.expr).toContain(`{status!~"${EMPLOYEE_STATUSES_OUT_OF_SCOPE.join('|')}"}`)
})

test('the share in sync leaves out the same employees as the built-in alert', () => {
  const ratio = groups
    .flatMap(({ rules }) => rules)
    .find(rule => 'record' in rule && rule.record === 'job:dirsync_employees_in_sync:ratio')
  const counted = `status!~"left|vanished|${NOT_OVERDUE.join('|')}"}`
  expect(ratio?.expr).toContain(`{${counted}`)
  // And the panels that name its limit.
  const shown = JSON.stringify(DASHBOARDS['dirsync-operations.json']).split(
    JSON.stringify(counted).slice(1, -1),
  )
  expect(shown).toHaveLength(3)
})

test('promtool sees each alert raised, not yet raised, and over', () => {
  interface Check {
    alertname: string
    exp_alerts: unknown[]
  }
  const tests: { alert_rule_test?: Check[] }[] = ['dirsync.test.yml', 'dirsync-days.test.yml'].flatMap(
    file => read(file).tests,
  )
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
