import { type BackendFactory, createRedisBackend, type IQueueBackend, isRedisVersionLowerThan } from 'bullmq'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { saidOf } from '../lib/failure.ts'
import { type Message, message } from '../texts/message.ts'
import { parseRedisAddress } from './redis-address.ts'
import {
  type ConnectionRole,
  type QueueCheck,
  QueueError,
  type QueueStore,
  type StoreConnection,
} from './store.ts'

const MINIMUM_VERSION = '6.2.0'

/** A connection is replaced when a command got no answer for this long; a worker's may block for 5 s. */
const SILENCE_MS: Record<ConnectionRole, number> = { producer: 5_000, worker: 8_000 }

const OPTIONS = {
  connectTimeout: 2_000,
  keepAlive: 5_000,
  retryStrategy: (attempts: number) => Math.min(attempts * 100, 500),
  // A server that was the master until now: the next connection asks the Sentinels, or where the address leads. Redis 6.2 says it
  // of a script in the middle of the message.
  reconnectOnError: (error: Error) => error.message.includes('READONLY'),
} satisfies RedisOptions

/**
 * The keys of a queue. In a cluster the braces keep all of them on one server: BullMQ's scripts change several at once.
 */
const PREFIX = 'bull'
const PREFIX_IN_CLUSTER = '{bull}'

/**
 * The queue in Redis, version 6.2 or later, which should persist everything: AOF on, `noeviction`.
 * @param redisUrl one server, those of a Sentinel, or a cluster
 */
export function createRedisStore(redisUrl: string): QueueStore {
  return {
    kind: 'redis',
    prefix: prefixOf(redisUrl),
    connect: (role, onError) => connect(redisUrl, role, onError),
    async prepare() {
      const { version } = await withClient(redisUrl, readServers)
      if (isTooOld(version)) {
        throw new QueueError('QUEUE_STORE_TOO_OLD', message('said.queue_redis_old', { version }))
      }
    },
    doctor: () => examine(redisUrl),
    isAnswer,
  }
}

function prefixOf(url: string): string {
  return parseRedisAddress(url)?.kind === 'cluster' ? PREFIX_IN_CLUSTER : PREFIX
}

type Client = Redis | Cluster

interface Options {
  connectTimeout: number
  keepAlive: number
  connectionName?: string
  socketTimeout?: number
  maxRetriesPerRequest: number | null
  /** How long to wait before the next attempt to connect; null: do not try again. */
  retryStrategy: (attempts: number) => number | null
  reconnectOnError: (error: Error) => boolean
}

/** Opens a client of what the address names. */
function open(url: string, options: Options): Client {
  const address = parseRedisAddress(url)
  if (address === null || address.kind === 'single') return new Redis(url, options)
  const { username, password, isTls } = address
  const access = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: {} }),
  }
  const { retryStrategy, ...ofServers } = { ...options, ...access }
  if (address.kind === 'sentinel') {
    const { sentinels, master, db } = address
    return new Redis({
      ...ofServers,
      ...{ sentinels, name: master, db, retryStrategy, sentinelRetryStrategy: retryStrategy },
      ...(isTls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
    })
  }
  return new Cluster(address.nodes, {
    redisOptions: ofServers,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshTimeout: OPTIONS.connectTimeout,
  })
}

function connect(url: string, role: ConnectionRole, onError: (error: unknown) => void): StoreConnection {
  const client = open(url, {
    ...OPTIONS,
    connectionName: 'dirsync-queue',
    socketTimeout: SILENCE_MS[role],
    // A producer's command fails after two attempts to connect; a worker's waits for as long as it takes.
    maxRetriesPerRequest: role === 'producer' ? 1 : null,
  })
  let failure: unknown
  client.on('error', error => {
    failure = error
    onError(error)
  })
  return {
    connection: client,
    backendFactory: createRedisBackend as BackendFactory<IQueueBackend, unknown>,
    write: queue => write(client, prefixOf(url), queue),
    causeOf: error =>
      error instanceof Error && error.name === 'MaxRetriesPerRequestError' ? (failure ?? error) : error,
    close: async () => client.disconnect(),
    cut: () => client.disconnect(),
  }
}

/** Expiry of the key that only tests whether Redis takes writes. */
const WRITTEN_FOR_SECONDS = 60

function write(client: Client, prefix: string, queue: string): Promise<unknown> {
  return client.set(`${prefix}:${queue}:written`, '', 'EX', WRITTEN_FOR_SECONDS)
}

async function examine(url: string): Promise<QueueCheck[]> {
  let server: RedisFacts
  let refusal: string | null
  try {
    server = await withClient(url, readServers)
    refusal = await withClient(url, client => refusalOf(client, prefixOf(url)))
  } catch (error) {
    const { cause } = error as Error
    return isAnswer(cause)
      ? [
          {
            ok: false,
            what: message('doctor.redis_refuses_us', { reason: cause.message }),
            remedy: message('doctor.permit_redis'),
          },
        ]
      : [
          {
            ok: false,
            what: message('said.queue_away', { place: 'Redis', reason: saidOf(cause) }),
            remedy: message('doctor.start_redis'),
          },
        ]
  }
  const { version, product, policy, appendOnly } = server
  const check = (ok: boolean, good: Message, bad: Message, remedy: Message): QueueCheck =>
    ok ? { ok, what: good } : { ok, what: bad, remedy }
  return [
    check(
      !isTooOld(version),
      message('doctor.answers', { name: product }),
      message('doctor.redis_old', { version }),
      message('doctor.use_redis'),
    ),
    check(
      refusal === null,
      message('doctor.redis_writes'),
      message('doctor.redis_refuses', { reason: refusal ?? '' }),
      message('doctor.help_redis'),
    ),
    check(
      policy === 'noeviction',
      message('doctor.redis_keeps'),
      message('doctor.redis_drops', { policy }),
      message('doctor.set_noeviction'),
    ),
    check(
      appendOnly,
      message('doctor.redis_lasts'),
      message('doctor.redis_forgets'),
      message('doctor.set_appendonly'),
    ),
  ]
}

interface RedisFacts {
  /** Of Redis, or the one that a compatible server says it is like. */
  version: string
  product: string
  policy: string
  appendOnly: boolean
}

/** What is true of all servers that take writes. */
async function readServers(client: Client): Promise<RedisFacts> {
  if (client instanceof Redis) return readServer(client)
  await client.ping() // its servers are known then
  const servers = await Promise.all(client.nodes('master').map(readServer))
  const [first] = servers
  if (first === undefined) throw new Error('the cluster names no master')
  const oldest = servers.reduce((oldest, server) =>
    isRedisVersionLowerThan(server.version, oldest.version, 'redis') ? server : oldest,
  )
  return {
    ...oldest,
    policy: servers.find(({ policy }) => policy !== 'noeviction')?.policy ?? first.policy,
    appendOnly: servers.every(({ appendOnly }) => appendOnly),
  }
}

/** Reads INFO, which hosted servers allow where they forbid CONFIG. */
async function readServer(client: Redis): Promise<RedisFacts> {
  const info = await client.info()
  const fact = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const version = fact('redis_version')
  const valkey = fact('valkey_version')
  return {
    version,
    product: valkey === '' ? `Redis ${version}` : `Valkey ${valkey}`,
    policy: fact('maxmemory_policy'),
    appendOnly: fact('aof_enabled') === '1',
  }
}

/** Why Redis refuses writes; null when it takes them. */
async function refusalOf(client: Client, prefix: string): Promise<string | null> {
  try {
    await write(client, prefix, 'dirsync-doctor')
    return null
  } catch (error) {
    if (isAnswer(error)) return error.message
    throw error
  }
}

function isAnswer(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}

async function withClient<T>(url: string, action: (client: Client) => Promise<T>): Promise<T> {
  const client = open(url, {
    ...OPTIONS,
    socketTimeout: SILENCE_MS.producer,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let failure: unknown
  client.on('error', error => {
    failure = error
  })
  try {
    return await action(client)
  } catch (error) {
    const cause = failure ?? error
    const what = isAnswer(cause)
      ? message('said.queue_redis_refuses', { reason: cause.message })
      : message('said.queue_redis_silent', { reason: saidOf(cause) })
    throw new QueueError('QUEUE_UNAVAILABLE', what, { cause })
  } finally {
    client.disconnect()
  }
}

function isTooOld(version: string): boolean {
  return isRedisVersionLowerThan(version, MINIMUM_VERSION, 'redis')
}
