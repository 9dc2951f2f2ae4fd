import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { createTestDatabase } from './postgres.ts'
import { redisUrl, startRedis } from './redis.ts'

test('each test database is its own, and is dropped with its connections', async () => {
  const first = await createTestDatabase()
  const second = await createTestDatabase()
  await first.pool.query('create table here (n int)')
  const { rows } = await second.pool.query(`select to_regclass('here') as found`)
  expect(rows).toEqual([{ found: null }])

  await first.close()
  await first.close()
  const left = await second.pool.query('select datname from pg_database where datname = $1', [first.name])
  expect(left.rows).toEqual([])
  await second.close()
})

test('a migrated test database has the schema', async () => {
  await using database = await createTestDatabase({ migrated: true })
  const { rows } = await database.pool.query(`select from pg_namespace where nspname = 'dirsync'`)
  expect(rows).toHaveLength(1)
})

describe('Redis', { tags: 'redis' }, () => {
  test('each caller gets an empty database', async () => {
    const [first, second] = [new Redis(await redisUrl()), new Redis(await redisUrl())]
    await first.set('a', '1')
    expect(await second.get('a')).toBeNull()
    first.disconnect()
    second.disconnect()
  })

  test('one of its own survives a kill with its data, and a flush without', async () => {
    await using server = await startRedis()
    const client = new Redis(server.url)
    await client.set('a', '1')
    await server.restart()
    expect(await client.get('a')).toBe('1')
    await server.flush()
    expect(await client.get('a')).toBeNull()
    client.disconnect()
  })
})
