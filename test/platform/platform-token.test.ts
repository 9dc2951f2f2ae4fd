import type pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { PlatformError } from '../../src/platform/errors.ts'
import { TOKEN_CREATIONS_PER_HOUR, TokenFuseError } from '../../src/platform/token.ts'
import { PostgresTokenStore } from '../../src/platform/token-store.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase, openPool } from '../helpers/postgres.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))
let created: number

beforeEach(async () => {
  await database.pool.query('truncate dirsync.platform_token, dirsync.token_creation')
  created = 0
})

function storeOf(options: { appSecret?: string; appId?: string; pool?: pg.Pool } = {}): PostgresTokenStore {
  return new PostgresTokenStore({
    pool: database.pool,
    baseUrl: 'https://platform.example',
    appId: 'app',
    appSecret: 'secret',
    ...options,
  })
}

async function create() {
  created += 1
  return { accessToken: `token-${created}`, expiresIn: 7200 }
}

const whenPresent = (token: object | null) => token !== null
const never = () => false

async function creationsNoted(): Promise<number> {
  const { rows } = await database.pool.query('select count(*)::int as n from dirsync.token_creation')
  return rows[0].n
}

test('what one process creates, another one reads', async () => {
  expect(await storeOf().read()).toBeNull()
  const token = await storeOf().refresh(whenPresent, create)
  // A token that is old already must not seem new: it is renewed before its time is over.
  await database.pool.query(`update dirsync.platform_token
    set created_at = created_at - interval '1 hour', expires_at = expires_at - interval '1 hour'`)
  const read = await storeOf().read()
  expect(read?.accessToken).toBe('token-1')
  expect(token.expiresAt.getTime() - token.createdAt.getTime()).toBe(7_200_000)
  expect(Math.abs((read?.createdAt.getTime() ?? 0) + 3_600_000 - token.createdAt.getTime())).toBeLessThan(
    60_000,
  )
})

test('a usable token is not created again', async () => {
  await storeOf().refresh(whenPresent, create)
  expect((await storeOf().refresh(whenPresent, create)).accessToken).toBe('token-1')
  expect((await storeOf().refresh(never, create)).accessToken).toBe('token-2')
  expect(await creationsNoted()).toBe(2)
})

test('many processes that need a token at once create one', async () => {
  const pools = Array.from({ length: 6 }, () => openPool({ connectionString: database.url, max: 2 }))
  const tokens = await Promise.all(pools.map(pool => storeOf({ pool }).refresh(whenPresent, create)))
  expect(new Set(tokens.map(token => token.accessToken))).toEqual(new Set(['token-1']))
  expect(created).toBe(1)
  expect(await creationsNoted()).toBe(1)
  await Promise.all(pools.map(pool => pool.end()))
})

describe('drop', () => {
  test('forgets exactly the token that is meant', async () => {
    const store = storeOf()
    await store.refresh(whenPresent, create)
    await store.drop('token-0')
    expect((await store.read())?.accessToken).toBe('token-1')
    await store.drop('token-1')
    expect(await store.read()).toBeNull()
    await store.drop('token-1')
  })
})

describe('secrecy', () => {
  test('the database does not hold the token in the clear', async () => {
    await storeOf().refresh(whenPresent, create)
    const { rows } = await database.pool.query('select sealed_token from dirsync.platform_token')
    expect(rows[0].sealed_token.toString('latin1')).not.toContain('token-1')
  })

  test('with another secret there is no token, and a new one takes its place', async () => {
    await storeOf().refresh(whenPresent, create)
    const changed = storeOf({ appSecret: 'changed' })
    expect(await changed.read()).toBeNull()
    expect((await changed.refresh(whenPresent, create)).accessToken).toBe('token-2')
    expect(await storeOf().read()).toBeNull()
  })

  test('a damaged token is none', async () => {
    await storeOf().refresh(whenPresent, create)
    await database.pool.query(`update dirsync.platform_token set sealed_token = 'short'`)
    expect(await storeOf().read()).toBeNull()
    await database.pool.query(
      `update dirsync.platform_token set sealed_token = convert_to(repeat('x', 60), 'UTF8')`,
    )
    expect(await storeOf().read()).toBeNull()
  })

  test('applications do not see each other', async () => {
    await storeOf().refresh(whenPresent, create)
    expect(await storeOf({ appId: 'other' }).read()).toBeNull()
  })
})

describe('the fuse', () => {
  /** As if so many tokens had been created, some minutes ago. */
  const noted = (count: number, minutesAgo: number) =>
    database.pool.query(
      `insert into dirsync.token_creation (base_url, app_id, created_at)
       select 'https://platform.example', 'app', now() - $2 * interval '1 minute' from generate_series(1, $1)`,
      [count, minutesAgo],
    )

  test('a creation that fails counts, too, and leaves the lock free', async () => {
    const failing = async () => {
      throw new Error('the platform is away')
    }
    await expect(storeOf().refresh(whenPresent, failing)).rejects.toThrow('the platform is away')
    expect(await creationsNoted()).toBe(1)
    expect(await storeOf().read()).toBeNull()
    expect((await storeOf().refresh(whenPresent, create)).accessToken).toBe('token-1')
  })

  test('one that was never sent does not count: a process without a network would use up those of all', async () => {
    const unsent = new PlatformError({
      kind: 'connection',
      operation: 'token/create',
      outcomeKnown: true,
    })
    const failing = () => Promise.reject(unsent)
    await expect(storeOf().refresh(whenPresent, failing)).rejects.toBe(unsent)
    expect(await creationsNoted()).toBe(0)
    const lost = new PlatformError({ kind: 'connection', operation: 'token/create', outcomeKnown: false })
    await expect(storeOf().refresh(whenPresent, () => Promise.reject(lost))).rejects.toBe(lost)
    expect(await creationsNoted()).toBe(1)
  })

  test('is noted before the platform is asked', async () => {
    await storeOf().refresh(whenPresent, async () => {
      expect(await creationsNoted()).toBe(1)
      return create()
    })
  })

  test('holds for a new process, and says how long', async () => {
    await noted(TOKEN_CREATIONS_PER_HOUR - 1, 30)
    await storeOf().refresh(never, create)
    const fuse = await storeOf()
      .refresh(never, create)
      .catch(error => error)
    expect(fuse).toBeInstanceOf(TokenFuseError)
    expect(fuse.retryAfterMs / 60_000).toBeGreaterThan(29)
    expect(fuse.retryAfterMs / 60_000).toBeLessThanOrEqual(30)
    expect(created).toBe(1)
    expect(await creationsNoted()).toBe(TOKEN_CREATIONS_PER_HOUR)
  })

  test('a token that can be used is still given out', async () => {
    await storeOf().refresh(whenPresent, create)
    await noted(TOKEN_CREATIONS_PER_HOUR, 1)
    expect((await storeOf().refresh(whenPresent, create)).accessToken).toBe('token-1')
  })

  test('what is older than an hour does not count and is removed', async () => {
    await noted(TOKEN_CREATIONS_PER_HOUR, 61)
    await storeOf().refresh(never, create)
    expect(await creationsNoted()).toBe(1)
  })

  test('counts for each application by itself', async () => {
    await noted(TOKEN_CREATIONS_PER_HOUR, 1)
    expect((await storeOf({ appId: 'other' }).refresh(never, create)).accessToken).toBe('token-1')
  })
})

test('a pool of one connection is refused: it would wait for itself', async () => {
  const pool = openPool({ connectionString: database.url, max: 1 })
  expect(() => storeOf({ pool })).toThrow(RangeError)
  await pool.end()
})
