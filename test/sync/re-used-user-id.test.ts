import { writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { createCompany, endOf, until } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'

const company = duringFile(() =>
  createCompany({ employees: 12, settings: { SELLER_APPIDS: '20000001', BREAKER_EMPLOYEES: '3' } }),
)
const hr = (sql: string) => company.hr.query(sql)

beforeAll(async () => {
  await hr('alter table person add column card_no text')
  await writeFile(company.settings.HR_EMPLOYEES_SQL as string, 'select * from person')
  await company.start()
  await company.run('full')
})

describe('a newcomer with the user id of somebody who is still in service', () => {
  const [first, second] = ['11010519491231002X', '110105198001010016']
  const person = (userid: string, name: string, card: string | null, mobile: string) =>
    company.hr.query(
      'update person set active = true, name = $2, card_no = $3, mobile = $4 where userid = $1',
      [userid, name, card, mobile],
    )
  const former = async (userid: string) => {
    await person(userid, 'Zhang San', first, `139000000${userid.slice(-2)}`)
    await company.run('changes')
  }
  const leaves = async (userid: string) => {
    await hr(`update person set active = false where userid = '${userid}'`)
    await company.run('changes')
    expect((await company.cases(userid)).at(-1)).toMatchObject({ category: 'left_hr', state: 'open' })
  }
  const onPlatform = async (userid: string) => (await company.onPlatform()).get(userid)
  const caseOf = async (userid: string) => (await company.cases(userid)).at(-1)
  const openids = async (userid: string) =>
    (await company.db.query('select from dirsync.openid_binding where userid = $1', [userid])).rowCount
  /** Asks for a run, which may not end yet. */
  const request = async (sql: string, ...values: unknown[]) =>
    Number((await company.db.query(sql, values)).rows[0].run)
  /** Waits until a plan has seen an employee so. */
  const seen = (userid: string, status: string) =>
    until(async () => {
      const { rows } = await company.db.query('select status from dirsync.employee where userid = $1', [
        userid,
      ])
      return rows[0].status === status
    })
  const waiting = { category: 'another_person', state: 'open', field: 'userid' }

  test('does not get their account, or open ids, unless a person names the case', async () => {
    await former('e0005')
    // Of the same person either may change, and both are somebody else.
    await person('e0005', 'ZHANG·SAN', '110105197001010011', '13900000005')
    await company.run('changes')
    await former('e0005')
    await company.run('openids')
    expect(await openids('e0005')).toBe(1)
    await leaves('e0005')

    await person('e0005', 'Li Si', second, '13900000099')
    expect(await company.run('changes')).toMatchObject({ result: { outcomes: { parked: 1 } } })
    const before = { name: 'Zhang San', card_no: first, mobile: '13900000005' }
    expect(await onPlatform('e0005')).toMatchObject(before)
    const open = await caseOf('e0005')
    expect(open).toMatchObject({ ...waiting, changed_fields: [{ field: 'name' }, { field: 'card_no' }] })
    expect((await company.cases('e0005')).filter(({ state }) => state !== 'resolved')).toHaveLength(1)
    // Nothing of this is somebody's word about this person.
    await company.run('full')
    for (let times = 0; times < 2; times++) await company.run('employees', 'e0005')
    await endOf(company.db, await request(`select dirsync.retry_category('another_person') as run`))
    await company.run('openids')
    expect(await onPlatform('e0005')).toMatchObject(before)
    expect(await caseOf('e0005')).toMatchObject(waiting)
    // Its binding has waited since before.
    await company.db.query(`insert into dirsync.pending (operation, entity_key, detail, priority)
                            values ('bind-openid', 'e0005', '20000001', 9)`)
    await until(async () => (await company.db.query('select from dirsync.pending')).rowCount === 0)
    expect(await openids('e0005')).toBe(0)

    await company.retry(open.id)
    expect(await onPlatform('e0005')).toMatchObject({ name: 'Li Si', card_no: second, mobile: '13900000099' })
    expect(await caseOf('e0005')).toMatchObject({ state: 'resolved', resolution: 'succeeded' })
    await company.run('openids')
    expect(await openids('e0005')).toBe(1)
  })

  test('is one also where HR lacks the document of somebody who had left, and the case of that is put off', async () => {
    await former('e0009')
    await leaves('e0009')
    await company.db.query(`select dirsync.snooze(id, now() + interval '30 days') from dirsync.dead_letter
                            where entity_key = 'e0009' and state = 'open'`)
    await person('e0009', 'Li Si', null, '13900000098')
    await company.run('changes')
    expect(await caseOf('e0009')).toMatchObject(waiting)
    // The account goes, and the newcomer joins: nothing that was confirmed for the other counts.
    await hr(`update person set cost_center_id = 77 where userid = 'e0009'`)
    const { employees } = await company.control<{ employees: object[] }>('GET', 'state?userid=e0009')
    await company.control('POST', 'employees', [
      { ...employees[0], name: 'Li Si', card_type: null, card_no: null, mobile: '13900000098' },
    ])
    await company.run('changes')
    expect(await onPlatform('e0009')).toMatchObject({ cost_center_id: 77 })
    expect(await caseOf('e0009')).toMatchObject({ state: 'resolved' })
  })

  test('is one also where the platform fails first, so that the case is about that', async () => {
    await former('e0007')
    await leaves('e0007')
    const match = { userid: 'e0007' }
    await company.control('POST', 'faults', [
      { operation: 'employee/get', match, body: '{"code":1000999999,"msg":"?","data":""}' },
    ])
    await person('e0007', 'Li Si', null, '13900000097')
    await company.run('changes')
    expect(await caseOf('e0007')).toMatchObject({ category: 'unclassified', field: '' })
    await company.control('DELETE', 'faults')
    await company.run('full')
    expect(await onPlatform('e0007')).toMatchObject({ name: 'Zhang San', mobile: '13900000007' })
    expect(await caseOf('e0007')).toMatchObject(waiting)
  })

  test('is one also where all is paused while the former leaves', async () => {
    await former('e0004')
    await company.db.query(`select dirsync.pause('maintenance')`)
    await hr(`update person set active = false where userid = 'e0004'`)
    const left = await request('select dirsync.resync() as run')
    await seen('e0004', 'left')
    await person('e0004', 'Li Si', null, '13900000096')
    const joined = await request('select dirsync.resync() as run')
    await seen('e0004', 'waiting')
    await company.db.query('select dirsync.resume()')
    for (const run of [left, joined]) await endOf(company.db, run)
    expect(await onPlatform('e0004')).toMatchObject({ name: 'Zhang San', mobile: '13900000004' })
    expect(await caseOf('e0004')).toMatchObject(waiting)
    const { rows } = await company.db.query(
      `select dirsync.in_language('en', message) as message from dirsync.dead_letter where entity_key = 'e0004'`,
    )
    expect(rows.at(-1).message).toContain('the names differ, and HR had said that the employee with it left')
  })

  test('is one also where a person has rejected the plan in which the former left', async () => {
    await former('e0002')
    await hr(`update person set active = false where userid in ('e0001', 'e0002', 'e0006', 'e0008')`)
    const held = await company.run('changes')
    expect(held).toMatchObject({ state: 'held' })
    await company.db.query(`select dirsync.reject($1, 'the import was broken')`, [held.id])
    await hr(`update person set active = true where userid in ('e0001', 'e0006', 'e0008')`)
    await person('e0002', 'Li Si', null, '13900000095')
    await company.run('changes')
    expect(await onPlatform('e0002')).toMatchObject({ name: 'Zhang San', mobile: '13900000002' })
    expect(await caseOf('e0002')).toMatchObject(waiting)
  })

  test('is one also where a case is retried that somebody saw with the row of a third person', async () => {
    await former('e0003')
    await person('e0003', 'Li Si', second, '13900000094')
    await company.run('changes')
    await company.db.query(`select dirsync.pause('maintenance')`)
    const retried = await request('select dirsync.retry($1) as run', (await caseOf('e0003')).id)
    await person('e0003', 'Wang Wu', '110105197001010011', '13900000093')
    const renamed = await request('select dirsync.resync() as run')
    await until(
      async () =>
        (await company.db.query(`select from dirsync.sync_run where state in ('requested', 'planning')`))
          .rowCount === 0,
    )
    await company.db.query('select dirsync.resume()')
    for (const run of [retried, renamed]) await endOf(company.db, run)
    expect(await onPlatform('e0003')).toMatchObject({ name: 'Zhang San', mobile: '13900000003' })
    expect(await caseOf('e0003')).toMatchObject(waiting)
  })
})

test('an account that was ended and made anew between two looks holds nothing of what was confirmed for the former', async () => {
  const [userid, appid] = ['e0011', '20000001']
  await hr(`update person set cost_center_id = 77 where userid = '${userid}'`)
  await company.run('changes')
  await company.run('openids')
  const openid = async () => {
    const { rows } = await company.db.query(
      'select open_userid as id from dirsync.openid_binding where userid = $1 and seller_appid = $2',
      [userid, appid],
    )
    return rows[0]?.id
  }
  const former = await openid()
  // As a process of 1.0.0 leaves it.
  await company.db.query('update dirsync.employee set account = null')
  await company.run('full')
  const { employees } = await company.control<{ employees: object[] }>('GET', `state?userid=${userid}`)
  await company.control('POST', 'employees', [
    { ...employees[0], cost_center_id: null, time_created: '2026-11-28 08:00:00' },
  ])
  expect(await company.run('full')).toMatchObject({ result: { outcomes: { updated: 1 } } })
  expect((await company.onPlatform()).get(userid)).toMatchObject({ cost_center_id: 77 })
  expect([typeof former, await openid()]).toEqual(['string', undefined])
  expect(await company.run('full')).toMatchObject({ result: { calls: { 'employee/get': 12 } } })
})
