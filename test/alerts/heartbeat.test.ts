import type { ServerResponse } from 'node:http'
import { pino } from 'pino'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { Heartbeat } from '../../src/alerts/heartbeat.ts'
import { until } from '../helpers/company.ts'
import { listening } from '../helpers/listening.ts'
import { plantRun } from '../sync/planted.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

const PATH = '/ping/5ecr3t'
let calls: string[] = []
let answer: (response: ServerResponse) => unknown
let url = ''

beforeEach(async () => {
  calls = []
  answer = response => response.end('OK')
  const monitor = await listening((request, response) => {
    calls.push(`${request.method} ${request.url}`)
    answer(response)
  })
  url = monitor.origin + PATH
  return monitor[Symbol.asyncDispose]
})

function startHeartbeat({ logger = SILENT } = {}): Heartbeat {
  const heartbeat = new Heartbeat({ pool: store.pool, url, logger })
  heartbeat.start()
  onTestFinished(() => heartbeat.stop())
  return heartbeat
}

/** Looks once, as a process does that stops. */
async function look(): Promise<void> {
  const heartbeat = new Heartbeat({ pool: store.pool, url, logger: SILENT })
  await heartbeat.stop()
}

const good = (differs: Record<string, unknown> = {}) =>
  plantRun(store, { state: 'done', finished_at: new Date(), ...differs })

interface Row {
  run_id: number
  called: boolean
  attempts: number
  answer: string | null
  /** When it is called again. */
  not_before: Date
}

async function row(): Promise<Row | undefined> {
  const rows = await store.rows<Row>(
    `select run_id, called_at is not null as called, attempts, answer, not_before from dirsync.heartbeat_call`,
  )
  return rows[0]
}

const itIsTime = () => store.pool.query('update dirsync.heartbeat_call set not_before = now()')

test('a good run triggers one call', async () => {
  const run = await good()
  startHeartbeat()
  await until(async () => (await row())?.called ?? false)
  expect(calls).toEqual([`GET ${PATH}`])
  expect(await row()).toMatchObject({ run_id: run, attempts: 1, answer: 'HTTP 200' })
  await look()
  expect(calls).toHaveLength(1)
  await good({ kind: 'full' })
  await look()
  expect(calls).toHaveLength(2)
})

test('a good run triggers a call although an earlier one has ended later, by a clock that was put back since', async () => {
  await good({ finished_at: new Date(Date.now() + 86_400_000) })
  const run = await good()
  await look()
  expect(await row()).toMatchObject({ run_id: run, called: true })
  await good()
  await look()
  expect(calls).toHaveLength(2)
})

test.each([
  ['failed', { state: 'failed' }],
  ['found HR wrong', { state: 'source_suspect' }],
  ['is under way', { state: 'running', finished_at: null }],
  ['is held', { state: 'held', finished_at: null }],
  ['was about departments', { kind: 'departments' }],
  ['was about whom HR’s trigger named', { keys: ['e1'] }],
  ['ended long ago', { finished_at: new Date(Date.now() - 3_700_000) }],
])('a run that %s triggers no call', async (_, differs) => {
  await good(differs)
  await look()
  expect(calls).toEqual([])
  expect(await row()).toBeUndefined()
})

test('a halt of everything that has only begun keeps no call back, however old the work of a halted enterprise is', async () => {
  await store.pool.query(
    `insert into dirsync.halt (scope, category, message, remedy, since)
     values ('E1', 'enterprise_code', '[]', '[]', now() - interval '2 days'), ('*', 'credentials', '[]', '[]', now());
     insert into dirsync.pending (operation, enterprise_code, entity_key, priority, created_at)
     values ('update-employee', 'E1', 'e1', 5, now() - interval '2 days')`,
  )
  await good()
  await look()
  expect(calls).toHaveLength(1)
})

test.each([
  [
    'the queue refuses writes',
    `insert into dirsync.process (id, host, pid, roles, version, queue_away_since, queue_error)
     values (gen_random_uuid(), 'h', 1, '{scheduler,worker}', '1', now(), 'OOM command not allowed')`,
    `update dirsync.process set queue_away_since = null`,
  ],
  [
    'work waits for longer than a quarter of an hour',
    `insert into dirsync.process (id, host, pid, roles, version, started_at)
     values (gen_random_uuid(), 'h', 1, '{scheduler,worker}', '1', now() - interval '1 day');
     insert into dirsync.pending (operation, entity_key, priority, created_at)
     values ('update-employee', 'e1', 5, now() - interval '16 minutes')`,
    `delete from dirsync.pending`,
  ],
  ...['credentials', 'paused'].map(category => [
    `everything is halted (${category}) and work waits for longer than a quarter of an hour`,
    `insert into dirsync.halt (scope, category, message, remedy, since)
     values ('*', '${category}', '[]', '[]', now() - interval '16 minutes');
     insert into dirsync.pending (operation, entity_key, priority, created_at)
     values ('update-employee', 'e1', 5, now() - interval '16 minutes')`,
    `delete from dirsync.pending`,
  ]),
])('while %s no good run triggers a call, and afterwards the latest does', async (_, breaks, mends) => {
  await store.pool.query(breaks)
  const run = await good()
  await look()
  expect(calls).toEqual([])
  await store.pool.query(mends)
  await look()
  expect(calls).toHaveLength(1)
  expect(await row()).toMatchObject({ run_id: run, called: true })
})

test.each([
  ['no work', 'select'],
  [
    'work of lately',
    `insert into dirsync.pending (operation, entity_key, priority, created_at)
     values ('update-employee', 'e1', 5, now() - interval '10 minutes')`,
  ],
  [
    'work of full runs',
    `insert into dirsync.pending (operation, entity_key, priority, created_at)
     values ('update-employee', 'e1', 7, now() - interval '16 minutes')`,
  ],
])('a halt of everything that holds back %s keeps no call back', async (_, waits) => {
  await store.pool.query(
    `insert into dirsync.halt (scope, category, message, remedy) values ('*', 'credentials', '[]', '[]'); ${waits}`,
  )
  await good()
  await look()
  expect(calls).toHaveLength(1)
})

test('a process that alone does not reach the queue keeps no call back', async () => {
  const process = (pid: number, away: string) =>
    store.pool.query(
      `insert into dirsync.process (id, host, pid, roles, version, queue_away_since)
       values (gen_random_uuid(), 'h', ${pid}, '{scheduler,worker}', '1', ${away})`,
    )
  await process(1, 'now()')
  await process(2, 'null')
  await good()
  await look()
  expect(calls).toHaveLength(1)
})

test('of several runs the latest to end triggers the call', async () => {
  const latest = await good({ kind: 'full' })
  await good({ finished_at: new Date(Date.now() - 60_000) })
  await look()
  await look()
  expect(calls).toHaveLength(1)
  expect(await row()).toMatchObject({ run_id: latest, called: true })
})

test('several processes call once', async () => {
  await good()
  await Promise.all(Array.from({ length: 5 }, look))
  expect(calls).toHaveLength(1)
})

test('a monitor that does not accept the call is called again, at growing intervals', async () => {
  answer = response => response.writeHead(503).end()
  await good()
  const begun = Date.now()
  await look()
  const first = await row()
  expect(first).toMatchObject({ called: false, attempts: 1, answer: 'HTTP 503' })
  expect((first?.not_before.getTime() ?? 0) - begun).toBeGreaterThan(3000)
  await look()
  expect(calls).toHaveLength(1)
  for (let attempt = 2; attempt <= 10; attempt++) {
    await itIsTime()
    await look()
  }
  const failed = await row()
  expect(failed?.attempts).toBe(10)
  const wait = ((failed?.not_before.getTime() ?? 0) - Date.now()) / 1000
  expect(wait).toBeGreaterThan(100)
  expect(wait).toBeLessThan(391)

  answer = response => response.end()
  await itIsTime()
  await look()
  expect(await row()).toMatchObject({ called: true, attempts: 11 })
})

test('a newer run triggers a call at once, whatever happened to the older one', async () => {
  answer = response => response.writeHead(500).end()
  await good({ finished_at: new Date(Date.now() - 1000) })
  await look()
  const newer = await good()
  answer = response => response.end()
  await look()
  expect(await row()).toMatchObject({ run_id: newer, called: true, attempts: 1 })
})

test('a stop does not wait for a monitor that hangs', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  answer = () => resolve()
  await good()
  const heartbeat = startHeartbeat()
  await promise
  await heartbeat.stop()
  expect(await row()).toMatchObject({ called: false, answer: 'no answer within 3 s' })
})

test('a process that dies while it calls is replaced by another one', async () => {
  const run = await good()
  await store.pool.query(
    `insert into dirsync.heartbeat_call (run_id, attempts, leased_until) values ($1, 1, now() + interval '1 minute')`,
    [run],
  )
  await look()
  expect(calls).toEqual([])
  await store.pool.query('update dirsync.heartbeat_call set leased_until = now()')
  await look()
  expect(calls).toHaveLength(1)
})

test('the address is in no log and in no table', async () => {
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: line => void lines.push(line) })
  url = `http://127.0.0.1:9${PATH}`
  await good()
  startHeartbeat({ logger })
  await until(async () => (await row())?.answer ?? null)
  await until(async () => lines.length > 0)
  expect(lines.join('') + JSON.stringify(await row())).not.toContain('5ecr3t')
  expect(await row()).toMatchObject({ answer: 'ECONNREFUSED' })
  expect(lines.filter(line => line.includes('HEARTBEAT_URL'))).toHaveLength(1)
})
