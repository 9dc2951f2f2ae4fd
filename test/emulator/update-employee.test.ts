import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { PlatformUnderTest } from './platform-under-test.ts'

let platform: PlatformUnderTest

beforeAll(async () => {
  platform = await PlatformUnderTest.start()
})
afterAll(() => platform[Symbol.asyncDispose]())
beforeEach(async () => {
  await platform.reset()
  await platform.control('POST', 'state', {
    enterprises: [
      { enterprise_code: 'OFF', features: { level: false, category: false, employee_attribute: ['tax'] } },
    ],
    departments: [
      { dept_code: 'D1', dept_name: 'One' },
      { dept_code: 'D2', dept_name: 'Two' },
      { enterprise_code: 'OFF', dept_code: 'D3', dept_name: 'Three' },
    ],
    employees: [
      {
        userid: 'u1',
        corp_code: 'W001',
        name: 'Ana',
        card_type: 2,
        card_no: 'P1',
        email: 'ana@example.com',
        mobile: '13800000001',
        dept_code: 'D1',
        level: 'P1',
        category: ['driver'],
        remark: 'note',
        birth_day: '1990-05-06',
        entry_day: '2020-01-01',
      },
      { userid: 'u2', corp_code: 'w002', email: 'Bo@example.com', mobile: '13800000002' },
      {
        userid: 'gone',
        corp_code: 'W003',
        email: 'gone@example.com',
        mobile: '13800000003',
        in_service: false,
      },
      {
        enterprise_code: 'OFF',
        userid: 'u1',
        corp_code: 'W009',
        email: 'nine@example.com',
        mobile: '13800000009',
      },
    ],
  })
})

async function expectCode(code: number, fields: Record<string, string>) {
  const before = await platform.control('GET', 'state')
  const answer = await platform.update(fields.userid ?? 'u1', fields)
  expect({ fields, status: answer.status, code: answer.code, data: answer.data }).toEqual({
    fields,
    status: 200,
    code,
    data: null,
  })
  expect(await platform.control('GET', 'state')).toEqual(before)
}

test('every field is stored as it was sent, and the answer is the work number', async () => {
  const answer = await platform.update('u1', {
    third_type: '5',
    name: '王小明 👋',
    code: 'W001',
    new_corp_code: 'W100',
    gender: '2',
    email: 'New@example.com',
    mobile_area: '852',
    mobile: '61234567',
    remark: 'another',
    dept_code: 'D2',
    level: 'P2',
    category: 'b,a, b',
    birth_day: '1991-01-02',
    entry_day: '2024-02-29',
    card_type: '2',
    card_no: 'Q2',
    employee_attribute: '[{"attributeCode":"contract","attributeValue":"实习"}]',
    cost_center_id: '2147483647',
  })
  expect(answer).toMatchObject({ status: 200, code: 0, msg: 'OK', data: 'W100' })
  expect(await platform.employee('u1')).toMatchObject({
    name: '王小明 👋',
    corp_code: 'W100',
    gender: 2,
    email: 'New@example.com',
    mobile_area: 852,
    mobile: '61234567',
    remark: 'another',
    dept_code: 'D2',
    level: 'P2',
    category: ['b', 'a'],
    birth_day: '1991-01-02',
    entry_day: '2024-02-29',
    card_type: 2,
    card_no: 'Q2',
    employee_attribute: [{ attributeCode: 'contract', attributeValue: '实习' }],
    cost_center_id: 2147483647,
  })
})

test('what is not sent stays as it is', async () => {
  const before = await platform.employee('u1')
  expect((await platform.update('u1', {})).data).toBe('W001')
  expect((await platform.update('u1', { name: 'Eva' })).code).toBe(0)
  expect(await platform.employee('u1')).toEqual({ ...before, name: 'Eva' })
})

describe('clearing', () => {
  test.each(['birth_day', 'entry_day', 'level', 'category'])('#default# clears %s', async field => {
    expect((await platform.update('u1', { [field]: '#default#' })).code).toBe(0)
    expect((await platform.employee('u1'))[field]).toBeNull()
  })

  test.each(['level', 'category', 'remark'])('the empty text clears %s', async field => {
    expect((await platform.update('u1', { [field]: '' })).code).toBe(0)
    expect((await platform.employee('u1'))[field]).toBeNull()
  })

  test.each([
    'birth_day',
    'entry_day',
    'name',
    'email',
    'mobile',
    'dept_code',
    'card_no',
    'new_corp_code',
    'gender',
  ])('the empty text does not clear %s', field => expectCode(1000220002, { [field]: '' }))

  test.each(['gender', 'cost_center_id', 'employee_attribute', 'new_corp_code'])(
    '#default# does not clear %s',
    field => expectCode(1000220002, { [field]: '#default#' }),
  )
})

describe('a birth day without its year', () => {
  test('keeps the year that is known', async () => {
    await platform.update('u1', { birth_day: '12-31' })
    expect((await platform.employee('u1')).birth_day).toBe('1990-12-31')
  })

  test('is kept as it is where no year is known, or where the year lacks the day', async () => {
    await platform.update('u2', { birth_day: '12-31' })
    expect((await platform.employee('u2')).birth_day).toBe('12-31')
    await platform.update('u2', { birth_day: '01-31' })
    expect((await platform.employee('u2')).birth_day).toBe('01-31')
    await platform.update('u1', { birth_day: '02-29' })
    expect((await platform.employee('u1')).birth_day).toBe('02-29')
  })
})

describe('the spellings of the work number and the department', () => {
  test.each([
    [{ code: 'A1', corp_code: 'B1', new_corp_code: 'C1' }, 'C1'],
    [{ code: 'W001', new_corp_code: 'C1' }, 'C1'],
    [{ code: 'A1', corp_code: 'B1' }, 'A1'],
    [{ code: 'A1' }, 'A1'],
    [{ corp_code: 'B1' }, 'B1'],
    [{ name: 'x' }, 'W001'],
  ] as [Record<string, string>, string][])('%j makes it %s', async (fields, expected) => {
    expect((await platform.update('u1', fields)).data).toBe(expected)
    expect((await platform.employee('u1')).corp_code).toBe(expected)
  })

  test('an employee without work number answers with the empty text', async () => {
    await platform.control('POST', 'employees', [{ userid: 'u3' }])
    expect((await platform.update('u3', { name: 'x' })).data).toBe('')
  })

  test('departmentId stands in for dept_code', async () => {
    await platform.update('u1', { departmentId: 'D2' })
    expect((await platform.employee('u1')).dept_code).toBe('D2')
    await platform.update('u1', { departmentId: 'D2', dept_code: 'D1' })
    expect((await platform.employee('u1')).dept_code).toBe('D1')
    await expectCode(1000220010, { departmentId: 'D9' })
  })
})

describe('types and limits', () => {
  const long = (length: number) => '字'.repeat(length)

  test.each([
    { name: long(50) },
    { name: '👋'.repeat(50) },
    { remark: long(254) },
    { remark: '👋'.repeat(254) },
    { level: long(50) },
    { email: `${'x'.repeat(88)}@example.com` },
    { mobile: '123456' },
    { mobile: '1'.repeat(20) },
    { code: 'x'.repeat(20) },
    { gender: '3' },
    { third_type: '1' },
    { cost_center_id: '1' },
    { birth_day: '2000-02-29' },
    { category: long(300) },
    { employee_attribute: JSON.stringify([{ attributeCode: 'c'.repeat(100), attributeValue: long(100) }]) },
  ])('%j is accepted', async fields => {
    expect((await platform.update('u1', fields as unknown as Record<string, string>)).code).toBe(0)
  })

  test.each([
    { userid: '' },
    { userid: 'x'.repeat(101) },
    { enterprise_code: '' },
    { enterprise_code: 'x'.repeat(21) },
    { third_type: '0' },
    { third_type: '6' },
    { name: long(51) },
    { name: '👋'.repeat(51) },
    { name: '   ' },
    { code: 'x'.repeat(21) },
    { code: 'W-1' },
    { new_corp_code: '工号' },
    { corp_code: 'W 1' },
    { gender: '0' },
    { gender: '4' },
    { gender: '1.0' },
    { gender: '01' },
    { gender: '１' },
    { email: 'x'.repeat(101) },
    { mobile_area: '12345678901' },
    { mobile_area: '+86' },
    { mobile_area: '-1' },
    { mobile: '12345' },
    { mobile: '1'.repeat(21) },
    { remark: long(255) },
    { dept_code: 'x'.repeat(51) },
    { departmentId: 'x'.repeat(51) },
    { level: long(51) },
    { category: 'a,,b' },
    { category: ',' },
    { birth_day: '2023-02-29' },
    { birth_day: '1900-02-29' },
    { birth_day: '13-01' },
    { birth_day: '02-30' },
    { birth_day: '1990/01/01' },
    { birth_day: '90-01-01' },
    { birth_day: '1990-1-1' },
    { entry_day: '01-01' },
    { entry_day: '2024-04-31' },
    { entry_day: '2024-00-10' },
    { entry_day: '2024-01-00' },
    { card_type: '3' },
    { card_no: 'x'.repeat(31) },
    { cost_center_id: '0' },
    { cost_center_id: '2147483648' },
    { cost_center_id: '1e3' },
    { employee_attribute: 'contract' },
    { employee_attribute: '[]' },
    { employee_attribute: '{"attributeCode":"a","attributeValue":"b"}' },
    { employee_attribute: '[{"attributeCode":"a"}]' },
    { employee_attribute: '[{"attributeCode":"a","attributeValue":1}]' },
    { employee_attribute: '[{"attributeCode":"a","attributeValue":""}]' },
    { employee_attribute: '[{"attributeCode":"a","attributeValue":"b","more":"c"}]' },
    { employee_attribute: '[{"attribute_code":"a","attribute_value":"b"}]' },
    { employee_attribute: `[{"attributeCode":"${'a'.repeat(101)}","attributeValue":"b"}]` },
    {
      employee_attribute:
        '[{"attributeCode":"a","attributeValue":"b"},{"attributeCode":"a","attributeValue":"c"}]',
    },
    { dept_name: 'One' },
    { time_created: '2020-01-01' },
    { Name: 'x' },
  ])('%j gets 1000220002', fields => expectCode(1000220002, fields as unknown as Record<string, string>))

  test('the message names the parameter and never its value', async () => {
    const messages = [
      (await platform.update('u1', { birth_day: '30.01.1990' })).msg,
      (await platform.update('u1', { level: '机密'.repeat(30) })).msg,
      (await platform.update('u1', { category: '机密,' })).msg,
      (await platform.call('employee/update', { name: '机密' })).msg,
    ]
    expect(messages).toEqual([
      'parameter validation failed: birth_day must be a date, yyyy-MM-dd or MM-dd',
      'parameter validation failed: level must have 1 to 50 characters',
      'parameter validation failed: category must be a list joined with commas, without empty items',
      'parameter validation failed: userid is required',
    ])
  })
})

describe('who', () => {
  test('an unknown userid gets 1000220096, one out of service 1000220102', async () => {
    await expectCode(1000220096, { userid: 'nobody', name: 'x' })
    await expectCode(1000220096, { userid: 'U1', name: 'x' })
    await expectCode(1000220102, { userid: 'gone', name: 'x' })
  })

  test('an unknown enterprise gets 1000240002', () =>
    expectCode(1000240002, { enterprise_code: 'E9', name: 'x' }))

  test('the same userid in two enterprises is two employees', async () => {
    await platform.update('u1', { enterprise_code: 'OFF', name: 'Other' })
    const { employees } = await platform.control('GET', 'state?userid=u1')
    expect(employees.map((one: { name: string }) => one.name)).toEqual(['Ana', 'Other'])
  })
})

describe('features that are off', () => {
  const off = { enterprise_code: 'OFF' }

  test.each(['P1', '', '#default#'])('level %j gets 1000220030', level =>
    expectCode(1000220030, { ...off, level }),
  )
  test.each(['a,b', '', '#default#'])('category %j gets 1000210028', category =>
    expectCode(1000210028, { ...off, category }),
  )

  test('an attribute that is not enabled gets 1000220072, one that is goes through', async () => {
    const list = (...codes: string[]) =>
      JSON.stringify(codes.map(attributeCode => ({ attributeCode, attributeValue: 'x' })))
    await expectCode(1000220072, { ...off, employee_attribute: list('contract') })
    await expectCode(1000220072, { ...off, employee_attribute: list('tax', 'contract') })
    expect((await platform.update('u1', { ...off, employee_attribute: list('tax') })).code).toBe(0)
  })
})

describe('the document', () => {
  // The example of the standard GB 11643.
  const IDENTITY = '11010519491231002X'

  test.each([IDENTITY, IDENTITY.toLowerCase(), '110105491231002'])(
    'an identity number %s is accepted',
    async number => {
      expect((await platform.update('u1', { card_type: '1', card_no: number })).code).toBe(0)
      expect((await platform.employee('u1')).card_no).toBe(number)
    },
  )

  test.each([
    ['a wrong check digit', '110105194912310021'],
    ['a province that does not exist', '990105194912310023'],
    ['a birth day that does not exist', '110105194902300020'],
    ['a birth day that does not exist, in 15 digits', '110105490230002'],
    ['16 digits', '1101054912310021'],
    ['letters', '1101051949123100AX'],
    ['full-width digits', '１１0105194912310020'],
  ])('%s gets 1002219046', (_, card_no) => expectCode(1002219046, { card_type: '1', card_no }))

  test.each(['A', 'a1B2'.repeat(5)])('a passport %s is accepted', async card_no => {
    expect((await platform.update('u1', { card_no })).code).toBe(0)
  })

  test.each(['x'.repeat(21), 'A-1', '护照1'])('a passport %s gets 1002219046', card_no =>
    expectCode(1002219046, { card_no }),
  )

  test('a type that does not fit the number on the platform gets 1002219046', () =>
    expectCode(1002219046, { card_type: '1' }))

  test('a number needs a type', async () => {
    await expectCode(1000220002, { userid: 'u2', card_no: 'P2' })
    expect((await platform.update('u2', { card_type: '2', card_no: 'P2' })).code).toBe(0)
  })
})

describe('the mobile area', () => {
  test.each(['999', '0', '1234', '800'])('%s gets 1002219069', mobile_area =>
    expectCode(1002219069, { mobile_area, mobile: '61234567' }),
  )

  test.each(['1', '7', '44', '81', '853', '886', '998'])('%s is known', async mobile_area => {
    expect((await platform.update('u1', { mobile_area, mobile: '61234567' })).code).toBe(0)
  })

  test('is 86 for a mobile without one, and may change alone', async () => {
    await platform.update('u1', { mobile_area: '852' })
    expect(await platform.employee('u1')).toMatchObject({ mobile_area: 852, mobile: '13800000001' })
    await platform.update('u1', { mobile: '13811111111' })
    expect(await platform.employee('u1')).toMatchObject({ mobile_area: 86, mobile: '13811111111' })
  })
})

test('a department that does not exist in the enterprise gets 1000220010', async () => {
  await expectCode(1000220010, { dept_code: 'D9' })
  await expectCode(1000220010, { dept_code: 'D3' })
  await expectCode(1000220010, { enterprise_code: 'OFF', dept_code: 'D1' })
})

describe('what is unique among those in service of an enterprise', () => {
  test('the work number, in any letter case: 1002219003', async () => {
    await expectCode(1002219003, { new_corp_code: 'W002' })
    await expectCode(1002219003, { code: 'w002' })
    expect((await platform.update('u1', { new_corp_code: 'w001' })).data).toBe('w001')
    expect((await platform.update('u1', { new_corp_code: 'W003' })).code).toBe(0)
    expect((await platform.update('u2', { new_corp_code: 'W009' })).code).toBe(0)
  })

  test('the e-mail, in any letter case: 1002218004', async () => {
    await expectCode(1002218004, { email: 'bo@EXAMPLE.com' })
    expect((await platform.update('u1', { email: 'ANA@example.com' })).code).toBe(0)
    expect((await platform.update('u1', { email: 'gone@example.com' })).code).toBe(0)
    expect((await platform.update('u2', { email: 'nine@example.com' })).code).toBe(0)
  })

  test('the mobile with its area: 1002218007', async () => {
    await expectCode(1002218007, { mobile: '13800000002' })
    await expectCode(1002218007, { mobile: '13800000002', mobile_area: '86' })
    expect((await platform.update('u1', { mobile: '13800000002', mobile_area: '852' })).code).toBe(0)
    await expectCode(1002218007, { mobile_area: '86' })
    expect((await platform.update('u1', { mobile: '13800000003' })).code).toBe(0)
    expect((await platform.update('u2', { mobile: '13800000009' })).code).toBe(0)
  })

  test('a value that was given up is free', async () => {
    await platform.update('u2', { mobile: '13800000022', email: 'bo2@example.com', code: 'W022' })
    const taken = { mobile: '13800000002', email: 'bo@example.com', code: 'W002' }
    expect((await platform.update('u1', taken)).code).toBe(0)
  })
})

test('the first failure in the documented order is the answer, and nothing changes', async () => {
  const taken = { code: 'W002', email: 'bo@example.com', mobile: '13800000002' }
  const steps: [number, Record<string, string>][] = [
    [1002218007, { name: 'New', mobile: taken.mobile }],
    [1002218004, { email: taken.email }],
    [1002219003, { code: taken.code }],
    [1002219046, { card_type: '1', card_no: '123' }],
    [1000220010, { dept_code: 'D9' }],
    [1002219069, { mobile_area: '999' }],
    [1000220096, { userid: 'nobody' }],
    [1000240002, { enterprise_code: 'E9' }],
    [1000220002, { gender: '9' }],
  ]
  let fields: Record<string, string> = {}
  for (const [code, more] of steps) {
    fields = { ...fields, ...more }
    await expectCode(code, fields)
  }
  const off = {
    enterprise_code: 'OFF',
    mobile_area: '999',
    employee_attribute: '[{"attributeCode":"x","attributeValue":"y"}]',
  }
  await expectCode(1000220072, off)
  await expectCode(1000210028, { ...off, category: 'a' })
  await expectCode(1000220030, { ...off, category: 'a', level: 'P1' })
})
