import { beforeAll, expect, test } from 'vitest'
import { createCompany, endOf, until } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'

const company = duringFile(() => createCompany({ employees: 40 }))

beforeAll(async () => {
  await company.start()
  await company.run('full')
})

const db = (sql: string, values: unknown[] = []) => company.db.query(sql, values)
const updates = async () => (await company.calls())['employee/update'] ?? 0

test('a pause stops the calls of jobs in hand as well, and after it everything converges', async () => {
  await company.control('POST', 'faults', [{ operation: 'employee/get', latencyMs: 1500 }])
  await company.hr.query(`update person set name = 'Paused' where userid < 'e0030'`)
  const before = await updates()
  const { rows } = await db(`select dirsync.resync('changes') as id`)
  // Queries are on their way: their answers come, and no update may follow.
  await until(async () => {
    const { rows: hand } = await db('select count(*)::int as n from dirsync.pending where starts > 0')
    return hand[0].n === 30
  })
  await db(`select dirsync.pause('looks wrong')`)
  await until(async () => {
    const { rows: hand } = await db('select count(*)::int as n from dirsync.pending where starts > 0')
    return hand[0].n === 0
  })
  expect(await updates()).toBe(before)
  await company.control('DELETE', 'faults')
  const run = await db('select state from dirsync.sync_run where id = $1', [rows[0].id])
  expect(run.rows).toEqual([{ state: 'running' }])
  // Neither a success nor a probe ends it.
  const { rows: halts } = await db('select scope, category, raised_by from dirsync.halt')
  expect(halts).toEqual([{ scope: '*', category: 'paused', raised_by: 'postgres' }])

  await db('select dirsync.resume()')
  expect(await endOf(company.db, Number(rows[0].id))).toMatchObject({
    state: 'done',
    result: { outcomes: { updated: 30 } },
  })
  expect(await updates()).toBe(before + 30)
})

test('a pause needs a reason, and resuming what is not paused says so', async () => {
  await expect(db(`select dirsync.pause(' ')`)).rejects.toThrow('pause needs a reason')
  expect((await db('select dirsync.resume() as was')).rows).toEqual([{ was: false }])
})
