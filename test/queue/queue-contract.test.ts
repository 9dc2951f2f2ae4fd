import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import type pg from 'pg'
import type { Logger } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createQueueBackend, openQueueStore, type QueueBackend } from '../../src/queue/backend.ts'
import { type DeliveredJob, MOST_KEYS_OF_JOB } from '../../src/queue/job.ts'
import type { JobHandler } from '../../src/queue/job-worker.ts'
import { createPostgresStore } from '../../src/queue/postgres.ts'
import { createRedisStore } from '../../src/queue/redis.ts'
import { describeBackends } from '../helpers/backends.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { redisUrl } from '../helpers/redis.ts'
import { worded } from '../texts/worded.ts'
import { openPostgresStore, STORES, type TestStore } from './backends.ts'
import { newKey, openQueue, PATIENTLY, recordLog, silent, untilEmpty, update } from './queue-helpers.ts'
import { Recorder } from './recorder.ts'

function work(
  queue: QueueBackend,
  handler: JobHandler,
  options: { concurrency?: number; logger?: Logger } = {},
) {
  const worker = queue.work(handler, { concurrency: 10, logger: silent, ...options })
  onTestFinished(() => worker.close(0))
  return worker
}

describeBackends('the queue in', {}, ({ kind }) => {
  async function prepare(): Promise<{ store: TestStore; queue: QueueBackend }> {
    const store = await STORES[kind].open()
    onTestFinished(() => store[Symbol.asyncDispose]())
    const queue = await openQueue(store)
    onTestFinished(() => queue.close())
    return { store, queue }
  }

  test('hands the processor a job with all of its keys, and forgets it afterwards', async () => {
    const { queue } = await prepare()
    const seen = Promise.withResolvers<DeliveredJob>()
    work(queue, async job => seen.resolve(job))
    const job: DeliveredJob = {
      name: 'bind-openid',
      keys: Array.from({ length: MOST_KEYS_OF_JOB }, newKey),
      priority: 3,
    }
    await queue.add([{ ...job, id: 'b' }])
    expect(await seen.promise).toEqual(job)
    await untilEmpty(queue)
    expect(queue.kind).toBe(kind)
  })

  test('another deployment in the same store neither sees nor takes the jobs, nor clears them away', async () => {
    const { store, queue } = await prepare()
    const other = createQueueBackend({ ...store.options(), deployment: 'other', logger: silent })
    onTestFinished(() => other.close())
    const recorder = new Recorder('instant')
    work(other, recorder.handler)
    const own = newKey()
    await queue.add([update(newKey()), update(newKey())])
    await other.add([update(own, 10)])
    await untilEmpty(other)
    expect(recorder.keys).toEqual([own])
    await other.obliterate()
    expect(await queue.counts()).toEqual({ waiting: 2, active: 0, total: 2 })
  })

  test('can be prepared again, by several at once', async () => {
    const { queue } = await prepare()
    await Promise.all([queue.prepare(), queue.prepare(), queue.prepare()])
  })

  test('runs jobs in the order of their priorities, then of their arrival', async () => {
    const { queue } = await prepare()
    await queue.add([update('d', 10), update('b', 5), update('a', 1), update('c', 5)])
    const recorder = new Recorder('instant')
    work(queue, recorder.handler, { concurrency: 1 })
    await recorder.execution(4)
    expect(recorder.keys).toEqual(['a', 'b', 'c', 'd'])
  })

  test('adds more jobs than fit into one call of BullMQ', async () => {
    const { queue } = await prepare()
    await queue.add(Array.from({ length: 1_234 }, () => update(newKey())))
    expect(await queue.counts()).toEqual({ waiting: 1_234, active: 0, total: 1_234 })
  })

  test('keeps one of several waiting jobs with the same id', async () => {
    const { queue } = await prepare()
    await queue.add([update('a', 5), update('a', 3), update('a', 5, 2)])
    await queue.add([update('a', 10)])
    expect(await queue.counts()).toEqual({ waiting: 2, active: 0, total: 2 })
  })

  test('adds the same jobs from many sides at once without doubling any', async () => {
    const { queue } = await prepare()
    const jobs = Array.from({ length: 300 }, () => update(newKey()))
    const recorder = new Recorder('instant')
    await Promise.all([queue.add(jobs), queue.add(jobs.toReversed()), queue.add(jobs)])
    expect(await queue.counts()).toMatchObject({ total: 300 })
    work(queue, recorder.handler)
    await untilEmpty(queue)
    expect(new Set(recorder.keys).size).toBe(300)
    expect(recorder.keys.length).toBe(300)
  })

  test('runs another job for the same key at its own priority', async () => {
    const { queue } = await prepare()
    await queue.add([update('a', 5), update('b', 10), update('c', 5)])
    await queue.add([update('b', 1, 2), update('d', 2), update('a', 1)])
    const recorder = new Recorder('instant')
    work(queue, recorder.handler, { concurrency: 1 })
    await recorder.execution(5)
    expect(recorder.keys).toEqual(['b', 'd', 'a', 'c', 'b'])
  })

  test('ignores the id of an active job, and runs another one for its key beside it', async () => {
    const { queue } = await prepare()
    const recorder = new Recorder('held')
    work(queue, recorder.handler)
    await queue.add([update('a')])
    await recorder.execution(1)
    await queue.add([update('a'), update('a', 1)])
    await queue.add([update('a', 5, 2), update('a', 5, 2)])
    await recorder.execution(2)
    expect(await queue.counts()).toMatchObject({ total: 2 })
    for (const { end } of recorder.started) end()
    await untilEmpty(queue)
    expect(recorder.keys).toEqual(['a', 'a'])
  })

  test('loses no add, however adds and executions interleave', async () => {
    const { queue, store } = await prepare()
    await using other = await openQueue(store)
    const keys = Array.from({ length: 10 }, newKey)
    const changed = new Map(keys.map(key => [key, 0]))
    const seen = new Map<string, number>()
    const handler: JobHandler = async ({ keys: [key = ''] }) => {
      seen.set(key, changed.get(key) ?? 0) // reads the present state, as workers do, and then takes its time
      for (let turns = 0; turns < 5; turns += 1) await setImmediate()
    }
    work(queue, handler, { concurrency: 4 })
    work(other, handler, { concurrency: 4 })
    const change = async (producer: QueueBackend, rounds: number) => {
      for (let round = 0; round < rounds; round += 1) {
        const some = keys.filter((_key, index) => (index + round) % 3 === 0)
        const jobs = some.map((key, index) => {
          const change = (changed.get(key) ?? 0) + 1
          changed.set(key, change)
          return update(key, 1 + (index % 3), change)
        })
        await producer.add(jobs)
      }
    }
    await Promise.all([change(queue, 60), change(other, 60)])
    await untilEmpty(queue)
    expect(seen).toEqual(changed)
  })

  test('runs a job again that is added after it has ended', async () => {
    const { queue } = await prepare()
    const recorder = new Recorder('instant')
    work(queue, recorder.handler)
    for (const times of [1, 2, 3]) {
      await queue.add([update('a')])
      await recorder.execution(times)
      await untilEmpty(queue)
    }
  })

  test('ends a job whose processor throws, tells the log once, and runs it again when it is fed again', async () => {
    const { queue, store } = await prepare()
    const { logger, lines } = recordLog()
    const recorder = new Recorder('held')
    work(queue, recorder.handler, { logger })
    await queue.add([update('a'), update('b'), update('c')])
    await recorder.execution(3)
    await queue.add([update('a', 5, 2)])
    await recorder.execution(4)
    for (const { fail } of recorder.started.slice()) fail(new Error('secret-of-a-person'))

    await untilEmpty(queue)
    await queue.add([update('b')])
    ;(await recorder.execution(5)).end()
    await untilEmpty(queue)
    expect(lines.filter(({ level }) => level >= 40)).toHaveLength(1)
    expect(await store.dump()).not.toContain('secret-of-a-person')
  })

  test('notices that it was paused with a tool of BullMQ, and claims nothing until it is resumed', async () => {
    const { queue, store } = await prepare()
    const connection = openQueueStore(store.options()).connect('producer', () => {})
    const ofTool = new Queue('dirsync-test', { connection: connection.connection }, connection.backendFactory)
    onTestFinished(() => ofTool.close().then(() => connection.close()))
    const recorder = new Recorder('instant')
    expect(await queue.isPaused()).toBe(false)
    await ofTool.pause()
    expect(await queue.isPaused()).toBe(true)
    // A worker from before may be on its way to a job: BullMQ reads in PostgreSQL whether it is paused, and then takes one.
    work(queue, recorder.handler)
    await queue.add([update('a')])
    expect(await queue.counts()).toEqual({ waiting: 1, active: 0, total: 1 })
    expect(recorder.started).toEqual([])
    await ofTool.resume()
    await recorder.execution(1)
    await untilEmpty(queue)
    expect(await queue.isPaused()).toBe(false)
    expect(recorder.started.length).toBe(1)
  })

  test('runs as many jobs at once as it is told', async () => {
    const { queue } = await prepare()
    const recorder = new Recorder('held')
    const worker = work(queue, recorder.handler, { concurrency: 2 })
    await queue.add(Array.from({ length: 4 }, () => update(newKey())))
    await recorder.execution(2)
    await vi.waitFor(
      async () => expect(await queue.counts()).toMatchObject({ active: 2, waiting: 2 }),
      PATIENTLY,
    )
    expect(worker.running).toBe(2)
    for (let count = 1; count <= 4; count += 1) (await recorder.execution(count)).end()
    await untilEmpty(queue)
    expect(recorder.mostRunning).toBe(2)
  })

  test('forgets everything when it is obliterated, and works on', async () => {
    const { queue } = await prepare()
    const recorder = new Recorder('held')
    work(queue, recorder.handler, { concurrency: 1 })
    await queue.add([update('a', 1), update('b')])
    const first = await recorder.execution(1)
    await queue.add([update('a', 1)])
    await queue.obliterate()
    expect(await queue.counts()).toEqual({ waiting: 0, active: 0, total: 0 })
    expect(await queue.isPaused()).toBe(false)
    await queue.add([update('a'), update('b')])
    first.end()
    for (const count of [2, 3]) (await recorder.execution(count)).end()
    await untilEmpty(queue)
    expect(recorder.keys.slice(1).toSorted()).toEqual(['a', 'b'])
  })

  test('works on when it is wiped while jobs are active', async () => {
    const { queue, store } = await prepare()
    const recorder = new Recorder('held')
    work(queue, recorder.handler, { concurrency: 2 })
    await queue.add([update('a', 1), update('b', 2), update('c', 3)])
    const [first, second] = [await recorder.execution(1), await recorder.execution(2)]
    await queue.add([update('a', 1)])
    await store.wipe()
    await queue.add([update('a'), update('b'), update('c')])
    first.end()
    second.end()
    for (const count of [3, 4, 5]) (await recorder.execution(count)).end()
    await untilEmpty(queue)
    expect(recorder.keys.slice(2).toSorted()).toEqual(['a', 'b', 'c'])
    await queue.add([update('a')])
    ;(await recorder.execution(6)).end()
    await untilEmpty(queue)
  })

  test('on close claims no more and waits for the running jobs', async () => {
    const { queue } = await prepare()
    const recorder = new Recorder('held')
    const worker = work(queue, recorder.handler, { concurrency: 1 })
    await queue.add([update('a', 1), update('b', 2)])
    const first = await recorder.execution(1)
    const closed = worker.close(10_000)
    expect(first.signal.aborted).toBe(false)
    first.end()
    await closed
    await worker.close(10_000)
    expect(recorder.started.length).toBe(1)
    expect(worker.running).toBe(0)
    expect(await queue.counts()).toEqual({ waiting: 1, active: 0, total: 1 })
  })

  test('a job whose claim was under way at close has until the deadline, as any other', async () => {
    const { queue } = await prepare()
    const ended: string[] = []
    let closed: Promise<void> | undefined
    const worker = work(
      queue,
      async ({ keys: [key = ''] }, signal) => {
        // The end of the first job claims the second one, while the worker closes without a job in hand.
        if (key.includes('first')) void setImmediate().then(() => (closed = worker.close(10_000)))
        // Longer than a worker without a job waits for its store.
        else
          await sleep(3000, undefined, { signal }).then(
            () => ended.push('done'),
            () => ended.push('aborted'),
          )
      },
      { concurrency: 1 },
    )
    await queue.add([update('first', 1), update('second', 2)])
    await vi.waitFor(() => expect(ended).toHaveLength(1), PATIENTLY)
    await closed
    expect(ended).toEqual(['done'])
  })

  test('at the deadline of close aborts the running jobs, which another worker then takes up', async () => {
    const { queue, store } = await prepare()
    const running = Promise.withResolvers<void>()
    const worker = work(queue, async (_job, signal) => {
      running.resolve()
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    await queue.add([update('a')])
    await running.promise
    await worker.close(50)
    await using other = await openQueue(store)
    expect(await other.counts()).toEqual({ waiting: 1, active: 0, total: 1 })
    const recorder = new Recorder('instant')
    work(other, recorder.handler)
    expect(await recorder.execution(1)).toMatchObject({ key: 'a' })
    await untilEmpty(other)
  })

  test('close comes to its end although a job does not', async () => {
    const { queue } = await prepare()
    const recorder = new Recorder('held')
    const worker = work(queue, recorder.handler)
    await queue.add([update('a')])
    const stubborn = await recorder.execution(1)
    await worker.close(50)
    expect(stubborn.signal.aborted).toBe(true)
    expect(worker.running).toBe(1)
    expect(await queue.counts()).toMatchObject({ active: 1 })
    stubborn.end()
  })

  test('two workers share the jobs', async () => {
    const { queue, store } = await prepare()
    await using other = await openQueue(store)
    const [one, two] = [new Recorder('held'), new Recorder('held')]
    work(queue, one.handler, { concurrency: 3 })
    work(other, two.handler, { concurrency: 3 })
    const keys = Array.from({ length: 6 }, newKey)
    await queue.add(keys.map(key => update(key)))
    await Promise.all([one.execution(3), two.execution(3)])
    for (const { end } of [...one.started, ...two.started]) end()
    await untilEmpty(queue)
    expect([...one.keys, ...two.keys].toSorted()).toEqual(keys.toSorted())
  })

  test('says in one line each whether the store is fit for it', async () => {
    const { queue } = await prepare()
    const findings = await queue.doctor()
    expect(findings.length).toBeGreaterThan(1)
    expect(findings[0]).toMatchObject({ ok: true })
    for (const { ok, remedy } of findings) expect(remedy === undefined).toBe(ok)
  })

  test('rejects every operation once it is closed', async () => {
    const { queue } = await prepare()
    await queue.counts()
    await queue.close()
    await queue.close()
    await expect(queue.add([update('a')])).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
  })
})

test('the server is called by its own name and version', { tags: 'redis' }, async () => {
  const url = await redisUrl()
  const redis = new Redis(url)
  onTestFinished(() => redis.disconnect())
  const info = await redis.info('server')
  const [, valkey] = /^valkey_version:(\S+)/m.exec(info) ?? []
  const [, version] = /^redis_version:(\S+)/m.exec(info) ?? []
  const [first] = worded(await createRedisStore(url).doctor())
  expect(first?.what).toBe(`${valkey ? `Valkey ${valkey}` : `Redis ${version}`} answers`)
})

test('the queue in PostgreSQL says that it is not migrated yet, and works as soon as it is', async () => {
  await using store = await openPostgresStore()
  await using queue = await openQueue(store, { prepared: false })
  const recorder = new Recorder('instant')
  work(queue, recorder.handler)
  await expect(queue.add([update('a')])).rejects.toMatchObject({ code: 'QUEUE_NOT_MIGRATED' })
  const findings = await queue.doctor()
  expect(findings).toEqual([{ ok: false, what: { key: 'said.queue_bare' } }])
  await queue.prepare()
  await queue.add([update('a')])
  await recorder.execution(1)
})

test('time-outs and the isolation level of a database are not those of the queue in it', async () => {
  await using database = await createTestDatabase()
  await database.pool.query(`do $$ begin
    execute format('alter database %I set default_transaction_isolation = ''repeatable read''', current_database());
    execute format('alter database %I set statement_timeout = ''10s''', current_database());
  end $$`)
  const store = createPostgresStore(database.url)
  await store.prepare()
  const { connection, close } = store.connect('worker', () => {})
  const { rows } = await (connection as pg.Pool).query(
    `select current_setting('default_transaction_isolation') as isolation, current_setting('statement_timeout') as limit`,
  )
  await close()
  expect(rows).toEqual([{ isolation: 'read committed', limit: '0' }])
})
