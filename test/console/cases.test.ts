import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { momentIn } from '../../src/console/moment.ts'
import { Problem } from '../../src/console/problem.ts'
import { SNOOZE, untilOf } from '../../src/console/until.ts'
import { transaction } from '../../src/lib/database.ts'
import { inWords, toStore } from '../../src/texts/message.ts'
import { translator } from '../../src/texts/texts.ts'
import { ConsoleUnderTest, plantUser } from './console-under-test.ts'

const console = new ConsoleUnderTest(() => ({
  ALERT_CHANNEL_POST: 'smtp://mail.example.com?tls=off',
  ALERT_CHANNEL_POST_FROM: 'dirsync@example.com',
  ALERT_CHANNEL_POST_TO: 'ops@example.com',
  ALERT_CHANNEL_ROOM: 'wecom+https://chat.example.com/send?key=k',
}))
beforeEach(async () => {
  await console.pool.query('truncate dirsync.dead_letter, dirsync.bulk_action cascade')
})

async function plant(key: string, given: { category?: string; state?: string } = {}): Promise<number> {
  const { category = 'left_hr', state = 'open' } = given
  const { rows } = await console.pool.query(
    `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state, note)
     values ('employee', $1, 'update-employee', $2, $4, $5, $3, 'agreed')
     returning id::int`,
    [key, category, state, toStore(inWords('message, with "quotes"')), toStore(inWords('=remedy()'))],
  )
  return rows[0].id
}

const get = (url: string, headers: Record<string, string> = {}) =>
  console.ask('reviewer', 'GET', url, undefined, headers)
const post = (url: string, payload: object = {}, headers: Record<string, string> = {}) =>
  console.ask('reviewer', 'POST', url, payload, headers)

async function scheduleRetries(): Promise<void> {
  onTestFinished(async () => {
    await console.pool.query('delete from dirsync.job_schedule')
  })
  await console.pool.query(
    `insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds) values ('retry-due', '* * * * *', now(), 60)`,
  )
}

async function row(id: number) {
  const { rows } = await console.pool.query(
    'select state, assignee, note, snooze_until, version from dirsync.dead_letter where id = $1',
    [id],
  )
  return rows[0]
}

test.each([
  ['left', 'active = false', 'They are not in service according to HR'],
  ['gone from HR', 'vanished_at = now()', 'They are not in service according to HR'],
  ['in review', 'parked_hash = source_hash', 'They are not in sync either: <span class="state warn">'],
  ['waiting', 'active = true', 'HR’s row for them is still to be sent.'],
  ['in sync', 'acknowledged_hash = source_hash', 'That employee is in sync'],
])('a holder who is %s is not said to have another value to be sent', async (_, stands, said) => {
  const id = await plant('e1', { category: 'duplicate_mobile', state: 'blocked' })
  await console.pool.query(`update dirsync.dead_letter set blocked_by = 'holder' where id = $1`, [id])
  await console.pool.query(`
    delete from dirsync.employee where userid = 'holder';
    insert into dirsync.employee (userid, source_hash) values ('holder', gen_random_uuid());
    update dirsync.employee set ${stands} where userid = 'holder'`)
  const { body } = await console.browse('reviewer', 'GET', `/cases/${id}`)
  expect(body).toContain(said)
  expect(body).not.toContain('HR has another value for them')
})

describe('an unknown filter', () => {
  test.each([
    { action: 'ignore', reason: 'why', filter: { category: 'duplicate_mobile' } },
    { action: 'ignore', reason: 'why', filter: 'category=duplicate_mobile' },
    { action: 'ignore', reason: 'why', which: 'filter', category: 'duplicate_mobile' },
  ])('does not make an action one on all cases: %j', async body => {
    const answer = await post('/api/v1/bulk', body)
    expect(answer.statusCode).toBe(422)
    expect(answer.json().detail).toContain('there is no “category” here')
  })

  test('an address without a number is not found', async () => {
    expect((await get('/api/v1/cases/abc')).json()).toMatchObject({ status: 404, code: 'not_found' })
    expect((await get('/api/v1/cases/abc')).body).not.toContain('NaN')
  })
})

const see = async (path: string, language = 'en') =>
  (await console.browse('viewer', 'GET', path, undefined, { 'accept-language': language })).body

const IS_OFF = `insert into dirsync.job_schedule (job, expression, next_due_at) values ('sync-changes', 'off', now())`

describe('a list without cases', () => {
  const run = (kind: string, state: string) =>
    console.pool.query(
      `insert into dirsync.sync_run (kind, state, planned_at, requested_by)
       values ($1, $2, case when $2 <> 'planning' then now() end, 'a test')`,
      [kind, state],
    )
  const work = `insert into dirsync.pending (operation, entity_key, run_id, priority) select 'update-employee', 'e1', id, 3 from dirsync.sync_run`
  beforeEach(async () => {
    await console.pool.query(
      `insert into dirsync.process (id, host, pid, roles, version)
       values (gen_random_uuid(), 'h', 1, '{scheduler}', '1')`,
    )
  })
  afterEach(async () => {
    await console.pool.query(
      'delete from dirsync.process; delete from dirsync.job_schedule; delete from dirsync.pending; delete from dirsync.halt; delete from dirsync.sync_run; delete from dirsync.employee; delete from dirsync.hr_source; delete from dirsync.deployment',
    )
  })

  test('does not say that everything has arrived before HR was ever read', async () => {
    for (const path of ['/cases', '/cases/groups']) {
      expect(await see(path), path).toContain('dirsync has not read HR yet')
      expect(await see(path), path).not.toContain('has arrived')
    }
    expect(await see('/cases', 'zh-CN')).toContain('尚未读取过人事系统')
  })

  test('takes no failed run for a reading of HR', async () => {
    await run('full', 'failed')
    expect(await see('/cases')).toContain('dirsync has not read HR yet')
    expect(await see('/cases')).not.toContain('has arrived')
  })

  test('takes a run of an earlier account for none', async () => {
    await run('full', 'done')
    await console.pool.query(
      `insert into dirsync.deployment (id, base_url, app_id, enterprise_code, since)
       values (gen_random_uuid(), 'b', 'a', '', now() + interval '1 second')`,
    )
    onTestFinished(async () => void (await console.pool.query('truncate dirsync.deployment')))
    expect(await see('/cases')).toContain('dirsync has not read HR yet')
  })

  test.each(['full', 'changes', 'departments', 'openids'])(
    'does not say that everything has arrived where the latest run of %s failed, until one gets through',
    async kind => {
      await run('changes', 'done')
      await run(kind, 'failed')
      await run('changes', 'planning')
      for (const path of ['/cases', '/cases/groups'])
        expect(await see(path), path).toContain('so changes may still have to be sent')
      expect(await see('/cases', 'zh-CN')).toContain('可能还有变更没有发送')
      await run(kind, 'done')
      expect(await see('/cases')).toContain('has arrived')
    },
  )

  test('says so, too, where HR looked wrong', async () => {
    await run('changes', 'done')
    await run('changes', 'source_suspect')
    expect(await see('/cases')).toContain('so changes may still have to be sent')
  })

  test.each([
    ['', 'Everything that dirsync had to send has arrived.', '已全部送达'],
    [work, 'Changes still wait to be sent.', '等待发送'],
    [
      `insert into dirsync.employee (userid, source_hash) values ('cancelled', gen_random_uuid())`,
      'Changes still wait to be sent.',
      '等待发送',
    ],
    [
      `insert into dirsync.hr_source (name, position, kind, address, enterprise_codes) values ('b', 0, 'mysql', 'h', '{B}');
       insert into dirsync.employee (enterprise_code, userid, source_hash) values ('A', 'gone', gen_random_uuid());
       insert into dirsync.deployment (base_url, app_id, enterprise_code, since, source_lost_at) values ('b', 'a', '', '-infinity', now())`,
      'No HR source has the enterprise of some employees',
      '没有任何人事数据源包含部分员工所属的企业',
    ],
    [
      `insert into dirsync.employee (userid, source_hash, parked_hash, accepted)
       select 'ignored', h, h, true from gen_random_uuid() h`,
      'Everything has arrived but what a person has ignored or rejected.',
      '除人工忽略或驳回的内容外',
    ],
    ['delete from dirsync.process', 'No scheduler is running, or sync-changes is paused', '可能还有变更'],
    [IS_OFF, 'sync-changes is paused or off', 'sync-changes 已暂停或已关闭'],
    [
      `${IS_OFF}; insert into dirsync.sync_run (kind, keys, requested_by) values ('changes', '{}', 'trigger');
       update dirsync.sync_run set state = 'done', planned_at = now(), finished_at = now()`,
      'Everything that dirsync had to send has arrived.',
      '已全部送达',
    ],
    [
      `insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds, paused_at, paused_by)
       values ('sync-changes', '* * * * *', now(), 60, now(), 'ann')`,
      'No scheduler is running, or sync-changes is paused',
      '可能还有变更',
    ],
    [`update dirsync.sync_run set state = 'held'`, 'changes wait for a decision', '等待审批后发送'],
    [
      `insert into dirsync.halt (scope, category, message, remedy, raised_by) values ('*', 'paused', '[]', '[]', 'a test')`,
      'All calls are paused',
      '已暂停',
    ],
    [
      `insert into dirsync.halt (scope, category, message, remedy, raised_by) values ('E1', 'credentials', '[]', '[]', 'a test')`,
      'Work is halted',
      '已停止',
    ],
  ])('once HR was read, and then %j, says “%s”', async (then, english, chinese) => {
    await run('full', 'done')
    if (then) await console.pool.query(then)
    expect(await see('/cases')).toContain(english)
    expect(await see('/cases', 'zh-CN')).toContain(chinese)
  })
})

test('a list tells of no next try of a case that is not retried, as no HR source has its enterprise', async () => {
  onTestFinished(async () => {
    await console.pool.query('delete from dirsync.hr_source')
  })
  const id = await plant('e1', { state: 'awaiting_activation' })
  await console.pool.query(`update dirsync.dead_letter set next_retry_at = '2021-02-03' where id = $1`, [id])
  expect(await see('/cases')).toContain('datetime="2021-02-0')
  await console.pool.query(
    `insert into dirsync.hr_source (name, position, kind, address, enterprise_codes) values ('b', 0, 'mysql', 'h', '{B}')`,
  )
  expect(await see('/cases')).not.toContain('datetime="2021-02-0')
})

describe('the page of a case', () => {
  test.each([
    ['open', null, ['It needs a person'], ['Unless someone', 'Next try']],
    ['open', '8 days', ['It needs a person', 'Unless someone retries it, dirsync tries again'], ['Next try']],
    ['retry_scheduled', '8 days', ['dirsync retries it by itself', 'Next try'], ['It needs a person']],
  ])('that is %s, with the next try in %s, says so once', async (state, retry, said, unsaid) => {
    const id = await plant('e1', { state })
    await console.pool.query(
      'update dirsync.dead_letter set next_retry_at = now() + $2::interval where id = $1',
      [id, retry],
    )
    const body = await see(`/cases/${id}`)
    for (const text of said) expect(body).toContain(text)
    for (const text of unsaid) expect(body).not.toContain(text)
    expect(await see(`/cases/${id}`, 'zh-CN')).not.toContain('</time>.')
  })

  test.each([
    ['open', 'paused_at = now()', 'dirsync tries again'],
    ['retry_scheduled', 'paused_at = now()', 'dirsync retries it by itself'],
    ['awaiting_activation', 'interval_seconds = null', 'dirsync checks by itself'],
    ['snoozed', 'paused_at = now()', '2999; then dirsync retries it by itself'],
    ['ignored', 'interval_seconds = null', 'dirsync still probes the field by itself'],
  ])('that is %s says that the cron job of retries has %s', async (state, stop, promise) => {
    const id = await plant('e1', { state })
    await console.pool.query(
      `update dirsync.dead_letter
       set next_retry_at = now() + interval '1 day', snooze_until = '2999-01-01T12:00Z',
           entity = case state when 'ignored' then 'enterprise' else entity end
       where id = $1`,
      [id],
    )
    await scheduleRetries()
    const stopped = 'But not before “Retry due cases”, which is paused or off, runs again.'
    const before = await see(`/cases/${id}`)
    expect(before).toContain(promise)
    expect(before).not.toContain(stopped)
    await console.pool.query(`update dirsync.job_schedule set ${stop}`)
    const body = await see(`/cases/${id}`)
    expect(body).toContain(promise)
    expect(body).toContain(`${stopped} <a href="/schedules?job=retry-due">`)
  })

  test.each(['open', 'blocked', 'retrying', 'ignored'])(
    'that is %s, of an employee and with no next try, does not tell of that job',
    async state => {
      const id = await plant('e1', { state })
      await scheduleRetries()
      await console.pool.query('update dirsync.job_schedule set interval_seconds = null')
      expect(await see(`/cases/${id}`)).not.toContain('paused or off')
    },
  )

  test('that is snoozed says until when in its sentence', async () => {
    const id = await plant('e1', { state: 'snoozed' })
    await console.pool.query(`update dirsync.dead_letter set snooze_until = '2999-01-01' where id = $1`, [id])
    expect(await see(`/cases/${id}`)).toMatch(/Snoozed until \S*2999\S*; then dirsync retries it by itself\./)
  })
})

test.each(['paused_at = now()', 'interval_seconds = null'])(
  'the overview promises no retries while the cron job of retries has %s',
  async stop => {
    await plant('e1', { state: 'retry_scheduled' })
    await plant('e2', { state: 'snoozed' })
    // Its retry is under way.
    await plant('e3', { state: 'retrying' })
    await scheduleRetries()
    expect(await see('/overview')).toContain('dirsync retries 2 more')
    await console.pool.query(`update dirsync.job_schedule set ${stop}`)
    const body = await see('/overview')
    expect(body).toContain('2 more wait, as “Retry due cases” is paused or off')
    expect(body).not.toContain('dirsync retries')
    expect(await see('/overview', 'zh-CN')).toContain('另有 2 项等待')
  },
)

test('a case that is to be retried waits, and says so, while calls are paused or its work is halted', async () => {
  const id = await plant('e1', { state: 'retrying' })
  const raise = (scope: string, category: string) =>
    console.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy) values ($1, $2, $3, '[]')`,
      [scope, category, toStore(inWords('it is down'))],
    )
  const halt = async () => (await get(`/api/v1/cases/${id}`)).json().halt
  await raise('E9', 'enterprise_code')
  expect(await halt()).toBe(null)
  expect(await see(`/cases/${id}`)).toContain('Its retry is under way, or waits for its turn.')
  await raise('', 'enterprise_code')
  expect(await halt()).toBe('halted')
  expect(await see(`/cases/${id}`)).toContain(
    'It is retried once the halt of its work is over. <a href="/halts">',
  )
  await console.pool.query(`select dirsync.pause('maintenance')`)
  expect(await halt()).toBe('paused')
  expect(await see(`/cases/${id}`)).toContain(
    'It is retried once someone resumes all calls. <a href="/halts">',
  )
  expect(await see(`/cases/${id}`)).not.toContain('waits for its turn')
  expect(await see(`/cases/${id}`, 'zh-CN')).not.toContain('重试正在进行')
  await console.pool.query('delete from dirsync.halt')
})

test('the timeline has the latest event first, and says in words who acted if that was no person', async () => {
  const id = await plant('e1')
  await console.pool.query(
    `insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
     values ($1, 'dirsync', 'opened', 'duplicate_mobile'), ($1, 'start', 'retried', null)`,
    [id],
  )
  const [, english = ''] = (await see(`/cases/${id}`)).split('Timeline')
  expect(english).toMatch(/retried .*first start[\s\S]*opened .*dirsync/)
  expect(await see(`/cases/${id}`, 'zh-CN')).toContain('首次启动')
})

test('an ignored case says when it reopens, by what it is about, and a case that is over not until when it slept', async () => {
  const seen = async (differs: Record<string, string>, state = 'ignored') => {
    const id = await plant('over', { state })
    const columns = Object.keys(differs).map((name, i) => `${name} = $${i + 2}`)
    await console.pool.query(
      `update dirsync.dead_letter set ${['message = message', ...columns].join(', ')} where id = $1`,
      [id, ...Object.values(differs)],
    )
    return (await console.browse('reviewer', 'GET', `/cases/${id}`)).body
  }
  const byRow = 'It reopens when HR changes the row.'
  expect(await seen({})).toContain(`It was accepted as it is. ${byRow}`)
  expect(await seen({ entity_key: 'e1' }, 'open')).toContain(
    `The case is closed as accepted. ${byRow} The reason is recorded`,
  )
  const field = await seen({ entity: 'enterprise', field: 'level', category: 'feature_disabled' })
  expect(field).toContain('dirsync still probes the field by itself')
  const call = await seen({ operation: 'bind-openid', field: 'mall0001' })
  expect(call).toContain('It reopens when it fails for another reason.')
  const ofPayer = { operation: 'mirror-orders', field: '', category: 'unknown_payer' }
  const payer = await seen(ofPayer)
  const open = await seen({ ...ofPayer, entity_key: 'payer' }, 'open')
  for (const body of [payer, open])
    expect(body).toContain('It stays accepted, and ends once HR has the employee.')
  for (const body of [field, call, payer, open]) expect(body).not.toContain(byRow)
  const over = { state: 'resolved', resolved_at: '2026-11-20T10:00Z', resolution: 'succeeded' }
  expect(await seen({ ...over, snooze_until: '2999-01-01T10:00Z' })).not.toContain('Snoozed until')
  expect(await seen({ state: 'snoozed', snooze_until: '2999-01-01T10:00Z' })).toContain('Snoozed until')
})

test('a case that is to be retried waits, and says so, for the decision about the run that holds its employee', async () => {
  const id = await plant('held', { state: 'retrying' })
  const run = async () => (await get(`/api/v1/cases/${id}`)).json().held_run
  await console.pool.query(`
    insert into dirsync.sync_run (id, kind, state, requested_by) overriding system value values (77, 'changes', 'held', 'cron');
    insert into dirsync.employee (userid, held_run, held_hash) values ('held', 77, gen_random_uuid());
    insert into dirsync.pending (operation, enterprise_code, entity_key, priority) values ('update-employee', '', 'held', 3)`)
  // It may be about to be sent: a person named the employee.
  expect(await run()).toBe(null)
  expect(await see(`/cases/${id}`)).toContain('Its retry is under way, or waits for its turn.')
  await console.pool.query(
    `update dirsync.pending set replan_at = now(), not_before = 'infinity' where entity_key = 'held'`,
  )
  expect(await run()).toBe(77)
  expect(await see(`/cases/${id}`)).toContain(
    'HR has changed the employee. It is retried once run 77 is decided. <a href="/runs/77/plan">',
  )
  expect(await see(`/cases/${id}`)).not.toContain('waits for its turn')
  await console.pool.query('select dirsync.approve(77)')
  expect(await run()).toBe(null)
  expect(await see(`/cases/${id}`)).toContain('Its retry is under way, or waits for its turn.')
  await console.pool.query(`delete from dirsync.sync_run where id >= 77`)
})

test('the retry of a deletion waits, and says so, for the decision about the held run of employees', async () => {
  const id = await plant('D77', { category: 'base_department', state: 'retrying' })
  await console.pool.query(`
    update dirsync.dead_letter set entity = 'department', operation = 'delete-department' where entity_key = 'D77';
    insert into dirsync.sync_run (id, kind, state, requested_by) overriding system value values (77, 'changes', 'held', 'cron');
    insert into dirsync.pending (operation, entity_key, priority) values ('delete-department', 'D77', 5)`)
  const under = 'Its retry is under way, or waits for its turn.'
  expect(await see(`/cases/${id}`)).toContain(under)
  await console.pool.query(`
    insert into dirsync.attempt (operation, entity_key, started_at, duration_ms, outcome, error)
      values ('delete-department', 'D77', now(), 5, 'wait', '{"key": "said.employees_held", "values": {"run": 77}}')`)
  expect((await get(`/api/v1/cases/${id}`)).json().held_run).toBe(77)
  const body = await see(`/cases/${id}`)
  expect(body).toContain('It is retried once run 77 is decided. <a href="/runs/77/plan">')
  expect(body).not.toContain(under)
  expect(body).not.toContain('HR has changed the employee')
  await console.pool.query('select dirsync.approve(77)')
  expect(await see(`/cases/${id}`)).toContain(under)
  await console.pool.query(`delete from dirsync.sync_run where id >= 77`)
})

test('a case says that its holder holds the value until that one has changed', async () => {
  const id = await plant('e1', { category: 'duplicate_mobile', state: 'snoozed' })
  await console.pool.query(
    `update dirsync.dead_letter set field = 'mobile', blocked_by = 'e9' where id = $1`,
    [id],
  )
  await console.pool.query(
    `insert into dirsync.employee (userid, source_hash, acknowledged_hash, platform_state)
     select 'e9', h, h, 'in_service' from gen_random_uuid() h`,
  )
  await console.pool.query(
    `insert into dirsync.employee (userid, source_hash, parked_hash, platform_state)
     select 'e1', h, h, 'in_service' from gen_random_uuid() h`,
  )
  const employee = () => see('/employees/e1?hr=no')
  const update = (...fields: string[]) =>
    console.pool.query(
      `insert into dirsync.attempt (operation, entity_key, started_at, duration_ms, outcome, fields)
       values ('update-employee', 'e9', now(), 5, 'updated', $1)`,
      [fields],
    )
  const hasChanged = async () => (await get(`/api/v1/cases/${id}`)).json().blocker.has_changed
  const holds = [
    'Blocked by <a href="/employees/e9">',
    'holds the value that this employee should get',
    'their HR row has this value, too',
  ]
  await update('email')
  expect(await hasChanged()).toBe(false)
  for (const text of holds) expect(await see(`/cases/${id}`)).toContain(text)
  expect(await employee()).toContain(holds[0])
  await update('mobile', 'name')
  expect(await hasChanged()).toBe(true)
  const body = await see(`/cases/${id}`)
  for (const text of holds) expect(body).not.toContain(text)
  expect(await employee()).not.toContain(holds[0])
  for (const changed of [body, await employee()])
    expect(changed).toMatch(
      /<a href="\/employees\/e9">.{0,200} had the value .* and has changed since it was refused: a retry tells whether it is free\./,
    )
  expect(await see(`/cases/${id}`, 'zh-CN')).toContain('此后其平台数据已变更')
})

test('a case whose retry is requested does not ask for a person until a scheduler has taken it', async () => {
  const id = await plant('e1')
  expect(await see(`/cases/${id}`)).toContain('It needs a person')
  const { run } = (await post(`/api/v1/cases/${id}/retry`)).json()
  expect((await get(`/api/v1/cases/${id}`)).json()).toMatchObject({ state: 'open', retry_run: run })
  const body = await see(`/cases/${id}`)
  expect(body).toContain(
    `Its retry is requested, and begins once a scheduler takes it. <a href="/runs/${run}">`,
  )
  expect(body).not.toContain('It needs a person')
  // The run leaves it alone after a later decision.
  await post(`/api/v1/cases/${id}/ignore`, { reason: 'agreed' })
  expect((await get(`/api/v1/cases/${id}`)).json()).toMatchObject({ state: 'ignored', retry_run: null })
  expect(await see(`/cases/${id}`)).not.toContain('Its retry is requested')
  // Its employee may have got in sync meanwhile.
  await console.pool.query(
    `update dirsync.dead_letter set state = 'resolved', resolved_at = now(), resolution = 'succeeded' where id = $1`,
    [id],
  )
  expect((await get(`/api/v1/cases/${id}`)).json()).toMatchObject({ retry_run: null })
  expect(await see(`/cases/${id}`)).toContain('There is nothing left to do.')
  await console.pool.query('select dirsync.cancel($1)', [run])
})

test('the page of bulk actions says first how one begins, to those who may', async () => {
  const how = 'Select cases in the list, or filter them, and choose what to do.'
  const shown = async (role: 'viewer' | 'reviewer') =>
    (await console.browse(role, 'GET', '/bulk', undefined, { 'accept-language': 'en' })).body
  expect((await shown('reviewer')).split(how)).toHaveLength(2)
  await console.pool.query(
    `insert into dirsync.bulk_action (action, state, total, confirmed_at) values ('retry', 'done', 1, now())`,
  )
  expect((await shown('reviewer')).split(how)).toHaveLength(2)
  expect(await shown('reviewer')).toContain(`<a href="/cases">${how}</a>`)
  expect(await shown('viewer')).not.toContain(how)
})

describe('/api/v1', () => {
  test('groups cases by cause', async () => {
    for (const key of ['a', 'b', 'c']) await plant(key)
    await plant('d', { category: 'duplicate_email' })
    const { items: groups } = (await get('/api/v1/cases/groups')).json()
    expect(groups).toMatchObject([
      { category: 'left_hr', platform_code: null, count: 3, open: 3 },
      { category: 'duplicate_email', count: 1 },
    ])
  })

  test('waits a moment for a person who has not committed, who is not called a database that does not answer', async () => {
    const id = await plant('e1')
    await transaction(console.pool, async reviewer => {
      await reviewer.query(`select dirsync.ignore($1, 'so')`, [id])
      const answer = await post(`/api/v1/cases/${id}/assign`, { assignee: 'mei' })
      expect([answer.statusCode, answer.json()]).toMatchObject([
        409,
        { code: 'locked', detail: expect.stringMatching(/has not committed .* try again in a minute/) },
      ])
    })
  })

  test('gives a case with its version, and takes a decision about that version alone', async () => {
    const id = await plant('e1')
    const { version, events } = (await get(`/api/v1/cases/${id}`)).json()
    expect(events).toEqual([])
    expect((await post(`/api/v1/cases/${id}/assign`, { assignee: 'mei', version })).statusCode).toBe(200)
    const late = await post(`/api/v1/cases/${id}/ignore`, { reason: 'agreed', version })
    expect(late.statusCode).toBe(409)
    expect(late.json()).toMatchObject({
      status: 409,
      code: 'changed',
      detail: expect.stringMatching(
        new RegExp(`^Case ${id} has changed since you looked. reviewer \\(API\\): assigned \\(.+\\).$`),
      ),
    })
    expect(await row(id)).toMatchObject({ state: 'open', assignee: 'mei' })
    const comment = await post(`/api/v1/cases/${id}/comment`, { text: 'needs no version' })
    expect(comment.json()).toEqual({ id, comment: 'needs no version' })
  })

  test('records who decided, from where and why, before it takes effect', async () => {
    const id = await plant('e1')
    await post(`/api/v1/cases/${id}/ignore`, { reason: 'agreed with them' })
    const { rows } = await console.pool.query(
      `select name, requested_by, address, reason, dead_letter_id::int from dirsync.command
       order by id desc limit 1`,
    )
    expect(rows).toEqual([
      {
        name: 'ignore',
        requested_by: expect.stringContaining('api:token:reviewer'),
        address: '127.0.0.1',
        reason: 'agreed with them',
        dead_letter_id: id,
      },
    ])
  })

  test('says at an assignment how the person is told, or that nobody is', async () => {
    for (const name of ['li', 'bo']) await plantUser(console.pool, name, 'reviewer')
    expect((await console.browse('admin', 'GET', '/access/users/li')).body).toContain('no address known')
    const set = (name: string, given: object) =>
      console.ask('admin', 'POST', `/api/v1/access/users/${name}/notices`, given)
    expect((await set('li', { mail: 'li@example.com' })).json()).toMatchObject({ mail: 'li@example.com' })
    expect((await set('bo', { mention: 'room:bo' })).statusCode).toBe(200)
    expect((await set('bo', { mail: 'no address' })).statusCode).toBe(422)
    expect((await set('bo', { mention: 'post:bo' })).statusCode).toBe(422)
    expect((await console.browse('admin', 'GET', '/access/users/bo')).body).toContain('room:bo')
    const id = await plant('e1')
    const assign = async (assignee: string) =>
      (await post(`/api/v1/cases/${id}/assign`, { assignee })).json().told
    expect(await assign('Li')).toBe('mail')
    expect(await assign('bo')).toBe('chat')
    expect(await assign('stranger')).toBe('no_way')
    const page = async (assignee: string) => {
      const sent = await console.browse('reviewer', 'POST', `/cases/${id}/assign`, `assignee=${assignee}`)
      const [notice] = sent.cookies.filter(({ name }) => name === 'dirsync_notice')
      return Buffer.from(notice?.value ?? '', 'base64url').toString()
    }
    expect(await page('stranger')).toContain(
      'stranger is not told: there is no address, or no channel that reaches it.',
    )
    expect(await page('li')).toContain('li is told by mail.')
    expect(await page('somebody-reviewer')).toContain('"told":"none"')
    const preview = await post('/api/v1/bulk', { action: 'assign', ids: [id], assignee: 'stranger' })
    expect((await get(`/api/v1/bulk/${preview.json().id}`)).json().told).toBe('no_way')
    expect((await console.browse('reviewer', 'GET', `/bulk/${preview.json().id}`)).body).toContain(
      'stranger is not told: there is no address, or no channel that reaches it.',
    )
  })

  test('starts one run for a retry that is sent twice with the same key', async () => {
    const id = await plant('e1')
    const send = () => post(`/api/v1/cases/${id}/retry`, {}, { 'idempotency-key': 'once' })
    const [first, second] = [(await send()).json(), (await send()).json()]
    expect(first).toEqual({ id, run: expect.any(Number) })
    expect(second).toEqual(first)
  })

  test.each([
    ['retry', {}],
    ['assign', { assignee: 'mei' }],
    ['wake', {}],
    ['undo', {}],
  ])('answers 404 to %s for a case that does not exist', async (name, given) => {
    expect((await post(`/api/v1/cases/999999/${name}`, given)).statusCode).toBe(404)
  })

  test.each([
    ['ignore', {}, 'Ignoring a case needs a reason: say why this is acceptable.'],
    ['snooze', {}, 'Snoozing needs a time in the future: choose how long, or until when.'],
    [
      'snooze',
      { until: '2020-01-01T00:00' },
      'Snoozing needs a time in the future: choose how long, or until when.',
    ],
    ['snooze', { until: 'tomorrow' }, 'Snoozing needs a time in the future: choose how long, or until when.'],
    ['comment', { text: '  ' }, 'Enter a comment.'],
  ])('says what is missing to %s a case with %j', async (name, given, detail) => {
    const id = await plant('e1')
    const response = await post(`/api/v1/cases/${id}/${name}`, given)
    expect(response.statusCode).toBe(422)
    expect(response.json().detail).toBe(detail)
  })

  test('snoozes until a time of the page’s clock, whatever the browser’s has become, a case or many', async () => {
    const [one, many] = [await plant('e1'), await plant('e2')]
    const until = { until: '2999-01-01T09:30', zone: 'Asia/Shanghai' }
    expect((await post(`/api/v1/cases/${one}/snooze`, until)).statusCode).toBe(200)
    const bulk = await post('/api/v1/bulk', { action: 'snooze', ids: [many], ...until })
    expect(bulk.statusCode).toBe(201)
    expect((await post(`/api/v1/bulk/${bulk.json().id}/start`)).statusCode).toBe(202)
    await console.pool.query('select dirsync.bulk_step(2, 10)')
    const moment = new Date('2999-01-01T01:30:00Z')
    expect((await row(one)).snooze_until).toEqual(moment)
    expect((await row(many)).snooze_until).toEqual(moment)
    for (const path of [`/cases/${await plant('e3')}`, '/cases'])
      expect((await console.browse('reviewer', 'GET', path)).body).toMatch(
        /<input type="hidden" name="zone" value="\w[^"]*">/,
      )
    await console.pool.query('truncate dirsync.bulk_action cascade')
  })

  test('wakes a case, and takes back what was done last while that is possible', async () => {
    const id = await plant('e1')
    expect((await post(`/api/v1/cases/${id}/snooze`, { for: '3d' })).statusCode).toBe(200)
    expect((await get(`/api/v1/cases/${id}`)).json().undoable).toEqual({
      event: 'snoozed',
      until: expect.any(String),
    })
    expect((await post(`/api/v1/cases/${id}/wake`)).json()).toEqual({ id })
    expect(await row(id)).toMatchObject({ state: 'open', snooze_until: null, note: null })
    expect((await get(`/api/v1/cases/${id}`)).json().undoable).toBeNull()
    const late = await post(`/api/v1/cases/${id}/undo`)
    expect(late.statusCode).toBe(409)
    expect(late.json().detail).toContain('snooze ended')
    await post(`/api/v1/cases/${id}/ignore`, { reason: 'agreed' })
    // A second click on the same page takes no earlier step back.
    expect((await post(`/api/v1/cases/${id}/undo`, { version: 1 })).statusCode).toBe(409)
    expect((await post(`/api/v1/cases/${id}/undo`)).json()).toEqual({ id, undone: 'ignored' })
    expect(await row(id)).toMatchObject({ state: 'open', note: null })
  })

  test('finds for a user what was assigned to them, however their name was typed', async () => {
    const name = 'somebody-operator'
    await plantUser(console.pool, name, 'operator')
    const [one, many] = [await plant('a'), await plant('b')]
    await post(`/api/v1/cases/${one}/assign`, { assignee: 'Somebody-Operator' })
    const { id } = (
      await post('/api/v1/bulk', { action: 'assign', ids: [many], assignee: name.toUpperCase() })
    ).json()
    await post(`/api/v1/bulk/${id}/start`)
    await console.pool.query('select dirsync.bulk_step(200, 200)')
    await post(`/api/v1/cases/${await plant('c')}/assign`, { assignee: 'HR Desk' })
    const keys = async (assignee: string) => {
      const url = `/api/v1/cases?order=key&assignee=${encodeURIComponent(assignee)}`
      const { items } = (await console.browse('operator', 'GET', url)).json()
      return items.map(({ entity_key }: { entity_key: string }) => entity_key)
    }
    expect(await keys('@me')).toEqual(['a', 'b'])
    expect(await keys('Somebody-Operator')).toEqual(['a', 'b'])
    expect(await keys('HR Desk')).toEqual(['c'])
  })

  test('saves views for oneself and for others, in one form, and lets their owner delete them', async () => {
    const save = (name: string, shared: boolean, query: unknown) =>
      post('/api/v1/cases/views', { name, shared, query })
    const mine = (await save('mine', false, 'order=key&states=open,blocked')).json()
    expect(mine).toMatchObject({ name: 'mine', shared: false, query: 'states=open%2Cblocked&order=key' })
    const ours = (await save('ours', true, { assignee: '@me', columns: ['cause', 'age'] })).json()
    const repeated = (await save('mine', false, '?states=open&states=blocked&order=key')).json()
    expect(repeated).toEqual(mine)
    expect((await save('mine', false, 'run=7&run=8')).statusCode).toBe(422)
    expect((await save('mine', false, 'run=7')).json()).toEqual({ ...mine, query: 'run=7' })
    expect((await get('/api/v1/cases/views')).json().items).toMatchObject([{ id: mine.id }, { id: ours.id }])
    const seen = await console.ask('viewer', 'GET', '/api/v1/cases/views')
    expect(seen.json().items).toEqual([ours])
    for (const { id } of [mine, ours])
      expect((await console.ask('viewer', 'POST', `/api/v1/cases/views/${id}/delete`)).statusCode).toBe(404)
    expect((await post(`/api/v1/cases/views/${mine.id}/delete`)).json()).toEqual({ id: mine.id })
    expect((await console.ask('admin', 'POST', `/api/v1/cases/views/${ours.id}/delete`)).statusCode).toBe(200)
    expect((await save('odd', false, 'category=left_hr')).statusCode).toBe(422)
    expect((await post('/api/v1/cases/display', { columns: ['cause'] })).statusCode).toBe(422)
    const chosen = await console.browse(
      'viewer',
      'POST',
      '/api/v1/cases/display',
      'columns=cause&compact=true',
    )
    expect(chosen.json()).toEqual({ columns: ['cause'], compact: true })
  })

  test('lets a viewer keep views, a reviewer share them, and an administrator delete a shared one by its button', async () => {
    const save = (role: 'viewer' | 'reviewer', shared: boolean) =>
      console.browse(role, 'POST', '/api/v1/cases/views', `name=look&shared=${shared}&query=run%3D8`)
    const refused = await save('viewer', true)
    expect([refused.statusCode, refused.json().code]).toEqual([403, 'forbidden'])
    expect((await save('viewer', false)).statusCode).toBe(201)
    const { id } = (await save('reviewer', true)).json()
    const page = async (role: 'viewer' | 'reviewer' | 'admin') =>
      (await console.browse(role, 'GET', '/cases?run=8')).body
    const [viewer, reviewer, admin] = [await page('viewer'), await page('reviewer'), await page('admin')]
    const field = 'name="shared"'
    expect([viewer.includes(field), reviewer.includes(field)]).toEqual([false, true])
    const button = `action="/cases/views/${id}/delete"`
    expect([viewer, reviewer, admin].map(body => body.includes(button))).toEqual([false, true, true])
    await console.pool.query('truncate dirsync.case_view')
  })

  test('keeps fifty views of one person, none with more columns than there are', async () => {
    const save = (name: string, query: object = {}) =>
      console.ask('viewer', 'POST', '/api/v1/cases/views', { name, shared: false, query })
    const wide = await save('wide', { columns: Array.from({ length: 20_000 }, () => 'cause') })
    expect(wide.statusCode).toBe(422)
    const display = 'columns=cause&'.repeat(13)
    expect((await console.browse('viewer', 'POST', '/api/v1/cases/display', display)).statusCode).toBe(422)
    for (let i = 1; i <= 50; i += 1) expect((await save(`view ${i}`)).statusCode).toBe(201)
    const refused = await save('one more')
    expect([refused.statusCode, refused.json().errors]).toEqual([
      422,
      [expect.objectContaining({ pointer: '#/name', detail: expect.stringContaining('50 saved views') })],
    ])
    expect((await save('view 7', { order: 'oldest' })).json()).toMatchObject({ query: 'order=oldest' })
    expect((await post('/api/v1/cases/views', { name: 'of another', shared: true })).statusCode).toBe(201)
    await console.pool.query('truncate dirsync.case_view')
  })

  test('describes every route of cases and bulk actions', async () => {
    const { paths } = (await get('/api/v1/openapi.json')).json()
    expect(Object.keys(paths).filter(path => /cases|bulk/.test(path)).length).toBe(19)
    const names = paths['/api/v1/cases'].get.parameters.map((given: { name: string }) => given.name)
    expect(names).toEqual(expect.arrayContaining(['states', 'categories', 'code', 'blockedBy', 'cursor']))
  })
})

describe('a bulk action', () => {
  test('is previewed, and thrown away or started once', async () => {
    const ids = [await plant('a'), await plant('b'), await plant('c', { state: 'ignored' })]
    const snooze = { action: 'snooze', ids, for: '1w' }
    const preview = (await post('/api/v1/bulk', snooze)).json()
    expect(preview).toMatchObject({ total: 3, will_act: 2, will_skip: 1, more: false })
    expect((await post(`/api/v1/bulk/${preview.id}/start`)).statusCode).toBe(202)
    const again = await post(`/api/v1/bulk/${preview.id}/start`)
    expect(again.statusCode).toBe(409)
    expect(again.json().detail).toMatch(/^bulk action \d+ was started by reviewer \(API\) at 20/)

    const other = (await post('/api/v1/bulk', snooze)).json()
    const stopped = await post(`/api/v1/bulk/${other.id}/stop`)
    expect(stopped.json()).toEqual({ id: other.id, was_preview: true })
    expect((await get('/api/v1/bulk')).json().items).toMatchObject([
      { id: preview.id, action: 'snooze', filter: null, total: 3 },
    ])
  })

  test('is undone in the background, by another action that the answer names', async () => {
    const { id } = (
      await post('/api/v1/bulk', { action: 'ignore', ids: [await plant('a')], reason: 'why' })
    ).json()
    await post(`/api/v1/bulk/${id}/start`)
    await console.pool.query('select dirsync.bulk_step(200, 200)')
    const undone = await post(`/api/v1/bulk/${id}/undo`)
    expect(undone.statusCode).toBe(202)
    expect(undone.headers.location).toBe(`/api/v1/bulk/${undone.json().id}`)
    expect((await get(String(undone.headers.location))).json()).toMatchObject({ bulk: { action: 'undo' } })
  })

  test.each([
    ['en', /bulk action (\d+) was undone by somebody-operator at/],
    ['zh-CN', /批量操作 (\d+) 已由 somebody-operator 于 .* 撤销/],
  ])('that another person has undone says who did, and when, in %s', async (language, said) => {
    const ignore = { action: 'ignore', ids: [await plant('a')], reason: 'why' }
    const { id } = (await post('/api/v1/bulk', ignore)).json()
    await post(`/api/v1/bulk/${id}/start`)
    await console.pool.query('select dirsync.bulk_step(200, 200)')
    const undo = (role: 'operator' | 'reviewer') =>
      console.browse(role, 'POST', `/bulk/${id}/undo`, '', { 'accept-language': language })
    expect((await undo('operator')).statusCode).toBe(303)
    const late = await undo('reviewer')
    expect([late.statusCode, said.exec(late.body)?.[1]]).toEqual([409, String(id)])
  })

  test('is stopped where it is', async () => {
    const preview = (await post('/api/v1/bulk', { action: 'retry', ids: [await plant('a')] })).json()
    await post(`/api/v1/bulk/${preview.id}/start`)
    const stopped = await post(`/api/v1/bulk/${preview.id}/stop`)
    expect(stopped.json()).toEqual({ id: preview.id, was_preview: false })
    expect((await get(`/api/v1/bulk/${preview.id}`)).json()).toMatchObject({
      bulk: { state: 'stopped', done: 0 },
      items: [{ entity_key: 'a', outcome: null, state: 'open' }],
    })
    expect((await post(`/api/v1/bulk/${preview.id}/stop`)).statusCode).toBe(409)
    // Nothing waits for its turn any more.
    const page = await see(`/bulk/${preview.id}`)
    expect(page).toContain('not reached <span class="soft">1</span>')
    expect(page).toMatch(/<span class="state off"><i[^>]*><\/i>not reached/)
    expect(page).not.toMatch(/>waiting/)
  })

  test.each([
    ['categories=left_hr', ['left_hr'], ['a', 'b']],
    ['categories=left_hr&categories=duplicate_email', ['left_hr', 'duplicate_email'], ['a', 'b', 'c']],
  ])('takes the filter of a list’s address, as the form sends it: %s', async (filter, categories, keys) => {
    for (const key of ['a', 'b']) await plant(key)
    await plant('c', { category: 'duplicate_email' })
    await plant('d', { category: 'invalid_hr_row' })
    const form = { which: 'filter', action: 'retry', filter, ids: '' }
    const response = await console.browse('reviewer', 'POST', '/bulk', String(new URLSearchParams(form)))
    expect(response.statusCode).toBe(303)
    const page = (await get(`/api/v1${response.headers.location}`)).json()
    expect(page.bulk).toMatchObject({ total: keys.length, filter: { categories }, state: 'preview' })
    expect(page.items.map((result: { entity_key: string }) => result.entity_key)).toEqual(keys)
  })

  test.each([
    [{ action: 'retry', which: 'ids' }, 'No case is selected. Select some, or choose all that match.'],
    [{ action: 'ignore', filter: {} }, 'Ignoring a case needs a reason: say why this is acceptable.'],
    [{ action: 'retry', filter: { categories: 'duplicate_email' } }, 'No case matches this filter.'],
  ])('says why %j cannot be done', async (given, detail) => {
    await plant('a')
    const response = await post('/api/v1/bulk', given)
    expect(response.statusCode).toBe(422)
    expect(response.json().detail).toBe(detail)
  })

  test('that does not exist, or no longer, is answered so', async () => {
    for (const response of [await get('/api/v1/bulk/999999'), await post('/api/v1/bulk/999999/start')]) {
      expect(response.statusCode).toBe(404)
      expect(response.json().detail).toContain('Previews are kept for a day')
    }
  })
})

test('an export holds what a case says, in words', async () => {
  await plant('-1+1')
  const lines = (await get('/cases.csv')).body.split('\r\n')
  expect(lines[0]).toMatch(/^\ufeffid,enterprise_code,entity,entity_key,operation,field,category,/)
  expect(lines[1]).toContain(
    `,employee,'-1+1,update-employee,,left_hr,,,"message, with ""quotes""",'=remedy(),`,
  )
})

test.each([
  ['en', 'Code: 1002218007', 'Trace id: t-1', 'Another employee of the enterprise has this mobile number.'],
  ['zh-CN', '错误码：1002218007', '跟踪 ID（trace id）：t-1', '手机号'],
])('the text for the vendor, in %s, identifies the call and names no one', async (language, ...expected) => {
  const id = await plant('zhang.san', { category: 'duplicate_mobile' })
  await console.pool.query(
    `update dirsync.dead_letter set platform_code = 1002218007, trace_id = 't-1', field = 'mobile',
       blocked_by = 'li.si', message = '{"key": "said.words", "values": {"words": "zhang.san wants the number of li.si"}}',
       changed_fields = '[{"field": "mobile", "value": "138****0000"}]' where id = $1`,
    [id],
  )
  const { body } = await get(`/cases/${id}`, { 'accept-language': language })
  const copied = /<div class="copyable"><pre>([^<]*)<\/pre>/.exec(body)?.[1] ?? ''
  for (const text of ['employee/update', 'test-application', ...expected]) expect(copied).toContain(text)
  expect(copied).not.toMatch(/zhang|li\.si|138/)
})

describe('until when a case rests', () => {
  const now = new Date('2026-03-07T12:00:00Z')
  const ask = (zone: string) => ({ now, zone, t: translator('en') })

  test.each([
    ['Asia/Shanghai', '2026-11-22T09:30', '2026-11-22T01:30:00.000Z'],
    ['UTC', '2026-11-22T09:30', '2026-11-22T09:30:00.000Z'],
    ['America/New_York', '2026-03-08T01:30', '2026-03-08T06:30:00.000Z'],
    ['America/New_York', '2026-03-08T03:30', '2026-03-08T07:30:00.000Z'],
  ])('is a time of the asker’s clock: in %s %s means %s', (zone, text, moment) => {
    expect(momentIn(zone, text).toISOString()).toBe(moment)
    expect(untilOf(ask(zone), { until: text, for: '1d' }, SNOOZE).toISOString()).toBe(moment)
  })

  test('is a moment, or a period from now', () => {
    const given = { until: '2026-04-01T00:00:00+08:00' }
    expect(untilOf(ask('UTC'), given, SNOOZE).toISOString()).toBe('2026-03-31T16:00:00.000Z')
    expect(untilOf(ask('UTC'), { for: '1w' }, SNOOZE).toISOString()).toBe('2026-03-14T12:00:00.000Z')
    expect(() => untilOf(ask('UTC'), {}, SNOOZE)).toThrow(Problem)
  })
})
