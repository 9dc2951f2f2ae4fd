import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { Scope } from '../../src/console/auth/scope.ts'
import { addToken } from '../../src/console/auth/tokens.ts'
import type { AccessRole } from '../../src/console/auth/viewer.ts'
import type { SearchResult } from '../../src/console/search/read.ts'
import { ConsoleUnderTest, hrWith, openApp, signInAs } from './console-under-test.ts'
import { startGate } from './hr-gate.ts'

const hrOf = (databaseUrl: string) =>
  hrWith(
    databaseUrl,
    'select userid, name, corp_code, mobile, email, null::text as dept_code from public.staff',
    'select code as dept_code, null as parent_code, true as active, name from public.unit',
  )
const console = new ConsoleUnderTest(hrOf)

beforeAll(async () => {
  await console.pool.query(`
    create table public.staff as select * from (values
      ('e1', '测试一', 'W100', '13800000001', 'One@example.com'),
      ('e2', 'Person Two', 'w200', '13800000002', '50%@example.com'),
      ('e3', 'person three', 'X300', '13900000003', null),
      ('f4', 'Elel Mörmör', 'Y4', '7700900101', null)) as row (userid, name, corp_code, mobile, email);
    create table public.unit as select * from (values ('D1', 'Accounts'), ('D2', '销售部'), ('D%1', null)) as row (code, name);
    insert into dirsync.employee (enterprise_code, userid, source_hash)
      select '', userid, md5('')::uuid from public.staff where userid not in ('e3', 'f4');
    insert into dirsync.department (dept_code, active) select code, true from public.unit;
    insert into dirsync.dead_letter (entity, entity_key, operation, category, platform_code, message, remedy, trace_id)
      values ('employee', 'e1', 'update-employee', 'duplicate_mobile', 1002218007, '{"key": "said.hr_away"}', '{"key": "said.hr_away"}', 'trace-77');
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, trace_id)
      values ('refund/1', 'order-1', 1, 'unknown', 'ann', 'trace-78');
    insert into dirsync.topup (external_code, account_openid, amount, state, requested_by, trace_id)
      values ('topup-1', 'account-1', 1, 'unknown', 'ann', 'trace-79');
    insert into dirsync.sync_run (kind, requested_by) values ('full', 'a test')`)
})

async function search(text: string, role: AccessRole = 'reviewer'): Promise<SearchResult> {
  const answer = await console.ask(role, 'GET', `/api/v1/search?q=${encodeURIComponent(text)}`)
  expect(answer.statusCode).toBe(200)
  return answer.json()
}

test.each([
  ['测', ['e1'], 'name'],
  ['PERSON', ['e2', 'e3'], 'name'],
  ['w100', ['e1'], 'corp_code'],
  ['W2', ['e2'], 'corp_code'],
  ['1380000', ['e1', 'e2'], 'mobile'],
  ['+86 138 0000 0001', ['e1'], 'mobile'],
  ['0003', ['e3'], 'mobile'],
  ['+86 0003', [], 'mobile'],
  ['--', [], 'mobile'],
  ['0000 0002', ['e2'], 'mobile'],
  ['mörmö', ['f4'], 'name'],
  ['+44 7700 900101', ['f4'], 'mobile'],
  ['0044-7700-900', ['f4'], 'mobile'],
  ['447700900101', ['f4'], 'mobile'],
  ['7700 900101', ['f4'], 'mobile'],
  ['one@', ['e1'], 'email'],
  ['50%@', ['e2'], 'email'],
  ['%@', [], 'email'],
])('a reviewer finds “%s” in HR: %j, by %s', async (text, found, by) => {
  const { employees, hr } = await search(text)
  expect(employees.map(({ userid }) => userid)).toEqual(found)
  expect(new Set(employees.map(row => row.found_by))).toEqual(new Set(found.length > 0 ? [by] : []))
  expect(hr).toBe('asked')
  expect((await search(text, 'viewer')).employees).toEqual([])
})

test('departments are found by code and by name, and signs are signs', async () => {
  const codes = async (text: string) => (await search(text)).departments.map(row => row.dept_code)
  expect(await codes('acc')).toEqual(['D1'])
  expect(await codes('销售')).toEqual(['D2'])
  expect(await codes('D')).toEqual(['D%1', 'D1', 'D2'])
  expect(await codes('D%')).toEqual(['D%1'])
})

test('more are said to be there only where they are', async () => {
  const { pool } = console
  await pool.query(`insert into dirsync.department (dept_code, active)
    select 'MANY' || i, true from generate_series(1, 20) i`)
  onTestFinished(
    async () => void (await pool.query(`delete from dirsync.department where dept_code like 'MANY%'`)),
  )
  const page = async () => (await console.browse('viewer', 'GET', '/search?q=many')).body
  expect(await page()).not.toContain('there are more')
  expect((await search('many')).more).toEqual([])
  await pool.query(`insert into dirsync.department (dept_code, active) values ('MANY21', true)`)
  expect(await page()).toContain('there are more')
  const { departments, more } = await search('many')
  expect(departments).toHaveLength(20)
  expect(more).toEqual(['departments'])
})

test('a department that HR no longer has is called so, as among the departments', async () => {
  await console.pool.query(
    `insert into dirsync.department (dept_code, active, first_missing_at) values ('X1', true, '2026-11-20T10:00Z'), ('X2', true, null)`,
  )
  onTestFinished(async () => {
    await console.pool.query(`delete from dirsync.department where dept_code in ('X1', 'X2')`)
  })
  expect((await search('X1')).departments).toMatchObject([
    { dept_code: 'X1', active: true, missing_since: '2026-11-20T10:00:00.000Z', deleted_at: null },
  ])
  for (const page of ['/search?q=X', '/departments'])
    expect((await console.browse('reviewer', 'GET', page)).body).toMatch(/>X1<.*missing in HR/s)
})

test('cases are found by number and trace id, codes of the platform with their cases, runs by number', async () => {
  const { cases } = await search('trace-77')
  expect(cases).toMatchObject([{ entity_key: 'e1', category: 'duplicate_mobile' }])
  expect((await search(`#${cases[0]?.id}`)).cases).toEqual(cases)
  expect((await search('1002218007')).codes).toEqual([
    { platform_code: 1002218007, category: 'duplicate_mobile', cases: 1 },
  ])
  const { rows } = await console.pool.query('select id::int from dirsync.sync_run')
  const [{ id }] = rows
  for (const text of [`run ${id}`, `Run #${id}`, `第 ${id} 号同步任务`, `任务 ${id}`, `同步任务${id}`])
    expect((await search(text)).runs, text).toMatchObject([{ id, kind: 'full' }])
  expect((await search(`run ${id + 1}`)).runs).toEqual([])
})

test.each([
  ['refund/1', 'order-1', 'trace-78', '/money/refunds/refund~11', 'Refund refund/1'],
  ['topup-1', 'account-1', 'trace-79', '/money/topups/topup-1', 'Top-up topup-1'],
])(
  'money is found by number, order or account, and trace id: %s, %s, %s',
  async (number, target, trace, to, title) => {
    for (const text of [number, target, trace]) {
      expect((await search(text)).money, text).toMatchObject([{ number, target, state: 'unknown' }])
      const q = encodeURIComponent(text)
      expect((await console.browse('reviewer', 'GET', `/search?q=${q}`)).headers.location).toBe(to)
      expect((await console.browse('reviewer', 'GET', `/search?q=${q}&typing=true`)).body).toContain(title)
    }
    expect((await search(number.slice(0, -1))).money).toEqual([])
  },
)

test('payment orders are found by either number, and refunds and top-ups by the platform’s, in the indexes', async () => {
  await console.pool.query(`
    insert into dirsync.payment_order (enterprise_code, trade_no, out_trade_no, status, changed_at)
      values ('', 'trade-9', 'order-9', 3, now()), ('OLD', 'trade-9', 'order-9', 2, now() - interval '1 day');
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at, trade_no)
      values ('refund-9', 'order-8', 1, 'accepted', 'ann', now(), 'trade-8');
    insert into dirsync.topup (external_code, account_openid, amount, state, requested_by, settled_at, apply_charge_openid)
      values ('topup-9', 'account-9', 1, 'accepted', 'ann', now(), 'charge-9')`)
  onTestFinished(async () => {
    await console.pool.query(`
      delete from dirsync.payment_order; delete from dirsync.refund where outer_refund_no = 'refund-9';
      delete from dirsync.topup where external_code = 'topup-9'`)
  })
  for (const text of ['trade-9', 'order-9']) {
    expect((await search(text)).orders, text).toEqual([
      { enterprise_code: '', trade_no: 'trade-9', out_trade_no: 'order-9', status: 3, gone_at: null },
    ])
    const { headers } = await console.browse('viewer', 'GET', `/search?q=${text}`)
    expect(headers.location).toBe('/mirrors/orders?number=trade-9')
    const typed = await console.browse('viewer', 'GET', `/search?q=${text}&typing=true`)
    expect(typed.body).toMatch(/<h2[^>]*>Payment orders<.*href="\/mirrors\/orders\?number=trade-9"/s)
  }
  const typed = async () => (await console.browse('viewer', 'GET', '/search?q=trade-9&typing=true')).body
  expect(await typed()).toContain('completed')
  await console.pool.query('update dirsync.payment_order set gone_at = now()')
  expect(await typed()).not.toContain('completed')
  expect((await search('trade')).orders).toEqual([])
  expect((await search('trade-8')).money).toMatchObject([{ number: 'refund-9' }])
  expect((await search('charge-9')).money).toMatchObject([{ number: 'topup-9' }])
  const { rows } = await console.pool.query(
    `select indexname from pg_indexes where schemaname = 'dirsync' and indexname in ('refund_trade_no', 'topup_receipt')`,
  )
  expect(rows).toHaveLength(2)
})

test('a refund is found of which the platform has notified and that dirsync does not know', async () => {
  await console.pool.query(
    `insert into dirsync.refused_notification (outer_refund_no, reason)
     values ('foreign-1', 'unknown'), ('refund/1', 'mismatch')`,
  )
  expect(await search('foreign-1')).toMatchObject({ money: [], unmatched: ['foreign-1'] })
  for (const typing of ['', '&typing=true']) {
    const { body } = await console.browse('reviewer', 'GET', `/search?q=foreign-1${typing}`)
    expect(body).toContain('notified dirsync of refund foreign-1, which dirsync does not know')
    expect(body).not.toContain('Nothing')
  }
  expect(await search('refund/1')).toMatchObject({ money: [{ number: 'refund/1' }], unmatched: [] })
  await console.pool.query('delete from dirsync.refused_notification')
})

test('keys are found whatever their capitals, in the index', async () => {
  for (const text of ['E2', 'e2'])
    expect((await search(text, 'viewer')).employees).toMatchObject([{ userid: 'e2' }])
  expect((await search('d1', 'viewer')).departments).toMatchObject([{ dept_code: 'D1' }])
  const { rows } = await console.pool.query(
    `select indexname from pg_indexes where schemaname = 'dirsync' and indexname in ('employee_userid_lower', 'department_code_lower')`,
  )
  expect(rows).toHaveLength(2)
})

test('viewers find departments by name, which pages tell them, and no one by what HR has', async () => {
  const found = await search('销售', 'viewer')
  expect(found).toMatchObject({ hr: 'asked', employees: [], departments: [{ dept_code: 'D2' }] })
  expect((await search('person', 'viewer')).employees).toEqual([])
})

test('a case is found by its number with the word before it', async () => {
  const [known] = (await search('trace-77')).cases
  for (const text of [`case ${known?.id}`, `Case #${known?.id}`, `异常项 ${known?.id}`, `异常${known?.id}`])
    expect((await search(text)).cases, text).toEqual([known])
})

test('while one types, results come as a list of links, by group, without leaving for the only one', async () => {
  const typed = await console.browse('reviewer', 'GET', '/search?q=mörm&typing=true')
  expect(typed.statusCode).toBe(200)
  expect(typed.body).toMatch(/<div id="found">.*<h2[^>]*>Employees<\/h2>.*<a href="\/employees\/f4">/s)
  const none = await console.browse('reviewer', 'GET', '/search?q=nothing-such&typing=true')
  expect(none.body).toContain('Nothing matches')
})

test('a page of people and departments by name asks HR for them once, with their names', async () => {
  await using hr = await startGate(console.url)
  await using other = await openApp(console.url, { settings: hrOf(hr.url) })
  const headers = { cookie: await signInAs(other, 'reviewer'), accept: 'text/html' }
  const look = async (q: string) => (await other.app.inject({ url: `/search?q=${q}`, headers })).body
  // Connected, with the mappings known.
  await vi.waitFor(async () => expect(await look('Pers')).toContain('person three'), { timeout: 30_000 })
  const before = hr.asked('public.staff')
  const body = await look('Person')
  expect(body).toContain('Person Two')
  expect(body).toContain('person three')
  expect(hr.asked('public.staff') - before).toBe(1)
})

test('a limited token finds what it may look at, and has HR asked for nothing else', async () => {
  const searchAs = async (...scopes: Scope[]) => {
    const expiresAt = new Date(Date.now() + 86_400_000)
    const name = scopes.join('-').replaceAll(':', '.')
    const token = await addToken(console.pool, 'test', { name, role: 'reviewer', expiresAt, scopes })
    return async (text: string) => {
      const url = `/api/v1/search?q=${encodeURIComponent(text)}`
      const answer = await console.app.inject({ url, headers: { authorization: `Bearer ${token}` } })
      const { hr, hr_failure: _, ...found } = answer.json() as SearchResult
      return [hr, ...Object.keys(found).filter(kind => found[kind as keyof typeof found].length > 0)]
    }
  }
  const only = await searchAs('overview:read')
  for (const text of [
    'e1',
    'Person',
    '13800000001',
    'D1',
    'acc',
    'trace-77',
    'trace-78',
    '1002218007',
    'run 1',
  ])
    expect([text, await only(text)]).toEqual([text, ['not_asked']])
  await console.pool.query(`insert into dirsync.payment_order (trade_no) values ('trade-1')`)
  onTestFinished(async () => void (await console.pool.query('delete from dirsync.payment_order')))
  expect(await only('trade-1')).toEqual(['not_asked'])
  expect(await (await searchAs('overview', 'mirrors:read'))('trade-1')).toEqual(['not_asked', 'orders'])
  const some = await searchAs('overview:read', 'cases', 'departments:read')
  expect(await some('trace-77')).toEqual(['asked', 'cases'])
  expect(await some('1002218007')).toEqual(['asked', 'codes'])
  expect(await some('acc')).toEqual(['asked', 'departments'])
  expect(await some('Person')).toEqual(['asked'])
  const others = await searchAs('overview', 'runs:read', 'employees:read')
  expect(await others('run 1')).toEqual(['not_asked', 'runs'])
  expect(await others('Person')).toEqual(['asked', 'employees'])
  expect(await others('acc')).toEqual(['asked'])
})

test('a user id comes first, and HR is asked all the same: the text may be a work number of another person', async () => {
  await console.pool.query(`insert into dirsync.employee (enterprise_code, userid) values ('', 'X300')`)
  onTestFinished(
    async () => void (await console.pool.query(`delete from dirsync.employee where userid = 'X300'`)),
  )
  for (const text of ['X300', 'x300']) {
    const { employees, hr } = await search(text)
    expect(hr).toBe('asked')
    expect(employees.map(({ userid, found_by }) => [userid, found_by])).toEqual([
      ['X300', 'userid'],
      ['e3', 'corp_code'],
    ])
    expect((await console.browse('reviewer', 'GET', `/search?q=${text}`)).statusCode).toBe(200)
    expect((await search(text, 'viewer')).employees).toMatchObject([{ userid: 'X300' }])
  }
  expect((await console.ask('reviewer', 'GET', '/api/v1/employees?q=X300')).json().items).toMatchObject([
    { userid: 'X300' },
    { userid: 'e3' },
  ])
  expect((await console.browse('reviewer', 'GET', '/search?q=e1')).headers.location).toBe('/employees/e1')
})

test('a list without employees says what was searched, and leads to a user id only where the text may be one', async () => {
  const said = async (role: AccessRole, text: string) => {
    const { body } = await console.browse(role, 'GET', `/employees?q=${encodeURIComponent(text)}`)
    return [/No known user id begins with [^<]*/.exec(body)?.[0], body.includes('exactly this user id')]
  }
  expect(await said('reviewer', '98765')).toEqual([
    'No known user id begins with “98765”, and no work number or mobile number in HR matches it.',
    true,
  ])
  expect(await said('reviewer', 'none@')).toEqual([
    'No known user id begins with “none@”, and no e-mail address in HR matches it.',
    true,
  ])
  expect(await said('reviewer', '张三')).toEqual([
    'No known user id begins with “张三”, and no name in HR matches it.',
    false,
  ])
  expect(await said('viewer', '98765')).toEqual(['No known user id begins with “98765”.', true])
  for (const [text, leads] of [
    ['张三', false],
    ['No Such', false],
    ['98765', true],
  ] as const) {
    const { body } = await console.browse('reviewer', 'GET', `/search?q=${encodeURIComponent(text)}`)
    expect([text, body.includes('exactly this user id')]).toEqual([text, leads])
  }
})

test('an open id is found without HR', async () => {
  await console.pool.query(
    `insert into dirsync.openid_binding (userid, seller_appid, open_userid) values ('e1', 'mall', 'open-1')`,
  )
  onTestFinished(async () => void (await console.pool.query('delete from dirsync.openid_binding')))
  expect(await search('open-1')).toMatchObject({
    employees: [{ userid: 'e1', found_by: 'openid' }],
    hr: 'not_asked',
  })
})

test('that HR was searched is recorded, and not what for', async () => {
  const before = (await console.commands()).length
  // As another user than the other tests, whose searches of this hour are recorded.
  for (const text of ['Per', 'Pers', 'Person'])
    await console.browse('operator', 'GET', `/search?q=${text}&typing=true`)
  await search('Person', 'viewer')
  const noted = (await console.commands()).slice(before).filter(({ name }) => name !== 'sign_in')
  expect(noted).toEqual([
    { name: 'search', arguments: { by: ['name', 'corp_code', 'email'] } },
    { name: 'names', arguments: { screen: 'overview' } },
  ])
})

test('while HR does not answer, that is said, and keys are found', async () => {
  const locking = await console.pool.connect()
  onTestFinished(() => locking.release())
  await locking.query('begin; lock table public.staff')
  expect(await search('e')).toMatchObject({ hr: 'not_asked' })
  const found = await search('D%')
  expect(found).toMatchObject({ hr: 'away', departments: [{ dept_code: 'D%1' }] })
  // There may be more than the only hit.
  const page = await console.browse('reviewer', 'GET', '/search?q=D%25')
  expect(page.statusCode).toBe(200)
  expect(page.body).toContain('HR did not answer in time')
  await locking.query('rollback')
})

test('that HR cannot be searched says why, not that it took too long', async () => {
  await console.pool.query('alter table public.staff rename to staff_elsewhere')
  onTestFinished(async () => {
    await console.pool.query('alter table public.staff_elsewhere rename to staff')
  })
  expect(await search('Person')).toMatchObject({ hr: 'failed', hr_failure: expect.stringContaining('staff') })
  const { body } = await console.browse('reviewer', 'GET', '/search?q=Person')
  expect(body).toContain('HR could not be searched')
  expect(body).not.toContain('did not answer in time')
  const typed = await console.browse('reviewer', 'GET', '/search?q=Person&typing=true')
  expect(typed.body).toContain('HR could not be searched')
  const whole = await console.browse('reviewer', 'GET', '/search?q=E2')
  expect(whole.headers.location).toBe('/employees/e2')
})
