import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { startLink } from '../helpers/link.ts'
import { ConsoleUnderTest, hrWith, openApp, recordLog, signInAs } from './console-under-test.ts'
import { startGate } from './hr-gate.ts'

const hrOf = (databaseUrl: string) =>
  hrWith(
    databaseUrl,
    'select userid, name, mobile, dept_code from public.staff',
    'select code as dept_code, null as parent_code, true as active, name from public.unit',
  )

const console = new ConsoleUnderTest(hrOf)

beforeAll(async () => {
  await console.pool.query(`
    create table public.staff as
      select * from (values ('e1', '<b>Tester One</b>', '13800000001', 'D1'), ('e2', 'Tester Two', '13800000002', 'D2'))
        as row (userid, name, mobile, dept_code);
    create table public.unit as select * from (values ('D1', 'Unit One'), ('D2', null)) as row (code, name);
    insert into dirsync.employee (enterprise_code, userid, source_hash, dept_code)
      select '', userid, md5('')::uuid, dept_code from public.staff;
    insert into dirsync.employee (enterprise_code, userid, source_hash) values ('', 'gone', md5('')::uuid);
    insert into dirsync.department (enterprise_code, dept_code, active) values ('', 'D1', true), ('', 'D2', true);
    insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, first_failed_at, last_failed_at)
      values ('employee', 'e1', 'update-employee', 'duplicate_mobile', '{"key": "said.hr_away"}', '{"key": "said.hr_away"}', now(), now());
    update dirsync.dead_letter set blocked_by = 'e2', field = 'mobile'`)
})

const SHOWN = '&lt;b&gt;Tester One&lt;/b&gt;'
const page = async (role: 'viewer' | 'reviewer', url: string) => (await console.browse(role, 'GET', url)).body
/** The page once HR has told the names in time, which it may not do on a busy machine. */
const shown = (text: string, look: () => Promise<string>) =>
  vi.waitFor(
    async () => {
      const body = await look()
      expect(body).toContain(text)
      return body
    },
    { timeout: 30_000, interval: 100 },
  )
const recorded = async () => (await console.commands()).filter(({ name }) => name === 'names')

test.each(['/employees', '/employees/e1', '/cases', '/cases/1', '/search?q=e'])(
  '%s names people: plainly for a reviewer, masked for a viewer',
  async url => {
    await shown(SHOWN, () => page('reviewer', url))
    expect(await shown('>&lt;*<', () => page('viewer', url))).not.toContain('Tester')
  },
)

test.each(['/employees', '/employees/e1', '/departments', '/departments?under=D1', '/search?q=D'])(
  '%s names departments, for everybody',
  async url => {
    await shown('Unit One', () => page('viewer', url))
  },
)

/** What the warning of a page says. */
const banner = (body: string) => /<div class="alert warn.*?<\/div>/s.exec(body)?.[0] ?? ''

test.each(['/cases/1', '/employees/e1'])(
  'the notice of a duplicate on %s names the holder, and leads there',
  async url => {
    const found = banner(await shown('Tester Two', () => page('reviewer', url)))
    expect(found).toMatch(/Blocked by.*<a href="\/employees\/e2">.*e2.*Tester Two/s)
    const masked = banner(await shown('>T*<', () => page('viewer', url)))
    expect(masked).toMatch(/Blocked by.*<a href="\/employees\/e2">.*e2.*>T\*</s)
  },
)

test('the department in the table of HR has its name', async () => {
  const body = await shown('Unit One', () => page('viewer', '/employees/e1'))
  expect(/id="fields".*?<\/section>/s.exec(body)?.[0]).toMatch(/D1.*Unit One/s)
})

test('a revealed value has the person’s name, and a form for the next one', async () => {
  const reveal = () =>
    console.browse('reviewer', 'POST', '/employees/e1/reveal', 'field=mobile&reason=a+call')
  const body = await shown(SHOWN, async () => (await reveal()).body)
  expect(body).toContain('13800000001')
  expect(body).toMatch(/<form[^>]* action="\/employees\/e1\/reveal".*name="field".*>a call<.*<\/form>/s)
})

test('departments are chosen from a list with their names; another code in the address stays', async () => {
  const body = await shown('D1 Unit One', () => page('viewer', '/cases?department=D9'))
  const list = /<select[^>]* name="department".*?<\/select>/s.exec(body)?.[0] ?? ''
  expect(list).toContain('<option value="D1">D1 Unit One</option><option value="D2">D2</option>')
  expect(list).toContain('<option value="D9" selected>D9</option>')
})

test('that a person has read names is recorded once per screen, without the names', async () => {
  await shown(SHOWN, () => page('reviewer', '/cases'))
  const before = await recorded()
  await shown('>&lt;*<', () => page('viewer', '/employees'))
  await shown(SHOWN, () => page('reviewer', '/cases'))
  expect(await recorded()).toEqual(before)
  expect(before).toContainEqual({ name: 'names', arguments: { screen: 'cases' } })
})

test('a program is given keys alone', async () => {
  const { body } = await console.ask('admin', 'GET', '/api/v1/employees')
  expect(body).toContain('e1')
  expect(body).not.toMatch(/Tester|Unit/)
  await shown(SHOWN, () => page('reviewer', '/employees'))
  const searches = ['/search?q=e', '/search?q=Test&typing=true', '/search?q=Uni&typing=true']
  for (const url of ['/employees', '/employees/e1', '/cases', '/departments', ...searches]) {
    const asked = await console.ask('admin', 'GET', url)
    expect([url, asked.statusCode, /Tester|Unit/.exec(asked.body)]).toEqual([url, 200, null])
  }
})

test('CONSOLE_NAMES=false leaves them out', async () => {
  await using other = await openApp(console.url, {
    settings: { ...hrOf(console.url), CONSOLE_NAMES: 'false' },
  })
  const headers = { cookie: await signInAs(other, 'admin'), accept: 'text/html' }
  const { body } = await other.app.inject({ url: '/employees', headers })
  expect(body).toContain('e1')
  expect(body).not.toMatch(/Tester|Unit/)
})

test('while HR does not answer, pages come without names, and HR is left alone', async () => {
  const { logger, lines } = recordLog()
  await using other = await openApp(console.url, { settings: hrOf(console.url), logger })
  const headers = { cookie: await signInAs(other, 'reviewer'), accept: 'text/html' }
  const employees = async () => (await other.app.inject({ url: '/employees', headers })).body
  await shown(SHOWN, employees)

  const locking = await console.pool.connect()
  onTestFinished(() => locking.release())
  await locking.query('begin; lock table public.staff')
  const waiting = async () => {
    const { rows } = await console.pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%public.staff%'`,
    )
    return rows.length
  }
  for (const most of [1, 2, 2, 2]) {
    expect(await employees()).not.toMatch(/Tester/)
    expect(await waiting()).toBeLessThanOrEqual(most)
  }

  await locking.query('rollback')
  await shown(SHOWN, employees)
  expect(JSON.stringify(lines)).not.toContain('Tester')
})

test('the first page has names although HR is far away and has yet to be connected to', async () => {
  await using hr = await startLink(console.url)
  hr.delay(25)
  await shown(SHOWN, async () => {
    await using other = await openApp(console.url, {
      settings: { ...hrOf(console.url), HR_DATABASE_URL: hr.url },
    })
    const headers = { cookie: await signInAs(other, 'reviewer'), accept: 'text/html' }
    return (await other.app.inject({ url: '/employees', headers })).body
  })
})

test.each(['/employees/e1', '/runs/77/plan'])('%s asks HR for names while it reads HR itself', async url => {
  await console.pool.query(`
    insert into dirsync.sync_run (id, kind, state, planned) overriding system value values (77, 'changes', 'held', 1)
      on conflict do nothing;
    insert into dirsync.planned_work (run_id, operation, entity_key, reason, active, source_hash)
      values (77, 'update-employee', 'e1', 'changed', true, md5('')::uuid) on conflict do nothing`)
  await using hr = await startGate(console.url)
  await using other = await openApp(console.url, {
    settings: { ...hrOf(console.url), HR_DATABASE_URL: hr.url },
  })
  const headers = { cookie: await signInAs(other, 'reviewer'), accept: 'text/html', 'accept-language': 'en' }
  const look = async () => (await other.app.inject({ url, headers })).body
  await shown(SHOWN, look)
  await shown(SHOWN, async () => {
    hr.hold()
    const body = await look()
    expect(body).not.toContain('did not answer within')
    return body
  })
})

test('names that HR did not tell while the page was read are asked for again once it is drawn', async () => {
  const { logger, lines } = recordLog()
  await using other = await openApp(console.url, { settings: hrOf(console.url), logger })
  const headers = { cookie: await signInAs(other, 'reviewer'), accept: 'text/html' }
  const look = async () => (await other.app.inject({ url: '/employees/e1', headers })).body
  // Connected, with the mapping known.
  await shown(SHOWN, look)
  const givenUp = () => lines.filter(({ msg }) => String(msg).startsWith('a page comes without')).length
  await shown(SHOWN, async () => {
    const before = givenUp()
    const locking = await console.pool.connect()
    try {
      await locking.query('begin; lock table public.staff')
      const page = look()
      // Names are waited for less long than the row.
      await vi.waitFor(() => expect(givenUp()).toBe(before + 1), { interval: 5 })
      await locking.query('rollback')
      return await page
    } finally {
      await locking.query('rollback')
      locking.release()
    }
  })
})
