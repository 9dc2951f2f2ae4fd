import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { JobWorker } from '../../src/queue/job-worker.ts'
import { createPostgresStore } from '../../src/queue/postgres.ts'
import { createRedisStore } from '../../src/queue/redis.ts'
import type { QueueStore, StoreConnection } from '../../src/queue/store.ts'
import { describeBackends } from '../helpers/backends.ts'
import { startRedis } from '../helpers/redis.ts'
import { worded } from '../texts/worded.ts'
import { redisStoreAt, STORES } from './backends.ts'
import { openQueue, PATIENTLY, recordLog, silent, untilEmpty, update } from './queue-helpers.ts'
import { Recorder } from './recorder.ts'
import { startTcpProxy } from './tcp-proxy.ts'

/** A connection whose claims hang from some time on, while all else works. */
function claimingUntil(hangs: () => boolean, connection: StoreConnection): StoreConnection {
  const backendFactory: StoreConnection['backendFactory'] = (...args) => {
    const backend = connection.backendFactory(...args)
    const claim = backend.moveToActive.bind(backend)
    return Object.assign(backend, {
      moveToActive: (...how: Parameters<typeof claim>) =>
        hangs() ? new Promise<never>(() => {}) : claim(...how),
    })
  }
  return { ...connection, backendFactory }
}

// Most of these wait for time-outs most of the time, so they run at once.
describeBackends('during and after an outage the queue in', { concurrent: true }, ({ kind }) => {
  const { openOwn } = STORES[kind]

  test('works on when its connections go silent without closing', async () => {
    await using store = await openOwn()
    await openQueue(store).then(queue => queue.close())
    await using proxy = await startTcpProxy(store.url)
    await using queue = await openQueue(store, { url: proxy.url })
    await using producer = await openQueue(store)
    const recorder = new Recorder('instant')
    const worker = queue.work(recorder.handler, { concurrency: 4, logger: silent })
    await producer.add([update('a')])
    await recorder.execution(1)
    await untilEmpty(producer)
    proxy.silence()
    await producer.add([update('b'), update('c')])
    await recorder.execution(3)
    await worker.close(1_000)
  })

  test('a worker that claims nothing although jobs wait is replaced', async () => {
    await using store = await openOwn()
    await using queue = await openQueue(store)
    const { redisUrl, databaseUrl } = store.options()
    const healthy = redisUrl === null ? createPostgresStore(databaseUrl) : createRedisStore(redisUrl)
    let connections = 0
    const connect: QueueStore['connect'] = (role, onError) => {
      const connection = healthy.connect(role, onError)
      connections += 1
      return connections === 1 ? claimingUntil(() => true, connection) : connection
    }
    const recorder = new Recorder('instant')
    const { logger, lines } = recordLog()
    const worker = new JobWorker({
      store: { ...healthy, connect },
      queue: { name: 'dirsync-test', prefix: 'bull' },
      handler: recorder.handler,
      concurrency: 4,
      logger,
      hasWork: async () => (await queue.counts()).waiting > 0,
      isAway: () => false,
    })
    await queue.add([update('a'), update('b')])
    await recorder.execution(2)
    expect(lines.map(({ level }) => level)).toEqual([40])
    await worker.close(100)
  })

  test('works on after an outage, refuses jobs during it, and logs it in two lines per part', async () => {
    await using store = await openOwn()
    await openQueue(store).then(queue => queue.close())
    await using proxy = await startTcpProxy(store.url)
    const { logger, lines } = recordLog()
    await using queue = await openQueue(store, { url: proxy.url, logger })
    const recorder = new Recorder('held')
    const worker = queue.work(recorder.handler, { concurrency: 4, logger })
    await queue.add([update('a'), update('b')])
    await recorder.execution(2)

    await proxy.refuse()
    recorder.started[0]?.end()
    await expect(queue.add([update('c')])).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
    await expect(queue.counts()).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
    await vi.waitFor(() => expect(lines.length).toBe(2), PATIENTLY)
    await proxy.accept()

    await vi.waitFor(() => queue.add([update('c')]), PATIENTLY)
    const third = await recorder.execution(3)
    expect(third.key).toBe('c')
    await vi.waitFor(async () => {
      await queue.counts()
      expect(lines.length).toBe(4)
    }, PATIENTLY)
    expect(lines.map(({ level }) => level)).toEqual([40, 40, 30, 30])
    for (const { end } of recorder.started) end()
    await worker.close(1_000)
  })

  test('tells for how long it is away', async () => {
    await using store = await openOwn()
    await openQueue(store).then(queue => queue.close())
    await using proxy = await startTcpProxy(store.url)
    await using queue = await openQueue(store, { url: proxy.url })
    await queue.counts()
    expect(queue.awayMs).toBeNull()
    await proxy.refuse()
    const before = performance.now()
    await expect(queue.counts()).rejects.toThrow()
    const lasted = queue.awayMs ?? -1
    expect(lasted).toBeGreaterThanOrEqual(0)
    expect(lasted).toBeLessThan(performance.now() - before + 1000)
    await expect(queue.counts()).rejects.toThrow()
    expect(queue.awayMs).toBeGreaterThan(lasted)
    await proxy.accept()
    await vi.waitFor(async () => {
      await queue.counts()
      expect(queue.awayMs).toBeNull()
    }, PATIENTLY)
  })

  test('a worker that is busy again does not say for ever that it is away', async () => {
    await using store = await openOwn()
    await openQueue(store).then(queue => queue.close())
    await using proxy = await startTcpProxy(store.url)
    await using queue = await openQueue(store, { url: proxy.url })
    await using producer = await openQueue(store)
    const recorder = new Recorder('instant')
    const worker = queue.work(recorder.handler, { concurrency: 4, logger: silent })
    await producer.add([update('before')])
    await recorder.execution(1)
    await proxy.refuse()
    await vi.waitFor(() => expect(queue.awayMs).not.toBeNull(), PATIENTLY)
    await proxy.accept()
    let job = 0
    await vi.waitFor(async () => {
      job += 1
      await producer.add([update(`job-${job}`)])
      expect(queue.awayMs).toBeNull()
    }, PATIENTLY)
    await worker.close(1_000)
  })

  test('works on when the server closes every connection, with jobs running', async () => {
    await using store = await openOwn()
    await using queue = await openQueue(store)
    const recorder = new Recorder('held')
    const worker = queue.work(recorder.handler, { concurrency: 2, logger: silent })
    await queue.add([update('a')])
    const first = await recorder.execution(1)
    await store.dropConnections()
    first.end()
    await vi.waitFor(() => queue.add([update('b')]), PATIENTLY)
    await recorder.execution(2)
    await store.dropConnections()
    await vi.waitFor(() => queue.add([update('c')]), PATIENTLY)
    for (const count of [2, 3]) (await recorder.execution(count)).end()
    await worker.close(1_000)
  })

  test('starts while the store is away, and works as soon as it is there', async () => {
    await using store = await openOwn()
    await openQueue(store).then(queue => queue.close())
    await using proxy = await startTcpProxy(store.url)
    await proxy.refuse()
    await using queue = await openQueue(store, { url: proxy.url, prepared: false })
    const recorder = new Recorder('instant')
    const worker = queue.work(recorder.handler, { concurrency: 4, logger: silent })
    await expect(queue.prepare()).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
    await expect(queue.add([update('a')])).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
    expect(worded(await queue.doctor())).toMatchObject([{ ok: false, remedy: expect.any(String) }])
    await proxy.accept()
    await vi.waitFor(() => queue.add([update('a')]), PATIENTLY)
    await recorder.execution(1)
    await worker.close(1_000)
  })

  test('closes although the store is away', async () => {
    await using store = await openOwn()
    await openQueue(store).then(queue => queue.close())
    await using proxy = await startTcpProxy(store.url)
    const queue = await openQueue(store, { url: proxy.url })
    const recorder = new Recorder('held')
    const worker = queue.work(recorder.handler, { concurrency: 4, logger: silent })
    await queue.add([update('a')])
    await recorder.execution(1)
    await proxy.refuse()
    await worker.close(200)
    await queue.close()
    recorder.started[0]?.end()
  })
})

test('a worker is replaced also while the clock is behind its last claim, since it was put back', async () => {
  await using store = await STORES.postgres.open()
  await using queue = await openQueue(store)
  const healthy = createPostgresStore(store.url)
  const recorder = new Recorder('instant')
  let connections = 0
  const connect: QueueStore['connect'] = (role, onError) => {
    const connection = healthy.connect(role, onError)
    connections += 1
    return connections === 1 ? claimingUntil(() => recorder.keys.length > 0, connection) : connection
  }
  const worker = new JobWorker({
    store: { ...healthy, connect },
    queue: { name: 'dirsync-test', prefix: 'bull' },
    handler: recorder.handler,
    concurrency: 1,
    logger: silent,
    hasWork: async () => (await queue.counts()).waiting > 0,
    isAway: () => false,
  })
  await queue.add([update('a')])
  await recorder.execution(1)
  await untilEmpty(queue)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  onTestFinished(() => void vi.useRealTimers())
  await queue.add([update('b')])
  await recorder.execution(2)
  await worker.close(100)
})

test('while Redis is away, the error is that of the connection, not advice about an option of the client', {
  tags: 'redis',
}, async () => {
  await using server = await startRedis()
  await using proxy = await startTcpProxy(server.url)
  await using queue = await openQueue(redisStoreAt(proxy.url))
  await queue.counts()
  await proxy.refuse()
  const { host } = new URL(proxy.url)
  await expect(queue.counts()).rejects.toMatchObject({
    message: `Redis does not answer: connect ECONNREFUSED ${host}`,
  })
  expect(queue.lastError).toBe(`connect ECONNREFUSED ${host}`)
  expect(worded(await queue.doctor())).toMatchObject([
    { ok: false, what: `Redis does not answer: connect ECONNREFUSED ${host}` },
  ])
})

test('a server that takes connections and never answers is told as one that does not answer', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const store = createRedisStore(`redis://127.0.0.1:${port}`)
  expect(worded(await store.doctor())).toMatchObject([
    { ok: false, what: expect.stringMatching(/^Redis does not answer: /) },
  ])
  await expect(store.prepare()).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
})

test('a Redis that refuses the login is not to be started', { tags: 'redis' }, async () => {
  await using server = await startRedis()
  const redis = new Redis(server.url)
  await redis.config('SET', 'requirepass', 'secret')
  redis.disconnect()
  await using queue = await openQueue(redisStoreAt(server.url), { prepared: false })
  expect(worded(await queue.doctor())).toEqual([
    {
      ok: false,
      what: expect.stringMatching(/^Redis refuses dirsync: NOAUTH/),
      remedy: 'correct REDIS_URL, or what Redis permits',
    },
  ])
})

test('the queue in redis works on when the server is killed and comes back empty', {
  tags: 'redis',
}, async () => {
  await using server = await startRedis()
  await using queue = await openQueue(redisStoreAt(server.url))
  const recorder = new Recorder('held')
  const worker = queue.work(recorder.handler, { concurrency: 2, logger: silent })
  await queue.add([update('a', 1), update('b', 2), update('c', 3)])
  await recorder.execution(2)
  await server.flush()
  await server.restart()
  await vi.waitFor(() => queue.add([update('a'), update('b'), update('c')]), PATIENTLY)
  for (let count = 1; count <= 5; count += 1) (await recorder.execution(count)).end()
  await untilEmpty(queue)
  expect(recorder.keys.slice(2).toSorted()).toEqual(['a', 'b', 'c'])
  await worker.close(1_000)
})

test('the queue behind one address of redis works on when that leads to another server, and the old one lives on as its replica', {
  tags: 'redis',
}, async () => {
  await using old = await startRedis()
  await using successor = await startRedis()
  await using proxy = await startTcpProxy(old.url)
  await using queue = await openQueue(redisStoreAt(proxy.url))
  const recorder = new Recorder('instant')
  const worker = queue.work(recorder.handler, { concurrency: 4, logger: silent })
  await queue.add([update('a')])
  await recorder.execution(1)
  proxy.leadTo(successor.url)
  const redis = new Redis(old.url)
  onTestFinished(() => redis.disconnect())
  await redis.replicaof('127.0.0.1', new URL(successor.url).port)
  await vi.waitFor(() => queue.add([update('b')]), PATIENTLY)
  await recorder.execution(2)
  await worker.close(1_000)
})

/** How Redis comes to refuse every write while it answers whatever is read, and how it is mended. */
const REFUSALS: [
  string,
  break_: (redis: Redis) => Promise<void>,
  mend: (redis: Redis) => Promise<unknown>,
][] = [
  [
    'its memory is full',
    async redis => void (await redis.config('SET', 'maxmemory', '1')),
    redis => redis.config('SET', 'maxmemory', '0'),
  ],
  [
    'its volume takes no snapshot',
    async redis => {
      const [, folder = ''] = (await redis.config('GET', 'dir')) as string[]
      await mkdir(join(folder, 'dump.rdb'))
      await redis.config('SET', 'save', '3600 1')
      await redis.bgsave()
      await vi.waitFor(
        async () => expect(await redis.info('persistence')).toContain('rdb_last_bgsave_status:err'),
        PATIENTLY,
      )
    },
    redis => redis.config('SET', 'save', ''),
  ],
]

describe.concurrent('while Redis answers and refuses writes', { tags: 'redis' }, () => {
  test.each(REFUSALS)('because %s, the queue counts as away', async (_, breakIt, mend) => {
    await using server = await startRedis()
    await using queue = await openQueue(redisStoreAt(server.url))
    const redis = new Redis(server.url)
    onTestFinished(() => redis.disconnect())
    await queue.check()
    await breakIt(redis)

    await expect(queue.add([update('a')])).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
    const lasted = queue.awayMs ?? Number.POSITIVE_INFINITY
    // What is read succeeds, and says nothing of what is written.
    await expect(queue.counts()).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
    await expect(queue.check()).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
    expect(queue.awayMs).toBeGreaterThan(lasted)
    expect(queue.lastError).toMatch(/OOM|MISCONF/)
    expect(worded(await queue.doctor())).toContainEqual({
      ok: false,
      what: expect.stringMatching(/^Redis refuses writes: (OOM|MISCONF)/),
      remedy: expect.any(String),
    })

    await mend(redis)
    // Nothing more is to be added: it finds out by itself.
    await vi.waitFor(async () => {
      await queue.counts()
      expect(queue.awayMs).toBeNull()
    }, PATIENTLY)
    expect(queue.lastError).toBeNull()
    expect(worded(await queue.doctor())).toContainEqual({ ok: true, what: 'Redis takes writes' })
  })
})
