import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { chromium } from 'playwright-core'
import { DASHBOARDS } from '../../ops/grafana/dashboards.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { openEmbedded } from '../../src/trial/environment.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { freePort } from '../helpers/free-port.ts'
import { program } from '../helpers/programs.ts'
import { launchPrometheus } from './prometheus-server.ts'

/**
 * `npm run ops:pictures`: writes docs/images/grafana-*.png, in ten minutes. A real Prometheus scrapes the sample company while it is
 * synced and has its troubles; each panel's query is asked for, and picture.js draws the answers as the dashboard's JSON says. It is
 * not Grafana that draws. Needs Chromium and Prometheus.
 */

const ROOT = join(import.meta.dirname, '../..')
const IMAGES = join(ROOT, 'docs/images')
const { resolve } = createRequire(import.meta.url)
const STEP_S = 4
const MINUTE_MS = 60_000

const folder = await mkdtemp(join(tmpdir(), 'dirsync-pictures-'))
const logger = createLogger({ level: 'silent', pretty: false })
const company = await openEmbedded({ directory: join(folder, '.dirsync'), fresh: true, logger })
const settings = { ...company.settings, PLATFORM_RATE_LIMIT: '25' }
const children: ChildProcess[] = []
try {
  const targets = await Promise.all(['scheduler,console', 'worker,console'].map(startProcess))
  await using prometheus = await launchPrometheus({ folder, targets, seconds: STEP_S / 2 })
  const from = Date.now() / 1000
  await live()
  const to = Date.now() / 1000

  /** What a panel shows: its series in the order of its queries, at the same times. */
  const answerOf = async (targets: Record<string, unknown>[]) => {
    const times = Array.from(
      { length: Math.floor((to - from) / STEP_S) },
      (_, i) => Math.round(from) + i * STEP_S,
    )
    const series: { name: string; values: (number | null)[] }[] = []
    for (const { expr, legendFormat } of targets) {
      const query = String(expr).replaceAll('$job', 'dirsync').replaceAll('$__rate_interval', '20s')
      const range = { start: String(times[0]), end: String(times.at(-1)), step: String(STEP_S) }
      type Result = { metric: Record<string, string>; values: [number, string][] }[]
      const { result } = await prometheus.ask<{ result: Result }>('query_range', { query, ...range })
      for (const { metric, values } of result) {
        const at = new Map(values.map(([time, value]) => [time, Number(value)]))
        series.push({
          name: String(legendFormat).replace(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
          values: times.map(time => (Number.isFinite(at.get(time)) ? (at.get(time) as number) : null)),
        })
      }
    }
    return { times, series }
  }

  const browser = await chromium.launch({
    executablePath: program('chromium'),
    args: ['--no-sandbox'],
  })
  try {
    await mkdir(IMAGES, { recursive: true })
    for (const [file, dashboard] of Object.entries(DASHBOARDS)) {
      const answers: Record<string, unknown> = {}
      for (const panel of dashboard.panels ?? [])
        if ('targets' in panel && panel.targets)
          answers[String(panel.id)] = await answerOf(panel.targets as Record<string, unknown>[])
      const page = await browser.newPage({ viewport: { width: 1480, height: 900 } })
      await page.setContent('<!doctype html><body></body>')
      await page.addStyleTag({ path: resolve('uplot/dist/uPlot.min.css') })
      await page.addScriptTag({ path: resolve('uplot/dist/uPlot.iife.min.js') })
      await page.addScriptTag({ path: join(import.meta.dirname, 'picture.js') })
      await page.evaluate(`drawDashboard(${JSON.stringify({ dashboard, answers })})`)
      const picture = file.replace('dirsync-', 'grafana-').replace('.json', '.png')
      await page.screenshot({ path: join(IMAGES, picture), fullPage: true })
      console.error(picture)
    }
  } finally {
    await browser.close()
  }
} finally {
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(children.map(child => new Promise(resolve => child.once('exit', resolve))))
  await company.close()
  await rm(folder, { recursive: true, force: true })
}

async function startProcess(roles: string): Promise<string> {
  const port = await freePort()
  const env = { PATH: process.env.PATH, ...settings, CONSOLE_PORT: String(port) }
  children.push(
    spawn(join(ROOT, 'bin/dirsync'), ['start', '--roles', roles], { cwd: folder, env, stdio: 'ignore' }),
  )
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(`${url}/readyz`).catch(() => null))?.ok) await pass(200)
  return url
}

/** Ten minutes in the life of a company: a first sync, a held run, a platform that is slow, strict and at last forgets us. */
async function live(): Promise<void> {
  const hr = new pg.Client({ connectionString: settings.DATABASE_URL.replace(/dirsync$/, 'hr') })
  const own = new pg.Client({ connectionString: settings.DATABASE_URL })
  await Promise.all([hr.connect(), own.connect()])
  const control = controlOf(settings.PLATFORM_BASE_URL)
  const fault = (...rules: object[]) => control('POST', 'faults', rules)
  const mend = () => control('DELETE', 'faults')
  try {
    await fault({ operation: '*', latencyMs: 30, jitterMs: 40 })
    await own.query(`select dirsync.resync('full'), dirsync.resync('openids')`)
    await pass(2 * MINUTE_MS)

    await hr.query(`
      update hr.employment set unit_id = (select unit_id from hr.org_unit where company = 'E100' and code = 'D220')
      where ctid in (select e.ctid from hr.employment e join hr.org_unit u using (unit_id)
                     where u.company = 'E100' and u.code <> 'D220' and e.status = 'A' order by e.ctid limit 70)`)
    await own.query(`select dirsync.resync('changes')`)
    await pass(MINUTE_MS)
    await own.query(`select dirsync.approve(id) from dirsync.sync_run where state = 'held'`)
    await pass(MINUTE_MS)

    const strict = { kind: 'token-bucket', limit: 15, windowMs: 1000, scope: 'all' }
    await fault({ operation: '*', rateLimit: strict })
    await own.query(`select dirsync.resync('full')`)
    await pass(MINUTE_MS)
    await mend()
    await fault({ operation: 'employee/get', latencyMs: 600, jitterMs: 300 })
    await own.query(`select dirsync.resync('full')`)
    await pass(MINUTE_MS)
    await mend()
    await fault({ operation: '*', latencyMs: 30, jitterMs: 40 })
    await pass(MINUTE_MS)

    await fault({ operation: '*', code: 1000210003 })
    await own.query(`select dirsync.resync('full')`)
    await pass(MINUTE_MS)
    await mend()
    await own.query(`select dirsync.probe_now('*')`)
    await pass(MINUTE_MS)
    await fault({ operation: '*', latencyMs: 30, jitterMs: 40 })
    await own.query(`select dirsync.resync('full')`)
    await pass(MINUTE_MS / 4)
  } finally {
    await Promise.all([hr.end(), own.end()])
  }
}

function pass(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
