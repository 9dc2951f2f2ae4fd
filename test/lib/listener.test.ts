import { expect, onTestFinished, test, vi } from 'vitest'
import { dirsyncListener } from '../../src/lib/listener.ts'
import { aliveProcesses, deregister, heartbeat } from '../../src/sync/processes/process.ts'
import { PATIENTLY, recordLog } from '../queue/queue-helpers.ts'
import { hash } from '../sync/planted.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

/** What a listener hears, in order; `next` resolves with the first that was not asked for yet. */
function hearing(url = store.url) {
  const heard: string[] = []
  let told = Promise.withResolvers<void>()
  const listener = dirsyncListener(url, SILENT, payload => {
    heard.push(payload)
    told.resolve()
    told = Promise.withResolvers()
  })
  onTestFinished(() => listener.close())
  const next = async () => {
    while (heard.length === 0) await told.promise
    return heard.shift()
  }
  return { listener, heard, next }
}

const notify = (payload: string) => store.pool.query('select pg_notify($1, $2)', ['dirsync', payload])
const cut = () =>
  store.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'dirsync listener'`,
  )

test('a notification wakes, and so does the beginning, since something may have come before', async () => {
  const { listener, next } = hearing()
  await listener.start()
  expect(await next()).toBe('')
  await notify('run')
  expect(await next()).toBe('run')
  await notify('feed')
  expect(await next()).toBe('feed')
})

test('a connection that is cut comes back by itself, and wakes for what was missed', async () => {
  const { listener, next } = hearing()
  await listener.start()
  expect(await next()).toBe('')
  await cut()
  expect(await next()).toBe('')
  await notify('run')
  expect(await next()).toBe('run')
})

test('an outage is a warning once, however long it lasts', async () => {
  const { logger, lines } = recordLog()
  const listener = dirsyncListener('postgres://nobody@127.0.0.1:1/none', logger, () => {})
  onTestFinished(() => listener.close())
  logger.level = 'debug'
  await listener.start()
  await vi.waitFor(() => expect(lines.filter(({ level }) => level === 20)).toHaveLength(1), PATIENTLY)
  expect(lines.filter(({ level }) => level === 40)).toHaveLength(1)
})

test('a database that is away at the start does not stop the process', async () => {
  const { listener, heard } = hearing('postgres://nobody@127.0.0.1:1/none')
  await listener.start()
  await listener.close()
  expect(heard).toEqual([])
})

test('nothing is heard after the end, however early it comes', async () => {
  const { listener, heard } = hearing()
  void listener.start()
  await listener.close()
  await listener.close()
  heard.length = 0
  await notify('run')
  expect(heard).toEqual([])
  expect(
    await store.value(
      `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'dirsync listener'`,
    ),
  ).toBe(0)
})

test('processes are alive while they give signs of life', async () => {
  const process = (differs = {}) => ({
    id: hash(),
    host: 'h',
    pid: 7,
    roles: ['worker'],
    version: '1',
    ...differs,
  })
  const [one, other] = [process(), process({ roles: ['scheduler', 'console'] })]
  const beat = (me: typeof one) => heartbeat(store.pool, { ...me, pacer: null })
  await beat(one)
  await beat(other)
  expect(await aliveProcesses(store.pool)).toMatchObject([
    { ...one, startedAt: expect.any(Date) },
    { ...other },
  ])
  const age = (id: string, interval: string) =>
    store.pool.query(`update dirsync.process set heartbeat_at = now() - $2::interval where id = $1`, [
      id,
      interval,
    ])
  await age(one.id, '16 seconds')
  expect(await aliveProcesses(store.pool)).toMatchObject([{ id: other.id }])
  // The clock was put back since.
  for (const { id } of [one, other]) await age(id, '-1 day')
  expect(await aliveProcesses(store.pool)).toEqual([])
  await beat(one)
  expect(await aliveProcesses(store.pool)).toMatchObject([{ id: one.id }])
  await beat(other)
  expect(await aliveProcesses(store.pool)).toHaveLength(2)
  await age(one.id, '25 hours')
  await deregister(store.pool, other.id)
  expect(await store.value('select count(*) from dirsync.process')).toBe(0)
})
