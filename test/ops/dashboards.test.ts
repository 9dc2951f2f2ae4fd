import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { DASHBOARDS } from '../../ops/grafana/dashboards.ts'
import { EMPLOYEE_STATUSES_IN_SCOPE } from '../../src/sync/health/figures.ts'
import { parseExposition } from '../console/exposition.ts'
import { spansOf } from '../docs/pages.ts'
import { endOf, startSilently, until } from '../helpers/company.ts'
import { createDeployment, type Deployment } from '../helpers/deployment.ts'
import { has } from '../helpers/programs.ts'
import { type Prometheus, startPrometheus } from './prometheus.ts'
import { RULES_FILE } from './prometheus-server.ts'

/* The dashboards against a real Prometheus that scraped the sample company while it was synced. */

const FOLDER = join(import.meta.dirname, '../../ops/grafana')

const opened = new AsyncDisposableStack()
let deployment: Deployment
let consoleUrl: string
let prometheus: Prometheus

beforeAll(async () => {
  deployment = opened.use(await createDeployment())
  const settings = { ...deployment.settings, PLATFORM_RATE_LIMIT: '300' }
  const service = await startSilently(settings, ['scheduler', 'worker', 'console'], true)
  opened.defer(service.stop)
  consoleUrl = service.consoleUrl ?? ''
  if (has('prometheus')) prometheus = opened.use(await startPrometheus([consoleUrl]))
  const sync = async (kind: string) => {
    const { rows } = await deployment.own.pool.query('select dirsync.resync($1) as id', [kind])
    expect((await endOf(deployment.own.pool, Number(rows[0].id))).state).toBe('done')
  }
  await sync('full')
  // A process tells of its clock with its next sign of life.
  await until(async () => (await families()).some(([name]) => name === 'dirsync_clock_offset_seconds'))
  if (has('prometheus')) await prometheus.judged()
  // After a first scrape: rates take two.
  await deployment.hr.pool.query(`
    update hr.contact set value = '+86 100 0001 9001'
    where kind = 'mobile' and person_id = (select person_id from hr.person where staff_id = 'e10003')`)
  await sync('changes')
})
afterAll(() => opened.disposeAsync())

interface Shown {
  dashboard: string
  panel: string
  expr: string
}

const shown: Shown[] = Object.entries(DASHBOARDS).flatMap(([dashboard, { panels = [] }]) =>
  panels.flatMap(panel =>
    ('targets' in panel ? (panel.targets ?? []) : []).map(({ expr }) => ({
      dashboard,
      panel: String(panel.title),
      expr: String(expr),
    })),
  ),
)

/** What Grafana puts in place of its variables. */
function asAsked(expr: string): string {
  return expr.replaceAll('$job', 'dirsync').replaceAll('$__rate_interval', '5m')
}

test('the pictures can draw every unit', () => {
  const formats: object = runInNewContext(
    `${readFileSync(join(import.meta.dirname, 'picture.js'), 'utf8')}; FORMATS`,
  )
  const units = Object.values(DASHBOARDS).flatMap(({ panels }) =>
    (panels ?? []).flatMap(panel => ('fieldConfig' in panel ? [panel.fieldConfig.defaults.unit] : [])),
  )
  expect(units).toContain('bytes')
  expect(Object.keys(formats)).toEqual(expect.arrayContaining(units))
})

test('the files are what `npm run ops:dashboards` makes', () => {
  for (const [file, dashboard] of Object.entries(DASHBOARDS))
    expect(readFileSync(join(FOLDER, file), 'utf8')).toBe(`${JSON.stringify(dashboard, null, 2)}\n`)
})

test('each panel has a title of its own and says what it answers; none lies on another', () => {
  for (const { panels = [], uid } of Object.values(DASHBOARDS)) {
    const taken = new Set<string>()
    for (const panel of panels) {
      expect('description' in panel && panel.description, `${uid}: ${panel.title}`).toMatch(/\.$/)
      const { x, y, w, h } = panel.gridPos ?? { x: 0, y: 0, w: 0, h: 0 }
      expect(x + w).toBeLessThanOrEqual(24)
      for (let column = x; column < x + w; column++)
        for (let row = y; row < y + h; row++) {
          expect(taken.has(`${column} ${row}`), `${uid}: ${panel.title}`).toBe(false)
          taken.add(`${column} ${row}`)
        }
    }
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  }
})

const METRIC = /\b(?:[a-z_]+:)?(?:dirsync|process)_[\w:]+|\bup\b/g

async function families(): Promise<[name: string, type: string][]> {
  const { families } = parseExposition(await (await fetch(`${consoleUrl}/metrics`)).text())
  return [...families].map(([name, { type }]) => [name, type])
}

test('every metric that a rule or panel names is one that the service shows', async () => {
  const rules: { expr: string; record?: string }[] = parse(readFileSync(RULES_FILE, 'utf8')).groups.flatMap(
    ({ rules }: { rules: unknown[] }) => rules,
  )
  const known = new Set(['up', ...rules.map(({ record }) => record)])
  for (const [name, type] of await families())
    for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) known.add(name + suffix)
  const named = new Set([...rules, ...shown].flatMap(({ expr }) => expr.match(METRIC) ?? []))
  expect(named.size).toBeGreaterThan(30)
  expect([...named].filter(name => !known.has(name))).toEqual([])
})

test('docs/monitoring.md names every metric of dirsync, and no other', async () => {
  const own = (await families()).map(([name]) => name).filter(name => name.startsWith('dirsync_'))
  const named = spansOf('docs/monitoring.md').flatMap(span => span.match(/^dirsync_[a-z_]+/) ?? [])
  expect([...new Set(named)].sort()).toEqual(own.sort())
})

/** Panels that rightly have nothing to show here. */
const EMPTY = new Map([
  ['max(dirsync_pacer_ceiling_calls_per_second{job="$job"})', 'the platform rejected no call'],
  ['sum by (rule) (max by (rule, severity) (dirsync_alerts{job="$job"})) > 0', 'perhaps nothing is raised'],
])

test('Prometheus understands every panel, and has figures for it', { tags: 'prometheus' }, async () => {
  for (const { dashboard, panel, expr } of shown) {
    if (EMPTY.has(expr)) await prometheus.query(asAsked(expr))
    // A rate takes two scrapes.
    else
      await vi.waitFor(
        async () => {
          const samples = await prometheus.query(asAsked(expr))
          const figures = samples.map(({ value }) => value).filter(Number.isFinite)
          expect(figures, `${dashboard}, ${panel}: ${expr}`).not.toEqual([])
        },
        { timeout: 30_000, interval: 500 },
      )
  }
  const exprs = new Set(shown.map(({ expr }) => expr))
  for (const expr of EMPTY.keys()) expect(exprs).toContain(expr)
})

test('the figures are those of the sample', { tags: 'prometheus' }, async () => {
  const of = async (panel: string, dashboard = 'dirsync-operations.json') => {
    const { expr } = shown.find(each => each.dashboard === dashboard && each.panel === panel) as Shown
    return prometheus.query(asAsked(expr))
  }
  const { rows } = await deployment.own.pool.query(
    `select count(*)::int as cases from dirsync.dead_letter where state not in ('resolved', 'ignored')`,
  )
  expect(await of('Open cases')).toEqual([{ metric: {}, value: rows[0].cases }])
  expect(await of('Held runs')).toEqual([{ metric: {}, value: 0 }])
  expect(await of('Halts')).toEqual([{ metric: {}, value: 1 }])
  const [share] = await of('In sync')
  expect(share?.value).toBeGreaterThan(0.9)
  const waiting = await of('Employees not in sync')
  const notInSync = EMPLOYEE_STATUSES_IN_SCOPE.filter(status => status !== 'in_sync')
  expect(waiting.map(({ metric }) => metric.status).sort()).toEqual(notInSync.sort())
})
