import { expect } from 'vitest'
import type { PlatformUnderTest } from './platform-under-test.ts'

/** Two employees in service, one out of service, and one of an enterprise whose features are off. */
const DIRECTORY = {
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
}

/** Puts the platform back to the small directory that the tests of employee/update share. */
export async function resetDirectory(platform: PlatformUnderTest): Promise<void> {
  await platform.reset()
  await platform.control('POST', 'state', DIRECTORY)
}

/** Expects that an update (of u1 where no userid is given) gets a code and changes nothing. */
export async function expectRefusal(
  platform: PlatformUnderTest,
  code: number,
  fields: Record<string, string>,
): Promise<void> {
  const before = await platform.control('GET', 'state')
  const { status, ...answer } = await platform.update(fields.userid ?? 'u1', fields)
  expect({ fields, status, code: answer.code, data: answer.data }).toEqual({
    fields,
    status: 200,
    code,
    data: null,
  })
  expect(await platform.control('GET', 'state')).toEqual(before)
}
