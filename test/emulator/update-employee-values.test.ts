import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { PlatformUnderTest } from './platform-under-test.ts'
import { expectRefusal, resetDirectory } from './update-fixture.ts'

const platform = duringFile(() => PlatformUnderTest.start())

beforeEach(() => resetDirectory(platform))

const expectCode = (code: number, fields: Record<string, string>) => expectRefusal(platform, code, fields)

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
