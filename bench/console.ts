import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { Agent, request } from 'undici'
import { createPool } from '../src/lib/database.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { startLink } from '../test/helpers/link.ts'

import type { Figure, RunBenchmark } from './figure.ts'
import { fillDatabase } from './planned-database.ts'
import { type Deployment, serviceEnvironment, startService } from './service.ts'
import type { Workshop } from './workshop.ts'

const CASES = 100_000
/** A small deployment: the cost of the same pages there is the baseline. */
const SMALL = { employees: 1000, cases: 100 }
const STREAMS = 50
const ROUNDS = 40
const WARM_UP_ROUNDS = 3
/** To HR and back. */
const HR_MS = 50
const GOAL_MS = 100
const GOAL_KB = 100

/** Pages that an operator opens, by name. */
const PAGES: Record<string, string> = {
  overview: '/overview',
  runs: '/runs',
  run: '/runs/1',
  'held-plan': '/runs/HELD/plan',
  cases: '/cases',
  'cases-filtered': '/cases?categories=duplicate_mobile&states=open',
  'cases-by-key': '/cases?key=1234',
  case: '/cases/1',
  employees: '/employees?status=dead_lettered',
  employee: '/employees/EMPLOYEE',
  departments: '/departments',
  platform: '/platform',
  schedules: '/schedules',
  mapping: '/mapping',
  money: '/money',
  orders: '/mirrors/orders',
  halts: '/halts',
  audit: '/audit',
  search: '/search?q=EMPLOYEE',
  'search-name': '/search?q=Baba',
  'search-nobody': '/search?q=Zzzz',
  api: '/api',
}

/** Those measured again once HR has the indexes of docs/mapping.md. */
const WITH_INDEX = ['search-name', 'search-nobody']

/** Those that name people. */
const NAMING = new Set(['held-plan', 'cases', 'case', 'employee', 'search-name'])

/** The cost of console pages with a million employees, while browsers receive live updates. */
export function consolePages(workshop: Workshop, employees: number, logger: Logger): RunBenchmark {
  const [many, cases] = [employees, CASES].map(n => n.toLocaleString('en'))
  return {
    name: 'console',
    measures: `each page with ${many} employees, ${cases} cases, as many attempts and commands, a held plan of all employees, ${STREAMS} event streams open and the names of people from an HR ${HR_MS} ms away: request to last byte, 95th percentile of ${ROUNDS}, in ms; the largest page in kB`,
    against: `the same pages of a deployment of ${SMALL.employees} employees and ${SMALL.cases} cases`,
    async run(_parts, report) {
      const large = await measured(workshop, { employees, cases: CASES }, logger, report)
      const small = await measured(workshop, SMALL, logger, report)
      const figures = [...large.keys()].map((page): Figure => {
        const { ms = Number.NaN } = large.get(page) ?? {}
        const baseline = small.get(page)?.ms ?? null
        return { name: `console-${page}`, value: ms, unit: 'ms', baseline, goal: { valueAtMost: GOAL_MS } }
      })
      const sizeOf = (pages: typeof large) => Math.max(...[...pages.values()].map(({ kB }) => kB))
      return [
        ...figures,
        {
          name: 'console-largest-page',
          value: sizeOf(large),
          unit: 'kB',
          baseline: sizeOf(small),
          goal: { valueAtMost: GOAL_KB },
        },
      ]
    },
  }
}

type Report = (line: string) => void

async function measured(
  workshop: Workshop,
  size: { employees: number; cases: number },
  logger: Logger,
  report: Report,
): Promise<Map<string, { ms: number; kB: number }>> {
  report(`a database of ${size.employees.toLocaleString('en')} employees`)
  const databaseUrl = await workshop.database()
  await fillDatabase(databaseUrl, size.employees, logger)
  const pool = createPool(databaseUrl, { max: 2, name: 'bench', logger })
  const agent = new Agent({ connections: STREAMS + 10 })
  const platform = await workshop.emulator({ employees: [], departments: [] })
  const deployment: Deployment = { databaseUrl, redisUrl: null, platform, ratePerSecond: 10 }
  const port = await freePort()
  await using hr = await startLink(databaseUrl)
  hr.delay(HR_MS / 2)
  try {
    const { held, employee } = await fillTables(pool, size.cases)
    const service = await startService(workshop.folder, deployment, ['console'], {
      CONSOLE_PORT: String(port),
      HR_DATABASE_URL: hr.url,
    })
    try {
      const origin = `http://127.0.0.1:${port}`
      const headers = {
        authorization: `Bearer ${await makeToken(workshop, deployment)}`,
        accept: 'text/html',
      }
      const streams = Array.from({ length: STREAMS }, () =>
        request(`${origin}/events`, { headers, dispatcher: agent }),
      )
      for (const stream of await Promise.all(streams)) {
        if (stream.statusCode !== 200) throw new Error(`an event stream was answered ${stream.statusCode}`)
        stream.body.on('error', () => {}).resume()
      }
      const costs = new Map<string, { ms: number; kB: number }>()
      await untilNamed(async () => {
        const { body } = await request(`${origin}/cases`, { headers, dispatcher: agent })
        return body.text()
      })
      const measure = async (path: string, isNaming: boolean) => {
        const address = `${origin}${path.replace('HELD', String(held)).replace('EMPLOYEE', employee)}`
        const times: number[] = []
        let bytes = 0
        for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
          const startedAt = performance.now()
          const { statusCode, body } = await request(address, { headers, dispatcher: agent })
          const text = await body.text()
          if (round >= 0) times.push(performance.now() - startedAt)
          if (statusCode !== 200 && statusCode !== 303)
            throw new Error(`${path}: ${statusCode} ${text.slice(0, 300)}`)
          if (isNaming && !isNamed(text)) throw new Error(`${path} came without names`)
          bytes = Buffer.byteLength(text)
          // Meanwhile something changes, so that the browsers' streams are active.
          if (round % 10 === 0) await pool.query(`select dirsync.note_command('bench', null, '{}')`)
        }
        const ms = times.sort((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? Number.NaN
        return { ms, kB: bytes / 1000 }
      }
      const add = async (page: string, as: string) => {
        const cost = await measure(PAGES[page] ?? '', NAMING.has(page))
        costs.set(as, cost)
        report(`${as}: p95 ${cost.ms.toFixed(1)} ms, ${cost.kB.toFixed(1)} kB`)
      }
      for (const page of Object.keys(PAGES)) await add(page, page)
      await pool.query(`create extension if not exists pg_trgm`)
      for (const column of ['full_name', 'work_number', 'mail'])
        await pool.query(`create index on hr.employee using gin (lower(btrim(${column})) gin_trgm_ops)`)
      await pool.query('analyze hr.employee')
      for (const page of WITH_INDEX) await add(page, `${page}-indexed`)
      return costs
    } finally {
      await agent.destroy()
      await service.stop()
    }
  } finally {
    await pool.end()
  }
}

/** The first looks at HR connect and check the mapping. @throws Error if a page never names anybody */
async function untilNamed(page: () => Promise<string>): Promise<void> {
  const givenUpAt = performance.now() + 30_000
  while (!isNamed(await page())) {
    if (performance.now() > givenUpAt) throw new Error('pages come without names')
    await new Promise(resolve => setTimeout(resolve, 500))
  }
}

function isNamed(page: string): boolean {
  return page.includes('class="name"')
}

/**
 * Cases of several causes with events and attempts, a held run with a plan of everyone, and whatever else pages list.
 */
async function fillTables(pool: Pool, cases: number): Promise<{ held: number; employee: string }> {
  await pool.query(
    `insert into dirsync.sync_run (kind, state, read_all, planned, planned_at, finished_at, requested_at)
     select case when i % 20 = 0 then 'full' else 'changes' end, case when i % 50 = 0 then 'failed' else 'done' end, true, 7, t, t, t
     from generate_series(1, $1::int / 10) i, lateral (select now() - i * interval '10 min' as t) at`,
    [cases],
  )
  const { rows: held } = await pool.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, state, started_at, planned_at, planned, in_scope, plan, message)
     select 'changes', 'held', now(), now(), count(*), count(*), '{"reasons": {}, "sample": {}}', '{"key": "said.words", "values": {"words": "held"}}'
     from dirsync.employee returning id`,
  )
  const run = Number(held[0]?.id)
  await pool.query(
    `insert into dirsync.planned_work (run_id, operation, entity_key, reason, active, source_hash)
     select $1, 'update-employee', userid, 'changed', true, source_hash from dirsync.employee`,
    [run],
  )
  await pool.query(
    `insert into dirsync.dead_letter (enterprise_code, entity, entity_key, operation, field, category, platform_code, message, remedy, state, note, next_retry_at, last_run_id)
     select '', 'employee', userid, 'update-employee', 'mobile',
            (array['duplicate_mobile', 'duplicate_email', 'missing_department', 'invalid_hr_row'])[1 + n % 4], 1002218007,
            '{"key": "code.1002218007.meaning"}', '{"key": "code.1002218007.remedy"}',
            case when n % 10 = 0 then 'ignored' else 'open' end, 'n', now() + interval '7 days', 1
     from (select userid, row_number() over (order by userid desc) as n from dirsync.employee) e where n <= $1`,
    [cases],
  )
  await pool.query(
    `insert into dirsync.dead_letter_event (dead_letter_id, event) select id, 'opened' from dirsync.dead_letter`,
  )
  await pool.query(
    `insert into dirsync.attempt (run_id, operation, entity_key, started_at, duration_ms, outcome)
     select 1, operation, entity_key, now() - interval '1 hour', 120, 'parked' from dirsync.dead_letter`,
  )
  await pool.query(
    `insert into dirsync.command (name, requested_by, arguments)
     select 'resync', 'bench', '{"kind": "changes"}' from generate_series(1, $1::int)`,
    [cases],
  )
  await pool.query('vacuum (analyze)')
  const { rows } = await pool.query<{ entity_key: string }>(
    'select entity_key from dirsync.dead_letter order by id limit 1',
  )
  return { held: run, employee: String(rows[0]?.entity_key) }
}

async function makeToken(workshop: Workshop, deployment: Deployment): Promise<string> {
  const env = await serviceEnvironment(workshop.folder, deployment)
  const { stdout } = await promisify(execFile)(
    join(import.meta.dirname, '../bin/dirsync'),
    ['tokens', 'add', 'bench', '--role', 'admin', '--expires', '1d', '--json'],
    { env },
  )
  return String(JSON.parse(stdout).token)
}
