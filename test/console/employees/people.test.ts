import { beforeAll, describe, expect, test } from 'vitest'
import type { ListedEmployee } from '../../../src/console/employees/list.ts'
import { stepsOfRun } from '../../../src/console/employees/query.ts'
import type { EmployeeStory } from '../../../src/console/employees/story.ts'
import { employeePath } from '../../../src/console/ui/paths.ts'
import { message } from '../../../src/texts/message.ts'
import { ConsoleUnderTest, hrWith, openApp, signInAs } from '../console-under-test.ts'

const console = new ConsoleUnderTest()

beforeAll(async () => {
  await console.pool.query(
    `insert into dirsync.employee (enterprise_code, userid, source_hash) values
       ('', 'e1', md5('')::uuid), ('', 'a/b', md5('')::uuid), ('A', 'twice', md5('')::uuid), ('B', 'twice', md5('')::uuid)`,
  )
})

test.each([
  ['/employees/twice', 422],
  ['/mapping/dry-runs/0', 404],
  ['/mapping/dry-runs/17', 404],
  ['/departments?under=nowhere', 404],
])('%s is answered %i with a sentence', async (path, status) => {
  const answer = await console.ask('viewer', 'GET', `/api/v1${path}`)
  expect(answer.statusCode).toBe(status)
  expect(answer.json()).toMatchObject({ status, detail: expect.stringMatching(/\w/) })
})

test('a value is not shown without a reason, nor a field that is none', async () => {
  const before = await console.commands()
  for (const body of [
    { field: 'mobile' },
    { field: 'mobile', reason: '  ' },
    { field: 'secret', reason: 'r' },
  ])
    expect((await console.ask('admin', 'POST', '/api/v1/employees/e1/reveal', body)).statusCode).toBe(422)
  expect(await console.commands()).toEqual(before)
})

test('an HR database that cannot be read is told on the page, and the rest of it stands', async () => {
  const answer = await console.ask('viewer', 'GET', '/api/v1/employees/e1')
  expect(answer.statusCode).toBe(200)
  expect(answer.json()).toMatchObject({
    userid: 'e1',
    status: 'waiting',
    hr: 'unknown',
    hr_error: expect.stringMatching(/\w/),
    platform: 'not_asked',
    steps: expect.arrayContaining([expect.objectContaining({ step: 'sent', state: 'waiting' })]),
  })
  await console.pool.query(`update dirsync.employee set source_hash = md5('1')::uuid, acknowledged_hash = md5('1')::uuid,
    acknowledged_at = now() where userid = 'e1'`)
  const html = { accept: 'text/html' }
  const { body: page } = await console.ask('viewer', 'GET', '/employees/e1', undefined, html)
  expect(page).toContain('HR cannot be read now. The platform confirmed what HR had')
  expect(page).not.toContain('In sync: the platform has confirmed what HR has')
  await console.pool.query(`update dirsync.employee set acknowledged_hash = null where userid = 'e1'`)
  expect((await console.ask('viewer', 'GET', '/api/v1/mapping')).json()).toMatchObject({
    error: expect.stringMatching(/\w/),
    columns: [],
  })
  // Which mapping it is shows only once HR answers, so whether a plan has used it is not known.
  const { body } = await console.ask('viewer', 'GET', '/mapping', undefined, html)
  expect(body).toContain('The mapping cannot be read.')
  expect(body).not.toContain('no plan has used it yet')
})

test('an employee in an enterprise that no run has met is found in HR', async () => {
  await console.pool.query(
    `create table public.staff as select 'E7' as enterprise_code, 'e7' as userid, 'Name' as name`,
  )
  await using other = await openApp(console.url, {
    settings: hrWith(console.url, 'select enterprise_code, userid, name from public.staff'),
  })
  const cookie = await signInAs(other, 'viewer')
  const answer = await other.app.inject({ url: '/api/v1/employees/e7', headers: { cookie } })
  expect(answer.json()).toMatchObject({ enterprise_code: 'E7', userid: 'e7', hr: 'present' })
})

test('a part that follows what happens does not read HR', async () => {
  const answer = await console.ask('viewer', 'GET', '/api/v1/employees/e1?hr=no')
  expect(answer.json()).toMatchObject({ hr: 'not_asked', hr_error: null, status: 'waiting' })
})

test('a search in an enterprise finds its own employees, also in HR', async () => {
  await console.pool.query(
    `insert into dirsync.openid_binding (enterprise_code, userid, seller_appid, open_userid) values ('B', 'twice', 'mall', 'OPEN-B')`,
  )
  await console.pool.query(
    `create table public.namesakes as
     select code as enterprise_code, 'new-' || code as userid, 'Namesake' as name from unnest('{A,B}'::text[]) code`,
  )
  await using other = await openApp(console.url, {
    settings: hrWith(console.url, 'select enterprise_code, userid, name from public.namesakes'),
  })
  const cookie = await signInAs(other, 'reviewer')
  const found = async (q: string, enterprise: string) => {
    const url = `/employees?${new URLSearchParams({ q, enterprise })}`
    const { items } = (await other.app.inject({ url: `/api/v1${url}`, headers: { cookie } })).json()
    return items.map((one: ListedEmployee) => `${one.enterprise_code}/${one.userid}`)
  }
  expect(await found('twice', 'A')).toEqual(['A/twice'])
  expect(await found('Namesake', 'B')).toEqual(['B/new-B'])
  expect([await found('OPEN-B', 'A'), await found('OPEN-B', 'B')]).toEqual([[], ['B/twice']])
  expect([await found('A/twice', 'A'), await found('A/twice', 'B')]).toEqual([['A/twice'], []])
  expect(await found('twice', 'C')).toEqual([])
  const page = await other.app.inject({
    url: '/employees?q=nobody&enterprise=A',
    headers: { cookie, accept: 'text/html' },
  })
  expect(page.body).toContain('href="/employees/A~1nobody"')
})

test('a search with more hits than are listed says so', async () => {
  const found = async (limit: number) =>
    (await console.ask('viewer', 'GET', `/api/v1/employees?q=twice&limit=${limit}`)).json()
  expect(await found(1)).toMatchObject({ items: [{ userid: 'twice' }], more: true })
  expect(await found(2)).toMatchObject({ items: [{ userid: 'twice' }, { userid: 'twice' }], more: false })
  const page = async (limit: number) =>
    (await console.browse('viewer', 'GET', `/employees?q=twice&limit=${limit}`)).body
  expect(await page(1)).toContain('There are more')
  expect(await page(2)).not.toContain('There are more')
})

test('the search gives a program its hits, and a person the page of the only one', async () => {
  expect((await console.ask('viewer', 'GET', '/api/v1/search?q=e1')).json()).toMatchObject({
    employees: [{ userid: 'e1', status: 'waiting' }],
  })
  const page = await console.browse('viewer', 'GET', '/search?q=e1')
  expect([page.statusCode, page.headers.location]).toEqual([303, '/employees/e1'])
})

test.each([
  [{ enterpriseCode: '', userid: 'e1' }],
  [{ enterpriseCode: '', userid: 'a/b' }],
  [{ enterpriseCode: 'A', userid: 'twice' }],
])('the address of %j leads to that employee', async key => {
  const answer = await console.ask('viewer', 'GET', `/api/v1${employeePath(key)}?hr=no`)
  expect(answer.json()).toMatchObject({
    enterprise_code: key.enterpriseCode,
    userid: key.userid,
    status: 'waiting',
  })
})

describe('the steps of a run that was started for an employee', () => {
  const story: EmployeeStory = {
    has_source: true,
    record: {
      active: true,
      in_sync: true,
      platform_state: 'in_service',
      dept_code: null,
      withheld: [],
      status: 'in_sync',
      held: null,
      doubted: false,
      vanished_at: null,
      acknowledged_at: new Date(),
      queried_at: new Date(),
    },
    pending: [],
    attempts: [],
    dead_letters: [],
    bindings: [],
    payment_orders: [],
    halts: [],
    retries_stopped: false,
  }
  const run = (state: string) => ({
    id: 7,
    state,
    message: null,
    finished_at: null,
    cancelled_at: null,
    cases: 0,
  })
  const attempt = (run_id: number, outcome: string) => ({
    started_at: new Date(),
    run_id,
    operation: 'update-employee',
    detail: '',
    outcome,
    duration_ms: 10,
    calls: { 'employee/get': 1 },
    fields: outcome === 'updated' ? ['email'] : [],
    platform_code: null,
    trace_id: null,
    error: null,
  })
  const texts = (state: string, of: EmployeeStory) => stepsOfRun(run(state), of).map(step => step.text)

  test.each(['requested', 'planning'])('say nothing of an earlier attempt while it is %s', state => {
    const earlier = { ...story, attempts: [attempt(6, 'updated')] }
    expect(texts(state, earlier)[0]).toBe('read_not_yet')
    expect(texts(state, earlier)).not.toContain('sent_fields')
  })

  test.each(['failed', 'cancelled'])('are not reached where it has %s without an attempt', state => {
    expect(new Set(texts(state, { ...story, attempts: [attempt(6, 'updated')] }))).toEqual(
      new Set(['not_reached']),
    )
    expect(texts(state, { ...story, attempts: [attempt(7, 'updated')] })[4]).toBe('sent_fields')
  })

  test('show the work that waits, then the attempt of this run alone', () => {
    const pending = [
      {
        operation: 'update-employee',
        detail: '',
        run_id: 7,
        attempts: 0,
        not_before: null,
        replan_at: null,
        enqueued_at: null,
        created_at: new Date(),
        halt: null,
        named: false,
      },
    ]
    expect(texts('running', { ...story, pending, attempts: [attempt(6, 'in_sync')] })[3]).toBe('asked_queued')
    const attempts = [attempt(8, 'in_sync'), attempt(7, 'updated'), attempt(6, 'in_sync')]
    expect(texts('done', { ...story, attempts })[4]).toBe('sent_fields')
  })
})

test('an employee who waits while their enterprise is halted is shown as halted, as the overview counts them', async () => {
  await console.pool.query(
    `insert into dirsync.halt (scope, category, message, remedy) values ('A', 'enterprise_code', '[]', '[]')`,
  )
  const listed = async (status: string) => {
    const page = await console.ask('viewer', 'GET', `/api/v1/employees?status=${status}`)
    const { items, counts } = page.json<{
      items: { enterprise_code: string; userid: string; status: string }[]
      counts: Record<string, number>
    }>()
    expect(items).toHaveLength(counts[status] ?? 0)
    return items
  }
  const waiting = (await listed('waiting')).map(
    ({ enterprise_code, status }) => `${enterprise_code} ${status}`,
  )
  expect(waiting).toContain('B waiting')
  expect(waiting).not.toContain('A waiting')
  const [halted] = await listed('halted')
  expect(halted).toMatchObject({ enterprise_code: 'A', status: 'halted' })
  const one = await console.ask('viewer', 'GET', `/api/v1/employees/A%2F${halted?.userid}?hr=no`)
  expect(one.json()).toMatchObject({ status: 'halted', record: { status: 'halted' } })
  const overview = (await console.ask('viewer', 'GET', '/api/v1/overview')).json<{ employees: object }>()
  expect(overview.employees).toMatchObject({ halted: 1 })
  const text = (await console.ask('viewer', 'GET', '/overview')).body
  expect(text).toContain('Enterprise A is halted: enterprise code refused')
})

test('the departments begin with an enterprise that has some', async () => {
  await console.pool.query(
    `insert into dirsync.department (enterprise_code, dept_code, active) values ('A', 'D1', true), ('B', 'D2', true)`,
  )
  const answer = await console.ask('viewer', 'GET', '/api/v1/departments')
  expect(answer.json()).toMatchObject({
    enterprise: 'A',
    enterprises: ['A', 'B'],
    items: [{ dept_code: 'D1' }],
  })
})

test('whom a pasted SELECT concerns is shown to those who may paste one', async () => {
  const { rows } = await console.pool.query<{ id: string }>(
    `insert into dirsync.dry_run (mapping, state, finished_at, summary)
     values ('select card_no as userid, name, salary as dept_code, active from person', 'done', now(), $1)
     returning id`,
    [
      {
        ...{
          rows: 1,
          rowsToday: 1,
          inScope: 1,
          verdict: 'source_suspect',
          verdictMessage: message('said.keys_twice', { keys: ['salary-5', 'salary-6'] }),
          planned: {},
          stored: 1,
        },
        ...{ compared: { appears: 1 }, columns: [], broken: [], brokenToday: [], empty: {} },
        ...{ addedColumns: [], removedColumns: [], departments: [{ department: 'salary-9', n: 1 }] },
      },
    ],
  )
  const id = rows[0]?.id
  await console.pool.query(
    `insert into dirsync.dry_run_entity (dry_run_id, enterprise_code, entity_key, reason, department)
     values ($1, '', 'card-7', 'appears', 'salary-9')`,
    [id],
  )
  const shown = async (role: 'viewer' | 'reviewer' | 'operator') => {
    const answers = ['', '/api/v1'].map(path => console.ask(role, 'GET', `${path}/mapping/dry-runs/${id}`))
    return (await Promise.all(answers)).map(({ body }) =>
      [/card-7/, /salary-9/, /salary-6/].map(value => value.test(body)),
    )
  }
  const none = [false, false, false]
  expect(await shown('viewer')).toEqual([none, none])
  expect(await shown('reviewer')).toEqual([none, none])
  const all = [true, true, true]
  expect(await shown('operator')).toEqual([all, all])
  const { body } = await console.ask('viewer', 'GET', `/mapping/dry-runs/${id}`)
  expect(body).toContain('Operators see the employees and departments')
})

test('a dry run takes the longest SELECT, also in Chinese, which a form writes in nine bytes a character', async () => {
  const select = 'select userid, name, active from person -- '
  const mapping = select + '工'.repeat(100_000 - select.length)
  const form = new URLSearchParams({ mapping }).toString()
  const shown = await console.browse('operator', 'POST', '/mapping/dry-runs', form)
  expect(shown.statusCode).toBe(303)
  const answered = await console.ask('operator', 'POST', '/api/v1/mapping/dry-runs', { mapping })
  expect(answered.statusCode).toBe(202)
  const longer = await console.ask('operator', 'POST', '/api/v1/mapping/dry-runs', {
    mapping: `${mapping}工`,
  })
  expect(longer.statusCode).toBe(422)
})

test('a dry run that is not over can be cancelled, on its page and in the API, once', async () => {
  const SELECT = 'select userid, name, active from person'
  for (const [path, done] of [
    ['', 303],
    ['/api/v1', 200],
  ] as const) {
    const started = await console.ask('operator', 'POST', '/api/v1/mapping/dry-runs', { mapping: SELECT })
    const { id } = started.json()
    const page = await console.ask('operator', 'GET', `/mapping/dry-runs/${id}`)
    expect(page.body).toContain(`action="/mapping/dry-runs/${id}/cancel"`)
    expect((await console.ask('viewer', 'GET', `/mapping/dry-runs/${id}`)).body).not.toContain('/cancel"')
    const cancelled = await console.ask('operator', 'POST', `${path}/mapping/dry-runs/${id}/cancel`, {})
    expect(cancelled.statusCode).toBe(done)
    const { state } = (await console.ask('viewer', 'GET', `/api/v1/mapping/dry-runs/${id}`)).json()
    expect(state).toBe('cancelled')
    expect((await console.ask('operator', 'GET', `/mapping/dry-runs/${id}`)).body).not.toContain('/cancel"')
    const again = await console.ask('operator', 'POST', `/api/v1/mapping/dry-runs/${id}/cancel`, {})
    expect([again.statusCode, again.json().detail]).toEqual([
      404,
      `dry run ${id} is cancelled, so nothing of it is under way`,
    ])
  }
})
