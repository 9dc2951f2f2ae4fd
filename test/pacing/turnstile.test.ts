import { beforeEach, describe, expect, test } from 'vitest'
import { Lateness, Turnstile, type TurnstileClock } from '../../src/pacing/turnstile.ts'

/** Time that passes when the test says so, with every timer at its moment. */
class ManualClock implements TurnstileClock {
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

  get timers(): number {
    return this.#timers.size
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
let lateness: Lateness
let turnstile: Turnstile
let passed: { who: string; at: number }[]
let wanted: number
let idle: number

beforeEach(() => {
  clock = new ManualClock()
  wanted = 0
  idle = 0
  lateness = new Lateness()
  turnstile = new Turnstile(clock, lateness, {
    wanting: () => {
      wanted += 1
    },
    idle: () => {
      idle += 1
    },
  })
  passed = []
})

function come(who: string, options: { priority?: number; signal?: AbortSignal } = {}): Promise<void> {
  return turnstile
    .acquire({ operation: 'employee/get', ...options })
    .then(() => void passed.push({ who, at: clock.now() }))
}

const times = () => passed.map(({ at }) => at)
const names = () => passed.map(({ who }) => who).join('')

test('callers pass at their slots, evenly spaced', async () => {
  turnstile.grant(0, 10, 100)
  for (const who of 'abcd') void come(who)
  await clock.pass(100)
  expect(times()).toEqual([0, 10, 20, 30])
})

test('a caller who finds a slot due passes at once; the next one waits for the next slot', async () => {
  turnstile.grant(0, 10, Number.POSITIVE_INFINITY)
  await clock.pass(50)
  await come('a')
  void come('b')
  await clock.pass(50)
  expect(times()).toEqual([50, 60])
})

test('unused slots are not made up for', async () => {
  turnstile.grant(0, 10, Number.POSITIVE_INFINITY)
  await clock.pass(1005)
  for (const who of 'abc') void come(who)
  await clock.pass(100)
  expect(times()).toEqual([1010, 1020, 1030])
})

test('a late timer costs nothing: the slots that became due meanwhile are used together', async () => {
  turnstile.grant(0, 2, 100)
  for (const who of 'abcdefgh') void come(who)
  await clock.pass(40, 5)
  expect(passed).toHaveLength(8)
  expect(times().at(-1)).toBeLessThanOrEqual(14 + 5)
})

test('a timer that is very late gives no burst', async () => {
  turnstile.grant(0, 2, 1000)
  for (let caller = 0; caller < 100; caller += 1) void come('x')
  await clock.pass(110, 100)
  expect(passed.length).toBeLessThanOrEqual(1 + 6 + 1)
})

test('how late timers are decides how late slots may be used', async () => {
  turnstile.grant(0, 10, Number.POSITIVE_INFINITY)
  for (let caller = 0; caller < 500; caller += 1) void come('x')
  await clock.pass(4000, 18)
  expect(lateness.allowedMs).toBe(20)
})

test('a slot may be used just as late as is allowed, and not later', async () => {
  for (const who of 'abc') void come(who)
  await clock.pass(22)
  turnstile.grant(9, 1, 3)
  expect(turnstile.waiting).toBe(1)
  expect(turnstile.slotsLeft).toBe(0)
})

test('slots that no one waits for are left for the next', async () => {
  void come('a')
  await clock.pass(11)
  turnstile.grant(0, 10, 5)
  expect(turnstile.slotsLeft).toBe(4)
})

test('who comes later does not overtake the line, although a slot is due', async () => {
  turnstile.grant(10, 10, 2)
  void come('a')
  await clock.pass(15, 10)
  void come('b')
  await clock.pass(20)
  expect(names()).toBe('ab')
})

test('there is a timer only while somebody waits for a known slot', async () => {
  void come('a')
  expect(clock.timers).toBe(0)
  turnstile.grant(10, 10, 3)
  for (const who of 'bc') void come(who)
  expect(clock.timers).toBe(1)
  await clock.pass(100)
  expect(clock.timers).toBe(0)
})

test('tells how many slots are left, and when the turn of the last is over', () => {
  expect([turnstile.slotsLeft, turnstile.slotsEnd]).toEqual([0, Number.NEGATIVE_INFINITY])
  turnstile.grant(5, 10, 3)
  turnstile.grant(0, 20, 2, 5)
  expect([turnstile.slotsLeft, turnstile.slotsEnd]).toEqual([5, 35 + 20 + 5])
})

test('lower priority numbers first, then first come, first served', async () => {
  for (const who of 'ab') void come(who)
  for (const who of 'cd') void come(who, { priority: 20 })
  for (const who of 'ef') void come(who, { priority: 1 })
  turnstile.grant(0, 10, 100)
  await clock.pass(100)
  expect(names()).toBe('efabcd')
})

describe('abort', () => {
  test('a caller who gives up leaves the line and takes no slot', async () => {
    const abort = new AbortController()
    turnstile.grant(5, 10, 100)
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

  test('a caller who has given up before does not enter', async () => {
    turnstile.grant(0, 10, 100)
    await expect(come('a', { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
    expect(turnstile.slotsLeft).toBe(100)
  })
})

describe('a hold-off', () => {
  test('no call passes before its end, and its slots are gone', async () => {
    turnstile.grant(0, 10, Number.POSITIVE_INFINITY)
    for (const who of 'abcd') void come(who)
    await clock.pass(12)
    turnstile.holdUntil(500)
    await clock.pass(600)
    expect(times()).toEqual([0, 10, 500, 510])
  })

  test('voids slots that are granted after it began', async () => {
    void come('a')
    turnstile.holdUntil(500)
    turnstile.grant(0, 10, 40)
    expect(turnstile.slotsLeft).toBe(0)
    turnstile.grant(495, 10, 10)
    await clock.pass(1000)
    expect(times()).toEqual([505])
  })

  test('is never shortened', async () => {
    turnstile.grant(0, 10, Number.POSITIVE_INFINITY)
    turnstile.holdUntil(500)
    turnstile.holdUntil(100)
    void come('a')
    await clock.pass(1000)
    expect(times()).toEqual([500])
  })

  test('is never shortened for slots that come later, either', async () => {
    turnstile.holdUntil(500)
    turnstile.holdUntil(100)
    expect(turnstile.heldUntil).toBe(500)
    turnstile.grant(100, 10, 5)
    expect(turnstile.slotsLeft).toBe(0)
  })

  test('is told to the granter where callers wait: their slots are gone', async () => {
    turnstile.grant(10, 10, 5)
    turnstile.holdUntil(20)
    expect(wanted).toBe(0)
    void come('a')
    turnstile.holdUntil(500)
    expect(wanted).toBe(2)
    turnstile.holdUntil(500)
    expect(wanted).toBe(2)
  })
})

test('the granter is told of every caller, and again while some are left in line', async () => {
  void come('a')
  void come('b')
  expect(wanted).toBe(2)
  turnstile.grant(0, 10, 1)
  expect(wanted).toBe(3)
  expect(turnstile.waiting).toBe(1)
  turnstile.grant(0, 10, 2)
  await clock.pass(20)
  const before = wanted
  await come('c')
  expect(wanted).toBe(before + 1)
})

test('the granter is told when the line is empty, whether the last caller passed or gave up', async () => {
  turnstile.grant(0, 10, 1)
  await come('a')
  expect(idle).toBe(0)
  void come('b')
  turnstile.grant(10, 10, 1)
  await clock.pass(20)
  expect(idle).toBe(1)
  const abort = new AbortController()
  const given = come('c', { signal: abort.signal }).catch(() => undefined)
  const other = come('d', { signal: abort.signal }).catch(() => undefined)
  void come('e')
  abort.abort(new Error('enough'))
  await given
  await other
  expect(idle).toBe(1)
  turnstile.grant(30, 10, 1)
  await clock.pass(20)
  expect(idle).toBe(2)
  const last = new AbortController()
  const gone = come('f', { signal: last.signal }).catch(() => undefined)
  last.abort(new Error('enough'))
  await gone
  expect(idle).toBe(3)
})

test('slots granted later never overlap those granted before', async () => {
  turnstile.grant(0, 10, 2)
  turnstile.grant(5, 10, 2)
  for (const who of 'abcd') void come(who)
  await clock.pass(100)
  expect(times()).toEqual([0, 10, 20, 30])
})

test('closing turns everybody away, now and later', async () => {
  const waiting = expect(come('a')).rejects.toMatchObject({ code: 'PACER_CLOSED' })
  turnstile.close()
  await waiting
  await expect(come('b')).rejects.toMatchObject({ code: 'PACER_CLOSED' })
})
