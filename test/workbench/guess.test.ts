import { describe, expect, test } from 'vitest'
import {
  DEPARTMENT_MEANINGS,
  EMPLOYEE_MEANINGS,
  GONE_NAMES,
  genderCertainty,
  genderOf,
  guesses,
  type HrColumn,
  isTableOf,
  statusOf,
  statussOf,
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

  test('without the F that Kingdee puts before each name', () => {
    const names = 'FID FNUMBER FNAME FSEX FIDCARDNO FCELL FEMAIL FADMINORGUNITID FHIREDATE'
    expect(guessed(names.split(' ').map(name => column(name)))).toEqual({
      ...{ FNUMBER: 'userid', FNAME: 'name', FSEX: 'gender', FIDCARDNO: 'card_no' },
      ...{ FCELL: 'mobile', FEMAIL: 'email', FADMINORGUNITID: 'dept_code', FHIREDATE: 'entry_day' },
    })
    expect(guessed([column('id'), column('fid')], DEPARTMENT_MEANINGS)).toEqual({
      id: 'dept_code',
      fid: 'parent_code',
    })
  })

  test('as Beisen and Yonyou call it', () => {
    const moment = (name: string) => column(name, [], 'moment')
    expect(guessed([column('工号'), column('机构编码'), moment('最后修改时间')])).toEqual({
      ...{ 工号: 'userid', 机构编码: 'dept_code', 最后修改时间: 'updated_at' },
    })
    expect(guessed([column('code'), column('OrganizationCode'), moment('LastModifiedTime')])).toEqual({
      ...{ code: 'userid', OrganizationCode: 'dept_code', LastModifiedTime: 'updated_at' },
    })
  })

  test.each([
    ['identity numbers', ['11010519491231002X', '440524188001010014', 'E12345678']],
    ['mobile numbers', ['19900000001', '+86 199-0000-0002']],
    ['e-mail addresses', ['a@example.com', 'b@example.com']],
  ])('never as a user id where it looks like %s', (_, values) => {
    expect(Object.values(guessed([column('id', values)]))).not.toContain('userid')
    expect(guessed([column('userid', values), column('code', ['1', '2'])])).toMatchObject({ code: 'userid' })
  })

  test.each(['财务部', 'Human Resources', 'Finance'])('not as a department code where it is %s', name => {
    expect(guessed([column('部门', [name, 'D1'])])).toEqual({ 部门: 'dept_code' })
    expect(guessed([column('部门', [name, name, 'D1'])])).toEqual({})
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

test('how sure the values of a gender are', () => {
  expect(
    ['男,女', 'M,F,未知', 'male,x', '1,2', '0,1,2,9', '0,1', '1', '1,女'].map(v =>
      genderCertainty(v.split(',')),
    ),
  ).toEqual(['sure', 'sure', 'unknown', 'usual', 'usual', 'unknown', 'unknown', 'unknown'])
})

test('words for being in service, for having left, and those that may mean anything', () => {
  const told = (text: string) => new Set(text.split(' ').map(statusOf))
  expect(told('在职 Active t 试用 启用 regular probation Y 正式员工')).toEqual(new Set(['in service']))
  expect(told('离职 left f 关闭 已离职 Resigned no 退休')).toEqual(new Set(['gone']))
  expect(told('? 1 0 3 8 待入职 pending On-Leave')).toEqual(new Set([null]))
  expect(statussOf(['1', '0'])).toEqual(['in service', 'gone'])
  expect(statussOf(['3', '8', '2', '1'])).toEqual([null, null, null, null])
  const asked = (name: string, values: string) => statussOf(values.split(' '), name)
  expect(asked('LEAVE_FLAG', '1 0')).toEqual(['gone', 'in service'])
  expect(asked('是否离职', '是 否')).toEqual(['gone', 'in service'])
  expect(asked('离职状态', '在职 离职')).toEqual(['in service', 'gone'])
  expect(asked('enablestate', 'Y N')).toEqual(['in service', 'gone'])
  for (const name of [...GONE_NAMES.employees, ...GONE_NAMES.departments])
    expect([name, ...asked(name, 'y')]).toEqual([name, 'gone'])
})

test('tables that are worth proposing', () => {
  expect(['hr.employee', 'T_STAFF', 'yuangong', '员工信息'].every(name => isTableOf(name, 'employees'))).toBe(
    true,
  )
  expect(['department', 'org_unit', 'bumen', '部门'].every(name => isTableOf(name, 'departments'))).toBe(true)
  expect(isTableOf('orders', 'employees')).toBe(false)
})
