import { Redis } from 'ioredis'
import type { createQueueBackend } from '../../src/queue/backend.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { redisUrl, startRedis } from '../helpers/redis.ts'

type QueueOptions = Parameters<typeof createQueueBackend>[0]

/** A store for the queues of one test. */
export interface TestStore extends AsyncDisposable {
  readonly url: string
  /** What `createQueueBackend` wants, for the store itself or by way of a proxy. */
  options(url?: string): Omit<QueueOptions, 'logger'>
  /** Forgets the queue while it is in use, as Redis' FLUSHALL does. */
  wipe(): Promise<void>
  /** Closes every connection from the server's side. */
  dropConnections(): Promise<void>
  /** All that is stored of the queue, as one text. */
  dump(): Promise<string>
}

async function redisStore(): Promise<TestStore> {
  return redisStoreAt(await redisUrl())
}

/** A Redis of its own, whose connections can be dropped without other tests' doing. */
async function ownRedisStore(): Promise<TestStore> {
  const server = await startRedis()
  return { ...redisStoreAt(server.url), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

export function redisStoreAt(url: string): TestStore {
  const withClient = async <T>(action: (client: Redis) => Promise<T>): Promise<T> => {
    const client = new Redis(url, { maxRetriesPerRequest: 1 })
    try {
      return await action(client)
    } finally {
      client.disconnect()
    }
  }
  return {
    url,
    options: (at = url) => ({ redisUrl: at, databaseUrl: '', deployment: 'test' }),
    wipe: () => withClient(client => client.flushdb()).then(() => {}),
    dropConnections: () =>
      withClient(client => client.call('CLIENT', 'KILL', 'TYPE', 'normal')).then(() => {}),
    dump: () =>
      withClient(async client => {
        const parts: string[] = []
        for (const key of await client.keys('*')) {
          const type = await client.type(key)
          parts.push(key)
          if (type === 'hash') parts.push(JSON.stringify(await client.hgetall(key)))
          if (type === 'string') parts.push((await client.get(key)) ?? '')
          if (type === 'stream') parts.push(JSON.stringify(await client.xrange(key, '-', '+')))
        }
        return parts.join('\n')
      }),
    [Symbol.asyncDispose]: async () => {},
  }
}

export async function openPostgresStore(): Promise<TestStore> {
  const database = await createTestDatabase()
  const { pool } = database
  const tables = ['job', 'meta', 'event']
  return {
    url: database.url,
    options: (at = database.url) => ({ redisUrl: null, databaseUrl: at, deployment: 'test' }),
    wipe: async () => {
      for (const table of tables) await pool.query(`delete from bullmq.${table}`)
    },
    dropConnections: async () => {
      await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'dirsync-queue'`)
    },
    dump: async () => {
      const dumps = tables.map(table => pool.query(`select ${table}::text as line from bullmq.${table}`))
      return (await Promise.all(dumps)).flatMap(({ rows }) => rows.map(row => row.line)).join('\n')
    },
    [Symbol.asyncDispose]: () => database.close(),
  }
}

/** Stores of each kind. `openOwn`: a server of its own, whose failures affect no other test. */
export const STORES = {
  redis: { open: redisStore, openOwn: ownRedisStore },
  postgres: { open: openPostgresStore, openOwn: openPostgresStore },
}
