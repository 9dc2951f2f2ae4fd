import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { RULE_NAMES } from '../../src/alerts/rule.ts'
import { HrDeliveryError } from '../../src/hr/errors.ts'
import type { PacerSnapshot } from '../../src/pacing/pacer.ts'
import { message, type Said } from '../../src/texts/message.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { openApp } from './console-under-test.ts'
import { parseExposition, seriesOf } from './exposition.ts'

const PACER: PacerSnapshot = {
  ratePerSecond: 19.6,
  set: 20,
  learnt: false,
  ceiling: null,
  cap: null,
  waiting: 3,
  pausedForMs: 1500,
}

const database = duringFile(() => createTestDatabase({ migrated: true }))
beforeEach(async () => {
  await database.pool.query(`truncate dirsync.sync_run, dirsync.pending, dirsync.dead_letter, dirsync.employee, dirsync.halt, dirsync.process, dirsync.pacer, dirsync.job_schedule, dirsync.refund,
    dirsync.refused_notification, dirsync.token_creation, dirsync.alert, dirsync.alert_notice, dirsync.alert_message,
    dirsync.alert_channel, dirsync.hr_source cascade`)
})

async function scrape(app: { inject(url: string): Promise<{ statusCode: number; body: string }> }) {
  const response = await app.inject('/metrics')
  expect(response.statusCode).toBe(200)
  return { ...parseExposition(response.body), body: response.body }
}

test('every metric is well-formed, with help, type and base units', async () => {
  await fill()
  await using console = await openApp(database.url)
  console.metrics.observeCall({
    operation: 'employee/get',
    durationMs: 20,
    code: 0,
    httpStatus: 200,
    waitedMs: 40,
    rateLimited: false,
  })
  console.metrics.watchPacer(() => PACER)
  console.metrics.observeJob({
    operation: 'update-employee',
    outcome: 'updated',
    durationMs: 900,
    changeMs: 4000,
  })
  const { families } = await scrape(console.app)
  const own = [...families].filter(([name]) => name.startsWith('dirsync_'))
  expect(own.length).toBeGreaterThan(12)
  for (const [name, { type, help }] of own) {
    expect(help).toMatch(/\.$/)
    if (type === 'counter') expect(name).toMatch(/_total$/)
    if (/time|age|duration|pause/.test(name)) expect(name).toMatch(/_seconds$/)
    expect(name).not.toMatch(/_(ms|milliseconds|minutes)$/)
  }
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_seconds',
  ])
    expect(families.has(name)).toBe(true)
})

test('the metrics show the state in the database', async () => {
  await fill()
  await using console = await openApp(database.url)
  const all = await scrape(console.app)
  const of = (name: string) => seriesOf(all, name)
  expect(of('dirsync_database_up')).toEqual({ dirsync_database_up: 1 })
  expect(of('dirsync_pending_entities')).toEqual({
    'dirsync_pending_entities{operation="update-employee",enqueued="true"}': 1,
    'dirsync_pending_entities{operation="update-employee",enqueued="false"}': 2,
    'dirsync_pending_entities{operation="delete-department",enqueued="true"}': 0,
    'dirsync_pending_entities{operation="delete-department",enqueued="false"}': 0,
    'dirsync_pending_entities{operation="bind-openid",enqueued="true"}': 0,
    'dirsync_pending_entities{operation="bind-openid",enqueued="false"}': 1,
  })
  const ages = of('dirsync_pending_oldest_age_seconds')
  expect(ages['dirsync_pending_oldest_age_seconds{operation="delete-department"}']).toBe(0)
  expect(ages['dirsync_pending_oldest_age_seconds{operation="update-employee"}']).toBeGreaterThanOrEqual(3600)
  expect(ages['dirsync_pending_oldest_age_seconds{operation="update-employee"}']).toBeLessThan(7200)
  expect(of('dirsync_dead_letters')).toEqual({
    'dirsync_dead_letters{category="duplicate_mobile",state="open"}': 2,
    'dirsync_dead_letters{category="duplicate_mobile",state="ignored"}': 1,
    'dirsync_dead_letters{category="not_on_platform",state="awaiting_activation"}': 1,
  })
  expect(of('dirsync_runs')).toEqual({
    'dirsync_runs{state="requested"}': 0,
    'dirsync_runs{state="planning"}': 0,
    'dirsync_runs{state="held"}': 1,
    'dirsync_runs{state="running"}': 0,
    'dirsync_runs{state="done"}': 2,
    'dirsync_runs{state="failed"}': 1,
    'dirsync_runs{state="source_suspect"}': 0,
    'dirsync_runs{state="rejected"}': 0,
    'dirsync_runs{state="superseded"}': 0,
    'dirsync_runs{state="cancelled"}': 0,
  })
  const successes = of('dirsync_run_last_success_age_seconds')
  expect(Object.keys(successes)).toEqual(['dirsync_run_last_success_age_seconds{kind="changes"}'])
  expect(Object.values(successes)[0]).toBeGreaterThanOrEqual(60)
  expect(Object.values(successes)[0]).toBeLessThan(600)
  expect(of('dirsync_halts')).toEqual({ 'dirsync_halts{category="enterprise_code",scope="enterprise"}': 2 })
  expect(of('dirsync_employees')).toEqual({
    'dirsync_employees{status="in_sync"}': 1,
    'dirsync_employees{status="no_source"}': 0,
    'dirsync_employees{status="awaiting_activation"}': 1,
    'dirsync_employees{status="accepted"}': 0,
    'dirsync_employees{status="dead_lettered"}': 1,
    'dirsync_employees{status="held"}': 0,
    'dirsync_employees{status="rejected"}': 0,
    'dirsync_employees{status="halted"}': 1,
    'dirsync_employees{status="waiting"}': 1,
    'dirsync_employees{status="left"}': 1,
    'dirsync_employees{status="vanished"}': 1,
  })
  expect(of('dirsync_processes')).toEqual({
    'dirsync_processes{role="scheduler"}': 1,
    'dirsync_processes{role="worker"}': 2,
    'dirsync_processes{role="notifications"}': 0,
    'dirsync_processes{role="console"}': 0,
  })
  expect(of('dirsync_platform_pause_seconds').dirsync_platform_pause_seconds).toBeGreaterThan(0)
})

test('the metrics tell files that are still being delivered from HR that looks wrong', async () => {
  const suspect = (problem: Said) => JSON.stringify([message('said.suspect', { reason: problem })])
  await database.pool.query(
    `insert into dirsync.sync_run (kind, state, planned_at, finished_at, message) values
       ('changes', 'source_suspect', now(), now(), $1), ('full', 'source_suspect', now(), now(), $2)`,
    [
      suspect(new HrDeliveryError('/srv/hr', message('said.file_empty', { file: 'a.csv' })).said),
      suspect(message('said.no_rows')),
    ],
  )
  await using console = await openApp(database.url)
  expect(seriesOf(await scrape(console.app), 'dirsync_run_suspect')).toEqual({
    'dirsync_run_suspect{kind="changes",delivery="incomplete"}': 1,
    'dirsync_run_suspect{kind="full"}': 1,
  })
})

test('the metrics include the figures that alerts use', async () => {
  await fill()
  await database.pool.query(`
    insert into dirsync.sync_run (kind, state, planned_at, finished_at) values
      ('changes', 'source_suspect', now(), now()), ('departments', 'done', now(), now());
    insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds, in_force_since) values
      ('sync-changes', '*/5 * * * *', now(), 300, now() - interval '1 day'),
      ('full-resync', 'off', now(), null, now() - interval '1 day');
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by) values
      ('secret-1', 'secret-1', 1, 'unknown', 'secret'), ('secret-2', 'secret-2', 1, 'requested', 'secret');
    insert into dirsync.refund
      (outer_refund_no, outer_trade_no, refund_amount, state, settled_at, requested_by, contradicted_at)
    values ('secret-3', 'secret-3', 1, 'accepted', now(), 'secret', now()),
           ('secret-4', 'secret-4', 1, 'accepted', now(), 'secret', now() - interval '8 days');
    insert into dirsync.refused_notification (outer_refund_no, reason, last_at) values
      ('secret-1', 'unknown', now()), ('secret-2', 'mismatch', now() - interval '25 hours');
    insert into dirsync.token_creation (base_url, app_id) values ('b', 'a'), ('b', 'a');
    insert into dirsync.alert (rule, severity, state, since, raised_at, ended_at) values
      ('halt', 'critical', 'firing', now(), now(), null), ('clock', 'warning', 'ended', now(), now(), now());
    insert into dirsync.alert_channel (name, kind, target, least, language, seen_at, failing_since) values
      ('ops', 'slack', 't', 'info', 'en', now(), null), ('mail', 'mail', 't', 'info', 'en', now(), now() - interval '1 minute'),
      ('old', 'mail', 't', 'info', 'en', now() - interval '1 day', now() - interval '1 day');
    insert into dirsync.alert_message (channel, kind, content, state, sent_at, created_at) values
      ('ops', 'alerts', '{}', 'sent', now(), now()), ('ops', 'alerts', '{}', 'sent', now(), now()),
      ('ops', 'alerts', '{}', 'sent', now(), now() - interval '8 days'),
      ('mail', 'alerts', '{}', 'given_up', null, now() - interval '2 days'),
      ('hook', 'events', '{}', 'sent', now(), now()), ('mail/anna', 'notice', '{}', 'waiting', null, now());
    update dirsync.process set pacer = jsonb_build_object('ratePerSecond', 9, 'set', 10, 'learnt', false, 'clockOffsetMs', -1500 * pid)`)
  await using console = await openApp(database.url)
  const all = await scrape(console.app)
  const of = (name: string) => seriesOf(all, `dirsync_${name}`)
  const value = (name: string) => Object.values(of(name))[0]
  expect(of('run_suspect')).toEqual({
    'dirsync_run_suspect{kind="changes"}': 1,
    'dirsync_run_suspect{kind="departments"}': 0,
  })
  expect(of('run_interval_seconds')).toEqual({ 'dirsync_run_interval_seconds{kind="changes"}': 300 })
  expect(Object.keys(of('run_unsuccessful_seconds'))).toEqual([
    'dirsync_run_unsuccessful_seconds{kind="changes"}',
  ])
  expect(value('run_unsuccessful_seconds')).toBeGreaterThanOrEqual(60)
  expect(value('run_unsuccessful_seconds')).toBeLessThan(600)
  // The workers started when the test did.
  expect(value('work_oldest_age_seconds')).toBeLessThan(60)
  expect(of('outcomes_unknown')).toEqual({
    'dirsync_outcomes_unknown{kind="refund"}': 1,
    'dirsync_outcomes_unknown{kind="topup"}': 0,
  })
  expect(of('outcomes_contradicted_last_week')).toEqual({
    'dirsync_outcomes_contradicted_last_week{kind="refund"}': 1,
    'dirsync_outcomes_contradicted_last_week{kind="topup"}': 0,
  })
  expect(value('notifications_refused_last_day')).toBe(1)
  expect(value('token_creations_last_hour')).toBe(2)
  // Of the two that live.
  expect(value('clock_offset_seconds')).toBe(3)
  expect(value('database_size_bytes')).toBeGreaterThan(1e6)
  expect(value('database_connections')).toBeGreaterThan(0)
  expect(value('database_connections_limit')).toBeGreaterThan(value('database_connections') ?? 0)
  expect(value('figures_seconds')).toBeGreaterThan(0)
  const alerts = of('alerts')
  expect(Object.keys(alerts)).toHaveLength(RULE_NAMES.length)
  expect(Object.entries(alerts).filter(([, count]) => count > 0)).toEqual([
    ['dirsync_alerts{rule="halt",severity="critical"}', 1],
  ])
  expect(of('alert_channel_failing_seconds')).toMatchObject({
    'dirsync_alert_channel_failing_seconds{channel="ops"}': 0,
  })
  expect(Object.keys(of('alert_channel_failing_seconds'))).toHaveLength(2)
  expect(of('alert_deliveries')).toEqual({
    'dirsync_alert_deliveries{channel="hook",state="sent"}': 1,
    'dirsync_alert_deliveries{channel="mail",state="given_up"}': 1,
    'dirsync_alert_deliveries{channel="mail",state="waiting"}': 1,
    'dirsync_alert_deliveries{channel="ops",state="sent"}': 2,
  })
  expect(all.families.get('dirsync_alert_deliveries')?.help).toMatch(
    /^Messages .*\(alerts, events and notices to users\)/,
  )
})

test('with several HR sources, the last success is that of each', async () => {
  await database.pool.query(`
    insert into dirsync.hr_source (name, position, kind, address, enterprise_codes) values
      ('shanghai', 0, 'postgresql', 'db', '{E1}'), ('beijing', 1, 'postgresql', 'db', '{E2}');
    insert into dirsync.sync_run (kind, hr_source, state, finished_at) values
      ('changes', 'shanghai', 'done', now() - interval '1 hour'), ('changes', 'shanghai', 'done', now()),
      ('changes', 'beijing', 'failed', now()), ('full', 'beijing', 'done', now() - interval '1 hour'),
      ('full', '', 'done', now()), ('employees', '', 'done', now())`)
  await using console = await openApp(database.url)
  const ages = seriesOf(await scrape(console.app), 'dirsync_run_last_success_age_seconds')
  const name = 'dirsync_run_last_success_age_seconds'
  expect(Object.keys(ages).sort()).toEqual([
    `${name}{kind="changes",source="shanghai"}`,
    `${name}{kind="employees"}`,
    `${name}{kind="full",source="beijing"}`,
  ])
  expect(ages[`${name}{kind="changes",source="shanghai"}`]).toBeLessThan(60)
  expect(ages[`${name}{kind="full",source="beijing"}`]).toBeGreaterThanOrEqual(3600)
})

test('a source of HR that does not answer is one halt, however many enterprises it has', async () => {
  await database.pool.query(`
    insert into dirsync.hr_source (name, position, kind, address, enterprise_codes) values
      ('shanghai', 0, 'postgresql', 'db', '{E1,E2}'), ('beijing', 1, 'postgresql', 'db', '{E3}');
    insert into dirsync.halt (scope, category, message, remedy)
    select scope, category, '[]', '[]' from (values
      ('E1', 'hr_unavailable'), ('E2', 'hr_unavailable'), ('E3', 'enterprise_code')) h (scope, category)`)
  await using console = await openApp(database.url)
  expect(seriesOf(await scrape(console.app), 'dirsync_halts')).toEqual({
    'dirsync_halts{category="hr_unavailable",scope="source",source="shanghai"}': 1,
    'dirsync_halts{category="enterprise_code",scope="enterprise"}': 1,
  })
})

test('the last success is of all employees, on the present account', async () => {
  await database.pool.query(`
    insert into dirsync.sync_run (kind, state, keys, finished_at) values ('changes', 'done', '{a}', now());
    insert into dirsync.sync_run (kind, state, finished_at) values
      ('full', 'done', now() - interval '1 hour'), ('departments', 'done', now() - interval '1 hour');
    insert into dirsync.deployment (id, base_url, app_id, enterprise_code, since)
    values (gen_random_uuid(), 'b', 'a', '', now() - interval '1 minute')`)
  onTestFinished(async () => void (await database.pool.query('truncate dirsync.deployment')))
  await using console = await openApp(database.url)
  const ages = seriesOf(await scrape(console.app), 'dirsync_run_last_success_age_seconds')
  expect(Object.keys(ages)).toEqual(['dirsync_run_last_success_age_seconds{kind="departments"}'])
  await database.pool.query(
    `insert into dirsync.sync_run (kind, state, finished_at) values ('full', 'running', null), ('changes', 'done', now())`,
  )
  const meanwhile = seriesOf(await scrape(console.app), 'dirsync_run_last_success_age_seconds')
  expect(Object.keys(meanwhile)).toEqual(Object.keys(ages))
  await database.pool.query(`delete from dirsync.sync_run where state = 'running'`)
  const later = seriesOf(await scrape(console.app), 'dirsync_run_last_success_age_seconds')
  expect(
    Object.keys(later)
      .map(series => /kind="(\w+)"/.exec(series)?.[1])
      .sort(),
  ).toEqual(['changes', 'departments'])
})

test('series that are gone from the database are gone from the next scrape', async () => {
  await fill()
  await using console = await openApp(database.url)
  expect(seriesOf(await scrape(console.app), 'dirsync_halts')).not.toEqual({})
  await database.pool.query('truncate dirsync.halt, dirsync.dead_letter, dirsync.dead_letter_event cascade')
  const all = await scrape(console.app)
  expect(seriesOf(all, 'dirsync_halts')).toEqual({})
  expect(seriesOf(all, 'dirsync_dead_letters')).toEqual({})
})

test('scrapes at the same moment get the same whole answer', async () => {
  await fill()
  await using console = await openApp(database.url)
  const answers = await Promise.all(Array.from({ length: 8 }, () => scrape(console.app)))
  const employees = answers.map(answer => seriesOf(answer, 'dirsync_employees'))
  expect(new Set(employees.map(series => JSON.stringify(series))).size).toBe(1)
})

test('calls and jobs of the process are counted, with codes from a closed list', async () => {
  await using console = await openApp(database.url)
  const { metrics } = console
  const call = {
    operation: 'employee/update',
    durationMs: 40,
    httpStatus: 200,
    waitedMs: 0,
    rateLimited: false,
  }
  metrics.observeCall({ ...call, code: 0 })
  metrics.observeCall({ ...call, code: 0 })
  metrics.observeCall({ ...call, code: 1000210003 })
  metrics.observeCall({ ...call, code: 4711 })
  metrics.observeCall({ ...call, code: 4712 })
  const query = { operation: 'employee/get', durationMs: 5, waitedMs: 1500, rateLimited: false }
  metrics.observeCall({ ...query, durationMs: 10_000, code: 'PLATFORM_TIMEOUT' })
  metrics.observeCall({ ...query, code: 'PLATFORM_HTTP', httpStatus: 429, rateLimited: true })
  metrics.observeCall({ ...query, code: 'PLATFORM_HTTP', httpStatus: 502 })
  metrics.observeJob({ operation: 'update-employee', outcome: 'updated', durationMs: 300, changeMs: 700_000 })
  metrics.observeJob({ operation: 'update-employee', outcome: 'parked', durationMs: 200, changeMs: null })
  const all = await scrape(console.app)
  expect(seriesOf(all, 'dirsync_platform_calls_total')).toEqual({
    'dirsync_platform_calls_total{operation="employee/update",code="0"}': 2,
    'dirsync_platform_calls_total{operation="employee/update",code="1000210003"}': 1,
    'dirsync_platform_calls_total{operation="employee/update",code="unlisted"}': 2,
    'dirsync_platform_calls_total{operation="employee/get",code="timeout"}': 1,
    'dirsync_platform_calls_total{operation="employee/get",code="http_429"}': 1,
    'dirsync_platform_calls_total{operation="employee/get",code="http_5xx"}': 1,
  })
  expect(seriesOf(all, 'dirsync_platform_calls_rate_limited_total')).toEqual({
    'dirsync_platform_calls_rate_limited_total{operation="employee/update"}': 0,
    'dirsync_platform_calls_rate_limited_total{operation="employee/get"}': 1,
  })
  expect(all.series.get('dirsync_platform_call_wait_seconds_sum{operation="employee/get"}')).toBeCloseTo(4.5)
  expect(seriesOf(all, 'dirsync_jobs_total')).toEqual({
    'dirsync_jobs_total{operation="update-employee",outcome="updated"}': 1,
    'dirsync_jobs_total{operation="update-employee",outcome="parked"}': 1,
  })
  const seconds = all.series.get('dirsync_job_duration_seconds_sum{operation="update-employee"}')
  expect(seconds).toBeCloseTo(0.5)
  expect(all.series.get('dirsync_platform_call_duration_seconds_count{operation="employee/get"}')).toBe(3)
  expect(seriesOf(all, 'dirsync_build_info')).toEqual({ 'dirsync_build_info{version="1.2.3"}': 1 })
})

test('the state of the process’s pacer is read at each scrape', async () => {
  await using console = await openApp(database.url)
  const now = { ...PACER }
  console.metrics.watchPacer(() => now)
  const pacer = async () =>
    [...(await scrape(console.app)).series].filter(([name]) => name.startsWith('dirsync_pacer_'))
  expect(await pacer()).toEqual([
    ['dirsync_pacer_permitted_calls_per_second', 19.6],
    ['dirsync_pacer_learnt', 0],
    ['dirsync_pacer_waiting_calls', 3],
    ['dirsync_pacer_pause_seconds', 1.5],
  ])
  Object.assign(now, { learnt: true, ceiling: 21.5 })
  expect(await pacer()).toContainEqual(['dirsync_pacer_ceiling_calls_per_second', 21.5])
})

test('no key, enterprise code or host name is in the metrics', async () => {
  await fill()
  await using console = await openApp(database.url)
  const { body } = await scrape(console.app)
  expect(body).not.toMatch(/secret-/)
})

test('runs are counted as they end, by kind and state, and stay counted when they are deleted', async () => {
  await using own = await createTestDatabase({ migrated: true })
  await using console = await openApp(own.url)
  const end = (kind: string, state: string, seconds: number) =>
    own.pool
      .query(
        `with run as (insert into dirsync.sync_run (kind, state, requested_by, requested_at)
                    values ($1, 'running', 'test', now() - $2 * interval '1 second') returning id)
       select id from run`,
        [kind, seconds],
      )
      .then(({ rows: [{ id }] }) =>
        own.pool.query('update dirsync.sync_run set state = $2, finished_at = now() where id = $1', [
          id,
          state,
        ]),
      )
  await end('changes', 'done', 30)
  await end('changes', 'done', 10)
  await end('full', 'failed', 5)
  await own.pool.query('delete from dirsync.sync_run')
  const all = await scrape(console.app)
  expect(seriesOf(all, 'dirsync_runs_total')).toEqual({
    'dirsync_runs_total{kind="changes",state="done"}': 2,
    'dirsync_runs_total{kind="full",state="failed"}': 1,
  })
  expect(all.series.get('dirsync_run_seconds_total{kind="changes",state="done"}')).toBeCloseTo(40, 0)
  expect(all.families.get('dirsync_runs_total')?.type).toBe('counter')
})

test('a change counts from when it was found, whatever happened to other jobs', async () => {
  await using console = await openApp(database.url)
  const job = { operation: 'update-employee', durationMs: 10 } as const
  console.metrics.observeJob({ ...job, outcome: 'updated', changeMs: 4000 })
  console.metrics.observeJob({ ...job, outcome: 'updated', changeMs: 700_000 })
  console.metrics.observeJob({ ...job, outcome: 'in_sync', changeMs: null })
  const { series } = await scrape(console.app)
  expect(series.get('dirsync_change_seconds_bucket{le="600"}')).toBe(1)
  expect(series.get('dirsync_change_seconds_count')).toBe(2)
})

test('without the database the process still shows its own metrics, and says that the rest is missing', async () => {
  const gone = await createTestDatabase({ migrated: true })
  await using console = await openApp(gone.url)
  await gone.close()
  console.metrics.observeJob({
    operation: 'update-employee',
    outcome: 'retry',
    durationMs: 10,
    changeMs: null,
  })
  const all = await scrape(console.app)
  expect(seriesOf(all, 'dirsync_database_up')).toEqual({ dirsync_database_up: 0 })
  expect(seriesOf(all, 'dirsync_jobs_total')).not.toEqual({})
  expect(all.families.has('dirsync_employees')).toBe(false)
})

test('of a database that takes no writes, nothing stale is shown, such as processes that cannot sign', async () => {
  await using console = await openApp(`${database.url}?options=-cdefault_transaction_read_only%3Don`)
  const all = await scrape(console.app)
  expect(seriesOf(all, 'dirsync_database_up')).toEqual({ dirsync_database_up: 0 })
  expect(all.families.has('dirsync_processes')).toBe(false)
})

/** Some of everything. Whatever must not show in metrics begins with `secret-`. */
async function fill(): Promise<void> {
  const hash = (n: number) => `00000000-0000-0000-0000-00000000000${n}`
  await database.pool.query(`
    insert into dirsync.sync_run (kind, state, finished_at) values
      ('changes', 'done', now() - interval '2 days'), ('changes', 'done', now() - interval '1 minute'),
      ('changes', 'failed', now()), ('full', 'held', null);
    insert into dirsync.pending (operation, entity_key, detail, priority, enqueued_at, created_at) values
      ('update-employee', 'secret-1', '', 3, null, now() - interval '1 hour'),
      ('update-employee', 'secret-2', '', 3, null, now()),
      ('update-employee', 'secret-3', '', 3, now(), now()),
      ('bind-openid', 'secret-1', 'secret-mall', 5, null, now());
    insert into dirsync.dead_letter (entity, entity_key, operation, field, category, message, remedy, state, note, resolved_at) values
      ('employee', 'secret-1', 'update-employee', 'mobile', 'duplicate_mobile', '{"key": "secret-m"}', '{"key": "secret-r"}', 'open', null, null),
      ('employee', 'secret-2', 'update-employee', 'mobile', 'duplicate_mobile', '{"key": "secret-m"}', '{"key": "secret-r"}', 'open', null, null),
      ('employee', 'secret-3', 'update-employee', 'mobile', 'duplicate_mobile', '{"key": "secret-m"}', '{"key": "secret-r"}', 'ignored', 'secret-n', null),
      ('employee', 'secret-4', 'update-employee', '', 'not_on_platform', '{"key": "secret-m"}', '{"key": "secret-r"}', 'awaiting_activation', null, null),
      ('employee', 'secret-5', 'update-employee', '', 'not_on_platform', '{"key": "secret-m"}', '{"key": "secret-r"}', 'resolved', null, now());
    insert into dirsync.halt (scope, category, message, remedy) values
      ('secret-A', 'enterprise_code', '{"key": "secret-m"}', '{"key": "secret-r"}'), ('secret-B', 'enterprise_code', '{"key": "secret-m"}', '{"key": "secret-r"}');
    insert into dirsync.employee (enterprise_code, userid, active, source_hash, acknowledged_hash, parked_hash, platform_state, vanished_at) values
      ('', 'secret-1', true, '${hash(1)}', '${hash(1)}', null, 'in_service', null),
      ('', 'secret-2', true, '${hash(1)}', null, '${hash(1)}', 'absent', null),
      ('', 'secret-3', true, '${hash(1)}', null, '${hash(1)}', 'in_service', null),
      ('', 'secret-4', true, '${hash(1)}', '${hash(2)}', null, 'in_service', null),
      ('secret-A', 'secret-5', true, '${hash(1)}', null, null, 'unknown', null),
      ('', 'secret-6', false, '${hash(1)}', null, null, 'unknown', null),
      ('', 'secret-7', true, '${hash(1)}', null, null, 'unknown', now());
    insert into dirsync.process (id, host, pid, roles, version, heartbeat_at) values
      (gen_random_uuid(), 'secret-host', 1, '{scheduler,worker}', '1', now()),
      (gen_random_uuid(), 'secret-host', 2, '{worker}', '1', now()),
      (gen_random_uuid(), 'secret-host', 3, '{worker,console}', '1', now() - interval '1 minute');
    insert into dirsync.pacer (gate, next_at, paused_until) values ('platform', now(), now() + interval '1 minute');
  `)
}
