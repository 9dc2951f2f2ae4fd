import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { pruneHistory } from '../../jobs/prune.ts'
import { goodTokensOf } from '../../src/console/auth/tokens.ts'
import { createPool } from '../../src/lib/database.ts'
import { fail, hash, plant, plantRun, plantWork } from '../sync/planted.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

const ago = (days: number) => new Date(Date.now() - days * 86_400_000)
const left = async (table: string, column: string) =>
  (await store.rows<{ name: unknown }>(`select ${column} as name from dirsync.${table} order by 1`)).map(
    row => row.name,
  )

test('attempts go after 30 days', async () => {
  const attempt = { operation: 'update-employee', outcome: 'in_sync', duration_ms: 1 }
  await plant(
    store,
    'attempt',
    { ...attempt, entity_key: 'old', started_at: ago(31) },
    { ...attempt, entity_key: 'young', started_at: ago(29) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ attempt: 1 })
  expect(await left('attempt', 'entity_key')).toEqual(['young'])
})

test('attempts that stay are not read, though they are where older ones were', async () => {
  const one = createPool(store.url, { max: 1, name: 'test', logger: SILENT })
  onTestFinished(() => one.end())
  const attempts = (days: number) =>
    one.query(
      `insert into dirsync.attempt (operation, entity_key, outcome, duration_ms, started_at)
       select 'update-employee', 'e' || i, 'in_sync', 1, now() - $1 * interval '1 day' from generate_series(1, 20000) i`,
      [days],
    )
  const pagesRead = async () => {
    await one.query('select pg_stat_force_next_flush()')
    const { rows } = await one.query(
      `select heap_blks_read + heap_blks_hit as pages from pg_statio_user_tables where relname = 'attempt'`,
    )
    return Number(rows[0].pages)
  }
  await attempts(31)
  await pruneHistory(one)
  await one.query('vacuum analyze dirsync.attempt')
  await attempts(1)
  await one.query('analyze dirsync.attempt')
  const before = await pagesRead()
  expect(await pruneHistory(one)).toMatchObject({ attempt: 0 })
  expect((await pagesRead()) - before).toBeLessThan(20)
})

test('what is deleted in portions stays deleted when a later portion fails', async () => {
  const attempt = { operation: 'update-employee', outcome: 'in_sync', duration_ms: 1, started_at: ago(31) }
  await plant(store, 'attempt', ...['e1', 'e2', 'e3'].map(entity_key => ({ ...attempt, entity_key })))
  await store.pool.query(
    `create function dirsync.refuse_e3() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$;
     create trigger refuse before delete on dirsync.attempt for each row when (old.entity_key = 'e3')
     execute function dirsync.refuse_e3()`,
  )
  await expect(pruneHistory(store.pool, 2)).rejects.toThrow('the disk is full')
  expect(await left('attempt', 'entity_key')).toEqual(['e3'])
  await store.pool.query('drop function dirsync.refuse_e3 cascade')
  expect(await pruneHistory(store.pool, 1)).toMatchObject({ attempt: 1 })
})

test('however many portions there are, all are deleted', async () => {
  const command = { name: 'resync', requested_by: 'someone', requested_at: ago(181) }
  await plant(store, 'command', command, command, command)
  expect(await pruneHistory(store.pool, 2)).toMatchObject({ command: 3 })
})

test('attempts stay until their run has its result, and so has the held run that it sent a part of', async () => {
  const over = { state: 'done', finished_at: ago(40) }
  const goesOn = await plantRun(store, { state: 'running' })
  const held = await plantRun(store, { state: 'held' })
  const part = await plantRun(store, { ...over, part_of: held })
  const attempt = { operation: 'update-employee', outcome: 'updated', duration_ms: 1, started_at: ago(31) }
  for (const run_id of [await plantRun(store, over), goesOn, part])
    await plant(store, 'attempt', { ...attempt, entity_key: `e${run_id}`, run_id })
  await pruneHistory(store.pool)
  expect(await left('attempt', 'run_id')).toEqual([goesOn, part])
  for (const run of [goesOn, held])
    expect(await store.value('select dirsync.run_result($1)', [run])).toMatchObject({
      outcomes: { updated: 1 },
    })
})

test('calls by minute go after 30 days', async () => {
  const counts = { calls: 1, rate_limited: 0, failed: 0, waited_ms: 0, longest_wait_ms: 0, duration_ms: 1 }
  await plant(
    store,
    'call_minute',
    { ...counts, operation: 'old', minute: ago(31) },
    { ...counts, operation: 'young', minute: ago(29) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ call_minute: 1 })
  expect(await left('call_minute', 'operation')).toEqual(['young'])
})

test('figures for curves go after 35 days', async () => {
  const figures = { open_cases: {}, cases: 0, pending: 0, oldest_pending_seconds: 0, is_halted: false }
  const status = { ...figures, in_sync: 1, awaiting_activation: 0, dead_lettered: 0, halted: 0, waiting: 0 }
  await plant(store, 'status_history', { ...status, at: ago(36) }, { ...status, at: ago(34), in_sync: 2 })
  const hour = { calls: 1, rate_limited: 0 }
  await plant(
    store,
    'call_hour',
    { ...hour, operation: 'old', hour: ago(36) },
    { ...hour, operation: 'young', hour: ago(34) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ status_history: 1, call_hour: 1 })
  expect(await left('status_history', 'in_sync')).toEqual([2])
  expect(await left('call_hour', 'operation')).toEqual(['young'])
})

test('a stored plan goes 30 days after its run has ended, and not while it is held', async () => {
  const runs = [
    await plantRun(store, { state: 'rejected', finished_at: ago(31) }),
    await plantRun(store, { state: 'rejected', finished_at: ago(29) }),
    await plantRun(store, { state: 'held', requested_at: ago(90) }),
  ]
  for (const run_id of runs)
    await plant(store, 'planned_work', { run_id, operation: 'update-employee', entity_key: 'e1' })
  expect(await pruneHistory(store.pool)).toMatchObject({ planned_work: 1 })
  expect(await left('planned_work', 'run_id')).toEqual(runs.slice(1))
})

test('what people decided about a plan stays for ever, its rows for 180 days', async () => {
  const decided = async (days: number) => {
    const run_id = await plantRun(store, { state: 'rejected', finished_at: ago(days) })
    await plant(store, 'plan_decision', {
      run_id,
      ...{ approved: false, filter: {}, planned: 1, reasons: {}, decided_by: 'mei' },
    })
    await plant(store, 'planned_work', { run_id, operation: 'update-employee', entity_key: 'e1' })
    return run_id
  }
  const runs = [await decided(400), await decided(179)]
  const part = await plantRun(store, { state: 'done', finished_at: ago(400), part_of: runs[0] })
  const young = await plantRun(store, { state: 'done', finished_at: ago(179), part_of: runs[1] })
  for (const run_id of [part, young])
    await plant(store, 'planned_work', { run_id, operation: 'update-employee', entity_key: 'e1' })
  await pruneHistory(store.pool)
  expect(await left('planned_work', 'run_id')).toEqual([runs[1], young])
  expect(await left('plan_decision', 'run_id')).toEqual(runs)
  expect(await left('sync_run', 'id')).toEqual([...runs, part, young])
})

test('a run that a person rejected in 1.0.0 stays, too', async () => {
  const source = { rows: 1, keyless: 0, empty: {}, newest: null }
  const rejected = await plantRun(store, { state: 'rejected', finished_at: ago(400), decided_by: 'mei' })
  const last = await plantRun(store, { state: 'done', finished_at: ago(1), read_all: true, source })
  await pruneHistory(store.pool)
  expect(await left('sync_run', 'id')).toEqual([rejected, last])
})

test('messages of alerts go after 30 days, alerts that are over after 180, with what was told', async () => {
  const message = { channel: 'ops', kind: 'alerts', content: {}, state: 'sent' }
  await plant(
    store,
    'alert_message',
    { ...message, created_at: ago(31), sent_at: ago(31), answer: 'old' },
    { ...message, created_at: ago(29), sent_at: ago(29), answer: 'young' },
  )
  const alert = { rule: 'halt', severity: 'critical', since: ago(999), raised_at: ago(999) }
  const over = (days: number) => ({ ...alert, state: 'ended', gone_at: ago(days), ended_at: ago(days) })
  await plant(store, 'alert', { ...over(181), subject: 'old' }, { ...over(179), subject: 'young' })
  await plant(store, 'alert', { ...alert, state: 'firing', subject: 'goes on' })
  await store.pool.query(
    `insert into dirsync.alert_notice (alert_id, channel, event, message_id)
     select a.id, 'ops', 'raised', (select min(id) from dirsync.alert_message) from dirsync.alert a`,
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ alert_message: 1, alert: 1 })
  expect(await left('alert_message', 'answer')).toEqual(['young'])
  expect(await left('alert', 'subject')).toEqual(['goes on', 'young'])
  expect(await left('alert_notice', 'message_id')).toEqual([null, null])
})

test('closed dead letters go after 180 days, with their story; open ones never', async () => {
  const set = (id: number, text: string) =>
    store.pool.query(`update dirsync.dead_letter set ${text} where id = $1`, [id])
  const resolved = (days: number) => `state = 'resolved', resolved_at = now() - interval '${days} days'`
  await set(await fail(store, { entity_key: 'resolved long ago' }), resolved(181))
  await set(await fail(store, { entity_key: 'resolved lately' }), resolved(179))
  await set(await fail(store, { entity_key: 'open' }), `last_failed_at = now() - interval '999 days'`)
  expect(await pruneHistory(store.pool)).toMatchObject({ dead_letter: 1 })
  expect(await left('dead_letter', 'entity_key')).toEqual(['open', 'resolved lately'])
  expect(await store.value('select count(*) from dirsync.dead_letter_event')).toBe(2)
})

test('of the story of a case, retries by itself go after 30 days', async () => {
  const id = await fail(store)
  const event = { dead_letter_id: id, event: 'retried' }
  await plant(
    store,
    'dead_letter_event',
    { ...event, at: ago(31) },
    { ...event, at: ago(29) },
    { ...event, at: ago(31), actor: 'mei' },
    { ...event, at: ago(31), event: 'changed' },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ dead_letter_event: 1 })
  expect(await store.rows('select event, actor from dirsync.dead_letter_event order by id')).toEqual([
    { event: 'opened', actor: 'dirsync' },
    { event: 'retried', actor: 'dirsync' },
    { event: 'retried', actor: 'mei' },
    { event: 'changed', actor: 'dirsync' },
  ])
})

test('an accepted case stays accepted as long as its employee exists', async () => {
  for (const key of ['here', 'vanished', 'in service', 'awaited', 'unknown', 'D1', 'D2'])
    await fail(store, {
      entity_key: key,
      source_hash: hash(),
      ...(key.startsWith('D') ? { operation: 'delete-department', entity: 'department' } : {}),
    })
  await store.pool.query(
    `update dirsync.dead_letter set state = 'ignored', note = 'known', last_failed_at = now() - interval '999 days'`,
  )
  const vanished = { vanished_at: ago(400), active: false }
  await plant(
    store,
    'employee',
    { userid: 'here' },
    { userid: 'vanished', ...vanished, platform_state: 'absent' },
    { userid: 'in service', ...vanished, platform_state: 'in_service' },
    { userid: 'awaited', ...vanished },
  )
  await plant(
    store,
    'department',
    { dept_code: 'D1', active: false },
    { dept_code: 'D2', active: false, deleted_at: ago(1) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ dead_letter: 3 })
  expect(await left('dead_letter', 'entity_key')).toEqual(['D1', 'awaited', 'here', 'in service'])
})

test('an accepted case about a row of another HR source, or a field that is off, stays until that is over', async () => {
  const stray = { operation: 'read-hr', field: 'beijing', category: 'stray_row', source_hash: hash() }
  await fail(store, { ...stray, entity_key: 'stray' })
  const off = { entity: 'enterprise', field: 'level', category: 'feature_disabled' }
  await fail(store, { ...off, entity_key: '(single enterprise)' })
  await store.pool.query(
    `update dirsync.dead_letter set state = 'ignored', note = 'known', last_failed_at = now() - interval '999 days'`,
  )
  await pruneHistory(store.pool)
  expect(await left('dead_letter', 'entity_key')).toEqual(['(single enterprise)', 'stray'])
})

test('of several HR sources the last full reading of each stays', async () => {
  const old = { state: 'done', finished_at: ago(200) }
  const good = { ...old, read_all: true, source: { rows: 1, keyless: 0, empty: {}, newest: null } }
  await plantRun(store, { ...good, hr_source: 'beijing' })
  const stays = await plantRun(store, { ...good, hr_source: 'beijing' })
  await plantRun(store, { ...old, kind: 'openids' })
  const other = await plantRun(store, { ...good, hr_source: 'shanghai' })
  await pruneHistory(store.pool)
  expect(await left('sync_run', 'id')).toEqual([stays, other])
})

test('runs go after 180 days, but not the last good one that read every row, nor unfinished ones', async () => {
  const source = { rows: 1, keyless: 0, empty: {}, newest: null }
  const old = { state: 'done', finished_at: ago(200) }
  await plantRun(store, { ...old, read_all: true, source })
  await plantRun(store, { ...old, kind: 'openids' })
  const needed = [
    await plantRun(store, { ...old, read_all: true, source }),
    await plantRun(store, { ...old, read_all: false, source }),
    await plantRun(store, { state: 'held' }),
    await plantRun(store, { ...old, state: 'source_suspect', source }),
  ]
  expect(await pruneHistory(store.pool)).toMatchObject({ sync_run: 2 })
  expect(await left('sync_run', 'id')).toEqual(needed)
})

test('work outlives the run that asked for it', async () => {
  const run = await plantRun(store, { state: 'done', finished_at: ago(200) })
  await plantRun(store, { state: 'done', read_all: true, source: { rows: 1 }, finished_at: ago(1) })
  await plantWork(store, 'e1', { run_id: run })
  await pruneHistory(store.pool)
  expect(await store.rows('select entity_key, run_id from dirsync.pending')).toEqual([
    { entity_key: 'e1', run_id: null },
  ])
})

test('notifications that match no refund go after 30 days, but for those of a refund of unknown outcome', async () => {
  const refund = { outer_trade_no: 'T1', refund_amount: 1, requested_by: 'me', state: 'unknown' }
  await plant(store, 'refund', { ...refund, outer_refund_no: 'open' })
  for (const [outer_refund_no, last_at] of [
    ['old', ago(31)],
    ['open', ago(31)],
    ['young', ago(29)],
  ])
    await plant(store, 'refused_notification', { reason: 'mismatch', outer_refund_no, last_at })
  expect(await pruneHistory(store.pool)).toMatchObject({ refused_notification: 1 })
  expect(await left('refused_notification', 'outer_refund_no')).toEqual(['open', 'young'])
})

test('ticks go after a day, but for the last of each job', async () => {
  const tick = (job: string, due_at: Date) => plant(store, 'job_tick', { job, due_at, claimed_by: hash() })
  await tick('daily', ago(9))
  await tick('daily', ago(8))
  await tick('often', ago(2))
  await tick('often', ago(0))
  expect(await pruneHistory(store.pool)).toMatchObject({ job_tick: 2 })
  expect(await left('job_tick', 'job')).toEqual(['daily', 'often'])
})

test('processes that were killed go a day after they were last heard of', async () => {
  const killed = { pid: 1, roles: ['worker'], version: '1' }
  await plant(
    store,
    'process',
    { ...killed, id: randomUUID(), host: 'old', heartbeat_at: ago(1.1) },
    { ...killed, id: randomUUID(), host: 'young', heartbeat_at: ago(0.9) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ process: 1 })
  expect(await left('process', 'host')).toEqual(['young'])
})

test('employees go when both sides have lacked them for 180 days, with their bindings', async () => {
  const vanished = { vanished_at: ago(181), active: false }
  await plant(
    store,
    'employee',
    { userid: 'gone', ...vanished, platform_state: 'absent' },
    { userid: 'gone lately', ...vanished, vanished_at: ago(179), platform_state: 'absent' },
    { userid: 'still on the platform', ...vanished, platform_state: 'in_service' },
    { userid: 'never asked', ...vanished },
    { userid: 'awaiting activation', platform_state: 'absent' },
  )
  const binding = { seller_appid: '20000001', open_userid: 'o' }
  await plant(store, 'openid_binding', { userid: 'gone', ...binding }, { userid: 'gone lately', ...binding })
  expect(await pruneHistory(store.pool)).toMatchObject({ employee: 1, openid_binding: 1 })
  expect(await left('employee', 'userid')).not.toContain('gone')
  expect(await left('openid_binding', 'userid')).toEqual(['gone lately'])
})

test('an employee stays while a decision about their return is open or rests, and while an order may name them', async () => {
  const gone = { vanished_at: ago(181), active: false, platform_state: 'absent' }
  const returned = { ...gone, held_run: 1, held_hash: hash() }
  await plant(
    store,
    'employee',
    { userid: 'is held', ...returned },
    { userid: 'is rejected', ...returned, rejected: true },
    { userid: 'paid', ...gone },
    { userid: 'paid long ago', ...gone },
  )
  await plant(
    store,
    'payment_order',
    { trade_no: 'T1', userid: 'paid', listed_on: ago(365) },
    { trade_no: 'T2', userid: 'paid long ago', listed_on: ago(500) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ employee: 1 })
  expect(await left('employee', 'userid')).toEqual(['is held', 'is rejected', 'paid'])
})

test('departments go when they are deleted and HR has lacked them for 180 days', async () => {
  await plant(
    store,
    'department',
    { dept_code: 'gone', active: false, deleted_at: ago(181), first_missing_at: ago(181) },
    { dept_code: 'gone lately', active: false, deleted_at: ago(1), first_missing_at: ago(181) },
    { dept_code: 'still in HR', active: false, deleted_at: ago(181) },
    { dept_code: 'not deleted', active: false, first_missing_at: ago(181) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ department: 1 })
  expect(await left('department', 'dept_code')).toEqual(['gone lately', 'not deleted', 'still in HR'])
})

test('commands go after 180 days', async () => {
  const command = { name: 'resync', requested_by: 'someone' }
  await plant(
    store,
    'command',
    { ...command, requested_at: ago(181) },
    { ...command, requested_at: ago(179) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ command: 1 })
})

test('pruning what is empty removes nothing', async () => {
  expect(new Set(Object.values(await pruneHistory(store.pool)))).toEqual(new Set([0]))
})

test('runs of rows that HR named and that needed nothing go after a day', async () => {
  const named = { state: 'done', keys: ['e1'], planned: 0, planned_at: ago(2), finished_at: ago(2) }
  await plantRun(store, named)
  const kept = [
    await plantRun(store, { ...named, planned: 1 }),
    await plantRun(store, { ...named, finished_at: ago(0.5) }),
    await plantRun(store, { ...named, keys: [] }),
    await plantRun(store, { ...named, kind: 'employees' }),
  ]
  expect(await pruneHistory(store.pool)).toMatchObject({ sync_run: 1 })
  expect(await left('sync_run', 'id')).toEqual(kept)
})

test('runs of rows that HR named, and retries by themselves, go after 30 days like their attempts', async () => {
  const named = { state: 'done', keys: ['1'], planned: 1, planned_at: ago(31), finished_at: ago(31) }
  const retry = { ...named, kind: 'retry' }
  await plantRun(store, { ...named, requested_by: 'trigger' })
  await plantRun(store, { ...retry, requested_by: 'cron' })
  const kept = [
    await plantRun(store, { ...named, finished_at: ago(29) }),
    await plantRun(store, { ...named, keys: [] }),
    await plantRun(store, { ...named, kind: 'employees' }),
    await plantRun(store, { ...retry, requested_by: 'somebody' }),
  ]
  expect(await pruneHistory(store.pool)).toMatchObject({ sync_run: 2 })
  expect(await left('sync_run', 'id')).toEqual(kept)
})

test('retry runs that planned nothing go after a day', async () => {
  const retry = {
    kind: 'retry',
    state: 'done',
    keys: ['1'],
    planned: 0,
    planned_at: ago(2),
    finished_at: ago(2),
  }
  await plantRun(store, retry)
  const kept = [
    await plantRun(store, { ...retry, planned: 1 }),
    await plantRun(store, { ...retry, finished_at: ago(0.5) }),
    await plantRun(store, { ...retry, state: 'failed', planned: null }),
  ]
  expect(await pruneHistory(store.pool)).toMatchObject({ sync_run: 1 })
  expect(await left('sync_run', 'id')).toEqual(kept)
})

test('an accepted case of a mirror stays accepted, and one of a payer as long as an order names him', async () => {
  const mirror = { entity: 'mirror', entity_key: 'taxpayers', operation: 'mirror-taxpayers', field: 'ID-1' }
  const payer = { entity: 'employee', operation: 'mirror-orders', field: '', category: 'unknown_payer' }
  await fail(store, mirror)
  await fail(store, { ...payer, entity_key: 'pays' })
  await fail(store, { ...payer, entity_key: 'paid once' })
  await store.pool.query(
    `update dirsync.dead_letter set state = 'ignored', note = 'known', last_failed_at = now() - interval '999 days'`,
  )
  await plant(store, 'payment_order', { trade_no: 'T1', userid: 'pays' })
  expect(await pruneHistory(store.pool)).toMatchObject({ dead_letter: 1 })
  expect(await left('dead_letter', 'entity_key')).toEqual(['pays', 'taxpayers'])
})

test('what people are to be told goes after a day, where no process has a channel', async () => {
  await plant(store, 'console_user', { name: 'li', source: 'key', role: 'viewer' })
  const open = { entity: 'employee', operation: 'update-employee', category: 'no_permission', message: '[]' }
  await plant(store, 'dead_letter', { ...open, entity_key: 'e1', remedy: '[]' })
  const dead_letter_id = await store.value('select id from dirsync.dead_letter')
  const notice = { user_name: 'li', event: 'assigned', dead_letter_id }
  await plant(
    store,
    'notice',
    { ...notice, actor: 'old', at: ago(1.1) },
    { ...notice, actor: 'young', at: ago(0.9) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ notice: 1 })
  expect(await left('notice', 'actor')).toEqual(['young'])
})

test('sessions and one-time keys go 30 days after their end, tokens after 180, what slows sign-ins at once', async () => {
  await plant(store, 'console_user', { name: 'anna', source: 'key', role: 'viewer' })
  const session = { user_name: 'anna', via: 'key', address: '::1', user_agent: '' }
  await plant(
    store,
    'console_session',
    { ...session, id_hash: '\\x01', expires_at: ago(31) },
    { ...session, id_hash: '\\x02', expires_at: ago(29) },
  )
  await plant(
    store,
    'sign_in_key',
    { hash: '\\x01', created_by: 'old', expires_at: ago(31) },
    { hash: '\\x02', created_by: 'young', expires_at: ago(29) },
  )
  const flow = { state: 's', nonce: 'n', code_verifier: 'v' }
  await plant(
    store,
    'sign_in_flow',
    { ...flow, hash: '\\x01', return_to: 'over', expires_at: ago(0.01) },
    { ...flow, hash: '\\x02', return_to: 'under way', expires_at: ago(-0.01) },
  )
  const failure = { kind: 'address', failures: 1 }
  await plant(
    store,
    'sign_in_failure',
    { ...failure, key: 'old', last_at: ago(0.1), blocked_until: ago(0.1) },
    { ...failure, key: 'young', last_at: ago(0), blocked_until: ago(0) },
  )
  const token = { role: 'viewer' }
  await plant(
    store,
    'api_token',
    { ...token, name: 'expired', hash: '\\x01', expires_at: ago(181) },
    { ...token, name: 'revoked', hash: '\\x02', expires_at: ago(-90), revoked_at: ago(181) },
    { ...token, name: 'good', hash: '\\x03', expires_at: ago(-90) },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({
    console_session: 1,
    sign_in_key: 1,
    sign_in_flow: 1,
    sign_in_failure: 1,
    api_token: 2,
  })
  expect(await left('sign_in_key', 'created_by')).toEqual(['young'])
  expect(await left('sign_in_flow', 'return_to')).toEqual(['under way'])
  expect(await left('sign_in_failure', 'key')).toEqual(['young'])
  expect(await left('api_token', 'name')).toEqual(['good'])
})

test('a token that has ended stays while there is one that was added with it, so that it is known whose that one is', async () => {
  const [token, over] = [{ role: 'admin', created_at: ago(300) }, ago(181)]
  await plant(
    store,
    'api_token',
    { ...token, name: 'first', hash: '\\x01', created_by: 'dirsync (console:anna)', expires_at: over },
    { ...token, name: 'second', hash: '\\x02', created_by: 'dirsync (api:token:first)', expires_at: over },
    { ...token, name: 'third', hash: '\\x03', created_by: 'dirsync (api:token:second)', expires_at: ago(-9) },
    { ...token, name: 'other', hash: '\\x04', created_by: 'dirsync (console:omar)', expires_at: over },
  )
  expect(await pruneHistory(store.pool)).toMatchObject({ api_token: 1 })
  expect(await goodTokensOf(store.pool, 'anna')).toMatchObject([{ name: 'third' }])

  await store.pool.query(`update dirsync.api_token set revoked_at = $1 where name = 'third'`, [over])
  for (const names of [['first', 'second'], ['first'], []]) {
    await pruneHistory(store.pool)
    expect(await left('api_token', 'name')).toEqual(names)
  }
})
