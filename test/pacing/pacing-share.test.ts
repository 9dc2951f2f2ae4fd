import { expect, test } from 'vitest'
import { PacingShare } from '../../src/pacing/leased-gate.ts'

test('alone, the share is the whole rate', () => {
  const share = new PacingShare()
  for (let start = 0; start <= 10_000; start += 250) share.note(start, 125, 2)
  expect(share.perSecond(10_000)).toBe(500)
})

test('of two that take turns, each has half', () => {
  const share = new PacingShare()
  for (let start = 0; start <= 10_000; start += 500) share.note(start, 125, 2)
  expect(share.perSecond(10_000)).toBe(250)
})

test('what one had alone does not count once another has come', () => {
  const share = new PacingShare()
  for (let start = 0; start <= 4000; start += 250) share.note(start, 25, 10)
  for (let start = 4500; start <= 6000; start += 500) share.note(start, 25, 10)
  expect(share.perSecond(6000)).toBe(50)
})

test('little time gives little', () => {
  const share = new PacingShare()
  expect(share.perSecond(0)).toBe(0)
  share.note(0, 5, 2)
  expect(share.perSecond(0)).toBe(1)
  share.note(10, 5, 2)
  expect(share.perSecond(10)).toBe(5)
})

test('a slow rate is counted over a longer time', () => {
  const share = new PacingShare()
  for (let start = 0; start <= 80_000; start += 8000) share.note(start, 1, 2000)
  expect(share.perSecond(80_000)).toBe(0.125)
})

test('what was given long ago is over', () => {
  const share = new PacingShare()
  for (let start = 0; start <= 2000; start += 250) share.note(start, 25, 10)
  expect(share.perSecond(60_000)).toBe(0)
})
