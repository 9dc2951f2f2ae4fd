import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { emptyShare, RowHasher, type SourceStatistics } from '../../src/directory/hash.ts'
import {
  belowNotice,
  enterprisesLeave,
  isEmptyThroughout,
  mayHaveEmptied,
  missingEmployees,
  straying,
  suspicion,
  trips,
  type UndeliveredEnterprise,
} from '../../src/sync/runs/safety.ts'
import { inEnglish } from '../../src/texts/message.ts'
import { worded } from '../texts/worded.ts'

const LIMITS = { maxFewerRows: 20, maxEmptied: 20 }

function hr(rows: number, empty: Record<string, number> = {}, keyless = 0): SourceStatistics {
  return { rows, keyless, empty: { name: 0, mobile: 0, ...empty }, newest: null }
}

describe('the sanity gate', () => {
  test('lets a first run with rows pass, whatever is empty', () => {
    expect(suspicion(hr(1, { name: 1, mobile: 1 }), null, [], LIMITS)).toBeNull()
  })

  test('stops at no rows, on the first run too', () => {
    expect(worded(suspicion(hr(0), null, [], LIMITS))).toMatch(/^HR delivered no rows at all/)
    expect(worded(suspicion(hr(0), hr(10), [], LIMITS))).toMatch(/^HR delivered no rows at all/)
  })

  test('stops when no row has a user id', () => {
    expect(worded(suspicion(hr(3, {}, 3), null, [], LIMITS))).toMatch(
      /^none of the 3 rows that HR delivers has a user id/,
    )
  })

  test('names the keys that come more than once', () => {
    expect(worded(suspicion(hr(10), hr(10), ['e1'], LIMITS))).toMatch(
      /^HR delivers a key more than once \(e1\)/,
    )
    expect(worded(suspicion(hr(10), null, ['C1/e1', 'e2'], LIMITS))).toMatch(
      /^HR delivers keys .* \(C1\/e1, e2\)/,
    )
  })

  test.each([
    [100, 80, false],
    [100, 79, true],
    [5, 4, false],
    [4, 3, true],
    [100, 100, false],
    [100, 5000, false],
  ])('after %i rows, %i are suspect: %s', (before, now, suspect) => {
    const reason = suspicion(hr(now), hr(before), [], LIMITS)
    if (suspect) expect(worded(reason)).toContain(`${now} rows, `)
    else expect(reason).toBeNull()
  })

  test.each([
    [100, 100, false],
    [80, 80, false],
    [79, 79, true],
    [79, 179, false],
  ])(
    'after 200 rows, 100 of them in service, %i in service of %i are suspect: %s',
    (active, rows, suspect) => {
      const reason = suspicion({ ...hr(rows), active }, { ...hr(200), active: 100 }, [], LIMITS)
      expect(reason !== null).toBe(suspect)
    },
  )

  test('counts rows that lost their user id as gone', () => {
    expect(suspicion(hr(100, {}, 20), hr(100), [], LIMITS)).toBeNull()
    expect(worded(suspicion(hr(100, {}, 21), hr(100), [], LIMITS))).toMatch(
      /^HR delivers 79 rows with a user id, 21 % fewer than the last good run \(100\)/,
    )
    expect(suspicion(hr(100, {}, 21), hr(100, {}, 21), [], LIMITS)).toBeNull()
  })

  test('stops when a column turned empty for too many rows, and names it', () => {
    expect(suspicion(hr(100, { mobile: 20 }), hr(100), [], LIMITS)).toBeNull()
    expect(worded(suspicion(hr(100, { mobile: 21 }), hr(100), [], LIMITS))).toMatch(
      /^mobile turned empty for more than 20 %/,
    )
    expect(worded(suspicion(hr(100, { mobile: 90, name: 90 }), hr(100), [], LIMITS))).toMatch(
      /^name, mobile turned/,
    )
  })

  test('compares shares, not numbers, of empty values', () => {
    expect(suspicion(hr(1000, { mobile: 500 }), hr(100, { mobile: 50 }), [], LIMITS)).toBeNull()
    expect(worded(suspicion(hr(90, { mobile: 90 }), hr(100, { mobile: 75 }), [], LIMITS))).toMatch(
      /^mobile turned/,
    )
  })

  test('says nothing of columns that were filled, left the mapping or are new in it', () => {
    expect(suspicion(hr(100, { mobile: 0 }), hr(100, { mobile: 100 }), [], LIMITS)).toBeNull()
    expect(suspicion(hr(100, { email: 100 }), hr(100), [], LIMITS)).toBeNull()
    expect(suspicion(hr(100), hr(100, { email: 0 }), [], LIMITS)).toBeNull()
  })

  test('does not count blanks against figures of an earlier version, which had not counted them', () => {
    const now = hr(100, { mobile: 90, name: 30 })
    const blank = { mobile: 90, name: 5 }
    expect(worded(suspicion({ ...now, blank }, hr(100), [], LIMITS))).toMatch(/^name turned/)
    expect(worded(suspicion({ ...now, blank }, { ...hr(100), blank: {} }, [], LIMITS))).toMatch(
      /^name, mobile turned/,
    )
  })

  test('at 0 tolerates no loss, at 100 every loss but that of everything', () => {
    const strict = { maxFewerRows: 0, maxEmptied: 0 }
    expect(suspicion(hr(99), hr(100), [], strict)).not.toBeNull()
    expect(suspicion(hr(100, { mobile: 1 }), hr(100), [], strict)).not.toBeNull()
    expect(suspicion(hr(100), hr(100), [], strict)).toBeNull()
    const lax = { maxFewerRows: 100, maxEmptied: 100 }
    expect(suspicion(hr(1, { mobile: 1 }), hr(100), [], lax)).toBeNull()
  })

  test.each([
    [2, 0, false],
    [3, 0, true],
    [3, 20, true],
    [3, 30, false],
    [10, 60, true],
    [10, 100, false],
  ])(
    'has all rows read where %i newer ones are empty of which %i %% were before: %s',
    (rows, before, odd) => {
      expect(isEmptyThroughout(rows, column => column === 'mobile', hr(100, { mobile: before }))).toBe(odd)
    },
  )

  test('never stops a run that looks like the last one', () => {
    const counts = fc.record({
      rows: fc.integer({ min: 1, max: 1e7 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(counts, ({ rows, share }) => {
        const same = hr(rows, { mobile: Math.floor(rows * share) }, Math.floor((rows - 1) * share))
        expect(suspicion(same, same, [], { maxFewerRows: 0, maxEmptied: 0 })).toBeNull()
      }),
    )
  })
})

describe('rows of other sources', () => {
  const limits = { gate: LIMITS, breaker: { count: 50 } }
  const source = (rows: number, stray: number) => ({ ...hr(rows), stray })

  test('are cases while they are few, by number or by share', () => {
    expect(straying(source(10_000, 2000), null, limits)).toBeNull()
    expect(straying(source(60, 50), null, limits)).toBeNull()
    expect(straying(hr(60), null, limits)).toBeNull()
    expect(straying(hr(60, {}, 60), null, limits)).toBeNull()
  })

  test('are a mapping that broke when they are many, or all', () => {
    expect(worded(straying(source(10_000, 2001), null, limits))).toMatch(
      /^2001 of 10000 rows that HR delivers are of/,
    )
    expect(worded(straying(source(3, 3), null, limits))).toMatch(/^3 of 3 rows/)
  })

  test('are held against the rows that have a user id', () => {
    const keyless = (stray: number) => ({ ...hr(1000, {}, 600), stray })
    expect(straying(keyless(80), null, limits)).toBeNull()
    expect(straying(keyless(81), null, limits)).not.toBeNull()
  })

  test('are held against all rows where only newer ones were read', () => {
    expect(straying(source(60, 60), 10_000, limits)).toBeNull()
    expect(worded(straying(source(60, 60), 100, limits))).toMatch(/^60 of 60 rows/)
  })

  test('do not count as rows that are there', () => {
    expect(worded(suspicion(source(100, 30), hr(100), [], LIMITS))).toMatch(
      /^HR delivers 70 rows, 30 % fewer/,
    )
    expect(suspicion(source(100, 30), source(110, 40), [], LIMITS)).toBeNull()
  })
})

describe('a breaker', () => {
  test.each([
    [50, 100, false],
    [51, 100, true],
    [51, 1000, false],
    [100, 1000, false],
    [101, 1000, true],
    [0, 0, false],
    [51, 0, true],
  ])('of 50 or 10 %%: %i of %i trips: %s', (affected, total, tripped) => {
    expect(trips({ count: 50, percent: 10 }, affected, total)).toBe(tripped)
  })

  test('compares with a fraction of one entity where the percentage falls between two', () => {
    expect(trips({ count: 0, percent: 5 }, 1, 30)).toBe(false)
    expect(trips({ count: 0, percent: 5 }, 2, 30)).toBe(true)
  })

  test('is of no use where so few rows changed, or none at all', () => {
    const limits = { gate: LIMITS, breaker: { count: 50, percent: 10 } }
    expect(belowNotice(0, 0, limits)).toBe(true)
    expect(belowNotice(20, 100, limits)).toBe(true)
    expect(belowNotice(21, 100, limits)).toBe(false)
    expect(belowNotice(101, 1000, limits)).toBe(false)
  })

  test('of nothing holds every change, and of everything none', () => {
    expect(trips({ count: 0, percent: 0 }, 1, 1_000_000)).toBe(true)
    expect(trips({ count: 0, percent: 100 }, 1_000_000, 1_000_000)).toBe(false)
  })
})

/** Of rows that each are `active` and a department. */
function counted(...rows: string[][]): SourceStatistics {
  const hasher = new RowHasher(['enterprise_code', 'userid', 'active', 'dept_code'])
  hasher.push(
    Buffer.from(
      rows
        .flat()
        .map((row, i) => `\te${i}\t${row}\n`)
        .join(''),
    ),
  )
  return hasher.statistics
}
const rowsOf = (count: number, row: string) => Array<string>(count).fill(row)

describe('what HR keeps of leavers', () => {
  const filled = counted(rowsOf(10, 't\tD1'), rowsOf(30, 'f\tD1'))
  const { blank: _, ...before } = { ...filled, empty: { dept_code: 30 } }

  test.each([filled, before])('does not count when it turns empty', last => {
    expect(suspicion(counted(rowsOf(10, 't\tD1'), rowsOf(30, 'f\t\\N')), last, [], LIMITS)).toBeNull()
  })

  test('does not count of rows without a user id either, which are no employees', () => {
    const hasher = new RowHasher(['enterprise_code', 'userid', 'active', 'dept_code'])
    hasher.push(Buffer.from(`\te0\tt\t\\N\n\te1\tt\tD1\n${'\t\\N\tt\t\\N\n\t\tt\tD1\n'.repeat(3)}`))
    expect(hasher.statistics).toMatchObject({
      rows: 8,
      keyless: 6,
      active: 2,
      placed: 1,
      empty: { dept_code: 1 },
    })
    expect(emptyShare(hasher.statistics, 'dept_code')).toBe(0.5)
  })

  test('does not hide what others have lost', () => {
    const now = counted(rowsOf(7, 't\tD1'), rowsOf(3, 't\t\\N'), rowsOf(30, 'f\tD1'))
    expect(suspicion(now, filled, [], LIMITS)).toMatchObject({ key: 'said.emptied' })
    expect(mayHaveEmptied(now, filled, LIMITS)).toBe(true)
  })
})

describe('employees counted by department', () => {
  /** Ten in service with a department, and leavers whose row HR has emptied. */
  const last = (leavers: number) => counted(rowsOf(10, 't\tD1'), rowsOf(leavers, 'f\t\\N'))

  test.each([0, 3, 50])('are compared with those in service, beside %i leavers without one', leavers => {
    expect(missingEmployees(10, last(leavers), LIMITS)).toBeNull()
    expect(missingEmployees(7, last(leavers), LIMITS)).toMatchObject({ values: { counted: 7, before: 10 } })
  })

  test('are compared with at least none, where an earlier version did not count them', () => {
    const { placed: _, blank: __, ...others } = last(50)
    const earlier = { ...others, empty: { dept_code: 50 } }
    expect(missingEmployees(10, earlier, LIMITS)).toBeNull()
    expect(missingEmployees(0, earlier, LIMITS)).toBeNull()
  })
})

test('enterprises that leave are named with their employees: those with the most, and how many others there are', () => {
  const missing = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ code: `E${i}`, employees: i }))
  const said = (of: UndeliveredEnterprise[]) => inEnglish(enterprisesLeave(of) ?? [])
  expect(said([...missing(3), { code: '', employees: 9 }])).toContain(
    ': without a code (9); E2 (2); E1 (1); E0 (0). They',
  )
  expect(said(missing(6))).toContain(': E5 (5); E4 (4); E3 (3); E2 (2); E1 (1); E0 (0). They')
  expect(said(missing(8))).toContain(': E7 (7); E6 (6); E5 (5); E4 (4); E3 (3); 3 others (3). They')
})
