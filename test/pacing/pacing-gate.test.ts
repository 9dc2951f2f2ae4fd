import { beforeEach, describe, expect, test } from 'vitest'
import { Lateness, type PacingClock, PacingGate } from '../../src/pacing/gate.ts'

/** Time that passes when the test says so, with every timer at its moment. */
class ManualClock implements PacingClock {
  #now = 0
  readonly #timers = new Set<{ at: number; run: () => void }>()

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Lets time pass; `late` delays every timer, as a busy process does. */
  async pass(ms: number, late = 0): Promise<void> {
    await settled()
    const until = this.#now + ms
    for (;;) {
      const next = [...this.#timers].toSorted((a, b) => a.at - b.at)[0]
      if (next === undefined || next.at + late > until) break
      this.#now = Math.max(this.#now, next.at + late)
      this.#timers.delete(next)
      next.run()
      await settled()
    }
    this.#now = until
    await settled()
  }
}

const settled = () => new Promise(resolve => setImmediate(resolve))

let clock: ManualClock
let gate: PacingGate
let passed: { who: string; at: number }[]
let wanted: number

beforeEach(() => {
  clock = new ManualClock()
  wanted = 0
  gate = new PacingGate(clock, new Lateness(), () => {
    wanted += 1
  })
  passed = []
})

function come(who: string, options: { priority?: number; signal?: AbortSignal } = {}): Promise<void> {
  return gate
    .acquire({ operation: 'employee/get', ...options })
    .then(() => void passed.push({ who, at: clock.now() }))
}

const times = () => passed.map(({ at }) => at)
const names = () => passed.map(({ who }) => who).join('')

test('callers pass at their slots, evenly spaced', async () => {
  gate.grant(0, 10, 100)
  for (const who of 'abcd') void come(who)
  await clock.pass(100)
  expect(times()).toEqual([0, 10, 20, 30])
})

test('a caller who finds a slot due passes at once; the next one waits for the next slot', async () => {
  gate.grant(0, 10, Number.POSITIVE_INFINITY)
  await clock.pass(50)
  await come('a')
  void come('b')
  await clock.pass(50)
  expect(times()).toEqual([50, 60])
})

test('slots that nobody took are not made up for', async () => {
  gate.grant(0, 10, Number.POSITIVE_INFINITY)
  await clock.pass(1005)
  for (const who of 'abc') void come(who)
  await clock.pass(100)
  expect(times()).toEqual([1010, 1020, 1030])
})

test('a late timer costs nothing: the slots that became due meanwhile are used together', async () => {
  gate.grant(0, 2, 100)
  for (const who of 'abcdefgh') void come(who)
  await clock.pass(40, 5)
  expect(passed).toHaveLength(8)
  expect(times().at(-1)).toBeLessThanOrEqual(14 + 5)
})

test('a timer that is very late gives no burst', async () => {
  gate.grant(0, 2, 1000)
  for (let caller = 0; caller < 100; caller += 1) void come('x')
  await clock.pass(110, 100)
  expect(passed.length).toBeLessThanOrEqual(1 + 6 + 1)
})

test('lower priority numbers first, then first come, first served', async () => {
  for (const who of 'ab') void come(who)
  for (const who of 'cd') void come(who, { priority: 20 })
  for (const who of 'ef') void come(who, { priority: 1 })
  gate.grant(0, 10, 100)
  await clock.pass(100)
  expect(names()).toBe('efabcd')
})

describe('abort', () => {
  test('who gives up leaves the line and takes no slot', async () => {
    const abort = new AbortController()
    gate.grant(5, 10, 100)
    void come('a')
    const given = come('b', { signal: abort.signal }).catch(error => error.message)
    void come('c')
    abort.abort(new Error('enough'))
    expect(await given).toBe('enough')
    await clock.pass(50)
    expect(passed).toEqual([
      { who: 'a', at: 5 },
      { who: 'c', at: 15 },
    ])
  })

  test('who has given up before does not come in', async () => {
    gate.grant(0, 10, 100)
    await expect(come('a', { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
    expect(gate.slotsLeft).toBe(100)
  })
})

describe('pause', () => {
  test('nobody passes before its end, and its slots are gone', async () => {
    gate.grant(0, 10, Number.POSITIVE_INFINITY)
    for (const who of 'abcd') void come(who)
    await clock.pass(12)
    gate.pauseUntil(500)
    await clock.pass(600)
    expect(times()).toEqual([0, 10, 500, 510])
  })

  test('voids slots that are granted after it began', async () => {
    void come('a')
    gate.pauseUntil(500)
    gate.grant(0, 10, 40)
    expect(gate.slotsLeft).toBe(0)
    gate.grant(495, 10, 10)
    await clock.pass(1000)
    expect(times()).toEqual([505])
  })

  test('is never shortened', async () => {
    gate.grant(0, 10, Number.POSITIVE_INFINITY)
    gate.pauseUntil(500)
    gate.pauseUntil(100)
    void come('a')
    await clock.pass(1000)
    expect(times()).toEqual([500])
  })
})

test('who grants the slots is told of every caller, and again while some are left in line', async () => {
  void come('a')
  void come('b')
  expect(wanted).toBe(2)
  gate.grant(0, 10, 1)
  expect(wanted).toBe(3)
  expect(gate.waiting).toBe(1)
})

test('slots granted later never overlap those granted before', async () => {
  gate.grant(0, 10, 2)
  gate.grant(5, 10, 2)
  for (const who of 'abcd') void come(who)
  await clock.pass(100)
  expect(times()).toEqual([0, 10, 20, 30])
})

test('closing turns everybody away, now and later', async () => {
  const waiting = expect(come('a')).rejects.toMatchObject({ code: 'PACER_CLOSED' })
  gate.close()
  await waiting
  await expect(come('b')).rejects.toMatchObject({ code: 'PACER_CLOSED' })
})
