import { expect, onTestFinished, test } from 'vitest'
import { transaction } from '../../src/lib/database.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { parseJobKey, type QueuedJob } from '../../src/queue/job.ts'
import type { ClaimKey } from '../../src/sync/outbox/claim.ts'
import { Feeder } from '../../src/sync/outbox/feeder.ts'
import { refeed } from '../../src/sync/outbox/feeding.ts'
import { addWork, lockName, PRIORITY } from '../../src/sync/outbox/outbox.ts'
import { describeBackends } from '../helpers/backends.ts'
import { until } from '../helpers/company.ts'
import { STORES } from '../queue/backends.ts'
import { openQueue } from '../queue/queue-helpers.ts'
import { Recorder } from '../queue/recorder.ts'
import { begin, employee } from './outcomes.ts'
import { plantRun } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const DEPARTMENT: ClaimKey = {
  operation: 'delete-department',
  enterpriseCode: 'C1',
  entityKey: 'd1',
  detail: '',
}

describeBackends('the feeder of a queue in', {}, ({ kind }) => {
  const store = new StoreUnderTest()

  async function feederUpTo(highWater: number) {
    const place = await STORES[kind].open()
    onTestFinished(() => place[Symbol.asyncDispose]())
    const queue = await openQueue(place)
    onTestFinished(() => queue.close())
    return { queue, feeder: new Feeder({ pool: store.pool, queue, highWater, logger: SILENT }) }
  }

  const fillOutbox = (rows: number) =>
    store.rows(
      `insert into dirsync.pending (operation, entity_key, priority)
       select 'update-employee', 'e' || i, 3 from generate_series(1, $1::int) i`,
      [rows],
    )
  /** Keys of a job while no worker says what the platform permits. */
  const MANY = 10
  const enqueued = async () =>
    (await store.rows('select from dirsync.pending where enqueued_at is not null')).length

  test('fills the queue up to the high-water mark in one go, chunk by chunk, each row once', async () => {
    const { queue, feeder } = await feederUpTo(1000)
    await fillOutbox(1500)
    expect(await feeder.feed()).toBe(1000)
    expect(await queue.counts()).toMatchObject({ total: 1000 / MANY })
    expect(await enqueued()).toBe(1000)
    expect(await feeder.feed()).toBe(0)
    expect(await enqueued()).toBe(1000)
  })

  test('takes no further rows once a chunk does not get into the queue', async () => {
    const { queue } = await feederUpTo(5000)
    const failing = {
      counts: () => queue.counts(),
      add: async (jobs: Parameters<typeof queue.add>[0]) => {
        await queue.close()
        await queue.add(jobs)
      },
    }
    const feeder = new Feeder({ pool: store.pool, queue: failing, highWater: 5000, logger: SILENT })
    await fillOutbox(5000)
    await expect(feeder.feed()).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' })
    expect(await enqueued()).toBeGreaterThan(0)
    expect(await enqueued()).toBeLessThan(5000)
  })

  test('feeds a request again without doubling it, until a worker has begun it', async () => {
    const { queue, feeder } = await feederUpTo(1000)
    await fillOutbox(3)
    await feeder.feed()
    await refeed(store.pool, 0)
    expect(await feeder.feed()).toBe(3)
    expect(await queue.counts()).toMatchObject({ total: 3 })
    // Begun and given back: a request of its own.
    await store.rows('update dirsync.pending set execution = 7 where entity_key = $1', ['e1'])
    await refeed(store.pool, 0)
    expect(await feeder.feed()).toBe(3)
    expect(await queue.counts()).toMatchObject({ total: 4 })
  })

  test('feeds again what a wiped queue had, once two sweeps agree', async () => {
    const { queue, feeder } = await feederUpTo(1000)
    await fillOutbox(100)
    await feeder.feed()
    await feeder.sweep()
    await feeder.sweep()
    expect(await enqueued()).toBe(100)
    await queue.obliterate()
    await store.rows(`update dirsync.pending set enqueued_at = enqueued_at - interval '1 minute'`)
    await feeder.sweep()
    expect(await enqueued()).toBe(100)
    await feeder.sweep()
    expect(await enqueued()).toBe(0)
    expect(await feeder.feed()).toBe(100)
  })

  test('feeds again what was in hand of whoever has lost its lock, and nothing else', async () => {
    const { feeder } = await feederUpTo(1000)
    const userids = ['e1', 'e2', 'Zoë "\\\n😀\u0001\u007f']
    for (const userid of userids)
      await transaction(store.pool, db => addWork(db, null, 3, [{ ...employee(userid), wave: 0 }]))
    await transaction(store.pool, db => addWork(db, null, 3, [{ ...DEPARTMENT, wave: 0 }]))
    await feeder.feed()
    const locks = new SessionLocks(store.url, SILENT)
    onTestFinished(() => locks.close())
    const begun = [...userids.slice(1).map(userid => employee(userid)), DEPARTMENT]
    for (const key of begun) {
      await locks.lock(lockName(key))
      await begin(store, key)
    }
    await feeder.takeUp()
    expect(await enqueued()).toBe(4)
    await locks.unlock(lockName(employee('e2')))
    await feeder.takeUp()
    expect(await store.rows('select entity_key from dirsync.pending where enqueued_at is null')).toEqual([
      { entity_key: 'e2' },
    ])
    await locks.close()
    await until(async () => {
      await feeder.takeUp()
      return (await enqueued()) === 1 || null
    })
    // What they have sent may still be under way; then they come before what waits.
    const due = await store.rows(
      'select from dirsync.pending where enqueued_at is null and not_before <= now()',
    )
    expect(due).toEqual([])
    await store.rows(`update dirsync.pending set not_before = now() where enqueued_at is null`)
    const added: QueuedJob[] = []
    const queue = {
      counts: async () => ({ total: 0 }),
      async add(jobs: QueuedJob[]) {
        added.push(...jobs)
      },
    }
    await new Feeder({ pool: store.pool, queue, highWater: 10, logger: SILENT }).feed()
    expect(new Set(added.map(({ priority }) => priority))).toEqual(new Set([PRIORITY.resumed]))
    // While they wait in the queue they are nobody's, and stay there.
    await feeder.takeUp()
    expect(await enqueued()).toBe(4)
  })

  test('a request for an entity that waits already is served first at its better priority, else with the first', async () => {
    const { queue, feeder } = await feederUpTo(1000)
    await fillOutbox(3)
    await feeder.feed()
    const ask = async (userid: string, priority: number) => {
      const run = await plantRun(store)
      const work = { ...employee(userid), wave: 0 }
      await transaction(store.pool, db => addWork(db, run, priority, [work]))
      await feeder.feed()
    }
    await ask('e2', 5)
    expect(await queue.counts()).toMatchObject({ total: 3 })
    await ask('e3', 1)
    expect(await queue.counts()).toMatchObject({ total: 4 })
    const recorder = new Recorder('instant')
    const worker = queue.work(recorder.handler, { concurrency: 1, logger: SILENT })
    onTestFinished(() => worker.close(0))
    await recorder.execution(4)
    const [first] = recorder.keys
    expect(parseJobKey(first ?? '').entityKey).toBe('e3')
  })
})
