import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import type { AccessRole } from '../../src/console/auth/viewer.ts'
import { raiseHalt } from '../../src/sync/outbox/halts.ts'
import { heartbeat } from '../../src/sync/processes/process.ts'
import { inWords } from '../../src/texts/message.ts'
import { ConsoleUnderTest } from './console-under-test.ts'

/* What stands around every page: the bar of what stands still, the navigation, and errors within it. */

const console = new ConsoleUnderTest()

const see = async (role: AccessRole, url: string) => (await console.browse(role, 'GET', url)).body
/** The text of the bar, or of a list of it; empty while all is well. */
const barOf = (body: string) =>
  (/<ul class="state-bar">([\s\S]*?)<\/ul>/.exec(body)?.[1] ?? '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
const work = () =>
  heartbeat(console.pool, {
    ...{ id: '00000000-0000-4000-8000-000000000001', host: 'h', pid: 1, version: '1.2.3', pacer: null },
    roles: ['scheduler', 'worker'],
  })

describe('the bar', () => {
  afterEach(async () => {
    await console.pool.query(
      `delete from dirsync.halt; delete from dirsync.process; delete from dirsync.pacer; delete from dirsync.sync_run`,
    )
  })

  test('is empty while all is well', async () => {
    await work()
    const body = await see('viewer', '/audit')
    expect(barOf(body)).toBe('')
    expect(body).toContain('data-live="halts runs processes platform"')
  })

  test('says on every page who paused, why, and how it ends, by role', async () => {
    await work()
    await console.ask('operator', 'POST', '/api/v1/pause', { reason: 'the vendor works on it' })
    for (const url of ['/overview', '/alerts', '/cases', '/settings', '/nothing-here']) {
      const bar = barOf(await see('operator', url))
      expect(bar, url).toMatch(
        /^All calls are paused \(operator \(API\): the vendor works on it\) , began .* Resume calls$/,
      )
    }
    const body = await see('viewer', '/audit')
    expect(barOf(body)).toMatch(/Details$/)
    expect(body).not.toContain('action="/resume"')
  })

  test('has the punctuation of its language', async () => {
    await work()
    await console.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy) values ('E1', 'enterprise_code', '[]', '[]')`,
    )
    const page = await console.browse('viewer', 'GET', '/audit', undefined, { 'accept-language': 'zh-CN' })
    expect(barOf(page.body)).toMatch(/企业编码无效 ?，/)
  })

  test.each([
    ['http://localhost/cases?states=open', '/cases?states=open'],
    ['http://localhost/employees/e0001', '/employees/e0001'],
    // What a form was answered with, what is not there, and what is elsewhere.
    ['http://localhost/access/users', '/overview'],
    ['http://localhost/nothing-here', '/overview'],
    ['http://localhost//attacker.example/cases', '/overview'],
    ['https://attacker.example/cases', '/overview'],
    ['', '/overview'],
  ])('resuming on %j goes on at %s', async (referer, to) => {
    const headers = { host: 'localhost', referer }
    const { statusCode, headers: told } = await console.browse('operator', 'POST', '/resume', '', headers)
    expect([statusCode, told.location]).toEqual([303, to])
  })

  test('names halts, held runs, a hold-off and roles without a process, each with the way out', async () => {
    const reason = {
      category: 'enterprise_code',
      platformCode: 1,
      message: inWords('m'),
      remedy: inWords('r'),
    }
    for (const scope of ['E1', 'E2', 'E3', 'E4', 'E5'])
      await raiseHalt(console.pool, { ...reason, scope }, 1000)
    await console.pool.query(`
      insert into dirsync.sync_run (kind, state, planned, requested_by) values ('changes', 'held', 70, 'test');
      insert into dirsync.pacer (gate, next_at, paused_until, pause_reason)
      values ('platform', now(), now() + interval '2 hours', 'HTTP 429')`)
    const body = await see('operator', '/audit')
    const bar = barOf(body)
    expect(bar).toContain('No worker is running, so nothing is sent.')
    expect(bar).toMatch(/Enterprise E1 is halted: .*What to do.*Enterprise E2.*Enterprise E3.*and 2 more/)
    expect(bar).not.toContain('E4')
    expect(bar).toMatch(/The platform asked dirsync to wait\. HTTP 429 Calls continue by themselves in/)
    expect(bar).toMatch(/Run \d+ is held: 70 entries of its plan wait for a decision\. Look at its plan/)
    expect(body).toMatch(/<a href="\/runs\/\d+\/plan">/)
    expect(barOf(await see('viewer', '/audit'))).toMatch(/See its plan/)
  })

  test('leaves out a hold-off of some seconds, and the alerts claim no more than that none is active', async () => {
    await work()
    await console.pool.query(`
      insert into dirsync.pacer (gate, next_at, paused_until) values ('platform', now(), now() + interval '5 seconds');
      update dirsync.alert_check set checked_at = now()`)
    expect(barOf(await see('viewer', '/alerts'))).toBe('')
    await console.pool.query(`update dirsync.pacer set paused_until = now() + interval '1 hour'`)
    const alerts = await see('viewer', '/alerts')
    expect(barOf(alerts)).toContain('The platform asked dirsync to wait.')
    expect(alerts).not.toContain('Nothing is wrong')
  })
})

test.each([
  ['cases', 3],
  ['runs', 1],
])('the count beside %s leads to just what it counts', async (name, count) => {
  await console.pool.query(`
    insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state)
    select 'employee', state, 'update-employee', 'left_hr', '[]'::jsonb, '[]'::jsonb, state
    from unnest(array['open', 'blocked', 'awaiting_activation', 'snoozed']) state
    union all select 'employee', 'another', 'update-employee', 'left_hr', '[]', '[]', 'open';
    insert into dirsync.sync_run (kind, state, requested_by) values ('changes', 'held', 'test'), ('full', 'running', 'test')`)
  onTestFinished(async () => {
    await console.pool.query('delete from dirsync.dead_letter; delete from dirsync.sync_run')
  })
  const body = await see('viewer', '/audit')
  const links = [...body.matchAll(new RegExp(`<a [^>]*href="(/${name}[^"]*)"[^>]*>([^<]*)`, 'g'))]
  const [, href = ''] = links.find(([, , text]) => text === String(count)) ?? []
  const { items } = (await console.ask('viewer', 'GET', `/api/v1${href.replaceAll('&amp;', '&')}`)).json()
  expect(items).toHaveLength(count)
})

test('work that a halt or a pause holds back is not called waiting; what probes the halt is', async () => {
  await console.pool.query(`
    insert into dirsync.halt (scope, category, message, remedy, since) values ('E1', 'enterprise_code', '[]', '[]', now() - interval '1 hour');
    insert into dirsync.pending (operation, enterprise_code, entity_key, priority, enqueued_at)
    values ('update-employee', 'E1', 'a', 3, null), ('update-employee', 'E1', 'b', 3, now() - interval '2 hours'),
           ('update-employee', 'E1', 'c', 3, now()), ('update-employee', 'E2', 'a', 3, null);
    insert into dirsync.employee (enterprise_code, userid) values ('E1', 'a'), ('E2', 'a')`)
  onTestFinished(async () => {
    await console.pool.query(
      `delete from dirsync.pending; delete from dirsync.halt; delete from dirsync.employee where enterprise_code in ('E1', 'E2')`,
    )
  })
  const halts = async (path: string) => {
    const { items, pending } = (await console.ask('viewer', 'GET', `/api/v1${path}`)).json()
    return (items ?? pending).map(({ halt }: { halt: string | null }) => halt)
  }
  const states = (page: string) =>
    [...page.matchAll(/>(waiting|in the queue|halted|paused)</g)].map(([, state]) => state)
  expect(await halts('/work')).toEqual(['halted', 'halted', null, null])
  expect(states(await see('viewer', '/work'))).toEqual(['halted', 'halted', 'in the queue', 'waiting'])
  expect(await halts('/employees/E1%2Fa')).toEqual(['halted'])
  expect(await halts('/employees/E2%2Fa')).toEqual([null])
  await console.pool.query(`select dirsync.pause('maintenance')`)
  expect(await halts('/work')).toEqual(['paused', 'paused', 'paused', 'paused'])
  expect(states(await see('viewer', '/employees/E2%2Fa'))).toContain('paused')
})

test('the figure of what is to be sent leads to just that', async () => {
  await console.pool.query(`
    insert into dirsync.pending (operation, enterprise_code, entity_key, detail, priority, not_before, enqueued_at)
    values ('update-employee', 'E1', 'e1', '', 3, now(), now()), ('bind-openid', '', 'e2', 'mall', 5, now() + interval '1 hour', null),
           ('delete-department', '', 'D1', '', 5, now(), null)`)
  onTestFinished(async () => {
    await console.pool.query('delete from dirsync.pending')
  })
  const body = await see('viewer', '/overview')
  const [, href = ''] = /href="([^"]*)"[^>]*>(?:(?!href)[\s\S])*?>to be sent</.exec(body) ?? []
  expect(href).toBe('/work')
  const { items } = (await console.ask('viewer', 'GET', `/api/v1${href}`)).json()
  expect(items).toMatchObject([
    { operation: 'bind-openid', enterprise_code: '', entity_key: 'e2', detail: 'mall' },
    { operation: 'delete-department', enterprise_code: '', entity_key: 'D1' },
    { operation: 'update-employee', enterprise_code: 'E1', entity_key: 'e1' },
  ])
  const list = await see('viewer', href)
  for (const path of ['/employees/e2', '/departments?under=D1', '/employees/E1~1e1'])
    expect(list.replaceAll('&amp;', '&')).toContain(`href="${path}"`)
})

describe('an error is shown within the navigation to whoever is signed in', () => {
  const navigation = '<nav class="side"'

  test.each([
    ['an unknown address', 'GET', '/nothing-here', 404, 'Page not found', null],
    ['a case that does not exist', 'GET', '/cases/999999', 404, 'Page not found', 'cases'],
    ['what another role may do', 'POST', '/pause', 403, 'Your role does not allow this', null],
    ['what another role may see', 'GET', '/settings', 403, 'Your role does not allow this', null],
  ] as const)('%s', async (_, method, url, status, title, entry) => {
    const { statusCode, body } = await console.browse(
      'viewer',
      method,
      url,
      method === 'POST' ? '' : undefined,
    )
    expect(statusCode).toBe(status)
    expect(body).toContain(`<h1>${title}</h1>`)
    expect(body).toContain(navigation)
    const current = /<a href="\/(\w+)" aria-current="page">/.exec(body)?.[1] ?? null
    expect(current).toBe(entry)
  })

  test('but not to anyone else', async () => {
    const { statusCode, body } = await console.app.inject({
      url: '/nothing-here',
      headers: { accept: 'text/html' },
    })
    expect(statusCode).toBe(404)
    expect(body).not.toContain(navigation)
  })
})

describe('input that is refused', () => {
  const send = (url: string, from: string, form: string) =>
    console.browse('operator', 'POST', url, form, { host: 'localhost', referer: `http://localhost${from}` })

  test('is shown again in its form, on the page that held it, with what was typed and what is wrong', async () => {
    const form = 'per_second=5&until=2020-01-01T00%3A00&reason=they+said+so'
    const { statusCode, body } = await send('/platform/rate', '/platform', form)
    expect(statusCode).toBe(422)
    expect(body).toContain('<h1>Platform</h1>')
    expect(body).toMatch(/<details class="action" open>[\s\S]*action="\/platform\/rate"/)
    expect(body).toMatch(/name="per_second"[^>]*value="5"|value="5"[^>]*name="per_second"/)
    expect(body).toContain('they said so</textarea>')
    const [, id] = /aria-describedby="(f\d+e)[^"]*" aria-invalid="true"/.exec(body) ?? []
    expect(body).toContain(
      `<small class="error" id="${id}">Say until when: a time in the next 30 days.</small>`,
    )
    expect((await console.pool.query('select from dirsync.rate_cap')).rowCount).toBe(0)
  })

  test('is an error page where the browser does not say which page held it', async () => {
    const { statusCode, body } = await console.browse('operator', 'POST', '/platform/rate', 'per_second=5')
    expect(statusCode).toBe(422)
    expect(body).toContain('<h1>This is not possible</h1>')
  })

  test('in a filter is left out of it, which the page says and shows', async () => {
    const { statusCode, body } = await console.browse('admin', 'GET', '/audit?from=soon&who=test')
    expect(statusCode).toBe(422)
    expect(body).toMatch(/Left out of the filter:[\s\S]*from/)
    expect(body).toMatch(/value="soon"[^>]*aria-invalid="true"/)
    expect(body).toContain('value="test"')
  })

  test('of nobody’s is not shown to anyone who makes up its number', async () => {
    const headers = { 'x-dirsync-refused': 'undefined' }
    const { statusCode, body } = await console.browse('admin', 'GET', '/audit', undefined, headers)
    expect(statusCode).toBe(200)
    expect(body).not.toContain('aria-invalid')
  })
})

test('runs that failed for the same reason are one notice on the overview', async () => {
  await console.pool.query(`
    insert into dirsync.sync_run (kind, state, message, finished_at, requested_by) values
      ('full', 'failed', '{"key": "said.hr_away"}', now(), 'a test'),
      ('changes', 'failed', '{"key": "said.hr_away"}', now(), 'a test'),
      ('departments', 'failed', '{"key": "said.no_such_account", "values": {"command": "x"}}', now(), 'a test')`)
  onTestFinished(async () => {
    await console.pool.query('delete from dirsync.sync_run')
  })
  const body = await see('viewer', '/overview')
  const notices = [...body.matchAll(/<div class="alert warn".*?<\/strong>/gs)].map(([text]) =>
    text.replaceAll(/<[^>]+>/g, ''),
  )
  expect(notices.filter(text => text.includes('failed'))).toEqual([
    expect.stringMatching(/^Run \d+ failed\.$/),
    expect.stringMatching(/^Runs \d+ and \d+ failed for the same reason\.$/),
  ])
})

test('the overview asks about HR that looked wrong until a later run of the same rows', async () => {
  const { rows } = await console.pool.query<{ id: number }>(`
    insert into dirsync.sync_run (kind, state, planned_at, finished_at, requested_by) values
      ('departments', 'source_suspect', now(), now(), 'a test'),
      ('full', 'source_suspect', now(), now(), 'a test'),
      ('changes', 'done', now(), now(), 'a test')
    returning id`)
  onTestFinished(async () => {
    await console.pool.query('delete from dirsync.sync_run')
  })
  const asked = async () =>
    [...(await see('viewer', '/overview')).matchAll(/In run (\d+) HR’s data looked wrong/g)].map(
      ([, id]) => id,
    )
  const [departments, full] = rows.map(({ id }) => String(id))
  expect(await asked()).toEqual([departments])
  await console.pool.query(`update dirsync.sync_run set state = 'planning' where kind = 'changes'`)
  expect((await asked()).sort()).toEqual([departments, full].sort())
  // Neither those that are merely requested or planned, nor a part of a held run's plan, nor what HR's trigger named.
  await console.pool.query(`
    insert into dirsync.sync_run (kind, state, keys, part_of, planned_at, requested_by) values
      ('departments', 'requested', '{}', null, null, 'a test'), ('full', 'planning', '{}', null, null, 'a test'),
      ('departments', 'done', '{}', 1, now(), 'a test'), ('changes', 'done', '{e1}', null, now(), 'a test')`)
  expect((await asked()).sort()).toEqual([departments, full].sort())
})

test('the overview does not say of a held run that its own data looked wrong if a check for it has found HR so', async () => {
  const { rows } = await console.pool.query<{ id: number }>(`
    insert into dirsync.sync_run (kind, state, planned, planned_at, checked_at, suspect_since, requested_by)
    values ('changes', 'held', 3, now() - interval '1 minute', now(), now(), 'a test') returning id`)
  onTestFinished(async () => {
    await console.pool.query('delete from dirsync.sync_run')
  })
  const body = await see('viewer', '/overview')
  expect(body).toContain(`HR’s data looked wrong when it was read again for run ${rows[0]?.id}.`)
  expect(body).not.toContain('nothing was sent')
})

test('the overview tells of a failed run until a later one of its kind has been planned', async () => {
  const add = (kind: string, state: string, keys = '{}', part_of: number | null = null) =>
    console.pool.query(
      `insert into dirsync.sync_run (kind, state, keys, part_of, planned_at, requested_by)
       values ($1, $2, $3, $4, case when $2 not in ('requested', 'planning', 'cancelled') then now() end, 'a test')`,
      [kind, state, keys, part_of],
    )
  onTestFinished(async () => {
    await console.pool.query('delete from dirsync.sync_run; delete from dirsync.hr_source')
  })
  const failed = async () => {
    const { failed_runs } = (await console.ask('viewer', 'GET', '/api/v1/overview')).json()
    return failed_runs.map(({ kind }: { kind: string }) => kind)
  }
  const FAILED = ['orders', 'retry', 'departments', 'employees', 'changes']
  for (const kind of FAILED.toReversed()) await add(kind, 'failed')
  await add('changes', 'requested')
  await add('departments', 'planning')
  await add('departments', 'done', '{}', 1)
  await add('departments', 'cancelled')
  await add('orders', 'running')
  await add('changes', 'done', '{e1}')
  expect(await failed()).toEqual(FAILED)
  expect(await see('viewer', '/overview')).not.toContain('Every employee is')
  await add('changes', 'running')
  // No schedule repeats those of named employees and of cases.
  expect(await failed()).toEqual(['orders', 'departments'])
  await add('employees', 'failed', '{e1}')
  expect(await failed()).toEqual(['employees', 'orders', 'departments'])
  // With several HR sources, one of the sources says nothing of the others.
  await console.pool.query(`
    insert into dirsync.hr_source (name, position, kind, address, enterprise_codes)
      values ('a', 1, 'files', '/a', '{E1}'), ('b', 2, 'files', '/b', '{E2}');
    insert into dirsync.sync_run (kind, state, hr_source, planned_at, requested_by) values ('full', 'done', 'a', now(), 'a test')`)
  expect(await failed()).toContain('employees')
  await console.pool.query(
    `insert into dirsync.sync_run (kind, state, hr_source, planned_at, requested_by) values ('changes', 'held', 'b', now(), 'a test')`,
  )
  expect(await failed()).not.toContain('employees')
})

test('an enterprise whose user ids the platform does not know says so, with the likeliest cause', async () => {
  const hire = (enterprise: string, state: string) =>
    console.pool.query(
      `insert into dirsync.employee (enterprise_code, userid, source_hash, acknowledged_hash, parked_hash, platform_state)
       select $1, 'u' || i, h, case when $2 = 'in_service' then h end, h, $2
       from (select i, md5(i::text)::uuid as h from generate_series(1, 5) i) x`,
      [enterprise, state],
    )
  await hire('E1', 'absent')
  for (const page of ['/overview', '/employees']) {
    const body = await see('viewer', page)
    expect(body).toMatch(/hardly anyone of enterprise E1: of 5 employees that were looked at, .* of 5\./)
    expect(body).toMatch(/For example: <a href="\/employees\/E1[^"]*u1"><code>u1<\/code><\/a>/)
    expect(body).toContain('is another number than the platform’s user id')
  }
  await hire('E2', 'in_service')
  expect(await see('viewer', '/employees')).toContain('The platform knows people of other enterprises.')
  await console.pool.query('delete from dirsync.employee')
})

test('where there is no search, none is offered', async () => {
  const stranger = await console.app.inject({ url: '/problems/nothing', headers: { accept: 'text/html' } })
  expect(stranger.statusCode).toBe(404)
  expect(stranger.body).not.toContain('above')
  expect(stranger.body).toContain('misspelt')
  expect(await see('viewer', '/cases/999999')).toContain('Search for it above')
  const program = await console.ask('viewer', 'GET', '/api/v1/cases/999999')
  expect(program.body).not.toContain('above')
  expect((await console.ask('viewer', 'GET', '/api/v1/nothing')).body).not.toContain('above')
})

test.each(['/overview', '/platform'])(
  'the highest rate of calls on %s says over what it is an average',
  async path => {
    const { body } = await console.browse('viewer', 'GET', path)
    expect(body).toContain('at most 0 a minute on average over 5 min')
  },
)

test('what a setting means is said, and found, in the language of the page', async () => {
  const path = `/settings?q=${encodeURIComponent('每秒可调用的次数')}`
  const { body } = await console.browse('admin', 'GET', path, undefined, { 'accept-language': 'zh-CN' })
  expect(body).toContain('PLATFORM_RATE_LIMIT')
  expect(body).not.toContain('Calls per second')
  expect(body).not.toContain('DATABASE_URL')
})
