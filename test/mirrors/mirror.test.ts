import { describe, expect, test } from 'vitest'
import { platformDay } from '../../src/lib/text.ts'
import { FIRST_PAGE, nextPage } from '../../src/mirrors/mirror-reader.ts'
import { daysToRead, windowStart } from '../../src/mirrors/orders.ts'
import { enterprisesToAsk, mirrorOf, mirrorOperation } from '../../src/sync/runs/mirror-kind.ts'

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

  test('that a clock which was ahead says to have been read later than today are read', () => {
    const readAt = new Map([['2026-03-03', at('2026-04-03T00:00:00Z')]])
    expect(daysToRead(now, 3, readAt)).toEqual(['2026-03-05', '2026-03-04', '2026-03-03'])
  })

  test('a window of one day has no yesterday', () => {
    expect(daysToRead(now, 1, new Map())).toEqual(['2026-03-05'])
  })
})

describe('pages', () => {
  const third = { page: 3, pass: 1, most: 250, passRows: 200 }
  /** A page of so many rows, from a list of `total`. */
  const after = (rows: number, total: number | null, found: number) => ({
    answer: { total_count: total, data_list: Array.from({ length: rows }) },
    pageSize: 100,
    found,
  })
  const WHOLE = { next: null, short: null }
  const AGAIN = { next: { ...FIRST_PAGE, pass: 2 }, short: null }

  test('follow each other until the last', () => {
    const next = { page: 2, pass: 1, most: 250, passRows: 100 }
    expect(nextPage(FIRST_PAGE, after(100, 250, 100))).toEqual({ next, short: null })
    expect(nextPage(third, after(50, 250, 250))).toEqual(WHOLE)
  })

  test('go on until all rows were read, if the platform returns fewer a page than requested', () => {
    const next = { page: 4, pass: 1, most: 250, passRows: 150 }
    expect(nextPage({ ...third, passRows: 100 }, after(50, 250, 250))).toEqual({ next, short: null })
  })

  test('are read once more when fewer rows were found than there are; if they stay fewer, the list is short', () => {
    const last = after(50, 250, 249)
    expect(nextPage(third, last)).toEqual(AGAIN)
    const short = { counted: 250, found: 249 }
    expect(nextPage({ ...third, pass: 3 }, last)).toEqual({ next: null, short })
    expect(nextPage(third, { ...last, missing: 1 })).toEqual({ next: null, short })
  })

  test('are read once more when rows went meanwhile, but not when some came', () => {
    expect(nextPage(third, after(49, 249, 249))).toEqual(AGAIN)
    expect(nextPage(third, after(51, 251, 251))).toEqual(WHOLE)
  })

  test('of a list that grows need not have what came since the first', () => {
    const grows = true
    expect(nextPage(FIRST_PAGE, { ...after(100, 250, 100), grows }).next).toMatchObject({ most: 250 })
    expect(
      nextPage({ ...third, page: 2, passRows: 100 }, { ...after(100, 260, 200), grows }).next,
    ).toMatchObject({
      ...{ page: 3, most: 250 },
    })
    const last = { ...after(60, 260, 250), grows }
    expect(nextPage(third, last)).toEqual(WHOLE)
    // One went, and those behind it moved up.
    expect(nextPage(third, { ...last, found: 249 })).toEqual(AGAIN)
    const short = { counted: 250, found: 249 }
    expect(nextPage({ ...third, pass: 3 }, { ...last, found: 249 })).toEqual({ next: null, short })
    expect(nextPage(third, { ...after(49, 249, 249), grows })).toEqual(AGAIN)
  })

  test('are not all read because one in the middle is empty and counts none', () => {
    const empty = { ...third, page: 2, passRows: 100 }
    expect(nextPage(empty, after(0, 0, 100))).toEqual(AGAIN)
    const short = { counted: 250, found: 100 }
    expect(nextPage({ ...empty, pass: 3 }, after(0, 0, 100))).toEqual({ next: null, short })
  })

  test('come to an end even where the platform knows none', () => {
    const more = after(100, null, 100)
    const at = (page: number) => ({ page, pass: 1, most: 0, passRows: 0 })
    expect(nextPage(at(9_999), more).next).toEqual({ ...at(10_000), passRows: 100 })
    expect(nextPage(at(10_000), more)).toEqual(WHOLE)
  })

  test('are believed where the platform does not count', () => {
    expect(nextPage(FIRST_PAGE, after(0, null, 0))).toEqual(WHOLE)
  })
})
