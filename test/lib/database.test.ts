import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import {
  createClient,
  createPool,
  databaseTime,
  rolledBack,
  transaction,
  withConnection,
} from '../../src/lib/database.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

test.each([undefined, 3000])(
  'the server ends every session of a pool, and with it all locks, soon after its host has died without a word, limit %s',
  async timeoutMs => {
    const pool = createPool(store.url, {
      max: 1,
      name: 'mortal',
      logger: SILENT,
      ...(timeoutMs && { timeoutMs }),
    })
    onTestFinished(() => pool.end())
    const { rows } = await pool.query(
      `select name, setting from pg_settings
     where name in ('tcp_keepalives_idle', 'tcp_user_timeout', 'statement_timeout') order by 1`,
    )
    expect(rows).toEqual([
      { name: 'statement_timeout', setting: `${timeoutMs ?? 0}` },
      { name: 'tcp_keepalives_idle', setting: '5' },
      { name: 'tcp_user_timeout', setting: '15000' },
    ])
  },
)

test('time-outs and formats that are set for the database or the user are not those of its sessions', async () => {
  const settings = {
    statement_timeout: '1min',
    lock_timeout: '1min',
    idle_in_transaction_session_timeout: '1min',
    default_transaction_isolation: 'serializable',
    datestyle: 'German',
    intervalstyle: 'sql_standard',
  }
  const { pathname } = new URL(store.url)
  for (const [name, value] of Object.entries(settings))
    await store.pool.query(`alter database ${pathname.slice(1)} set ${name} = '${value}'`)
  onTestFinished(async () => void (await store.pool.query(`alter database ${pathname.slice(1)} reset all`)))
  const pool = createPool(store.url, { max: 1, name: 'own', logger: SILENT })
  onTestFinished(() => pool.end())
  const client = createClient(store.url, 'own')
  await client.connect()
  onTestFinished(() => client.end())
  for (const db of [pool, client]) {
    const { rows } = await db.query(
      `select name, setting from pg_settings where lower(name) = any ($1) order by lower(name)`,
      [Object.keys(settings)],
    )
    expect(rows.map(({ setting }) => setting)).toEqual([
      'ISO, YMD',
      'read committed',
      '0',
      'postgres',
      '0',
      '0',
    ])
    expect(await databaseTime(db)).toBeInstanceOf(Date)
  }
})

test('a statement that its client has given up lets go of its rows', async () => {
  const impatient = createPool(store.url, { max: 1, name: 'impatient', logger: SILENT })
  onTestFinished(() => impatient.end())
  await store.pool.query('create table public.row as select 1 as id')
  onTestFinished(() => void store.pool.query('drop table public.row'))
  const given = transaction(impatient, async db => {
    await db.query('select from public.row for update')
    await db.query({ text: 'select pg_sleep(60)', query_timeout: 200 })
  })
  await expect(given).rejects.toThrow('Query read timeout')
  const second = { text: 'update public.row set id = 2', query_timeout: 10_000 }
  await withConnection(store.pool, db => db.query(second))
}, 70_000)

test.each([transaction, rolledBack])(
  'a statement that was given up is waited for once, in %o',
  async within => {
    const impatient = createPool(store.url, { max: 1, name: 'impatient', logger: SILENT, timeoutMs: 10_000 })
    onTestFinished(() => impatient.end())
    await impatient.query('select')
    const began = performance.now()
    const given = within(impatient, db => db.query({ text: 'select pg_sleep(60)', query_timeout: 200 }))
    await expect(given).rejects.toThrow('Query read timeout')
    expect(performance.now() - began).toBeLessThan(5000)
  },
)

test('where the file of authorities is emptied while requests wait for a connection, each of them fails, and nothing else', async () => {
  const file = join(await temporaryFolder(), 'ca.pem')
  writeFileSync(file, '-----BEGIN CERTIFICATE-----')
  const server = createServer(socket => {
    writeFileSync(file, '')
    socket.destroy()
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const url = `postgres://u:p@127.0.0.1:${port}/db?sslrootcert=${file}`
  const pool = createPool(url, { max: 1, name: 'waiting', logger: SILENT })
  onTestFinished(() => pool.end())
  const asked = await Promise.allSettled([pool.query('select 1'), pool.query('select 2')])
  expect(asked).toMatchObject([
    { reason: { message: expect.stringMatching(/terminated unexpectedly|ECONNRESET/) } },
    { reason: { message: expect.stringContaining('holds no CERTIFICATE in PEM') } },
  ])
})

test('a connection that breaks while its pool is being ended is nothing to tell, unlike one before', async () => {
  const told: string[] = []
  const logger = pino({}, { write: line => void told.push(JSON.parse(line).msg) })
  const pool = createPool(store.url, { max: 1, name: 'ended', logger })
  const idle = async () => {
    const client = await pool.connect()
    client.release()
    return client
  }
  const isStopped = new Error('terminating connection due to administrator command')
  const first = await idle()
  first.emit('error', isStopped)
  expect(told).toEqual(['an idle database connection dropped'])
  const second = await idle()
  const ended = pool.end()
  second.emit('error', isStopped)
  await ended
  expect(told).toHaveLength(1)
})
