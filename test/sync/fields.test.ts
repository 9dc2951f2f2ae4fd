import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createCompany } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'

const company = duringFile(() => createCompany({ employees: 40 }))

beforeAll(async () => {
  await company.start()
  await company.run('full')
})
beforeEach(() => company.control('DELETE', 'faults'))

const hr = (sql: string, values: unknown[] = []) => company.hr.query(sql, values)

/** Updates sent for an employee while `work` is done. */
const updates = async (userid: string, work: () => Promise<unknown>) => {
  const sent = async () => {
    const { calls } = await company.control<{ calls: { params: { userid: string } }[] }>(
      'GET',
      'calls?operation=employee/update',
    )
    return calls.filter(({ params }) => params.userid === userid).length
  }
  const before = await sent()
  await work()
  return (await sent()) - before
}
/** Changes an employee in the platform's back office. */
const edit = async (userid: string, fields: Record<string, unknown>) => {
  const { employees } = await company.control<{ employees: object[] }>('GET', `state?userid=${userid}`)
  await company.control('POST', 'employees', [{ ...employees[0], ...fields }])
}

test('the case of an invalid HR row shows nothing of a value that came in the wrong column', async () => {
  const misplaced = 'Zhang San, 13812345678, zhang.san@example.com, Nanjing Road 1'
  await hr(`update person set level = $1 where userid = 'e0001'`, [misplaced])
  await company.run('changes')
  const [open] = await company.cases('e0001')
  expect(open).toMatchObject({
    category: 'invalid_hr_row',
    field: 'level',
    changed_fields: [{ field: 'level', value: '**** (61)' }],
  })
  expect(JSON.stringify(open)).not.toMatch(/Zhang|138|example/)
})

test('a value is sent that was invalid when its case began, as before an upgrade', async () => {
  await company.db.query(
    `insert into dirsync.dead_letter (entity, entity_key, operation, field, category, message, remedy, source_hash)
     select 'employee', userid, 'update-employee', 'entry_day', 'invalid_hr_row', '[]', '[]', source_hash
     from dirsync.employee where userid = 'e0006'`,
  )
  await edit('e0006', { entry_day: '1999-01-01' })
  expect(await updates('e0006', () => company.run('full'))).toBe(1)
  expect(await company.cases('e0006')).toMatchObject([{ state: 'resolved', resolution: 'succeeded' }])
})

describe('a value that the platform accepts and does not keep', () => {
  const OK = '{"code":0,"msg":"OK","data":""}'
  const unheeded = (userid: string, match: Record<string, string> = {}) =>
    company.control('POST', 'faults', [
      { operation: 'employee/update', match: { userid, ...match }, body: OK },
    ])

  test('becomes a case that names the field, and is not sent every night', async () => {
    await unheeded('e0002', { entry_day: '2021-02-03' })
    await hr(`update person set entry_day = '2021-02-03' where userid = 'e0002'`)
    expect(await updates('e0002', () => company.run('changes'))).toBe(1)
    expect(await company.cases('e0002')).toEqual([])
    const nights = await updates('e0002', async () => {
      for (let night = 0; night < 3; night++) await company.run('full')
    })
    expect(await company.cases('e0002')).toMatchObject([
      { category: 'not_applied', field: 'entry_day', state: 'open', occurrences: 1 },
    ])
    expect(nights).toBe(0)
  })

  test('holds back nothing but itself, also when another column of the row changes', async () => {
    await hr(`update person set name = 'Renamed' where userid = 'e0002'`)
    expect(await updates('e0002', () => company.run('changes'))).toBe(1)
    expect((await company.onPlatform()).get('e0002')).toMatchObject({ name: 'Renamed' })
    expect(await company.cases('e0002')).toMatchObject([
      { category: 'not_applied', state: 'open', occurrences: 1 },
    ])
  })

  test('is probed: the case stays while it is not kept, and ends when it is', async () => {
    const [{ id, next_retry_at }] = await company.cases('e0002')
    expect(next_retry_at.getTime()).toBeGreaterThan(Date.now() + 4 * 86_400_000)
    await unheeded('e0002', { entry_day: '2021-02-03' })
    expect(await updates('e0002', () => company.retry(id))).toBe(1)
    expect(await company.cases('e0002')).toMatchObject([{ state: 'open', occurrences: 2 }])
    await company.control('DELETE', 'faults')
    await company.retry(id)
    expect(await company.cases('e0002')).toMatchObject([{ state: 'resolved', resolution: 'succeeded' }])
    expect((await company.onPlatform()).get('e0002')).toMatchObject({ entry_day: '2021-02-03' })
  })

  test('ends when the value of HR changes', async () => {
    await unheeded('e0003', { name: 'Not To Be' })
    await hr(`update person set name = 'Not To Be' where userid = 'e0003'`)
    await company.run('changes')
    await company.run('full')
    expect(await company.cases('e0003')).toMatchObject([{ category: 'not_applied', state: 'open' }])
    await hr(`update person set name = 'To Be' where userid = 'e0003'`)
    await company.run('changes')
    expect(await company.cases('e0003')).toMatchObject([{ state: 'resolved', resolution: 'succeeded' }])
    expect((await company.onPlatform()).get('e0003')).toMatchObject({ name: 'To Be' })
  })

  test('is distinguished from one that is changed on the platform, however often', async () => {
    for (const entry_day of ['1999-01-01', '1999-02-02', '1999-02-02']) {
      await edit('e0004', { entry_day })
      expect(await updates('e0004', () => company.run('full'))).toBe(1)
      // The night after, the platform is seen to have kept it.
      expect(await updates('e0004', () => company.run('full'))).toBe(0)
    }
    expect((await company.onPlatform()).get('e0004')).toMatchObject({ entry_day: '2020-01-05' })
    expect(await company.cases('e0004')).toEqual([])
  })

  test('is found too where the platform makes something else of it', async () => {
    await hr(`update person set name = 'Much Too Long' where userid = 'e0005'`)
    await company.run('changes')
    const sent = await updates('e0005', async () => {
      for (let night = 0; night < 3; night++) {
        await edit('e0005', { name: 'Much' })
        await company.run('full')
      }
    })
    expect(sent).toBe(1)
    expect(await company.cases('e0005')).toMatchObject([
      { category: 'not_applied', field: 'name', state: 'open' },
    ])
  })
})
