import { expect, test } from 'vitest'
import { Lateness } from '../../src/pacing/turnstile.ts'

/** Slots every 10 ms from `from` on, of which every `nth` is `lateMs` late. */
function note(lateness: Lateness, from: number, seconds: number, nth: number, lateMs: number): number {
  const until = from + seconds * 1000
  for (let now = from, i = 0; now < until; now += 10, i++) lateness.note(i % nth === 0 ? lateMs : 1, now)
  return until
}

test('at first, and on a quiet machine, the spacing stays as given', () => {
  const lateness = new Lateness()
  expect(lateness.allowedMs).toBe(12)
  const end = note(lateness, 0, 60, 1000, 90)
  expect(lateness.allowedMs).toBe(12)
  expect(lateness.stretchAt(end)).toBe(1)
})

test('where a third of the timers are late, so much is allowed and the spacing is wider', () => {
  const lateness = new Lateness()
  const end = note(lateness, 0, 20, 3, 38)
  expect(lateness.allowedMs).toBe(40)
  expect(lateness.stretchAt(end)).toBeCloseTo(1.042)
})

test.each([
  [14, 16],
  [40, 40],
  [41, 50],
  [95, 100],
])('where a third of the timers are late by %i ms, %i are allowed', (lateMs, allowed) => {
  const lateness = new Lateness()
  note(lateness, 0, 20, 3, lateMs)
  expect(lateness.allowedMs).toBe(allowed)
})

test('a few slots say little: it takes more than three in a quarter of a second that are very late', () => {
  const lateness = new Lateness()
  lateness.note(0, 0)
  note(lateness, 2000, 0.25, 9, 95)
  expect(lateness.allowedMs).toBe(12)
  note(lateness, 2250, 0.5, 2, 95)
  expect(lateness.allowedMs).toBe(100)
})

test('what wider spacing would cost more than it saves is not allowed', () => {
  const lateness = new Lateness()
  note(lateness, 0, 20, 20, 95)
  expect(lateness.allowedMs).toBe(12)
})

test('what is too late in any case changes nothing', () => {
  const lateness = new Lateness()
  note(lateness, 0, 20, 2, 400)
  expect(lateness.allowedMs).toBe(12)
})

test('a single slot that is very late, the first of all, changes nothing', () => {
  const lateness = new Lateness()
  lateness.note(90, 0)
  expect(lateness.allowedMs).toBe(12)
})

test('a busy time is forgotten', () => {
  const lateness = new Lateness()
  const end = note(lateness, 0, 20, 3, 38)
  note(lateness, end, 120, 1000, 38)
  expect(lateness.allowedMs).toBe(12)
})

test('the first second and a half of a process count for nothing, and have room for slow calls', () => {
  const lateness = new Lateness()
  expect(lateness.stretchAt(0)).toBeCloseTo(1.06)
  note(lateness, 0, 1.5, 2, 90)
  expect(lateness.allowedMs).toBe(12)
  expect(lateness.stretchAt(1500)).toBeCloseTo(1.06)
  expect(lateness.stretchAt(1501)).toBe(1)
})
