import { describe, expect, test } from 'vitest'
import { FIRST_PAGE, nextPage } from '../../src/mirrors/mirror-reader.ts'
import { daysToRead, platformDay, windowStart } from '../../src/mirrors/orders.ts'
import { enterprisesToAsk, mirrorOf, mirrorOperation } from '../../src/sync/mirror-kind.ts'

test('a mirror and its operation name each other', () => {
  expect(mirrorOperation('orders')).toBe('mirror-orders')
  expect(mirrorOf('mirror-taxpayers')).toBe('taxpayers')
  expect(mirrorOf('update-employee')).toBeNull()
})

test.each([
  [
    ['', 'E1', 'E2'],
    ['E1', 'E2'],
  ],
  [['E1'], ['E1']],
  [[''], ['']],
])('of the enterprise codes %j those that can be asked for are %j', (codes, asked) => {
  expect(enterprisesToAsk(codes)).toEqual(asked)
})

describe('days', () => {
  test('begin at midnight in GMT+8, wherever we are', () => {
    expect(platformDay(new Date('2026-03-01T15:59:59Z'))).toBe('2026-03-01')
    expect(platformDay(new Date('2026-03-01T16:00:00Z'))).toBe('2026-03-02')
  })

  test('a window ends today', () => {
    const now = new Date('2026-03-01T20:00:00Z')
    expect(windowStart(now, 1)).toBe('2026-03-02')
    expect(windowStart(now, 3)).toBe('2026-02-28')
  })

  const now = new Date('2026-03-05T04:00:00Z')
  const at = (text: string) => new Date(text)

  test('are all read the first time, newest first', () => {
    expect(daysToRead(now, 4, new Map())).toEqual(['2026-03-05', '2026-03-04', '2026-03-03', '2026-03-02'])
  })

  test('today and yesterday are read in every run, older ones once a day', () => {
    const readAt = new Map([
      ['2026-03-05', at('2026-03-05T03:00:00Z')],
      ['2026-03-04', at('2026-03-05T03:00:00Z')],
      ['2026-03-03', at('2026-03-04T16:00:00Z')], // the first moment of today, GMT+8
      ['2026-03-02', at('2026-03-04T15:59:59Z')], // the last one of yesterday
    ])
    expect(daysToRead(now, 4, readAt)).toEqual(['2026-03-05', '2026-03-04', '2026-03-02'])
  })

  test('a window of one day has no yesterday', () => {
    expect(daysToRead(now, 1, new Map())).toEqual(['2026-03-05'])
  })
})

describe('pages', () => {
  const third = { page: 3, pass: 1, most: 250 }

  test('follow each other until the last', () => {
    const next = nextPage(FIRST_PAGE, { isLast: false, total: 250, known: 0 })
    expect(next).toEqual({ page: 2, pass: 1, most: 250 })
    expect(nextPage(third, { isLast: true, total: 250, known: 250 })).toBeNull()
  })

  test('are read once more when fewer rows are known than there are', () => {
    const last = { isLast: true, total: 250, known: 249 }
    expect(nextPage(third, last)).toEqual({ page: 1, pass: 2, most: 0 })
    expect(nextPage({ ...third, pass: 3 }, last)).toBeNull()
  })

  test('are read once more when rows went meanwhile, but not when some came', () => {
    expect(nextPage(third, { isLast: true, total: 249, known: 249 })).toEqual({ page: 1, pass: 2, most: 0 })
    expect(nextPage(third, { isLast: true, total: 251, known: 251 })).toBeNull()
  })

  test('come to an end even where the platform knows none', () => {
    const more = { isLast: false, total: null, known: 100 }
    expect(nextPage({ page: 9_999, pass: 1, most: 0 }, more)).toEqual({ page: 10_000, pass: 1, most: 0 })
    expect(nextPage({ page: 10_000, pass: 1, most: 0 }, more)).toBeNull()
  })

  test('are believed where the platform does not count', () => {
    expect(nextPage(FIRST_PAGE, { isLast: true, total: null, known: 0 })).toBeNull()
  })
})
