import { beforeEach, describe, expect, test } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { readPlatformPage } from '../../src/console/platform/query.ts'
import { askTokenState } from '../../src/console/platform/token-state.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { PostgresTokenStore } from '../../src/platform/token-store.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { duringFile } from '../helpers/during.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { APP_ID, APP_SECRET } from '../platform/fake-platform.ts'
import { worded } from '../texts/worded.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))
const emulator = duringFile(() =>
  startEmulator({ strict: true, appId: APP_ID, appSecret: APP_SECRET, seed: {} }),
)

beforeEach(async () => {
  await database.pool.query(
    'truncate dirsync.platform_token, dirsync.token_creation, dirsync.pacer, dirsync.call_minute, dirsync.halt',
  )
  await controlOf(emulator.url)('DELETE', 'faults')
})

test('a hold-off that only a worker knows of, as with Redis, is shown on the page, too', async () => {
  await database.pool.query(`
    insert into dirsync.process (id, host, pid, roles, version, heartbeat_at, pacer)
    values (gen_random_uuid(), 'h', 1, '{worker}', '1', now(), '{"pausedForMs": 60000}');
    insert into dirsync.pacer (gate, next_at, paused_until, pause_reason)
    values ('operation:employee/get', now(), now() + interval '30 seconds', 'HTTP 429')`)
  const { holdoffs } = await readPlatformPage(database.pool)
  await database.pool.query('delete from dirsync.process')
  expect(holdoffs).toEqual([
    { gate: 'platform', paused_until: expect.any(Date), pause_reason: null },
    { gate: 'operation:employee/get', paused_until: expect.any(Date), pause_reason: 'HTTP 429' },
  ])
})

/** A client with the shared token; `calls` are the operations that it asked the platform for. */
function clientOf(appSecret = APP_SECRET) {
  const account = { baseUrl: emulator.url, appId: APP_ID, appSecret }
  const calls: string[] = []
  const client = new PlatformClient({
    ...account,
    ratePerSecond: 100,
    tokenStore: new PostgresTokenStore({ pool: database.pool, ...account }),
    onCall: ({ operation }) => calls.push(operation),
  })
  return Object.assign(client, { calls })
}

describe('the state of the token', () => {
  test('is asked for with one call, and a token that works is not created anew', async () => {
    await using first = clientOf()
    expect(await askTokenState(first)).toMatchObject({ accepted: true, category: null, remedy: null })
    expect(first.calls).toEqual(['token/create', 'token/getTokenInfo'])
    await using second = clientOf()
    const { accepted, expires_in } = await askTokenState(second)
    expect(accepted).toBe(true)
    expect(expires_in).toBeGreaterThan(0)
    expect(second.calls).toEqual(['token/getTokenInfo'])
    expect((await readPlatformPage(database.pool)).token_creations.last_hour).toBe(1)
  })

  test('where the application is refused, says so with the remedy', async () => {
    await using client = clientOf('a wrong secret')
    const state = worded(await askTokenState(client))
    expect(state).toMatchObject({ accepted: false, category: 'credentials', platform_code: 1000210003 })
    expect(state.remedy).toContain('PLATFORM_APP_SECRET')
  })

  test('is unknown where the platform cannot be reached', async () => {
    const client = new PlatformClient({ baseUrl: 'http://127.0.0.1:9', appId: APP_ID, appSecret: APP_SECRET })
    await using _ = client
    const state = await askTokenState(client)
    expect(state).toMatchObject({ accepted: null, category: 'platform_unavailable' })
    expect(state.meaning).not.toBe('')
  })
})

test('the state of the platform: calls by operation, the token against the fuse, and hold-offs', async () => {
  await database.pool.query(`
    insert into dirsync.call_minute
    values (date_trunc('minute', now()) - interval '10 minutes', 'employee/get', 10, 1, 2, 100, 60, 500),
           (date_trunc('minute', now()) - interval '20 minutes', 'employee/get', 10, 0, 0, 300, 90, 300),
           (date_trunc('minute', now()) - interval '2 hours', 'employee/get', 10, 0, 0, 300, 900, 300);
    insert into dirsync.pacer (gate, next_at, paused_until, pause_reason)
    values ('platform', now(), now() + interval '30 seconds', 'HTTP 429');
    insert into dirsync.platform_token
    values ('https://p', 'a', '', now() - interval '1 hour', now() + interval '1 hour');
    insert into dirsync.token_creation (base_url, app_id, created_at)
    values ('https://p', 'a', now() - interval '59 minutes'), ('https://p', 'a', now() - interval '61 minutes')`)
  await new Commands(database.pool, { actor: 'test' }).pause('maintenance')
  const platform = await readPlatformPage(database.pool)
  expect(platform).toMatchObject({
    pace: { workers: 0, cap: null },
    last_hour: [
      {
        operation: 'employee/get',
        calls: 20,
        rate_limited: 1,
        failed: 2,
        mean_wait_ms: 20,
        longest_wait_ms: 90,
        mean_duration_ms: 40,
      },
    ],
    token_creations: { last_hour: 1, permitted: 50 },
    holdoffs: [{ gate: 'platform', pause_reason: 'HTTP 429' }],
    halts: [{ category: 'paused', message: { values: { words: 'maintenance' } } }],
  })
  const { created_at, expires_at, renews_at } = platform.token ?? {}
  const part = (Number(renews_at) - Number(created_at)) / (Number(expires_at) - Number(created_at))
  expect(part).toBeCloseTo(0.8)
  // That of another account is its own budget.
  await database.pool.query(`
    insert into dirsync.token_creation (base_url, app_id)
    select 'https://p', 'b' from generate_series(1, 3)`)
  expect((await readPlatformPage(database.pool)).token_creations.last_hour).toBe(3)
})
