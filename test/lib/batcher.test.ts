import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Batcher } from '../../src/lib/batcher.ts'

/** A loader that notes its groups and answers when told to. */
function controlledLoader() {
  const groups: number[][] = []
  const answers: Array<() => void> = []
  const started: Array<() => void> = []
  return {
    groups,
    load: (keys: number[]) =>
      new Promise<string[]>(resolve => {
        groups.push(keys)
        answers.push(() => resolve(keys.map(key => `v${key}`)))
        started.shift()?.()
      }),
    answerNext: () => answers.shift()?.(),
    nextStart: () => new Promise<void>(resolve => started.push(resolve)),
  }
}

describe('Batcher', () => {
  test('keys of the same turn are loaded by one call, each waiter getting its own value', async () => {
    const groups: number[][] = []
    const batcher = new Batcher<number, number>(
      async keys => {
        groups.push(keys)
        return keys.map(key => key * 10)
      },
      { maxBatch: 100 },
    )
    const values = await Promise.all([1, 2, 3, 2].map(key => batcher.submit(key)))
    expect(values).toEqual([10, 20, 30, 20])
    expect(groups).toEqual([[1, 2, 3, 2]])
  })

  test('keys that come while a batch is under way wait for it and travel together', async () => {
    const loader = controlledLoader()
    const batcher = new Batcher<number, string>(loader.load, { maxBatch: 100 })
    const firstStarted = loader.nextStart()
    const first = batcher.submit(1)
    await firstStarted
    const second = batcher.submit(2)
    const third = batcher.submit(3)
    expect(loader.groups).toEqual([[1]])
    const secondStarted = loader.nextStart()
    loader.answerNext()
    expect(await first).toBe('v1')
    await secondStarted
    loader.answerNext()
    expect(await Promise.all([second, third])).toEqual(['v2', 'v3'])
    expect(loader.groups).toEqual([[1], [2, 3]])
  })

  test('no group is larger than maxBatch and the order is kept', async () => {
    const groups: number[][] = []
    const batcher = new Batcher<number, number>(
      async keys => {
        groups.push(keys)
        return keys
      },
      { maxBatch: 2 },
    )
    const values = await Promise.all([1, 2, 3, 4, 5].map(key => batcher.submit(key)))
    expect(values).toEqual([1, 2, 3, 4, 5])
    expect(groups).toEqual([[1, 2], [3, 4], [5]])
  })

  test('a failed batch rejects each of its waiters and the next batch works', async () => {
    const failure = new Error('away')
    let fail = true
    const batcher = new Batcher<number, number>(
      async keys => {
        if (fail) throw failure
        return keys
      },
      { maxBatch: 10 },
    )
    const outcomes = await Promise.allSettled([batcher.submit(1), batcher.submit(2)])
    expect(outcomes).toEqual([
      { status: 'rejected', reason: failure },
      { status: 'rejected', reason: failure },
    ])
    fail = false
    expect(await batcher.submit(3)).toBe(3)
  })

  test('a loader that throws at once, or answers with too few values, rejects its waiters', async () => {
    const throwing = new Batcher<number, number>(
      () => {
        throw new TypeError('at once')
      },
      { maxBatch: 10 },
    )
    await expect(throwing.submit(1)).rejects.toThrow(TypeError)
    const short = new Batcher<number, number>(async () => [], { maxBatch: 10 })
    await expect(short.submit(1)).rejects.toThrow('a batch of 1 items was answered with 0 answers')
  })

  test('a key asked for by a waiter of the last group is not forgotten', async () => {
    const batcher = new Batcher<number, number>(async keys => keys, { maxBatch: 10 })
    const chained = batcher.submit(1).then(value => batcher.submit(value + 1))
    expect(await chained).toBe(2)
  })

  describe('that lingers', () => {
    /** Groups by what was in them, and when the batcher is asked to go. */
    const lingering = (lingerMs: number) => {
      const groups: number[][] = []
      const batcher = new Batcher<number, number>(
        async keys => {
          groups.push(keys)
          return keys
        },
        { maxBatch: 3, lingerMs },
      )
      return { batcher, groups }
    }
    const LONG_MS = 3_600_000

    test('waits for more until it is told to go', async () => {
      const { batcher, groups } = lingering(LONG_MS)
      const first = batcher.submit(1)
      for (let turn = 0; turn < 3; turn++) await setImmediate()
      expect(groups).toEqual([])
      const second = batcher.submit(2)
      batcher.flush()
      await Promise.all([first, second])
      expect(groups).toEqual([[1, 2]])
    })

    test('goes once a batch is full, and the rest waits', async () => {
      const { batcher, groups } = lingering(LONG_MS)
      const all = [1, 2, 3, 4].map(key => batcher.submit(key))
      await all[0]
      expect(groups).toEqual([[1, 2, 3]])
      batcher.flush()
      await Promise.all(all)
      expect(groups).toEqual([[1, 2, 3], [4]])
    })

    test('goes by itself after a while', async () => {
      const { batcher, groups } = lingering(5)
      await Promise.all([1, 2].map(key => batcher.submit(key)))
      expect(groups).toEqual([[1, 2]])
    })

    test('is told to go while a batch is on its way: the next one does not wait', async () => {
      const loader = controlledLoader()
      const batcher = new Batcher<number, string>(loader.load, { maxBatch: 3, lingerMs: LONG_MS })
      const started = loader.nextStart()
      const first = batcher.submit(1)
      batcher.flush()
      await started
      const second = batcher.submit(2)
      batcher.flush()
      const next = loader.nextStart()
      loader.answerNext()
      await next
      loader.answerNext()
      expect(await Promise.all([first, second])).toEqual(['v1', 'v2'])
    })
  })
})
