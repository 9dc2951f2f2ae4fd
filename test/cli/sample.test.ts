import { readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createCompany } from '../helpers/company.ts'
import { createDeployment } from '../helpers/deployment.ts'
import { duringFile } from '../helpers/during.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { type Run, dirsync as run, wideLines } from './dirsync.ts'

/** One deployment of the sample, synced once; no process runs afterwards. */
const deployment = duringFile(createDeployment)
let once: Run

const dirsync = (...args: string[]) => run(args, deployment.settings)

beforeAll(async () => {
  await deployment.own.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by)
    values ('app-R1', 'app-T1', 1, 'unknown', 'tester');
    insert into dirsync.topup (external_code, account_openid, amount, state, requested_by)
    values ('app-topup-1', 'points', 1, 'unknown', 'tester')`)
  once = await dirsync('start', '--once')
})

/** Number of the first case of a category. */
async function caseOf(category: string): Promise<number> {
  const { rows } = await deployment.own.pool.query(
    `select id::int from dirsync.dead_letter where category = $1 order by id limit 1`,
    [category],
  )
  return rows[0].id
}

test.concurrent('the summary of a sync is short, and gives the outcome and hints for details', async () => {
  expect(once.code).toBe(0)
  const { stdout } = once
  expect(stdout).toMatch(/The sync is done, after [\d.]+ s\./)
  expect(stdout).toMatch(/^Employees +334 {2}in scope$/m)
  expect(stdout).toMatch(/^ {2}updated +44 {2}brought in sync$/m)
  expect(stdout).toMatch(/^ {2}invalid_hr_row +4$/m)
  expect(stdout).toMatch(/^Departments +3 {2}deleted; 1 of them had gone already$/m)
  const [run] = (await dirsync('runs', '--kind', 'departments', '--json')).json().items as Record<
    string,
    object
  >[]
  expect(run?.outcomes).toMatchObject({ deleted: 3 })
  expect(stdout).toMatch(/^Open ids +330 {2}bound$/m)
  expect(stdout).toMatch(/^Outcome unknown +2 {2}1 refund, 1 top-up; 2 wait for a person$/m)
  expect(stdout).toMatch(/^ +\S.*dirsync refund list --state unknown$/m)
  expect(stdout).toMatch(/^ +\S.*dirsync topup list --state unknown$/m)
  expect(stdout).toMatch(
    /^Enterprise E900 is halted since [\d:]+: enterprise code refused\n {2}.* \(1000240002\)$/m,
  )
  expect(stdout).toMatch(/dirsync dead-letters list +every case/)
  expect(wideLines(stdout)).toEqual([])
  expect(stdout.split('\n').length).toBeLessThan(60)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are looked for
  expect(stdout).not.toMatch(/\x1b/)
})

test.concurrent('status shows employees, work, halts, runs and dead letters, and that no process is running', async () => {
  const status = await dirsync('status')
  expect(status.code).toBe(0)
  expect(status.stdout).toMatch(/No worker is running.*\n.*dirsync start --roles worker/)
  expect(status.stdout).toMatch(/No scheduler is running.*\n.*dirsync start --roles scheduler/)
  expect(status.stdout).toMatch(/316 of 334 employees/)
  // What leads to a page of the console is no word of the shell.
  expect(status.stdout).toMatch(/cases need review\.\n {2}First steps/)
  expect(status.stdout).toMatch(/queue in PostgreSQL: 0 jobs waiting, 0 being handed out/)
  expect(status.stdout).toMatch(/Enterprise E900 is halted/)
  expect(status.stdout).toMatch(/^ *E200 +level +1 employee .* \d+ open *$/m)
  expect(status.stdout).toMatch(/openids +done/)
  // Never plain "done" where something failed, and with what came of it.
  expect(status.stdout).toMatch(/full +done, 18 cases +272 already in/)
  expect(wideLines(status.stdout)).toEqual([])
})

test.concurrent('a run says of its cases what each is about', async () => {
  const { stdout } = await dirsync('runs', '1')
  expect(stdout).toMatch(/^ +\d+ +E200 +level +feature_disabled +open *$/m)
  expect(stdout).toMatch(/^ +\d+ +E200 +category +feature_disabled +open *$/m)
  expect(wideLines(stdout)).toEqual([])
})

test.concurrent('dead letters are listed, filtered and told', async () => {
  const list = await dirsync('dead-letters', 'list')
  expect(list.stdout).toMatch(/CASE +KEY +WHAT +CAUSE +STATE +SINCE/)
  expect(list.stdout).toContain('20 cases are unresolved')
  expect(wideLines(list.stdout)).toEqual([])

  const filtered = await dirsync('dead-letters', 'list', '--category', 'feature_disabled', '--limit', '2')
  expect(filtered.stdout).toMatch(/^Cases · 3 cases match\n(.*\n)*There are more: --limit shows them\./)

  // As in the console, and under the console's name for them.
  const { count: total, items } = (await dirsync('cases', 'list', '--json')).json()
  const counted = async (...filter: string[]) =>
    (await dirsync('cases', 'list', '--limit', '1', '--json', ...filter)).json().count
  for (const [option, column] of Object.entries({
    enterprise: 'enterprise_code',
    entity: 'entity',
    field: 'field',
    code: 'platform_code',
    'blocked-by': 'blocked_by',
  })) {
    const [value] = items.map((row: Record<string, unknown>) => row[column]).filter(Boolean)
    const expected = items.filter((row: Record<string, unknown>) => row[column] === value)
    expect(await counted(`--${option}`, String(value)), option).toBe(expected.length)
  }
  expect(await counted('--assignee', '-')).toBe(total)
  expect(await counted('--older-than', '1h')).toBe(0)

  // An attribute's case is the employee's own: no other employee was refused.
  const features = await dirsync('dead-letters', 'list', '--category', 'feature_disabled', '--json')
  const { id } = features.json().items.find((row: { entity: string }) => row.entity === 'enterprise')
  const enterprise = await dirsync('dead-letters', 'show', String(id))
  expect(enterprise.stdout).toMatch(/^Case \d+ · open\n.* · E200$/m)
  expect(enterprise.stdout.replaceAll(/\s+/g, ' ')).toContain('Withheld from 1 employee.')

  const shown = await dirsync('dead-letters', 'show', String(await caseOf('duplicate_mobile')))
  expect(shown.stdout).toMatch(/Blocked by +e\d+/)
  expect(shown.stdout).toMatch(/Values \(masked\) +mobile_area 86, mobile \S*\*{4}\S*/)
  expect(shown.stdout).toMatch(/opened dirsync/)
  expect(wideLines(shown.stdout)).toEqual([])
})

test.concurrent('runs are filtered as in the console', async () => {
  const listed = async (...filter: string[]) =>
    (await dirsync('runs', '--limit', '10000', '--json', ...filter)).json().items as Record<string, unknown>[]
  const all = await listed('--since', '1d')
  const [{ kind, state, requested_by } = {}] = all
  expect(all.length).toBeGreaterThan(1)
  for (const [option, column, value] of [
    ['--kind', 'kind', kind],
    ['--state', 'state', state],
    ['--by', 'requested_by', requested_by],
  ] as const)
    expect(await listed(option, String(value)), option).toEqual(all.filter(run => run[column] === value))
  const none = await dirsync('runs', '--by', 'nobody at all')
  expect(none).toMatchObject({ code: 0, stdout: 'Runs\n  No run matches this filter.\n' })
})

test.concurrent('an unknown category lists the known ones; one without cases is empty', async () => {
  const unknown = await dirsync('dead-letters', 'list', '--category', 'bad_luck')
  expect(unknown.code).toBe(2)
  expect(unknown.stderr).toMatch(/there is no category "bad_luck": choose one of .*duplicate_mobile/)
  for (const category of ['platform_unavailable', 'stray_row']) {
    const empty = await dirsync('dead-letters', 'list', '--category', category)
    expect(empty).toMatchObject({ code: 0, stdout: expect.stringContaining('No case matches this filter.') })
  }
})

test.concurrent('a cursor that no list has given is wrong use', async () => {
  expect(await dirsync('dead-letters', 'list', '--cursor', 'nonsense')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^dirsync: cursor: no list has given this one/),
  })
})

test.concurrent("an employee's story holds HR and the platform compared, masked", async () => {
  const told = await dirsync('employee', 'e10172')
  expect(told.code).toBe(0)
  expect(told.stdout).toMatch(/^Employee E100\/e10172\n/)
  expect(told.stdout).toMatch(/email +\S\*\*\*@example\.com +\S\*\*\*@example\.com +in sync/)
  expect(told.stdout).toMatch(/update-emplo(yee|…) +updated/)
  expect(told.stdout).toMatch(/Open id for mall0001 +\w{8}/)
  expect(wideLines(told.stdout)).toEqual([])
  const { rows } = await deployment.hr.pool.query(
    `select given_name from hr.person where staff_id = 'e10172'`,
  )
  expect(told.stdout).not.toContain(rows[0].given_name)
})

test.concurrent('a field that is held back names its dead letter, in the story and in the plan', async () => {
  const { rows } = await deployment.own.pool.query(
    `select min(id)::int as id, entity_key from dirsync.dead_letter where state <> 'resolved'
     group by entity_key having array_agg(category) = '{missing_department}' limit 1`,
  )
  const planned = await dirsync('plan', '--employee', rows[0].entity_key)
  expect(planned.code).toBe(0)
  expect(planned.stdout).toMatch(/dept_code +\S+ +\S+ +held back/)
  expect(planned.stdout).toContain(`→ dept_code: Case ${rows[0].id} missing_department`)
  const json = (await dirsync('plan', '--employee', rows[0].entity_key, '--json')).json()
  expect(json).toMatchObject({ hr: 'present', platform: 'in_service', to_send: [], held_back: ['dept_code'] })
})

test.concurrent('a row that breaks a rule says which, without its value', async () => {
  const { rows } = await deployment.own.pool.query(
    `select entity_key from dirsync.dead_letter where category = 'invalid_hr_row' and field = 'card_no' limit 1`,
  )
  const told = await dirsync('employee', rows[0].entity_key)
  expect(told.stdout).toMatch(/card_no +\S*\*{4}\S* .*breaks a rule/)
  expect(told.stdout).toMatch(/1\. card_no must/)
})

test.concurrent.each([
  ['employee', 'e99999'],
  ['plan', '--employee', 'E100/e99999'],
])('`%s` of an unknown employee fails with one sentence', async (...args) => {
  const failed = await dirsync(...args)
  expect(failed).toMatchObject({ code: 1, stdout: '' })
  expect(failed.stderr).toMatch(/^dirsync: neither HR nor dirsync knows an employee \S+\n$/)
  expect((await dirsync(...args, '--json')).json()).toMatchObject({ error: { code: 'not_found' } })
})

test.concurrent.each([
  [['runs', '9999'], 'there is no run 9999'],
  [['approve', '1'], 'run 1 is done: there is nothing to decide'],
  [['reject', '9999'], 'there is no held run 9999'],
  [['dead-letters', 'show', '9999'], 'there is no case 9999'],
  [['plan', '9999', '--csv'], 'there is no run 9999'],
  [
    ['plan', '1', '--csv'],
    'The plan of run 1 is not stored: only held runs keep theirs, for 180 days after their end, or 30 if they were never decided.',
  ],
])('%j: what is not there fails with one sentence', async (args, sentence) => {
  expect(await dirsync(...args)).toMatchObject({ code: 1, stdout: '', stderr: `dirsync: ${sentence}\n` })
})

test.concurrent.each([
  [['status']],
  [['runs']],
  [['runs', '1']],
  [['employee', 'e10172']],
  [['dead-letters', 'list']],
  [['dead-letters', 'show', '1']],
  [['dead-letters', 'export']],
  [['doctor']],
])('%j --json is one JSON document', async args => {
  const printed = await dirsync(...args, '--json')
  expect(printed.code).toBe(0)
  expect(printed.json()).toBeTypeOf('object')
})

test.concurrent.each([
  [['status']],
  [['runs']],
  [['runs', '1']],
  [['employee', 'e10172']],
  [['dead-letters', 'list']],
  [['dead-letters', 'show', '1']],
  [['alerts', 'channels']],
  [['users', 'list']],
  [['tokens', 'list']],
])('%j says once in which zone its times are', async args => {
  const { code, stdout } = await dirsync(...args)
  expect(code).toBe(0)
  const times = stdout.match(/\b\d\d:\d\d(:\d\d)?\b/g) ?? []
  expect(stdout.match(/^Times are in UTC\S*\.$/gm) ?? []).toHaveLength(times.length > 0 ? 1 : 0)
})

test.concurrent.each(['en', 'zh-CN'])(
  'advice in %s names the program as a person types it',
  async DIRSYNC_LANG => {
    const settings = { ...deployment.settings, DIRSYNC_LANG }
    const elsewhere = { ...settings, PLATFORM_APP_ID: 'another-application' }
    const told = [
      await run(['status'], settings),
      await run(['alerts'], settings),
      await run(['alerts', 'rules'], settings),
      await run(['dead-letters', 'show', String(await caseOf('invalid_hr_row'))], settings),
      await run(['doctor'], elsewhere),
      await run(['plan', '--full'], elsewhere),
    ].map(({ stdout, stderr }) => (stdout + stderr).replace(/\s+/g, ' '))
    for (const text of told) expect(text).not.toContain('`dirsync ')
    expect(told.filter(text => text.includes('`npx dirsync '))).toHaveLength(3)
  },
)

describe('plan', () => {
  const written = async () => {
    const counts = await deployment.own.pool.query(
      `select (select count(*) from dirsync.sync_run) as runs, (select count(*) from dirsync.pending) as pending,
              (select count(*) from dirsync.department) as departments, (select count(*) from dirsync.attempt) as attempts`,
    )
    return counts.rows[0]
  }

  test('of changes asks HR alone and writes nothing', async () => {
    const before = await written()
    const calls = await callsOf('employee/get')
    const planned = await dirsync('plan', '--json')
    expect(planned.code).toBe(0)
    expect(planned.json()).toMatchObject({
      kind: 'changes',
      verdict: 'would run',
      in_scope: 334,
      platform: null,
    })
    expect(await callsOf('employee/get')).toBe(calls)
    expect(await written()).toEqual(before)
  })

  test('of departments has the verdict of a run of them', async () => {
    const departments = async (settings = {}) =>
      (await run(['plan', '--json'], { ...deployment.settings, ...settings })).json().departments
    expect(await departments()).toMatchObject({ verdict: 'would run', message: null })
    const none = join(await temporaryFolder(), 'none.sql')
    await writeFile(none, "select 'D1' as dept_code, null as parent_code, true as active where false")
    expect(await departments({ HR_DEPARTMENTS_SQL: none })).toMatchObject({
      verdict: 'would stop: HR looks wrong',
      message: expect.stringContaining('HR delivered no departments at all'),
    })
    const { rows } = await deployment.own.pool.query(
      `insert into dirsync.sync_run (kind, state, requested_by) values ('changes', 'held', 'a test') returning id`,
    )
    expect(await departments()).toMatchObject({
      verdict: 'would do nothing',
      message: expect.stringContaining(`Run ${rows[0].id} was held, so no department was deleted`),
    })
    await deployment.own.pool.query('delete from dirsync.sync_run where id = $1', [rows[0].id])
  })

  test('of employees is shown while only departments have none', async () => {
    const broken = join(await temporaryFolder(), 'broken.sql')
    await writeFile(broken, 'select gone as dept_code, null as parent_code, true as active from hr.person')
    const settings = { ...deployment.settings, HR_DEPARTMENTS_SQL: broken }
    const why = 'column "gone" does not exist'
    const json = await run(['plan', '--json'], settings)
    expect(json.code).toBe(1)
    expect(json.json()).toMatchObject({
      ...{ verdict: 'would run', in_scope: 334, openids: { missing: 0 }, rejected: 0 },
      ...{ departments: null, departments_error: expect.stringContaining(why) },
    })
    expect((await dirsync('plan', '--json')).json().departments_error).toBeNull()
    const { code, stdout } = await run(['plan'], settings)
    expect(code).toBe(1)
    expect(stdout).toMatch(/334 in scope/)
    expect(stdout.replace(/\s+/g, ' ')).toMatch(/ departments not planned: \S*broken\.sql:1:8: column "gone"/)
  })

  test('tells what is deleted beside the enterprise of which nothing is', async () => {
    const { pool } = deployment.own
    const closed = join(await temporaryFolder(), 'closed.sql')
    await writeFile(
      closed,
      `select code as enterprise_code, 'OLD' as dept_code, null as parent_code, false as active,
              timestamptz '2026-01-01' as closed_at
       from unnest(array['E100', 'E200']) as code`,
    )
    const settings = { ...deployment.settings, HR_DEPARTMENTS_SQL: closed }
    await pool.query(`insert into dirsync.employee (enterprise_code, userid) values ('E200', 'unlocated')`)
    const why = 'No department of an enterprise is deleted before the platform has told'
    expect((await run(['plan', '--json'], settings)).json().departments).toMatchObject({
      verdict: 'would run',
      message: expect.stringContaining(why),
      deletions: ['E100/OLD'],
    })
    const { stdout } = await run(['plan'], settings)
    expect(stdout.replace(/\s+/g, ' ')).toContain(`departments 1 department to delete: E100/OLD. ${why}`)
    expect(stdout).toMatch(/: npx dirsync resync --wait; npx dirsync resync --departments --wait$/m)
    const limits = { BREAKER_DEPARTMENTS: '0', BREAKER_DEPARTMENTS_PERCENT: '0' }
    const held = (await run(['plan'], { ...settings, ...limits })).stdout.replace(/\s+/g, ' ')
    expect(held).toMatch(
      /would be held: E100\/OLD\. 1 of \d+ departments would be deleted, more than 0 .*No department of an/,
    )
    await pool.query(`delete from dirsync.employee where userid = 'unlocated'`)
  })

  test('tells of rows that no run plans', async () => {
    const keyless = join(await temporaryFolder(), 'keyless.sql')
    const mapping = await readFile(deployment.settings.HR_EMPLOYEES_SQL ?? '', 'utf8')
    await writeFile(keyless, mapping.replace('p.staff_id ', "nullif(p.staff_id, 'e10172') "))
    const settings = { ...deployment.settings, HR_EMPLOYEES_SQL: keyless }
    const { stdout } = await run(['plan'], settings)
    expect(stdout).toMatch(/left out +\d+ rows? without a usable user id/)
    expect((await run(['plan', '--json'], settings)).json().keyless).toBeGreaterThan(0)
  })

  test('names what does each part of it', async () => {
    const { pool } = deployment.own
    const next = async () => (await dirsync('plan')).stdout.trimEnd().split('\n').at(-1)
    expect(await next()).toBe('Nothing was written.')
    await pool.query(`
      create table kept as select * from dirsync.openid_binding order by enterprise_code, userid limit 1;
      delete from dirsync.openid_binding b using kept k where (b.enterprise_code, b.userid) = (k.enterprise_code, k.userid)`)
    expect(await next()).toBe('Nothing was written. To do it: npx dirsync resync --openids --wait')
    await pool.query('insert into dirsync.openid_binding select * from kept; drop table kept')
  })

  test('would wait while each enterprise is halted', async () => {
    const { pool } = deployment.own
    // One is halted in the sample.
    expect((await dirsync('plan', '--json')).json()).toMatchObject({
      halt: null,
      halts_of_enterprises: [{ scope: 'E900' }],
    })
    const partly = await dirsync('plan')
    expect(partly.stdout).toContain('Enterprise E900 is halted')
    expect(partly.stdout).toContain('What a run would do of these enterprises would wait until then.')
    await pool.query(`
      insert into dirsync.halt (scope, category, message, remedy, next_probe_at, raised_by)
      select distinct enterprise_code, 'a_test', h.message, h.remedy, h.next_probe_at, h.raised_by
      from dirsync.employee, dirsync.halt h where h.scope = 'E900' on conflict do nothing`)
    expect((await dirsync('plan', '--json')).json()).toMatchObject({
      verdict: 'would run',
      halt: { scope: 'E100' },
    })
    const { stdout } = await dirsync('plan')
    expect(stdout).toContain('Enterprise E100 is halted')
    expect(stdout).toContain('A run would wait until then.')
    await pool.query(`delete from dirsync.halt where category = 'a_test'`)
  })

  test('of an HR that looks wrong is none', async () => {
    const none = join(await temporaryFolder(), 'nobody.sql')
    await writeFile(
      none,
      `select '' as enterprise_code, 'e1' as userid, '' as dept_code, true as active where false`,
    )
    const settings = { ...deployment.settings, HR_EMPLOYEES_SQL: none }
    const told = await run(['plan', '--json'], settings)
    expect(told.code).toBe(1)
    expect(told.json()).toMatchObject({
      verdict: 'would stop: HR looks wrong',
      message: expect.stringContaining('HR delivered no rows at all'),
      planned: null,
    })
    for (const name of ['reasons', 'sample', 'rejected']) expect(told.json()).not.toHaveProperty(name)
    const { stdout } = await run(['plan'], settings)
    expect(stdout).toContain('HR delivered no rows at all')
    expect(stdout).not.toMatch(/vanished|^ *(employees|sample)\b/im)
  })

  test('of everything asks the platform about every valid employee, and writes nothing', async () => {
    const before = await written()
    const planned = await dirsync('plan', '--full', '--json')
    expect(planned.code).toBe(0)
    expect(planned.json().platform).toMatchObject({
      asked: 330,
      in_sync: 316,
      to_update: 0,
      invalid_hr_row: 4,
      not_on_platform: 2,
      refused: 2,
      unanswered: 0,
      fields: { mobile: { to_send: 0, held_back: 2 } },
    })
    const recent = (await dirsync('plan', '--full', '--max-age', '1d', '--json')).json()
    expect(recent).toMatchObject({ skipped: 316, platform: { asked: 14, in_sync: 0 } })
    expect(await written()).toEqual(before)
  })

  test('of everything makes no look-ups in HR, however many employees it asks about', async () => {
    const before = await readings()
    expect((await dirsync('plan', '--full', '--json')).json().platform.asked).toBe(330)
    // Once for the employees, once to count them by department.
    expect(await readings()).toBe(before + 2)
  })

  test.each([
    ['plan', '--employee', 'nobody'],
    ['employee', 'nobody'],
  ])('%s searches for an unknown employee by the index only', async (...args) => {
    const before = await readings()
    const { code, stdout, stderr } = await dirsync(...args)
    expect({ code, said: stdout + stderr }).toMatchObject({
      code: 1,
      said: expect.stringMatching(/neither HR nor dirsync knows an employee\s+nobody/),
    })
    expect(await readings()).toBe(before + 1)
  })

  /** How often HR's employees were read, by scans or look-ups. A backend has reported all of its reads once it is gone. */
  async function readings(): Promise<number> {
    const { pool } = deployment.hr
    const others = async () =>
      (
        await pool.query(
          `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
        )
      ).rowCount
    await expect.poll(others).toBe(0)
    const { rows } = await pool.query<{ scans: number }>(
      `select seq_scan::int + coalesce(idx_scan, 0)::int as scans from pg_stat_user_tables
       where relname = 'employment'`,
    )
    return rows[0]?.scans ?? 0
  }

  async function callsOf(operation: string): Promise<number> {
    const { operations } = await controlOf(deployment.emulator.url)('GET', 'stats')
    return operations[operation]?.calls ?? 0
  }
})

test('cases are snoozed, ignored and retried, with the shell user in the audit', async () => {
  const id = String(await caseOf('left_hr'))
  const snoozed = await dirsync('dead-letters', 'snooze', id, '--until', '3d', '--reason', 'on leave')
  expect(snoozed).toMatchObject({ code: 0 })
  const ignored = await dirsync('dead-letters', 'ignore', id, '--reason', 'agreed', '--json')
  expect(ignored.json()).toEqual({ id: Number(id), state: 'ignored', until: null })
  const again = await dirsync('dead-letters', 'ignore', id, '--reason', 'agreed')
  expect(again).toMatchObject({
    code: 1,
    // Who asks in the shell has not looked before.
    stderr: expect.stringMatching(
      new RegExp(
        `^dirsync: there is no open case ${id}. Last change: .*\\(shell\\), ignored \\(.*\\).$`,
        'm',
      ),
    ),
  })
  expect(await dirsync('dead-letters', 'wake', id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`dirsync: case ${id} is not snoozed. Last change: `),
  })

  const story = (await dirsync('dead-letters', 'show', id, '--json')).json()
  expect(story.events.map((event: { event: string }) => event.event)).toEqual([
    'opened',
    'snoozed',
    'ignored',
  ])
  expect(story.events[1].actor).toMatch(/\(cli:\w+\)/)

  const retried = await dirsync('dead-letters', 'retry', id, '--json')
  expect(retried.code).toBe(0)
  expect(retried.json()).toEqual({ run: expect.any(Number), state: 'requested' })
  expect(retried.stderr).toMatch(/no scheduler and no worker is running/)
  const { rows } = await deployment.own.pool.query(
    `select * from dirsync.command where name not in ('explain', 'export') order by id`,
  )
  expect(rows.map(row => row.name)).toEqual(['snooze', 'ignore', 'retry'])
  expect(rows[2]).toMatchObject({
    arguments: { id: Number(id) },
    requested_by: expect.stringContaining('cli:'),
  })
})

test('a case is assigned and commented, and shows it', async () => {
  const id = String(await caseOf('missing_department'))
  const assigned = await dirsync('dead-letters', 'assign', id, '--to', 'mei')
  expect(assigned).toMatchObject({
    code: 0,
    stdout: `Case ${id} is assigned to mei. mei is not told: there is no address, or no channel that reaches it.\n`,
  })
  const commented = await dirsync('dead-letters', 'comment', id, '--text', 'asked HR', '--json')
  expect(commented.json()).toEqual({ id: Number(id), comment: 'asked HR' })
  const shown = await dirsync('dead-letters', 'show', id)
  expect(shown.stdout).toMatch(/^ *Assignee +mei$/m)
  expect(shown.stdout).toMatch(/ commented \S.*\n +asked HR$/m)
  await dirsync('dead-letters', 'assign', id, '--to', userInfo().username)
  const mine = (await dirsync('cases', 'list', '--assignee', '@me', '--json')).json()
  expect(mine.items.map((found: { id: number }) => String(found.id))).toEqual([id])
  const given = await dirsync('dead-letters', 'assign', id, '--nobody', '--json')
  expect(given.json()).toEqual({ id: Number(id), assignee: null, told: 'no_need' })
  const missing = await dirsync('dead-letters', 'comment', '9999', '--text', 'x')
  expect(missing).toMatchObject({ code: 1, stderr: 'dirsync: there is no case 9999\n' })
})

test('a retry of several is one run, and none when one of them is not there', async () => {
  const ids = [await caseOf('duplicate_email'), await caseOf('invalid_document')]
  const missing = await dirsync('dead-letters', 'retry', ...ids.map(String), '999999')
  expect(missing).toMatchObject({ code: 1, stderr: 'dirsync: there is no unresolved case 999999\n' })
  const { run: id } = (await dirsync('dead-letters', 'retry', ...ids.map(String), '--json')).json()
  const story = (await dirsync('runs', String(id), '--json')).json()
  expect(story).toMatchObject({ kind: 'retry', state: 'requested', keys: ids.map(String) })
})

test('a look at HR and the platform, and an export, are in the audit as the console records them', async () => {
  const seen = async () => {
    const { rows } = await deployment.own.pool.query<{ id: number; name: string; requested_by: string }>(
      `select id::int, name, arguments, requested_by from dirsync.command
       where name in ('explain', 'export') order by id`,
    )
    return rows
  }
  const before = await seen()
  await dirsync('employee', 'e10172')
  await dirsync('plan', '--employee', 'e10173')
  await dirsync('dead-letters', 'export', '--category', 'duplicate_email')
  const recorded = (await seen()).slice(before.length)
  expect(recorded).toMatchObject([
    { name: 'explain', arguments: { key: 'e10172' } },
    { name: 'explain', arguments: { key: 'e10173' } },
    {
      name: 'export',
      arguments: {
        file: expect.stringMatching(/^cases-.*\.csv$/),
        filter: { categories: ['duplicate_email'] },
      },
    },
  ])
  for (const { requested_by } of recorded) expect(requested_by).toMatch(/\(cli:\w+\)$/)
})

test('the export is CSV with a line per case and no formulas', async () => {
  const { rows } = await deployment.own.pool.query(
    `update dirsync.dead_letter set note = '=1+1, "quoted"' where id = $1 returning entity_key`,
    [await caseOf('duplicate_email')],
  )
  const exported = await dirsync('dead-letters', 'export', '--csv', '--category', 'duplicate_email')
  const lines = exported.stdout.trim().split('\n')
  expect(lines[0]).toMatch(/^id,enterprise_code,entity,entity_key,operation,field,category/)
  expect(lines).toHaveLength(3)
  const noted = lines.find(line => line.includes(rows[0].entity_key))
  expect(noted).toContain(`"'=1+1, ""quoted"""`)
  const one = await dirsync(
    'dead-letters',
    'export',
    '--csv',
    '--category',
    'duplicate_email',
    '--limit',
    '1',
  )
  expect(one.stdout.trim().split('\n')).toEqual(lines.slice(0, 2))
})

test.each([
  ['is refused', { code: 1_002_200_106 }, { asked: 101, refused: 1, unanswered: 0 }],
  ['has no answer', { httpStatus: 500 }, { asked: 101, refused: 0, unanswered: 1 }],
])('a full plan is told though the last one whom it asks about %s', async (_, fault, platform) => {
  await using company = await createCompany({ employees: 101 })
  const match = { userid: 'e0100' }
  await company.control('POST', 'faults', { operation: 'employee/get', match, ...fault })
  const planned = await run(['plan', '--full', '--json'], company.settings)
  expect(planned).toMatchObject({ code: 0 })
  expect(planned.json()).toMatchObject({ platform })
})

test.each([{ httpStatus: 500 }, { code: 1_000_240_002 }])(
  'a full plan fails where the platform answers %j about all',
  async fault => {
    await using company = await createCompany({ employees: 3 })
    await company.control('POST', 'faults', { operation: 'employee/get', ...fault })
    const planned = await run(['plan', '--full', '--json'], company.settings)
    expect(planned).toMatchObject({ code: 1 })
    expect(planned.json()).toEqual({ error: expect.anything() })
  },
)

test('a run of several employees is one run, in the audit too', async () => {
  const { run: id } = (await dirsync('resync', '--employee', 'e10172', 'e10173', '--json')).json()
  const story = (await dirsync('runs', String(id), '--json')).json()
  expect(story).toMatchObject({ kind: 'employees', keys: ['e10172', 'e10173'], state: 'requested' })
  expect(story.commands).toMatchObject([{ name: 'resync' }])
})

test('a person who no longer waits for a run that no process does is told what it waits for', async () => {
  await using child = spawnDirsync(['resync', '--full', '--wait'], { env: deployment.settings })
  await child.waitForLine(/No service is running yet/)
  expect(await child.kill('SIGINT')).toMatchObject({ code: 1 })
  expect(child.stderr).toMatch(
    /run \d+ waits, because no scheduler and no worker is running: start them with/,
  )
})

test('waiting for a run ends after 30 s without a process to do it, and the run stays requested', {
  timeout: 90_000,
}, async () => {
  const failed = await dirsync('resync', '--full', '--wait')
  expect(failed).toMatchObject({ code: 1, stdout: '' })
  expect(failed.stderr).toMatch(
    /run \d+ waits, because no scheduler and no worker is running: start them with/,
  )
})
