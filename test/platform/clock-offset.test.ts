import { expect, test } from 'vitest'
import { ClockOffset } from '../../src/platform/caller.ts'

const NOON = 'Sun, 01 Mar 2026 12:00:00 GMT'
const NOON_MS = Date.parse(NOON)

test('a header that agrees with our clock, to the second, measures nothing', () => {
  const offset = new ClockOffset()
  offset.observe(NOON, NOON_MS + 400, NOON_MS + 450)
  expect(offset.measuredMs).toBe(0)
})

test('the measured offset is applied once the platform refuses our time', () => {
  const offset = new ClockOffset()
  offset.observe(NOON, NOON_MS - 600_000, NOON_MS - 599_900)
  expect(offset.measuredMs).toBe(599_900)
  expect(offset.appliedMs).toBe(0)
  expect(offset.correct()).toBe(true)
  expect(offset.appliedMs).toBe(599_900)
})

test('a clock that is ahead gives a negative offset', () => {
  const offset = new ClockOffset()
  offset.observe(NOON, NOON_MS + 600_000, NOON_MS + 600_100)
  expect(offset.measuredMs).toBe(999 - 600_000)
})

test('each further answer narrows it down', () => {
  const offset = new ClockOffset()
  offset.observe(NOON, NOON_MS - 10_000, NOON_MS - 8000) // 8 to 10.999 s
  offset.observe('Sun, 01 Mar 2026 12:00:05 GMT', NOON_MS - 4100, NOON_MS - 4000) // 9 to 10.099 s
  expect(offset.measuredMs).toBe(9000)
  offset.observe('Sun, 01 Mar 2026 12:00:09 GMT', NOON_MS - 3000, NOON_MS + 7000) // 2 to 12.999 s: a slow answer
  expect(offset.measuredMs).toBe(9000)
})

test('a clock that is set right is right at once, before the next answer', () => {
  let ahead = 0
  const clock = () => NOON_MS - 600_000 + ahead + performance.now()
  const offset = new ClockOffset(clock)
  offset.observe(new Date(clock() + 600_000).toUTCString(), clock(), clock())
  expect(offset.measuredMs).toBeGreaterThan(598_000)
  ahead = 600_000
  expect(Math.abs(offset.measuredMs ?? 600_000)).toBeLessThan(2000)
  expect(offset.correct()).toBe(true)
  expect(Math.abs(offset.appliedMs)).toBeLessThan(2000)
})

test('a machine that slept has no other offset for it', () => {
  let slept = 0
  const clock = () => NOON_MS + slept + performance.now()
  const offset = new ClockOffset(clock)
  offset.observe(new Date(clock()).toUTCString(), clock(), clock())
  expect(Math.abs(offset.measuredMs ?? 600_000)).toBeLessThan(2000)
  slept = 3_600_000
  expect(Math.abs(offset.measuredMs ?? 600_000)).toBeLessThan(2000)
})

test('without a header that can be read there is nothing to correct', () => {
  const offset = new ClockOffset()
  offset.observe(undefined, NOON_MS, NOON_MS)
  offset.observe('yesterday', NOON_MS, NOON_MS)
  expect(offset.correct()).toBe(false)
  expect(offset.measuredMs).toBeNull()
})
