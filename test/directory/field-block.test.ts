import { describe, expect, test } from 'vitest'
import {
  codesOf,
  covers,
  type FieldBlock,
  type FieldRefusal,
  isAmong,
  isWithheld,
  toBlock,
} from '../../src/directory/difference.ts'
import { fieldHash } from '../../src/directory/hash.ts'

const refusal = (userid: string, valueHash: string, codes: string[] | null = null): FieldRefusal => ({
  userid,
  valueHash,
  codes,
})
/** What the last of some refusals blocks. */
const after = (...refusals: FieldRefusal[]) => toBlock(refusals.at(-1) as FieldRefusal, refusals)

describe('a field is blocked', () => {
  test('not by one refusal, nor by two of one employee', () => {
    expect(after(refusal('e1', 'x'))).toBeNull()
    expect(after(refusal('e1', 'x'), refusal('e1', 'y'))).toBeNull()
  })

  test('by refusals of two employees with different values', () => {
    expect(after(refusal('e1', 'x'), refusal('e2', 'y'))).toEqual({ codes: null })
  })

  test('by refusals of one value only when there are many', () => {
    const refused = ['e1', 'e2', 'e3', 'e4', 'e5'].map(userid => refusal(userid, 'x'))
    expect(after(...refused.slice(0, 4))).toBeNull()
    expect(after(...refused)).toEqual({ codes: null })
  })
})

describe('of attributes', () => {
  test('the codes are blocked that all of those refused had', () => {
    expect(after(refusal('e1', 'x', ['a']), refusal('e2', 'y', ['a']))).toEqual({ codes: ['a'] })
    expect(after(refusal('e1', 'x', ['a']), refusal('e2', 'y', ['a', 'b']))).toEqual({ codes: ['a'] })
    expect(after(refusal('e1', 'x', ['a', 'b']), refusal('e2', 'y', ['a']))).toEqual({ codes: ['a'] })
  })

  test('the fewest codes are blocked that explain the refusals, whichever came first', () => {
    const wide = refusal('e2', 'y', ['a', 'b'])
    expect(after(wide, refusal('e1', 'x', ['a']), refusal('e3', 'z', ['a', 'b']))).toEqual({ codes: ['a'] })
  })

  test('codes that the latest value does not have are not blocked', () => {
    expect(after(refusal('e1', 'x', ['z']), refusal('e2', 'y', ['z']), refusal('e3', 'w', ['a']))).toBeNull()
  })

  test('one block of several is enough', () => {
    const block = (field: FieldBlock['field']): FieldBlock => ({
      ...{ field, codes: null, probing: false, refusedHash: null },
    })
    expect(isAmong('remark', 'x', [block('name'), block('remark')])).toBe(true)
    expect(isAmong('remark', 'x', [block('name')])).toBe(false)
  })

  test('two employees with a wrong code each block nothing', () => {
    expect(after(refusal('e1', 'x', ['typo']), refusal('e2', 'y', ['other typo']))).toBeNull()
    expect(after(refusal('e1', 'x', ['a', 'typo']), refusal('e2', 'y', ['a', 'other']))).toBeNull()
  })

  test('codes that PostgreSQL cannot store are made storable', () => {
    const value = JSON.stringify([{ attributeCode: 'a\0b\ud800', attributeValue: 'x' }])
    expect(codesOf('employee_attribute', value)).toEqual(['ab\ufffd'])
    expect(codesOf('employee_attribute', null)).toEqual([])
  })

  test('a block is about values that have all codes of a list', () => {
    expect(covers([['a', 'b']], ['a', 'b', 'c'])).toBe(true)
    expect(covers([['a', 'b'], ['c']], ['c'])).toBe(true)
    expect(covers([['a', 'b']], ['a'])).toBe(false)
    expect(covers(null, ['a'])).toBe(true)
  })
})

describe('a blocked field', () => {
  const block = (differs: Partial<FieldBlock> = {}): FieldBlock => ({
    field: 'level',
    codes: null,
    probing: false,
    refusedHash: null,
    ...differs,
  })

  test('is withheld, and no other', () => {
    expect(isWithheld('level', 'P1', [block()])).toBe(true)
    expect(isWithheld('category', 'driver', [block()])).toBe(false)
  })

  test('is sent by the probing employee', () => {
    expect(isWithheld('level', 'P1', [block({ probing: true })])).toBe(false)
  })

  test('is tried once HR has another value than the one that was refused', () => {
    const refused = block({ refusedHash: fieldHash('level', 'P1') })
    expect(isWithheld('level', 'P1', [refused])).toBe(true)
    expect(isWithheld('level', 'P2', [refused])).toBe(false)
  })

  test('of attributes is withheld from values with the blocked codes', () => {
    const attributes = block({ field: 'employee_attribute', codes: [['contract']] })
    const value = (code: string) => JSON.stringify([{ attributeCode: code, attributeValue: 'x' }])
    expect(isWithheld('employee_attribute', value('contract'), [attributes])).toBe(true)
    expect(isWithheld('employee_attribute', value('taxpayer'), [attributes])).toBe(false)
  })
})
