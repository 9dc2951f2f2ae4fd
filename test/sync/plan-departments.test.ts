import { describe, expect, test } from 'vitest'
import { previewDeletions } from '../../src/console/departments/page.ts'
import { HrSources } from '../../src/hr/sources.ts'
import { claimDeployment, switchAccount } from '../../src/sync/health/deployment.ts'
import { lostEnterprises } from '../../src/sync/plan/departments.ts'
import { readRun, recheckHeldRun, requestRun } from '../../src/sync/runs/run.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { departments as texts } from '../../src/texts/en/departments.ts'
import { worded } from '../texts/worded.ts'
import { begin, type Differs, employee, memory, outcome, refusal } from './outcomes.ts'
import { clockIsOff, LIMITS, PlanUnderTest } from './plan-under-test.ts'
import { plantWork } from './planted.ts'

const under = new PlanUnderTest()
const hr = (text: string) => under.hr.query(text)

describe('departments are checked against the last full reading of employees', () => {
  const EMPLOYEES = 'select userid, name, mobile, dept_code, active from person'
  const DEPARTMENTS = 'select dept_code, parent_code, active, closed_at from department'
  const delivering = (employees: string) => under.source(employees, DEPARTMENTS)
  const plan = (employees = EMPLOYEES) => under.plan('departments', { source: delivering(employees) })

  /** Ten employees of D1, whom the platform has not shown yet, two of D2, and a third department without any. */
  async function closed(): Promise<void> {
    await under.hire(12)
    await hr(`update person set dept_code = case when userid in ('e1', 'e2') then 'D2' else 'D1' end where active;
      insert into department values ('D1', null, true, null), ('D2', null, false, now() - interval '2 days'),
        ('D3', null, false, now() - interval '2 days')`)
    await under.plan('changes', { employees: EMPLOYEES })
    await under.acknowledge()
  }

  test('one that was closed but now stays, although the clock of the process is days ahead', async () => {
    await closed()
    await hr(`update department set closed_at = now() where dept_code = 'D3'`)
    clockIsOff(48)
    expect(await plan()).toMatchObject({ state: 'running', planned: 0 })
    const source = delivering(EMPLOYEES)
    expect(await previewDeletions(under.store.pool, HrSources.one(source), LIMITS)).toMatchObject({
      deletions: [],
    })
  })

  test('one without employees is deleted, and a preview tells that its deletion waits already', async () => {
    await closed()
    const preview = () => previewDeletions(under.store.pool, HrSources.one(delivering(EMPLOYEES)), LIMITS)
    expect(await preview()).toMatchObject({ deletions: [{ deptCode: 'D3' }], waiting: 0 })
    expect(await plan()).toMatchObject({ state: 'running', plan: { reasons: { delete: 1 } } })
    expect(await under.pending()).toEqual(['D3'])
    expect(await preview()).toMatchObject({ deletions: [{ deptCode: 'D3' }], waiting: 1 })
  })

  test('a deletion that waits already is part of the next plan, and taken back with it', async () => {
    // As the preview says.
    expect(texts['departments.already_waiting']).toContain('rejecting or cancelling it takes them back')
    const undo = (what: string, run: number) =>
      under.store.pool.query(`select dirsync.${what}($1, 'not so')`, [run])
    await closed()
    await plan()
    await undo('cancel', (await plan()).id)
    expect(await under.pending()).toEqual([])
    await plan()
    expect(await under.pending()).toEqual(['D3'])
    await hr(
      `insert into department select 'X' || i, null, false, now() - interval '2 days' from generate_series(1, 4) i`,
    )
    const { id, state } = await plan()
    expect(state).toBe('held')
    expect(await under.pending()).toEqual(['D3'])
    await undo('reject', id)
    expect(await under.pending()).toEqual([])
  })

  test('leavers without a department make up for none of those who are missing', async () => {
    await under.hire(10, 20)
    await hr(`update person set active = false, dept_code = null`)
    await closed()
    expect(worded(await plan(`${EMPLOYEES} where userid in ('e0', 'e3', 'e4')`))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('of 12 in the last good run'),
    })
    expect(await plan()).toMatchObject({ state: 'running', plan: { reasons: { delete: 1 } } })
  })

  test.each([
    ['no employee at all', `${EMPLOYEES} where false`],
    ['far fewer', `${EMPLOYEES} where userid in ('e0', 'e3', 'e4')`],
    ['all of them without a department', EMPLOYEES.replace('dept_code,', 'null as dept_code,')],
    ['leavers alone', EMPLOYEES.replace(' active', ' false as active')],
  ])('none is while HR delivers %s', async (_, employees) => {
    await closed()
    expect(worded(await plan(employees))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('of 12 in the last good run'),
    })
    expect(await under.pending()).toEqual([])
    const preview = await previewDeletions(under.store.pool, HrSources.one(delivering(employees)), LIMITS)
    expect(worded(preview)).toMatchObject({
      deletions: [],
      unread: expect.stringContaining('of 12 in the last good run'),
    })
  })

  test('none is while HR delivers no department, for a run and for its preview', async () => {
    await closed()
    await plan()
    await hr('delete from department')
    const why = expect.stringContaining('HR delivered no departments at all')
    expect(worded(await plan())).toMatchObject({ state: 'source_suspect', message: why })
    const preview = await previewDeletions(under.store.pool, HrSources.one(delivering(EMPLOYEES)), LIMITS)
    expect(worded(preview)).toMatchObject({ deletions: [], isHeld: false, unread: why })
  })

  test('none is of an enterprise of which HR delivers no department', async () => {
    const enterprise = `case when dept_code like 'X%' then 'E2' else 'E1' end as enterprise_code`
    const employees = `select userid, name, dept_code, ${enterprise} from person`
    const source = under.source(
      employees,
      `select dept_code, parent_code, active, closed_at, ${enterprise} from department`,
    )
    const planned = (count = 9) =>
      under.plan('departments', { source, limits: { departments: { count, percent: 10 } } })
    await under.hire(12)
    await hr(`update person set dept_code = 'X2' where userid = 'e1';
      insert into department values ('D0', null, true, null), ('X1', null, true, null),
        ('X2', null, false, now() - interval '2 days')`)
    await under.plan('changes', { employees })
    await under.acknowledge()
    expect(await planned()).toMatchObject({ planned: 0 })
    await hr(`delete from person where userid = 'e1'; delete from department where dept_code like 'X%'`)
    const aDayLater = () =>
      under.store.pool.query(
        `update dirsync.department set first_missing_at = first_missing_at - interval '25 hours'`,
      )
    const lost = {
      planned: 0,
      message: expect.stringMatching(/^HR delivers no department of enterprise E2: its departments are kept/),
    }
    expect(worded(await planned())).toMatchObject(lost)
    await aDayLater()
    expect(worded(await planned())).toMatchObject(lost)
    expect(await lostEnterprises(under.store.pool)).toEqual(['E2'])
    expect(
      await under.store.rows('select from dirsync.department where first_missing_at is not null'),
    ).toEqual([])
    // A dissolved enterprise: one of its departments is delivered, closed.
    await hr(`insert into department values ('X2', null, false, now() - interval '2 days')`)
    expect(await planned()).toMatchObject({ message: null, plan: { sample: ['E2/X2'] } })
    expect(await lostEnterprises(under.store.pool)).toEqual([])
    await aDayLater()
    expect((await planned()).plan?.sample.toSorted()).toEqual(['E2/X1', 'E2/X2'])
    // Nor is a held plan of them made anew.
    const held = await planned(1)
    expect(held).toMatchObject({ state: 'held', planned: 2 })
    await hr(`delete from department where dept_code like 'X%'`)
    expect(await planned()).toMatchObject({ planned: 0 })
    await recheckHeldRun(under.store.pool, held.id)
    expect(await under.planRequested(held.id, source)).toMatchObject({
      state: 'held',
      plan: { changed_since: 0 },
    })
    // Once they are deleted, HR may do without.
    await under.store.pool.query(
      `update dirsync.department set deleted_at = now() where enterprise_code = 'E2'`,
    )
    expect(await lostEnterprises(under.store.pool)).toEqual([])
    expect(await planned()).toMatchObject({ message: null })
  })

  test('none is before a run has read all employees, nor while the last one did not pass', async () => {
    await hr(`insert into department values ('D4', null, false, now() - interval '2 days')`)
    const unread = (why: string) => ({
      ...{ state: 'running', planned: 0 },
      message: expect.stringMatching(new RegExp(`^No department is deleted .*: ${why}`)),
    })
    expect(worded(await plan())).toMatchObject(unread('no run has tried yet'))
    await closed()
    await hr('update person set name = null')
    await under.plan('changes', { employees: EMPLOYEES })
    expect(worded(await plan())).toMatchObject(unread('look at the latest run of kind changes'))
    expect(await under.pending()).toEqual([])
  })

  test('none is before a run has read all employees with another mapping, by which they may be in other departments', async () => {
    await closed()
    const byName = EMPLOYEES.replace('dept_code', `'n' || dept_code as dept_code`)
    const unread = {
      planned: 0,
      message: expect.stringContaining(
        'the mapping of this process is not that of the last plan that passed',
      ),
    }
    expect(worded(await plan(byName))).toMatchObject(unread)
    const preview = await previewDeletions(under.store.pool, HrSources.one(delivering(byName)), LIMITS)
    expect(worded(preview)).toMatchObject({ deletions: [], unread: unread.message })
    const { id, state } = await under.plan('changes', { employees: byName })
    expect(state).toBe('held')
    expect(worded(await plan(byName))).toMatchObject({
      planned: 0,
      message: expect.stringContaining(`Run ${id} was held`),
    })
    expect(await under.pending()).toEqual([])
  })

  test('none is before a run has read all employees for another account', async () => {
    const ours = { baseUrl: 'https://platform.test', appId: 'ours', enterpriseCode: '' }
    await claimDeployment(under.store.pool, ours)
    await closed()
    await switchAccount(under.store.pool, { ...ours, appId: 'theirs' }, { keepMemory: false, actor: 'cli:x' })
    expect(worded(await plan())).toMatchObject({
      ...{ state: 'running', planned: 0 },
      message: expect.stringContaining('No department is deleted'),
    })
    expect(await under.pending()).toEqual([])
  })

  test('none is in a database that was restored, noticed or not, before all employees were read and asked about', async () => {
    const { pool } = under.store
    await claimDeployment(pool, { baseUrl: 'https://platform.test', appId: 'ours', enterpriseCode: '' })
    await closed()
    const stays = async (why: string) =>
      expect(worded(await plan())).toMatchObject({ planned: 0, message: expect.stringContaining(why) })
    await pool.query(`update dirsync.deployment set incarnation = '1'`)
    await stays('before a run has read all employees')
    await pool.query('select dirsync.notice_restore()')
    // The run that is to read them has come to nothing.
    await pool.query(`update dirsync.sync_run set state = 'failed', finished_at = now() where kind = 'full'`)
    await stays('before a run has read all employees')
    await under.plan('full', { employees: EMPLOYEES })
    await stays('It has not told of')
    await under.acknowledge()
    expect(await plan()).toMatchObject({ state: 'running', plan: { reasons: { delete: 1 } } })
  })

  test('a held run of theirs stays while HR wants any of it deleted, however few', async () => {
    await closed()
    await hr(
      `insert into department select 'X' || i, null, false, now() - interval '2 days' from generate_series(1, 3) i`,
    )
    const held = await plan()
    expect(held).toMatchObject({ state: 'held', planned: 4 })
    await hr(`update department set active = true, closed_at = null where dept_code <> 'X1'`)
    const preview = await previewDeletions(under.store.pool, HrSources.one(delivering(EMPLOYEES)), LIMITS)
    expect(preview).toMatchObject({
      ...{ deletions: [{ deptCode: 'X1' }], isHeld: false },
      heldRuns: [held.id],
    })
    expect(await plan()).toMatchObject({ state: 'superseded' })
    await recheckHeldRun(under.store.pool, held.id)
    expect(worded(await under.planRequested(held.id, delivering(EMPLOYEES)))).toMatchObject({
      ...{ state: 'held', planned: 4, plan: { changed_since: 3 } },
      message: expect.stringContaining('that still differ in HR: 1.'),
    })
    expect(await under.pending()).toEqual([])
    await hr('update department set active = true, closed_at = null')
    expect(await plan()).toMatchObject({ state: 'running', planned: 0 })
    expect(await readRun(under.store.pool, held.id)).toMatchObject({ state: 'superseded' })
  })

  test('a held run of theirs stays while HR wants any deleted that a check would have held since', async () => {
    await closed()
    await hr(
      `insert into department select 'X' || i, null, i < 3, now() - interval '2 days' from generate_series(0, 5) i`,
    )
    const held = await plan()
    expect(held).toMatchObject({ state: 'held', planned: 4 })
    await hr(`update department set active = false where dept_code like 'X%'`)
    expect(await plan()).toMatchObject({ state: 'superseded', planned: 7 })
    await hr(`update department set active = true, closed_at = null where dept_code <> 'X1'`)
    await recheckHeldRun(under.store.pool, held.id)
    expect(worded(await under.planRequested(held.id, delivering(EMPLOYEES)))).toMatchObject({
      state: 'held',
      message: expect.stringContaining('that still differ in HR: 1.'),
    })
    expect(await under.pending()).toEqual([])
    await hr('update department set active = true, closed_at = null')
    expect(await plan()).toMatchObject({ state: 'running', planned: 0 })
  })

  test('a held run of theirs stays while a run of employees is held', async () => {
    await closed()
    await hr(
      `insert into department select 'X' || i, null, false, now() - interval '2 days' from generate_series(1, 3) i`,
    )
    const held = await plan()
    expect(held).toMatchObject({ state: 'held', planned: 4 })
    await hr(`update person set name = 'other' where userid < 'e6'`)
    const { id } = await under.plan('changes', { employees: EMPLOYEES })
    await recheckHeldRun(under.store.pool, held.id)
    expect(await under.planRequested(held.id, delivering(EMPLOYEES))).toMatchObject({ state: 'held' })
    await under.store.pool.query(`select dirsync.reject($1, 'not so')`, [id])
    await under.plan('changes', { employees: EMPLOYEES })
    await recheckHeldRun(under.store.pool, held.id)
    const after = await under.planRequested(held.id, delivering(EMPLOYEES))
    expect(after).toMatchObject({ state: 'held', planned: 4 })
    // While employees are in doubt, nothing is compared with the plan.
    expect(after.plan).not.toHaveProperty('changed_since')
  })

  test('a held run of theirs stays while the platform is yet to tell where an employee is', async () => {
    await closed()
    await hr(
      `insert into department select 'X' || i, null, false, now() - interval '2 days' from generate_series(1, 3) i`,
    )
    const held = await plan()
    expect(held).toMatchObject({ state: 'held', planned: 4 })
    await under.store.pool.query(
      `update dirsync.employee set platform_state = 'unknown', queried_at = null where userid = 'e1'`,
    )
    expect(await plan()).toMatchObject({ state: 'running', planned: 0 })
    await recheckHeldRun(under.store.pool, held.id)
    expect(await under.planRequested(held.id, delivering(EMPLOYEES))).toMatchObject({
      ...{ state: 'held', planned: 4 },
      plan: { changed_since: 0 },
    })
    // Unless HR no longer wants any of it.
    await hr(`update department set active = true, closed_at = null`)
    await plan()
    expect(await readRun(under.store.pool, held.id)).toMatchObject({ state: 'superseded' })
  })

  test.each([
    ['of employees', []],
    ["of rows that HR's trigger named", ['e2', 'e3', 'e4', 'e5']],
  ])('none is while a run %s is held, which is named', async (_, changed) => {
    await closed()
    await hr(`update person set name = 'other' where userid < 'e6'`)
    const id = await requestRun(under.store.pool, 'changes', changed, 'trigger')
    expect(await under.planRequested(id, under.source(EMPLOYEES))).toMatchObject({ state: 'held' })
    expect(worded(await plan())).toMatchObject({
      planned: 0,
      // It is read, too, when that run has long been decided.
      message: `Run ${id} was held, so no department was deleted; the next run of departments after its decision checks again.`,
    })
  })

  describe('none is while the platform has not told where someone is whom HR no longer has', () => {
    const E12 = employee('e12')
    const untold = memory({ platformState: 'unknown', isAnswered: false })
    const failed: Differs = {
      outcome: 'parked',
      employee: untold,
      failures: [refusal({ field: '', category: 'platform_unavailable', state: 'retry_scheduled' })],
    }
    const changes = () => under.plan('changes', { employees: EMPLOYEES })
    const ends = async (differs: Differs) => {
      await settle(under.store.pool, [outcome(E12, await begin(under.store, E12), differs)])
      await finishRuns(under.store.pool)
    }
    /** Employee e12 comes, and goes before the platform could be asked. */
    async function vanished(): Promise<void> {
      await closed()
      await under.hire(1, 12)
      await changes()
      await ends(failed)
      await hr(`delete from person where userid = 'e12'`)
      await changes()
    }
    const blocked = { planned: 0, message: expect.stringContaining('It has not told of e12') }

    test.each([
      ['told', memory({ active: false, platformState: 'absent' })],
      ['refused to tell', memory({ active: false, platformState: 'unknown' })],
    ])('until it has %s', async (_, answer) => {
      await vanished()
      expect(worded(await plan())).toMatchObject(blocked)
      await ends(failed)
      expect(worded(await plan())).toMatchObject(blocked)
      await plantWork(under.store, 'e12', { priority: 5 })
      await ends({ employee: answer })
      expect(await plan()).toMatchObject({ plan: { sample: ['D3'] } })
    })

    test('and whose work has ended without an answer: the next plan has the platform asked', async () => {
      await vanished()
      await ends({ outcome: 'obsolete', resolve: 'all' })
      expect(worded(await plan())).toMatchObject(blocked)
      expect(await changes()).toMatchObject({ state: 'running', planned: 0 })
      expect(await under.pending()).toEqual(['e12'])
    })

    test('and about whom nobody asks while HR has lost the enterprise, as its departments are kept', async () => {
      await vanished()
      await ends({ outcome: 'obsolete', resolve: 'all' })
      await under.store.pool.query('update dirsync.department set lost = true')
      await changes()
      expect(await under.pending()).toEqual([])
      // HR has it again.
      expect(worded(await plan())).toMatchObject(blocked)
      await changes()
      expect(await under.pending()).toEqual(['e12'])
    })

    test('and whose case is retried by itself, or, where a person ignored it, by a full run', async () => {
      await vanished()
      await ends(failed)
      expect(worded(await plan())).toMatchObject(blocked)
      await changes()
      expect(await under.pending()).toEqual([])
      await under.store.pool.query(`select dirsync.ignore(id, 'known') from dirsync.dead_letter`)
      await changes()
      expect(await under.pending()).toEqual([])
      await under.plan('full', { employees: EMPLOYEES })
      expect(await under.pending()).toContain('e12')
    })
  })
})
