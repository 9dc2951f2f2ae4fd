import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { normaliseMobile, normaliseMobileArea, RuleBreak } from '../../src/directory/field-rules.ts'

describe('mobile', () => {
  test.each([
    ['13812345678', null, '86', '13812345678'],
    ['138 1234 5678', null, '86', '13812345678'],
    ['138-1234-5678', '86', '86', '13812345678'],
    ['\u3000１３８１２３４５６７８\u200b', null, '86', '13812345678'],
    ['+86 138 1234 5678', null, '86', '13812345678'],
    ['+86-13812345678', '86', '86', '13812345678'],
    ['0086 13812345678', null, '86', '13812345678'],
    ['8613812345678', null, '86', '13812345678'],
    ['013812345678', null, '86', '13812345678'],
    ['+86 (0)138 1234 5678', null, '86', '13812345678'],
    ['86 013812345678', '86', '86', '13812345678'],
    ['86 13812345678', '86', '86', '13812345678'],
    ['＋８５２ 5123 4567', null, '852', '51234567'],
    ['+852 51234567', '852', '852', '51234567'],
    ['00852 51234567', '852', '852', '51234567'],
    ['51234567', '852', '852', '51234567'],
    ['+1 (415) 555-0132', null, '1', '4155550132'],
    ['+1 809 555 0132', '1809', '1809', '5550132'],
    ['+44.7700.900123', null, '44', '7700900123'],
    ['+7 912 345-67-89', null, '7', '9123456789'],
    ['086-13812345678', null, '86', '13812345678'],
    ['08613812345678', '86', '86', '13812345678'],
    ['+086-13812345678', null, '86', '13812345678'],
    ['+0086 13812345678', null, '86', '13812345678'],
    ['(086)13812345678', null, '86', '13812345678'],
    ['+00852 51234567', null, '852', '51234567'],
    ['13812345-678', null, '86', '13812345678'],
    ['010-12345678', null, '86', '01012345678'],
    ['0755-12345678', null, '86', '075512345678'],
    ['+86 755 1234 5678', null, '86', '75512345678'],
    ['+14155550132', null, '1', '4155550132'],
    ['+13105550123', null, '1', '3105550123'],
    ['+1(4155550132)', null, '1', '4155550132'],
    ['0912345-678', '886', '886', '0912345678'],
    ['1 42 68 53 00', '33', '33', '142685300'],
    ['00-1-415-555-0132', null, '1', '4155550132'],
    ['+8529123 4567', null, '852', '91234567'],
    ['13800138000.0', null, '86', '13800138000'],
    ['+8613800138000.0', null, '86', '13800138000'],
    ['8613800138000.00', '86', '86', '13800138000'],
    ['51234567.0', '852', '852', '51234567'],
    ['(+852) 6123 4567', null, '852', '61234567'],
    ['（00852）61234567', null, '852', '61234567'],
    ['(86)13812345678', null, '86', '13812345678'],
    ['(138)1234 5678', null, '86', '13812345678'],
    ['(415) 555-0132', '1', '1', '4155550132'],
    ['1-415-555-0132', '1', '1', '4155550132'],
    ['1 (310) 555-0123', '1', '1', '3105550123'],
    ['12125550123', '1', '1', '2125550123'],
  ])('%j with area %j is area %j, number %j', (text, area, wantedArea, wantedMobile) => {
    expect(normaliseMobile(text, area)).toEqual({ area: wantedArea, mobile: wantedMobile })
  })

  test.each([
    '12345',
    '1'.repeat(21),
    '138a2345678',
    '+',
    '00',
    '+8613',
    '138/139',
    '++8613812345678',
    '0000000000',
    '(852)61234567',
    '（852）6123 4567',
    '(010)12345678',
    '甲',
    // an extension, or a second number
    '13812345678-801',
    '13812345678(801)',
    '13812345678 62345678',
    '86-86-13812345678',
    '138123456789',
    // no number of North America: a mainland number without its 86
    '+13800138000',
    '+138 0013 8000',
    '0013800138000',
    '+1 415-555-0132-99',
  ])('%j is refused', text => {
    expect(normaliseMobile(text, null)).toMatchObject({ rule: 'format' })
  })

  test.each([
    ['13800138000', '1'],
    // These are American numbers without the 1, and mainland numbers with it.
    ['13805234567', '1'],
    ['138-0523-4567', '1'],
    ['+1 13805234567', '1'],
    ['13805234567.0', '1'],
    ['13812345678-801', '86'],
  ])('%j is no number of area %j', (text, area) => {
    expect(normaliseMobile(text, area)).toMatchObject({ rule: 'format' })
  })

  test.each([
    ['+852 51234567', '86'],
    ['0086 13812345678', '852'],
    ['+13812345678', '86'],
  ])('%j carries another area code than its column, %j', (text, area) => {
    expect(normaliseMobile(text, area)).toMatchObject({ rule: 'mobile_area_conflict' })
  })

  test('a number that may begin with its area code in brackets is refused', () => {
    expect(normaliseMobile('(852)61234567', '852')).toMatchObject({ rule: 'format' })
    expect(normaliseMobile('(1) 415 555 0132', '1')).toMatchObject({ rule: 'format' })
  })

  test('nothing but blanks and hyphens is no number', () => {
    expect(normaliseMobile(' \u3000-', null)).toBeNull()
    expect(normaliseMobile('', '852')).toBeNull()
  })

  test('whatever is accepted has 6 to 20 digits and stays as it is when it comes back', () => {
    const text = fc.string({
      unit: fc.constantFrom(...'0123456789861100 +-().\u3000８６'),
      minLength: 4,
      maxLength: 26,
    })
    const area = fc.constantFrom(null, '86', '852', '1')
    fc.assert(
      fc.property(text, area, (typed, mapped) => {
        const first = normaliseMobile(typed, mapped)
        if (first === null || first instanceof RuleBreak) return
        expect(first.mobile).toMatch(/^\d{6,20}$/)
        expect(normaliseMobile(first.mobile, first.area)).toEqual(first)
      }),
      { numRuns: 2000 },
    )
  })

  test('a refusal never repeats the number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10_000, max: 99_999 }), short => {
        const refusal = normaliseMobile(String(short), null)
        expect(JSON.stringify(refusal)).not.toContain(String(short))
      }),
    )
  })
})

describe('mobile_area', () => {
  test.each([
    ['86', '86'],
    ['+86', '86'],
    ['0086', '86'],
    ['+0086', '86'],
    ['８５２', '852'],
    ['1-809', '1809'],
    ['86.0', '86'],
    ['852.00', '852'],
    [' \u3000', null],
  ])('%j is %j', (text, wanted) => {
    expect(normaliseMobileArea(text)).toBe(wanted)
  })

  test.each(['CN', '0', '8 6a', '12345678901'])('%j is refused', text => {
    expect(normaliseMobileArea(text)).toMatchObject({ rule: 'format' })
  })
})
