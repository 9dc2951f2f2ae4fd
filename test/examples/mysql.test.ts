// @module-tag mariadb

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { until } from '../helpers/company.ts'
import { startMariadb } from '../helpers/mariadb.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { typedSteps } from './typed-steps.ts'

// Nine commands one after the other, each of which takes long on a busy machine.
test('the ten steps bring a company from MariaDB to the platform', { timeout: 300_000 }, async () => {
  await using server = await startMariadb()
  await using own = await createTestDatabase()
  const { numbers, env, type, typeToEnd, employee } = await typedSteps('mysql', {
    MYSQL_HOST: '127.0.0.1',
    MYSQL_TCP_PORT: new URL(server.url('x')).port,
    DATABASE_URL: own.url,
  })
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])

  expect(await typeToEnd(2, 3)).toContain('10010')
  type(4)
  await until(async () => (await employee('10001')) ?? false)
  const looked = await typeToEnd(5, 6, 7)
  expect(looked).toMatch(/(?:MariaDB|MySQL) \d+\.\d+\.\d+ answers/)
  expect(await employee('10001')).not.toHaveProperty('entry_day', '2005-04-01')
  await typeToEnd(5, 8)
  expect(await employee('10001')).toMatchObject({
    gender: 1,
    level: 'Manager',
    birth_day: '1970-02-21',
    entry_day: '2005-04-01',
  })
  const { name } = (await employee('10001')) ?? {}
  expect(await typeToEnd(5, 9)).toContain('10001')
  const { name: changed } = (await employee('10001')) ?? {}
  expect(changed).toBe(`${name?.split(' ')[0]} Rosba`)

  // Nothing else sends what changes.
  env.SCHEDULE_SYNC_CHANGES = 'off'
  type(5, 10)
  /** The last run that came of looking for newer rows. */
  const polled = async () => {
    const { rows } = await own.pool.query<{ id: number }>(
      `select id::int from dirsync.sync_run where requested_by = 'poller' and state = 'done' order by id desc limit 1`,
    )
    return rows[0]?.id ?? 0
  }
  await until(async () => (await polled()) > 0)
  const sql = "update employees set last_name = 'Rosba' where emp_no = 10002"
  const change = spawn('mariadb', ['-u', 'root', 'company', '-e', sql], { env })
  expect(await once(change, 'close')).toEqual([0, null])
  await until(async () => (await employee('10002'))?.name.endsWith(' Rosba') ?? false)
})
