import { expect, test } from 'vitest'
import { PacingShare } from '../../src/core/pacing-share.ts'

test('alone, the share is the whole rate', () => {
  const share = new PacingShare()
  for (let start = 0; start <= 10_000; start += 250) share.note(start, 125)
  expect(share.perSecond()).toBe(500)
})

test('of two that take turns, each has half', () => {
  const share = new PacingShare()
  for (let start = 0; start <= 10_000; start += 500) share.note(start, 125)
  expect(share.perSecond()).toBe(250)
})

test('little time gives little', () => {
  const share = new PacingShare()
  expect(share.perSecond()).toBe(0)
  share.note(0, 5)
  expect(share.perSecond()).toBe(1)
  share.note(10, 5)
  expect(share.perSecond()).toBe(5)
})
