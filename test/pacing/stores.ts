import { Redis } from 'ioredis'
import { PostgresStore } from '../../src/pacing/postgres-store.ts'
import { RedisStore } from '../../src/pacing/redis-store.ts'
import { LearntRates, type PacerStore } from '../../src/pacing/store.ts'
import type { TestDatabase } from '../helpers/postgres.ts'
import { hasRedis, redisUrl } from '../helpers/redis.ts'

const application = { baseUrl: 'http://platform.test', appId: '12345678' }

/** Stands for a deployment: every store it opens is one more process. */
interface Deployment {
  open(): PacerStore
  /** Forgets every slot and pause, as a crash or a wipe does. */
  wipe(): Promise<void>
  /** Moves every time kept so many milliseconds ahead, which is the same. */
  putClockBack(ms: number): Promise<void>
}

export const STORES: { kind: string; deploy(database: TestDatabase): Promise<Deployment> }[] = [
  {
    kind: 'postgres',
    async deploy({ pool, url }) {
      const wipe = async () => void (await pool.query('truncate dirsync.pacer'))
      await wipe()
      const putClockBack = async (ms: number) => {
        const ahead = (column: string) => `${column} = ${column} + $1 * interval '1 ms'`
        await pool.query(
          `update dirsync.pacer set ${['next_at', 'reserved_at', 'paused_until'].map(ahead).join(', ')}`,
          [ms],
        )
      }
      return { open: () => new PostgresStore({ pool, url }), wipe, putClockBack }
    },
  },
]

if (hasRedis) {
  STORES.push({
    kind: 'redis',
    async deploy({ pool }) {
      const url = await redisUrl()
      const withClient = async (use: (client: Redis) => Promise<unknown>) => {
        const client = new Redis(url)
        await use(client)
        client.disconnect()
      }
      return {
        open: () => new RedisStore({ url, application, rates: new LearntRates(pool) }),
        wipe: () => withClient(client => client.flushdb()),
        putClockBack: ms =>
          withClient(async client => {
            for (const key of await client.keys('*'))
              for (const [field, value] of Object.entries(await client.hgetall(key)))
                if (['next', 'at', 'platform'].includes(field))
                  await client.hset(key, field, String(Number(value) + ms))
          }),
      }
    },
  })
}
