import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { readSetup, type SetupFacts, type SetupStep, setupSteps } from '../../src/console/overview/setup.ts'
import { failed, ok, warning } from '../../src/doctor/finding.ts'
import { MappingError } from '../../src/hr/errors.ts'
import { inWords, message } from '../../src/texts/message.ts'
import { plantChannel } from '../alerts/planted.ts'
import { createCompany } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { LEAST } from '../helpers/least-settings.ts'
import { worded } from '../texts/worded.ts'
import { ConsoleUnderTest, consoleConfig, plantUser } from './console-under-test.ts'

const NEW: SetupFacts = {
  examination: null,
  planned_at: null,
  hr_away: null,
  platform_halts: [],
  run: null,
  has_synced: false,
  syncing: null,
  token_at: null,
  users: { able: 1, invited: 0 },
  has_provider: false,
  channels: [],
  lines: {
    hr: ['HR_DATABASE_URL=…'],
    mapping: ['HR_EMPLOYEES_SQL=…'],
    platform: ['PLATFORM_BASE_URL=…'],
    credentials: ['PLATFORM_APP_ID=…', 'PLATFORM_APP_SECRET=…'],
    clock: [],
    channel: ['ALERT_CHANNEL_OPS=…'],
    colleague: ['CONSOLE_URL=…'],
  },
}
const at = (time: string) => new Date(`2026-11-24T${time}Z`)
const steps = (facts: Partial<SetupFacts>) =>
  Object.fromEntries(
    setupSteps({ ...NEW, ...facts }).map(({ step, state, waits_for, missing }) => [
      step,
      state === 'waits' ? `waits for ${waits_for}` : missing === null ? state : `${state}: ${missing}`,
    ]),
  )
const WELL = ['hr', 'mapping', 'platform', 'credentials'].map(check => ok(check, inWords('fine')))
const AWAY = inWords('the password is wrong')

describe('the first steps', () => {
  test('of a deployment that has just begun: what can be done, and what waits for it', () => {
    expect(steps({})).toEqual({
      hr: 'next: examination',
      mapping: 'waits for hr',
      check: 'waits for hr',
      platform: 'next: examination',
      channel: 'next: channel_unset',
      colleague: 'next: colleague',
      plan: 'waits for hr',
      sync: 'waits for plan',
    })
  })

  test('give the line of a setting that is missing, or that the doctor has found wrong', () => {
    const lines = (...checks: string[]) =>
      setupSteps({
        ...NEW,
        examination: { at: at('10:00'), complete: true, findings: checks.map(check => failed(check, AWAY)) },
      }).flatMap(({ lines }) => lines)
    const missing = ['ALERT_CHANNEL_OPS=…', 'CONSOLE_URL=…']
    expect(lines()).toEqual(missing)
    expect(lines('hr london')).toEqual(['HR_DATABASE_URL=…', ...missing])
    expect(lines('platform')).toEqual(['PLATFORM_BASE_URL=…', ...missing])
    expect(lines('credentials')).toEqual(['PLATFORM_APP_ID=…', 'PLATFORM_APP_SECRET=…', ...missing])
    expect(lines('clock')).toEqual(missing)
    const channels = [{ has_sent: true, is_failing: true }]
    const channel = setupSteps({ ...NEW, channels }).find(({ step }) => step === 'channel')
    expect(channel).toMatchObject({ state: 'failed', lines: ['ALERT_CHANNEL_OPS=…'] })
  })

  test('say why HR failed, until a later plan shows that it answers', () => {
    const examination = { at: at('10:00'), complete: true, findings: [failed('hr london', AWAY)] }
    const [hr] = setupSteps({ ...NEW, examination })
    expect(hr).toMatchObject({ state: 'failed', reason: AWAY })
    expect(steps({ examination })).toMatchObject({ mapping: 'waits for hr', plan: 'waits for hr' })
    expect(steps({ examination, planned_at: at('09:00') }).hr).toBe('failed')
    expect(steps({ examination, planned_at: at('11:00') }).hr).toBe('done')
    // It is not known whether the rest is well again.
    expect(steps({ examination, planned_at: at('11:00') }).check).toBe('failed: findings')
  })

  test('later steps wait for one that failed, and say themselves why only before it was looked at', () => {
    const run = { id: 7, state: 'failed', message: AWAY, at: at('10:00') }
    expect(steps({ hr_away: AWAY, run })).toMatchObject({
      hr: 'failed',
      mapping: 'waits for hr',
      check: 'waits for hr',
      plan: 'waits for hr',
      sync: 'waits for plan',
    })
    expect(steps({ run })).toMatchObject({
      hr: 'next: examination',
      plan: 'failed',
      sync: 'waits for plan',
    })
  })

  test('say at the mapping that a run found it broken, until a later examination finds it well', () => {
    const { said } = new MappingError('MAPPING_COLUMNS', 'employees.sql', inWords('no such column'))
    const run = { id: 7, state: 'failed', message: message('said.of_source', { name: 'a', reason: said }) }
    const examination = { at: at('10:00'), complete: true, findings: WELL }
    const broken = { run: { ...run, at: at('10:01') } }
    const waiting = { plan: 'waits for mapping', sync: 'waits for plan' }
    expect(steps(broken)).toMatchObject({ mapping: 'failed', plan: 'waits for hr', sync: 'waits for plan' })
    expect(steps({ ...broken, examination })).toMatchObject({ hr: 'done', mapping: 'failed', ...waiting })
    const [, mapping] = setupSteps({ ...NEW, ...broken, examination })
    expect(mapping).toMatchObject({ reason: run.message, run: 7, lines: ['HR_EMPLOYEES_SQL=…'] })
    expect(steps({ ...broken, planned_at: at('09:00'), token_at: at('09:00') })).toMatchObject({
      ...{ hr: 'done', mapping: 'failed', plan: 'done', sync: 'next: run' },
    })
    expect(steps({ run: { ...run, at: at('09:59') }, examination })).toMatchObject({
      ...{ mapping: 'done', plan: 'next: run', sync: 'waits for plan' },
    })
  })

  test.each([
    ['credentials', ['PLATFORM_APP_ID=…', 'PLATFORM_APP_SECRET=…']],
    ['clock_skew', []],
    ['platform_unavailable', ['PLATFORM_BASE_URL=…']],
    ['enterprise_code', []],
  ])('say that the platform does not accept dirsync while %s halts work', (category, lines) => {
    const platform_halts = [{ scope: '*', category, message: AWAY }]
    const facts = { ...NEW, token_at: at('10:00'), planned_at: at('10:00'), platform_halts }
    expect(steps(facts)).toMatchObject({ platform: 'failed', sync: 'waits for platform' })
    expect(setupSteps(facts).find(({ step }) => step === 'platform')).toMatchObject({ reason: [AWAY], lines })
  })

  test('an examination that was stopped shows what it saw, and is to be repeated', () => {
    const examination = { at: at('10:00'), complete: false, findings: WELL.slice(0, 2) }
    expect(steps({ examination })).toMatchObject({ hr: 'done', mapping: 'done', check: 'next: examination' })
  })

  test('say that the doctor warns of something, which is nothing that fails', () => {
    const findings = [...WELL, warning('alerts', inWords('no channel'))]
    const examination = { at: at('10:00'), complete: true, findings }
    expect(steps({ examination }).check).toBe('done: warnings')
    expect(steps({ examination: { ...examination, findings: WELL } }).check).toBe('done')
  })

  test('a run that goes on, is held, failed or was done', () => {
    const examination = { at: at('10:00'), complete: true, findings: WELL }
    const of = (state: string, planned_at: Date | null) => {
      const run = { id: 7, state, message: AWAY, at: at('10:00') }
      const { plan, sync } = steps({ examination, planned_at, run })
      return [plan, sync]
    }
    expect(steps({ examination })).toMatchObject({ plan: 'next: run', sync: 'waits for plan' })
    expect(of('planning', null)).toEqual(['next: under_way', 'waits for plan'])
    expect(of('held', at('10:01'))).toEqual(['done', 'next: approval'])
    expect(of('running', at('10:01'))).toEqual(['done', 'next: under_way'])
    expect(of('source_suspect', null)).toEqual(['failed', 'waits for plan'])
    expect(of('rejected', at('10:01'))).toEqual(['done', 'next: run'])
    const run = { id: 8, state: 'done', message: null, at: at('10:02') }
    const [sync] = setupSteps({ ...NEW, examination, planned_at: at('10:01'), run, syncing: 7 }).slice(-1)
    expect(sync).toMatchObject({ step: 'sync', state: 'next', missing: 'under_way', run: 7 })
  })

  test('a channel counts once a message got through, and a colleague once they may sign in', () => {
    const channel = (has_sent: boolean, is_failing: boolean) =>
      steps({ channels: [{ has_sent, is_failing }] }).channel
    expect(channel(false, false)).toBe('next: channel_untested')
    expect(channel(false, true)).toBe('failed: channel_failing')
    expect(channel(true, true)).toBe('failed: channel_failing')
    expect(channel(true, false)).toBe('done')
    const colleague = (able: number, invited: number) => steps({ users: { able, invited } }).colleague
    expect(colleague(0, 1)).toBe('next: link_unopened')
    expect(colleague(1, 1)).toBe('next: link_unopened')
    expect(colleague(2, 0)).toBe('done')
    expect(steps({ has_provider: true }).colleague).toBe('done')
  })
})

test('of a deployment whose HR has never answered, none that needs HR is done', async () => {
  const HR_DATABASE_URL = `postgres://reader:its-password@127.0.0.1:${await freePort()}/hr`
  await using company = await createCompany({ employees: 0, settings: { HR_DATABASE_URL } })
  await company.start()
  expect((await company.run('full')).state).toBe('failed')
  const { rows } = await company.db.query('select planned_at from dirsync.sync_run')
  expect(rows[0].planned_at).not.toBeNull()
  const services = { pool: company.db, config: loadConfig(company.settings) }
  const found = await readSetup(services, { readOnly: true, env: company.settings })
  const of = (name: string) => found.steps.find(({ step }) => step === name)
  expect(of('hr')).toMatchObject({
    state: 'failed',
    reason: expect.objectContaining({ key: expect.any(String) }),
  })
  expect(of('hr')?.lines).toEqual([expect.stringMatching(/^HR_DATABASE_URL=/)])
  expect(JSON.stringify(found)).not.toContain('its-password')
  for (const name of ['mapping', 'check', 'plan'])
    expect(of(name)).toMatchObject({ state: 'waits', waits_for: 'hr' })
  expect(of('sync')).toMatchObject({ state: 'waits', waits_for: 'plan' })
})

describe('in the console', () => {
  const console = new ConsoleUnderTest(() => ({
    ALERT_CHANNEL_OPS: 'https://hooks.example/its-secret',
    PLATFORM_APP_ID: 'our-application',
    PLATFORM_APP_SECRET: 'its-app-secret',
  }))
  const setup = async () => (await console.ask('operator', 'GET', '/api/v1/setup')).json()
  const page = async (role: 'viewer' | 'operator' | 'admin') =>
    (await console.ask(role, 'GET', '/overview')).body

  test('operators see them, viewers do not; when all are done they never come back', async () => {
    expect(await page('viewer')).not.toContain('id="setup"')
    expect(await page('operator')).toContain('0 of 8 done')
    expect(await page('operator')).not.toContain('its-secret')
    await console.pool.query(`insert into dirsync.examination values (true, now(), 'test', true, $1)`, [
      JSON.stringify(WELL),
    ])
    await console.pool.query(
      `insert into dirsync.alert_channel (name, kind, target, least, language, seen_at, last_sent_at)
       values ('ops', 'webhook', 'hooks.example', 'info', 'en', now(), now());
       insert into dirsync.sync_run (kind, state, mapping, planned_at, finished_at)
       values ('full', 'done', 'm', now(), now())`,
    )
    for (const name of ['anna', 'ben']) await plantUser(console.pool, name, 'viewer')
    expect(await setup()).toMatchObject({ ended: { by: null }, steps: [] })
    await console.pool.query('update dirsync.console_user set disabled_at = now()')
    expect(await page('operator')).not.toContain('id="setup"')
  })

  test('a webhook of events alone lets no alert reach anybody, even if messages get through', async () => {
    await console.pool.query('delete from dirsync.setup; delete from dirsync.alert_channel')
    await plantChannel(console.pool, 'hook')
    const env = { ...LEAST, ALERT_CHANNEL_HOOK: 'https://hooks.example/x' }
    const channel = async (more = {}) => {
      const services = { pool: console.pool, config: loadConfig({ ...env, ...more }) }
      const { steps } = await readSetup(services, { readOnly: true, env })
      return steps.find(({ step }) => step === 'channel')
    }
    expect(await channel()).toMatchObject({ state: 'done' })
    expect(await channel({ ALERT_CHANNEL_HOOK_EVENTS: 'run.done' })).toMatchObject({
      state: 'next',
      missing: 'channel_unset',
    })
  })

  test('are done for HR once they are for each of its sources', async () => {
    await console.pool.query(`
      delete from dirsync.setup; delete from dirsync.examination; delete from dirsync.sync_run;
      insert into dirsync.hr_source (name, position, kind, address, enterprise_codes)
        values ('north', 0, 'postgres', 'hr', '{E1}'), ('south', 1, 'postgres', 'hr', '{E2}')`)
    const run = (source: string, state: string, mapping: string | null, what: object[] = []) =>
      console.pool.query(
        `insert into dirsync.sync_run (kind, hr_source, state, mapping, planned_at, finished_at, message)
         values ('full', $1, $2, $3, case when $2 <> 'failed' then now() end, now(), $4)`,
        [source, state, mapping, JSON.stringify(what)],
      )
    const states = async () => {
      const steps: SetupStep[] = (await setup()).steps
      const of = (name: string) => steps.find(({ step }) => step === name)
      return [of('mapping')?.state, of('plan')?.state, of('sync')?.state]
    }
    await run('north', 'done', 'm')
    const [, ...begun] = await states()
    expect(begun).not.toContain('done')
    await console.pool.query(
      `insert into dirsync.sync_run (kind, hr_source, state) values ('full', 'south', 'running')`,
    )
    await run('south', 'done', 'm')
    expect(await states()).toEqual(['done', 'done', 'waits'])
    await console.pool.query(`update dirsync.sync_run set state = 'done', finished_at = now()`)
    expect(await states()).toEqual(['done', 'done', 'done'])
    await run('south', 'failed', null, [
      message('said.in_mapping', { place: 'm.sql:1', reason: inWords('wrong') }),
    ])
    await run('north', 'done', 'm')
    expect((await states())[0]).toBe('failed')
    await console.pool.query('delete from dirsync.hr_source; delete from dirsync.sync_run')
  })

  test('never say that the doctor finds nothing wrong where it warns', async () => {
    await console.pool.query('delete from dirsync.setup; delete from dirsync.examination')
    await console.pool.query(`insert into dirsync.examination values (true, now(), 'test', true, $1)`, [
      JSON.stringify([...WELL, warning('halt', inWords('E1 is halted'))]),
    ])
    const body = await page('admin')
    expect(body).not.toContain('finds nothing wrong')
    expect(body).toMatch(/The doctor finds no failure.*done.*It warns of something\. <a href="\/doctor">/s)
  })

  test('a colleague is not in before they have a password, however many users there are', async () => {
    await console.pool.query(
      'delete from dirsync.setup; delete from dirsync.examination; delete from dirsync.console_user',
    )
    const colleague = async () =>
      (await setup()).steps.find(({ step }: { step: string }) => step === 'colleague')
    await plantUser(console.pool, 'anna', 'admin')
    await console.pool.query(
      `insert into dirsync.console_user (name, source, role) values ('local', 'key', 'admin')`,
    )
    expect(await colleague()).toMatchObject({
      state: 'next',
      missing: 'colleague',
      lines: [expect.stringMatching(/^CONSOLE_URL=https:/)],
    })
    await console.ask('admin', 'POST', '/api/v1/access/users', { name: 'ben', role: 'viewer' })
    expect(await colleague()).toMatchObject({ state: 'next', missing: 'link_unopened' })
    expect(await page('operator')).toContain('has not opened the link yet')
    const change = (text: string) => console.pool.query(`update dirsync.${text}`)
    await change(`sign_in_link set expires_at = now() where user_name = 'ben'`)
    expect(await colleague()).toMatchObject({ state: 'next', missing: 'colleague' })
    // A link that was opened, without a password chosen then, opens nothing any more.
    await change(
      `sign_in_link set expires_at = now() + interval '1 day', used_at = now() where user_name = 'ben'`,
    )
    await change(`console_user set last_sign_in_at = now() where name = 'ben'`)
    expect(await colleague()).toMatchObject({ state: 'next', missing: 'colleague' })
    await plantUser(console.pool, 'carl', 'viewer')
    expect(await colleague()).toMatchObject({ state: 'done', lines: [] })
  })

  test('a halt of the platform fails its step, a pause or a halt of HR does not', async () => {
    await console.pool.query('delete from dirsync.setup')
    const step = async () => (await setup()).steps.find(({ step }: { step: string }) => step === 'platform')
    const platform = async () => (await step()).state
    const before = await platform()
    expect(before).not.toBe('failed')
    const halt = (scope: string, category: string) =>
      console.pool.query(
        `insert into dirsync.halt (scope, category, message, remedy, raised_by)
         values ($1, $2, '{"key": "said.hr_away"}', '[]', 'a test')`,
        [scope, category],
      )
    await halt('E1', 'hr_unavailable')
    await halt('*', 'paused')
    expect(await platform()).toBe(before)
    await halt('E2', 'enterprise_code')
    expect(await platform()).toBe('failed')
    expect(worded(await step()).reason).toMatch(/^Enterprise E2: /)
    for (const scope of ['E3', 'E4', 'E5', 'E6']) await halt(scope, 'enterprise_code')
    expect(await step()).toMatchObject({
      reason: expect.stringMatching(/^Enterprise E2: .*Enterprise E3: .*Enterprise E4: (?!.*Enterprise)/),
      more: 2,
    })
    expect(await page('operator')).toContain('<a href="/halts">and 2 more</a>')
    await console.pool.query(`update dirsync.halt set category = 'credentials' where scope = '*'`)
    expect(worded(await step()).reason).not.toContain('Enterprise')
    await console.pool.query('delete from dirsync.halt')
  })

  test('the trial says that it is one, and how to leave it', async () => {
    await console.pool.query('delete from dirsync.setup')
    const config = { ...consoleConfig(console.url), embedded: true }
    const trial = await readSetup({ pool: console.pool, config }, { readOnly: true, env: {} })
    expect(trial.is_sample).toBe(true)
    expect(trial.own_lines.map(line => line.split('=')[0])).toEqual([
      'DATABASE_URL',
      'HR_DATABASE_URL',
      'HR_EMPLOYEES_SQL',
      'PLATFORM_BASE_URL',
      'PLATFORM_APP_ID',
      'PLATFORM_APP_SECRET',
    ])
    expect(trial.own_lines.join()).not.toContain(console.url)
  })

  test('settings are shown as they are to administrators alone', async () => {
    await console.pool.query('delete from dirsync.setup')
    const findings = JSON.stringify([failed('mapping', AWAY), ok('hr', AWAY), failed('credentials', AWAY)])
    await console.pool.query(
      `insert into dirsync.examination values (true, now() + interval '1 day', 'test', true, $1)`,
      [findings],
    )
    const lines = async (role: 'operator' | 'admin') =>
      (await console.ask(role, 'GET', '/api/v1/setup')).json().steps.flatMap((step: SetupStep) => step.lines)
    expect(await lines('admin')).toContain('PLATFORM_APP_ID=our-application')
    expect(await lines('operator')).toContain('PLATFORM_APP_ID=demo-application')
    for (const role of ['operator', 'admin'] as const) {
      expect((await lines(role)).join()).not.toContain('its-app-secret')
      expect((await lines(role)).map((line: string) => line.split('=')[0])).toEqual([
        'HR_EMPLOYEES_SQL',
        'PLATFORM_APP_ID',
        'PLATFORM_APP_SECRET',
        'PLATFORM_SIGN_ALGORITHM',
      ])
    }
  })

  test('an administrator puts them away, which is recorded', async () => {
    await console.pool.query('delete from dirsync.setup')
    expect(await page('admin')).toContain('id="setup"')
    expect((await console.ask('operator', 'POST', '/api/v1/setup/dismiss')).statusCode).toBe(403)
    expect((await console.ask('admin', 'POST', '/api/v1/setup/dismiss')).statusCode).toBe(200)
    expect((await console.commands()).at(-1)).toMatchObject({ name: 'setup dismiss' })
    expect(await setup()).toMatchObject({ ended: { by: 'api:token:admin' }, steps: [] })
    expect(await page('admin')).not.toContain('id="setup"')
  })
})
