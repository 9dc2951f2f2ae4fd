import { EventEmitter, on } from 'node:events'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { whileLocked } from '../../src/lib/advisory-lock.ts'
import { createPool } from '../../src/lib/database.ts'
import { UNTRACED } from '../../src/lib/tracing.ts'
import { isWanted } from '../../src/mirrors/mirror.ts'
import { coordinator } from '../../src/sync/coordinator.ts'
import { Feeder } from '../../src/sync/outbox/feeder.ts'
import { restoreWatch } from '../../src/sync/runs/restored.ts'
import { areInForce } from '../../src/sync/runs/sources.ts'
import { until } from '../helpers/company.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { SILENT } from './store-under-test.ts'

test('a queue that is away for many steps is an error in the log once, and once more the next time', async () => {
  await using database = await createTestDatabase({ migrated: true })
  const lines: { level: number; msg: string; error?: object }[] = []
  const log = new Writable({
    write(line, _encoding, done) {
      lines.push(JSON.parse(String(line)))
      done()
    },
  })
  const asked = new EventEmitter()
  let isAway = true
  const queue = {
    add: async () => {},
    async counts() {
      asked.emit('counts')
      if (isAway) throw Object.assign(new Error('no Redis'), { code: 'QUEUE_UNAVAILABLE' })
      return { total: 0 }
    },
  }
  const logger = pino({ level: 'info' }, log)
  const feeder = new Feeder({ pool: database.pool, queue, highWater: 10, logger })
  const coordinating = coordinator({
    pool: database.pool,
    planners: [],
    feeder,
    ownEnterprise: '',
    logger,
    tracing: UNTRACED,
  })
  const steps = on(asked, 'counts')
  // Meanwhile the loop that keeps the tally short works, and must not make the other look mended.
  const tallies = on(database.pool, 'release')
  const step = async (times: number) => {
    for (let time = 0; time < times; time += 1) {
      coordinating.wake()
      await Promise.all([steps.next(), tallies.next()])
    }
  }
  coordinating.start()
  await step(5)
  expect(lines.filter(({ level }) => level === 50)).toHaveLength(1)
  isAway = false
  await step(3)
  isAway = true
  await step(5)
  await coordinating.stop()
  expect(lines.filter(({ level }) => level === 50)).toHaveLength(2)
})

test('while the queue is away runs end, and plans are requested for rows that wait for one', async () => {
  await using database = await createTestDatabase({ migrated: true })
  const { pool } = database
  await pool.query(`
    insert into dirsync.sync_run (kind, state, cancelled_at) values
      ('full', 'running', null), ('employees', 'running', now());
    insert into dirsync.pending (operation, entity_key, priority, not_before, replan_at)
      values ('update-employee', 'e1', 3, 'infinity', now())`)
  const counts = () => Promise.reject(Object.assign(new Error('no Redis'), { code: 'QUEUE_UNAVAILABLE' }))
  const queue = { add: async () => {}, counts }
  const feeder = new Feeder({ pool, queue, highWater: 10, logger: SILENT })
  const coordinating = coordinator({
    pool,
    planners: [],
    feeder,
    ownEnterprise: '',
    logger: SILENT,
    tracing: UNTRACED,
  })
  coordinating.start()
  const runs = await until(async () => {
    const { rows } = await pool.query(
      `select kind, state from dirsync.sync_run where state <> 'running' order by kind`,
    )
    return rows.length === 3 && rows
  }).finally(() => coordinating.stop())
  expect(runs).toEqual([
    { kind: 'changes', state: 'requested' },
    { kind: 'employees', state: 'cancelled' },
    { kind: 'full', state: 'done' },
  ])
})

test('once the host of the database has gone without a word, another one is asked within a minute', async () => {
  await using database = await createTestDatabase({ migrated: true })
  await database.pool.query(`
    insert into dirsync.sync_run (kind, state, cancelled_at) values ('employees', 'running', now());
    insert into dirsync.pending (operation, entity_key, priority) values ('update-employee', 'e1', 3)`)
  await using proxy = await startTcpProxy(database.url)
  const pool = createPool(proxy.url, { max: 12, name: 'proxied', logger: SILENT })
  onTestFinished(() => pool.end())
  const fed: string[][] = []
  const queue = {
    add: async (jobs: { keys: string[] }[]) => void fed.push(...jobs.map(({ keys }) => keys)),
    counts: async () => ({ total: 0 }),
  }
  const feeder = new Feeder({ pool, queue, highWater: 10, logger: SILENT })
  const coordinating = coordinator({
    pool,
    planners: [],
    feeder,
    ownEnterprise: '',
    logger: SILENT,
    tracing: UNTRACED,
  })
  const watching = restoreWatch(pool, SILENT)
  // Each has a connection of its own, which it uses again and again.
  const wanted = Array.from({ length: 10 }, () => pool.connect())
  for (const client of await Promise.all(wanted)) client.release()
  proxy.silence()
  coordinating.start()
  watching.start()
  onTestFinished(async () => {
    await Promise.all([coordinating.stop(), watching.stop()])
  })
  await Promise.all([
    ...[
      whileLocked(pool, 'planner', async () => {}),
      areInForce(pool, { all: [] }, ''),
      isWanted(pool, 'orders'),
    ].map(look => expect(look).rejects.toThrow('Query read timeout')),
    until(async () => fed.length > 0),
    until(async () => {
      const { rows } = await database.pool.query('select state from dirsync.sync_run')
      return rows[0].state === 'cancelled'
    }),
    watching.tried,
  ])
}, 90_000)
