import { performance } from 'node:perf_hooks'
import { afterEach, beforeEach, vi } from 'vitest'

/** In the tests of a file, time passes when the test says so: for timers, and on the monotonic clock. */
export function useVirtualTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    vi.spyOn(performance, 'now').mockImplementation(() => globalThis.performance.now())
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })
}

/** Milliseconds since the test began. */
export const now = () => performance.now()

/** Lets time pass, from timer to timer. What is awaited without a timer takes no time. */
export async function pass(ms: number): Promise<void> {
  await settled()
  let isOver = false
  setTimeout(() => {
    isOver = true
  }, ms)
  while (!isOver) {
    vi.advanceTimersToNextTimer()
    await settled()
  }
  vi.advanceTimersByTime(0)
  await settled()
}

async function settled(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await new Promise(setImmediate)
}

/** Timers that are set. */
export const timers = () => vi.getTimerCount()
