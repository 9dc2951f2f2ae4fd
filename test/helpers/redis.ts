import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { launchRedis, type RedisServer } from './redis-server.ts'

export type { RedisServer }

/**
 * URL of an emptied logical database of the run's shared Redis. The databases are handed out in turn: a server given
 * by TEST_REDIS_URL must have more of them than are in use at one time (Redis' default of 16 is enough).
 */
export async function redisUrl(): Promise<string> {
  const shared = inject('redisUrl')
  if (shared === null) throw new Error('There is no Redis on this machine: tag the test redis.')
  const client = new Redis(shared, { maxRetriesPerRequest: 1 })
  try {
    const [, databases] = (await client.config('GET', 'databases')) as [string, string]
    const turn = await client.incr(`${inject('databasePrefix')}turn`)
    const index = 1 + (turn % (Number(databases) - 1))
    await client.select(index)
    await client.flushdb()
    const url = new URL(shared)
    url.pathname = `/${index}`
    return url.href
  } finally {
    client.disconnect()
  }
}

/** Starts a Redis of its own, which the test may flush, kill and restart; stop it, or hold it with `await using`. */
export function startRedis(): Promise<RedisServer> {
  return launchRedis({ runFolder: inject('runFolder') })
}
