import pg from 'pg'
import { expect, test } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { PostgresSlots } from '../../src/pacing/postgres-slots.ts'
import { SlotPacer } from '../../src/pacing/slot-pacer.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { PostgresTokenStore } from '../../src/platform/token-store.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
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
    const pool = new pg.Pool({ connectionString: database.url, max: 2 })
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
  const response = await fetch(`${emulator.url}/_emulator/calls`)
  const { calls } = (await response.json()) as { calls: { operation: string; code: number }[] }
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
