import { expect, onTestFinished, test } from 'vitest'
import { Loop } from '../../src/lib/loop.ts'
import { heldBytes } from '../helpers/memory.ts'

/** A loop whose steps are counted; `next` resolves when one more has begun. */
function counted(step: (count: number, signal: AbortSignal) => Promise<void> | void, pauseMs = 1) {
  let count = 0
  let began = Promise.withResolvers<number>()
  const failures: string[] = []
  const loop = new Loop({
    async step(signal) {
      count += 1
      began.resolve(count)
      began = Promise.withResolvers()
      await step(count, signal)
    },
    pauseMs,
    failed: error => void failures.push(error.message),
  })
  onTestFinished(() => loop.stop())
  const reaches = async (wanted: number) => {
    while (count < wanted) await began.promise
  }
  return { loop, failures, reaches, count: () => count }
}

test('repeats its step until it is stopped, and then waits for the one in hand', async () => {
  const end = Promise.withResolvers<void>()
  let isStopped = false
  const { loop, reaches, count } = counted(n => (n === 3 ? end.promise : undefined))
  loop.start()
  await reaches(3)
  const stopping = loop.stop().then(() => {
    isStopped = true
  })
  await new Promise(setImmediate)
  expect(isStopped).toBe(false)
  end.resolve()
  await stopping
  expect(count()).toBe(3)
})

test('is woken from its pause, also by what is told during a step', async () => {
  const { loop, reaches } = counted(n => {
    if (n === 1) loop.wake()
  }, 60_000)
  loop.start()
  await reaches(2)
  loop.wake()
  await reaches(3)
})

test('begins again at once while there is more to do', async () => {
  const steps: number[] = []
  const done = Promise.withResolvers<void>()
  const loop = new Loop({
    async step() {
      steps.push(steps.length + 1)
      if (steps.length === 3) done.resolve()
      return steps.length < 3
    },
    pauseMs: 60_000,
    failed() {},
  })
  onTestFinished(() => loop.stop())
  loop.start()
  await done.promise
  await new Promise(setImmediate)
  expect(steps).toEqual([1, 2, 3])
})

test('tells of failures once per outage', async () => {
  const { loop, failures, reaches } = counted(n => {
    if ([1, 2, 3, 5].includes(n)) throw new Error(`step ${n}`)
  })
  loop.start()
  await reaches(6)
  expect(failures).toEqual(['step 1', 'step 5'])
})

test('says nothing of a step that fails because of the stop, whose signal it hears', async () => {
  const { loop, failures, reaches } = counted(
    (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  )
  loop.start()
  await reaches(1)
  await loop.stop()
  expect(failures).toEqual([])
})

test('tries a step that failed again after a pause of its own', async () => {
  const worked = Promise.withResolvers<void>()
  let steps = 0
  const loop = new Loop({
    async step() {
      steps += 1
      if (steps < 4) throw new Error('not yet')
      worked.resolve()
    },
    pauseMs: 3_600_000,
    retryMs: 1,
    failed() {},
  })
  onTestFinished(() => loop.stop())
  loop.start()
  await worked.promise
  expect(steps).toBe(4)
})

test('holds no more after thousands of steps, although nothing wakes it', async () => {
  const loops = Array.from({ length: 200 }, () => counted(() => {}))
  for (const { loop } of loops) loop.start()
  const reach = (wanted: number) => Promise.all(loops.map(({ reaches }) => reaches(wanted)))
  await reach(10)
  const growth = async (until: number) => {
    const before = heldBytes()
    await reach(until)
    return heldBytes() - before
  }
  // What is kept of each step shows in both; what else the process does hardly does.
  expect(Math.min(await growth(200), await growth(390))).toBeLessThan(2 ** 20)
})
