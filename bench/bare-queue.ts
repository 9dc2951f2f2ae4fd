import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  Queue,
  runMigrations,
  Worker,
} from 'bullmq'
import pg from 'pg'

const NAME = 'bare'

/** Where a queue is: at `redisUrl`, or in the database if that is null. */
export interface QueuePlace {
  redisUrl: string | null
  databaseUrl: string
}

/**
 * Adds a job per user id to bare BullMQ, in bulk.
 * @returns the seconds that this took
 */
export async function fillBareQueue(
  place: QueuePlace,
  userids: readonly string[],
  chunk: number,
): Promise<number> {
  if (place.redisUrl === null) await migrateQueue(place.databaseUrl)
  const { options, backend } = settings(place)
  const queue = new Queue(NAME, options, backend)
  await queue.waitUntilReady()
  const startedAt = performance.now()
  for (let from = 0; from < userids.length; from += chunk) {
    await queue.addBulk(
      userids.slice(from, from + chunk).map(userid => ({
        name: 'get',
        data: { userid },
        opts: { removeOnComplete: true, removeOnFail: true },
      })),
    )
  }
  const seconds = (performance.now() - startedAt) / 1000
  await queue.close()
  return seconds
}

/** Removes every job. */
export async function emptyBareQueue(place: QueuePlace): Promise<void> {
  const { options, backend } = settings(place)
  const queue = new Queue(NAME, options, backend)
  await queue.obliterate({ force: true })
  await queue.close()
}

/**
 * Starts a plain BullMQ worker.
 * @param perSecond limit of all workers together, kept by BullMQ's own limiter; no limit if absent
 */
export function workBareQueue(
  place: QueuePlace,
  process: (userid: string) => Promise<void>,
  concurrency: number,
  perSecond?: number,
): { close(): Promise<void> } {
  const { options, backend } = settings(place)
  const limiter = perSecond === undefined ? {} : { limiter: { max: perSecond, duration: 1000 } }
  const worker = new Worker(
    NAME,
    job => process(job.data.userid),
    { ...options, concurrency, ...limiter },
    backend,
  )
  return worker
}

interface Settings {
  options: { connection: unknown }
  backend: BackendFactory<IQueueBackend, unknown>
}

function settings({ redisUrl, databaseUrl }: QueuePlace): Settings {
  if (redisUrl !== null)
    return {
      options: { connection: { url: redisUrl } },
      backend: createRedisBackend as Settings['backend'],
    }
  // As in ours, a commit of the queue does not wait for the disk.
  const url = new URL(databaseUrl)
  url.searchParams.set('options', '-c search_path=bullmq -c synchronous_commit=off')
  return {
    options: { connection: { connectionString: url.href } },
    backend: createPostgresBackend as Settings['backend'],
  }
}

async function migrateQueue(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await runMigrations(client)
  } finally {
    await client.end()
  }
}
