import { expect, test } from 'vitest'
import { callsInFlight, limitAfter, UNLIMITED } from '../../src/pacing/concurrency.ts'

const MOST = 64
const WHILE_MS = 500

/**
 * A platform that works at so many calls at a time, each for so long; the others wait in its queue. `wanted` calls come
 * in a second, as far as the limit lets them.
 */
function simulate(
  seconds: number,
  wanted: number,
  platformAt: (second: number) => { workers: number; serviceMs: number },
) {
  let limit = UNLIMITED
  let inFlight: number[] = [] // when each came
  let working: number[] = [] // when each that is worked at will be done
  let owed = 0
  const ended: { most: number; latencyMs: number; perSecond: number }[] = []
  let calls = 0
  let totalMs = 0
  for (let now = 0; now < seconds * 1000; now++) {
    const { workers, serviceMs } = platformAt(now / 1000)
    const done = working.filter(at => at <= now).length
    working = working.filter(at => at > now)
    for (const came of inFlight.splice(0, done)) {
      calls += 1
      totalMs += now - came
    }
    owed = Math.min(owed + wanted / 1000, 3)
    const most = Math.min(MOST, callsInFlight(limit, wanted) ?? MOST)
    if (owed >= 1 && inFlight.length < most) {
      owed -= 1
      inFlight = [...inFlight, now]
    }
    while (working.length < Math.min(workers, inFlight.length)) working.push(now + serviceMs)
    if (now % WHILE_MS === WHILE_MS - 1 && calls > 0) {
      limit = limitAfter(limit, { ms: WHILE_MS, byOperation: new Map([['get', { calls, totalMs }]]) })
      ended.push({ most, latencyMs: totalMs / calls, perSecond: (calls * 1000) / WHILE_MS })
      calls = totalMs = 0
    }
  }
  return ended
}

test('a platform that keeps up is not held back', () => {
  const ended = simulate(20, 100, () => ({ workers: 16, serviceMs: 60 }))
  for (const { perSecond } of ended.slice(1)) expect(perSecond).toBeGreaterThan(90)
})

test('a quick platform is never slow, however its latency varies', () => {
  const ended = simulate(20, 200, second => ({
    workers: 16,
    serviceMs: Math.floor(second) % 2 === 0 ? 3 : 45,
  }))
  for (const { perSecond } of ended.slice(1)) expect(perSecond).toBeGreaterThan(180)
})

test('a platform that becomes slow is not buried, and still does what it can; it is used again when it recovers', () => {
  const ended = simulate(120, 100, second =>
    second < 30 || second >= 70 ? { workers: 16, serviceMs: 60 } : { workers: 4, serviceMs: 100 },
  )
  const inHand = ended.slice(2 * 45, 2 * 70)
  expect(Math.max(...inHand.map(({ most }) => most))).toBeLessThan(24)
  expect(inHand.reduce((sum, { perSecond }) => sum + perSecond, 0) / inHand.length).toBeGreaterThan(0.8 * 40)
  for (const { perSecond, latencyMs } of ended.slice(2 * 90)) {
    expect(perSecond).toBeGreaterThan(90)
    expect(latencyMs).toBeLessThan(70)
  }
})

test('a platform that slows down for good is given as many calls as its latency needs', () => {
  const ended = simulate(240, 40, second => ({ workers: 64, serviceMs: second < 20 ? 50 : 300 }))
  expect(ended.at(-1)?.perSecond).toBeGreaterThan(38)
})

test('operations of different latencies are judged each by its own', () => {
  const calls = (get: number, update: number) => ({
    ms: 1000,
    byOperation: new Map([
      ['get', { calls: get, totalMs: get * 40 }],
      ['update', { calls: update, totalMs: update * 400 }],
    ]),
  })
  let limit = UNLIMITED
  for (let i = 0; i < 20; i++) limit = limitAfter(limit, i % 2 === 0 ? calls(30, 1) : calls(1, 30))
  expect(limit.slowdownLimit).toBe(Number.POSITIVE_INFINITY)
})

test('it is never below one call', () => {
  let limit = limitAfter(UNLIMITED, {
    ms: 1000,
    byOperation: new Map([['get', { calls: 10, totalMs: 500 }]]),
  })
  for (let i = 0; i < 20; i++)
    limit = limitAfter(limit, { ms: 1000, byOperation: new Map([['get', { calls: 1, totalMs: 9000 }]]) })
  expect(callsInFlight(limit, 10)).toBe(1)
})

test('before anything is known, nothing is limited', () => {
  expect(callsInFlight(UNLIMITED, 10)).toBeNull()
})
