import { describe, expect, onTestFinished, test } from 'vitest'
import { Feeder } from '../../src/sync/feeder.ts'
import { backends } from '../queue/backends.ts'
import { openQueue } from '../queue/queue-helpers.ts'
import { SILENT, StoreUnderTest } from '../store/store-under-test.ts'

describe.each(backends)('the feeder of a queue in $kind', ({ open }) => {
  const store = new StoreUnderTest()

  async function feederUpTo(highWater: number) {
    const place = await open()
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
  const enqueued = async () =>
    (await store.rows('select from dirsync.pending where enqueued_at is not null')).length

  test('fills the queue up to the high-water mark in one go, chunk by chunk, each row once', async () => {
    const { queue, feeder } = await feederUpTo(1000)
    await fillOutbox(1500)
    expect(await feeder.feed()).toBe(1000)
    expect(await queue.counts()).toMatchObject({ total: 1000 })
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
})
