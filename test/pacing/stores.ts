import { LearntRates } from '../../src/pacing/learnt-rates.ts'
import type { PacerStore } from '../../src/pacing/pacer-store.ts'
import { PostgresStore } from '../../src/pacing/postgres-store.ts'
import { RedisStore } from '../../src/pacing/redis-store.ts'
import type { TestDatabase } from '../helpers/postgres.ts'
import { hasRedis, redisUrl } from '../helpers/redis.ts'

const application = { baseUrl: 'http://platform.test', appId: '12345678' }

/** Stands for a deployment: every store it opens is one more process. */
interface Deployment {
  open(): PacerStore
  /** Forgets every slot and pause, as a crash or a wipe does. */
  wipe(): Promise<void>
}

export const STORES: { kind: string; deploy(database: TestDatabase): Promise<Deployment> }[] = [
  {
    kind: 'postgres',
    async deploy({ pool, url }) {
      const wipe = async () => void (await pool.query('truncate dirsync.pacer'))
      await wipe()
      return { open: () => new PostgresStore({ pool, url }), wipe }
    },
  },
]

if (hasRedis) {
  STORES.push({
    kind: 'redis',
    async deploy({ pool }) {
      const url = await redisUrl()
      return {
        open: () => new RedisStore({ url, application, rates: new LearntRates(pool) }),
        async wipe() {
          const { Redis } = await import('ioredis')
          const client = new Redis(url)
          await client.flushdb()
          client.disconnect()
        },
      }
    },
  })
}
