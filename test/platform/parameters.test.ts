import { describe, expect, test } from 'vitest'
import { PlatformError } from '../../src/platform/errors.ts'
import type { Operation } from '../../src/platform/operation.ts'
import {
  departmentDelete,
  employeeGet,
  employeeOpenid,
  employeeUpdate,
} from '../../src/platform/operations/employee.ts'
import { refundCreate, topUpApply } from '../../src/platform/operations/money.ts'
import { checkedParameters } from '../../src/platform/request.ts'

function problemsOf(operation: Operation, params: object): string[] {
  try {
    checkedParameters(operation, params)
  } catch (error) {
    if (error instanceof PlatformError) return (error.problems ?? []).map(problem => problem.field)
    throw error
  }
  return []
}

const update = (params: object) => problemsOf(employeeUpdate, { userid: 'u1', ...params })

test('texts are trimmed; absent, null and empty ones are left out', () => {
  expect(
    checkedParameters(employeeUpdate, {
      userid: ' u1 ',
      enterprise_code: '',
      name: null,
      email: undefined,
      level: 'A',
    }),
  ).toStrictEqual({ userid: 'u1', level: 'A' })
})

test('the empty text clears remark, level and category', () => {
  expect(checkedParameters(employeeUpdate, { userid: 'u1', remark: '', level: ' ', category: '' })).toEqual({
    userid: 'u1',
    remark: '',
    level: '',
    category: '',
  })
})

test('#default# clears dates, level and category', () => {
  const cleared = {
    birth_day: '#default#',
    entry_day: '#default#',
    level: '#default#',
    category: '#default#',
  }
  expect(checkedParameters(employeeUpdate, { userid: 'u1', ...cleared })).toEqual({
    userid: 'u1',
    ...cleared,
  })
})

test('numbers are taken as their text', () => {
  expect(checkedParameters(employeeUpdate, { userid: 7, gender: 1 })).toEqual({ userid: '7', gender: '1' })
})

test.each<{ name: unknown }>([{ name: {} }, { name: { toString: 'x' } }, { name: ['n'] }, { name: true }])(
  '%j is no text, and is not made one',
  params => expect(update(params)).toEqual(['name']),
)

describe('a JSON body', () => {
  const refund = {
    outerTradeNo: 'mall0001-T1',
    outerRefundNo: 'mall0001-R1',
    reason: ' 商品损坏 ',
    refundAmount: '100.00',
    enterprise_code: ' E1 ',
  }
  const sent = (params: object) => checkedParameters(refundCreate, { ...refund, ...params })

  test('has the decimals digit for digit, and beside it the parameters of the query string', () => {
    expect(sent({ costAmount: '0.10', notifyUrl: '' })).toStrictEqual({
      enterprise_code: 'E1',
      _body:
        '{"outerTradeNo":"mall0001-T1","outerRefundNo":"mall0001-R1","reason":"商品损坏","refundAmount":100.00,"costAmount":0.10}',
    })
  })

  test('has no empty values within its structures; items of lists keep their places', () => {
    const tradeInfo = {
      ...{ shopName: ' A ', shopAddress: '', cityName: null, locationCode: undefined, shopPhone: '\u200b' },
      goodsDetail: [{}, { skuName: ' cup ', skuCode: ' ', quantity: 2, price: '12.30' }],
    }
    const { _body: body = '' } = sent({ tradeInfo })
    expect(body).toMatch(
      /"tradeInfo":\{"shopName":"A","goodsDetail":\[\{\},\{"skuName":"cup","quantity":2,"price":12.30\}\]\}\}$/,
    )
  })
})

test('a form with decimals has every value as its text', () => {
  const topUp = {
    account_openid: 'a'.repeat(32),
    amount: '100.00',
    service_provider: 1,
    external_code: 'mall0001'.padEnd(30, '7'),
    taxpayer: 'Acme',
  }
  expect(checkedParameters(topUpApply, topUp)).toStrictEqual({ ...topUp, service_provider: '1' })
})

describe('limits of section 2.3 and 4.3', () => {
  test.each<[string, string, string]>([
    ['userid', 'x'.repeat(100), 'x'.repeat(101)],
    ['enterprise_code', 'x'.repeat(20), 'x'.repeat(21)],
    ['name', '字'.repeat(50), '字'.repeat(51)],
    ['name', '𠮷'.repeat(50), '𠮷'.repeat(51)],
    ['name', 'x', '\ud800'],
    ['code', 'A-1', 'x'.repeat(21)],
    ['new_corp_code', 'A1', 'A-1'],
    ['gender', '3', '4'],
    ['email', 'x'.repeat(100), 'x'.repeat(101)],
    ['mobile_area', '1234567890', '12345678901'],
    ['mobile_area', '86', '+86'],
    ['mobile', '1'.repeat(6), '1'.repeat(5)],
    ['mobile', '1'.repeat(20), '1'.repeat(21)],
    ['remark', 'x'.repeat(254), 'x'.repeat(255)],
    ['dept_code', 'x'.repeat(50), 'x'.repeat(51)],
    ['level', 'x'.repeat(50), 'x'.repeat(51)],
    ['birth_day', '2000-02-29', '2001-02-29'],
    ['birth_day', '02-29', '02-30'],
    ['entry_day', '2020-12-31', '12-31'],
    ['entry_day', '2020-12-31', '2020/12/31'],
    ['card_type', '2', '3'],
    ['card_no', 'x'.repeat(30), 'x'.repeat(31)],
    ['cost_center_id', '2147483647', '2147483648'],
    ['cost_center_id', '1', '0'],
    ['third_type', '5', '6'],
    ['employee_attribute', '[{"attributeCode":"a","attributeValue":"b"}]', '{"a":"b"}'],
    ['employee_attribute', '[{"attributeCode":"a","attributeValue":"b"}]', 'a=b'],
    ...[
      '[]',
      '"ab"',
      '[null]',
      '[1]',
      '[{"attributeCode":"a"}]',
      '[{"attributeValue":"b"}]',
      '[{"attributeCode":"a","attributeValue":1}]',
      '[{"attributeCode":"a","attributeValue":""}]',
      '[{"attributeCode":"a","attributeValue":"b"},{"attributeCode":"","attributeValue":"b"}]',
    ].map((bad): [string, string, string] => [
      'employee_attribute',
      '[{"attributeCode":"a","attributeValue":"b"}]',
      bad,
    ]),
  ])('%s', (field, good, bad) => {
    expect(update({ [field]: good })).toEqual([])
    expect(update({ [field]: bad })).toEqual([field])
  })

  test('the document number fits its type', () => {
    expect(update({ card_type: '1', card_no: '11010119900307001X' })).toEqual([])
    expect(update({ card_type: '1', card_no: 'E1234567' })).toEqual(['card_no'])
    expect(update({ card_type: '2', card_no: 'E1234567' })).toEqual([])
    expect(update({ card_type: '2', card_no: 'E-1234567' })).toEqual(['card_no'])
    for (const card_no of ['110101199003070', '110101199003070011', '11010119900307001x'])
      expect(update({ card_type: '1', card_no }), card_no).toEqual([])
    const wrong = [
      '1',
      'A'.repeat(15),
      `A${'1'.repeat(15)}`,
      `${'1'.repeat(15)}A`,
      `${'1'.repeat(17)}A`,
      `A${'1'.repeat(18)}`,
    ]
    for (const card_no of wrong) expect(update({ card_type: '1', card_no }), card_no).toEqual(['card_no'])
  })

  test('the type may change without the number', () => {
    expect(update({ card_type: '1' })).toEqual([])
  })
})

test('required parameters', () => {
  expect(problemsOf(employeeUpdate, { userid: '' })).toEqual(['userid'])
  expect(problemsOf(employeeOpenid, {})).toEqual(['userid', 'seller_appid'])
  expect(problemsOf(departmentDelete, {})).toEqual(['dept_code'])
  expect(problemsOf(employeeGet, { mobile_area: '86' })).toEqual([''])
  for (const query of [{ userid: 'u1' }, { mobile: '13800000000' }, { email: 'a@b' }])
    expect(problemsOf(employeeGet, query)).toEqual([])
})

test('unknown parameters are named, all of them', () => {
  expect(update({ departmentId: '1', corp_code: 'A' })).toEqual(['departmentId', 'corp_code'])
})

test('the error names fields and rules, never values', () => {
  const secret = 'value-that-must-not-show'.repeat(9)
  const params = {
    userid: 'u1',
    name: secret,
    gender: secret,
    mobile: secret,
    card_no: secret,
    birth_day: secret,
  }
  let message = ''
  try {
    checkedParameters(employeeUpdate, params)
  } catch (error) {
    message = `${(error as Error).message} ${JSON.stringify(error)}`
  }
  expect(message).toContain('mobile must have 6 to 20 characters')
  expect(message).not.toContain('value-that')
})
