import { describe, expect, test } from 'vitest'
import { WHOLE } from '../../src/hr/sources.ts'
import { heartbeat } from '../../src/sync/processes/process.ts'
import { HrChanges } from '../../src/sync/runs/run-requests.ts'
import { inWords, toStore } from '../../src/texts/message.ts'
import { until } from '../helpers/company.ts'
import { ConsoleUnderTest, silent } from './console-under-test.ts'

/* Platform, schedules, halts and settings by their routes; test/console/browser/operations.test.ts has the pages. */

const MARKER = 'hunter2hunter2'

const console = new ConsoleUnderTest(url => ({
  DATABASE_URL: `${url}?application_name=${MARKER}`,
  HR_DATABASE_URL: `${url}?application_name=${MARKER}`,
  PLATFORM_APP_SECRET: MARKER,
  CONSOLE_TOKEN: MARKER,
  CONSOLE_PROXIES: '10.0.0.1',
}))

describe('the platform', () => {
  test('is described to programs', async () => {
    const answer = await console.ask('viewer', 'GET', '/api/v1/platform')
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({
      pace: { workers: 0, permitted_per_second: null, cap: null },
      last_hour: [],
      token: null,
      token_creations: { last_hour: 0, permitted: 50 },
      halts: [],
    })
  })

  test('has no last refusal to tell while no worker is running, who alone knows of one', async () => {
    const { body } = await console.browse('viewer', 'GET', '/platform')
    expect(body).toContain('no worker is running')
    expect(body).not.toContain('nothing refused yet')
  })

  test('is not said to be called more slowly by a limit above what is permitted', async () => {
    await console.pool.query(
      `insert into dirsync.process (id, host, pid, roles, version, pacer)
       values (gen_random_uuid(), 'h', 1, '{worker}', '1', '{"set": 20, "ratePerSecond": 20, "waiting": 0, "concurrency": 4}')`,
    )
    const limit = async (rate: number) => {
      const form = `per_second=${rate}&for=1h&reason=asked`
      const { cookies } = await console.browse('operator', 'POST', '/platform/rate', form)
      const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
      return (await console.ask('operator', 'GET', '/platform', undefined, { cookie })).body
    }
    const NOTHING = 'No more are permitted anyway, so this lowers nothing now.'
    const above = await limit(500)
    expect(above).toContain('The rate is limited to at most 500 calls per second.')
    expect(above).toContain(NOTHING)
    expect(above).not.toMatch(/lowered (the rate )?to 500/)
    expect(await limit(5)).not.toContain(NOTHING)
    await console.pool.query('delete from dirsync.process; delete from dirsync.rate_cap')
  })

  test('is called no faster for a reason that is so', async () => {
    const page = async (roles: string[], pacer: object) => {
      await console.pool.query(
        `insert into dirsync.process (id, host, pid, roles, version, pacer)
         values (gen_random_uuid(), 'h', 1, $1, '1', $2)`,
        [roles, { set: 20, ratePerSecond: 20, waiting: 0, concurrency: 4, ...pacer }],
      )
      const { body } = await console.ask('viewer', 'GET', '/platform')
      await console.pool.query('delete from dirsync.process')
      // Below the bar that every page has.
      return body.slice(body.indexOf('<h1'))
    }
    expect(await page(['worker'], { callsPerSecond: 0 })).toContain('No scheduler is running')
    const both = ['worker', 'scheduler']
    expect(await page(both, { callsPerSecond: 0 })).toContain('No calls are being made at the moment.')
    expect(await page(both, { callsPerSecond: 3.9 })).toContain('Fewer calls are made than permitted.')
    await console.pool.query(
      `insert into dirsync.call_minute
       values (date_trunc('minute', now()), 'employee/get', 10, 0, 0, 0, 0, 10000)`,
    )
    expect(await page(both, { callsPerSecond: 3.9 })).toContain('WORKER_CONCURRENCY')
    await console.pool.query('delete from dirsync.call_minute')
  })

  test('that wants no calls is named by the overview, with its reason and until when', async () => {
    const { rows } = await console.pool.query<{ paused_until: Date }>(
      `insert into dirsync.pacer (gate, next_at, paused_until, pause_reason)
       values ('platform', now(), now() + interval '1 hour', 'HTTP 429'),
              ('operation:employee/get', now(), now() + interval '2 hours', 'HTTP 429')
       returning paused_until`,
    )
    const answer = await console.ask('viewer', 'GET', '/api/v1/overview')
    const paused_until = rows[0]?.paused_until.toISOString()
    expect(answer.json().pace).toMatchObject({ paused_until, pause_reason: 'HTTP 429' })
    const { body } = await console.ask('viewer', 'GET', '/overview')
    expect(body).toMatch(
      /The platform asked dirsync to wait\.[\s\S]*HTTP 429[\s\S]*Calls continue by themselves/,
    )
    expect(body.split(`datetime="${paused_until}"`)).toHaveLength(3)
    await console.pool.query('delete from dirsync.pacer')
  })

  test.each([
    ['no time', { per_second: 5, reason: 'x' }, /in the next 30 days/],
    [
      'a time that is over',
      { per_second: 5, until: '2020-01-01T00:00:00Z', reason: 'x' },
      /in the next 30 days/,
    ],
    ['a time that is none', { per_second: 5, until: 'soon', reason: 'x' }, /in the next 30 days/],
    ['no reason', { per_second: 5, for: '1h' }, /reason/],
    ['a rate that is none', { per_second: 'fast', for: '1h', reason: 'x' }, /number of calls per second/],
    ['no rate at all', { per_second: 0, for: '1h', reason: 'x' }, /per_second/],
    [
      'a zone that there is not',
      { per_second: 5, for: '1h', zone: 'Mars/Olympus', reason: 'x' },
      /time zone/,
    ],
  ])('a lower rate with %s is refused in a sentence', async (_, body, detail) => {
    const answer = await console.ask('operator', 'POST', '/api/v1/platform/rate', body)
    expect(answer.statusCode).toBe(422)
    expect(answer.json().detail).toMatch(detail)
    expect((await console.pool.query('select from dirsync.rate_cap')).rowCount).toBe(0)
  })

  test('a lower rate ends when the clock on the wall of the one who set it says so', async () => {
    const day = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
    const answer = await console.ask('operator', 'POST', '/api/v1/platform/rate', {
      per_second: 5,
      until: `${day}T09:30`,
      zone: 'Asia/Shanghai',
      reason: 'the vendor asked for it',
    })
    expect(answer.json()).toEqual({ per_second: 5, until: `${day}T01:30:00.000Z` })
    const clear = () => console.ask('operator', 'POST', '/api/v1/platform/rate/clear', {})
    expect((await clear()).json()).toEqual({ restored: true })
    expect((await clear()).json()).toEqual({ restored: false })
  })

  test('a platform that does not answer leaves the token’s state open', async () => {
    const answer = await console.ask('operator', 'POST', '/api/v1/platform/token', {})
    expect(answer.json()).toMatchObject({ accepted: null, category: 'platform_unavailable' })
  })

  test('that is not asked, as all calls are paused, is not said to have given no answer', async () => {
    await console.pool.query(`select dirsync.pause('maintenance')`)
    const paused = 'All calls of this deployment are paused, so this one was not made.'
    const token = await console.ask('operator', 'POST', '/api/v1/platform/token', {})
    expect(token.json()).toMatchObject({ accepted: null, meaning: expect.stringContaining(paused) })
    const employee = await console.ask('operator', 'POST', '/api/v1/employees/e1/explain', {})
    expect(employee.json()).toMatchObject({
      platform: 'not_asked',
      platform_error: expect.stringContaining(paused),
    })
    const { body } = await console.ask('operator', 'POST', '/employees/e1/explain')
    expect(body).toContain('The platform was not asked')
    expect(body).toContain(`${paused} Resume them in the console, under Halts and processes`)
    for (const untrue of ['did not answer', 'not returned', '`']) expect(body).not.toContain(untrue)
    await console.pool.query('select dirsync.resume()')
  })
})

describe('schedules and halts', () => {
  test('what does not exist is not found', async () => {
    for (const path of ['/schedules/nothing/run', '/schedules/nothing/resume', '/halts/E9/probe'])
      expect((await console.ask('operator', 'POST', `/api/v1${path}`, {})).statusCode).toBe(404)
    expect((await console.ask('viewer', 'GET', '/api/v1/schedules?job=nothing')).statusCode).toBe(404)
  })

  test('without a scheduler every list says so', async () => {
    expect((await console.ask('viewer', 'GET', '/api/v1/schedules')).json()).toEqual({
      items: [],
      next: null,
      scheduler_alive: false,
    })
    const page = await console.ask('viewer', 'GET', '/schedules')
    expect(page.body).toContain('No scheduler is running')
  })

  test('a cron job that is switched off says so, promises no tick and is not late', async () => {
    const me = { host: 'h', pid: 1, roles: ['scheduler'], version: '1', pacer: null }
    await heartbeat(console.pool, { ...me, id: crypto.randomUUID() })
    await console.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at) values ('mirror-orders', '15 * * * *', now() - interval '1 day')`,
    )
    const { items } = (await console.ask('viewer', 'GET', '/api/v1/schedules')).json()
    expect(items).toMatchObject([{ job: 'mirror-orders', off: true, overdue: false }])
    for (const page of ['/schedules', '/schedules?job=mirror-orders']) {
      const { body } = await console.browse('operator', 'GET', page)
      expect(body).toMatch(/<span class="state off">.*off<\/span>/)
      expect(body).not.toContain('overdue')
      expect(body).not.toContain('/schedules/mirror-orders/run')
    }
    // No scheduler would run it.
    const run = await console.ask('operator', 'POST', '/api/v1/schedules/mirror-orders/run', {})
    expect(run.statusCode).toBe(422)
    expect(run.json().detail).toContain('mirror-orders is switched off')
    // It was paused before it was switched off.
    await console.pool.query(
      `update dirsync.job_schedule set paused_at = now(), paused_by = 'ann', pause_reason = 'r'`,
    )
    for (const page of ['/schedules', '/schedules?job=mirror-orders']) {
      const { body } = await console.browse('operator', 'GET', page)
      expect(body).toContain('/schedules/mirror-orders/resume')
      expect(body).not.toContain('/schedules/mirror-orders/run')
    }
    expect(
      (await console.ask('operator', 'POST', '/api/v1/schedules/mirror-orders/resume', {})).json(),
    ).toEqual({ resumed: true })
    await console.pool.query('delete from dirsync.job_schedule; delete from dirsync.process')
  })

  test.each([
    ['off', 'interval_seconds = null', false],
    ['paused', `paused_at = now(), paused_by = 'cli:anna'`, false],
    ['in force', 'interval_seconds = 60', true],
  ])(
    'a failed tick of a job that is %s is tried again by the next one only where there is one',
    async (_, set, is) => {
      await console.pool.query(`
      insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
        values ('prune', '* * * * *', now() + interval '1 minute', 60);
      insert into dirsync.job_tick (job, due_at, claimed_by, finished_at, error)
        values ('prune', now(), gen_random_uuid(), now(), 'it broke');
      update dirsync.job_schedule set ${set}`)
      const { body } = await console.browse('viewer', 'GET', '/schedules')
      expect(body).toContain('it broke')
      expect(body.includes('tries again by itself')).toBe(is)
      await console.pool.query('delete from dirsync.job_tick; delete from dirsync.job_schedule')
    },
  )

  test('while a job is paused without which employees stay out of sync, the overview has something to do', async () => {
    const me = { host: 'h', pid: 1, roles: ['scheduler', 'worker'], version: '1', pacer: null }
    await heartbeat(console.pool, { ...me, id: crypto.randomUUID() })
    await console.pool.query(`
      insert into dirsync.employee (userid, source_hash, acknowledged_hash)
        select 'e1', h, h from gen_random_uuid() h;
      insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
        select job, '* * * * *', now() + interval '1 minute', 60 from unnest(array['sync-changes', 'prune']) job`)
    const overview = async () => (await console.browse('viewer', 'GET', '/overview')).body
    expect(await overview()).toContain('There is nothing to do.')
    await console.pool.query(
      `update dirsync.job_schedule set paused_at = now(), paused_by = 'cli:anna', pause_reason = 'until Monday'`,
    )
    const body = await overview()
    expect(body).not.toContain('There is nothing to do.')
    expect(body).toMatch(/href="\/schedules\?job=sync-changes"/)
    expect(body).toContain('until Monday')
    const chinese = { 'accept-language': 'zh-CN' }
    const job = await console.browse('viewer', 'GET', '/schedules?job=prune', undefined, chinese)
    expect(job.body).toContain('已暂停，暂停人：')
    expect((await console.ask('viewer', 'GET', '/api/v1/overview')).json().stalled_jobs).toMatchObject([
      { job: 'sync-changes', paused_by: 'cli:anna', pause_reason: 'until Monday' },
    ])
    await console.pool.query(
      'delete from dirsync.job_schedule; delete from dirsync.employee; delete from dirsync.process',
    )
  })

  test('while the retry of due cases is off, the overview does not say that dirsync tries again by itself', async () => {
    const me = { host: 'h', pid: 1, roles: ['scheduler', 'worker'], version: '1', pacer: null }
    await heartbeat(console.pool, { ...me, id: crypto.randomUUID() })
    await console.pool.query(`
      insert into dirsync.employee (userid, source_hash, parked_hash, platform_state)
        select 'e1', h, h, 'absent' from gen_random_uuid() h;
      insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state)
        values ('employee', 'e1', 'update-employee', 'not_on_platform', '[]', '[]', 'awaiting_activation');
      insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
        values ('retry-due', '* * * * *', now() + interval '1 minute', 60)`)
    const overview = async () => (await console.browse('viewer', 'GET', '/overview')).body
    expect(await overview()).toContain('dirsync tries again by itself.')
    await console.pool.query('update dirsync.job_schedule set interval_seconds = null')
    const body = await overview()
    expect(body).not.toContain('by itself')
    expect(body).toContain('Cases that wait are not retried, as “Retry due cases” is paused or off.')
    await console.pool.query(`
      delete from dirsync.job_schedule; delete from dirsync.employee; delete from dirsync.process;
      delete from dirsync.dead_letter where entity_key = 'e1'`)
  })

  test('while changes are paused, what HR tells by itself is planned all the same, and the page says so', async () => {
    await console.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at) values ('sync-changes', '* * * * *', now())`,
    )
    const told = new HrChanges({
      ...{ pool: console.pool, scope: WHOLE, by: 'trigger', logger: silent },
      limits: { gate: { maxFewerRows: 20, maxEmptied: 20 }, breaker: { count: 50, percent: 10 } },
    })
    const paused = await console.ask('operator', 'POST', '/api/v1/schedules/sync-changes/pause', {
      reason: 'why',
    })
    expect(paused.statusCode).toBe(200)
    told.changed(['e1'])
    await until(
      async () =>
        (await console.pool.query(`select from dirsync.sync_run where requested_by = 'trigger'`)).rowCount ===
        1,
    )
    await told.stop()
    const { body } = await console.browse('viewer', 'GET', '/schedules?job=sync-changes')
    expect(body).toContain('or sooner where a trigger in HR or HR_POLL_SECONDS notices it')
    await console.pool.query('delete from dirsync.job_schedule; delete from dirsync.sync_run')
  })

  test('roles without a process are named, until a process has them', async () => {
    const missing = async () => (await console.ask('viewer', 'GET', '/api/v1/halts')).json().missing_roles
    expect(await missing()).toEqual(['scheduler', 'worker'])
    const page = await console.ask('viewer', 'GET', '/halts')
    expect(page.body).toContain('<code>dirsync start --roles worker</code>')
    const me = {
      id: crypto.randomUUID(),
      host: 'h',
      pid: 1,
      roles: ['worker', 'scheduler'],
      version: '1',
      pacer: null,
    }
    await heartbeat(console.pool, me)
    expect(await missing()).toEqual([])
  })

  test('the sweep is not paused, and a halt of the enterprise without a code is probed', async () => {
    await console.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at) values ('sweep', '*/3 * * * * *', now())`,
    )
    const pause = await console.ask('operator', 'POST', '/api/v1/schedules/sweep/pause', { reason: 'no' })
    expect(pause.statusCode).toBe(422)
    expect(pause.json().detail).toContain('cannot be paused')
    await console.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy, next_probe_at)
       values ('', 'enterprise_code', $1, '[]', now() + interval '1 hour')`,
      [toStore(inWords('<script>alert(1)</script>'))],
    )
    const page = await console.ask('operator', 'GET', '/halts')
    expect(page.body).not.toContain('<script>alert')
    expect(page.body).toContain('action="/halts/-/probe"')
    expect((await console.ask('operator', 'POST', '/api/v1/halts/-/probe', {})).json()).toEqual({ scope: '' })
    const { rows } = await console.pool.query('select next_probe_at <= now() as due from dirsync.halt')
    expect(rows).toEqual([{ due: true }])
    await console.pool.query(`select dirsync.pause('maintenance')`)
    const paused = (await console.ask('operator', 'GET', '/halts')).body
    expect(paused).not.toContain('action="/halts/-/probe"')
    expect(paused).toContain('once someone resumes the calls')
    await console.pool.query('select dirsync.resume()')
  })
})

test('that every role has a process is not said where the console knows of a scheduler and a worker', async () => {
  await console.pool.query(`
    delete from dirsync.halt;
    insert into dirsync.process (id, host, pid, roles, version, heartbeat_at)
    values (gen_random_uuid(), 'h', 1, '{scheduler,worker}', '1', now())`)
  const { body } = await console.browse('viewer', 'GET', '/halts')
  await console.pool.query('delete from dirsync.process')
  expect(body).toContain('Nothing is halted, and a scheduler and a worker are running.')
})

test('a second pause is not dated as its person’s, and no page from before it ends it', async () => {
  await console.pool.query('delete from dirsync.halt')
  await console.ask('operator', 'POST', '/api/v1/pause', { reason: 'the network is rebuilt' })
  await console.pool.query(`update dirsync.halt set since = since - interval '3 hours'`)
  const halts = async () => (await console.browse('operator', 'GET', '/halts')).body
  const versionIn = (body: string) =>
    /action="\/resume"[\s\S]*?name="version" value="([^"]+)"/.exec(body)?.[1] ?? ''
  const resume = (version: string) =>
    console.browse('operator', 'POST', '/resume', new URLSearchParams({ version }).toString())
  const stale = versionIn(await halts())
  await console.ask('admin', 'POST', '/api/v1/pause', { reason: 'the vendor asked for it' })
  const page = await halts()
  const text = page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  expect(text).toContain('All calls are paused (admin (API): the vendor asked for it) , began 3 h ago')
  expect(text).toContain('Reason given by admin (API)')
  const refused = await resume(stale)
  expect(refused.statusCode).toBe(409)
  expect(refused.body).toContain('paused again since you opened this page')
  expect((await console.ask('viewer', 'GET', '/api/v1/halts')).json().halts).toHaveLength(1)
  expect((await resume(versionIn(page))).statusCode).toBe(303)
  expect((await console.ask('viewer', 'GET', '/api/v1/halts')).json().halts).toEqual([])
})

describe('settings', () => {
  test('hold no secret, for people and for programs', async () => {
    const api = await console.ask('admin', 'GET', '/api/v1/settings')
    const page = await console.ask('admin', 'GET', '/settings')
    for (const { body } of [api, page]) expect(body).not.toContain(MARKER)
    const settings: { name: string }[] = api.json().settings
    const of = (name: string) => settings.find(setting => setting.name === name)
    expect(of('PLATFORM_APP_SECRET')).toMatchObject({ value: null, is_set: true, source: 'environment' })
    expect(of('PLATFORM_RATE_LIMIT')).toMatchObject({ value: '10', default: '10', source: 'default' })
    expect(of('CONSOLE_PROXIES')).toMatchObject({ value: '10.0.0.1' })
  })

  test('the doctor runs once for two who ask at the same time, and prints no secret', async () => {
    expect((await console.ask('admin', 'GET', '/api/v1/doctor')).json()).toEqual({ examination: null })
    const [one, two] = await Promise.all([
      console.ask('admin', 'POST', '/api/v1/doctor', {}),
      console.ask('admin', 'POST', '/api/v1/doctor', {}),
    ])
    expect(one.statusCode).toBe(200)
    expect(one.json()).toEqual(two.json())
    const last = await console.ask('admin', 'GET', '/api/v1/doctor')
    expect(last.json()).toEqual(one.json())
    expect(last.json().examination).toMatchObject({ complete: true, by: 'api:token:admin' })
    const page = await console.ask('admin', 'GET', '/doctor')
    for (const { body } of [one, page]) expect(body).not.toContain(MARKER)
    // The platform of this test is not there.
    expect(last.json().examination.findings).toContainEqual(
      expect.objectContaining({ check: 'platform', status: 'failed' }),
    )
  })
})
