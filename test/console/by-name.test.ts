import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import type { AccessRole } from '../../src/console/auth/viewer.ts'
import { ConsoleUnderTest, hrWith, openApp, signInAs } from './console-under-test.ts'

/* People's keys by their names, and the lists that are filtered by them. */

const hrOf = (databaseUrl: string, sql = 'select enterprise_code, userid, name from public.staff') =>
  hrWith(databaseUrl, sql)

const console = new ConsoleUnderTest(databaseUrl => hrOf(databaseUrl))

beforeAll(async () => {
  await console.pool.query(`
    create table public.staff as
      select * from (values ('', 'e1', '测试一'), ('', 'a,b%', 'Person Comma'), ('', 'a', 'Another'), ('E2', 'e1', 'Person Two'))
        as row (enterprise_code, userid, name)
      union all select '', 'm' || n, 'Many ' || n from generate_series(1, 51) n;
    insert into dirsync.employee (enterprise_code, userid) select enterprise_code, userid from public.staff;
    insert into dirsync.dead_letter (enterprise_code, entity, entity_key, operation, category, message, remedy)
      select enterprise_code, 'employee', userid, 'update-employee', 'left_hr', '[]'::jsonb, '[]'::jsonb
      from public.staff where userid !~ '^m'
      union all select '', 'department', 'e1', 'delete-department', 'base_department', '[]', '[]'`)
})

const resolve = (name: string, role: AccessRole = 'reviewer') =>
  console.ask(role, 'POST', '/api/v1/employees/by-name', { name })

test.each([
  ['测', ['e1']],
  ['测试一', ['e1']],
  ['PERSON', ['E2/e1', 'a,b%']],
  ['two', ['E2/e1']],
])('“%s” is the name, or its beginning, of %j, and the cases are theirs', async (name, keys) => {
  const form = `name=${encodeURIComponent(name)}&list=${encodeURIComponent('/cases?states=open&cursor=x')}`
  expect(((await resolve(name)).json().keys as string[]).sort()).toEqual(keys)
  const { statusCode, headers } = await console.browse('reviewer', 'POST', '/employees/by-name', form)
  expect(statusCode).toBe(303)
  expect(headers.location).toMatch(/^\/cases\?states=open&keys=/)
  expect(JSON.stringify(headers)).not.toContain(name)
  const { items, count } = (await console.ask('viewer', 'GET', `/api/v1${headers.location}`)).json()
  expect(
    items.map((row: Record<string, string>) => `${row.enterprise_code}/${row.entity_key}`).sort(),
  ).toEqual(keys.map(key => (key.includes('/') ? key : `/${key}`)).sort())
  expect(items.every((row: { entity: string }) => row.entity === 'employee')).toBe(true)
  expect(count).toBe(keys.length)
})

test('a saved view and a bulk action have the keys, never the name', async () => {
  const { headers } = await console.browse('reviewer', 'POST', '/employees/by-name', 'name=Comma')
  const query = String(headers.location).split('?')[1] ?? ''
  expect(decodeURIComponent(query)).toBe('keys=a%2Cb%25')
  const view = await console.ask('reviewer', 'POST', '/api/v1/cases/views', { name: 'One', query })
  expect(view.json().query).toBe(query)
  const bulk = await console.ask('reviewer', 'POST', '/api/v1/bulk', {
    action: 'retry',
    filter: { keys: ['a,b%'] },
  })
  expect(bulk.json()).toMatchObject({ total: 1 })
  const { rows } = await console.pool.query('select filter from dirsync.bulk_action')
  expect(rows).toEqual([{ filter: { keys: ['a,b%'] } }])
  const csv = await console.ask('reviewer', 'GET', `/api/v1/cases.csv?${query}`)
  expect(csv.body.trim().split('\r\n')).toHaveLength(2)
})

test('viewers may not, and have no form for it', async () => {
  expect((await resolve('测', 'viewer')).statusCode).toBe(403)
  expect((await console.browse('viewer', 'GET', '/cases')).body).not.toContain('/employees/by-name')
  expect((await console.browse('reviewer', 'GET', '/cases')).body).toContain('/employees/by-name')
})

test('that HR was searched is recorded, not what for; a key of the caller for the answer is refused', async () => {
  const before = (await console.commands()).length
  await console.ask('operator', 'POST', '/api/v1/employees/by-name', { name: '测' })
  expect((await console.commands()).slice(before)).toEqual([{ name: 'search', arguments: { by: ['name'] } }])
  const kept = await console.ask(
    'reviewer',
    'POST',
    '/api/v1/employees/by-name',
    { name: '测' },
    { 'idempotency-key': 'k' },
  )
  expect(kept.json().code).toBe('key_refused')
})

/** What the form says on its page. */
async function refused(name: string, browse: typeof console.browse = console.browse.bind(console)) {
  const headers = { referer: 'http://localhost/cases?states=open', host: 'localhost' }
  const form = `name=${encodeURIComponent(name)}&list=${encodeURIComponent('/cases?states=open')}`
  const { statusCode, body } = await browse('reviewer', 'POST', '/employees/by-name', form, headers)
  expect(statusCode).toBe(422)
  // The list itself stands below, as it was.
  expect(body).toContain('id="list"')
  return /<small class="error"[^>]*>(.*?)<\/small>/s.exec(body)?.[1]
}

test('no one, and more than a filter can name, are said beside the form', async () => {
  expect(await refused('Nobody Such')).toBe('HR has no one by that name.')
  expect(await refused('many')).toBe('HR has more than 50 people by that name. Type more of it.')
  expect((await resolve('many 51')).json()).toEqual({ keys: ['m51'] })
})

test('an HR that does not answer, or cannot be searched, says so', async () => {
  const locking = await console.pool.connect()
  onTestFinished(() => locking.release())
  await locking.query('begin; lock table public.staff')
  expect(await refused('测')).toContain('HR did not answer in time.')
  await locking.query('rollback')
  await console.pool.query('alter table public.staff rename to elsewhere')
  onTestFinished(async () => {
    await console.pool.query('alter table public.elsewhere rename to staff')
  })
  expect(await refused('测')).toMatch(/HR could not be searched\..*staff/)
})

const UNNAMED = "select enterprise_code, userid, '1' as corp_code from public.staff"

/** Two HR systems: south with the enterprise E2, and north with these employees of none. */
function twoSources(databaseUrl: string, north: string | undefined, south?: string) {
  const source = (name: string, enterprise: string, sql?: string) => ({
    name,
    address: databaseUrl,
    employees_sql: hrOf(databaseUrl, sql).HR_EMPLOYEES_SQL,
    enterprise_codes: [enterprise],
  })
  const file = join(mkdtempSync(join(inject('runFolder'), 'by-name-')), 'sources.json')
  writeFileSync(file, JSON.stringify([source('north', '', north), source('south', 'E2', south)]))
  return { HR_SOURCES: file, HR_DATABASE_URL: '', HR_EMPLOYEES_SQL: '' }
}

test.each([
  ['turned off', () => ({ ...hrOf(console.url), CONSOLE_NAMES: 'false' }), 'Names are turned off'],
  ['not in the mapping', () => hrOf(console.url, UNNAMED), 'The mapping of HR has no names.'],
  [
    'not in one of the mappings',
    () => twoSources(console.url, undefined, UNNAMED),
    'The mapping of south has no names, so a name would not find everyone.',
  ],
])('names that are %s say so before HR is searched, and have no form', async (_, settings, text) => {
  await using other = await openApp(console.url, { settings: settings() })
  const cookie = await signInAs(other, 'reviewer')
  const headers = {
    cookie,
    'sec-fetch-site': 'same-origin',
    accept: 'text/html',
    'accept-language': 'en',
    host: 'localhost',
  }
  const before = (await console.commands()).length
  const { body } = await other.app.inject({
    method: 'POST',
    url: '/employees/by-name',
    headers: {
      ...headers,
      referer: 'http://localhost/cases',
      'content-type': 'application/x-www-form-urlencoded',
    },
    payload: 'name=测&list=/cases',
  })
  expect(body).toContain(text)
  const since = (await console.commands()).slice(before)
  expect(since.filter(({ name }) => name === 'search')).toEqual([])
  const cases = await other.app.inject({ url: '/cases', headers })
  expect(cases.body).toContain('id="list"')
  expect(cases.body).not.toContain('/employees/by-name')
})

test('an HR source that cannot be searched is named, and is left out where the list has the enterprise of another', async () => {
  const settings = twoSources(console.url, 'select enterprise_code, userid, name from public.no_such')
  await using other = await openApp(console.url, { settings })
  const cookie = await signInAs(other, 'reviewer')
  const headers = { cookie, 'sec-fetch-site': 'same-origin', 'accept-language': 'en', host: 'localhost' }
  const ask = async (url: string, payload?: object) =>
    (await other.app.inject({ url, headers, ...(payload && { method: 'POST', payload }) })).json()
  const byName = (body: object) => ask('/api/v1/employees/by-name', body)
  const refused = await byName({ name: 'two' })
  expect(refused.detail).toMatch(/^Part of HR could not be searched, north, .*no_such/)
  expect(await byName({ name: 'two', enterprise: 'E2' })).toEqual({ keys: ['E2/e1'] })
  expect(await byName({ name: 'two', list: '/cases?states=open&enterprise=E2' })).toEqual({ keys: ['E2/e1'] })
  expect((await byName({ name: 'two', list: '/cases?enterprise=' })).detail).toBe(refused.detail)
  // The search shows whom the other one has, and says that those of this one may be missing.
  expect(await ask('/api/v1/search?q=two')).toMatchObject({
    employees: [{ enterprise_code: 'E2', userid: 'e1', found_by: 'name' }],
    ...{ hr: 'failed', hr_left_out: ['north'] },
  })
  const page = await other.app.inject({
    url: '/search?q=two',
    headers: { ...headers, accept: 'text/html' },
  })
  expect(page.body).toContain(
    'Part of HR could not be searched, north: people and departments there are found',
  )
})

test('a list of one enterprise has its people by name, however many others have it; else it says that HR has more', async () => {
  const crowd = `
    select 'E1' as enterprise_code, 'c' || n as userid, 'Crowd ' || n as name from generate_series(1, 30) n
    union all values ('E7', 'seven', 'Crowd Seven'), ('', 'none', 'Crowd None')`
  const settings = { ...hrOf(console.url, crowd), PLATFORM_ENTERPRISE_CODE: 'E2' }
  await using other = await openApp(console.url, { settings })
  const cookie = await signInAs(other, 'reviewer')
  const headers = { cookie, 'sec-fetch-site': 'same-origin', 'accept-language': 'en', host: 'localhost' }
  const list = (enterprise: string) => `/employees?q=crowd&enterprise=${enterprise}&limit=10`
  const seven = await other.app.inject({ url: `/api/v1${list('E7')}`, headers })
  expect(seven.json()).toMatchObject({ items: [{ enterprise_code: 'E7', userid: 'seven' }], more: false })
  // Rows without a code are of the deployment's own.
  const own = await other.app.inject({ url: list('E2'), headers: { ...headers, accept: 'text/html' } })
  expect(own.body).toContain('The first people whom HR has by “crowd” are of other enterprises.')
  expect(own.body).toContain('There are more: type more characters')
  expect(own.body).not.toContain('No known user id')
})
