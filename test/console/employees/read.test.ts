import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/config.ts'
import { connectPlatform } from '../../../src/connections.ts'
import { listEmployees } from '../../../src/console/employees/list.ts'
import { readEmployee } from '../../../src/console/employees/query.ts'
import { RevealError, revealValues } from '../../../src/console/employees/reveal.ts'
import { searchEmployees } from '../../../src/console/employees/search.ts'
import { hrServer } from '../../../src/hr/servers.ts'
import { HrSource } from '../../../src/hr/source.ts'
import { HrSources } from '../../../src/hr/sources.ts'
import type { PlatformClient } from '../../../src/platform/client.ts'
import { createCompany } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import { worded } from '../../texts/worded.ts'

const SILENT = pino({ level: 'silent' })
const MAPPING =
  'select userid, name, mobile, email, dept_code, entry_day, level, cost_center_id, active from person'

const company = duringFile(() => createCompany({ employees: 30 }))
let hr: HrSource

function source(sql: string): HrSource {
  return new HrSource({
    server: hrServer(company.settings.HR_DATABASE_URL ?? '', SILENT),
    employeesSql: { file: 'employees.sql', sql },
    departmentsSql: null,
    logger: SILENT,
  })
}

/** The page of an employee; without a client, the platform is not asked. */
const pageOf = (hr: HrSource, client: PlatformClient | null, userid: string) =>
  readEmployee(
    {
      pool: company.db,
      hr: HrSources.one(hr),
      platform() {
        if (client === null) throw new Error('the platform was asked')
        return client
      },
    },
    key(userid),
    { hr: true, ask: client !== null },
  )

const key = (userid: string) => ({ enterpriseCode: '', userid })

beforeAll(async () => {
  await company.start()
  await company.run('full')
  hr = source(MAPPING)
})

afterAll(async () => {
  await hr.close()
})

describe('the page of an employee', () => {
  test('holds HR and the platform compared, with how they stand step by step', async () => {
    await company.hr.query(`update person set email = 'new@example.com' where userid = 'e0001'`)
    await using client = connectPlatform(loadConfig(company.settings), company.db, SILENT)
    const page = await pageOf(hr, client, 'e0001')
    expect(page.platform).toBe('in_service')
    expect(page.fields.find(({ field }) => field === 'email')).toMatchObject({
      hr: 'n***@example.com',
      platform: 'e***@example.com',
      status: 'to_send',
    })
    expect(page.record?.in_sync).toBe(true)
    expect(page.steps.map(({ text }) => text)).toEqual([
      'read_row',
      'in_scope_yes',
      'checked_passed',
      'asked_in_service',
      'sent_nothing',
    ])
  })

  test('asks the platform only when it is told to', async () => {
    // The service may look at its token meanwhile.
    const asked = async () => (await company.calls())['employee/get']
    const before = await asked()
    const page = await pageOf(hr, null, 'e0002')
    expect(page).toMatchObject({ platform: 'not_asked', platform_error: null, hr_error: null })
    expect(await asked()).toBe(before)
  })

  test('comes within seconds while HR hangs, and says so', async () => {
    await using hanging = new AsyncDisposableStack()
    const slow = hanging.adopt(source(MAPPING), it => it.close())
    const lock = await company.hr.connect()
    // The connection is closed, so that the lock goes with it even where this test fails.
    hanging.defer(() => lock.release(true))
    await lock.query('begin; lock table person in access exclusive mode')
    const page = await pageOf(slow, null, 'e0001')
    expect(worded(page).hr_error).toMatch(/did not answer within 3 s/)
    expect(page).toMatchObject({ hr: 'unknown', fields: [] })
    expect(page.attempts).not.toHaveLength(0)
  })

  test('tells of a mapping that broke', async () => {
    const broken = source('select userid, nonsense from person')
    const page = await pageOf(broken, null, 'e0001')
    expect(worded(page).hr_error).toMatch(/nonsense/)
    await broken.close()
  })

  test('has the enterprise’s case of a field that is withheld, with its remedy', async () => {
    await company.control('POST', 'enterprises', [
      { enterprise_code: '', features: { level: false, category: true, employee_attribute: [] } },
    ])
    await company.hr.query(`update person set level = 'P7' where userid in ('e0007', 'e0008')`)
    await company.run('changes')
    for (const userid of ['e0007', 'e0008']) {
      const page = await pageOf(hr, null, userid)
      expect(page).toMatchObject({
        status: 'dead_lettered',
        dead_letters: [{ entity: 'enterprise', field: 'level', category: 'feature_disabled', state: 'open' }],
      })
      const [open] = page.dead_letters
      expect(worded(open)?.remedy).not.toBe('')
      expect(page.steps.at(-1)).toMatchObject({ case_id: open?.id, remedy: open?.remedy })
    }
    const { items } = await listEmployees(company.db, { status: 'dead_lettered' }, { limit: 3 })
    expect(items).toMatchObject([
      { userid: 'e0007', open_cases: 1 },
      { userid: 'e0008', open_cases: 1 },
    ])
    const [found] = await searchEmployees(company.db, 'e0007', { limit: 1 })
    expect(found).toMatchObject({ userid: 'e0007', open_cases: 1 })
    const { dead_letters } = await pageOf(hr, null, 'e0009')
    expect(dead_letters).toEqual([])
  })
})

describe('a search', () => {
  test('finds employees by the beginning of their user id, the exact one first', async () => {
    const found = await searchEmployees(company.db, 'e000', { limit: 3 })
    expect(found.map(({ userid }) => userid)).toEqual(['e0000', 'e0001', 'e0002'])
    expect(found[0]).toMatchObject({
      enterprise_code: '',
      found_by: 'userid',
      status: 'in_sync',
      open_cases: 0,
    })
    const [exact] = await searchEmployees(company.db, 'e0015', { limit: 3 })
    expect(exact?.userid).toBe('e0015')
  })

  test('finds one by a whole open id, and whom a case alone knows', async () => {
    await company.db.query(
      `insert into dirsync.openid_binding (userid, seller_appid, open_userid) values ('e0003', 'mall', 'OPEN-3')`,
    )
    await company.db.query(
      `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy)
       values ('employee', 'ghost', 'update-employee', 'unclassified', '[]', '[]')`,
    )
    expect(await searchEmployees(company.db, 'OPEN-3', { limit: 3 })).toMatchObject([
      { userid: 'e0003', found_by: 'openid' },
    ])
    expect(await searchEmployees(company.db, 'ghost', { limit: 3 })).toMatchObject([
      { userid: 'ghost', found_by: 'case', status: 'unknown', open_cases: 1 },
    ])
  })

  test('takes wildcards, blanks and characters that no text holds as they are', async () => {
    for (const text of ['%', '_', '\\', ' ', 'e\0', "'"])
      expect(await searchEmployees(company.db, text, { limit: 3 })).toEqual([])
  })
})

describe('revealing a value', () => {
  const asker = { actor: 'console:ann', address: '192.0.2.1' }

  test('gives HR’s value, and has written down who asked and why, but not the value', async () => {
    const what = { key: key('e0004'), field: 'mobile', reason: 'the bank asks' }
    expect(await revealValues(company.db, hr, asker, what)).toEqual({ mobile: '19900000004' })
    const { rows } = await company.db.query(
      `select to_jsonb(c) as row from dirsync.command c where name = 'reveal'`,
    )
    expect(rows).toHaveLength(1)
    expect(rows[0].row).toMatchObject({
      arguments: { userid: 'e0004', field: 'mobile', reason: 'the bank asks' },
      requested_by: expect.stringContaining('console:ann'),
    })
    expect(JSON.stringify(rows)).not.toContain('19900000004')
  })

  test('is recorded even if HR has no such employee, and refused without a reason or for an unknown field', async () => {
    const reveal = (userid: string, field: string, reason: string) =>
      revealValues(company.db, hr, asker, { key: key(userid), field, reason })
    await expect(reveal('nobody', 'mobile', 'to see')).rejects.toMatchObject({ code: 'NOT_IN_HR' })
    await expect(reveal('e0004', 'mobile', '')).rejects.toBeInstanceOf(RevealError)
    await expect(reveal('e0004', 'mobile', '  ')).rejects.toMatchObject({ code: 'REASON_MISSING' })
    await expect(reveal('e0004', 'salary', 'to see')).rejects.toMatchObject({ code: 'FIELD_UNKNOWN' })
    await expect(reveal('e0004', 'remark', 'to see')).rejects.toMatchObject({ code: 'FIELD_UNKNOWN' })
    const { rows } = await company.db.query(
      `select arguments ->> 'userid' as userid from dirsync.command where name = 'reveal' order by id`,
    )
    expect(rows.map(({ userid }) => userid)).toEqual(['e0004', 'nobody', 'e0004'])
  })
})
