import { describe, expect, test } from 'vitest'
import { readDryRunResult, tryEmployee } from '../../src/console/mapping/query.ts'
import { readMappingPage } from '../../src/console/mapping/read.ts'
import { HrSources, WHOLE } from '../../src/hr/sources.ts'
import { requestDryRun } from '../../src/sync/plan/dry-run.ts'
import { PlanUnderTest } from '../sync/plan-under-test.ts'
import { worded } from '../texts/worded.ts'

const place = new PlanUnderTest()
const MAPPING = 'select userid, name as name, mobile, dept_code, active from person'
const OTHER = 'select userid, name, mobile, active from person'
const key = (userid: string) => ({ enterpriseCode: '', userid })

describe('the page of the mapping', () => {
  test('has each column with its type, its share of empty values, and the rules that rows break in it', async () => {
    await place.hire(4)
    await place.hr.query(`update person set mobile = null where userid = 'e0'`)
    await place.plan('changes', { employees: MAPPING })
    await place.store.pool.query(
      `insert into dirsync.dead_letter (entity, entity_key, operation, field, category, message, remedy)
       select 'employee', 'e' || i, 'update-employee', 'mobile', 'invalid_hr_row', '[]', '[]'
       from generate_series(1, 3) i`,
    )
    const page = await readMappingPage(place.store.pool, { ...WHOLE, hr: place.source(MAPPING) })
    expect(page).toMatchObject({
      employees: { file: 'employees.sql', sql: MAPPING },
      departments: null,
      error: null,
      rows: 4,
      read_at: expect.any(Date),
    })
    expect(page.columns.find(({ name }) => name === 'mobile')).toEqual({
      name: 'mobile',
      source: 'mobile',
      type: 'text',
      empty: 0.25,
      broken: 3,
    })
    expect(page.columns.find(({ name }) => name === 'active')).toMatchObject({ empty: null })
    expect(page.unmanaged).toContain('email')
    expect(page.unmanaged).not.toContain('mobile')
  })

  test('says since when the mapping has been in use, also after it was given up for a while', async () => {
    await place.hire(2)
    for (const employees of [MAPPING, OTHER, MAPPING, MAPPING]) await place.plan('changes', { employees })
    const { rows } = await place.store.pool.query(
      'select planned_at, mapping from dirsync.sync_run order by id',
    )
    const page = await readMappingPage(place.store.pool, { ...WHOLE, hr: place.source(MAPPING) })
    expect(page.since).toEqual(rows[2].planned_at)
    expect(page.history).toEqual([
      { fingerprint: rows[2].mapping, first: rows[0].planned_at, last: rows[3].planned_at },
      { fingerprint: rows[1].mapping, first: rows[1].planned_at, last: rows[1].planned_at },
    ])
    expect(
      (await readMappingPage(place.store.pool, { ...WHOLE, hr: place.source(`${MAPPING} where true`) }))
        .since,
    ).toBeNull()
  })

  test('shows the text of a mapping that is wrong, and what is wrong with it', async () => {
    const page = await readMappingPage(place.store.pool, {
      ...WHOLE,
      hr: place.source('select userid, nonsense from person'),
    })
    expect(worded(page)).toMatchObject({
      employees: { sql: 'select userid, nonsense from person' },
      error: expect.stringMatching(/nonsense/),
      columns: [],
    })
  })
})

describe('trying one employee', () => {
  test('gives masked values as they would be sent, or the rule that the row breaks', async () => {
    await place.hire(3)
    await place.hr.query(`update person set mobile = 'secret words' where userid = 'e1'`)
    await place.hr.query(`insert into person (userid, name) values ('e2', 'twice')`)
    const at = { db: place.store.pool, hr: place.source(MAPPING) }
    const present = await tryEmployee(at, key('e0'))
    expect(present).toMatchObject({ hr: 'present', error: null, problems: [] })
    expect(present.fields).toContainEqual({ field: 'mobile', value: '138****0000', problem: null })
    const invalid = await tryEmployee(at, key('e1'))
    expect(invalid).toMatchObject({ hr: 'invalid', problems: [{ field: 'mobile' }] })
    expect(JSON.stringify(invalid)).not.toMatch(/secret/)
    expect((await tryEmployee(at, key('e2'))).hr).toBe('duplicate')
    expect((await tryEmployee(at, key('nobody'))).hr).toBe('absent')
    const broken = { ...at, hr: place.source('select userid, nonsense from person') }
    expect(worded(await tryEmployee(broken, key('e0')))).toMatchObject({
      hr: 'unknown',
      error: expect.stringMatching(/nonsense/),
    })
  })
})

test.each([
  ['as it is', MAPPING, true],
  ['with a semicolon and words after it', `${MAPPING} ;\r\n-- of today\r\n`, true],
  ['another one', OTHER, false],
])('a dry run knows the mapping in use, %s', async (_, sql, isInUse) => {
  const deps = { pool: place.store.pool, hr: HrSources.one(place.source(`${MAPPING};\n`)) }
  const id = await requestDryRun(deps, { actor: 'console:ann' }, { sql, source: '' })
  expect((await readDryRunResult(deps, id, { limit: 1 })).adopt).toMatchObject({ is_in_use: isInUse })
})
