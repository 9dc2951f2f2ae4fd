// @module-tag mariadb

import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { dirsync } from '../cli/dirsync.ts'
import { startSilently, until } from '../helpers/company.ts'
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

test('a mirror before the first reading of HR asks for the enterprises of the sources', async () => {
  await using group = await createGroup()
  await during(group.settings, async () => {
    expect(await dirsync(['resync', '--accounts', '--wait'], group.settings)).toMatchObject({ code: 0 })
    expect(await halted(group)).toEqual([])
  })
})

test('the work for a wrong PLATFORM_ENTERPRISE_CODE ends once it is corrected', async () => {
  await using group = await createGroup()
  const mapping = 'select userid, name, active from person'
  const wrong = await single(group, mapping, { PLATFORM_ENTERPRISE_CODE: 'E9' })
  await during(wrong, async () => {
    await dirsync(['resync'], wrong)
    await scopesOf(group, ['E9'])
  })
  const right = { ...wrong, PLATFORM_ENTERPRISE_CODE: 'E1' }
  await during(right, async () => {
    await dirsync(['resync', '--wait'], right)
    await scopesOf(group, [])
    await until(async () => (await pending(group)) === 0)
    await dirsync(['resync', '--accounts', '--wait'], right)
    expect(await halted(group)).toEqual([])
  })
  expect((await group.names()).get('E1/s1')).toBe('Person 1')
  const { rows } = await group.own.pool.query(
    `select outcome, count(*)::int as n, max(dirsync.in_language('en', error)) as error
     from (select distinct on (entity_key) * from dirsync.attempt where enterprise_code = 'E9'
           order by entity_key, id desc) last group by 1`,
  )
  const error = 'the platform refuses enterprise E9, and HR no longer has anyone in it'
  expect(rows).toEqual([{ outcome: 'obsolete', n: EACH, error }])
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
