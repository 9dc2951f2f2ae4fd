import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toActual } from '../../src/directory/desired.ts'
import { diffEmployee, isAnotherPerson, unitOf, updateParams } from '../../src/directory/difference.ts'
import {
  type DesiredEmployee,
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeFields,
} from '../../src/directory/employee.ts'
import { type AcknowledgedHashes, fieldHash, hashFields } from '../../src/directory/hash.ts'

function desiring(fields: EmployeeFields): DesiredEmployee {
  return { key: { enterpriseCode: '', userid: 'u1' }, active: true, fields }
}

function unitsOf(desired: EmployeeFields, actual: EmployeeFields, acknowledged: AcknowledgedHashes = {}) {
  return diffEmployee({ desired: desiring(desired), actual, acknowledged }).map(({ unit }) => unit)
}

function paramsOf(desired: EmployeeFields, actual: EmployeeFields) {
  const employee = desiring(desired)
  return updateParams(employee, actual, diffEmployee({ desired: employee, actual, acknowledged: {} }))
}

test('another person is one whose name and document number both differ, however a name is written', () => {
  const held = { name: 'Zhang San', card_no: '11010519491231002X', mobile: '13900000001' }
  const other = { name: 'Li Si', card_no: 'E1234567' }
  const isOther = (fields: EmployeeFields, actual: EmployeeFields = held, hadLeft = false) =>
    isAnotherPerson(desiring(fields), actual, hadLeft)
  expect(isOther(other)).toBe(true)
  for (const same of [
    { ...other, name: 'ＺＨＡＮＧ·SAN' },
    { ...other, card_no: '11010519491231002x' },
    { ...other, card_no: null },
    { ...other, name: null },
    { name: 'Li Si', mobile: '13900000002' },
  ])
    expect(isOther(same), JSON.stringify(same)).toBe(false)
  // Somebody who had left, and comes back by another name.
  expect(isOther({ name: 'Li Si' }, held, true)).toBe(true)
  expect(isOther({ ...other, card_no: null }, held, true)).toBe(true)
  expect(isOther({ ...other, card_no: held.card_no }, held, true)).toBe(false)
  expect(isOther({ name: 'Zhang San' }, held, true)).toBe(false)
  for (const untold of [{ ...held, card_no: null }, { ...held, name: null }, {}])
    expect(isOther(other, untold), JSON.stringify(untold)).toBe(false)
})

describe('comparing', () => {
  test('only what differs is a unit, in canonical order', () => {
    const desired = { name: 'a', email: 'a@b', dept_code: 'D2', gender: '1' }
    expect(unitsOf(desired, { name: 'x', email: 'a@b', dept_code: 'D1', gender: null })).toEqual([
      'name',
      'gender',
      'dept_code',
    ])
    expect(unitsOf(desired, { ...desired })).toEqual([])
  })

  test('an unmanaged field is never touched', () => {
    expect(unitsOf({}, { name: 'x', remark: 'y', birth_day: '1990-01-01', level: 'P1' })).toEqual([])
  })

  test('the work number compares without regard to case, the e-mail with it', () => {
    expect(unitsOf({ corp_code: 'ab1' }, { corp_code: 'AB1' })).toEqual([])
    expect(unitsOf({ corp_code: 'ab1' }, { corp_code: 'AB2' })).toEqual(['corp_code'])
    expect(unitsOf({ email: 'a@b' }, { email: 'A@b' })).toEqual(['email'])
  })

  test('mobile and area code are one unit, and no area code means 86', () => {
    const desired = { mobile_area: '86', mobile: '13812345678' }
    expect(unitsOf(desired, { mobile: '13812345678' })).toEqual([])
    expect(unitsOf(desired, { mobile_area: null, mobile: '13812345678' })).toEqual([])
    expect(unitsOf(desired, { mobile_area: '852', mobile: '13812345678' })).toEqual(['mobile'])
    expect(unitsOf({ mobile_area: '852', mobile: '51234567' }, { mobile: '51234567' })).toEqual(['mobile'])
    const [unit] = diffEmployee({ desired: desiring(desired), actual: { mobile: null }, acknowledged: {} })
    expect(unit).toEqual({ unit: 'mobile', fields: ['mobile_area', 'mobile'] })
  })

  test('document number and type are one unit', () => {
    const desired = { card_type: '2', card_no: 'E1' }
    expect(unitsOf(desired, { card_type: '2', card_no: 'e1' })).toEqual([])
    expect(unitsOf(desired, { card_type: '1', card_no: 'E1' })).toEqual(['card_no'])
    expect(unitsOf({ card_type: null, card_no: null }, { card_type: '1', card_no: 'E1' })).toEqual([])
  })

  test('a birthday without a year compares on month and day alone', () => {
    expect(unitsOf({ birth_day: '05-17' }, { birth_day: '1990-05-17' })).toEqual([])
    expect(unitsOf({ birth_day: '05-17' }, { birth_day: '05-17' })).toEqual([])
    expect(unitsOf({ birth_day: '05-17' }, { birth_day: '1990-05-18' })).toEqual(['birth_day'])
    expect(unitsOf({ birth_day: '1990-05-17' }, { birth_day: '05-17' })).toEqual(['birth_day'])
    expect(unitsOf({ name: '05-17' }, { name: '1990-05-17' })).toEqual(['name'])
  })

  test('HR without a value clears birth day, entry day, level, category and remark, and nothing else', () => {
    const nothing = Object.fromEntries(EMPLOYEE_FIELDS.map(field => [field, null])) as EmployeeFields
    const everything = Object.fromEntries(EMPLOYEE_FIELDS.map(field => [field, 'x'])) as EmployeeFields
    expect(unitsOf(nothing, everything)).toEqual(['remark', 'level', 'category', 'birth_day', 'entry_day'])
    expect(unitsOf(nothing, { remark: '', birth_day: null, level: '', category: '' })).toEqual([])
    expect(unitsOf(nothing, nothing)).toEqual([])
  })
})

describe('what the platform does not tell', () => {
  test.each<EmployeeField>(['level', 'category'])(
    'a null %s is unknown and compares with what is acknowledged',
    field => {
      const actual = { [field]: null }
      expect(unitsOf({ [field]: 'a' }, actual)).toEqual([field])
      expect(unitsOf({ [field]: 'a' }, actual, { [field]: fieldHash(field, 'a') })).toEqual([])
      expect(unitsOf({ [field]: 'b' }, actual, { [field]: fieldHash(field, 'a') })).toEqual([field])
      expect(unitsOf({ [field]: null }, actual)).toEqual([])
      expect(unitsOf({ [field]: null }, actual, { [field]: fieldHash(field, 'a') })).toEqual([field])
      expect(unitsOf({ [field]: null }, actual, { [field]: fieldHash(field, null) })).toEqual([])
    },
  )

  test('a known level counts more than what is acknowledged', () => {
    const acknowledged = { level: fieldHash('level', 'P7') }
    expect(unitsOf({ level: 'P7' }, { level: 'P6' }, acknowledged)).toEqual(['level'])
    expect(unitsOf({ level: 'P7' }, { level: '' }, acknowledged)).toEqual(['level'])
  })

  test.each<EmployeeField>(['cost_center_id', 'employee_attribute'])(
    'write-only %s compares with what is acknowledged',
    field => {
      expect(unitsOf({ [field]: '1' }, {})).toEqual([field])
      expect(unitsOf({ [field]: '1' }, { [field]: '2' }, { [field]: fieldHash(field, '1') })).toEqual([])
      expect(unitsOf({ [field]: '2' }, {}, { [field]: fieldHash(field, '1') })).toEqual([field])
      expect(unitsOf({ [field]: null }, {}, { [field]: fieldHash(field, '1') })).toEqual([])
    },
  )

  test('a field missing from the answer compares with what is acknowledged, a pair by both its fields', () => {
    const desired = { name: 'a', mobile_area: '852', mobile: '51234567' }
    expect(unitsOf(desired, {})).toEqual(['name', 'mobile'])
    expect(unitsOf(desired, {}, hashFields(desired))).toEqual([])
    expect(unitsOf(desired, {}, hashFields({ ...desired, mobile_area: '86' }))).toEqual(['mobile'])
  })
})

describe('update parameters', () => {
  test('hold the key and the differing units', () => {
    expect(
      paramsOf(
        { name: 'a', mobile_area: '86', mobile: '13812345678', email: 'a@b' },
        { name: 'b', email: 'a@b' },
      ),
    ).toEqual({ userid: 'u1', name: 'a', mobile_area: '86', mobile: '13812345678' })
    const grouped = { ...desiring({ name: 'a' }), key: { enterpriseCode: 'E1', userid: 'u1' } }
    expect(updateParams(grouped, {}, [{ unit: 'name', fields: ['name'] }])).toEqual({
      enterprise_code: 'E1',
      userid: 'u1',
      name: 'a',
    })
  })

  test('change a work number by its present and its new one', () => {
    expect(paramsOf({ corp_code: 'N2' }, { corp_code: 'N1' })).toEqual({
      userid: 'u1',
      code: 'N1',
      new_corp_code: 'N2',
    })
    expect(paramsOf({ corp_code: 'N2' }, {})).toEqual({ userid: 'u1', code: 'N2', new_corp_code: 'N2' })
    expect(paramsOf({ corp_code: 'N2' }, { corp_code: '甲-1x'.repeat(5) })).toHaveProperty(
      'code',
      '甲-1x'.repeat(5),
    )
    for (const corp_code of ['N'.repeat(21), ''])
      expect(paramsOf({ corp_code: 'N2' }, { corp_code })).toEqual({ userid: 'u1', new_corp_code: 'N2' })
    expect(paramsOf({ corp_code: 'N1', name: 'a' }, { corp_code: 'n1', name: 'b' })).toEqual({
      userid: 'u1',
      name: 'a',
    })
  })

  test('clear with #default#, and a remark with the empty text', () => {
    const nothing = { remark: null, level: null, category: null, birth_day: null, entry_day: null }
    const held = { remark: 'r', level: 'P1', category: 'a', birth_day: '1990-01-01', entry_day: '2020-01-01' }
    expect(paramsOf(nothing, held)).toEqual({
      userid: 'u1',
      remark: '',
      level: '#default#',
      category: '#default#',
      birth_day: '#default#',
      entry_day: '#default#',
    })
  })
})

describe('the platform’s answer', () => {
  test('becomes canonical text', () => {
    const answer = {
      userid: 'u1',
      corp_code: 'N1',
      name: ' 甲 ',
      gender: 1,
      card_type: 1,
      card_no: '11010519491231002x',
      email: '',
      mobile_area: 86,
      mobile: '13812345678',
      remark: null,
      dept_code: 'D1',
      dept_name: 'Dept',
      level: null,
      category: ['b', 'a'],
      birth_day: '1990-05-17 00:00:00',
      entry_day: undefined,
      time_created: '2020-01-01 00:00:00',
      employee_attribute: '[]',
    }
    expect(toActual(answer)).toEqual({
      account: toActual({ time_created: '2020-01-01 00:00:00' }).account,
      corp_code: 'N1',
      name: '甲',
      gender: '1',
      card_type: '1',
      card_no: '11010519491231002X',
      email: null,
      mobile_area: '86',
      mobile: '13812345678',
      remark: null,
      dept_code: 'D1',
      level: null,
      category: 'a,b',
      birth_day: '1990-05-17',
    })
  })

  test('an empty list of categories or an empty level is known to be empty', () => {
    expect(toActual({ category: [], level: '' })).toEqual({ category: '', level: '' })
  })

  test('odd values are kept as text rather than lost', () => {
    expect(toActual({ mobile_area: '?', birth_day: '05-17', entry_day: 'soon' })).toEqual({
      mobile_area: '?',
      birth_day: '05-17',
      entry_day: 'soon',
    })
  })

  test('is canonical however the platform writes it', () => {
    expect(
      toActual({ mobile_area: '+086', entry_day: '2020/2/29', card_no: 'e1', corp_code: '007' }),
    ).toEqual({
      mobile_area: '86',
      entry_day: '2020-02-29',
      card_no: 'E1',
      corp_code: '007',
    })
  })
})

test('unitOf names the unit that a field travels with', () => {
  expect(
    ['mobile_area', 'mobile', 'card_type', 'card_no', 'name'].map(f => unitOf(f as EmployeeField)),
  ).toEqual(['mobile', 'mobile', 'card_no', 'card_no', 'name'])
})

test('field hashes are short, stable, and tell field, value and emptiness apart', () => {
  expect(fieldHash('name', 'a')).toBe('gU7A8eezBcRbU-OA')
  expect(fieldHash('name', null)).toBe('GC2kuiG6GcM1OSbf')
  expect(fieldHash('name', 'a')).toMatch(/^[\w-]{16}$/)
  expect(
    new Set([
      fieldHash('name', 'a'),
      fieldHash('remark', 'a'),
      fieldHash('name', ''),
      fieldHash('name', null),
    ]).size,
  ).toBe(4)
  expect(hashFields({ name: 'a', email: null }, ['email', 'mobile'])).toEqual({
    email: fieldHash('email', null),
  })
})

describe('for any two states', () => {
  const value = fc.constantFrom('a', 'b', 'c')
  const column = fc.option(value, { nil: null })
  const day = fc.constantFrom('1990-05-17', '1991-05-17', '05-17', '06-01', null)
  const state = fc
    .record(Object.fromEntries(EMPLOYEE_FIELDS.map(field => [field, field === 'birth_day' ? day : column])), {
      requiredKeys: [],
    })
    .map(fields => fields as EmployeeFields)
    .map(fields => {
      // Pairs come whole out of validation: both fields or neither, both empty or neither.
      const { mobile, mobile_area, card_no, card_type, ...rest } = fields
      const whole: EmployeeFields = rest
      if (mobile !== undefined) Object.assign(whole, { mobile, mobile_area: mobile && (mobile_area ?? '86') })
      if (card_no !== undefined) Object.assign(whole, { card_no, card_type: card_no && (card_type ?? '2') })
      return whole
    })

  /** What the platform holds after an update, by the rules of section 4.3. */
  function apply(actual: EmployeeFields, params: Record<string, string>): EmployeeFields {
    const after: EmployeeFields = { ...actual }
    for (const [name, text] of Object.entries(params)) {
      if (name === 'new_corp_code') after.corp_code = text
      else if ((EMPLOYEE_FIELDS as readonly string[]).includes(name)) {
        after[name as EmployeeField] = text === '#default#' || text === '' ? null : text
      }
    }
    return after
  }

  test('after the update and its acknowledgement nothing differs', () => {
    fc.assert(
      fc.property(state, state, state, (fields, actual, before) => {
        const desired = desiring(fields)
        const acknowledged = hashFields(before)
        const units = diffEmployee({ desired, actual, acknowledged })
        const after = apply(actual, updateParams(desired, actual, units))
        const again = diffEmployee({ desired, actual: after, acknowledged: hashFields(desired.fields) })
        expect(again).toEqual([])
      }),
      { numRuns: 2000 },
    )
  })

  test('the update names nothing but the key and the fields of its units, and no field twice', () => {
    fc.assert(
      fc.property(state, state, (fields, actual) => {
        const desired = desiring(fields)
        const units = diffEmployee({ desired, actual, acknowledged: {} })
        const names = units.flatMap(unit => unit.fields)
        expect(new Set(names).size).toBe(names.length)
        const allowed = new Set<string>([...names.filter(f => f !== 'corp_code'), 'userid'])
        if (names.includes('corp_code')) allowed.add('code').add('new_corp_code')
        expect(Object.keys(updateParams(desired, actual, units)).sort()).toEqual([...allowed].sort())
      }),
      { numRuns: 1000 },
    )
  })

  test('an employee in sync is left alone', () => {
    fc.assert(
      fc.property(state, fields => {
        const input = { desired: desiring(fields), actual: fields, acknowledged: hashFields(fields) }
        expect(diffEmployee(input)).toEqual([])
      }),
    )
  })
})
