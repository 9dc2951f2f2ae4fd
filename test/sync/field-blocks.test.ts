import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { requestDueRetries } from '../../src/sync/cases/retries.ts'
import { type Company, createCompany, endOf, until } from '../helpers/company.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { worded } from '../texts/worded.ts'

let company: Company

beforeAll(async () => {
  const mapping = join(await temporaryFolder(), 'employees.sql')
  await writeFile(
    mapping,
    'select userid, name, dept_code, level, attribute as employee_attribute, active from person',
  )
  company = await createCompany({
    employees: 60,
    settings: { HR_EMPLOYEES_SQL: mapping, WORKER_CONCURRENCY: '4' },
  })
  await company.hr.query('alter table person add column attribute text')
  await switchOn({ level: true, employee_attribute: ['contract', 'taxpayer'] })
  await company.start()
  await company.run('full')
})
afterAll(() => company[Symbol.asyncDispose]())
beforeEach(() => company.control('DELETE', 'faults'))

const switchOn = (features: { level: boolean; employee_attribute: string[] }) =>
  company.control('POST', 'enterprises', [{ enterprise_code: '', features: { category: true, ...features } }])
/** HR gives some employees these attributes. */
const attributes = (from: string, to: string, of: (n: number) => Record<string, string>) =>
  company.hr.query(
    `update person p set attribute = a.text from jsonb_to_recordset($3) as a (n int, text text)
     where p.userid between $1 and $2 and right(p.userid, 4)::int = a.n`,
    [from, to, JSON.stringify(Array.from({ length: 60 }, (_, n) => ({ n, text: JSON.stringify(of(n)) })))],
  )
const cases = async (state = `state <> 'resolved'`) =>
  (
    await company.db.query(
      `select id::int, entity, entity_key, field, category, state, dirsync.in_language('en', message) as message, occurrences, resolution, next_retry_at
       from dirsync.dead_letter where ${state} order by id`,
    )
  ).rows
const onPlatform = async (userid: string) => (await company.onPlatform()).get(userid)
const updates = async (work: () => Promise<unknown>) => {
  const sent = async () => (await company.calls())['employee/update'] ?? 0
  const before = await sent()
  await work()
  return (await sent()) - before
}
/** Whatever probe of a block waits for its time has waited long enough. */
const probesAreDue = async () => {
  await company.db.query('update dirsync.field_block set next_probe_at = now()')
  const run = await requestDueRetries(company.db)
  expect(run).not.toBeNull()
  return endOf(company.db, Number(run))
}
const liftingRun = async () => {
  const { rows } = await company.db.query(
    `select id::int from dirsync.sync_run where kind = 'retry' and requested_by = 'cron' order by id desc limit 1`,
  )
  return endOf(company.db, rows[0].id)
}

describe('an attribute that the platform refuses', () => {
  test('as wrong for one employee is a case of that employee, and no one else is held back', async () => {
    await attributes('e0001', 'e0001', () => ({ contrat: 'intern' }))
    await company.run('changes')
    expect(await cases()).toMatchObject([
      { entity: 'employee', entity_key: 'e0001', field: 'employee_attribute', category: 'feature_disabled' },
    ])
    await attributes('e0002', 'e0002', () => ({ contract: 'intern' }))
    await company.run('changes')
    expect(await onPlatform('e0002')).toMatchObject({
      employee_attribute: [{ attributeCode: 'contract', attributeValue: 'intern' }],
    })
    await attributes('e0001', 'e0001', () => ({ contract: 'formal' }))
    await company.run('changes')
    expect(await cases()).toEqual([])
  })

  test('of several employees with different values is one case of the enterprise', async () => {
    await switchOn({ level: true, employee_attribute: ['taxpayer'] })
    await attributes('e0010', 'e0049', n => ({ contract: `kind ${n}` }))
    // Two refusals find it out. By then a worker with four calls at a time has 16 employees in hand, and those of one more job.
    expect(await updates(() => company.run('changes'))).toBeLessThanOrEqual(16 + 5)
    const [open, ...others] = await cases()
    expect(others).toEqual([])
    expect(worded(open)).toMatchObject({
      entity: 'enterprise',
      entity_key: '(single enterprise)',
      field: 'employee_attribute',
      category: 'feature_disabled',
      state: 'open',
      message: expect.stringMatching(/from 40 employees\. It concerns the attribute contract\b/),
    })
    const { rows: shown } = await company.db.query('select * from dirsync.failed_syncs')
    expect(shown).toMatchObject([{ id: String(open.id), entity: 'enterprise', message: open.message }])
    expect(JSON.stringify(await company.db.query('select * from dirsync.field_refusal'))).not.toContain(
      'kind ',
    )
  })

  test('is withheld by its code: other attributes go through', async () => {
    await attributes('e0003', 'e0004', n => ({ taxpayer: `T${n}` }))
    expect(await updates(() => company.run('changes'))).toBe(2)
    await attributes('e0005', 'e0005', () => ({ contract: 'intern', taxpayer: 'T5' }))
    expect(await updates(() => company.run('changes'))).toBe(0)
    expect(await cases()).toMatchObject([
      { entity: 'enterprise', message: expect.stringContaining('from 41 employees.') },
    ])
  })

  test('is probed with one employee when its case is retried, and stays while that is refused', async () => {
    const [{ id }] = await cases()
    expect(await updates(() => company.retry(id))).toBe(1)
    const [open] = await cases()
    expect(open).toMatchObject({ id, state: 'open', occurrences: 2 })
    const hours = (open.next_retry_at - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(0.5)
    expect(hours).toBeLessThan(3)
  })

  test('is probed although its case is ignored, by another employee each time, and asked for in the background', async () => {
    const [{ id }] = await cases()
    await company.db.query(`select dirsync.ignore($1, 'we know')`, [id])
    const prober = async () =>
      (await company.db.query('select probe_userid as userid from dirsync.field_block')).rows[0].userid
    expect(await updates(probesAreDue)).toBe(1)
    const first = await prober()
    expect(await updates(probesAreDue)).toBe(1)
    expect(await prober()).not.toBe(first)
    expect(await cases()).toMatchObject([{ id, state: 'ignored' }])
    await switchOn({ level: true, employee_attribute: ['contract', 'taxpayer'] })
    await probesAreDue()
    expect((await company.db.query('select * from dirsync.field_block')).rows).toEqual([])
    expect(await cases()).toEqual([])
    expect(await liftingRun()).toMatchObject({ state: 'done', result: { outcomes: { updated: 40 } } })
    for (const userid of ['e0005', 'e0010', 'e0049'])
      expect((await onPlatform(userid))?.employee_attribute).toContainEqual(
        expect.objectContaining({ attributeCode: 'contract' }),
      )
  })
})

describe('a grade that the platform refuses', () => {
  const blocked = async () => (await company.db.query('select field from dirsync.field_block')).rows
  const refuse = (...grades: string[]) =>
    company.control(
      'POST',
      'faults',
      grades.map(level => ({ operation: 'employee/update', match: { level }, code: 1000220030 })),
    )

  test('is off for the whole enterprise at the first refusal, which can mean nothing else', async () => {
    await switchOn({ level: false, employee_attribute: ['contract', 'taxpayer'] })
    await company.hr.query(`update person set level = 'P7' where userid = 'e0020'`)
    await company.run('changes')
    await company.hr.query(
      `update person set level = 'P' || right(userid, 1) where userid between 'e0021' and 'e0029'`,
    )
    expect(await updates(() => company.run('changes'))).toBe(0)
    expect(await cases()).toMatchObject([
      { entity: 'enterprise', field: 'level', message: expect.stringContaining('from 10 employees.') },
    ])
  })

  test('is lifted by the first who gets it through, and all others are queried in one run', async () => {
    await switchOn({ level: true, employee_attribute: ['contract', 'taxpayer'] })
    // HR changed what was refused: that is tried at once.
    await company.hr.query(`update person set level = 'P1' where userid = 'e0020'`)
    await company.run('changes')
    expect(await blocked()).toEqual([])
    expect(await liftingRun()).toMatchObject({ result: { outcomes: { updated: 9 } } })
    expect(await onPlatform('e0029')).toMatchObject({ level: 'P9' })
    expect(await cases()).toEqual([])
  })

  test('of an employee whose grade the platform shows is about this grade', async () => {
    await refuse('WRONG')
    await company.hr.query(`update person set level = 'WRONG' where userid = 'e0021'`)
    await company.run('changes')
    expect(await blocked()).toEqual([])
    expect(await cases()).toMatchObject([{ entity: 'employee', entity_key: 'e0021', field: 'level' }])
    await company.hr.query(`update person set level = 'P2' where userid = 'e0021'`)
    await until(async () => (await company.run('changes')).state === 'done')
    expect(await cases()).toEqual([])
  })

  test('of an employee without one is about this grade too where others have theirs', async () => {
    await refuse('P55')
    await company.hr.query(`update person set level = 'P55' where userid = 'e0030'`)
    await company.run('changes')
    expect(await blocked()).toEqual([])
    expect(await cases()).toMatchObject([
      { entity: 'employee', entity_key: 'e0030', field: 'level', category: 'feature_disabled' },
    ])
  })

  test('in two ways withholds it, but from no one whose grade is shown, and once', async () => {
    await refuse('P55', 'P66')
    await company.hr.query(
      `update person set level = case userid when 'e0031' then 'P55' else 'P66' end
       where userid in ('e0031', 'e0032')`,
    )
    await company.run('changes')
    expect(await cases()).toMatchObject([{ entity: 'enterprise', field: 'level' }])

    await company.hr.query(`update person set level = 'P8' where userid = 'e0022'`)
    expect(await company.run('changes')).toMatchObject({ result: { outcomes: { updated: 1 } } })
    expect(await blocked()).toEqual([])
    await liftingRun()
    expect(await blocked()).toEqual([])
    const named = await cases()
    expect(named.map(({ entity_key }) => entity_key).sort()).toEqual(['e0030', 'e0031', 'e0032'])
    await company.hr.query(`update person set level = null where userid in ('e0030', 'e0031', 'e0032')`)
    await company.run('changes')
    expect(await cases()).toEqual([])
  })

  test('ends without a probe once it is withheld from no one', async () => {
    await switchOn({ level: false, employee_attribute: ['contract', 'taxpayer'] })
    await company.hr.query(
      `update person set level = 'P' || right(userid, 1) where userid in ('e0050', 'e0051')`,
    )
    await company.run('changes')
    const [{ id }] = await cases()
    await company.hr.query(`update person set level = null where userid in ('e0050', 'e0051')`)
    await company.run('changes')
    expect(await updates(() => company.retry(id))).toBe(0)
    expect(await blocked()).toEqual([])
    expect(await cases(`id = ${id}`)).toMatchObject([{ state: 'resolved', resolution: 'obsolete' }])
  })

  test('as their first one, and that HR takes away, leaves nothing to send, nor to probe', async () => {
    const newcomers = ['e0060', 'e0061'].map((userid, i) => ({ userid, name: `New ${i}`, dept_code: 'D0' }))
    await company.control('POST', 'employees', newcomers)
    await company.hr.query(
      `insert into person (userid, name, dept_code, level, active)
       select userid, name, dept_code, 'P' || right(userid, 1), true
       from jsonb_populate_recordset(null::person, $1)`,
      [JSON.stringify(newcomers)],
    )
    await company.run('changes')
    const [{ id, entity }] = await cases()
    expect(entity).toBe('enterprise')
    await company.hr.query(`update person set level = null where userid in ('e0060', 'e0061')`)
    expect(await updates(() => company.run('changes'))).toBe(0)
    expect(await updates(() => company.retry(id))).toBe(0)
    expect(await cases(`id = ${id}`)).toMatchObject([{ state: 'resolved', resolution: 'obsolete' }])
  })
})
