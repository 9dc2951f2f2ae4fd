import { describe, expect, test } from 'vitest'
import {
  DEPARTMENT_MEANINGS,
  EMPLOYEE_MEANINGS,
  genderOf,
  guesses,
  type HrColumn,
  isInService,
  isTableOf,
} from '../../src/workbench/guess.ts'

const column = (name: string, values: string[] = [], shape: HrColumn['shape'] = 'plain'): HrColumn => ({
  name,
  type: 'varchar',
  shape,
  values,
})

function guessed(columns: HrColumn[], meanings = EMPLOYEE_MEANINGS): Record<string, string> {
  return Object.fromEntries([...guesses(columns, meanings)].map(([name, meaning]) => [name, meaning.column]))
}

describe('a column is guessed', () => {
  test.each([
    ['English', 'emp_id emp_name Sex ID_NUMBER e_mail Mobile_Phone dept_id job_level birth_date hire_date'],
    ['pinyin', 'yuangongbianhao xingming xingbie shenfenzheng youxiang shouji bmid zhiji shengri ruzhiriqi'],
    ['initials', 'YGBH XM XB SFZH DZYX SJH BMBM ZJ CSRQ RZRQ'],
    ['Chinese', '员工编号 姓名 性别 身份证号 邮箱 手机号 部门编码 职级 出生日期 入职日期'],
  ])('by its name in %s', (_, names) => {
    expect(Object.values(guessed(names.split(' ').map(name => column(name)))).sort()).toEqual(
      'birth_day card_no dept_code email entry_day gender level mobile name userid'.split(' '),
    )
  })

  test('by values that are hardly anything else, whatever it is called', () => {
    const columns = [
      column('id', ['1', '2']),
      column('f1', ['19900000001', '+86 199-0000-0002', '19900000003']),
      column('f2', ['a@example.com']),
      column('f3', ['990015196510100109', '99001519651010010x']),
      column('f4', ['anything', 'else']),
    ]
    expect(guessed(columns)).toEqual({ id: 'userid', f1: 'mobile', f2: 'email', f3: 'card_no' })
  })

  test('never where its values cannot be meant, or its type', () => {
    expect(
      guessed([
        column('phone', ['extension 12', 'none']),
        column('birthday', ['spring']),
        column('updated_at', ['2024-01-01'], 'plain'),
        column('entry_date', ['2024-01-01'], 'moment'),
        column('email', [], 'other'),
      ]),
    ).toEqual({ entry_date: 'entry_day' })
  })

  test('once for each meaning; a work number is the user id where there is no other', () => {
    expect(guessed([column('gh'), column('ygbh')])).toEqual({ ygbh: 'userid', gh: 'corp_code' })
    expect(guessed([column('emp_no'), column('xm')])).toEqual({ emp_no: 'userid', xm: 'name' })
    expect(guessed([column('id'), column('staff_id')])).toEqual({ staff_id: 'userid' })
  })

  test('of departments too', () => {
    expect(guessed([column('id'), column('pid'), column('title')], DEPARTMENT_MEANINGS)).toEqual({
      id: 'dept_code',
      pid: 'parent_code',
    })
  })
})

test('words for men, women and those of whom nothing is known', () => {
  expect(['男', 'M', 'male', '1', '女', 'F', '2', '未知', '0', 'x', ''].map(genderOf)).toEqual([
    ...['1', '1', '1', '1', '2', '2', '2', '3', '3', null, null],
  ])
})

test('words for being in service', () => {
  expect(['在职', 'Active', '1', 't', '试用', '启用'].filter(word => !isInService(word))).toEqual([])
  expect(['离职', 'left', '0', 'f', '关闭', '', '?'].filter(isInService)).toEqual([])
})

test('tables that are worth proposing', () => {
  expect(['hr.employee', 'T_STAFF', 'yuangong', '员工信息'].every(name => isTableOf(name, 'employees'))).toBe(
    true,
  )
  expect(['department', 'org_unit', 'bumen', '部门'].every(name => isTableOf(name, 'departments'))).toBe(true)
  expect(isTableOf('orders', 'employees')).toBe(false)
})
