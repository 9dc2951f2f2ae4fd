import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { readPlatformPage } from '../../src/console/platform/query.ts'
import { askTokenState } from '../../src/console/platform/token-state.ts'
import type { Pool } from '../../src/lib/database.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { PostgresTokenStore } from '../../src/platform/token-store.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { duringFile } from '../helpers/during.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { APP_ID, APP_SECRET } from '../platform/fake-platform.ts'
import { worded } from '../texts/worded.ts'
import { ConsoleUnderTest } from './console-under-test.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))
const emulator = duringFile(() =>
  startEmulator({ strict: true, appId: APP_ID, appSecret: APP_SECRET, seed: {} }),
)

/** People wait for the platform for so long only, until the result is disposed of. */
function soonGivenUp(ms = 200): Disposable {
  const { timeout } = AbortSignal
  return vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => timeout.call(AbortSignal, ms))
}

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
function clientOf(appSecret = APP_SECRET, pool: Pool = database.pool) {
  const account = { baseUrl: emulator.url, appId: APP_ID, appSecret }
  const calls: string[] = []
  const client = new PlatformClient({
    ...account,
    ratePerSecond: 100,
    tokenStore: new PostgresTokenStore({ pool, ...account }),
    onCall: ({ operation }) => calls.push(operation),
  })
  return Object.assign(client, { calls })
}

describe('the state of the token', () => {
  test('is asked for with one call, and a token that works is not created anew', async () => {
    await using first = clientOf()
    expect(await askTokenState(database.pool, first)).toMatchObject({
      accepted: true,
      category: null,
      remedy: null,
    })
    expect(first.calls).toEqual(['token/create', 'token/getTokenInfo'])
    await using second = clientOf()
    const { accepted, expires_in } = await askTokenState(database.pool, second)
    expect(accepted).toBe(true)
    expect(expires_in).toBeGreaterThan(0)
    expect(second.calls).toEqual(['token/getTokenInfo'])
    expect((await readPlatformPage(database.pool)).token_creations.last_hour).toBe(1)
  })

  test('where the application is refused, says so with the remedy', async () => {
    await using client = clientOf('a wrong secret')
    const state = worded(await askTokenState(database.pool, client))
    expect(state).toMatchObject({ accepted: false, category: 'credentials', platform_code: 1000210003 })
    expect(state.remedy).toContain('PLATFORM_APP_SECRET')
  })

  test('is unknown where the platform does not answer in time, and nothing asks for it again', async () => {
    await controlOf(emulator.url)('POST', 'faults', [{ operation: 'token/getTokenInfo', latencyMs: 5000 }])
    await using client = clientOf()
    using _ = soonGivenUp(500)
    expect(worded(await askTokenState(database.pool, client))).toMatchObject({
      accepted: null,
      category: 'aborted',
      meaning: 'The platform did not answer in time.',
      remedy: 'Ask again.',
    })
  })

  test('is unknown where the platform cannot be reached', async () => {
    const client = new PlatformClient({ baseUrl: 'http://127.0.0.1:9', appId: APP_ID, appSecret: APP_SECRET })
    await using _ = client
    const state = await askTokenState(database.pool, client)
    expect(state).toMatchObject({ accepted: null, category: 'platform_unavailable' })
    expect(state.meaning).not.toBe('')
  })
})

describe('while the platform wants no calls', () => {
  const console = new ConsoleUnderTest(() => ({
    PLATFORM_BASE_URL: emulator.url,
    PLATFORM_APP_ID: APP_ID,
    PLATFORM_APP_SECRET: APP_SECRET,
  }))

  beforeAll(async () => {
    // Without a token, whoever creates one waits for as long as the platform asks.
    await using client = clientOf(APP_SECRET, console.pool)
    await client.tokens.info()
  })

  test('a page of a plan that has asked, until it was told to wait, does not say that it has not', async () => {
    await console.pool.query(`
      insert into dirsync.sync_run (id, kind, state, requested_by, planned, plan) overriding system value
        values (8, 'changes', 'held', 'cron', 15, '{"reasons": {"changed": 15}}');
      insert into dirsync.planned_work (run_id, operation, entity_key, reason, fields)
        select 8, 'update-employee', 'p' || i, 'changed', '{mobile}' from generate_series(1, 15) i`)
    const rule = { operation: 'employee/get', times: 1, httpStatus: 429, retryAfter: 3600 }
    await controlOf(emulator.url)('POST', 'faults', [rule])
    using _soon = soonGivenUp(1000)
    const { platform, platform_error } = (
      await console.ask('operator', 'POST', '/api/v1/runs/8/plan/ask', {})
    ).json()
    expect(platform).toBe('asked')
    expect(platform_error).toMatch(
      /The platform asked dirsync to wait\..* The platform asked to wait until 2.* UTC, so not all rows were asked about\./s,
    )
    expect(platform_error).not.toContain('the call was not made')
  })

  test.each([
    ['an employee', '/employees/e1/explain', 'The platform was not asked'],
    ['the token', '/platform/token', 'It could not be determined'],
    ['the rows of a plan', '/runs/7/plan/ask', 'The platform was not asked'],
  ])('who asks it about %s is told that no call was made', async (_, path, title) => {
    await console.pool.query(`
      insert into dirsync.pacer (gate, next_at, paused_until, pause_reason)
        values ('platform', now(), now() + interval '1 hour', 'HTTP 429 on employee/get') on conflict do nothing;
      insert into dirsync.sync_run (id, kind, state, requested_by, planned, plan) overriding system value
        values (7, 'changes', 'held', 'cron', 1, '{"reasons": {"changed": 1}}') on conflict do nothing;
      insert into dirsync.planned_work (run_id, operation, entity_key, reason, fields)
        values (7, 'update-employee', 'e1', 'changed', '{mobile}') on conflict do nothing`)
    using _soon = soonGivenUp()
    const { body } = await console.browse('operator', 'POST', path, '')
    expect(body).toContain(title)
    expect(body).toMatch(/The platform asked to wait until 2.* UTC, so the call was not made\./)
    expect(body).not.toContain('takes it up again by itself')
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
