import { expect, test } from 'vitest'
import { listProcesses } from '../../src/console/halts/query.ts'
import { transaction } from '../../src/lib/database.ts'
import { takeProbes } from '../../src/sync/outbox/feeding.ts'
import { raiseHalt, readHalts } from '../../src/sync/outbox/halts.ts'
import { heartbeat } from '../../src/sync/processes/process.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { inWords } from '../../src/texts/message.ts'
import { plantWork } from '../sync/planted.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'
import { openApp, signInAs } from './console-under-test.ts'

const store = new StoreUnderTest()

const HOUR_MS = 3_600_000
const REASON = {
  category: 'enterprise_code',
  platformCode: 1,
  message: inWords('not bound'),
  remedy: inWords('bind it'),
}
const commands = () => new Commands(store.pool, { actor: 'test:operator' })

test('a probe that a person requests is let through at once, and the feeder is woken', async () => {
  await raiseHalt(store.pool, { ...REASON, scope: 'E1' }, HOUR_MS)
  await plantWork(store, 'e1', { enterprise_code: 'E1' })
  const take = async () => {
    const client = await store.pool.connect()
    try {
      return await takeProbes(client, () => HOUR_MS)
    } finally {
      client.release()
    }
  }
  expect(await take()).toEqual([])
  const listener = await store.pool.connect()
  const told = Promise.withResolvers<string | undefined>()
  listener.on('notification', ({ payload }) => told.resolve(payload))
  await listener.query('listen dirsync')
  expect(await commands().probeNow('E1')).toBe('E1')
  expect(await told.promise).toBe('feed')
  listener.release(true)
  expect(await take()).toHaveLength(1)
  expect(await readHalts(store.pool)).toMatchObject([{ scope: 'E1', probes: 1, may_probe: true }])
  expect(await store.rows('select name, arguments from dirsync.command')).toEqual([
    { name: 'probe_now', arguments: { scope: 'E1' } },
  ])
})

test('a pause by a person is not probed, and nothing is where nothing is halted', async () => {
  await commands().pause('maintenance')
  await expect(commands().probeNow('*')).rejects.toMatchObject({ code: 'COMMAND_INVALID' })
  await expect(commands().probeNow('E9')).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
  expect(await readHalts(store.pool)).toMatchObject([{ scope: '*', next_probe_at: null, may_probe: false }])
  expect(await store.rows('select name from dirsync.command')).toEqual([{ name: 'pause' }])
})

test('while calls are paused no halt is probed, by itself or by a person, and no failed probe is counted', async () => {
  await raiseHalt(store.pool, { ...REASON, scope: 'E1' }, 0)
  await plantWork(store, 'e1', { enterprise_code: 'E1' })
  const take = () => transaction(store.pool, db => takeProbes(db, () => HOUR_MS))
  const [before] = await store.rows(`select next_probe_at from dirsync.halt where scope = 'E1'`)
  await commands().pause('maintenance')
  expect(await take()).toEqual([])
  await expect(commands().probeNow('E1')).rejects.toMatchObject({
    code: 'COMMAND_INVALID',
    message: expect.stringContaining('all calls are paused by a person'),
  })
  expect(await readHalts(store.pool)).toMatchObject([
    { scope: '*', may_probe: false },
    { scope: 'E1', may_probe: false, probes: 0, next_probe_at: before?.next_probe_at },
  ])
  await commands().resume()
  expect(await take()).toHaveLength(1)
  expect(await readHalts(store.pool)).toMatchObject([{ scope: 'E1', probes: 1, may_probe: true }])
})

test('everything’s halt comes before those of enterprises', async () => {
  for (const scope of ['E1', '*', '#1']) await raiseHalt(store.pool, { ...REASON, scope }, HOUR_MS)
  expect((await readHalts(store.pool)).map(({ scope }) => scope)).toEqual(['*', '#1', 'E1'])
})

test('processes are listed with those that died without signing off, which are marked', async () => {
  const me = { host: 'h', pid: 1, roles: ['worker'], version: '1', pacer: null }
  const [living, dead, forgotten] = [1, 2, 3].map(() => crypto.randomUUID())
  for (const id of [living, dead, forgotten]) await heartbeat(store.pool, { ...me, id: String(id) })
  await store.pool.query(
    `update dirsync.process set heartbeat_at = now() - case when id = $1 then interval '1 minute' else '2 days' end
     where id in ($1, $2)`,
    [dead, forgotten],
  )
  expect(await listProcesses(store.pool)).toMatchObject([
    { id: living, alive: true, roles: ['worker'], pacer: null },
    { id: dead, alive: false },
  ])
  await using console = await openApp(store.url)
  const cookie = await signInAs(console, 'viewer')
  const page = async () =>
    (await console.app.inject({ url: '/halts', headers: { cookie } })).body.replace(/(<[^>]*>|\s)+/g, ' ')
  expect(await page()).toMatch(/alive h 1/)
  await store.pool.query(`update dirsync.process set aside_for = 'unreachable' where id = $1`, [living])
  expect(await page()).toMatch(/Process h \(1\) cannot reach the platform.*stands aside h 1/)
  // A container that is started again and again leaves thousands.
  await store.pool.query(
    `insert into dirsync.process (id, host, pid, roles, version, heartbeat_at)
     select gen_random_uuid(), 'h', 100 + i, '{worker}', '1', now() - interval '1 hour' - i * interval '1 second'
     from generate_series(1, 30) i`,
  )
  const latest = Array.from({ length: 19 }, (_, i) => 101 + i)
  const pids = (await listProcesses(store.pool)).map(({ pid }) => pid)
  expect(pids.sort((a, b) => a - b)).toEqual([1, 1, ...latest])
})
