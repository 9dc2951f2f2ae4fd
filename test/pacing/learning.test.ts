import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { initialRate, learn } from '../../src/pacing/learning.ts'
import type { LearntRate } from '../../src/pacing/slots.ts'
import { type Second, type Simulated, simulate } from './rate-simulation.ts'

const KINDS = ['sliding-log', 'fixed-window', 'token-bucket'] as const
const LIMITS = [3, 20, 80]

/** The same numbers for the same seed. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

const simulated = (options: Partial<Simulated> & Pick<Simulated, 'kind' | 'limitAt'>) =>
  simulate({
    seconds: 300,
    processes: 4,
    latencyMs: 20,
    jitterMs: 20,
    retryAfter: true,
    random: seeded(1),
    ...options,
  })

const sum = (seconds: Second[], of: 'accepted' | 'rejected') =>
  seconds.reduce((total, second) => total + second[of], 0)
const rejectedShare = (seconds: Second[]) =>
  sum(seconds, 'rejected') / (sum(seconds, 'accepted') + sum(seconds, 'rejected'))

describe.each(KINDS)('a platform that counts by %s', kind => {
  test.each(LIMITS)('%i calls a second are found, and rarely exceeded', limit => {
    for (const processes of [1, 4, 8])
      for (const retryAfter of [true, false])
        for (const [latencyMs, jitterMs] of [
          [2, 2],
          [100, 50],
        ] as const) {
          const options = { kind, processes, retryAfter, latencyMs, jitterMs, random: seeded(limit) }
          const minutes2To5 = simulated({ ...options, limitAt: () => limit }).seconds.slice(60)
          expect(sum(minutes2To5, 'accepted') / (240 * limit)).toBeGreaterThan(0.87)
          expect(rejectedShare(minutes2To5)).toBeLessThan(0.01)
        }
  })

  test.each([20, 80])(
    'within 15 s nothing is refused any more after %i calls a second become half',
    limit => {
      for (const retryAfter of [true, false])
        for (const at of [120, 133, 150, 171]) {
          const { seconds } = simulated({ kind, retryAfter, limitAt: s => (s < at ? limit : limit / 2) })
          expect(rejectedShare(seconds.slice(at + 15, at + 75))).toBeLessThanOrEqual(0.01)
        }
    },
  )

  test.each(LIMITS)('twice %i calls a second are found within four minutes', limit => {
    const { seconds } = simulated({ kind, limitAt: s => (s < 120 ? limit : 2 * limit), seconds: 360 })
    expect(seconds.at(-1)?.rate).toBeGreaterThan(0.85 * 2 * limit)
  })

  test('a limit a hundred times as high is found again within six minutes', () => {
    const { seconds } = simulated({ kind, limitAt: s => (s < 60 ? 2 : 200), seconds: 420 })
    expect(seconds.at(-1)?.rate).toBeGreaterThan(150)
  })
})

describe.each(KINDS)('a rate that was set too high for a platform that counts by %s', kind => {
  test.each([
    [200, 60],
    [200, 190],
    [50, 3],
  ])('%i where %i are permitted: from the second minute on hardly a call is refused', (setRate, limit) => {
    for (const processes of [1, 4])
      for (const retryAfter of [true, false]) {
        const { seconds } = simulated({ kind, processes, retryAfter, setRate, limitAt: () => limit })
        const minutes2To5 = seconds.slice(60)
        expect(rejectedShare(minutes2To5)).toBeLessThanOrEqual(0.01)
        expect(sum(minutes2To5, 'accepted') / (240 * limit)).toBeGreaterThan(0.85)
        expect(Math.max(...seconds.map(({ rate }) => rate))).toBeLessThanOrEqual(setRate)
      }
  })

  test('is reached again within four minutes once that is permitted, and never exceeded', () => {
    const limitAt = (second: number) => (second < 120 ? 60 : 300)
    const { seconds, learnt } = simulated({ kind, setRate: 200, limitAt, seconds: 360 })
    expect(Math.min(...seconds.slice(100, 120).map(({ rate }) => rate))).toBeLessThan(70)
    expect(learnt).toMatchObject({ ratePerSecond: 200, ceiling: null })
    expect(Math.max(...seconds.map(({ rate }) => rate))).toBe(200)
  })
})

test('a rate that was set and is permitted is neither begun slowly nor exceeded, and nothing is written', () => {
  const { seconds, writes } = simulated({ kind: 'sliding-log', setRate: 60, limitAt: () => 80 })
  for (const { rate } of seconds) expect(rate).toBe(60)
  expect(writes).toBe(0)
})

test('without a refusal, a rate that is not used does not grow', () => {
  const { seconds } = simulated({ kind: 'sliding-log', limitAt: () => 80, wantedPerSecond: 5 })
  for (const second of seconds) expect(second.rate).toBeLessThan(20)
})

test('what was learnt is where the next process begins', () => {
  const { learnt } = simulated({ kind: 'sliding-log', limitAt: () => 80 })
  const restarted = { ...learnt, changedAtMs: 0, loweredAtMs: null }
  const { seconds } = simulated({ kind: 'sliding-log', limitAt: () => 80, learnt: restarted, seconds: 30 })
  expect(sum(seconds, 'accepted')).toBeGreaterThan(0.85 * 30 * 80)
})

test('it is written down far less often than calls are made', () => {
  expect(simulated({ kind: 'sliding-log', limitAt: () => 80 }).writes).toBeLessThan(200)
})

const now = (nowMs: number, reservedUntilMs = nowMs) => ({ nowMs, leased: 0, reservedUntilMs })
const refused = (sentAtMs: number, acceptedAtMs: number | null = sentAtMs - 1) =>
  ({ kind: 'refused', sentAtMs, acceptedAtMs }) as const
const before: LearntRate = { ...initialRate(now(0)), ratePerSecond: 100 }

test('several refusals of calls sent before it was lowered count as one', () => {
  const lowered = learn(before, refused(990), now(1000))
  expect(lowered).toMatchObject({ ratePerSecond: 85, ceiling: 100, loweredAtMs: 1000 })
  expect(learn(lowered, refused(999), now(1010))).toBe(lowered)
})

test('refusals of calls whose slots were reserved before it was lowered count as one', () => {
  const lowered = learn(before, refused(990), now(1000, 4000))
  expect(lowered).toMatchObject({ ratePerSecond: 85, loweredAtMs: 4000, changedAtMs: 1000 })
  expect(learn(lowered, refused(4900, 3900), now(5000))).toBe(lowered)
  expect(learn(lowered, refused(5100), now(5200)).ratePerSecond).toBeCloseTo(51)
})

test('a platform that accepts nothing says nothing of the rate', () => {
  const lowered = learn(before, refused(990), now(1000))
  expect(learn(lowered, refused(60_000, 980), now(60_100))).toBe(lowered)
  expect(learn(lowered, refused(60_000, 59_000), now(60_100)).ratePerSecond).toBeLessThan(85)
})

test('refused again soon, it is lowered further than at first', () => {
  const lowered = learn(before, refused(990), now(1000))
  expect(learn(lowered, refused(4000), now(4010)).ratePerSecond).toBeCloseTo(51)
  expect(learn(lowered, refused(40_000), now(40_010)).ratePerSecond).toBeCloseTo(72.25)
})

test('a rate that an incident lowered to the minimum is back within ten minutes', () => {
  let learnt: LearntRate = { ...before, ratePerSecond: 0.1, ceiling: 0.1, loweredAtMs: 0 }
  for (let at = 0; at <= 600_000; at += 80_000)
    learnt = learn(learnt, { kind: 'used', sinceMs: at - 80_000 }, now(at))
  expect(learnt.ratePerSecond).toBeGreaterThan(20)
})

test('a clock that was put back does not stop the learning', () => {
  const future: LearntRate = { ...before, ceiling: 120, loweredAtMs: 3_600_000, changedAtMs: 3_600_000 }
  expect(learn(future, refused(990), now(1000))).toMatchObject({ ratePerSecond: 85, changedAtMs: 1000 })
  const corrected = learn(future, { kind: 'used', sinceMs: 0 }, now(2000))
  expect(corrected).toMatchObject({ ratePerSecond: 100, changedAtMs: 2000 })
  expect(learn(corrected, { kind: 'used', sinceMs: 2000 }, now(10_000)).ratePerSecond).toBeGreaterThan(100)
})

test('a used rate never falls, a refused one never rises, in whatever order', () => {
  const event = fc.record({ used: fc.boolean(), ms: fc.integer({ min: 1, max: 60_000 }) })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 50 }), events => {
      let learnt = initialRate(now(0))
      let at = 0
      for (const { used, ms } of events) {
        at += ms
        const next = learn(learnt, used ? { kind: 'used', sinceMs: at - ms } : refused(at - 1), now(at))
        expect(Math.sign(next.ratePerSecond - learnt.ratePerSecond)).not.toBe(used ? -1 : 1)
        expect(next.ratePerSecond).toBeGreaterThan(0)
        learnt = next
      }
    }),
  )
})
