import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { createPool } from '../src/lib/database.ts'
import { migrate } from '../src/lib/migrate.ts'
import { createQueueBackend, type QueueBackend } from '../src/queue/backend.ts'
import { MOST_KEYS_OF_JOB, parseJobKey } from '../src/queue/job.ts'
import { Feeder } from '../src/sync/outbox/feeder.ts'
import { countEnqueued } from '../src/sync/outbox/feeding.ts'
import { emptyBareQueue, fillBareQueue, type QueuePlace } from './bare-queue.ts'
import { NO_LIMIT } from './child.ts'
import type { Figure, PairBenchmark, RunBenchmark } from './figure.ts'
import { reportPace } from './worker.ts'
import type { Workshop } from './workshop.ts'

type QueueKind = 'redis' | 'postgres'

const STORE = { redis: 'Redis', postgres: 'PostgreSQL' }
const PENDING = 1_000_000
/** The default of QUEUE_HIGH_WATER. */
const HIGH_WATER = 1000
const CHUNK = 1000
const DRAIN_MS = 15_000

/** How fast work gets from the outbox into the queue, compared with a bare `addBulk` of as many jobs. */
export function feeding(kind: QueueKind, workshop: Workshop, jobs: number, logger: Logger): PairBenchmark {
  return {
    name: `feeding-${kind}`,
    unit: 'rows/s',
    measures: `${jobs.toLocaleString('en')} rows taken from the outbox, marked, and added to the queue on ${STORE[kind]} with priority, each once, ${MOST_KEYS_OF_JOB} to a job, as for a platform that takes as many calls as come`,
    against: `BullMQ's addBulk of ${CHUNK.toLocaleString('en')} plain jobs at a time, one for each row, without priority or ids, on the same ${STORE[kind]}`,
    goal: { atLeast: 3 },
    async prepare() {
      const { place, pool, queue, close } = await openQueue(kind, workshop, logger)
      const feeder = new Feeder({ pool, queue, highWater: Number.MAX_SAFE_INTEGER, logger })
      const userids = Array.from({ length: jobs }, (_, i) => `e${i}`)
      await fillBareQueue(place, userids.slice(0, 1), CHUNK)
      return {
        async ours() {
          await queue.obliterate()
          await fillOutbox(pool, jobs)
          await reportPace(pool, NO_LIMIT)
          const startedAt = performance.now()
          let fed = 0
          for (let more = await feeder.feed(); more > 0; more = await feeder.feed()) fed += more
          const seconds = (performance.now() - startedAt) / 1000
          const { total } = await queue.counts()
          if (fed !== jobs || total !== Math.ceil(jobs / MOST_KEYS_OF_JOB))
            throw new Error(`${fed} of ${jobs} fed, ${total} queued`)
          return jobs / seconds
        },
        async baseline() {
          await emptyBareQueue(place)
          return jobs / (await fillBareQueue(place, userids, CHUNK))
        },
        close,
      }
    },
  }
}

/** How deep the queue gets while a million rows wait, with a feeder that never rests and a worker that drains it. */
export function queueDepth(workshop: Workshop, logger: Logger): RunBenchmark {
  const kinds = ['redis', 'postgres'] as const
  return {
    name: 'queue-depth',
    parts: kinds.map(kind => `queue-depth-${kind}`),
    measures: `the most rows in the queue at a time with ${PENDING.toLocaleString('en')} rows in the outbox, over ${DRAIN_MS / 1000} s, while a worker takes them up; looked at every 20 ms`,
    against: `the high-water mark, ${HIGH_WATER} (QUEUE_HIGH_WATER's default)`,
    async run(parts, report) {
      const figures: Figure[] = []
      for (const kind of kinds) {
        const name = `queue-depth-${kind}`
        if (parts.length > 0 && !parts.some(part => name.startsWith(part))) continue
        const { depth, done } = await deepest(kind, workshop, logger)
        report(`${name}: ${depth} rows at most, ${done.toLocaleString('en')} taken up`)
        figures.push({
          name,
          value: depth,
          unit: 'rows',
          baseline: null,
          goal: { valueAtMost: HIGH_WATER },
        })
      }
      return figures
    },
  }
}

async function deepest(kind: QueueKind, workshop: Workshop, logger: Logger) {
  const { pool, queue, close } = await openQueue(kind, workshop, logger)
  try {
    await fillOutbox(pool, PENDING)
    let done = 0
    const worker = queue.work(
      async ({ keys }) => {
        const userids = keys.map(key => parseJobKey(key).entityKey)
        await pool.query('delete from dirsync.pending where entity_key = any ($1)', [userids])
        done += userids.length
        return { ended: Promise.resolve() }
      },
      { concurrency: 32, logger },
    )
    const stopping = AbortSignal.timeout(DRAIN_MS)
    const feeder = new Feeder({ pool, queue, highWater: HIGH_WATER, logger })
    const feed = async () => {
      while (!stopping.aborted) await feeder.feed()
    }
    const look = async () => {
      let depth = 0
      while (!stopping.aborted) {
        depth = Math.max(depth, (await countEnqueued(pool)).rows)
        await sleep(20)
      }
      return depth
    }
    const [depth] = await Promise.all([look(), feed()])
    await worker.close(5000)
    if (done < HIGH_WATER) throw new Error(`the worker took up ${done} jobs only`)
    return { depth, done }
  } finally {
    await close()
  }
}

interface OpenQueue {
  place: QueuePlace
  pool: Pool
  queue: QueueBackend
  close(): Promise<void>
}

async function openQueue(kind: QueueKind, workshop: Workshop, logger: Logger): Promise<OpenQueue> {
  const databaseUrl = await workshop.database()
  const place = { databaseUrl, redisUrl: kind === 'redis' ? await workshop.redis() : null }
  const pool = createPool(databaseUrl, { max: 3, name: 'bench', logger })
  const queue = createQueueBackend({ ...place, deployment: 'bench', logger })
  await migrate(pool)
  await queue.prepare()
  await queue.obliterate()
  const close = async () => {
    await queue.obliterate()
    await queue.close()
    await pool.end()
  }
  return { place, pool, queue, close }
}

/** Puts a number of employees to update into the outbox. */
async function fillOutbox(pool: Pool, count: number): Promise<void> {
  await pool.query('truncate dirsync.pending')
  await pool.query(
    `insert into dirsync.pending (operation, entity_key, priority)
     select 'update-employee', 'e' || lpad(i::text, 8, '0'), 3 from generate_series(1, $1::int) i`,
    [count],
  )
  await pool.query('vacuum (analyze) dirsync.pending')
}
