import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { createCompany, until } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { worded } from '../texts/worded.ts'

/** U+0000 and half a character, as JSON spells them out. */
const ODD = String.raw`a\u0000b\ud83dc`
/** What is kept of them. */
const KEPT = 'a\ufffdb\ufffdc'

const company = duringFile(() => createCompany({ employees: 12, settings: { SELLER_APPIDS: '20000001' } }))

beforeAll(async () => {
  await company.hr.query(
    'alter table person add column category text, add column employee_attribute text, add column card_no text',
  )
  await writeFile(company.settings.HR_EMPLOYEES_SQL as string, 'select * from person')
  await company.start()
  await company.run('full')
})
beforeEach(() => company.control('DELETE', 'faults'))

const hr = (sql: string) => company.hr.query(sql)
const answer = (operation: string, body: string, match = {}) =>
  company.control('POST', 'faults', [{ operation, body, match }])

test('a value with control characters at its ends becomes a case', async () => {
  await hr(`update person set mobile = '😀😀123456' where userid = 'e0001'`)
  expect(await company.run('changes')).toMatchObject({ state: 'done', result: { outcomes: { parked: 1 } } })
  expect(worded(await company.cases('e0001'))).toMatchObject([
    { category: 'invalid_hr_row', field: 'mobile', changed_fields: [{ field: 'mobile' }] },
  ])
})

test("the platform's identity number never becomes a passport because HR says no type", async () => {
  const given = async (card: string) => {
    await hr(`update person set card_no = '${card}' where userid = 'e0010'`)
    const { result } = await company.run('changes')
    const { card_type, card_no } = (await company.onPlatform()).get('e0010') ?? {}
    const [open] = (await company.cases('e0010')).filter(({ state }) => state === 'open')
    return [result?.outcomes, card_type, card_no, open?.category, open?.field]
  }
  const number = '11010519491231002X'
  expect(await given(number)).toEqual([{ updated: 1 }, 1, number, undefined, undefined])
  const told = [{ parked: 1 }, 1, number, 'invalid_hr_row', 'card_no']
  expect(await given('11010519491231002')).toEqual(told)
  expect(await given('E12345678')).toEqual(told)
  const [{ id, message, changed_fields }] = (await company.cases('e0010')).slice(-1)
  expect(worded(message)).toContain('card_type')
  expect(JSON.stringify(changed_fields)).not.toContain('E12345678')
  // Not even by a retry: only HR can say which document it is.
  await company.retry(id)
  expect((await company.onPlatform()).get('e0010')).toMatchObject({ card_type: 1, card_no: number })
  expect(await given(number)).toEqual([{ in_sync: 1 }, 1, number, undefined, undefined])
  // Where the platform has none, a passport is one.
  await hr(`update person set card_no = 'E12345678' where userid = 'e0011'`)
  await company.run('changes')
  expect((await company.onPlatform()).get('e0011')).toMatchObject({ card_type: 2, card_no: 'E12345678' })
})

test('an employee who has left is a finding, whatever the rest of the row holds', async () => {
  await hr(`update person set active = false, name = '***', mobile = '1990000****', email = 'deleted'
            where userid = 'e0000'`)
  await company.run('changes')
  expect(worded(await company.cases('e0000'))).toMatchObject([{ category: 'left_hr', state: 'open' }])
})

test('a user id that is too long for any index stops no one else', async () => {
  await hr(`alter table person drop constraint person_pkey`)
  // Of random letters: a text that can be compressed fits.
  await hr(`insert into person (userid, name, active)
            select string_agg(md5(i::text), ''), 'Long', true from generate_series(1, 200) i`)
  await hr(`update person set name = 'Renamed' where userid = 'e0009'`)
  expect(worded(await company.run('changes'))).toMatchObject({
    state: 'done',
    result: { outcomes: { updated: 1 } },
  })
  const found = await company.cases('(no user id)')
  expect(worded(found)).toMatchObject([
    { category: 'invalid_hr_row', message: 'One row of HR has no user id, or one that is far too long.' },
  ])
  // A retry reads HR again, and the case is open until that finds no such row.
  const [{ id }] = found
  const retried = await company.retry(id)
  expect(worded(retried)).toMatchObject({
    state: 'done',
    message: expect.stringContaining('reads every row of HR again'),
  })
  expect(await company.cases('(no user id)')).toMatchObject([{ state: 'open', next_retry_at: null }])
  await hr(`delete from person where name = 'Long'`)
  await company.retry(id)
  await until(async () => (await company.cases('(no user id)'))[0].state === 'resolved' || null)
})

test('the longest user id that is kept becomes a case, as one that breaks a rule', async () => {
  const longest = randomBytes(1000).toString('base64').slice(0, 1299)
  await hr(`insert into person (userid, name, active) values ('${longest}', 'Long', true)`)
  expect(await company.run('changes')).toMatchObject({ state: 'done', result: { outcomes: { parked: 1 } } })
  expect(await company.cases(longest)).toMatchObject([{ category: 'invalid_hr_row', state: 'open' }])
})

test('extended fields that are not JSON become a case', async () => {
  await hr(
    String.raw`update person set employee_attribute = '[{"attributeCode":"a\x"}]' where userid = 'e0002'`,
  )
  expect(worded(await company.run('changes'))).toMatchObject({
    state: 'done',
    result: { outcomes: { parked: 1 } },
  })
  expect(worded(await company.cases('e0002'))).toMatchObject([
    { category: 'invalid_hr_row', field: 'employee_attribute' },
  ])
})

test('what JSON in HR spells out, and no database can hold, becomes a case', async () => {
  await hr(`update person set category = '["${ODD}"]' where userid = 'e0003'`)
  await hr(
    `update person set employee_attribute = '[{"attributeCode":"${ODD}","attributeValue":"x"}]' where userid = 'e0004'`,
  )
  expect(worded(await company.run('changes'))).toMatchObject({
    state: 'done',
    result: { outcomes: { parked: 2 } },
  })
  // Neither is what it should be, and both are masked as any text that is not.
  expect(worded(await company.cases('e0003'))).toMatchObject([
    { field: 'category', changed_fields: [{ value: '**** (19)' }] },
  ])
  expect(worded(await company.cases('e0004'))).toMatchObject([
    { field: 'employee_attribute', changed_fields: [{ value: '**** (58)' }] },
  ])
})

test('a department and an open id of the platform are stored as far as they can be', async () => {
  await answer('employee/get', `{"code":0,"data":{"userid":"e0006","dept_code":"${ODD}"}}`, {
    userid: 'e0006',
  })
  await company.run('employees', 'e0006')
  const { rows: employees } = await company.db.query(
    `select dept_code from dirsync.employee where userid = 'e0006'`,
  )
  expect(employees).toEqual([{ dept_code: 'D1' }])

  await hr(`update person set active = false where userid = 'e0006'`)
  await company.run('changes')
  const { rows: leavers } = await company.db.query(
    `select dept_code from dirsync.employee where userid = 'e0006'`,
  )
  expect(worded(leavers)).toEqual([{ dept_code: KEPT }])

  await answer('employee/openid', `{"code":0,"data":{"open_userid":"${ODD}"}}`, { userid: 'e0007' })
  expect(await company.run('openids')).toMatchObject({ state: 'done' })
  const { rows: bindings } = await company.db.query(
    `select open_userid from dirsync.openid_binding where userid = 'e0007'`,
  )
  expect(bindings).toEqual([{ open_userid: KEPT }])
})

test('the holder of a number is named as far as he can be', async () => {
  await answer('employee/get', `{"code":0,"data":{"userid":"${ODD}"}}`, { mobile: '19900000009' })
  await hr(`update person set mobile = '19900000009' where userid = 'e0008'`)
  expect(worded(await company.run('changes'))).toMatchObject({
    state: 'done',
    result: { outcomes: { parked: 1 } },
  })
  expect(worded(await company.cases('e0008'))).toMatchObject([
    { category: 'duplicate_mobile', blocked_by: KEPT },
  ])
})
