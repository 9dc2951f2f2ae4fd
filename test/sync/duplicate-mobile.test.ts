import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { createCompany } from '../helpers/company.ts'

test('the holder of a mobile is found although the number is wanted with another area code', async () => {
  await using company = await createCompany({ employees: 3 })
  await company.start()
  await company.run('full')
  await company.hr.query(`update person set mobile = '+852 19900000002' where userid = 'e0001'`)
  await company.run('changes')
  const { rows } = await company.db.query(
    `select category, field, blocked_by from dirsync.dead_letter where entity_key = 'e0001'`,
  )
  expect(rows).toEqual([{ category: 'duplicate_mobile', field: 'mobile', blocked_by: 'e0002' }])
  // Refused once: finding the holder took no further try.
  const { 'employee/update': updates } = await company.calls()
  expect(updates).toBe(1)
})

async function withAreaCodes() {
  const company = await createCompany({ employees: 5 })
  const sql = 'select userid, name, mobile, level as mobile_area, active from person'
  await writeFile(company.settings.HR_EMPLOYEES_SQL as string, sql)
  await company.start()
  await company.run('full')
  return company
}

test('the case of a number stays while the platform refuses its area code, and that of the area code ends with it', async () => {
  await using company = await withAreaCodes()
  const change = async (column: 'mobile' | 'level', value: string) => {
    await company.hr.query(`update person set ${column} = $1 where userid = 'e0003'`, [value])
    await company.run('changes')
  }
  const known = async () =>
    (await company.cases('e0003')).map(({ category, state, resolution, occurrences }) => [
      category,
      resolution ?? state,
      occurrences,
    ])

  await change('mobile', '19900000004')
  await change('level', '999')
  const both = [
    ['duplicate_mobile', 'open', 1],
    ['invalid_mobile_area', 'open', 1],
  ]
  expect(await known()).toEqual(both)
  // The same row is not sent again.
  const calls = await company.spent(() => company.run('full'))
  expect(calls['employee/update']).toBeUndefined()
  expect(await known()).toEqual(both)

  await change('level', '86')
  expect(await known()).toEqual([
    ['duplicate_mobile', 'open', 2],
    ['invalid_mobile_area', 'obsolete', 1],
  ])
  // HR takes its row back to one that was refused before.
  await change('level', '999')
  await change('level', '86')
  await change('mobile', '19955550003')
  expect(await known()).toEqual([
    ['duplicate_mobile', 'succeeded', 2],
    ['invalid_mobile_area', 'obsolete', 1],
    ['invalid_mobile_area', 'obsolete', 1],
  ])
})

test('the case of a number ends when HR has another number, although the platform refuses its area code', async () => {
  await using company = await withAreaCodes()
  const change = async (mobile: string, area: string) => {
    const sql = `update person set mobile = $1, level = $2 where userid = 'e0003'`
    await company.hr.query(sql, [mobile, area])
    await company.run('changes')
  }
  await change('19900000004', '86')
  await change('19955550003', '999')
  expect(await company.cases('e0003')).toMatchObject([
    { category: 'duplicate_mobile', state: 'resolved', resolution: 'obsolete' },
    { category: 'invalid_mobile_area', state: 'open' },
  ])
})
