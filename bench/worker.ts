import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Logger } from 'pino'
import { createPool, type Pool } from '../src/lib/database.ts'
import { createQueueBackend } from '../src/queue/backend.ts'
import { Feeder } from '../src/sync/outbox/feeder.ts'
import { heartbeat } from '../src/sync/processes/process.ts'
import { controlOf } from '../test/helpers/emulator-control.ts'
import { fillBareQueue, type QueuePlace } from './bare-queue.ts'
import { askChild, NO_LIMIT } from './child.ts'
import { acknowledgeAll, seedOf } from './company.ts'
import type { Benchmark } from './figure.ts'
import { benchPlanner, fillDatabase, openHr } from './planned-database.ts'
import type { PlatformAccess, Workshop } from './workshop.ts'

const CONCURRENCY = 32
const LATENCY_MS = 5

/** The task of a worker's process. */
export interface WorkTask extends QueuePlace {
  platform: PlatformAccess
  jobs: number
  concurrency: number
  /** Where traces are sent; absent for nowhere. */
  collector?: string
}

/** Throughput of a whole worker on employees in sync, compared with bare BullMQ that only makes the same call. */
export function worker(
  kind: 'redis' | 'postgres',
  workshop: Workshop,
  jobs: number,
  logger: Logger,
): Benchmark {
  return {
    name: `worker-${kind}`,
    unit: 'jobs/s',
    measures: describeWork(jobs),
    against: `BullMQ's own worker on the same ${kind === 'redis' ? 'Redis' : 'PostgreSQL'}, whose processor makes the same signed call with undici.request, from its start to the last answer`,
    goal: { atLeast: 1.2 },
    async prepare() {
      const { task, userids, rate } = await prepareWork(kind, workshop, jobs, logger)
      return {
        ours: () => rate(),
        async baseline() {
          await fillBareQueue(task, userids, 500)
          return jobs / (await askChild<WorkTask, number>(workshop.folder, 'child-bare-worker.ts', task))
        },
        close: async () => {},
      }
    },
  }
}

/** Describes the measured work. */
export function describeWork(jobs: number): string {
  return `dirsync's worker on ${jobs.toLocaleString('en')} employees in sync (full run, one query each), concurrency ${CONCURRENCY}, emulator at ${LATENCY_MS} ms, from its start to the last outcome`
}

/**
 * Puts everyone in sync, in HR, on the platform and in memory; `rate` plans a full run, lets a worker do it, and
 * returns jobs per second.
 */
export async function prepareWork(
  kind: 'redis' | 'postgres',
  workshop: Workshop,
  jobs: number,
  logger: Logger,
) {
  const { task, userids } = await prepareCompany(kind, workshop, jobs, logger)
  const latency = { operation: 'employee/get', latencyMs: LATENCY_MS }
  await controlOf(task.platform.baseUrl)('POST', 'faults', latency)
  const rate = async (more: Pick<WorkTask, 'collector'> = {}) => {
    const runId = await planFullRun(task, logger)
    const whole = { ...task, ...more }
    const seconds = await askChild<WorkTask, number>(workshop.folder, 'child-worker.ts', whole)
    await assertInSync(task.databaseUrl, runId, jobs)
    return jobs / seconds
  }
  return { task, userids, rate }
}

/** Everyone in sync, in HR, on the platform and in memory. */
export async function prepareCompany(
  kind: 'redis' | 'postgres',
  workshop: Workshop,
  jobs: number,
  logger: Logger,
): Promise<{ task: WorkTask; userids: string[] }> {
  const databaseUrl = await workshop.database()
  const redisUrl = kind === 'redis' ? await workshop.redis() : null
  await fillDatabase(databaseUrl, jobs, logger)
  const people = await acknowledgeAll(databaseUrl, logger)
  const platform = await workshop.emulator(seedOf(people))
  const task = { redisUrl, databaseUrl, platform, jobs, concurrency: CONCURRENCY }
  return { task, userids: people.map(({ key }) => key.userid) }
}

/**
 * Plans a full run and puts all of it into the queue.
 * @returns the number of the run
 */
async function planFullRun(place: WorkTask, logger: Logger): Promise<number> {
  const hr = openHr(place.databaseUrl, logger)
  const pool = createPool(place.databaseUrl, { max: 3, name: 'bench', logger })
  const queue = createQueueBackend({ ...place, deployment: 'bench', logger })
  try {
    await queue.prepare()
    await queue.obliterate()
    const { rows } = await pool.query(`insert into dirsync.sync_run (kind) values ('full') returning id`)
    await reportPace(pool, NO_LIMIT)
    const planner = benchPlanner(pool, hr, logger)
    await planner.planNext(new AbortController().signal)
    const feeder = new Feeder({ pool, queue, highWater: Number.MAX_SAFE_INTEGER, logger })
    let fed = 0
    for (let more = await feeder.feed(); more > 0; more = await feeder.feed()) fed += more
    if (fed !== place.jobs) throw new Error(`${fed} jobs were queued instead of ${place.jobs}`)
    return rows[0].id
  } finally {
    await queue.close()
    await pool.end()
    await hr.close()
  }
}

/** A worker at work says what the platform permits, by which the feeder divides the work into jobs. */
export async function reportPace(pool: Pool, perSecond: number): Promise<void> {
  const learning = { learnt: false, ceiling: null, cap: null }
  const now = { waiting: 0, pausedForMs: 0, callsPerSecond: 0, concurrency: CONCURRENCY, clockOffsetMs: null }
  const pacer = { ratePerSecond: perSecond, set: perSecond, ...learning, ...now }
  await heartbeat(pool, { id: randomUUID(), host: 'bench', pid: 0, roles: ['worker'], version: '', pacer })
}

async function assertInSync(url: string, runId: number, jobs: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(
      `select outcome, calls, count(*)::int as n, (select count(*)::int from dirsync.pending) as pending
       from dirsync.attempt where run_id = $1 group by outcome, calls`,
      [runId],
    )
    const expected = [{ outcome: 'in_sync', calls: { 'employee/get': 1 }, n: jobs, pending: 0 }]
    if (JSON.stringify(rows) !== JSON.stringify(expected))
      throw new Error(`not every job found its employee in sync: ${JSON.stringify(rows)}`)
  } finally {
    await client.end()
  }
}
