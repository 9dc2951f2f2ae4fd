import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../../src/directory/employee.ts'
import { formOf, hideValue, maskTold, maskValue } from '../../src/directory/masking.ts'

test('a value that breaks a rule shows its length and nothing of itself', () => {
  expect(hideValue('13812345678')).toBe('**** (11)')
  expect(hideValue('𠮷乙')).toBe('**** (2)')
  expect([hideValue(null), hideValue('')]).toEqual([null, ''])
})

test.each([
  ['13812345678', '99999999999'],
  ['+86 138-1234', '+99 999-9999'],
  ['甲乙丙', '字字字'],
  ['Ann.Lee＠example.com', 'Aaa.Aaa＠aaaaaaa.aaa'],
  ['１２\n三', '99 字'],
  ['a\r\nb', 'a a'],
  ['2024-02-29 12:00:00.123', '9999-99-99 99:99:99.…'],
])('the form of %j is %j, whatever it says', (value, form) => {
  expect(formOf(value)).toBe(form)
})

describe('maskTold', () => {
  const told = {
    name: 'Li Ming',
    card_no: 'NXF4K2RL7',
    remark: 'on leave',
    employee_attribute: '[{"attributeCode":"a","attributeValue":"say \\"hi\\""}]',
    mobile: '13800000000',
  }

  test.each<[string, string, string, string?]>([
    ['what the call was about', 'Li Ming (on leave) exists', '**** (7) (**** (8)) exists'],
    ['the same in other letters', 'LI MING exists', '**** (7) exists'],
    ['what stands for something else in a pattern', 'a.b*(c) is bad', '**** (7) is bad', 'a.b*(c)'],
    ['a passport of few digits', 'card_no nxf4k2rl7 exists', 'card_no **** (9) exists'],
    ['values of extended fields', 'bad value say "hi"', 'bad value **** (8)'],
  ])('hides %s', (_, text, masked, name = told.name) =>
    expect(maskTold(text, { ...told, name })).toBe(masked),
  )

  test('the longest first, and no single character', () => {
    expect(maskTold('Li Ming Li L', { name: 'Li', remark: 'Li Ming' })).toBe('**** (7) **** (2) L')
    expect(maskTold('L', { name: 'L' })).toBe('L')
  })
})

describe('maskValue', () => {
  test('of an address shows the first character and the host', () => {
    expect(maskValue('email', 'a@hr.example')).toBe('a***@hr.example')
  })

  test.each<[EmployeeField, string, string]>([
    ['name', '甲乙丙', '甲*'],
    ['name', '𠮷乙', '𠮷*'],
    ['mobile', '13812345678', '138****5678'],
    ['mobile', '51234567', '5****67'],
    ['email', 'someone@example.com', 's***@example.com'],
    ['email', '@example.com', '***'],
    ['email', 'broken', '***'],
    ['card_no', '11010519491231002X', '110****2X'],
    ['card_no', 'E12345678', 'E****78'],
    ['card_no', 'E1', '****'],
    ['mobile', '😀😀123456', '😀****56'],
    ['mobile', '1234567890😀', '123****890😀'],
    ['card_no', '𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙', '𝟙****𝟙𝟙'],
    ['birth_day', '1990-05-17', '****-05-17'],
    ['birth_day', '05-17', '05-17'],
    ['birth_day', '19900517', '**** (8)'],
    ['birth_day', '1990/05/17', '**** (10)'],
    ['birth_day', '1990-05-17 00:00:00', '**** (19)'],
    ['remark', '甲乙 note', '**** (7)'],
    [
      'employee_attribute',
      '[{"attributeCode":"a\\"b","attributeValue":"v"},{"attributeCode":"c","attributeValue":"w"}]',
      'a"b=***, c=***',
    ],
    ['employee_attribute', '[{"attributeCode":"a\\x","attributeValue":"v"}]', 'a\\x=***'],
    ['employee_attribute', '{"nature":"formal"}', '**** (19)'],
    ['employee_attribute', '[{"attributeCode":"a\nb"},{"attributeCode":"c\\n"}]', 'a\nb=***, c\n=***'],
  ])('%s %j is shown as %j', (field, value, shown) => {
    expect(maskValue(field, value)).toBe(shown)
  })

  test.each<EmployeeField>([
    'corp_code',
    'gender',
    'card_type',
    'mobile_area',
    'dept_code',
    'level',
    'category',
    'entry_day',
    'cost_center_id',
  ])('%s is shown as it is', field => expect(maskValue(field, 'x1')).toBe('x1'))

  test('null and the empty text hide nothing', () => {
    for (const field of EMPLOYEE_FIELDS) {
      expect(maskValue(field, null)).toBeNull()
      expect(maskValue(field, '')).toBe('')
    }
  })

  test('a mobile or a document number never shows more than two thirds of itself', () => {
    const fields = fc.constantFrom<EmployeeField>('mobile', 'card_no')
    fc.assert(
      fc.property(fields, fc.stringMatching(/^[0-9A-Z]{1,20}$/), (field, value) => {
        const shown = (maskValue(field, value) ?? '').replaceAll('*', '')
        expect(shown.length).toBeLessThanOrEqual((value.length * 2) / 3)
      }),
    )
  })

  test('no character is ever cut in two, and no text of HR is refused', () => {
    const piece = fc.oneof(
      fc.constantFrom('"attributeCode":"', '"', '\\', '\\ud83d', '@', '-', '1'),
      fc.string({ unit: 'binary', maxLength: 4 }),
    )
    const texts = fc.array(piece, { maxLength: 12 }).map(pieces => pieces.join(''))
    fc.assert(
      fc.property(fc.constantFrom(...EMPLOYEE_FIELDS), texts, (field, value) => {
        const masked = maskValue(field, value) ?? ''
        expect(masked.isWellFormed()).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})
