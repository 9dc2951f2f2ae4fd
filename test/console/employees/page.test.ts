import { randomUUID } from 'node:crypto'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { rowHash } from '../../../src/directory/hash.ts'
import { heartbeat, type Role } from '../../../src/sync/processes/process.ts'
import { duringFile } from '../../helpers/during.ts'
import { controlOf } from '../../helpers/emulator-control.ts'
import { testPlatform } from '../../helpers/test-platform.ts'
import { ConsoleUnderTest, hrWith } from '../console-under-test.ts'

/* What the page of an employee says about a state. */

const platform = duringFile(async () => {
  const { emulator, settings } = await testPlatform({ employees: [{ userid: 'here', name: 'Another' }] })
  const employs = (userid: string) =>
    controlOf(emulator.url)('POST', 'employees', [{ userid, name: 'Another' }])
  return { settings, employs, close: () => emulator.close() }
})
const console = new ConsoleUnderTest(url => ({
  ...hrWith(url, 'select userid, name, active from public.staff'),
  ...platform.settings,
}))

beforeAll(async () => {
  await console.pool.query(`
    create table public.staff as
      select * from (values ('e1', 'One', false)) as row (userid, name, active);
    insert into dirsync.sync_run (id, kind, state, requested_by, finished_at) overriding system value
      values (7, 'changes', 'rejected', 'cron', now());
    insert into dirsync.employee (userid, active, source_hash, acknowledged_hash, held_run, held_hash, held_gone, rejected)
      select 'e1', true, h, h, 7, '${'1'.repeat(32)}', true, true from (values ('${'0'.repeat(32)}'::uuid)) as row (h)`)
  // A page waits for HR less long than connecting to it may take on a busy machine.
  await vi.waitFor(async () => expect(await pageOf('e1')).toContain('HR says'), { timeout: 30_000 })
})

/** As if a process with these roles had just given a sign of life. */
const alive = async (...roles: Role[]) => {
  await console.pool.query('delete from dirsync.process')
  await heartbeat(console.pool, { id: randomUUID(), host: 'host', pid: 1, roles, version: '1', pacer: null })
}

/** As if the only HR source had this enterprise alone. */
const hasSource = async (code: string) => {
  await console.pool.query(
    `insert into dirsync.hr_source (name, position, kind, address, enterprise_codes) values ('one', 0, 'postgres', 'hr', $1)`,
    [[code]],
  )
  onTestFinished(() => console.pool.query('delete from dirsync.hr_source').then(() => {}))
}

const pageOf = async (userid: string) =>
  (await console.browse('operator', 'GET', `/employees/${userid}`)).body
/** The page once the platform was asked. */
const comparedOf = async (userid: string) =>
  (await console.browse('operator', 'POST', `/employees/${userid}/explain`, '')).body

test('“Sync now” sends nothing about a leaver, though the change was rejected', async () => {
  const body = await pageOf('e1')
  expect(body).toContain('rejected the change with run 7')
  expect(body).not.toContain('sends it anyway')
  expect(body).toContain('“Sync now” asks the platform')
  expect(body).toContain('HR says that the employee has left')
  expect(body).toContain('Rejected with run 7')
})

test('what HR has said of an employee stands there also once the page is refreshed', async () => {
  expect(await pageOf('nobody')).toContain('hx-get="/employees/nobody?hr=yes" hx-trigger="moved"')
  await console.pool.query(`
    insert into dirsync.sync_run (id, kind, state, requested_by) overriding system value values (6, 'changes', 'held', 'cron');
    insert into dirsync.employee (userid, source_hash, acknowledged_hash, held_run, held_hash, held_gone)
      select userid, h, h, 6, hash, true
      from (values ('goes', gen_random_uuid()), ('went', null)) as row (userid, hash), gen_random_uuid() as h`)
  for (const [userid, remedy] of [
    ['goes', 'Nothing is sent about leavers.'],
    ['went', 'Nothing is sent. If the employee should be there'],
    ['e1', 'Nothing is sent about leavers.'],
  ] as const) {
    const body = await pageOf(`${userid}?hr=no`)
    expect(body).toContain(remedy)
    expect(body).not.toMatch(/sends this employee alone|sends it anyway/)
  }
})

test('the moment of a confirmation is not called one of the employee, who may never have been in sync', async () => {
  await console.pool.query(`update dirsync.employee set acknowledged_at = now()`)
  for (const body of [await pageOf('e1'), (await console.browse('viewer', 'GET', '/employees')).body]) {
    expect(body).toContain('Any field last confirmed')
    expect(body).not.toContain('Last confirmed')
  }
})

test('who was found in sync since their row was written was confirmed then', async () => {
  await console.pool.query(`
    update dirsync.employee set acknowledged_at = '2026-01-01', queried_at = '2026-01-01' where userid = 'e1';
    insert into dirsync.attempt (operation, entity_key, started_at, duration_ms, outcome)
      values ('update-employee', 'e1', '2026-02-02T02:02:02Z', 5, 'in_sync')`)
  const at = '2026-02-02T02:02:02.000Z'
  const { record } = (await console.ask('viewer', 'GET', '/api/v1/employees/e1?hr=no')).json()
  expect(record).toMatchObject({ acknowledged_at: at, queried_at: at })
  for (const path of ['employees', 'employees?q=e1'])
    expect((await console.ask('viewer', 'GET', `/api/v1/${path}`)).body).toContain(at)
})

test('one who has left by a held plan is not said to be active', async () => {
  await console.pool.query(`
    insert into dirsync.sync_run (id, kind, state, requested_by) overriding system value values (8, 'changes', 'held', 'cron');
    insert into dirsync.employee (userid, source_hash, acknowledged_hash, held_run, held_hash, held_gone)
      select userid, h, h, 8, hash, true
      from (values ('leaver', gen_random_uuid()), ('lost', null)) as row (userid, hash), gen_random_uuid() as h`)
  const stepsOf = async (userid: string) => {
    const { steps } = (await console.ask('viewer', 'GET', `/api/v1/employees/${userid}?hr=no`)).json()
    return steps.map(({ text }: { text: string }) => text).slice(1, 3)
  }
  expect(await stepsOf('leaver')).toEqual(['scope_left', 'checked_held'])
  expect(await stepsOf('lost')).toEqual(['scope_vanished', 'checked_held'])
  expect(await pageOf('lost')).not.toContain('HR has the employee as active')
  // Nor is the change of one whom no other plan has seen said to be rejected.
  await console.pool.query(
    `insert into dirsync.employee (userid, held_run, held_hash, held_gone) values ('newcomer', 8, gen_random_uuid(), true)`,
  )
  expect(await stepsOf('newcomer')).toEqual(['scope_left', 'checked_held'])
  expect(await pageOf('newcomer')).toContain('Waiting for the decision about run 8')
})

test('one in an approved plan that no scheduler has begun to send waits for that, not for another plan', async () => {
  await console.pool.query('select dirsync.approve(8)')
  const body = await pageOf('lost')
  expect(body.match(/Run 8 is approved\. The scheduler has yet to send its plan\./g)).toHaveLength(2)
  expect(body).not.toContain('HR has changed since run 8 was held')
  expect(body).not.toContain('Waiting for the decision about run 8')
  await console.pool.query(`update dirsync.sync_run set state = 'done', finished_at = now() where id = 8`)
  const later = await pageOf('lost')
  expect(later).toContain('HR has changed since run 8 was held. The next plan checks it.')
  expect(later).toContain('HR has changed the row since the plan. The next plan checks it.')
})

test('an employee is not called in sync when HR, read just now, has another row or none', async () => {
  const columns = ['enterprise_code', 'userid', 'active', 'name']
  await console.pool.query(`
    insert into public.staff values ('same', 'As confirmed', true), ('renamed', 'Another', true),
      ('gone', 'As confirmed', false), ('twice', 'As confirmed', true), ('twice', 'As confirmed', true)`)
  for (const userid of ['same', 'renamed', 'gone', 'twice', 'missing'])
    await console.pool.query(
      'insert into dirsync.employee (userid, source_hash, acknowledged_hash) values ($1, $2, $2)',
      [userid, rowHash(columns, { enterprise_code: '', userid, active: 't', name: 'As confirmed' })],
    )
  const inSync = 'In sync: the platform has confirmed what HR has.'
  const changed = 'HR has changed the row since the platform confirmed it. The next run looks at it.'
  expect(await pageOf('same')).toContain(inSync)
  const others = {
    renamed: changed,
    twice: changed,
    gone: 'HR says that the employee has left.',
    missing: 'HR no longer has a row for the employee.',
  }
  for (const [userid, said] of Object.entries(others)) {
    const body = await pageOf(userid)
    expect(body).not.toContain(inSync)
    expect(body).toContain(said)
    // Nor is it when something happens while the page is open.
    expect(body).toContain(`hx-get="/employees/${userid}?hr=yes" hx-trigger="moved" hx-select="#now"`)
  }
  // A run of changes does not look at whom HR has not changed.
  await console.pool.query(`update public.staff set name = 'Third' where userid = 'renamed'`)
  for (const [userid, said] of [
    ['same', 'HR has not changed the row: the next full run, or “Sync now”, sends what it has.'],
    ['renamed', 'The next run whose plan passes sends the change.'],
  ] as const) {
    await platform.employs(userid)
    const body = await comparedOf(userid)
    expect(body).not.toContain(inSync)
    expect(body).toContain(`HR and the platform differ. ${said}`)
  }
})

test('nothing is to be reviewed where the case of the whole enterprise was ignored', async () => {
  await console.pool.query(`
    insert into dirsync.employee (userid, source_hash, parked_hash, withheld)
      select 'withheld', h, h, array['level'] from gen_random_uuid() as h;
    insert into dirsync.field_block (enterprise_code, field) values ('', 'level');
    insert into dirsync.dead_letter (entity, entity_key, operation, field, category, message, remedy, state, note)
      values ('enterprise', '(single enterprise)', 'update-employee', 'level', 'feature_disabled', '[]', '[]', 'ignored', 'x')`)
  const body = await pageOf('withheld')
  expect(body).toContain('HR and the platform differ, and the case was ignored.')
  expect(body).not.toContain('In review.')
  const overview = (await console.browse('viewer', 'GET', '/overview')).body
  expect(overview).toMatch(
    /Employees from whom \S+ is withheld count as in review, although a person ignored that\./,
  )
  await console.pool.query(
    `update dirsync.field_block set enterprise_code = 'E2'; update dirsync.dead_letter set enterprise_code = 'E2' where field = 'level'`,
  )
  expect((await console.browse('viewer', 'GET', '/overview')).body).toMatch(
    /Employees of E2 from whom \S+ is withheld/,
  )
})

test('a moment ends a sentence as the language ends it', async () => {
  await console.pool.query(`
    insert into public.staff values ('later', 'One', true);
    insert into dirsync.employee (userid, source_hash) values ('later', gen_random_uuid());
    insert into dirsync.pending (operation, enterprise_code, entity_key, priority, not_before)
      values ('update-employee', '', 'later', 3, now() + interval '1 hour')`)
  const said = async (language: string) =>
    (await console.browse('operator', 'GET', '/employees/later', undefined, { 'accept-language': language }))
      .body
  expect(await said('en')).toContain('</time>.')
  expect(await said('zh-CN')).toContain('</time>。')
  expect(await said('zh-CN')).not.toContain('</time>.')
})

test('no time of a next try is told while due cases are not retried', async () => {
  await console.pool.query(`
    insert into public.staff values ('inactive', 'One', true);
    insert into dirsync.employee (userid, source_hash, parked_hash, platform_state)
      select 'inactive', h, h, 'absent' from gen_random_uuid() as h;
    insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state, next_retry_at)
      values ('employee', 'inactive', 'update-employee', 'not_on_platform', '[]', '[]', 'awaiting_activation', '2030-03-03T03:03Z');
    insert into dirsync.attempt (operation, entity_key, started_at, duration_ms, outcome)
      values ('update-employee', 'inactive', now(), 5, 'awaiting_activation');
    insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
      values ('retry-due', '* * * * *', now() + interval '1 minute', 60)`)
  onTestFinished(async () => void (await console.pool.query('delete from dirsync.job_schedule')))
  const STOPPED = 'But not before “Retry due cases”, which is paused or off, runs again.'
  const TIME = '2030-03-03T03:03'
  const goesOn = await pageOf('inactive')
  expect(goesOn.split(TIME).length).toBeGreaterThan(3)
  expect(goesOn).not.toContain(STOPPED)
  for (const stop of ['interval_seconds = null', `interval_seconds = 60, paused_at = now()`]) {
    await console.pool.query(`update dirsync.job_schedule set ${stop}`)
    const body = await pageOf('inactive')
    expect(body).toContain(STOPPED)
    expect(body).not.toContain(TIME)
  }
  // A person has it retried: it is.
  await console.pool.query(`
    update dirsync.dead_letter set state = 'retrying', next_retry_at = null where entity_key = 'inactive';
    insert into dirsync.pending (operation, entity_key, priority) values ('update-employee', 'inactive', 1)`)
  expect(await pageOf('inactive')).not.toContain(STOPPED)
})

test('a sync by name is said to be under way also of one whose change is held or was rejected', async () => {
  await console.pool.query(`
    insert into public.staff values ('asked', 'One', true), ('insisted', 'One', true);
    insert into dirsync.sync_run (id, kind, state, requested_by) overriding system value values (20, 'changes', 'held', 'cron');
    insert into dirsync.employee (userid, source_hash, acknowledged_hash, held_run, held_hash, rejected)
      select userid, h, h, run, gen_random_uuid(), run = 7
      from (values ('asked', 20), ('insisted', 7)) as row (userid, run), gen_random_uuid() as h;
    insert into dirsync.pending (operation, entity_key, priority)
      values ('update-employee', 'asked', 1), ('update-employee', 'insisted', 1)`)
  const HELD = 'Nothing is sent until run 20 is decided.'
  const REJECTED = 'Nothing is sent until HR changes the row again.'
  expect(await pageOf('asked')).toContain(HELD)
  expect(await pageOf('insisted')).toContain(REJECTED)
  await console.pool.query(
    `update dirsync.pending set named = true where entity_key in ('asked', 'insisted')`,
  )
  await alive('scheduler', 'worker')
  const asked = await pageOf('asked')
  expect(asked).not.toContain(HELD)
  expect(asked).toContain(
    'HR has changed. A sync of this employee by name does not wait for the decision about run 20.',
  )
  expect(asked).toContain('Waiting to be sent. There is nothing to do.')
  const insisted = await pageOf('insisted')
  expect(insisted).toContain('rejected the change with run 7')
  expect(insisted).not.toContain(REJECTED)
  expect(insisted).toContain('A sync of this employee by name is under way all the same.')
  await console.pool.query(`select dirsync.pause('why')`)
  expect(await pageOf('asked')).toContain('Work is halted: All calls are paused')
  await console.pool.query('select dirsync.resume()')
})

test('one whose change is held or rejected is promised nothing as long as no HR source has the enterprise', async () => {
  await console.pool.query(`
    insert into dirsync.sync_run (id, kind, state, requested_by) overriding system value values (21, 'changes', 'held', 'cron');
    insert into dirsync.employee (enterprise_code, userid, source_hash, acknowledged_hash, held_run, held_hash)
      select 'EX', 'homeless', h, h, 21, gen_random_uuid() from gen_random_uuid() as h`)
  const LEFT_OUT = 'approval leaves the employee out as long as that is so'
  expect(await pageOf('homeless?enterprise=EX')).not.toContain(LEFT_OUT)
  await hasSource('E1')
  const body = await pageOf('homeless?enterprise=EX')
  expect(body).toContain('Nothing is sent until run 21 is decided.')
  expect(body).toContain(LEFT_OUT)
  await console.pool.query(`update dirsync.employee set rejected = true where userid = 'homeless'`)
  const rejected = await pageOf('homeless?enterprise=EX')
  expect(rejected).not.toContain('sends it anyway')
  expect(rejected).toContain('so no run looks at them')
  // It would fail.
  for (const page of [body, rejected]) expect(page).not.toMatch(/Sync now<\/|resync --employee/)
})

test('no sync is offered, which would fail, for one who has left and whose enterprise no HR source has', async () => {
  await console.pool.query(`
    insert into dirsync.employee (enterprise_code, userid, source_hash, active, vanished_at)
      values ('EX', 'parted', gen_random_uuid(), false, null), ('EX', 'faded', gen_random_uuid(), true, now())`)
  expect(await pageOf('EX~1parted')).toMatch(/Sync now<\//)
  await hasSource('E1')
  for (const key of ['EX~1parted', 'EX~1faded']) {
    const body = await pageOf(`${key}?hr=no`)
    expect(body).not.toMatch(/Sync now|resync --employee/)
    expect(body).toContain('Name the enterprise in the file of HR_SOURCES again.')
  }
})

test('one who waits is told to go nowhere while no process can send it', async () => {
  await console.pool.query(`
    insert into public.staff values ('stuck', 'One', true);
    insert into dirsync.employee (userid, source_hash) values ('stuck', gen_random_uuid());
    insert into dirsync.pending (operation, entity_key, priority) values ('update-employee', 'stuck', 3)`)
  await alive('scheduler')
  const body = await pageOf('stuck')
  expect(body).toContain('No worker is running, so nothing is sent. Start one with')
  expect(body).not.toContain('There is nothing to do.')
  await alive('worker')
  expect(await pageOf('stuck')).toContain('No scheduler is running, so HR is not read. Start one with')
  await console.pool.query(`update dirsync.pending set enqueued_at = now() where entity_key = 'stuck'`)
  expect(await pageOf('stuck')).toContain('There is nothing to do.')
})

test('what an employee waits for is the work on their row, not that on an open id', async () => {
  await console.pool.query(`
    insert into public.staff values ('both', 'One', true);
    insert into dirsync.employee (userid, source_hash) values ('both', gen_random_uuid());
    insert into dirsync.pending (operation, enterprise_code, entity_key, detail, priority, not_before)
      values ('bind-openid', '', 'both', 'mall', 3, now() + interval '1 hour');
    insert into dirsync.pending (operation, enterprise_code, entity_key, priority)
      values ('update-employee', '', 'both', 3)`)
  await alive('scheduler', 'worker')
  const body = await pageOf('both')
  expect(body).toContain('Waiting to be sent. There is nothing to do.')
  expect(body).not.toContain('The next attempt is')
})

test('one whose update was taken back waits for a plan, though work on an open id is left', async () => {
  await console.pool.query(`
    insert into public.staff values ('unplanned', 'One', true);
    insert into dirsync.employee (userid, source_hash) values ('unplanned', gen_random_uuid());
    insert into dirsync.pending (operation, entity_key, detail, priority) values ('bind-openid', 'unplanned', 'mall', 3)`)
  const WAITS = 'The outbox has no update of the employee. Sync now, or wait for the next run.'
  const body = await pageOf('unplanned')
  expect(body).toContain(WAITS)
  expect(body).not.toContain('There is nothing to do.')
  await console.pool.query(`select dirsync.pause('why')`)
  expect(await pageOf('unplanned')).toContain(WAITS)
  await console.pool.query('select dirsync.resume()')
})

test('one about whom the platform is to be asked since the database was restored waits for a full run', async () => {
  await console.pool.query(`
    insert into public.staff values ('doubtful', 'One', true);
    insert into dirsync.employee (userid, source_hash, acknowledged_hash)
      values ('doubtful', gen_random_uuid(), '${'f'.repeat(32)}')`)
  const WAITS = 'the platform has yet to be asked about the employee. A full run asks it'
  for (const pause of [false, true]) {
    if (pause) await console.pool.query(`select dirsync.pause('why')`)
    const body = await pageOf('doubtful')
    expect(body.split(WAITS)).toHaveLength(3)
    expect(body).not.toMatch(/wait for the next run|No plan has passed/)
  }
  await console.pool.query('select dirsync.resume()')
})

test('the command that ends a pause is drawn as a command', async () => {
  await console.pool.query(`select dirsync.pause('why')`)
  const body = await pageOf('later')
  await console.pool.query('select dirsync.resume()')
  expect(body).toContain('Let them go on with <code>dirsync resume</code>.')
  expect(body).not.toContain('`dirsync resume`')
})

test('one whose work was taken back during a pause is not left to the end of the pause', async () => {
  await console.pool.query(`
    insert into dirsync.employee (userid, source_hash) values ('back', gen_random_uuid());
    delete from dirsync.halt`)
  await console.pool.query(`select dirsync.pause('looks wrong')`)
  await console.pool.query(
    `insert into dirsync.pending (operation, entity_key, priority) values ('update-employee', 'back', 3)`,
  )
  const WAITS = 'The outbox has no update of the employee. Sync now, or wait for the next run.'
  expect(await pageOf('back')).not.toContain(WAITS)
  await console.pool.query('delete from dirsync.pending')
  expect(await pageOf('back')).toContain(WAITS)
  await console.pool.query('select dirsync.resume()')
})

test('one whom HR has again is not said to be gone', async () => {
  await console.pool.query(`
    insert into public.staff values ('rejoined', 'One', true), ('leaves', 'One', false), ('doubled', 'One', true), ('doubled', 'One', true);
    insert into dirsync.employee (userid, source_hash, vanished_at, active) values
      ('rejoined', gen_random_uuid(), now(), true), ('leaves', gen_random_uuid(), now(), true),
      ('doubled', gen_random_uuid(), now(), true), ('lacking', gen_random_uuid(), null, false)`)
  await console.pool.query(`
    insert into public.staff values ('returned', 'One', true), ('reconsidered', 'One', true);
    insert into dirsync.employee (userid, source_hash, active) values ('returned', gen_random_uuid(), false);
    insert into dirsync.employee (userid, source_hash, held_run, held_hash, held_gone, rejected)
      values ('reconsidered', gen_random_uuid(), 7, gen_random_uuid(), true, true)`)
  const GONE = 'HR no longer has a row for the employee.'
  const LEFT = 'HR says that the employee has left.'
  const BACK = 'HR has the employee by now. The next run looks at the row.'
  const headlineOf = async (userid: string) => {
    const body = await pageOf(userid)
    expect(body).toContain(`hx-get="/employees/${userid}?hr=yes" hx-trigger="moved" hx-select="#now"`)
    return body.slice(body.indexOf('id="now"'), body.indexOf('id="fields"'))
  }
  for (const userid of ['rejoined', 'doubled', 'returned', 'reconsidered']) {
    const headline = await headlineOf(userid)
    expect(headline, userid).toContain(BACK)
    expect(headline, userid).not.toMatch(/no longer has|has left|rejected/)
  }
  expect(await headlineOf('leaves')).toContain(LEFT)
  expect(await headlineOf('leaves')).not.toContain(GONE)
  expect(await headlineOf('lacking')).toContain(GONE)
})

test('one who waits to be sent and has left HR meanwhile is not said to be sent', async () => {
  await console.pool.query(`
    insert into public.staff values ('parting', 'One', false), ('remaining', 'One', true);
    insert into dirsync.employee (userid, source_hash)
      select userid, gen_random_uuid() from unnest('{parting,strayed,remaining}'::text[]) as row (userid);
    insert into dirsync.pending (operation, entity_key, priority)
      select 'update-employee', userid, 3 from unnest('{parting,strayed,remaining}'::text[]) as row (userid)`)
  const SENT = 'Waiting to be sent. There is nothing to do.'
  await alive('scheduler', 'worker')
  expect(await pageOf('remaining')).toContain(SENT)
  for (const [userid, news] of [
    ['parting', 'HR says that the employee has left.'],
    ['strayed', 'HR no longer has a row for the employee.'],
  ] as const) {
    const body = await pageOf(userid)
    expect(body, userid).toContain(news)
    expect(body, userid).not.toContain(SENT)
  }
})

test('one who was activated on the platform is not said to be missing there', async () => {
  await console.pool.query(`
    insert into public.staff values ('here', 'One', true), ('away', 'One', true), ('quit', 'One', false);
    insert into dirsync.employee (userid, source_hash, parked_hash, platform_state)
      select userid, h, h, 'absent' from (values ('here'), ('away'), ('quit')) as row (userid), gen_random_uuid() as h;
    insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state, next_retry_at)
      values ('employee', 'here', 'update-employee', 'not_on_platform', '[]', '[]', 'awaiting_activation', '2030-04-04T04:04Z')`)
  const LACKS = 'HR has the employee, but the platform does not yet.'
  expect(await pageOf('here')).toContain(LACKS)
  const body = await comparedOf('here')
  expect(body).toContain('The platform has the employee in service.')
  expect(body).toContain(
    'The platform has the employee by now. The next try, or “Sync now”, sends what differs.',
  )
  expect(body).toContain('Next query')
  expect(body).not.toContain(LACKS)
  await console.pool.query(
    `update dirsync.dead_letter set state = 'retrying', next_retry_at = null where entity_key = 'here'`,
  )
  expect(await comparedOf('here')).not.toContain('<p></p>')
  expect(await comparedOf('away')).toContain(LACKS)
  expect(await pageOf('quit')).toContain('HR says that the employee has left.')
  expect(await pageOf('quit')).not.toContain(LACKS)
})

test('what waits for a decision, was rejected or is of a leaver is not said to be sent', async () => {
  const columns = ['enterprise_code', 'userid', 'active', 'name']
  const held = rowHash(columns, { enterprise_code: '', userid: 'waits', name: 'One', active: 't' })
  await console.pool.query(
    `insert into dirsync.sync_run (id, kind, state, requested_by) overriding system value values (9, 'changes', 'held', 'cron')`,
  )
  const people = { waits: [9, false], refused: [7, true], since: [7, true], free: [null, false] } as const
  for (const [userid, [run, rejected]] of Object.entries(people)) {
    await platform.employs(userid)
    await console.pool.query(`insert into public.staff values ($1, 'One', true)`, [userid])
    await console.pool.query(
      `insert into dirsync.employee (userid, source_hash, acknowledged_hash, held_run, held_hash, rejected)
       values ($1, gen_random_uuid(), gen_random_uuid(), $2, case when $2::bigint is not null then $3::uuid end, $4)`,
      [userid, run, userid === 'since' ? '1'.repeat(32) : held, rejected],
    )
  }
  await platform.employs('leaver2')
  await console.pool.query(`insert into public.staff values ('leaver2', 'One', false)`)
  const SENT = 'These fields would be sent now: name.'
  const told = async (userid: string) => {
    const body = await comparedOf(userid)
    const { fields } = (
      await console.ask('operator', 'POST', `/api/v1/employees/${userid}/explain`, {})
    ).json()
    const { status } = fields.find(({ field }: { field: string }) => field === 'name')
    return { body, status }
  }
  for (const userid of ['free', 'since']) {
    const { body, status } = await told(userid)
    expect(status, userid).toBe('to_send')
    expect(body).toContain(SENT)
  }
  for (const [userid, why] of [
    ['waits', 'run 9 waits for a decision; until then only a sync by name sends it'],
    ['refused', 'rejected with run 7; only a sync by name sends it'],
    ['leaver2', 'nothing is sent about leavers'],
  ] as const) {
    const { body, status } = await told(userid)
    expect(status, userid).toBe('held_back')
    expect(body).toContain('Nothing would be sent now.')
    expect(body).toContain('Held back: name.')
    expect(body).toContain(why)
  }
})

test('one whose enterprise no HR source has is not called in sync, and no sync is offered, which would fail', async () => {
  await console.pool.query(
    `insert into dirsync.employee (enterprise_code, userid, source_hash, acknowledged_hash)
     select 'E4', 'same', h, h from gen_random_uuid() h`,
  )
  await console.pool.query(
    `insert into dirsync.deployment (base_url, app_id, enterprise_code, since, source_lost_at)
     values ('b', 'a', '', '-infinity', now())`,
  )
  onTestFinished(async () => void (await console.pool.query('delete from dirsync.deployment')))
  await hasSource('E1')
  const body = await pageOf('E4~1same')
  expect(body).toContain('No HR source has this employee’s enterprise, so no run looks at them.')
  expect(body).not.toMatch(/Sync now<\/|resync --employee|The platform confirmed what HR had/)
  expect((await console.browse('operator', 'GET', '/employees?status=no_source')).body).toContain('E4~1same')
  expect((await console.browse('operator', 'GET', '/overview')).body).toContain(
    'No HR source has the enterprise of',
  )
})

test('one of a case whom no run has seen, and whose enterprise no HR source has, is promised no run', async () => {
  await console.pool.query(
    `insert into dirsync.dead_letter (enterprise_code, entity, entity_key, operation, category, message, remedy)
     values ('E9', 'employee', 'stray', 'update-employee', 'invalid_hr_row', '[]', '[]')`,
  )
  await hasSource('E1')
  const { status, enterprise_code, steps } = (
    await console.ask('viewer', 'GET', '/api/v1/employees/E9~1stray?hr=no')
  ).json()
  expect({ status, enterprise_code }).toEqual({ status: 'no_source', enterprise_code: 'E9' })
  expect(steps[0]).toMatchObject({ state: 'skipped', text: 'read_no_source' })
  const body = await pageOf('E9~1stray')
  expect(body).toContain('No HR source has this employee’s enterprise, so no run looks at them.')
  expect(body).not.toMatch(/Sync now<\/|The next run will tell/)
  // Without the case the name may be a user id with a slash.
  expect((await console.ask('viewer', 'GET', '/api/v1/employees/E9~1other?hr=no')).json()).toMatchObject({
    enterprise_code: '',
    userid: 'E9/other',
  })
})
