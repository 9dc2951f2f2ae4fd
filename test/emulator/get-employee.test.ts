import { expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { PlatformUnderTest } from './platform-under-test.ts'

const platform = duringFile(() =>
  PlatformUnderTest.start({
    seed: {
      enterprises: [
        { enterprise_code: 'OFF', features: { level: false, category: false, employee_attribute: [] } },
      ],
      departments: [{ dept_code: 'D1', dept_name: 'Kitchen' }],
      employees: [
        {
          ...FULL,
          cost_center_id: 12,
          employee_attribute: [{ attributeCode: 'contract', attributeValue: 'intern' }],
        },
        { userid: 'u2', mobile: '13800000002', email: 'two@example.com' },
        { userid: 'gone', mobile: '13800000003', email: 'gone@example.com', in_service: false },
        { enterprise_code: 'OFF', userid: 'u1', level: 'P4', category: ['driver'], mobile: '13800000002' },
      ],
    },
  }),
)

const FULL = {
  userid: 'u1',
  corp_code: 'W001',
  name: 'Ana Lo',
  gender: 2,
  card_type: 2,
  card_no: 'P1234567',
  email: 'Ana.Lo@Example.com',
  mobile_area: 852,
  mobile: '61234567',
  remark: 'a note',
  dept_code: 'D1',
  level: 'P4',
  category: ['driver', 'first-aid'],
  birth_day: '1990-02-28',
  entry_day: '2020-01-01',
  time_created: '2020-01-01 09:00:00',
  time_active: '2020-01-02 10:30:00',
}

test('the answer has every field of the specification, and neither write-only one', async () => {
  const { code, data } = await platform.get({ userid: 'u1' })
  expect(code).toBe(0)
  expect(data).toEqual({ ...FULL, dept_name: 'Kitchen' })
})

test('fields without a value are null', async () => {
  const { data } = await platform.get({ userid: 'u2' })
  expect(data).toMatchObject({
    corp_code: null,
    card_no: null,
    dept_code: null,
    dept_name: null,
    category: null,
  })
  expect(data.mobile_area).toBe(86)
  expect(data.time_created).toMatch(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/)
  expect(Object.keys(data)).toHaveLength(18)
})

test('level and category are null while their feature is off', async () => {
  const { data } = await platform.get({ userid: 'u1', enterprise_code: 'OFF' })
  expect(data).toMatchObject({ level: null, category: null })
})

test('an employee is found by e-mail in any letter case, and by mobile with its area', async () => {
  expect((await platform.get({ email: 'ANA.LO@example.COM' })).data.userid).toBe('u1')
  expect((await platform.get({ mobile: '61234567', mobile_area: '852' })).data.userid).toBe('u1')
  expect((await platform.get({ mobile: '13800000002' })).data.userid).toBe('u2')
  expect((await platform.get({ mobile: '13800000002', mobile_area: '86' })).data.userid).toBe('u2')
  expect((await platform.get({ mobile: '61234567' })).code).toBe(1000220102)
  expect((await platform.get({ mobile: '13800000002', mobile_area: '1' })).code).toBe(1000220102)
})

test('each enterprise is asked for itself', async () => {
  const { data } = await platform.get({ mobile: '13800000002', enterprise_code: 'OFF' })
  expect(data.userid).toBe('u1')
  expect((await platform.get({ userid: 'u2', enterprise_code: 'OFF' })).code).toBe(1000220096)
  expect((await platform.get({ userid: 'u2', enterprise_code: 'NONE' })).code).toBe(1000240002)
})

test('one employee must fit everything that is asked for', async () => {
  expect((await platform.get({ userid: 'u1', email: FULL.email })).data.userid).toBe('u1')
  expect((await platform.get({ userid: 'u1', email: 'two@example.com' })).code).toBe(1000220102)
  expect((await platform.get({ email: FULL.email, mobile: '13800000002' })).code).toBe(1000220102)
  expect((await platform.get({ email: 'nobody@example.com', mobile: '13999999999' })).code).toBe(1000220102)
})

test('an unknown userid gets 1000220096, one out of service 1000220102, by whatever it is asked for', async () => {
  expect(await platform.get({ userid: 'nobody' })).toMatchObject({
    status: 200,
    code: 1000220096,
    msg: 'employee for this user id does not exist',
    data: null,
  })
  expect(await platform.get({ userid: 'gone' })).toMatchObject({
    code: 1000220102,
    msg: 'employee does not exist',
  })
  expect((await platform.get({ email: 'gone@example.com' })).code).toBe(1000220102)
  expect((await platform.get({ mobile: '13800000003' })).code).toBe(1000220102)
})

test('one of userid, mobile and e-mail is required', async () => {
  for (const query of [{}, { mobile_area: '86' }, { enterprise_code: 'OFF' }]) {
    const answer = await platform.get(query)
    expect(answer.code).toBe(1000220002)
    expect(answer.msg).toContain('at least one of userid, mobile and email is required')
  }
})

test.each([
  { userid: '' },
  { userid: 'x'.repeat(101) },
  { email: 'x'.repeat(101) },
  { mobile: '12345' },
  { mobile: '1'.repeat(21) },
  { mobile: '13800000002', mobile_area: '+86' },
  { mobile: '13800000002', mobile_area: '12345678901' },
  { userid: 'u1', enterprise_code: 'x'.repeat(21) },
  { userid: 'u1', third_type: '5' },
  { userid: 'u1', name: 'Ana' },
])('1000220002 answers %j', async query => {
  expect((await platform.get(query as unknown as Record<string, string>)).code).toBe(1000220002)
})
