import { describe, expect, test } from 'vitest'
import { foldedValue, type UniqueColumn } from '../../src/workbench/likeness.ts'

const folded = (column: UniqueColumn, value: string, area: string | null = null) =>
  foldedValue(column, { [column]: value, ...(area === null ? {} : { mobile_area: area }) })

describe('values are the same to the platform, however they are written', () => {
  test.each<[UniqueColumn, string[]]>([
    ['userid', ['E1', 'e1', 'Ｅ１', 'E 1', '\u200bE1']],
    [
      'mobile',
      ['19900000001', '+86 199-0000-0001', '0086 19900000001', '8619900000001', '１９９００００ ０００１'],
    ],
    ['email', ['a@example.com', 'A@Example.com', ' ａ＠example.com']],
    ['corp_code', ['W1', 'w1', 'Ｗ 1']],
    ['card_no', ['99001519651010010x', '990015 19651010 010X', '990015-19651010-010X']],
  ])('%s %j', (column, writings) => {
    expect(new Set(writings.map(value => folded(column, value))).size).toBe(1)
  })

  test.each<[UniqueColumn, string, string]>([
    ['userid', 'E-1', 'E1'],
    ['email', 'a-b@example.com', 'ab@example.com'],
    ['mobile', '19900000001', '+852 19900000002'],
    ['corp_code', 'W1', 'W01'],
  ])('%s %j is another one than %j', (column, one, other) => {
    expect(folded(column, one)).not.toBe(folded(column, other))
  })

  test('a number is one employee’s whatever its area code, in front or beside it', () => {
    expect(folded('mobile', '+852 91234567')).toBe(folded('mobile', '91234567', '852'))
    expect(folded('mobile', '91234567', '853')).toBe(folded('mobile', '91234567', '852'))
    expect(folded('mobile', '+852 91234567')).toBe(folded('mobile', '91234567'))
  })

  test('empty values are not shared', () => {
    for (const value of ['', ' ', '\u3000']) expect(folded('mobile', value)).toBeNull()
  })

  test('numbers that break a rule are compared all the same', () => {
    expect(folded('mobile', '123-45')).toBe(folded('mobile', '12345'))
  })
})
