import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { PlatformUnderTest } from './platform-under-test.ts'

const platform = duringFile(() => PlatformUnderTest.start())

beforeEach(async () => {
  await platform.reset()
  await platform.control('POST', 'state', {
    departments: [
      { dept_code: 'ROOT', dept_name: 'All', base: true },
      { dept_code: 'A', dept_name: 'A', parent_code: 'ROOT' },
      { dept_code: 'A1', dept_name: 'A1', parent_code: 'A' },
      { dept_code: 'A2', dept_name: 'A2', parent_code: 'A' },
      { enterprise_code: 'E2', dept_code: 'B', dept_name: 'B' },
      { enterprise_code: 'E2', dept_code: 'A1', dept_name: 'A1 of E2' },
    ],
    employees: [
      { userid: 'u1', dept_code: 'A' },
      { userid: 'u2', dept_code: 'A1' },
      { userid: 'gone', dept_code: 'A', in_service: false },
      { enterprise_code: 'E2', userid: 'u1', dept_code: 'A1' },
    ],
  })
})

describe('employee/openid', () => {
  const bind = (userid: string, seller_appid: string, more: Record<string, string> = {}) =>
    platform.call('employee/openid', { userid, seller_appid, ...more })

  test('generates an open id, and gives the same one again', async () => {
    const first = await bind('u1', 'seller01')
    expect(first.code).toBe(0)
    expect(first.data).toEqual({
      userid: 'u1',
      seller_appid: 'seller01',
      open_userid: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    expect((await bind('u1', 'seller01', { third_type: '5' })).data).toEqual(first.data)
  })

  test('differs by employee, merchant and enterprise', async () => {
    const answers = await Promise.all([
      bind('u1', 'seller01'),
      bind('u1', 'seller02'),
      bind('u2', 'seller01'),
      bind('u1', 'seller01', { enterprise_code: 'E2' }),
    ])
    expect(new Set(answers.map(({ data }) => data.open_userid)).size).toBe(4)
  })

  test('gives the open id that was seeded', async () => {
    await platform.control('POST', 'openids', [
      { userid: 'u1', seller_appid: 'seller01', open_userid: 'an-older-id' },
    ])
    expect((await bind('u1', 'seller01')).data.open_userid).toBe('an-older-id')
  })

  test('refuses those who are not in service, and unknown enterprises', async () => {
    expect((await bind('nobody', 'seller01')).code).toBe(1000220096)
    expect((await bind('gone', 'seller01')).code).toBe(1000220102)
    expect((await bind('u1', 'seller01', { enterprise_code: 'NONE' })).code).toBe(1000240002)
    expect((await platform.control('GET', 'state')).openids).toEqual([])
  })

  test.each([
    { userid: 'u1' },
    { seller_appid: 'seller01' },
    { userid: 'u1', seller_appid: 'seller0001' },
    { userid: 'u1', seller_appid: '' },
    { userid: 'u1', seller_appid: 'seller01', third_type: '6' },
    { userid: 'u1', seller_appid: 'seller01', third_type: '0' },
    { userid: 'u1', seller_appid: 'seller01', third_type: '05' },
    { userid: 'u1', seller_appid: 'seller01', email: 'x@example.com' },
  ])('answers 1000220002 to %j', async parameters => {
    const answer = await platform.call('employee/openid', parameters as unknown as Record<string, string>)
    expect(answer.code).toBe(1000220002)
  })
})

describe('department/delete', () => {
  const remove = (dept_code: string, more: Record<string, string> = {}) =>
    platform.call('department/delete', { dept_code, ...more })

  test('deletes the department and answers with its code', async () => {
    expect(await remove('A2')).toMatchObject({ status: 200, code: 0, msg: 'OK', data: 'A2' })
    expect((await remove('A2')).code).toBe(1000220010)
    const { departments } = await platform.control('GET', 'state')
    expect(departments.map((one: { dept_code: string }) => one.dept_code)).toEqual([
      'A',
      'A1',
      'ROOT',
      'A1',
      'B',
    ])
  })

  test('leaves employees without department and children without parent, and says so in the log', async () => {
    expect((await remove('A')).code).toBe(0)
    const { departments, employees } = await platform.control('GET', 'state')
    expect(employees.map((one: { dept_code: string | null }) => one.dept_code)).toEqual([
      null,
      null,
      'A1',
      'A1',
    ])
    const child = departments.find((one: { dept_code: string }) => one.dept_code === 'A2')
    expect(child.parent_code).toBeNull()
    const { calls } = await platform.control('GET', 'calls?operation=department/delete')
    expect(calls[0].effect).toEqual({ employees_left_without_department: 2, children_left_without_parent: 2 })
  })

  test('touches its own enterprise alone', async () => {
    expect((await remove('A1', { enterprise_code: 'E2' })).code).toBe(0)
    expect((await platform.employee('u2')).dept_code).toBe('A1')
    expect((await remove('A1')).code).toBe(0)
  })

  test('refuses the base department, those of other enterprises, and unknown ones', async () => {
    const before = await platform.control('GET', 'state')
    expect(await remove('ROOT')).toMatchObject({ code: 1002212002, msg: 'base department cannot be deleted' })
    expect(await remove('B')).toMatchObject({ code: 1002200106, msg: 'no permission' })
    expect((await remove('ROOT', { enterprise_code: 'E2' })).code).toBe(1002200106)
    expect(await remove('Z')).toMatchObject({ code: 1000220010, msg: 'dept_code not exists !' })
    expect((await remove('A', { enterprise_code: 'NONE' })).code).toBe(1000240002)
    expect(await platform.control('GET', 'state')).toEqual(before)
  })

  test.each([{}, { dept_code: '' }, { dept_code: 'x'.repeat(51) }, { dept_code: 'A', name: 'x' }])(
    'answers 1000220002 to %j',
    async parameters => {
      const answer = await platform.call('department/delete', parameters as unknown as Record<string, string>)
      expect(answer.code).toBe(1000220002)
    },
  )
})
