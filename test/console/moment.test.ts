import { describe, expect, test } from 'vitest'
import { momentIn, tomorrowAt } from '../../src/console/moment.ts'
import { rangeOf } from '../../src/console/range.ts'
import { actorText } from '../../src/texts/actor.ts'
import { translator } from '../../src/texts/texts.ts'

describe('what a clock on a wall shows', () => {
  test.each([
    ['Asia/Shanghai', '2026-03-01T09:30', '2026-03-01T01:30:00.000Z'],
    ['UTC', '2026-03-01T09:30:15', '2026-03-01T09:30:15.000Z'],
    // The clocks there are put forward on 29 March 2026, and back on 25 October.
    ['Europe/Berlin', '2026-03-29T01:30', '2026-03-29T00:30:00.000Z'],
    ['Europe/Berlin', '2026-03-29T03:30', '2026-03-29T01:30:00.000Z'],
    ['Europe/Berlin', '2026-10-25T04:00', '2026-10-25T03:00:00.000Z'],
  ])('in %s, %s, is the moment %s', (zone, text, moment) => {
    expect(momentIn(zone, text).toISOString()).toBe(moment)
  })

  test('a moment that says its offset is the same in every zone', () => {
    expect(momentIn('Asia/Shanghai', '2026-03-01T09:30:00Z').toISOString()).toBe('2026-03-01T09:30:00.000Z')
    expect(momentIn('Asia/Shanghai', 'soon').getTime()).toBeNaN()
  })

  test('tomorrow is the day after the one that the zone has', () => {
    // It is the 2nd of March in Shanghai by then.
    const now = new Date('2026-03-01T20:00:00.123Z')
    expect(tomorrowAt('Asia/Shanghai', 8, now).toISOString()).toBe('2026-03-03T00:00:00.000Z')
    expect(tomorrowAt('UTC', 8, now).toISOString()).toBe('2026-03-02T08:00:00.000Z')
  })
})

test('people are told who asked without the database user behind them', () => {
  const t = translator('en')
  expect(actorText({ t }, 'dirsync (console:anna)')).toBe('anna')
  expect(actorText({ t }, 'api:token:night-job')).toBe('night-job (API)')
  expect(actorText({ t }, 'dirsync (cli:anna)')).toBe('anna (shell)')
  expect(actorText({ t }, 'dirsync (console)')).toBe('console')
  expect(actorText({ t }, 'dirsync_reviewer')).toBe('dirsync_reviewer')
})

describe('a range', () => {
  const ask = { zone: 'Europe/Berlin', t: translator('en'), now: new Date('2026-11-24T12:00:00Z') }
  const range = (given: Parameters<typeof rangeOf>[1]) => {
    const { from, to } = rangeOf(ask, given)
    return [from?.toISOString(), to?.toISOString()]
  }

  test('of days begins where they do in the zone, and has its last day whole, also where clocks change', () => {
    expect(range({ from: '2026-10-24', to: '2026-10-25' })).toEqual([
      '2026-10-23T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ])
    expect(range({ to: '2026-03-29' })).toEqual([undefined, '2026-03-29T22:00:00.000Z'])
  })

  test('is given by moments, with an offset or in the zone, and by how long ago', () => {
    expect(range({ from: '2026-11-01T08:00', to: '2026-11-01T08:00:00Z' })).toEqual([
      '2026-11-01T07:00:00.000Z',
      '2026-11-01T08:00:00.000Z',
    ])
    expect(range({ from: '2d', to: '12h' })).toEqual(['2026-11-22T12:00:00.000Z', '2026-11-24T00:00:00.000Z'])
    expect(range({ since: '2d' })).toEqual(['2026-11-22T12:00:00.000Z', undefined])
    expect(() => range({ to: '2026-13-01' })).toThrow(/^to: /)
  })
})
