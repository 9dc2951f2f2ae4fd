import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { ChangeListener, isHeard } from '../../../src/hr/postgres/change-listener.ts'
import { connectClient } from '../../../src/hr/postgres/connection.ts'
import {
  carryOut,
  planInstallation,
  planRemoval,
  tableSql,
  triggeredTables,
} from '../../../src/hr/postgres/trigger.ts'
import { SERIALIZERS } from '../../../src/lib/logger.ts'
import { until } from '../../helpers/company.ts'
import { createTestDatabase } from '../../helpers/postgres.ts'
import { hrDatabase } from '../hr-database.ts'

/** HR with the trigger. */
async function triggeredHr() {
  const database = await hrDatabase('create table person (userid text, name text)')
  const client = await connectClient(database.url)
  onTestFinished(() => client.end())
  const { statements } = await planInstallation(
    client,
    { file: 'employees.sql', sql: 'select userid, name from person' },
    null,
  )
  await carryOut(client, statements)
  return { ...database, client }
}

/** What a deployment hears of HR. */
function listen(url: string, deployment: string, logger = pino({ level: 'silent' })) {
  const heard: (string[] | null)[] = []
  const listener = new ChangeListener(url, deployment, logger, userids => heard.push(userids))
  onTestFinished(() => listener.close())
  listener.start()
  return heard
}

test('a server that ends each connection at once, as a proxy without one behind it, ends no process', async () => {
  let connections = 0
  const server = createServer(socket => {
    connections += 1
    socket.on('error', () => {}).once('data', () => socket.end())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  listen(`postgres://hr@127.0.0.1:${(server.address() as AddressInfo).port}/hr`, 'production')
  await until(async () => connections >= 2)
})

test('deployments that share an HR database all hear it', async () => {
  const { url, pool, client } = await triggeredHr()
  const [production, staging] = [listen(url, 'production'), listen(url, 'staging')]
  await until(async () => production.length === 1 && staging.length === 1)
  await pool.query(`insert into person values ('e1')`)
  await until(async () => production.length === 2 && staging.length === 2)
  expect([production, staging]).toEqual([
    [null, ['e1']],
    [null, ['e1']],
  ])
  expect(await Promise.all(['production', 'trial'].map(one => isHeard(client, one)))).toEqual([true, false])
})

test.each([
  ['a text that PostgreSQL cannot hold', '["\\u0000"]'],
  ['no list', '{"userid":"e1"}'],
  ['no JSON', 'e1'],
])('a notification with another payload may mean any row: %s', async (_what, payload) => {
  const { url, pool } = await triggeredHr()
  const heard = listen(url, 'production')
  await until(async () => heard.length === 1)
  await pool.query(`select pg_notify('dirsync_hr', $1)`, [payload])
  await until(async () => heard.length === 2)
  expect(heard).toEqual([null, null])
})

test('a table that the mapping reads twice names no row: those of others may change with it', async () => {
  const { client } = await triggeredHr()
  const { tables } = await planInstallation(
    client,
    {
      file: 'employees.sql',
      sql: `select p.userid, coalesce(p.name, same.name) as name
            from person p left join person same on same.userid = lower(p.userid)`,
    },
    null,
  )
  expect(tables).toEqual([{ table: '"public"."person"', names: null }])
})

test('in a database of several sources, one leaves the trigger of the others alone', async () => {
  const { url } = await hrDatabase(`
    create schema sh; create table sh.person (userid text);
    create schema bj; create table bj.person (userid text); create table bj.person_new (userid text)`)
  const client = await connectClient(url)
  onTestFinished(() => client.end())
  const install = async (table: string) => {
    const mapping = { file: 'employees.sql', sql: `select userid from ${table}` }
    const { statements } = await planInstallation(client, mapping, null, () => false)
    await carryOut(client, statements)
  }
  const installed = async () => (await triggeredTables(client)).map(({ schema, name }) => `${schema}.${name}`)
  await install('sh.person')
  await install('bj.person')
  await install('bj.person') // again
  expect(await installed()).toEqual(['bj.person', 'sh.person'])
  await install('bj.person_new')
  expect(await installed()).toEqual(['bj.person', 'bj.person_new', 'sh.person'])

  const { statements, kept } = await planRemoval(client, null, ({ schema }) => schema !== 'sh')
  await carryOut(client, statements)
  expect(kept.map(tableSql)).toEqual(['"sh"."person"'])
  expect(await installed()).toEqual(['sh.person'])
  const { rows } = await client.query(
    `select pronamespace::regnamespace::text as schema from pg_proc where proname = 'dirsync_hr_changed'`,
  )
  expect(rows).toEqual([{ schema: 'sh' }])
})

test('a server that refuses the login for the moment is asked again within seconds', async () => {
  const { url, name } = await triggeredHr()
  const elsewhere = await createTestDatabase()
  onTestFinished(() => elsewhere.close())
  const allowLogins = (allowed: boolean) =>
    elsewhere.pool.query(`alter database ${name} with allow_connections ${allowed}`)
  const { promise: warned, resolve: warn } = Promise.withResolvers<string>()
  const logger = pino(
    { level: 'warn', serializers: SERIALIZERS },
    { write: line => warn(JSON.parse(line).error.message) },
  )

  await allowLogins(false)
  const heard = listen(url, 'production', logger)
  expect(await warned).toBe(
    'the HR database does not answer (55000); check HR_DATABASE_URL or HR_SOURCES, and that the server is up',
  )
  const refusedAt = performance.now()
  await allowLogins(true)
  await until(async () => heard.length === 1)
  expect(performance.now() - refusedAt).toBeLessThan(20_000)
})

test('without the file of its authority HR is not listened to, which is warned of and ends nothing', async () => {
  const lines: string[] = []
  const logger = pino({ level: 'warn', serializers: SERIALIZERS }, { write: line => lines.push(line) })
  listen('postgres://127.0.0.1:1/hr?sslrootcert=/nowhere/ca.pem', 'production', logger)
  await until(async () => lines.length > 0)
  expect(lines[0]).toContain('/nowhere/ca.pem cannot be read (ENOENT)')
})
