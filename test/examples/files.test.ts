import { expect, test } from 'vitest'
import { until } from '../helpers/company.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { typedSteps } from './typed-steps.ts'

test('the nine steps bring files to the platform, and half a file nowhere', async () => {
  await using own = await createTestDatabase()
  const { numbers, type, typeToEnd, employee } = await typedSteps('files', { DATABASE_URL: own.url })
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])

  expect(await typeToEnd(2)).toContain('00001,甲子,男')
  type(3)
  await until(async () => (await employee('00001')) ?? false)
  const looked = (await typeToEnd(4, 5, 6)).replace(/\s+/g, ' ')
  expect(looked).toMatch(/DuckDB \d+\.\d+\.\d+ answers/)
  expect(looked).toMatch(
    /the last complete delivery: departments\.csv \(4 rows, GB18030\), employees\.csv \(60 rows, GB18030\)/,
  )
  await typeToEnd(4, 7)
  expect(await employee('00001')).toMatchObject({
    name: '甲子',
    gender: 1,
    level: 'P1',
    entry_day: '2005-01-01',
  })
  expect(await typeToEnd(4, 8)).toContain('source_suspect')
  const { rows } = await own.pool.query(
    'select count(*)::int as leavers from dirsync.employee where not active',
  )
  expect(rows[0].leavers).toBe(1)
  await typeToEnd(4, 9)
  expect(await employee('00001')).toMatchObject({ name: '甲子，新' })
})
