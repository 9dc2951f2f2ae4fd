import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { heldBack } from '../../src/console/plan/held-back.ts'
import { requestDueRetries } from '../../src/sync/cases/retries.ts'
import { plannedEntities } from '../../src/sync/plan/stored-plan.ts'
import { type Company, createCompany, endOf, person, until } from '../helpers/company.ts'

const EMPLOYEES = 120

/** Law 11: a worker that finds another HR row than its plan saw sends nothing, and a new plan judges that row. */
describe('nothing is sent that no plan has passed', () => {
  let company: Company

  beforeAll(async () => {
    company = await createCompany({ employees: EMPLOYEES, settings: { PLATFORM_RATE_LIMIT: '100' } })
    await company.start()
    await company.run('full')
  })
  afterAll(() => company[Symbol.asyncDispose]())
  /** Whatever a test left behind is decided, and HR and platform are as they were. */
  beforeEach(async () => {
    await restoreHr()
    await company.db.query(`select dirsync.reject(id) from dirsync.sync_run where state = 'held'`)
    const { id, state } = await company.run('changes')
    if (state === 'held') await company.db.query('select dirsync.approve($1)', [id])
    await idle()
  })

  const hr = (sql: string, values: unknown[] = []) => company.hr.query(sql, values)
  const request = async (kind: string) => {
    const { rows } = await company.db.query('select dirsync.resync($1) as id', [kind])
    return Number(rows[0].id)
  }
  const names = async () => [...(await company.onPlatform()).values()].map(({ name }) => String(name))
  const cases = async (category: string) =>
    (await company.db.query('select entity_key from dirsync.dead_letter where category = $1', [category]))
      .rows
  const idle = () =>
    until(async () => {
      const { rows } = await company.db.query(
        `select (select count(*) from dirsync.pending) + (select count(*) from dirsync.sync_run
                 where finished_at is null and state <> 'held') = 0 as idle`,
      )
      return rows[0].idle as boolean
    })
  /** A full run of which `attempts` jobs are over and the others are not. */
  const fullRunUnderWay = async (attempts = 5) => {
    const id = await request('full')
    await until(async () => {
      const { rows } = await company.db.query(
        'select count(*)::int as n from dirsync.attempt where run_id = $1',
        [id],
      )
      return rows[0].n >= attempts
    })
    return id
  }
  const restoreHr = async () => {
    await hr('delete from person')
    await hr('insert into person select * from jsonb_populate_recordset(null::person, $1)', [
      JSON.stringify(Array.from({ length: EMPLOYEES }, (_, i) => person(i))),
    ])
  }

  // A full run of 120 takes longer than a second at this rate: time enough for HR to change under it.
  test('HR breaks while a full run is under way: the changes are held, and the full run sends none of them', async () => {
    const full = await fullRunUnderWay()
    await hr(`update person set name = 'BROKEN'`)
    const changes = await company.run('changes')
    expect(changes.state).toBe('held')
    await endOf(company.db, full)
    expect((await names()).filter(name => name === 'BROKEN')).toEqual([])
  })

  test('what is held is not dissolved by a run that was under way', async () => {
    const full = await fullRunUnderWay()
    await hr(`update person set name = 'Seventy' where userid >= 'e0050'`)
    const changes = await company.run('changes')
    expect(changes.state).toBe('held')
    await endOf(company.db, full)
    const { rows } = await company.db.query('select state from dirsync.sync_run where id = $1', [changes.id])
    expect(rows).toEqual([{ state: 'held' }])
    expect((await names()).filter(name => name === 'Seventy')).toEqual([])

    await company.db.query('select dirsync.approve($1)', [changes.id])
    expect(await endOf(company.db, changes.id)).toMatchObject({
      state: 'done',
      result: { outcomes: { updated: 70 } },
    })
    expect((await names()).filter(name => name === 'Seventy')).toHaveLength(70)
  })

  test('HR is emptied and filled again while a full run is under way: no one is taken for a leaver', async () => {
    const full = await fullRunUnderWay()
    await hr('delete from person')
    await until(async () => {
      const { rows } = await company.db.query(
        'select count(*)::int as n from dirsync.attempt where run_id = $1',
        [full],
      )
      return rows[0].n >= 20
    })
    await restoreHr()
    await endOf(company.db, full)
    await company.run('changes')
    await idle()
    expect(await cases('left_hr')).toEqual([])
  })

  test('rows that HR changes during a run are checked by one new plan and then sent, without a request', async () => {
    const full = await fullRunUnderWay()
    await hr(`update person set name = 'Later' where userid between 'e0100' and 'e0119'`)
    await endOf(company.db, full)
    await idle()
    expect((await names()).filter(name => name === 'Later')).toHaveLength(20)
    const { rows } = await company.db.query(
      `select requested_by, kind, state, planned from dirsync.sync_run where id > $1 and planned > 0`,
      [full],
    )
    expect(rows).toEqual([{ requested_by: 'replan', kind: 'changes', state: 'done', planned: 20 }])
    const { rows: sent } = await company.db.query(
      `select distinct run_id = $1 as by_full from dirsync.attempt where fields = '{name}' and run_id >= $1`,
      [full],
    )
    expect(sent).toEqual([{ by_full: false }])
  })

  test('an employee whom a person names is sent as HR has them now, past a held plan', async () => {
    await hr(`update person set name = 'Many'`)
    const held = await company.run('changes')
    expect(held.state).toBe('held')
    const named = await company.run('employees', 'e0001')
    expect(named.result?.outcomes).toEqual({ updated: 1 })
    expect((await names()).filter(name => name === 'Many')).toHaveLength(1)
    // What was sent by name needs no second call once a plan has passed it.
    await company.db.query('select dirsync.approve($1)', [held.id])
    expect(await endOf(company.db, held.id)).toMatchObject({ state: 'done' })
    expect((await names()).filter(name => name === 'Many')).toHaveLength(EMPLOYEES)
  })

  test('a case that is retried by its number is sent as HR has it now, one that is due by itself is not', async () => {
    await hr(`update person set dept_code = 'NOWHERE' where userid in ('e0002', 'e0003')`)
    await company.run('changes')
    await hr(`update person set name = 'Many', dept_code = 'D1'`)
    expect((await company.run('changes')).state).toBe('held')
    const { rows } = await company.db.query<{ id: number; entity_key: string }>(
      `select id, entity_key from dirsync.dead_letter where category = 'missing_department' and state = 'open'
       order by entity_key`,
    )
    expect(rows.map(row => row.entity_key)).toEqual(['e0002', 'e0003'])
    const [byHand, byItself] = rows as unknown as [{ id: number }, { id: number }]
    await company.retry(byHand.id)
    // However often it was tried while the row waits: worker and plan read the same.
    await company.db.query(
      `insert into dirsync.attempt (operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome)
       select 'update-employee', '', 'e0003', '', now(), 1, 'replan' from generate_series(1, 9)`,
    )
    await company.db.query('update dirsync.dead_letter set next_retry_at = now() where id = $1', [
      byItself.id,
    ])
    const due = await requestDueRetries(company.db)
    expect((await endOf(company.db, due as number)).result?.outcomes).toEqual({ replan: 1 })
    expect((await company.onPlatform()).get('e0002')).toMatchObject({ name: 'Many', dept_code: 'D1' })
    expect((await company.onPlatform()).get('e0003')).toMatchObject({ name: 'Person 3', dept_code: 'D3' })
  })

  test('whom an update without an answer may have moved is looked for once HR has another row that a person rejects', async () => {
    const get = { operation: 'employee/get', match: { userid: 'e0060' }, httpStatus: 503 }
    await company.control('POST', 'faults', [
      { operation: 'employee/update', match: { userid: 'e0060' }, loseAnswer: true },
    ])
    await hr(`update person set dept_code = 'D2' where userid = 'e0060'`)
    await request('changes')
    const stored = async () => {
      const { rows } = await company.db.query(
        `select e.moving_to, e.dept_code, e.status, coalesce(p.sent_unknown, false) as unknown
         from dirsync.employee e left join dirsync.pending p on p.entity_key = e.userid where e.userid = 'e0060'`,
      )
      return rows[0]
    }
    await until(async () => (await stored()).unknown)
    await company.control('POST', 'faults', [get])
    await hr(`update person set name = 'Seventy' where userid >= 'e0050'`)
    const held = await company.run('changes')
    expect(held.state).toBe('held')
    await company.db.query(`select dirsync.reject($1, 'no')`, [held.id])
    expect(await stored()).toMatchObject({ moving_to: 'D2', dept_code: 'D0', status: 'rejected' })
    await company.control('DELETE', 'faults')
    await company.run('changes')
    await idle()
    expect(await stored()).toEqual({ moving_to: null, dept_code: 'D2', status: 'rejected', unknown: false })
    expect((await names()).filter(name => name === 'Seventy')).toEqual([])
  })

  test('what the platform had carried out without an answer is not said to be held back by its rejection', async () => {
    await hr(`update person set name = 'Older', dept_code = 'D3' where userid between 'e0050' and 'e0118'`)
    const older = await company.run('changes')
    await company.db.query(`select dirsync.reject($1, 'no')`, [older.id])
    await company.run('changes')
    await hr(`update person set name = 'Other', dept_code = 'D2' where userid between 'e0050' and 'e0118'`)
    const held = await company.run('changes')
    expect(held.state).toBe('held')
    await company.control('POST', 'faults', [
      { operation: 'employee/update', match: { userid: 'e0060' }, loseAnswer: true },
    ])
    const { rows } = await company.db.query(
      `select dirsync.approve_part($1, '{"keys": ["e0060"]}') as part`,
      [held.id],
    )
    const part = Number(rows[0].part)
    await until(async () => {
      const { rows } = await company.db.query(
        `select exists (select from dirsync.pending where run_id = $1 and sent_unknown and not in_hand) as unknown`,
        [part],
      )
      return rows[0].unknown as boolean
    })
    await company.db.query('select dirsync.cancel($1)', [part])
    await endOf(company.db, part)
    await company.db.query(`select dirsync.reject($1, 'no')`, [held.id])
    await company.control('DELETE', 'faults')
    await company.run('changes')
    await idle()
    expect((await company.onPlatform()).get('e0060')).toMatchObject({ name: 'Other', dept_code: 'D2' })
    const standing = await company.db.query(
      `select status, held_run, dept_code from dirsync.employee where userid = 'e0060'`,
    )
    expect(standing.rows).toEqual([{ status: 'in_sync', held_run: null, dept_code: 'D2' }])
    expect(await heldBack(company.db, held.id)).toMatchObject({ employees: 68 })
    const shown = await plannedEntities(company.db, held.id, { keys: ['e0060', 'e0061'], limit: 2 })
    expect(shown.map(({ decision, later }) => [decision?.approved, later])).toEqual([
      [false, { run: null, outcome: 'in_sync' }],
      [false, null],
    ])
    // The platform never had what HR had before.
    const [before] = await plannedEntities(company.db, older.id, { keys: ['e0060'], limit: 1 })
    expect(before).toMatchObject({ outcome: null, later: null })
  })

  test('a swap is retried by the number of one case: the others of it are not sent past a held plan', async () => {
    await hr(`update person set mobile = case userid when 'e0010' then '19900000011' else '19900000010' end
              where userid in ('e0010', 'e0011')`)
    await company.run('changes')
    await hr(`update person set name = 'Many'`)
    expect((await company.run('changes')).state).toBe('held')
    const { rows } = await company.db.query(
      `select id from dirsync.dead_letter where entity_key = 'e0010' and swap_id is not null and state = 'open'`,
    )
    await company.retry(rows[0].id)
    expect((await company.onPlatform()).get('e0010')).toMatchObject({ name: 'Many' })
    expect((await company.onPlatform()).get('e0011')).toMatchObject({ name: 'Person 11' })
  })

  test('a cancelled run finishes the work in hand, and the next run plans the rest anew', async () => {
    await hr(`update person set name = 'Much' where userid < 'e0040'`)
    // None of the first calls is over before the cancel, so the others have not begun.
    await company.control('POST', 'faults', [{ operation: 'employee/get', hold: true }])
    const id = await request('changes')
    await until(async () => {
      const { rows } = await company.db.query(
        'select exists (select from dirsync.pending where run_id = $1 and in_hand) as begun',
        [id],
      )
      return rows[0].begun as boolean
    })
    await company.db.query(`select dirsync.cancel($1, 'wrong day')`, [id])
    await company.control('DELETE', 'faults')
    expect(await endOf(company.db, id)).toMatchObject({ state: 'cancelled' })
    const { rows } = await company.db.query(
      `select decision_reason, decided_by is not null as decided,
              (select count(*)::int from dirsync.pending) as pending
       from dirsync.sync_run where id = $1`,
      [id],
    )
    expect(rows).toEqual([{ decision_reason: 'wrong day', decided: true, pending: 0 }])
    const sent = (await names()).filter(name => name === 'Much').length
    expect(sent).toBeGreaterThan(0)
    expect(sent).toBeLessThan(40)
    const again = await company.run('changes')
    expect(again).toMatchObject({ state: 'done', result: { outcomes: { updated: 40 - sent } } })
  })

  test('what a cancelled run had under way counts for the breaker again', async () => {
    await hr(`update person set name = 'Held again' where userid < 'e0080'`)
    const held = await company.run('changes')
    await company.control('POST', 'faults', [{ operation: 'employee/get', hold: true }])
    await company.db.query('select dirsync.approve($1)', [held.id])
    await until(async () => {
      const { rows } = await company.db.query('select state from dirsync.sync_run where id = $1', [held.id])
      return rows[0].state === 'running'
    })
    await company.db.query(`select dirsync.cancel($1)`, [held.id])
    await company.control('DELETE', 'faults')
    expect(await endOf(company.db, held.id)).toMatchObject({ state: 'cancelled' })
    // It may be the run that the approval asked for that finds it first.
    await company.run('changes')
    expect((await company.db.query(`select from dirsync.sync_run where state = 'held'`)).rowCount).toBe(1)
  })

  test('whom nobody has looked for is looked for, once a person has rejected them and departments may be deleted', async () => {
    await company.control('POST', 'employees', [{ userid: 'e0900', name: 'Of old', dept_code: 'D2' }])
    await hr(`insert into person (userid, name, mobile, email, dept_code, entry_day, active)
              select 'e09' || lpad(i::text, 2, '0'), 'New', '199000009' || lpad(i::text, 2, '0'),
                     'e9' || i || '@example.com', 'D1', '2020-01-01', true
              from generate_series(0, 79) i`)
    const held = await company.run('changes')
    expect(held.state).toBe('held')
    await company.db.query(`select dirsync.reject($1, 'no')`, [held.id])
    await company.run('changes')
    await idle()
    const states = async () =>
      (
        await company.db.query(
          `select userid, platform_state, dept_code, status from dirsync.employee
           where userid in ('e0900', 'e0901') order by 1`,
        )
      ).rows
    expect(await states()).toMatchObject([{ platform_state: 'unknown' }, { platform_state: 'unknown' }])
    await company.run('departments')
    await company.run('changes')
    await idle()
    expect(await states()).toEqual([
      { userid: 'e0900', platform_state: 'in_service', dept_code: 'D2', status: 'rejected' },
      { userid: 'e0901', platform_state: 'absent', dept_code: null, status: 'rejected' },
    ])
    expect((await names()).filter(name => name === 'New')).toEqual([])
  })
})
