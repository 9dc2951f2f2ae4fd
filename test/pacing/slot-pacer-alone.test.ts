import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { CallOutcome } from '../../src/pacing/pacer.ts'
import { SlotPacer, type SlotPacerOptions } from '../../src/pacing/slot-pacer.ts'
import {
  type LearntRate,
  type Lease,
  type LeaseRequest,
  MemorySlots,
  type Slots,
} from '../../src/pacing/slots.ts'
import { now, pass, timers, useVirtualTime } from './virtual-time.ts'

useVirtualTime()

const GET = 'employee/get'

/** Slots as other processes have them too: what these do is said by the test. */
class SharedSlots implements Slots {
  readonly #slots = new MemorySlots()
  /** Says that another process holds off. */
  tell: (ms: number) => void = () => undefined
  /** The hold-offs that others were told of. */
  readonly told: { ms: number; reason: string }[] = []
  readonly asked: LeaseRequest[] = []
  away = false
  more: Partial<Lease> = {}

  async lease(request: LeaseRequest): Promise<Lease> {
    this.asked.push(request)
    if (this.away) throw new Error('away')
    return { ...(await this.#slots.lease(request)), ...this.more }
  }

  async holdOff(ms: number, reason: string): Promise<void> {
    if (this.away) throw new Error('away')
    this.told.push({ ms, reason })
    await this.#slots.holdOff(ms)
  }

  learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean> {
    return this.#slots.learn(name, expectedVersion, learnt)
  }

  watch(onHoldOff: (ms: number) => void): void {
    this.tell = onHoldOff
  }
}

/** A pacer that is past the room for slow calls of a process that begins. */
async function open(options: Partial<Omit<SlotPacerOptions, 'slots'>> = {}) {
  const slots = new SharedSlots()
  const logged: { msg: string; set?: number; rate?: number }[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const pacer = new SlotPacer({ slots, rate: 100, budgets: new Map(), logger, ...options })
  const passed: number[] = []
  const come = (operation = GET, signal?: AbortSignal) =>
    pacer.acquire({ operation, ...(signal && { signal }) }).then(() => void passed.push(now()))
  const observe = (more: Partial<CallOutcome> = {}) =>
    pacer.observe({ operation: GET, sentAt: now(), rateLimited: false, ...more })
  return { slots, pacer, passed, logged, come, observe }
}

describe('a hold-off', () => {
  test('holds this process off at once, and tells the others', async () => {
    const { slots, pacer, come, passed } = await open()
    await pacer.holdOff(700, 'HTTP 429')
    expect(pacer.snapshot().pausedForMs).toBe(700)
    void come()
    await pass(800)
    expect(passed).toEqual([700])
    expect(slots.told).toEqual([{ ms: 700, reason: 'HTTP 429' }])
  })

  test('of a single operation holds the others off too', async () => {
    const { pacer, come, passed } = await open({ budgets: new Map([[GET, 10]]) })
    await pacer.holdOff(300, 'HTTP 429')
    void come()
    void come('employee/update')
    await pass(500)
    expect(passed.every(at => at >= 300)).toBe(true)
    expect(passed).toHaveLength(2)
  })

  test('holds although the others cannot be told, and says so', async () => {
    const { slots, pacer, come, passed, logged } = await open()
    slots.away = true
    await pacer.holdOff(200, 'HTTP 429')
    slots.away = false
    void come()
    await pass(300)
    expect(passed).toHaveLength(1)
    expect(passed[0]).toBeGreaterThanOrEqual(200)
    expect(logged.map(({ msg }) => msg)).toEqual(['other processes could not be told to hold off'])
  })

  test('of another process is believed for three seconds; by then it must have been stored', async () => {
    const { slots, pacer, come, passed } = await open()
    slots.tell(60_000)
    expect(pacer.snapshot().pausedForMs).toBe(3000)
    void come()
    await pass(2999)
    expect(passed).toEqual([])
    await pass(100)
    expect(passed).toHaveLength(1)
  })

  test('of another process that is short ends when it says', async () => {
    const { slots, come, passed } = await open()
    slots.tell(50)
    void come()
    await pass(100)
    expect(passed).toHaveLength(1)
    expect(passed[0]).toBeGreaterThanOrEqual(50)
  })

  test('that was stored counts for the process that had not heard of it', async () => {
    const { slots, pacer, come } = await open()
    void come()
    await pass(100)
    expect(pacer.snapshot().pausedForMs).toBe(0)
    await slots.holdOff(2000, 'by another process')
    void come()
    await pass(10)
    expect(pacer.snapshot().pausedForMs).toBeGreaterThan(1900)
  })
})

test('calls leave a little below the rate that was set, so that none comes too early', async () => {
  const { pacer, come } = await open()
  const calls: Promise<void>[] = []
  for (let call = 0; call < 500; call += 1) calls.push(come())
  await pass(3000)
  const { ratePerSecond, set, learnt, ceiling, cap, waiting } = pacer.snapshot()
  expect(ratePerSecond).toBeLessThanOrEqual(98)
  expect(ratePerSecond).toBeGreaterThan(90)
  expect({ set, learnt, ceiling, cap }).toEqual({ set: 100, learnt: false, ceiling: null, cap: null })
  expect(waiting).toBeGreaterThan(150)
  const gone = expect(Promise.all(calls)).rejects.toMatchObject({
    code: 'PACER_CLOSED',
    name: 'PacerClosedError',
    message: expect.stringContaining('closed'),
  })
  await pacer.close()
  await gone
})

test('a rate that a person has set is shown until its end', async () => {
  const { slots, pacer, come } = await open()
  slots.more = { cap: { ratePerSecond: 2, untilMs: now() + 1000 } }
  void come()
  await pass(1)
  expect(pacer.snapshot().cap).toBe(2)
  await pass(1000)
  expect(pacer.snapshot().cap).toBeNull()
})

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('a rate of %s is refused, and named', rate => {
  expect(() => new SlotPacer({ slots: new MemorySlots(), rate, budgets: new Map() })).toThrow(
    new RegExp(`positive number of calls per second, it is ${rate}`),
  )
})

describe('calls that a person has paused', () => {
  test('are refused before they wait, and those that wait when their turn has come', async () => {
    let paused = false
    const { come, pacer } = await open({ isPaused: async () => paused, rate: 1 })
    void come()
    const waiting = expect(come()).rejects.toMatchObject({ code: 'CALLS_PAUSED' })
    await pass(100)
    paused = true
    await pass(2000)
    await waiting
    await expect(come()).rejects.toMatchObject({ code: 'CALLS_PAUSED' })
    paused = false
    await pass(251)
    void come()
    await pass(2000)
    await pacer.close()
    expect(timers()).toBe(0)
  })

  test('are asked about a few times a second while calls wait, and not at all else', async () => {
    let asked = 0
    const isPaused = async () => {
      asked += 1
      return false
    }
    const { come, passed } = await open({ isPaused, rate: 0.5 })
    void come()
    await pass(10)
    expect(asked).toBe(1)
    void come()
    await pass(2200)
    expect(passed).toHaveLength(2)
    expect(asked).toBeGreaterThan(10)
    expect(asked).toBeLessThan(20)
    const before = asked
    await pass(2000)
    expect(asked).toBe(before)
  })

  test('a call that gave up before is not asked about', async () => {
    const { come } = await open({
      isPaused: async () => {
        throw new Error('not to be asked')
      },
    })
    await expect(come(GET, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
  })

  test('a question that fails fails the call, and is asked again by the next', async () => {
    let away = true
    const { come, passed } = await open({
      isPaused: async () => {
        if (away) throw new Error('away')
        return false
      },
    })
    await expect(come()).rejects.toThrow('away')
    away = false
    void come()
    await pass(100)
    expect(passed).toHaveLength(1)
  })
})

describe('a rate that is to be learnt', () => {
  test('begins slowly, and is shared under one name', async () => {
    const { slots, pacer, come } = await open({ rate: 'auto' })
    expect(pacer.snapshot()).toMatchObject({ ratePerSecond: 0, set: null, learnt: true, ceiling: null })
    void come()
    await pass(1)
    expect(pacer.snapshot()).toMatchObject({ ratePerSecond: 5, set: null, learnt: true, ceiling: null })
    expect(new Set(slots.asked.map(({ learntAs }) => learntAs))).toEqual(new Set(['platform']))
  })

  test('grows while all of it is used, and falls when a call is refused', async () => {
    const { pacer, come, observe } = await open({ rate: 'auto' })
    const keepBusy = async () => {
      for (;;) {
        await come()
        observe()
      }
    }
    for (let caller = 0; caller < 10; caller += 1) void keepBusy().catch(() => undefined)
    await pass(8000)
    const { ratePerSecond } = pacer.snapshot()
    expect(ratePerSecond).toBeGreaterThan(8)
    observe({ rateLimited: true })
    await pass(1)
    const lowered = pacer.snapshot()
    expect(lowered.ceiling).toBe(ratePerSecond)
    expect(lowered.ratePerSecond).toBeCloseTo(ratePerSecond * 0.85, 6)
    await pacer.close()
  })

  test('does not grow while few of its slots are used', async () => {
    const { pacer, come, observe } = await open({ rate: 'auto' })
    for (let call = 0; call < 10; call += 1) {
      void come().then(() => observe())
      await pass(1000)
    }
    expect(pacer.snapshot().ratePerSecond).toBe(5)
  })
})

describe('a rate that was set too high', () => {
  test('is lowered under its own name, and a single warning names both once it has settled', async () => {
    const { slots, pacer, come, observe, logged } = await open()
    void come().then(() => observe())
    await pass(100)
    observe({ rateLimited: true })
    await pass(10)
    expect(slots.asked.every(({ learntAs }) => learntAs === 'platform@100')).toBe(true)
    expect(pacer.snapshot()).toMatchObject({ set: 100, learnt: true, ceiling: expect.closeTo(98) })
    expect(pacer.snapshot().ratePerSecond).toBeCloseTo(98 * 0.85, 6)
    expect(logged).toEqual([])
    await pass(12_000)
    void come()
    await pass(100)
    void come()
    await pass(100)
    expect(logged).toMatchObject([{ set: 100, rate: 83.3 }])
    await pacer.close()
    expect(logged).toHaveLength(1)
  })

  test('is warned of at the latest when the process ends', async () => {
    const { pacer, come, observe, logged } = await open()
    void come()
    await pass(100)
    observe({ rateLimited: true })
    await pass(10)
    await pacer.close()
    expect(logged).toMatchObject([{ set: 100, rate: 83.3 }])
  })

  test('is not lowered before anything is known of the slots', async () => {
    const { pacer, observe, logged } = await open()
    observe({ rateLimited: true })
    await pacer.close()
    expect(pacer.snapshot()).toMatchObject({ learnt: false, ceiling: null })
    expect(logged).toEqual([])
  })

  test('an answer that another one has overtaken is not believed any more', async () => {
    const { slots, pacer, come, observe } = await open()
    void come()
    await pass(100)
    const old = await slots.lease({ count: 0, spacingMs: 10, learntAs: 'platform@100' })
    await pass(1)
    observe({ rateLimited: true })
    await pass(10)
    slots.more = old
    void come()
    await pass(100)
    expect(pacer.snapshot()).toMatchObject({ learnt: true, ceiling: expect.closeTo(98) })
  })
})
