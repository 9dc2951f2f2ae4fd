import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { Lane, SlotClock } from '../../src/pacing/lane.ts'
import { type Budget, type Lease, MemorySlots, type WantedSlots } from '../../src/pacing/slots.ts'
import { Lateness } from '../../src/pacing/turnstile.ts'
import { now, pass, timers, useVirtualTime } from './virtual-time.ts'

useVirtualTime()

/** The keeper's clock is so far ahead of ours. */
const AHEAD_MS = 7_000_000

interface Keeper {
  spacingMs?: number
  budget?: Budget
  /** How long the answer to a request takes, by its number. */
  answerMs?: (request: number) => number
  /** Changes an answer, or fails. */
  answer?: (lease: Lease, request: number) => Lease
  /** Whether the process is past its first calls, which leave slowly. */
  isWarm?: boolean
}

/** A lane, and what it asked for. */
async function open({
  spacingMs = 10,
  budget,
  answerMs = () => 0,
  answer = lease => lease,
  isWarm = true,
}: Keeper = {}) {
  const lateness = new Lateness()
  if (isWarm) lateness.note(0, now())
  await pass(2000)
  const began = now()
  const slots = new MemorySlots()
  const clock = new SlotClock()
  const asked: { at: number; count: number }[] = []
  const passed: number[] = []
  const logged: string[] = []
  const lease = async (wanted: WantedSlots): Promise<Lease> => {
    const request = asked.push({ at: now() - began, count: wanted.count })
    const sent = now()
    await pause(answerMs(request) / 2)
    const given = answer(await slots.lease({ ...wanted, learntAs: 'platform' }), request)
    const { startMs, nowMs } = given
    await pause(answerMs(request) / 2)
    clock.note(sent, now(), nowMs + AHEAD_MS)
    return { ...given, startMs: startMs + AHEAD_MS, nowMs: nowMs + AHEAD_MS }
  }
  const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line).msg) })
  const lane = new Lane({ lease, spacingMs, clock, lateness, log, ...(budget && { budget }) })
  const come = (signal?: AbortSignal) =>
    lane
      .acquire({ operation: 'employee/get', ...(signal && { signal }) })
      .then(() => void passed.push(now() - began))
  /** One caller after the other, without end. */
  const keepBusy = async () => {
    for (;;) await come()
  }
  const keepComing = (callers = 1) => {
    for (let i = 0; i < callers; i += 1) void keepBusy().catch(() => undefined)
  }
  return {
    lane,
    slots,
    asked,
    passed,
    logged,
    come,
    keepComing,
    counts: () => asked.map(({ count }) => count),
  }
}

const pause = (ms: number) => (ms === 0 ? undefined : new Promise(resolve => setTimeout(resolve, ms)))

/** The longest time without a call from `from` on. */
function longestGap(passed: number[], from: number): number {
  const times = passed.filter(at => at >= from)
  return Math.max(...times.slice(1).map((at, i) => at - (times[i] as number)))
}

/** As from other processes: the first free slot is `inMs` away. */
const beside =
  (inMs: number) =>
  (lease: Lease): Lease => ({ ...lease, shared: true, startMs: Math.max(lease.startMs, lease.nowMs + inMs) })

describe('a process alone', () => {
  test.each([
    [10, 25],
    [100, 2],
    [250, 1],
    [5000, 1],
  ])('with many callers and a slot every %i ms, asks for %i at a time', async (spacingMs, count) => {
    const { come, asked } = await open({ spacingMs })
    for (let i = 0; i < 100; i += 1) void come()
    await pass(0)
    // The very first caller does not know of those who come with it.
    await pass(spacingMs * 3)
    expect(Math.max(...asked.map(each => each.count))).toBe(count)
  })

  test('asks for the slots of a quarter of a second at most, however many callers wait', async () => {
    const { come, counts } = await open({ spacingMs: 100, answerMs: () => 10 })
    for (let i = 0; i < 4; i += 1) void come()
    await pass(12)
    expect(counts()).toEqual([1, 2])
  })

  test('reserves ever longer spans ahead, up to a quarter of a second', async () => {
    const { keepComing, asked, passed } = await open()
    keepComing()
    await pass(3000)
    const counts = asked.map(({ count }) => count)
    expect(counts).toEqual(counts.toSorted((a, b) => a - b))
    expect(counts[0]).toBe(1)
    expect(counts.at(-1)).toBe(25)
    expect(passed.length).toBeGreaterThan(295)
  })

  test.each([
    ['fast', () => 0],
    ['as slow as ever', () => 80],
    ['late once', (request: number) => (request === 12 ? 90 : 1)],
  ])('leaves no gap between slots when answers are %s', async (_, answerMs) => {
    const { keepComing, passed } = await open({ answerMs })
    keepComing(2)
    await pass(6000)
    expect(passed.length).toBeGreaterThan(400)
    expect(longestGap(passed, 2000)).toBeLessThan(12)
  })

  test('asks for nothing while no one calls', async () => {
    const { come, asked } = await open()
    void come()
    await pass(1)
    await pass(0)
    const { length } = asked
    await pass(10_000)
    expect(asked).toHaveLength(length)
    expect(timers()).toBe(0)
  })
})

describe('beside other processes that want slots', () => {
  test('no slot is reserved in advance, and each caller asks for one', async () => {
    const { come, counts, passed } = await open({ answer: beside(50) })
    for (let call = 0; call < 5; call += 1) {
      void come()
      await pass(200)
    }
    expect(counts()).toEqual([1, 1, 1, 1, 1])
    expect(passed).toEqual([50, 250, 450, 650, 850])
  })

  test('what callers lack is asked for before the slots that they have end', async () => {
    const { come, asked } = await open({ answer: beside(500) })
    for (let call = 0; call < 5; call += 1) {
      void come()
      await pass(10)
    }
    await pass(440)
    // The slot is at 500, and its turn is over at 510.
    expect(asked).toEqual([
      { at: 0, count: 1 },
      { at: 485, count: 4 },
    ])
  })

  test('a few are reserved as long as there are plenty', async () => {
    const { keepComing, asked } = await open({ spacingMs: 1, answer: beside(1) })
    keepComing()
    await pass(1000)
    expect(Math.max(...asked.map(({ count }) => count))).toBe(4)
  })
})

describe('an operation with a budget', () => {
  const budget = { operation: 'employee/get', spacingMs: 500 }

  test('has one slot at a time, asked for just before the budget has it', async () => {
    const { keepComing, asked, passed } = await open({ budget })
    keepComing(3)
    await pass(1600)
    expect(passed).toEqual([0, 500, 1000, 1500])
    expect(asked.slice(0, 3)).toEqual([
      { at: 0, count: 1 },
      { at: 492, count: 1 },
      { at: 992, count: 1 },
    ])
  })

  test('waits for it where another process has used it, without asking all the time', async () => {
    const { slots, come, asked, passed } = await open({ budget })
    await slots.lease({ count: 1, spacingMs: 10, learntAs: 'platform', budget })
    void come()
    await pass(600)
    expect(passed).toEqual([500])
    expect(asked).toEqual([
      { at: 0, count: 1 },
      { at: 492, count: 1 },
    ])
  })

  test('is spaced by it, whatever the spacing of the slots', async () => {
    const { lane, come } = await open({ budget })
    expect(lane.ownSpacingMs).toBe(500)
    void come()
    await pass(1)
    await pass(0)
    expect(lane.ownSpacingMs).toBe(500)
  })
})

describe('a rate that a person has lowered', () => {
  const capped =
    (inMs: number) =>
    (lease: Lease): Lease => ({
      ...lease,
      count: 0,
      startMs: lease.nowMs + inMs,
      spacingMs: 60_000,
      ownSpacingMs: 10,
    })

  test('is looked at again twice a second, since it may be restored', async () => {
    const { come, asked, passed } = await open({
      answer: (lease, request) => (request < 3 ? capped(60_000)(lease) : lease),
    })
    void come()
    await pass(1100)
    expect(asked.slice(0, 3).map(({ at }) => at)).toEqual([0, 500, 1000])
    expect(passed).toEqual([1000])
  })

  test('has its slot reserved once it is near', async () => {
    const { come, asked } = await open({
      answer: (lease, request) => (request === 1 ? capped(300)(lease) : lease),
      answerMs: () => 20,
    })
    void come()
    await pass(400)
    // As far as the answer tells, the slot is at 310 to 320 of our time, and the next answer takes 20 again.
    expect(asked[1]?.at).toBe(320 - 8 - 20)
  })

  test('leaves the own spacing as it is', async () => {
    const { lane, come } = await open({ answer: lease => ({ ...lease, spacingMs: 40, ownSpacingMs: 10 }) })
    void come()
    await pass(1)
    expect(lane.ownSpacingMs).toBe(10)
  })
})

test('a process that begins has its slots further apart: its first calls are slow to leave', async () => {
  const slots = await open({ spacingMs: 100, isWarm: false })
  slots.keepComing(3)
  await pass(300)
  expect(slots.passed).toEqual([0, 106, 212])
  const budget = { operation: 'employee/get', spacingMs: 100 }
  const budgeted = await open({ budget, isWarm: false })
  budgeted.keepComing(3)
  await pass(300)
  expect(budgeted.passed).toEqual([0, 106, 212])
})

test('while calls wait for a slot far away, the state is looked at every three seconds: a hold-off may be lost', async () => {
  const { come, asked, passed } = await open({ spacingMs: 20_000 })
  void come()
  await pass(1)
  void come()
  await pass(0)
  const { length } = asked
  await pass(10_000)
  expect(asked.slice(length).map(({ count }) => count)).toEqual([0, 0, 0])
  await pass(10_001)
  expect(passed).toHaveLength(2)
})

describe('without the keeper', () => {
  const away = (requests: number[]) => (lease: Lease, request: number) => {
    if (requests.includes(request)) throw new Error('away')
    return lease
  }

  test('calls wait, it is asked once a second, and said once that it is away and once that it is back', async () => {
    const { come, asked, passed, logged } = await open({ answer: away([1, 2, 3]) })
    void come()
    await pass(3500)
    expect(asked.slice(0, 4).map(({ at }) => at)).toEqual([0, 1000, 2000, 3000])
    expect(passed).toEqual([3000])
    expect(logged).toEqual(['no slots can be had: calls wait', 'slots can be had again: calls go on'])
  })

  test('it is said again when it is away again', async () => {
    const { come, logged } = await open({ answer: away([1, 3]), spacingMs: 1000 })
    void come()
    await pass(1500)
    void come()
    await pass(5000)
    expect(logged).toHaveLength(4)
  })
})

describe('closing', () => {
  test('turns callers away and leaves no timer behind', async () => {
    const { lane, come, asked } = await open({ spacingMs: 20_000 })
    void come()
    await pass(1)
    const waiting = expect(come()).rejects.toMatchObject({ code: 'PACER_CLOSED' })
    await pass(100)
    expect(lane.waiting).toBe(1)
    await lane.close()
    await waiting
    expect(timers()).toBe(0)
    const { length } = asked
    await pass(10_000)
    expect(asked).toHaveLength(length)
  })

  test('waits for the answer that is on its way, and says nothing of a keeper that is gone by then', async () => {
    const { lane, come, logged } = await open({
      answerMs: () => 100,
      answer: () => {
        throw new Error('away')
      },
    })
    const waiting = expect(come()).rejects.toMatchObject({ code: 'PACER_CLOSED' })
    await pass(10)
    let closed = false
    void lane.close().then(() => {
      closed = true
    })
    await pass(30)
    expect(closed).toBe(false)
    await pass(10)
    expect(closed).toBe(true)
    await waiting
    expect(logged).toEqual([])
    expect(timers()).toBe(0)
  })
})

test('the last caller who gives up takes the timer along', async () => {
  const { come, asked } = await open({ spacingMs: 20_000 })
  void come()
  await pass(1)
  const abort = new AbortController()
  const given = expect(come(abort.signal)).rejects.toThrow('enough')
  await pass(100)
  abort.abort(new Error('enough'))
  await given
  const { length } = asked
  await pass(15_000)
  expect(asked).toHaveLength(length)
})

describe("the keeper's clock", () => {
  test('is ours before the first answer', () => {
    const clock = new SlotClock()
    expect([clock.ours(5), clock.theirs(5), clock.roundTripMs]).toEqual([5, 5, 0])
  })

  test('is known as closely as the fastest answers tell', () => {
    const clock = new SlotClock()
    const offset = (asked: number, answered: number, theirs: number) => {
      clock.note(asked, answered, theirs)
      expect(clock.theirs(clock.ours(0))).toBe(0)
      return clock.ours(0)
    }
    expect(offset(100, 110, 5)).toBe(105) // it lies between 95 and 105
    expect(offset(200, 202, 100)).toBe(102) // 100 to 102
    expect(offset(300, 400, 250)).toBe(102) // 50 to 150: nothing new
    expect(offset(500, 520, 395)).toBe(105) // 105 to 125: their clock fell behind
  })

  test('an answer is expected to take as long as recent ones; a slow one is forgotten by and by', () => {
    const clock = new SlotClock()
    const after = (ms: number) => {
      clock.note(1000, 1000 + ms, 0)
      return clock.roundTripMs
    }
    expect([after(100), after(10), after(10), after(200)]).toEqual([100, 80, 64, 200])
  })
})
