import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { ROOT } from '../docs/pages.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { runTool } from './prometheus.ts'
import { RULES_FILE } from './prometheus-server.ts'

const TESTS_FILE = join(ROOT, 'ops/prometheus/dirsync.test.yml')

test('promtool: each alert is raised at its time and not just below, and is over; a healthy deployment raises nothing', {
  tags: 'prometheus',
  // It computes for a minute, days of each alert.
  timeout: 300_000,
}, async () => {
  const files = ['dirsync.test.yml', 'dirsync-days.test.yml']
  const { code, output } = await runTool('promtool', ['test', 'rules', ...files])
  expect(output).toContain('SUCCESS')
  expect(code).toBe(0)
})

test('promtool finds rules that are a little off', { tags: 'prometheus' }, async () => {
  const rules = readFileSync(RULES_FILE, 'utf8')
  const { tests, ...rest } = parse(readFileSync(TESTS_FILE, 'utf8'))
  const folder = await temporaryFolder()
  const off: [alert: string, from: string, to: string][] = [
    ['DirsyncRunOverdue', '> 3 * max', '> 4 * max'],
    ['DirsyncCasesJump', 'state!="ignored"', 'state!=""'],
    ['DirsyncCasesJump', 'kind=~"changes|full"} offset 1h)', 'kind=~"changes|full"})'],
    ['DirsyncOutOfSync', 'and on (job) dirsync_run_last_success_age_seconds{kind=~"changes|full"}', ''],
    ['DirsyncWorkStuck', '> 3600', '> 3500'],
    ['DirsyncRoleMissing', '== 0\n        for: 1m', '== 0'],
    ['DirsyncDatabaseAway', 'max by (job) (dirsync_database_up)', 'min by (job) (dirsync_database_up)'],
  ]
  for (const [alert, from, to] of off) {
    expect(rules).toContain(from)
    const its = tests.filter(({ name }: { name: string }) => name.startsWith(alert))
    await writeFile(join(folder, 'dirsync.rules.yml'), rules.replace(from, to))
    await writeFile(join(folder, 'its.test.yml'), stringify({ ...rest, tests: its }))
    const { code, output } = await runTool('promtool', ['test', 'rules', join(folder, 'its.test.yml')])
    expect(output, `with ${to} in place of ${from}`).toContain('FAILED')
    expect(code).toBe(1)
  }
})

test('promtool and amtool accept the rules and the examples of configurations', {
  tags: ['prometheus', 'alertmanager'],
}, async () => {
  const checks = await Promise.all([
    runTool('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', 'dirsync.rules.yml']),
    runTool('promtool', ['check', 'config', '--syntax-only', 'prometheus.yml']),
    runTool('amtool', ['check-config', 'alertmanager.yml']),
  ])
  for (const { code, output } of checks) expect(code, output).toBe(0)
})
