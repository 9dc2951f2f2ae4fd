import { expect, onTestFinished, test } from 'vitest'
import type { CallRecord } from '../../emulator/call-log.ts'
import { startEmulator } from '../../emulator/emulator.ts'
import { PostgresSlots } from '../../src/pacing/postgres-slots.ts'
import { SlotPacer } from '../../src/pacing/slot-pacer.ts'
import { LocalPacer } from '../../src/platform/caller.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { PostgresTokenStore } from '../../src/platform/token-store.ts'
import { until } from '../helpers/company.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { createTestDatabase, openPool } from '../helpers/postgres.ts'
import { APP_ID, APP_SECRET } from './fake-platform.ts'

test('processes share one token and one rate, each with as few as two connections to the store', async () => {
  await using database = await createTestDatabase({ migrated: true })
  const employees = Array.from({ length: 40 }, (_, i) => ({
    userid: `u${i}`,
    mobile: String(13_900_000_000 + i),
  }))
  const emulator = await startEmulator({
    strict: true,
    appId: APP_ID,
    appSecret: APP_SECRET,
    seed: { employees },
  })
  const processes = [1, 2, 3].map(() => {
    const pool = openPool({ connectionString: database.url, max: 2 })
    const slots = new PostgresSlots({ url: database.url })
    const pacer = new SlotPacer({ slots, rate: 400, budgets: new Map() })
    const account = { baseUrl: emulator.url, appId: APP_ID, appSecret: APP_SECRET }
    const client = new PlatformClient({
      ...account,
      tokenStore: new PostgresTokenStore({ pool, ...account }),
      pacer,
    })
    return { pool, slots, pacer, client }
  })

  await Promise.all(
    processes.flatMap(({ client }) => employees.map(({ userid }) => client.employees.get({ userid }))),
  )
  const { calls } = await controlOf(emulator.url)<{ calls: CallRecord[] }>('GET', 'calls')
  expect(calls.filter(({ operation }) => operation === 'token/create')).toHaveLength(1)
  expect(calls.filter(({ operation, code }) => operation === 'employee/get' && code === 0)).toHaveLength(120)

  for (const { client, pacer, slots, pool } of processes) {
    await client.close()
    await pacer.close()
    await slots.close()
    await pool.end()
  }
  await emulator.close()
})

test('a call is to be made later while another process is held off that has the turn to create the token', async () => {
  const database = await createTestDatabase({ migrated: true })
  const processOf = (query_timeout: number) => {
    const pool = openPool({ connectionString: database.url, max: 2, query_timeout })
    const account = { baseUrl: 'https://platform.example', appId: APP_ID, appSecret: APP_SECRET }
    const pacer = new LocalPacer(10)
    const client = new PlatformClient({
      ...account,
      tokenStore: new PostgresTokenStore({ pool, ...account }),
      pacer,
    })
    return { pool, pacer, client }
  }
  const [first, second] = [processOf(60_000), processOf(500)]
  await first.pacer.holdOff(3_600_000, 'HTTP 429 on token/create')
  const heldOff = first.client.employees.get({ userid: 'u1' }).catch((error: unknown) => error)
  onTestFinished(async () => {
    await first.pacer.close()
    await heldOff
    for (const { client, pacer, pool } of [first, second]) {
      await client.close()
      await pacer.close()
      await pool.end()
    }
    await database.close()
  })
  await until(async () => {
    const { rows } = await database.pool.query(`select from dirsync.token_creation`)
    return rows.length === 1
  })
  await expect(second.client.employees.get({ userid: 'u1' })).rejects.toMatchObject({
    code: 'PLATFORM_ABORTED',
    disposition: 'wait',
    outcomeKnown: true,
  })
})
