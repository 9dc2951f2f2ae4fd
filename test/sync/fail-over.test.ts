import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createPool, transaction } from '../../src/lib/database.ts'
import { migrate } from '../../src/lib/migrate.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { sendRefund } from '../../src/money/send.ts'
import { LocalPacer } from '../../src/platform/caller.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { MemoryTokenStore } from '../../src/platform/token.ts'
import { describeBackends } from '../helpers/backends.ts'
import { type Company, createCompany, type Person, until } from '../helpers/company.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { startPostgresPair } from '../helpers/postgres-pair.ts'
import { breachesAtRest } from '../simulation/at-rest.ts'
import { SILENT } from './store-under-test.ts'

/*
 * PostgreSQL fails over to an asynchronous replica that lacks what was committed last, while dirsync works: outcomes, plans and
 * claims are gone, and the platform has seen what they were about.
 */

const FIELDS = ['name', 'mobile', 'email', 'dept_code', 'entry_day'] as const

async function databaseAt(url: (database: string) => string): Promise<TestDatabase> {
  const admin = new pg.Client(url('postgres'))
  await admin.connect()
  await admin.query('create database dirsync')
  await admin.end()
  const pool = new pg.Pool({ connectionString: url('dirsync'), max: 4 })
  pool.on('error', () => {})
  const close = () => pool.end()
  return { url: url('dirsync'), name: 'dirsync', pool, close, [Symbol.asyncDispose]: close }
}

async function atRest({ hr, db, onPlatform }: Company): Promise<string[]> {
  const { rows } = await hr.query<Person>('select *, entry_day::text as entry_day from person')
  return breachesAtRest<Person>(db, {
    hr: new Map(rows.map(row => [row.userid, row])),
    platform: (await onPlatform()) as unknown as Map<string, Partial<Person>>,
    fields: FIELDS,
    touched: new Set(),
  })
}

test('a standby, which the primary does not ask about locks, grants none, and keeps no connection that should write', async () => {
  await using servers = await startPostgresPair()
  const url = servers.standbyUrl('postgres')
  const locks = new SessionLocks(url, SILENT)
  onTestFinished(() => locks.close())
  await expect(locks.lock('e1')).rejects.toThrow('standby')

  const pool = createPool(url, { max: 1, name: 'test', logger: SILENT })
  onTestFinished(() => pool.end())
  const connection = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0].pid
  const before = await connection()
  await expect(transaction(pool, db => db.query('create table written ()'))).rejects.toMatchObject({
    code: '25006',
  })
  expect(await connection()).not.toBe(before)

  await servers.failOver()
  expect(await locks.lock('e1')).toMatchObject({ aborted: false })
})

test('a refund is not sent before a synchronous replica has its record, and not again after the fail-over', async () => {
  await using servers = await startPostgresPair()
  const own = await databaseAt(servers.url)
  await using company = await createCompany({
    employees: 1,
    databases: { own, hr: await createTestDatabase() },
  })
  await migrate(own.pool)
  // Each of an order of its own: what the record of one shows of an earlier refund would be written first.
  const orderOf = (number: string) => `test-application-T${number}`
  await company.control(
    'POST',
    'orders',
    ['R1', 'R2'].map((number, i) => ({
      trade_no: `000000000000000${i}`,
      out_trade_no: orderOf(number),
      total_amount: '10.00',
    })),
  )
  await using client = new PlatformClient({
    baseUrl: company.emulator.url,
    appId: 'test-application',
    appSecret: 'test-secret',
    tokenStore: new MemoryTokenStore(),
    pacer: new LocalPacer(100),
  })
  const deps = { pool: own.pool, client, logger: SILENT }
  const request = { refundAmount: '4.00', costAmount: '3.00', reason: 'returned' }
  const send = (number: string) =>
    sendRefund(
      deps,
      { ...request, outerTradeNo: orderOf(number), outerRefundNo: `test-application-${number}` },
      { actor: 'cli:test' },
    )
  const sent = async () => (await company.calls())['seller/v3/pay/syncRefund'] ?? 0
  await servers.beSynchronous()

  expect(await send('R1')).toMatchObject({ state: 'accepted' })
  servers.replication.silence()
  const waiting = send('R2').catch((error: unknown) => error)
  await until(async () => {
    const { rows } = await own.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event = 'SyncRep'
         and (query = 'commit' or query like '%insert into dirsync.refund%')`,
    )
    return rows.length > 0
  })
  expect(await sent()).toBe(1)

  await servers.failOver()
  expect(await waiting).toBeInstanceOf(Error)
  expect(await sent()).toBe(1)
  await expect(send('R1')).rejects.toThrow('sent before')
  expect(await send('R2')).toMatchObject({ state: 'accepted' })
  expect(await sent()).toBe(2)
})

describeBackends('a fail-over that loses what was committed last, queue in', {}, ({ redis }) => {
  test('ends with the platform as HR has it, and calls no employee in sync who is not', async () => {
    await using servers = await startPostgresPair()
    const own = await databaseAt(servers.url)
    const redisUrl = await redis()
    await using company = await createCompany({
      employees: 120,
      databases: { own, hr: await createTestDatabase() },
      settings: { BREAKER_EMPLOYEES: '100', BREAKER_EMPLOYEES_PERCENT: '90', PLATFORM_RATE_LIMIT: '200' },
      ...(redisUrl && { redisUrl }),
    })
    const rename = (name: string, from: string, to = from) =>
      company.hr.query('update person set name = $1 where userid between $2 and $3', [name, from, to])
    await company.start()
    expect(await company.run('changes')).toMatchObject({ state: 'done' })
    await servers.caughtUp()

    // From here on the replica hears nothing.
    servers.replication.silence()
    await rename('Renamed', 'e0001', 'e0009')
    expect(await company.run('changes')).toMatchObject({ result: { outcomes: { updated: 9 } } })
    await company.control('POST', 'faults', [{ operation: '*', latencyMs: 50, jitterMs: 200 }])
    await rename('Moved', 'e0040', 'e0110')
    await company.db.query(`select dirsync.resync('changes')`)
    const outcomes = async () =>
      Number((await company.db.query(`select count(*) as n from dirsync.attempt`)).rows[0].n)
    const before = await outcomes()
    await until(async () => (await outcomes()) > before + 10)
    const { rows } = await company.db.query(`select last_value::int as last from dirsync.execution`)

    // Its outcome will be lost, and HR has the row back that the replica knows to be in sync.
    await rename('Person 1', 'e0001')
    await servers.failOver()
    const ask = <T>(sql: string) => company.db.query<T & pg.QueryResultRow>(sql).catch(() => null)
    await until(async () => (await ask('select 1')) !== null)
    const noticed = await until(async () => {
      const found = await ask<{ state: string }>(
        `select state from dirsync.sync_run where requested_by like '%(restore)'`,
      )
      return found?.rowCount === 1
    })
    expect(noticed).toBe(true)
    await until(async () => {
      const found = await ask<{ busy: boolean }>(
        `select exists (select from dirsync.pending)
                or exists (select from dirsync.sync_run where finished_at is null) as busy`,
      )
      return found?.rows[0]?.busy === false
    })
    // What cron does every few minutes.
    expect(await company.run('changes')).toMatchObject({ state: 'done' })

    const held = await company.onPlatform()
    expect(held.get('e0001')).toMatchObject({ name: 'Person 1' })
    expect(held.get('e0050')).toMatchObject({ name: 'Moved' })
    expect(await atRest(company)).toEqual([])
    const stats = await company.control<{ overlappingUserids: unknown[] }>('GET', 'stats')
    expect(stats.overlappingUserids).toEqual([])
    // No execution has the number of one that the old primary began.
    const { rows: executions } = await company.db.query(
      `select min(execution)::int as first from dirsync.attempt where run_id in
         (select id from dirsync.sync_run where requested_by like '%(restore)')`,
    )
    expect(executions[0].first).toBeGreaterThan(rows[0].last)
  })
})
