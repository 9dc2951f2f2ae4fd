import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { PlatformUnderTest } from './platform-under-test.ts'
import { expectRefusal, resetDirectory } from './update-fixture.ts'

const platform = duringFile(() => PlatformUnderTest.start())

beforeEach(() => resetDirectory(platform))

const expectCode = (code: number, fields: Record<string, string>) => expectRefusal(platform, code, fields)

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

  test('code may be a number with other characters, which the present one can have', async () => {
    await platform.control('POST', 'employees', [{ userid: 'u3', corp_code: '工-1' }])
    expect((await platform.update('u3', { code: '工-1', name: 'x' })).code).toBe(0)
    expect(await platform.update('u3', { code: '工-1', new_corp_code: 'W3' })).toMatchObject({ data: 'W3' })
    await expectCode(1000220002, { code: '工-1', new_corp_code: '工-2' })
    await expectCode(1000220002, { code: '工-2' })
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

  test('the mobile, whatever its area: 1002218007', async () => {
    await expectCode(1002218007, { mobile: '13800000002' })
    await expectCode(1002218007, { mobile: '13800000002', mobile_area: '86' })
    await expectCode(1002218007, { mobile: '13800000002', mobile_area: '852' })
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
