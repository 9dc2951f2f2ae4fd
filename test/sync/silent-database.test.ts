import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createPool, withConnection } from '../../src/lib/database.ts'
import { claim } from '../../src/sync/outbox/claim.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { until } from '../helpers/company.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { begin, employee, memory, outcome, refusal } from './outcomes.ts'
import { hash } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

/** A pool of one connection that goes through a proxy and is open. */
async function pooled() {
  const proxy = await startTcpProxy(store.url)
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  const pool = createPool(proxy.url, { max: 1, name: 'proxied', logger: SILENT })
  onTestFinished(() => pool.end())
  await pool.query('select')
  return { proxy, pool }
}

const work = (...userids: string[]) =>
  store.rows(
    `insert into dirsync.pending (operation, entity_key, priority) select 'update-employee', unnest($1::text[]), 3`,
    [userids],
  )

test('claims and outcomes that a silent database does not answer are given up; an outcome is written over a new connection', async () => {
  const [one, other] = [await pooled(), await pooled()]
  await work('e1', 'e2')
  const begun = await begin(store, employee('e1'))
  one.proxy.silence()
  other.proxy.silence()
  await Promise.all([
    settle(one.pool, [outcome(employee('e1'), begun, { failures: [refusal()] })]),
    expect(claim(other.pool, [employee('e2')], {})).rejects.toThrow('Query read timeout'),
  ])
  expect(await store.rows('select entity_key, starts from dirsync.pending')).toEqual([
    { entity_key: 'e2', starts: 0 },
  ])
  expect(await store.rows('select occurrences from dirsync.dead_letter')).toEqual([{ occurrences: 1 }])
  expect(await claim(other.pool, [employee('e2')], {})).toMatchObject([{ version: 1 }])
})

test('outcomes whose commit was not heard of are written again, and only once', async () => {
  await work('e1', 'e2', 'e3', 'e4', 'e5')
  const sourceHash = hash()
  const known = { employee: memory({ parkedHash: sourceHash }) }
  const back = { again: { delayMs: 60_000, attempts: 3 } }
  const refused = { failures: [refusal({ sourceHash })] }
  const come = async (userid: string, differs: Parameters<typeof outcome>[2]) =>
    outcome(employee(userid), await begin(store, employee(userid)), differs)
  // The first two are one statement, the next a transaction, the last another statement.
  const quiet = [await come('e1', known), await come('e2', back)]
  const full = [await come('e3', { ...known, ...refused }), await come('e4', { ...back, changed: true })]
  const same = [await come('e5', { ...known, isStored: true })]
  const [one, other, third] = [await pooled(), await pooled(), await pooled()]
  one.proxy.loseAnswersAfter('write-outcomes')
  other.proxy.loseAnswersAfter('commit')
  third.proxy.loseAnswersAfter('write-outcomes-known')
  await Promise.all([settle(one.pool, quiet), settle(other.pool, full), settle(third.pool, same)])

  const written = await store.contents()
  expect(written.attempt).toHaveLength(5)
  expect(written.pending).toMatchObject([
    { entity_key: 'e2', attempts: 3, starts: 0 },
    { entity_key: 'e4', attempts: 3, starts: 0 },
  ])
  expect(written.employee).toMatchObject([{ userid: 'e1' }, { userid: 'e3' }])
  expect(written.dead_letter).toMatchObject([{ occurrences: 1 }])
  expect(written.dead_letter_event).toHaveLength(1)

  // Nor does it matter when they come once more.
  await settle(store.pool, [...quiet, ...full, ...same])
  expect(await store.contents()).toEqual(written)
})

test('a connection that comes and breaks in one breath ends no process', async () => {
  // As where the network was silent meanwhile: that the server lets dirsync in, and that it stops, arrive together.
  const LET_IN = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0])
  const relay = createServer(client => {
    const server = connect(Number(new URL(store.url).port), '127.0.0.1')
    let held = Buffer.alloc(0)
    client.pipe(server)
    server.on('data', chunk => {
      if (held.length === 0 && !chunk.includes(LET_IN)) return client.write(chunk)
      held = Buffer.concat([held, chunk])
      if (held.includes('57P01')) client.end(held)
    })
    for (const socket of [client, server]) socket.on('error', () => {})
  })
  relay.listen(0, '127.0.0.1')
  onTestFinished(() => void relay.close())
  await once(relay, 'listening')
  const { port } = relay.address() as AddressInfo
  const url = Object.assign(new URL(store.url), { host: `127.0.0.1:${port}` }).href
  const pool = createPool(url, { max: 1, name: 'breathless', logger: SILENT })
  onTestFinished(() => pool.end())
  const asked = withConnection(pool, client => client.query('select'))
  const failed = expect(asked).rejects.toThrow()
  await until(() =>
    store.value<boolean>(
      `select count(pg_terminate_backend(pid)) = 1 from pg_stat_activity
       where datname = current_database() and application_name = 'dirsync breathless' and state = 'idle'`,
    ),
  )
  await failed
})
