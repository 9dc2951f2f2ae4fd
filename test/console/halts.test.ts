import { expect, test } from 'vitest'
import { listHalts, listProcesses } from '../../src/console/halts/query.ts'
import { transaction } from '../../src/lib/database.ts'
import { Commands } from '../../src/sync/commands.ts'
import { takeProbes } from '../../src/sync/feeding.ts'
import { raiseHalt } from '../../src/sync/halts.ts'
import { heartbeat } from '../../src/sync/process.ts'
import { inWords } from '../../src/texts/message.ts'
import { plant } from '../sync/planted.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'

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
  await plant(store, 'pending', {
    operation: 'update-employee',
    enterprise_code: 'E1',
    entity_key: 'e1',
    priority: 3,
  })
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
  expect(await listHalts(store.pool)).toMatchObject([{ scope: 'E1', probes: 1, may_probe: true }])
  expect(await store.rows('select name, arguments from dirsync.command')).toEqual([
    { name: 'probe_now', arguments: { scope: 'E1' } },
  ])
})

test('a pause by a person is not probed, and nothing is where nothing is halted', async () => {
  await commands().pause('maintenance')
  await expect(commands().probeNow('*')).rejects.toMatchObject({ code: 'COMMAND_INVALID' })
  await expect(commands().probeNow('E9')).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
  expect(await listHalts(store.pool)).toMatchObject([{ scope: '*', next_probe_at: null, may_probe: false }])
  expect(await store.rows('select name from dirsync.command')).toEqual([{ name: 'pause' }])
})

test('while calls are paused no halt is probed, by itself or by a person, and no failed probe is counted', async () => {
  await raiseHalt(store.pool, { ...REASON, scope: 'E1' }, 0)
  await plant(store, 'pending', {
    operation: 'update-employee',
    enterprise_code: 'E1',
    entity_key: 'e1',
    priority: 3,
  })
  const take = () => transaction(store.pool, db => takeProbes(db, () => HOUR_MS))
  const [before] = await store.rows(`select next_probe_at from dirsync.halt where scope = 'E1'`)
  await commands().pause('maintenance')
  expect(await take()).toEqual([])
  await expect(commands().probeNow('E1')).rejects.toMatchObject({
    code: 'COMMAND_INVALID',
    message: expect.stringContaining('all calls are paused by a person'),
  })
  expect(await listHalts(store.pool)).toMatchObject([
    { scope: '*', may_probe: false },
    { scope: 'E1', may_probe: false, probes: 0, next_probe_at: before?.next_probe_at },
  ])
  await commands().resume()
  expect(await take()).toHaveLength(1)
  expect(await listHalts(store.pool)).toMatchObject([{ scope: 'E1', probes: 1, may_probe: true }])
})

test('everything’s halt comes before those of enterprises', async () => {
  for (const scope of ['E1', '*', '#1']) await raiseHalt(store.pool, { ...REASON, scope }, HOUR_MS)
  expect((await listHalts(store.pool)).map(({ scope }) => scope)).toEqual(['*', '#1', 'E1'])
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
})
