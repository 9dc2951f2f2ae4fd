// @module-tag mariadb

import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { dirsync } from '../cli/dirsync.ts'
import { startSilently, until } from '../helpers/company.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { createGroup, EACH, type Group } from '../helpers/group.ts'

type Settings = Record<string, string>

const halted = async ({ own }: Group) =>
  (await own.pool.query('select scope from dirsync.halt order by 1')).rows.map(({ scope }) => scope)
const scopesOf = (group: Group, scopes: string[]) =>
  until(async () => (await halted(group)).join() === scopes.join() || null)
const pending = async ({ own }: Group) => (await own.pool.query('select from dirsync.pending')).rowCount

/** The service runs with these settings meanwhile. */
async function during<T>(settings: Settings, work: () => Promise<T>): Promise<T> {
  const service = await startSilently(settings, ['scheduler', 'worker'])
  try {
    return await work()
  } finally {
    await service.stop()
  }
}

/** A single HR, Shanghai's, with this mapping. */
async function single(group: Group, mapping: string, differs: Settings = {}): Promise<Settings> {
  const { HR_SOURCES = '', ...settings } = group.settings
  const file = join(dirname(HR_SOURCES), 'single.sql')
  await writeFile(file, mapping)
  return { ...settings, HR_DATABASE_URL: group.shanghai.url, HR_EMPLOYEES_SQL: file, ...differs }
}

test('a wrong code in HR_SOURCES is halted until the file is corrected; no mirror asks for it again', async () => {
  await using group = await createGroup()
  const { settings } = group
  const file = settings.HR_SOURCES ?? ''
  const right = await readFile(file, 'utf8')
  await writeFile(file, right.replace('"E2"', '"E9"'))
  await during(settings, async () => {
    await dirsync(['resync'], settings)
    await scopesOf(group, ['E9'])
  })
  await writeFile(file, right)
  await during(settings, async () => {
    await dirsync(['resync', '--wait'], settings)
    await scopesOf(group, [])
    await until(async () => (await pending(group)) === 0)
    await dirsync(['resync', '--accounts', '--wait'], settings)
    expect(await halted(group)).toEqual([])
  })
  expect((await group.names()).get('E2/b1')).toBe('Person 1')
})

test('accounts of a source that was removed are read as long as its people are in service', async () => {
  await using group = await createGroup()
  const { settings } = group
  const file = settings.HR_SOURCES ?? ''
  const accounts = ['E1', 'E2'].map(enterprise_code => ({
    enterprise_code,
    account_openid: `of-${enterprise_code}`,
    name: 'Travel',
  }))
  const control = controlOf(group.emulator.url)
  await control('POST', 'accounts', accounts)
  const read = async () => {
    await dirsync(['resync', '--accounts', '--wait'], settings)
    const { rows } = await group.own.pool.query(
      'select account_openid as id, gone_at is not null as gone from dirsync.limit_account order by 1',
    )
    return rows
  }
  const both = accounts.map(({ account_openid }) => ({ id: account_openid, gone: false }))
  await during(settings, async () => {
    await dirsync(['resync', '--wait'], settings)
    expect(await read()).toEqual(both)
  })
  const [shanghai] = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify([shanghai]))
  await during(settings, async () => {
    await dirsync(['resync', '--wait'], settings)
    expect(await read()).toEqual(both)
  })
})

test('a mirror before the first reading of HR asks for the enterprises of the sources', async () => {
  await using group = await createGroup()
  await during(group.settings, async () => {
    expect(await dirsync(['resync', '--accounts', '--wait'], group.settings)).toMatchObject({ code: 0 })
    expect(await halted(group)).toEqual([])
  })
})

/** Shanghai's HR has departments, too. */
async function withDepartments(group: Group, settings: Settings): Promise<Settings> {
  await group.shanghai.pool.query(
    `alter table person add dept_code text;
     update person set dept_code = 'D1';
     create table department (dept_code text, parent_code text, active boolean);
     insert into department values ('D0', null, true), ('D1', 'D0', true)`,
  )
  const HR_DEPARTMENTS_SQL = join(dirname(settings.HR_EMPLOYEES_SQL ?? ''), 'departments.sql')
  await writeFile(HR_DEPARTMENTS_SQL, 'select dept_code, parent_code, active from department')
  return { ...settings, HR_DEPARTMENTS_SQL }
}

const attempts = async ({ own }: Group, code: string) =>
  Number(
    (await own.pool.query('select count(*) from dirsync.attempt where enterprise_code = $1', [code])).rows[0]
      .count,
  )

/** The code has been corrected: its halt ends, and no run asks with it again. */
async function expectLeftAlone(group: Group, code: string, settings: Settings): Promise<void> {
  for (const of of [[], ['--departments']]) await dirsync(['resync', ...of, '--wait'], settings)
  await scopesOf(group, [])
  await until(async () => (await pending(group)) === 0)
  const before = await attempts(group, code)
  const named = ['--employee', 's1']
  for (const of of [[], ['--full'], ['--departments'], named, ['--accounts']])
    await dirsync(['resync', ...of, '--wait'], settings)
  await until(async () => (await pending(group)) === 0)
  expect(await attempts(group, code)).toBe(before)
  expect(await halted(group)).toEqual([])
}

test('the work for a wrong PLATFORM_ENTERPRISE_CODE ends once it is corrected, and nothing asks with it again', async () => {
  await using group = await createGroup()
  const mapping = 'select userid, name, active, dept_code from person'
  const base = await single(group, mapping, { PLATFORM_ENTERPRISE_CODE: 'E9' })
  const wrong = await withDepartments(group, base)
  await during(wrong, async () => {
    await dirsync(['resync'], wrong)
    await scopesOf(group, ['E9'])
    await dirsync(['resync', '--departments', '--wait'], wrong)
  })
  const right = { ...wrong, PLATFORM_ENTERPRISE_CODE: 'E1' }
  await during(right, () => expectLeftAlone(group, 'E9', right))
  expect((await group.names()).get('E1/s1')).toBe('Person 1')
  const { rows } = await group.own.pool.query(
    `select outcome, count(*)::int as n, max(dirsync.in_language('en', error)) as error
     from (select distinct on (entity_key) * from dirsync.attempt where enterprise_code = 'E9'
           order by entity_key, id desc) last group by 1`,
  )
  const error = 'the platform refuses enterprise E9, and HR no longer has anyone in it'
  expect(rows).toEqual([{ outcome: 'obsolete', n: EACH, error }])
  const { rows: left } = await group.own.pool.query(
    `select enterprise_code as code, count(*)::int as n from dirsync.employee group by 1
     union all select enterprise_code, count(*)::int from dirsync.department group by 1`,
  )
  expect(left).toEqual([
    { code: 'E1', n: EACH },
    { code: 'E9', n: EACH },
    { code: 'E1', n: 2 },
  ])
})

test('nor does anything ask with a code that the platform no longer takes, until HR has it again', async () => {
  await using group = await createGroup()
  const mapping = 'select userid, name, active, dept_code from person'
  const base = await single(group, mapping, { PLATFORM_ENTERPRISE_CODE: 'E1' })
  const before = await withDepartments(group, base)
  await during(before, async () => {
    for (const of of [[], ['--departments']]) await dirsync(['resync', ...of, '--wait'], before)
  })
  const control = controlOf(group.emulator.url)
  const bound = async (enterprise_code: string, name: string) => {
    await control('POST', 'enterprises', [{ enterprise_code }])
    const departments = ['D0', 'D1'].map(dept_code => ({ enterprise_code, dept_code, dept_name: dept_code }))
    await control('POST', 'departments', departments)
    const employees = Array.from({ length: EACH }, (_, i) => ({ enterprise_code, userid: `s${i}`, name }))
    await control('POST', 'employees', employees)
  }
  await control('POST', 'reset')
  await bound('E2', 'Old')
  await group.shanghai.pool.query(`update person set name = 'Other'`)
  await during(before, async () => {
    await dirsync(['resync'], before)
    await scopesOf(group, ['E1'])
  })
  const other = { ...before, PLATFORM_ENTERPRISE_CODE: 'E2' }
  await during(other, () => expectLeftAlone(group, 'E1', other))
  // Everyone of whom the platform has told is still known.
  const { rows } = await group.own.pool.query(
    `select status, count(*)::int as n from dirsync.employee where enterprise_code = 'E1' group by 1`,
  )
  expect(rows).toEqual([{ status: 'vanished', n: EACH }])
  await bound('E1', 'Other')
  await during(before, async () => {
    for (const of of [[], ['--departments']]) await dirsync(['resync', ...of, '--wait'], before)
    expect(await halted(group)).toEqual([])
  })
  const { rows: back } = await group.own.pool.query(
    `select e.enterprise_code as code, status, count(*)::int as n
     from dirsync.employee e join dirsync.department d using (enterprise_code, dept_code) group by 1, 2 order by 1`,
  )
  expect(back).toEqual([
    { code: 'E1', status: 'in_sync', n: EACH },
    { code: 'E2', status: 'vanished', n: EACH },
  ])
})

test('a mirror does not ask for a code that only a held plan has', async () => {
  await using group = await createGroup()
  const mapping = (code: string) => `select '${code}' as enterprise_code, userid, name, active from person`
  const settings = await single(group, mapping('E1'), { BREAKER_EMPLOYEES: '2' })
  await during(settings, async () => {
    await dirsync(['resync', '--wait'], settings)
    await single(group, mapping('E9'))
    await dirsync(['resync', '--wait'], settings)
    const { rows } = await group.own.pool.query(
      'select enterprise_code, status, count(*)::int as n from dirsync.employee group by 1, 2 order by 1',
    )
    expect(rows).toEqual([
      { enterprise_code: 'E1', status: 'held', n: EACH },
      { enterprise_code: 'E9', status: 'held', n: EACH },
    ])
    expect(await dirsync(['resync', '--accounts', '--wait'], settings)).toMatchObject({ code: 0 })
    expect(await halted(group)).toEqual([])
  })
})

test('a code that HR no longer has does not hide that the only enterprise is halted', async () => {
  await using group = await createGroup()
  const mapping = 'select userid, name, active from person'
  const wrong = await single(group, mapping, { PLATFORM_ENTERPRISE_CODE: 'E9' })
  expect(await dirsync(['start', '--once', '--json'], wrong)).toMatchObject({ code: 1 })
  const unbound = { ...wrong, PLATFORM_ENTERPRISE_CODE: 'E8' }
  await during(unbound, async () => {
    await dirsync(['resync', '--wait'], unbound)
    await scopesOf(group, ['E8'])
  })
  expect((await dirsync(['plan', '--json'], unbound)).json()).toMatchObject({
    halt: { scope: 'E8' },
    halts_of_enterprises: [],
  })
  const once = await dirsync(['start', '--once', '--json'], unbound)
  expect(once).toMatchObject({ code: 1 })
  expect(once.json()).toMatchObject({ ok: false, halts: [{ scope: 'E8' }] })
})

test('a full plan tells of an enterprise whose code the platform refuses, and compares those that HR delivers after it', async () => {
  await using group = await createGroup()
  await group.shanghai.pool.query(
    `insert into person select 'x' || i, 'Person', true from generate_series(1, 250) i`,
  )
  const settings = await single(
    group,
    `select case when userid like 'x%' then 'E9' else 'E1' end as enterprise_code, userid, name, active from person
     order by enterprise_code desc`,
  )
  const planned = await dirsync(['plan', '--full', '--json'], settings)
  expect(planned).toMatchObject({ code: 0 })
  expect(planned.json().platform).toMatchObject({ asked: 106, to_update: EACH, refused: 250, unanswered: 0 })
})

test('a full plan tells of a source whose code the platform refuses, and plans the others', async () => {
  await using group = await createGroup()
  const { settings } = group
  const file = settings.HR_SOURCES ?? ''
  await writeFile(file, (await readFile(file, 'utf8')).replace('"E1"', '"E9"'))
  const planned = await dirsync(['plan', '--full', '--json'], settings)
  expect(planned).toMatchObject({ code: 1 })
  expect(planned.json().sources).toMatchObject([
    {
      ...{ source: 'shanghai', planned: EACH, platform: null },
      error: expect.stringContaining('The enterprise code is not bound to this application.'),
    },
    { source: 'beijing', platform: { asked: EACH, to_update: EACH } },
  ])
  const { stdout } = await dirsync(['plan', '--full'], settings)
  expect(stdout.replace(/\s+/g, ' ')).toMatch(
    /HR source shanghai .*code is not bound to this application.* HR source beijing .* 6 to update /,
  )
})
