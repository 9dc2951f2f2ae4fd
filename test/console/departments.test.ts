import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { deletionCandidates, departmentTree } from '../../src/console/departments/read.ts'
import { SAMPLE } from '../../src/trial/environment.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'
import { ConsoleUnderTest, hrWith } from './console-under-test.ts'

const store = new StoreUnderTest()
const unmapped = new ConsoleUnderTest()
const mapped = new ConsoleUnderTest(() => ({ HR_DEPARTMENTS_SQL: SAMPLE.departmentsSql ?? '' }))
/** Its mapping of departments is deleted by a test. */
let removable = ''
const removed = new ConsoleUnderTest(address => {
  const settings = hrWith(address, `select 'e1' as userid, 'A' as dept_code`, `select 'A' as dept_code`)
  removable = settings.HR_DEPARTMENTS_SQL ?? ''
  return settings
})
/** Of two HR systems only the first has departments, or none of them. */
const halfMapped = new ConsoleUnderTest(address => twoSources(address, SAMPLE.departmentsSql))
const unmappedSources = new ConsoleUnderTest(address => twoSources(address, null))
function twoSources(address: string, departments_sql: string | null) {
  const { employeesSql: employees_sql } = SAMPLE
  const file = join(mkdtempSync(join(inject('runFolder'), 'departments-')), 'sources.json')
  const sources = [
    {
      ...{ name: 'north', address, employees_sql, enterprise_codes: ['E100'] },
      ...(departments_sql !== null && { departments_sql }),
    },
    { name: 'south', address, employees_sql, enterprise_codes: ['E200'] },
  ]
  writeFileSync(file, JSON.stringify(sources))
  return { HR_SOURCES: file, HR_DATABASE_URL: '', HR_EMPLOYEES_SQL: '' }
}
const HOUR = 3_600_000

beforeEach(async () => {
  await store.pool.query(`
    insert into dirsync.department (dept_code, parent_code, active, closed_at, first_missing_at, deleted_at) values
      ('A', null, true, null, null, null),
      ('A1', 'A', true, null, null, null),
      ('A2', 'A', false, '2026-11-20T10:00Z', null, null),
      ('A3', 'A', true, null, '2026-11-19T10:00Z', null),
      ('A4', 'A', false, '2026-11-01T10:00Z', null, '2026-11-03T10:00Z'),
      ('B', 'gone', true, null, null, null);
    insert into dirsync.employee (userid, platform_state, dept_code)
      select 'e' || i, 'in_service', 'A2' from generate_series(1, 3) i;
    insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy)
      values ('department', 'A2', 'delete-department', 'base_department', '[]', '[]')`)
})

describe('the tree of departments', () => {
  const level = (under: string | null, after?: string) =>
    departmentTree(store.pool, { enterprise: '', under, after, limit: 2, graceMs: 24 * HOUR })

  test('comes level by level; a department with an unknown parent is at the top', async () => {
    const { items, next } = await level(null)
    expect(items).toMatchObject([
      { dept_code: 'A', children: 3, employees: 0, deletable_at: null },
      { dept_code: 'B', parent_code: 'gone', children: 0 },
    ])
    expect(next).toBeNull()
  })

  test('lists a level page by page: employees, the refusal, and the time of deletion', async () => {
    const first = await level('A')
    expect(first.items).toMatchObject([
      { dept_code: 'A1', active: true, deletable_at: null, case_id: null },
      {
        dept_code: 'A2',
        active: false,
        employees: 3,
        case_id: expect.any(Number),
        deletable_at: new Date('2026-11-21T10:00Z'),
      },
    ])
    const second = await level('A', first.next ?? undefined)
    expect(second).toMatchObject({
      items: [
        { dept_code: 'A3', missing_since: expect.any(Date), deletable_at: new Date('2026-11-20T10:00Z') },
        { dept_code: 'A4', deleted_at: expect.any(Date), deletable_at: null },
      ],
      next: null,
    })
  })
})

test('candidates for deletion are those closed or missing and not deleted, the soonest first', async () => {
  const { candidates } = await deletionCandidates(store.pool, 24 * HOUR, { limit: 9, kept: [] })
  expect(candidates.map(({ dept_code }) => dept_code)).toEqual(['A3', 'A2'])
})

describe('the page before any department was read', () => {
  const see = async (console: ConsoleUnderTest) =>
    (await console.browse('viewer', 'GET', '/departments')).body

  test('says that departments are not mapped, not that HR has closed none', async () => {
    const body = await see(unmapped)
    expect(body).not.toContain('HR has closed no department')
    expect(body).toContain('Departments are not mapped, so dirsync does not know what HR has closed.')
    expect(body).toContain('Without HR_DEPARTMENTS_SQL no run reads departments.')
  })

  test('names the setting that is to be set, beside HR_SOURCES the one of its file, and says of a run that it reads none', async () => {
    for (const [console, setting] of [
      [unmapped, 'HR_DEPARTMENTS_SQL'],
      [unmappedSources, 'departments_sql'],
    ] as const) {
      const body = await see(console)
      expect(body).toContain(`Set ${setting} to delete departments that HR closes.`)
      expect(body).toContain(`Without ${setting} no run reads departments.`)
      const run = (await console.browse('operator', 'GET', '/departments/run')).body
      expect(run).toContain(`Set ${setting} to delete departments that HR closes.`)
      expect(run).not.toMatch(/was read just now|<form[^>]* action="\/departments\/run"/)
    }
  })

  test('says that none was read yet', async () => {
    const body = await see(mapped)
    expect(body).not.toContain('HR has closed no department')
    expect(body).toContain('dirsync has not read any department yet')
    expect(body).toContain('A run of departments reads them from HR.')
  })
})

test('that a run reads the departments of an enterprise is said where its HR source has them', async () => {
  const see = async (code: string) =>
    (await halfMapped.browse('viewer', 'GET', `/departments?enterprise=${code}`)).body
  expect(await see('E100')).toContain('A run of departments reads them from HR.')
  const body = await see('E200')
  expect(body).toContain('No run reads the departments of this enterprise.')
  expect(body).not.toContain('A run of departments reads them from HR.')
})

/** Of employees, without which no department is deleted. */
const PASSED_RUN = `
  insert into dirsync.sync_run (id, kind, state, requested_by, planned_at, finished_at, read_all, source)
  overriding system value values (10, 'full', 'done', 'cron', now(), now(), true, '{}');`

test('a deletion that waits for a decision or an answer, or was rejected or ignored, is not said to come with the next run', async () => {
  const { pool } = mapped
  await pool.query(`${PASSED_RUN}
    insert into dirsync.sync_run (id, kind, state, requested_by, undecided, finished_at) overriding system value
      values (11, 'departments', 'held', 'cron', 2, null), (12, 'departments', 'rejected', 'cron', null, now()),
             (13, 'departments', 'running', 'cron', null, null);
    insert into dirsync.pending (operation, entity_key, run_id, priority) values ('delete-department', 'going', 13, 5);
    insert into dirsync.pending (operation, enterprise_code, entity_key, priority) values ('delete-department', 'E2', 'stuck', 5);
    insert into dirsync.halt (scope, category, message, remedy, raised_by) values ('E2', 'enterprise_code', '[]', '[]', 'dirsync');
    insert into dirsync.department (enterprise_code, dept_code, active, closed_at) values ('E2', 'stuck', false, '2026-11-20T10:00Z');
    insert into dirsync.department (dept_code, active, closed_at, parked_at, rejected_run)
      select code, false, '2026-11-20T10:00Z', parked_at::timestamptz, run
      from (values ('due', null, null), ('going', null, null), ('held', null, null), ('joined', null, null), ('rejected', null, 12), ('ignored', '2026-11-21T10:00Z', null))
        as d (code, parked_at, run);
    insert into dirsync.planned_work (run_id, operation, entity_key, reason) values (11, 'delete-department', 'held', 'delete');
    insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state, note)
      values ('department', 'ignored', 'delete-department', 'base_department', '[]', '[]', 'ignored', 'it stays');
    insert into dirsync.employee (userid, active, moving_to, queried_at) values ('e1', true, 'joined', now())`)
  const answer = await mapped.ask('viewer', 'GET', '/api/v1/departments')
  expect(answer.json().items).toMatchObject([
    { dept_code: 'due', case_id: null, held_run: null, rejected_run: null },
    { dept_code: 'going', is_deleting: true, deleting_run: 13, halt: null },
    { dept_code: 'held', case_id: null, held_run: 11, rejected_run: null, is_deleting: false },
    { dept_code: 'ignored', case_id: expect.any(Number), held_run: null, rejected_run: null },
    { dept_code: 'joined', case_id: null, held_run: null, rejected_run: null, moving_employee: 'e1' },
    { dept_code: 'rejected', case_id: null, held_run: null, rejected_run: 12 },
  ])
  const { body } = await mapped.browse('viewer', 'GET', '/departments')
  const [candidates = ''] = body.match(/<section[^>]*><h2>To be deleted.*?<\/section>/s) ?? []
  const goes = (code: string) => candidates.split('<tr>').find(row => row.includes(`>${code}<`))
  expect(goes('due')).toContain('due: the next run decides')
  expect(goes('going')).toMatch(/waiting to be deleted.*href="\/runs\/13"/s)
  // The run ends without what is halted, which stays in the outbox.
  expect(answer.json().candidates).toContainEqual(
    expect.objectContaining({ dept_code: 'stuck', is_deleting: true, deleting_run: null, halt: 'halted' }),
  )
  expect(goes('stuck')).toMatch(/waiting to be deleted.*href="\/halts"/s)
  expect(goes('held')).toMatch(/waiting for a decision.*href="\/runs\/11\/plan"/s)
  expect(goes('rejected')).toMatch(/kept: its deletion was rejected.*href="\/runs\/12\/plan"/s)
  expect(goes('ignored')).toContain('refused')
  expect(goes('joined')).toMatch(
    /kept until it is known whether an employee was moved to it.*href="\/employees\/e1"/s,
  )
  // A single department cannot be asked for by name.
  const { body: run } = await mapped.browse('viewer', 'GET', '/runs/12')
  expect(run).toContain('They are not deleted until HR changes them again.')
  expect(run).not.toContain('Sync now')
})

test('a department is due together with those below it, and kept by one that stays', async () => {
  const { pool } = mapped
  await pool.query(`
    delete from dirsync.department;
    insert into dirsync.department (dept_code, parent_code, active, closed_at) values
      ('ABOVE', null, false, '2026-11-20T10:00Z'), ('BELOW', 'ABOVE', false, '2026-11-20T10:00Z'),
      ('KEPT', null, false, '2026-11-20T10:00Z'), ('OPEN', 'KEPT', true, null),
      ('WAITS', null, false, '2026-11-20T10:00Z'), ('FRESH', 'WAITS', false, now()),
      ('GRAND', null, false, '2026-11-20T10:00Z'), ('CHILD', 'GRAND', false, '2026-11-20T10:00Z'),
      ('STAFFED', 'CHILD', false, '2026-11-20T10:00Z');
    insert into dirsync.employee (userid, active, platform_state, queried_at, dept_code)
      values ('e2', true, 'in_service', now(), 'STAFFED')`)
  const { candidates } = (await mapped.ask('viewer', 'GET', '/api/v1/departments')).json()
  expect(candidates).toMatchObject([
    { dept_code: 'ABOVE', children: 1, child_stays: false, closed_since: '2026-11-20T10:00:00.000Z' },
    { dept_code: 'BELOW', children: 0, child_stays: false },
    { dept_code: 'FRESH', children: 0, child_stays: false },
    { dept_code: 'CHILD', children: 1, child_stays: true },
    { dept_code: 'GRAND', children: 1, child_stays: true },
    { dept_code: 'KEPT', children: 1, child_stays: true },
    { dept_code: 'STAFFED', children: 0, child_stays: false },
    { dept_code: 'WAITS', children: 1, child_stays: true },
  ])
  const goes = async (role: 'viewer' | 'operator', code: string) => {
    const { body } = await mapped.browse(role, 'GET', '/departments')
    return body.split('<tr>').find(row => row.includes(`>${code}<`))
  }
  expect(await goes('operator', 'ABOVE')).toMatch(/due: the next run .*href="\/departments\/run"/s)
  expect(await goes('viewer', 'ABOVE')).not.toContain('/departments/run')
  for (const code of ['KEPT', 'WAITS', 'GRAND'])
    expect(await goes('viewer', code)).toContain('kept while a department below it stays')
})

describe('departments that no run deletes now', () => {
  const page = async () => (await mapped.browse('viewer', 'GET', '/departments')).body

  test('are not called due before all employees were read, or while the platform has not told where one is', async () => {
    const { pool } = mapped
    await pool.query(`
      delete from dirsync.department; delete from dirsync.employee; delete from dirsync.sync_run;
      insert into dirsync.department (dept_code, active, closed_at) values ('OLD', false, '2026-11-20T10:00Z')`)
    expect(await page()).toMatch(
      /before a run has read all employees with the present mapping and passed.*kept for now: see above/s,
    )
    await pool.query(`${PASSED_RUN} insert into dirsync.employee (userid, active) values ('new1', true)`)
    expect(await page()).toMatch(/kept until the platform has told where.*href="\/employees\/new1"/s)
    await pool.query('update dirsync.employee set queried_at = now()')
    expect(await page()).toContain('due: the next run decides')
  })

  test('are not called due where HR delivers no department of their enterprise', async () => {
    const { pool } = mapped
    await pool.query(`update dirsync.department set lost = true where dept_code = 'OLD'`)
    expect(await page()).toMatch(
      /HR delivers no department of the enterprise without a code.*kept for now: see above/s,
    )
    const { doubts } = (await mapped.ask('viewer', 'GET', '/api/v1/departments')).json()
    expect(doubts).toMatchObject([{ enterprise_codes: [''] }])
    // Neither in a day, nor as long as it has departments that HR has not closed.
    await pool.query('update dirsync.department set closed_at = now()')
    expect(await page()).toContain('kept for now: see above')
    await pool.query('update dirsync.department set active = true, closed_at = null')
    expect(await page()).toContain('HR delivers no department of the enterprise without a code')
    await pool.query(`update dirsync.department set active = false, closed_at = '2026-11-20T10:00Z'`)
    await pool.query('update dirsync.department set lost = false')
    expect(await page()).toContain('due: the next run decides')
  })

  test('come after those that are due, and those that are not listed are counted', async () => {
    await mapped.pool.query(
      `insert into dirsync.department (dept_code, active, closed_at, rejected_run)
       select 'R' || i, false, '2026-11-01T10:00Z', 10 from generate_series(1, 55) i`,
    )
    const { candidates, candidates_total } = (await mapped.ask('viewer', 'GET', '/api/v1/departments')).json()
    expect(candidates).toHaveLength(50)
    expect(candidates[0]).toMatchObject({ dept_code: 'OLD' })
    expect(candidates_total).toBe(56)
    expect(await page()).toContain('and 6 more')
    await mapped.pool.query('delete from dirsync.department')
  })
})

test('a deletion is not said to come with the next run where no run reads the departments of its enterprise', async () => {
  await unmapped.pool.query(
    `insert into dirsync.department (dept_code, active, closed_at) values ('closed', false, '2026-11-20T10:00Z')`,
  )
  const { body } = await unmapped.browse('viewer', 'GET', '/departments')
  expect(body).not.toContain('due: the next run')
  expect(body).toContain('kept: no run reads the departments of its enterprise')
  const { candidates, items } = (await unmapped.ask('viewer', 'GET', '/api/v1/departments')).json()
  for (const found of [candidates, items])
    expect(found).toMatchObject([{ dept_code: 'closed', deletable_at: null }])
})

test('a mapping that HR refuses is not taken for an HR that is away, and what it lacks is named', async () => {
  // HR lacks the tables of the sample here.
  const answer = await mapped.ask('operator', 'GET', '/api/v1/departments/run')
  expect(answer.statusCode).toBe(502)
  expect(answer.json()).toMatchObject({
    code: 'mapping',
    title: 'The mapping cannot be carried out',
    detail: expect.stringMatching(/employees\.sql:\d+:\d+: relation "hr\.\w+" does not exist/),
  })
  const page = await mapped.browse('operator', 'GET', '/departments/run')
  expect(page.body).toContain('Correct what is named above, be it the mapping, rights in HR or rows')
})

test('what is said of a mapping that cannot be carried out is true also where HR is not asked', async () => {
  rmSync(removable)
  const answer = await removed.ask('operator', 'GET', '/api/v1/departments/run')
  expect(answer.json()).toMatchObject({ code: 'mapping', detail: expect.stringContaining('ENOENT') })
  const untrue = /HR answers|fit HR|HR 有响应|与 HR 不符/
  for (const language of ['en', 'zh-CN']) {
    const headers = { 'accept-language': language }
    const page = await removed.browse('operator', 'GET', '/departments/run', undefined, headers)
    const explained = await removed.app.inject({ url: '/problems/mapping', headers })
    for (const { body } of [page, explained]) expect(body).not.toMatch(untrue)
  }
})

test('of many enterprises each can be chosen', async () => {
  await mapped.pool.query(
    `insert into dirsync.department (enterprise_code, dept_code, active)
     select 'E' || to_char(i, 'FM00'), 'D', true from generate_series(1, 60) i`,
  )
  const { body } = await mapped.browse('viewer', 'GET', '/departments?enterprise=E60')
  const [, choices = ''] = /<select[^>]*name="enterprise"[^>]*>(.*?)<\/select>/s.exec(body) ?? []
  expect([...choices.matchAll(/<option value="(E\d\d)"/g)]).toHaveLength(60)
  expect(choices).toMatch(/<option value="E60" selected>E60</)
})
