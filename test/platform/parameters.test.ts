import { describe, expect, test } from 'vitest'
import { PlatformError } from '../../src/platform/errors.ts'
import type { Operation } from '../../src/platform/operation.ts'
import {
  departmentDelete,
  employeeGet,
  employeeOpenid,
  employeeUpdate,
} from '../../src/platform/operations/employee.ts'
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
  ).toEqual({ userid: 'u1', level: 'A' })
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

describe('limits of section 2.3 and 4.3', () => {
  test.each([
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
    [
      'employee_attribute',
      '[{"attributeCode":"a","attributeValue":"b"}]',
      '[{"attributeCode":"a","attributeValue":""}]',
    ],
  ])('%s', (field, good, bad) => {
    expect(update({ [field]: good })).toEqual([])
    expect(update({ [field]: bad })).toEqual([field])
  })

  test('the document number fits its type', () => {
    expect(update({ card_type: '1', card_no: '11010119900307001X' })).toEqual([])
    expect(update({ card_type: '1', card_no: 'E1234567' })).toEqual(['card_no'])
    expect(update({ card_type: '2', card_no: 'E1234567' })).toEqual([])
    expect(update({ card_type: '2', card_no: 'E-1234567' })).toEqual(['card_no'])
  })
})

test('required parameters', () => {
  expect(problemsOf(employeeUpdate, { userid: '' })).toEqual(['userid'])
  expect(problemsOf(employeeOpenid, {})).toEqual(['userid', 'seller_appid'])
  expect(problemsOf(departmentDelete, {})).toEqual(['dept_code'])
  expect(problemsOf(employeeGet, { mobile_area: '86' })).toEqual([''])
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
