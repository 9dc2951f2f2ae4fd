import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toDesired } from '../../src/directory/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../../src/directory/employee.ts'
import type { Message } from '../../src/texts/message.ts'

type Row = Record<string, string | null>

/** The normalised fields of a row whose columns are those given. */
function fieldsOf(row: Row) {
  const result = toDesired({ userid: 'u1', ...row }, Object.keys(row))
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('; '))
  return result.desired.fields
}

/** `field rule` of every problem of a row whose columns are those given. */
function problemsOf(row: Row): string[] {
  const result = toDesired({ userid: 'u1', ...row }, Object.keys(row))
  return result.ok ? [] : result.problems.map(({ field, rule }) => `${field} ${rule}`)
}

describe('a row that is sound', () => {
  test('comes out canonical in every field', () => {
    const row = {
      enterprise_code: 'E1',
      userid: 'u1',
      active: 'Y',
      updated_at: '2026-01-01 00:00:00+08',
      name: '\u3000甲乙 ',
      corp_code: 'ａ１２',
      gender: '１',
      card_no: '11010519491231002x',
      email: ' a.b@example.com\u00a0',
      mobile_area: '0086',
      mobile: '138 1234-5678',
      remark: ' note ',
      dept_code: ' D1',
      level: 'P7 ',
      category: 'b, a，b,',
      birth_day: '1949/12/31',
      entry_day: '2020-02-29 00:00:00',
      cost_center_id: '007',
      employee_attribute: '{"z":"1","a":2}',
    }
    expect(toDesired(row, Object.keys(row))).toEqual({
      ok: true,
      desired: {
        key: { enterpriseCode: 'E1', userid: 'u1' },
        active: true,
        fields: {
          name: '甲乙',
          corp_code: 'a12',
          gender: '1',
          card_type: '1',
          card_no: '11010519491231002X',
          email: 'a.b@example.com',
          mobile_area: '86',
          mobile: '13812345678',
          remark: 'note',
          dept_code: 'D1',
          level: 'P7',
          category: 'a,b',
          birth_day: '1949-12-31',
          entry_day: '2020-02-29',
          cost_center_id: '7',
          employee_attribute:
            '[{"attributeCode":"a","attributeValue":"2"},{"attributeCode":"z","attributeValue":"1"}]',
        },
      },
    })
  })

  test('has null for every mapped column that is empty, blank or null', () => {
    for (const empty of [null, '', '\u3000\u200b']) {
      const row = Object.fromEntries(EMPLOYEE_FIELDS.map(field => [field, empty]))
      expect(fieldsOf(row)).toEqual(Object.fromEntries(EMPLOYEE_FIELDS.map(field => [field, null])))
    }
  })

  test('leaves out what the mapping leaves out, but keeps the pairs whole', () => {
    expect(fieldsOf({ name: 'n' })).toEqual({ name: 'n' })
    expect(fieldsOf({ mobile: '51234567' })).toEqual({ mobile_area: '86', mobile: '51234567' })
    expect(fieldsOf({ card_no: 'e1234567' })).toEqual({ card_type: '2', card_no: 'E1234567' })
  })

  test('takes the document type from the number where HR has none', () => {
    expect(fieldsOf({ card_type: null, card_no: '440524188001010014' }).card_type).toBe('1')
    expect(fieldsOf({ card_type: '2', card_no: '440524188001010014' }).card_type).toBe('2')
    expect(fieldsOf({ card_type: '1', card_no: null })).toEqual({ card_type: null, card_no: null })
    expect(fieldsOf({ card_type: '2', card_no: '11010519491231002' }).card_type).toBe('2')
    expect(fieldsOf({ card_no: 'USA110078010101' }).card_type).toBe('2')
  })

  test('says where a passport is merely assumed, because HR has no document type', () => {
    const assumes = (row: Row) => {
      const result = toDesired({ userid: 'u1', ...row }, Object.keys(row))
      return result.ok && result.desired
    }
    const key = { enterpriseCode: '', userid: 'u1' }
    for (const row of [{ card_no: 'E1234567' }, { card_type: ' ', card_no: 'E1234567' }])
      expect(assumes(row)).toMatchObject({ key, assumesPassport: true })
    for (const row of [
      { card_type: '2', card_no: 'E1234567' },
      { card_no: '11010519491231002X' },
      { card_type: null, card_no: null },
    ])
      expect(assumes(row)).not.toHaveProperty('assumesPassport')
  })

  test('of a leaver has the fields that are sound, and none that is not', () => {
    const row = { active: 'f', name: 'n', mobile: '***', card_no: '1101**********002X', gender: '保密' }
    expect(fieldsOf(row)).toEqual({ name: 'n' })
  })

  test.each([
    ['t', true],
    ['TRUE', true],
    ['1', true],
    ['y', true],
    ['Yes', true],
    [null, true],
    [' ', true],
    ['\t\u200b', true],
    ['f', false],
    ['False', false],
    ['0', false],
    ['N', false],
    ['no', false],
  ])('active %j is %j', (active, wanted) => {
    expect(toDesired({ userid: 'u1', active }, ['userid', 'active'])).toMatchObject({
      desired: { active: wanted },
    })
  })
})

describe('categories and extended fields', () => {
  test.each([
    ['b,a', 'a,b'],
    ['["b","a","b"]', 'a,b'],
    ['甲，乙', '乙,甲'],
    [',,', null],
    ['[]', null],
    ['"Manager"', 'Manager'],
    ['""', null],
    ['"A" team', '"A" team'],
    ['nullable', 'nullable'],
  ])('category %j is %j', (text, wanted) => {
    expect(fieldsOf({ category: text })).toEqual({ category: wanted })
  })

  test.each([
    ['[{"attributeCode":"b","attributeValue":" x "},{"attributeCode":"a","attributeValue":null}]', 'b', 'x'],
    ['{"k":"v","empty":""}', 'k', 'v'],
    ['{"k":9007199254740991}', 'k', '9007199254740991'],
    ['[{"attributeCode":"b","attributeValue":"x"},{"attributeCode":"a"}]', 'b', 'x'],
  ])('employee_attribute %j keeps what has a value', (text, code, value) => {
    const wanted = JSON.stringify([{ attributeCode: code, attributeValue: value }])
    expect(fieldsOf({ employee_attribute: text })).toEqual({ employee_attribute: wanted })
  })

  test('extended fields come out the same in whatever order HR has them', () => {
    const attributes = fc.uniqueArray(
      fc.tuple(fc.stringMatching(/^[a-z甲]{1,3}$/), fc.stringMatching(/^[a-z]$/)),
      {
        selector: ([code]) => code,
        minLength: 1,
      },
    )
    const written = (pairs: [string, string][]) =>
      fieldsOf({ employee_attribute: JSON.stringify(Object.fromEntries(pairs)) })
    fc.assert(
      fc.property(attributes, pairs => {
        const { employee_attribute } = written(pairs)
        expect(written(pairs.toReversed()).employee_attribute).toBe(employee_attribute)
        const codes = JSON.parse(employee_attribute ?? '').map(({ attributeCode }: Row) => attributeCode)
        expect(codes).toEqual(pairs.map(([code]) => code).sort())
      }),
    )
  })

  test.each(['null', '[]', '{}', '{"a":null}'])('employee_attribute %j is empty', text => {
    expect(fieldsOf({ employee_attribute: text })).toEqual({ employee_attribute: null })
  })

  test.each([
    ['{', 'format'],
    ['"a"', 'format'],
    ['[1]', 'format'],
    ['["a"]', 'format'],
    ['[null]', 'format'],
    ['[{"attributeCode":1,"attributeValue":"1"}]', 'format'],
    ['[{"code":"a"}]', 'format'],
    ['[{"attributeCode":"a","attributeValue":"1","more":1}]', 'format'],
    ['{"a":9007199254740993}', 'format'],
    ['{"a":true}', 'format'],
    [String.raw`{"a":"\udc00"}`, 'format'],
    [String.raw`[{"attributeCode":"\udc00","attributeValue":"1"}]`, 'format'],
    ['{"":"x"}', 'length'],
    [`{"a":"${'x'.repeat(101)}"}`, 'length'],
    ['[{"attributeCode":"a","attributeValue":"1"},{"attributeCode":"a","attributeValue":"2"}]', 'duplicate'],
  ])('employee_attribute %j breaks the rule %s', (text, rule) => {
    expect(problemsOf({ employee_attribute: text })).toEqual([`employee_attribute ${rule}`])
  })
})

describe('an invalid row', () => {
  test('reports all its problems at once', () => {
    const row: Row = {
      enterprise_code: 'E'.repeat(21),
      userid: '\u00a0u',
      active: 'perhaps',
      name: '甲'.repeat(51),
      corp_code: 'A-1',
      gender: 'male',
      card_type: '3',
      card_no: '110101199001010010',
      email: 'a@b@c',
      mobile_area: 'CN',
      mobile: '123',
      remark: 'r'.repeat(255),
      dept_code: 'd'.repeat(51),
      level: 'l'.repeat(51),
      category: '[1]',
      birth_day: '1990-02-30',
      entry_day: '02-28',
      cost_center_id: '2147483648',
      employee_attribute: '[',
    }
    const result = toDesired(row, Object.keys(row))
    expect(result.ok).toBe(false)
    expect(problemsOf(row)).toEqual([
      'enterprise_code too_long',
      'userid format',
      'active one_of',
      'name too_long',
      'corp_code format',
      'gender one_of',
      'card_type one_of',
      'card_no check_digit',
      'email format',
      'mobile_area format',
      'mobile format',
      'remark too_long',
      'dept_code too_long',
      'level too_long',
      'category format',
      'birth_day date',
      'entry_day date',
      'cost_center_id range',
      'employee_attribute format',
    ])
  })

  test.each<[Row, string]>([
    [{ userid: null }, 'userid required'],
    [{ enterprise_code: ' E1' }, 'enterprise_code format'],
    [{ userid: 'u'.repeat(101) }, 'userid too_long'],
    [{ corp_code: 'A'.repeat(21) }, 'corp_code format'],
    [{ corp_code: '工1' }, 'corp_code format'],
    [{ gender: '4' }, 'gender one_of'],
    [{ card_no: '110101199013010017' }, 'card_no birth_date'],
    [{ card_type: '1', card_no: 'E12345678' }, 'card_no format'],
    [{ card_no: 'E-12' }, 'card_no format'],
    [{ card_no: '11010519491231002' }, 'card_no format'],
    [{ card_no: '1101051949123102X' }, 'card_no format'],
    [{ card_no: '11010519491231O02X' }, 'card_no format'],
    [{ card_type: null, card_no: '123456789' }, 'card_no format'],
    [{ card_no: 'A12345678901234' }, 'card_no format'],
    [{ active: 'f', userid: 'u'.repeat(101), mobile: '***' }, 'userid too_long'],
    [{ card_no: 'E'.repeat(21) }, 'card_no format'],
    [{ email: 'nobody' }, 'email format'],
    [{ email: 'a b@c' }, 'email format'],
    [{ email: '@c' }, 'email format'],
    [{ email: `${'a'.repeat(99)}@c` }, 'email too_long'],
    [{ mobile_area: '852', mobile: '+86 13812345678' }, 'mobile mobile_area_conflict'],
    [{ level: '#default#' }, 'level reserved'],
    [{ category: 'a,#default#' }, 'category reserved'],
    [{ category: '["a,b"]' }, 'category format'],
    [{ category: '["a"' }, 'category format'],
    [{ category: ',[a' }, 'category format'],
    [{ category: '["\\ud800"]' }, 'category format'],
    [{ category: '"a,b"' }, 'category format'],
    [{ category: '["\\"a\\""]' }, 'category format'],
    [{ category: 'null' }, 'category format'],
    [{ category: '["null"]' }, 'category format'],
    [{ category: '{"name": "Manager"}' }, 'category format'],
    [{ category: '{Manager,Driver}' }, 'category format'],
    [{ birth_day: '02-30' }, 'birth_day date'],
    [{ cost_center_id: '0' }, 'cost_center_id range'],
    [{ cost_center_id: '1.5' }, 'cost_center_id range'],
  ])('%j breaks %s', (row, problem) => {
    expect(problemsOf(row)).toEqual([problem])
  })

  test.each<[Row, Message]>([
    [{ userid: '' }, { key: 'said.not_empty', values: { field: 'userid' } }],
    [{ userid: 'u'.repeat(101) }, { key: 'said.too_long', values: { field: 'userid', limit: 100 } }],
    [
      { enterprise_code: 'E'.repeat(21) },
      { key: 'said.too_long', values: { field: 'enterprise_code', limit: 20 } },
    ],
    [{ enterprise_code: 'E1\u200b' }, { key: 'said.edges', values: { field: 'enterprise_code' } }],
    [{ userid: ' u' }, { key: 'said.edges', values: { field: 'userid' } }],
    [{ active: 'perhaps' }, { key: 'said.active_form' }],
    [{ active: '\0' }, { key: 'said.active_form' }],
    [{ active: ' \u0001' }, { key: 'said.active_form' }],
    [{ name: 'n'.repeat(51) }, { key: 'said.too_long', values: { field: 'name', limit: 50 } }],
    [{ birth_day: 'soon' }, { key: 'said.date_forms', values: { field: 'birth_day' } }],
    [{ entry_day: '05-17' }, { key: 'said.date_form', values: { field: 'entry_day' } }],
  ])('%j is told as %j', (row, told) => {
    const result = toDesired({ userid: 'u1', ...row }, Object.keys(row))
    expect(result.ok || result.problems.map(({ message }) => message)).toEqual([told])
  })
})

test.each<Row>([
  { cost_center_id: '1' },
  { cost_center_id: '2147483647' },
  { card_no: '1A2345678' },
  { card_no: 'A1234567890123' },
])('%j is at the edge of what may be sent', row => {
  expect(problemsOf(row)).toEqual([])
})

test.each<[EmployeeField, number]>([
  ['name', 50],
  ['remark', 254],
  ['dept_code', 50],
  ['level', 50],
])('%s takes %i characters, of whatever script, and not one more', (field, limit) => {
  for (const character of ['a', '甲', '𠮷']) {
    expect(problemsOf({ [field]: character.repeat(limit) })).toEqual([])
    expect(problemsOf({ [field]: character.repeat(limit + 1) })).toEqual([`${field} too_long`])
  }
})

describe('for any row at all', () => {
  const typed = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...'0123456789１８-/.+,@aX甲\u3000 {}[]":#'), maxLength: 24 }),
    fc.constantFrom(
      '13812345678',
      '+852 51234567',
      '11010519491231002x',
      'a@b.c',
      '1990-5-7',
      '05-17',
      '{"a":"b"}',
      'b,a',
    ),
    fc.constant(null),
  )
  const anyRow = fc.record({
    enterprise_code: fc.constantFrom('', 'E1'),
    userid: fc.stringMatching(/^[a-z0-9]{1,8}$/),
    active: fc.constantFrom(null, 't', 'f', 'No'),
    ...(Object.fromEntries(EMPLOYEE_FIELDS.map(field => [field, typed])) as Record<
      EmployeeField,
      typeof typed
    >),
  })
  const columns = ['enterprise_code', 'userid', 'active', ...EMPLOYEE_FIELDS]

  test('what comes out canonical stays as it is when it goes in again, field by field', () => {
    fc.assert(
      fc.property(anyRow, row => {
        for (const field of EMPLOYEE_FIELDS) {
          const pair = { mobile_area: 'mobile', card_type: 'card_no' }[field as string] ?? field
          const mapped = [...new Set([field, pair])]
          const first = toDesired(row, mapped)
          if (!first.ok) continue
          const again = toDesired({ userid: row.userid, ...first.desired.fields }, mapped)
          expect(again).toMatchObject({ ok: true, desired: { fields: first.desired.fields } })
        }
      }),
      { numRuns: 500 },
    )
  })

  test('it is either desired with every mapped field, or has problems whose messages hold none of its values', () => {
    fc.assert(
      fc.property(anyRow, row => {
        const marked = Object.fromEntries(
          Object.entries(row).map(([column, value]) => [column, value === null ? null : `${value}§7`]),
        )
        for (const candidate of [row, marked]) {
          const result = toDesired(candidate, columns)
          if (result.ok && result.desired.active)
            expect(Object.keys(result.desired.fields).sort()).toEqual([...EMPLOYEE_FIELDS].sort())
          else if (!result.ok) {
            expect(result.problems.length).toBeGreaterThan(0)
            for (const { message } of result.problems) expect(JSON.stringify(message)).not.toContain('§7')
          }
        }
      }),
      { numRuns: 500 },
    )
  })
})
