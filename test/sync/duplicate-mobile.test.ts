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
