import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { lockName, updateOf } from '../../src/sync/outbox/outbox.ts'
import { type Company, createCompany, endOf, until } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { startLink } from '../helpers/link.ts'
import { LAUNCHER, spawnDirsync } from '../helpers/process.ts'
import { SILENT } from '../sync/store-under-test.ts'
import { dirsync as run, wideLines } from './dirsync.ts'

/** A company in sync, with a service that is running. */
const company = duringFile(() =>
  createCompany({
    employees: 30,
    settings: { BREAKER_EMPLOYEES: '3', BREAKER_EMPLOYEES_PERCENT: '10' },
  }),
)
let service: Awaited<ReturnType<Company['start']>>

const dirsync = (...args: string[]) => run(args, company.settings)

beforeAll(async () => {
  service = await company.start()
  await company.run('full')
})

const mail = (domain: string, below: number) =>
  company.hr.query(`update person set email = userid || '@' || $1 where userid < $2`, [
    domain,
    `e${String(below).padStart(4, '0')}`,
  ])

test('a resync that is stopped while it connects starts nothing', async () => {
  const runs = async () => (await company.db.query('select from dirsync.sync_run')).rowCount
  const before = await runs()
  await using link = await startLink(company.settings.DATABASE_URL ?? '')
  link.silence()
  const env = { ...company.settings, DATABASE_URL: link.url }
  await using child = spawnDirsync(['resync', '--full', '--wait'], { env })
  await until(async () => link.ports().length > 0)
  const ended = child.kill('SIGINT')
  link.pass()
  expect(await ended).toMatchObject({ code: 1 })
  expect(child.stderr).toMatch(/^dirsync: nothing was started$/m)
  expect(await runs()).toBe(before)
})

test('people, runs and what is not there are searched for as in the console', async () => {
  const { rows } = await company.hr.query(
    `select name, right(mobile, 4) as digits from person where userid = 'e0007'`,
  )
  const [{ name, digits }] = rows
  for (const text of [name, digits, 'e0007']) {
    const { code, stdout } = await dirsync('search', text)
    expect(code).toBe(0)
    expect(stdout, text).toMatch(/^ +e0007 .* in_sync$/m)
  }
  const run = await dirsync('search', 'run 1')
  expect(run.stdout).toMatch(/^ +#1 .*full/m)
  const none = await dirsync('search', 'no-such-person')
  expect(none.stdout).toContain('Nothing matches “no-such-person”')
  const { employees } = (await dirsync('search', name, '--json')).json()
  expect(employees).toMatchObject([{ userid: 'e0007', found_by: 'name' }])
})

test('a named employee is synced while one waits, and the result is told', async () => {
  await mail('one.example.com', 1)
  const waited = await dirsync('resync', '--employee', 'e0000', '--wait')
  expect(waited.code).toBe(0)
  expect(waited.stdout).toMatch(/^Run \d+: named employees · done\n/)
  expect(waited.stdout).toMatch(/Outcome +Updated +1\n/)
  expect((await company.onPlatform()).get('e0000')).toMatchObject({ email: 'e0000@one.example.com' })
})

test('a run that is waited for may be there before the service', async () => {
  await using own = await createCompany({ employees: 3 })
  await using waiting = spawnDirsync(['resync', '--wait'], { env: own.settings })
  await waiting.waitForLine(/No service is running yet .* waiting up to 30 s/)
  await own.start()
  expect(await waiting.exited).toEqual({ code: 0, signal: null })
  expect(waiting.stdout).toMatch(/^Run \d+: changes .*done\n/)
})

test('a run of changes is waited for, as one JSON document', async () => {
  await mail('two.example.com', 2)
  const waited = await dirsync('resync', '--wait', '--json')
  expect(waited).toMatchObject({ code: 0, stderr: '' })
  expect(waited.json()).toMatchObject({
    ok: true,
    kind: 'changes',
    state: 'done',
    planned: 2,
    outcomes: { updated: 2 },
  })
})

test('a full run with a max age tells how many it skipped', async () => {
  const waited = await dirsync('resync', '--full', '--max-age', '1h', '--wait')
  expect(waited.code).toBe(0)
  expect(waited.stdout).toMatch(/Skipped, confirmed recently +\d+\n/)
})

test('an unknown employee fails the wait, and the others are still synced', async () => {
  const unknown = await dirsync('resync', '--employee', 'nobody', '--wait')
  expect(unknown.code).toBe(1)
  expect(unknown.stdout).toMatch(
    / · failed\n +This run failed\.\n +neither HR nor dirsync knows an employee nobody/,
  )
  expect(unknown.stdout).toMatch(/Plan and outcome\n +no plan was made\n/)
  expect((await dirsync('status', '--json')).json().failed_runs).toEqual([])
  const mixed = await dirsync('resync', '--employee', 'e0001', 'nobody', '--wait', '--json')
  expect(mixed.code).toBe(1)
  expect(mixed.json()).toMatchObject({ ok: false, state: 'done', planned: 1, message: 'unknown: nobody' })
})

test('an employee whom a later run takes over fails the wait', async () => {
  const locks = new SessionLocks(company.settings.DATABASE_URL ?? '', SILENT)
  onTestFinished(() => locks.close())
  // As in hand for another row: nobody looks at it.
  await locks.lock(lockName(updateOf({ enterpriseCode: '', userid: 'e0005' })))
  await company.hr.query(`update person set email = 'e0005@taken.example.com' where userid = 'e0005'`)
  const waiting = dirsync('resync', '--employee', 'e0005', '--wait')
  const isNamed = `select from dirsync.pending where named and entity_key = 'e0005'`
  await until(async () => (await company.db.query(isNamed)).rowCount === 1)
  await company.db.query(`select dirsync.resync('changes')`)
  const waited = await waiting
  expect(waited.code).toBe(1)
  expect(waited.stdout).toMatch(/Outcome +Not finished +1\n/)
  expect(waited.stdout).toContain('a later run has taken over someone who was named')
  // That run comes to them before the next test changes what HR says.
  await locks.close()
  await until(async () => (await company.db.query(`select from dirsync.pending`)).rowCount === 0)
})

test('a dead letter of a named employee is shown with a hint for details', async () => {
  await company.hr.query(`update person set mobile = '19900000003' where userid = 'e0002'`)
  const waited = await dirsync('resync', '--employee', 'e0002', '--wait')
  expect(waited.code).toBe(0)
  expect(waited.stdout).toMatch(
    /Cases that failed in this run · all 1\n.*\n.* e0002 +mobile +duplicate_mobile +open/,
  )
  expect(waited.stdout).toMatch(/Details\n .*dirsync dead-letters show \d+/)
})

test('each dead letter of a swap mentions it', async () => {
  await company.hr.query(
    `update person set mobile = case userid when 'e0010' then '19900000011' else '19900000010' end
     where userid in ('e0010', 'e0011')`,
  )
  await dirsync('resync', '--employee', 'e0010', 'e0011', '--wait')
  const { items } = (await dirsync('dead-letters', 'list', '--json')).json()
  const [one, other] = items.filter(({ swap_id }: { swap_id: number | null }) => swap_id !== null)
  expect(one.swap_id).toBe(Math.min(one.id, other.id))
  expect((await dirsync('dead-letters', 'list')).stdout).toMatch(/ e0010 +mobile +duplicate_mobile +open /)
  expect(await dirsync('dead-letters', 'undo', String(one.id))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`there is nothing to undo in case ${one.id}`),
  })
  const { stdout } = await dirsync('dead-letters', 'show', String(one.id))
  expect(stdout).toMatch(/^ {2}A swap: /m)
  expect(stdout).toMatch(new RegExp(`^Part of a swap\\n.*(\\n.*)? Case ${other.id}$`, 'm'))
  expect(stdout).toMatch(/→ On the platform, change the mobile number of e001[01] \(/)
})

test('a run that finds HR suspect fails the wait, and says what to do without the links of its page', async () => {
  await company.hr.query(
    `create table kept as select userid, mobile from person; update person set mobile = ''`,
  )
  const waited = await dirsync('resync', '--full', '--wait')
  await company.hr.query(`update person p set mobile = k.mobile from kept k where k.userid = p.userid`)
  expect(waited.code).toBe(1)
  expect(waited.stdout).toMatch(/1\. See below what is missing, .* HR\s+database\.\n/s)
  expect(waited.stdout).toMatch(/or start one now\.\n +3\. /)
  const [, command = ''] = /^What is missing\n +npx dirsync (runs \d+)$/m.exec(waited.stdout) ?? []
  expect((await dirsync(...command.split(' '))).stdout).toMatch(/mobile/)
})

describe('a run that its breaker holds', () => {
  let held: number

  test('is foreseen by the plan', async () => {
    await mail('three.example.com', 10)
    const planned = await dirsync('plan')
    expect(planned.code).toBe(1)
    expect(planned.stdout).toMatch(/^Plan of a changes run: would be held\n.*10 of 30 employees would change/)
    expect(planned.stdout).toMatch(/sample +e0000, e0001/)
    expect(planned.stdout).toContain('To do it: npx dirsync resync --wait, then npx dirsync approve RUN\n')
  })

  test('ends the wait with exit 1, and says how to decide', async () => {
    const waited = await dirsync('resync', '--wait')
    expect(waited.code).toBe(1)
    held = Number(/^Run (\d+): changes · held/.exec(waited.stdout)?.[1])
    expect(waited.stdout).toMatch(
      new RegExp(`dirsync plan ${held}\n.*dirsync approve ${held}\n.*dirsync reject ${held}`),
    )
    expect(wideLines(waited.stdout)).toEqual([])
  })

  test('is what the next plan says to decide about: another run would be superseded', async () => {
    const again = await dirsync('plan')
    expect(again.code).toBe(1)
    expect(again.stdout).toMatch(
      new RegExp(
        `Run ${held} was held with such a plan already\\.\nNothing was written\\. To do it: npx dirsync plan ${held}, then npx dirsync approve ${held}\n$`,
      ),
    )
    expect((await dirsync('plan', '--full')).stdout).toContain(`npx dirsync approve ${held}\n`)
    const { held_runs } = (await dirsync('plan', '--json')).json()
    expect(held_runs).toEqual({ employees: held, departments: null })
  })

  test('is told with its plan', async () => {
    const story = await dirsync('runs', String(held))
    expect(story.stdout).toMatch(new RegExp(`^Run ${held}: changes · held`))
    expect(story.stdout).toMatch(/Plan +Changed in HR +10\n/)
    expect((await dirsync('runs')).stdout).toMatch(new RegExp(` ${held} +changes +held`))
  })

  const counted = () =>
    until(async () => {
      const { figures } = (await dirsync('plan', String(held), '--json')).json()
      return figures?.state === 'done' || null
    })

  test('shows its stored plan: columns, departments, a masked sample', async () => {
    await counted()
    const plan = await dirsync('plan', String(held))
    expect(plan.code).toBe(0)
    expect(plan.stdout).toMatch(new RegExp(`^Plan of run ${held} · held\n`))
    expect(plan.stdout).toMatch(/By field that changes or breaks a rule\n.*\n +email +10\n/)
    expect(plan.stdout).toMatch(/By department\n.*\n +D\d +2\n/)
    expect(plan.stdout).toMatch(/e0000 +changed +email → e\*\*\*@three\.example\.com/)
    expect(plan.stdout).not.toContain('e0000@')
    expect(wideLines(plan.stdout)).toEqual([])
    const filtered = await dirsync('plan', String(held), '--department', 'D3', '--json')
    expect(filtered.json().items).toMatchObject([{ key: 'e0003' }, { key: 'e0008' }])
  })

  /** A rejection asks for the next run itself. */
  const nextHeld = () =>
    until(async () => {
      const { rows } = await company.db.query(`select id::int from dirsync.sync_run where state = 'held'`)
      return (rows[0]?.id as number | undefined) ?? null
    })

  test('shows nothing of a value that breaks a rule, in whatever column it came', async () => {
    await company.hr.query(
      `update person set level = '13812345678 ' || repeat('x', 60) where userid < 'e0010'`,
    )
    const { rows } = await company.db.query(`select dirsync.reject($1) as id`, [held])
    expect(rows).toHaveLength(1)
    const rejected = await dirsync('runs', String(held))
    expect(rejected.stdout).toMatch(/· rejected\n.*10 of 30 employees would change/)
    expect(rejected.stdout).not.toMatch(/approve/)
    held = await nextHeld()
    const plan = await dirsync('plan', String(held))
    expect(plan.stdout).toMatch(/level → \*{4} \(72\)/)
    expect(
      plan.stdout + JSON.stringify((await dirsync('plan', String(held), '--json')).json()),
    ).not.toContain('13812345678')
    await company.hr.query(`update person set level = null`)
    await company.db.query(`select dirsync.reject($1)`, [held])
    held = await nextHeld()
  })

  test('has all of it as CSV, with what HR has changed since', async () => {
    await company.hr.query(`update person set email = 'e0000@other.example.com' where userid = 'e0000'`)
    const { stdout } = await dirsync('plan', String(held), '--csv')
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      'enterprise_code,key,reason,department,changed,changed_since,odd,decision,outcome,later',
      ',e0000,changed,D0,,true,false,,,',
      ',e0001,changed,D1,email,false,false,,,',
    ])
    const limited = await dirsync('plan', String(held), '--csv', '--limit', '1')
    expect(limited.stdout).toBe(`${stdout.split('\n').slice(0, 2).join('\n')}\n`)
    expect(await dirsync('plan', String(held), '--csv', '--cursor', 'abc')).toMatchObject({ code: 2 })
    expect((await dirsync('plan', String(held))).stdout).toMatch(/e0000 .*changed in HR since: not sent/)
    await company.hr.query(`update person set email = 'e0000@three.example.com' where userid = 'e0000'`)
  })

  test('shows the old values of a page on request, and only the rows of a filter', async () => {
    await counted()
    const asked = await dirsync('plan', String(held), '--field', 'email', '--department', 'D1', '--ask')
    expect(asked.stdout).toMatch(/e0001 +changed .*email e\*+@\S+ → e\*\*\*@three\.example\.com/)
    expect((await dirsync('plan', String(held), '--field', 'mobile', '--json')).json().items).toMatchObject([
      { key: 'e0002' },
    ])
    expect((await dirsync('plan', String(held), '--field', 'name', '--json')).json().items).toEqual([])
    expect((await dirsync('plan', '--ask')).code).toBe(2)
  })

  test('is approved and rejected in part, and the rest stays held', async () => {
    const id = String(held)
    expect(await dirsync('approve', id, '--employee', 'e0001', 'nobody')).toMatchObject({
      code: 1,
      stderr: `dirsync: the plan of run ${id} has no row of nobody\n`,
    })
    const rejected = await dirsync('reject', id, '--department', 'D2', '--reason', 'not them')
    expect(await dirsync('approve', id, '--employee', 'e0001', 'e0002')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`no undecided row of the plan of run ${id} matches e0002:`),
    })
    expect(rejected.stdout).toMatch(
      /2 rows are rejected.*\nRejected rows are not sent until HR changes them\./,
    )
    const approved = await dirsync('approve', id, '--employee', 'e0001', '--work', 'changed', '--json')
    expect(approved.json()).toEqual({
      run: held,
      decision: 'approved',
      planned: 1,
      part: expect.any(Number),
      undecided: 7,
    })
    await endOf(company.db, approved.json().part)
    const next = await dirsync('plan')
    expect(next.stdout).toMatch(new RegExp(`undecided +7 in held run ${id}, which wait for a decision`))
    const plan = await dirsync('plan', id)
    expect(plan.stdout).toMatch(/3 of 10 rows are decided\./)
    expect(plan.stdout).toMatch(/Rejected, and still different today\n +Employees +2\n/)
    expect(plan.stdout).not.toMatch(/e0001 /)
    expect((await dirsync('plan', id, '--decision', 'all')).stdout).toMatch(/e0001 .*approved, updated/)
    expect((await company.onPlatform()).get('e0003')).not.toMatchObject({ email: 'e0003@three.example.com' })
  })

  test('goes on once it is approved', async () => {
    const approved = await dirsync('approve', String(held))
    expect(approved).toMatchObject({ code: 0, stderr: '' })
    expect(await endOf(company.db, held)).toMatchObject({ state: 'done' })
    expect((await company.onPlatform()).get('e0009')).toMatchObject({ email: 'e0009@three.example.com' })
    const story = (await dirsync('runs', String(held), '--json')).json()
    expect(story).toMatchObject({ approved: true, decided_by: expect.stringContaining('cli:') })
    expect((await dirsync('runs', String(held))).stdout).toMatch(/Decided +.*, \w+ \(shell\)\n/)
    expect((await dirsync('plan', String(held))).stdout).toMatch(/10 of 10 rows are decided\./)
  })

  test('leaves nothing once a part is all of it', async () => {
    await mail('part.example.com', 20)
    const { id } = await company.run('changes')
    const rejected = await dirsync('reject', String(id), '--work', 'changed', '--reason', 'not yet')
    expect(rejected.stdout).toMatch(/^\d+ rows are rejected and not sent; nothing of the plan is left\.\n/)
    expect(await endOf(company.db, id)).toMatchObject({ state: 'rejected' })
    // The rejection asks for a run, which would plan what the next test changes.
    await until(
      async () =>
        (await company.db.query('select from dirsync.sync_run where finished_at is null')).rowCount === 0,
    )
  })

  test('ends without a trace once it is rejected', async () => {
    await mail('four.example.com', 20)
    const { id } = await company.run('changes')
    // A word of --work selects nothing here.
    const refused = await dirsync('reject', String(id), '--reason', 'changed')
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--work changed') })
    const rejected = await dirsync('reject', String(id), '--reason', 'import was broken', '--json')
    expect(rejected).toMatchObject({ code: 0, stderr: '' })
    expect(rejected.json()).toEqual({ run: id, decision: 'rejected' })
    expect((await dirsync('runs', String(id))).stdout).toMatch(/Decided .*: import was broken/)
    expect((await company.onPlatform()).get('e0009')).toMatchObject({ email: 'e0009@three.example.com' })
  })
})

describe('cancel, pause and resume', () => {
  let held: number

  test('calls are paused and go on, and status shows who, when and why', async () => {
    const paused = await dirsync('pause', '--reason', 'maintenance', '--json')
    expect(paused.json()).toEqual({ paused: true, reason: 'maintenance' })
    const status = await dirsync('status')
    expect(status.stdout).toMatch(
      /Everything is halted: paused\n(.*\n)*.*it ends when someone resumes the calls\n/,
    )
    expect(status.stdout.replace(/\s+/g, ' ')).toMatch(/All calls are paused \(\w+ \(shell\): maintenance\)/)
    const call = await dirsync('platform', 'employee/get', '--userid', 'e0001')
    expect(call.code).toBe(1)
    expect(call.stderr.replace(/\s+/g, ' ')).toContain('All calls of this deployment are paused')
    const { findings } = (await dirsync('doctor', '--json')).json()
    expect(findings).toContainEqual({
      check: 'credentials',
      status: 'warning',
      what: 'not checked, because all calls are paused',
    })
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'halt',
        status: 'warning',
        what: expect.stringMatching(/^All calls are paused \(\w+ \(shell\): maintenance\)$/),
      }),
    )
    const plan = await dirsync('plan')
    expect(plan.code).toBe(0)
    expect(plan.stdout).toMatch(/^ *All calls are paused \(\w+ \(shell\): maintenance\)/m)
    expect(plan.stdout).toContain('A run would wait until then.')
    const waited = await dirsync('resync', '--employee', 'e0001', '--wait')
    expect(waited.code).toBe(1)
    expect(waited.stdout.replace(/\s+/g, ' ')).toContain('Let them go on with `npx dirsync resume`')
    expect((await dirsync('resume')).stdout).toBe('Calls to the platform have been resumed.\n')
    expect((await dirsync('resume', '--json')).json()).toEqual({ paused: false, was_paused: false })
    const { rows } = await company.db.query(
      `select name, arguments from dirsync.command where name in ('pause', 'resume') order by id`,
    )
    expect(rows).toEqual([
      { name: 'pause', arguments: { reason: 'maintenance' } },
      { name: 'resume', arguments: {} },
    ])
  })

  test('a run that is over or held cannot be cancelled, and the reason is told', async () => {
    const { id } = await company.run('employees', 'e0001')
    expect(await dirsync('cancel', String(id))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`run ${id} is done, so nothing of it is under way`),
    })
    await mail('five.example.com', 20)
    held = (await company.run('changes')).id
    expect(await dirsync('cancel', String(held))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `run ${held} is held, so nothing of it is under way: reject it instead`,
      ),
    })
  })

  test('what a cancelled run has not sent of a held plan is said to be undecided again', async () => {
    await dirsync('pause', '--reason', 'wait')
    const part = async () =>
      (await dirsync('approve', String(held), '--employee', 'e0001', '--json')).json().part as number
    const first = await part()
    const { stdout } = await dirsync('cancel', String(first))
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      `run ${first} has not sent is undecided again in run ${held}:`,
    )
    expect(stdout).not.toContain('plans it again')
    const second = await part()
    expect((await dirsync('cancel', String(second), '--json')).json()).toEqual({
      run: second,
      decision: 'cancelled',
      undecided_in: held,
    })
    await dirsync('resume')
  })

  test('what is rejected is not sent until HR changes it, and an employee can be sent all the same', async () => {
    const { stdout } = await dirsync('reject', String(held))
    expect(stdout).toMatch(
      new RegExp(
        `^Run ${held} is rejected: nothing of its plan is sent\\.\n` +
          'Rejected rows .* until HR changes them\\. .*dirsync resync --employee ID\n$',
      ),
    )
    expect((await dirsync('plan')).stdout).toMatch(
      /nothing to do; 30 in scope\n +rejected +20, which wait for HR to change them\n/,
    )
    expect((await dirsync('plan', '--json')).json()).toMatchObject({ planned: 0, rejected: 20 })
    await company.hr.query(`update person set email = 'new@five.example.com' where userid = 'e0002'`)
    expect((await dirsync('plan', '--json')).json()).toMatchObject({ planned: 1, rejected: 19 })
    expect((await dirsync('resync', '--employee', 'e0001', '--wait')).code).toBe(0)
    expect((await company.onPlatform()).get('e0001')).toMatchObject({ email: 'e0001@five.example.com' })
  })

  test('what a cancelled run has taken back is not counted as done', async () => {
    await company.control('POST', 'faults', { operation: 'employee/get', latencyMs: 2000, times: 30 })
    const waiting = dirsync('resync', '--full', '--wait')
    const call = `select run_id::int as id from dirsync.pending where in_hand limit 1`
    await until(async () => (await company.db.query(call)).rows.length > 0)
    const { id } = (await company.db.query<{ id: number }>(call)).rows[0] ?? { id: 0 }
    await company.db.query('select dirsync.cancel($1)', [id])
    const runs = await run(['runs'], company.settings, '', 200)
    expect(runs.stdout).toMatch(
      new RegExp(` ${id} +full +being cancelled +\\d+ entr(y is|ies are) still in progress `),
    )
    const waited = await waiting
    await company.control('DELETE', 'faults')
    expect(waited.code).toBe(1)
    expect(waited.stdout).toMatch(/ · cancelled\n/)
    expect(waited.stderr).not.toMatch(/ (\d+)\/\1/)
  })
})

describe('a dry run of another mapping', () => {
  const file = () => join(inject('runFolder'), 'other-mapping.sql')
  const TODAY =
    'select userid, name, mobile, email, dept_code, entry_day, level, cost_center_id, active from person'

  test('tells what the SELECT would change, and is stored', async () => {
    await writeFile(
      file(),
      TODAY.replace('name,', "case when userid = 'e0012' then 'Zoe' else name end as name,"),
    )
    const shown = await dirsync('plan', '--mapping', file())
    expect(shown.stdout).toMatch(/ Change +1\n/)
    expect(shown.stdout).toMatch(/By changed field\n.*\n +name +1\n/)
    expect(shown.stdout).toMatch(/ e0012 +changes .*name P\* → Z\*/)
    expect(shown.stdout).toMatch(/The console shows it at \/mapping\/dry-runs\/1\./)
    const chinese = await run(['plan', '--mapping', file()], { ...company.settings, DIRSYNC_LANG: 'zh-CN' })
    expect(chinese.stdout).toMatch(/ e0012 +有变更 .*姓名 P\* → Z\*/)
    expect(wideLines(shown.stdout.replaceAll(file(), 'FILE'))).toEqual([])
    const told = (await dirsync('plan', '--mapping', file(), '--json')).json()
    expect(told).toMatchObject({
      state: 'done',
      summary: { compared: { changes: 1 } },
      items: [{ userid: 'e0012' }],
      next: null,
    })
    const { rows } = await company.db.query('select state, requested_by from dirsync.dry_run order by id')
    expect(await dirsync('cancel', '--dry-run', '1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('dry run 1 is done, so nothing of it is under way'),
    })
    const waiting = await company.db.query(
      `insert into dirsync.dry_run (mapping) values ('select 1') returning id::int`,
    )
    const cancelled = await dirsync('cancel', '--dry-run', String(waiting.rows[0].id), '--json')
    expect(cancelled.json()).toEqual({ dry_run: waiting.rows[0].id, decision: 'cancelled' })
    expect(rows).toMatchObject([{ state: 'done', requested_by: expect.stringContaining('cli:') }, {}, {}])
  })

  test('fails with line and column where the SELECT is wrong', async () => {
    await writeFile(file(), 'select userid,\n  nme as name from person')
    const failed = await dirsync('plan', '--mapping', file(), '--json')
    expect(failed).toMatchObject({ code: 2, stderr: '' })
    expect(failed.json()).toMatchObject({
      state: 'failed',
      message: 'column "nme" does not exist (42703)',
      error_line: 2,
      error_column: 3,
    })
    const shown = await dirsync('plan', '--mapping', file())
    expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain(
      `${file()}:2:3: column "nme" does not exist (42703)`,
    )
    expect(shown.stdout).toMatch(/\n {3}2 \| {3}nme as name from person\n {9}\^\n$/)
    await writeFile(file(), 'select 1;\tselect 2')
    expect(await dirsync('plan', '--mapping', file())).toMatchObject({
      code: 2,
      stderr: [
        `dirsync: ${file()}:1:11: a second statement begins; the mapping must be one SELECT`,
        '    1 | select 1; select 2',
        '                  ^\n',
      ].join('\n'),
    })
  })

  test('cannot be combined with a run', async () => {
    const wrong = await dirsync('plan', '3', '--mapping', file())
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--mapping goes with --json alone/),
    })
  })
})

test('a reader who has gone does not fail a command', async () => {
  const script = '{ "$0" plan --full; echo "$?" >&2; } | true'
  const env = { ...company.settings, PATH: process.env.PATH }
  expect((await promisify(execFile)('sh', ['-c', script, LAUNCHER], { env })).stderr).toMatch(/(?:^|\n)0\n$/)
})

test('the stored plan is counted by the shell while no process does', async () => {
  await mail('six.example.com', 20)
  const { id } = await company.run('changes')
  await service.stop()
  await company.db.query('delete from dirsync.plan_reading')
  const plan = (await dirsync('plan', String(id), '--json')).json()
  expect(plan).toMatchObject({ state: 'held', figures: { state: 'done', looked_at: 20 } })
})

test('a command that is shown can be typed as it stands, whatever the user id', async () => {
  await company.hr.query(
    `insert into person (userid, name, active) values ('10 20', 'Two', true), ('10', 'One', true)`,
  )
  const { stdout } = await dirsync('employee', '10 20')
  expect(stdout).toContain("resync --employee '10 20' --wait\n")
})
