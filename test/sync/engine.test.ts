import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { requestDueRetries } from '../../src/sync/cases/retries.ts'
import { describeBackends } from '../helpers/backends.ts'
import { type Company, createCompany, endOf, person, until } from '../helpers/company.ts'
import { worded } from '../texts/worded.ts'

const EMPLOYEES = 60

describeBackends('the engine with its queue in', {}, ({ kind, redis }) => {
  /** What is the same wherever the queue is, is shown with one of the two. */
  const once: (name: string, work: () => Promise<void>) => void = kind === 'postgres' ? test : () => {}
  let company: Company

  beforeAll(async () => {
    const url = await redis()
    company = await createCompany({
      employees: EMPLOYEES,
      settings: { SELLER_APPIDS: 'mall0001' },
      ...(url ? { redisUrl: url } : {}),
    })
    await company.start()
    await company.run('full')
  })
  afterAll(() => company[Symbol.asyncDispose]())
  beforeEach(() => company.control('DELETE', 'faults'))

  const faults = (...rules: object[]) => company.control('POST', 'faults', rules)
  const hr = (sql: string, values: unknown[] = []) => company.hr.query(sql, values)
  const attempts = async (userid: string) =>
    (await company.db.query('select * from dirsync.attempt where entity_key = $1 order by id', [userid])).rows

  /** What waits for its next attempt, or for a halt to be probed, has waited long enough. */
  const hasten = () =>
    company.db.query(`with probes as (update dirsync.halt set next_probe_at = now() where next_probe_at > now()),
      jobs as (update dirsync.pending set not_before = now() where not_before > now())
      select pg_notify('dirsync', 'feed')`)

  once('an unchanged HR costs no calls and makes no jobs', async () => {
    const calls = await company.spent(async () => {
      const run = await company.run('changes')
      expect(run).toMatchObject({ state: 'done', result: { outcomes: {} } })
      const { rows } = await company.db.query('select planned from dirsync.sync_run where id = $1', [run.id])
      expect(rows).toEqual([{ planned: 0 }])
    })
    expect(calls).toEqual({})
  })

  test('a changed employee costs one query and one update', async () => {
    await hr(`update person set name = 'Renamed' where userid = 'e0001'`)
    const calls = await company.spent(() => company.run('changes'))
    expect(calls).toEqual({ 'employee/get': 1, 'employee/update': 1 })
    expect((await company.onPlatform()).get('e0001')).toMatchObject({ name: 'Renamed' })
    const [latest] = (await attempts('e0001')).slice(-1)
    expect(latest).toMatchObject({ outcome: 'updated', fields: ['name'] })
  })

  test('a full run finds changes made on the platform', async () => {
    const { employees } = await company.control<{ employees: { userid: string }[] }>(
      'GET',
      'state?userid=e0002',
    )
    await company.control('POST', 'employees', [{ ...employees[0], entry_day: '1999-09-09' }])
    const run = await company.run('full')
    expect(run.result?.outcomes).toMatchObject({ updated: 1, in_sync: EMPLOYEES - 1 })
    expect((await company.onPlatform()).get('e0002')).toMatchObject({ entry_day: '2020-01-03' })
  })

  once(
    'a full run with a max age asks only about whom the platform has not confirmed within it',
    async () => {
      await hr(`update person set name = 'Another' where userid = 'e0001'`)
      await company.db.query(`
        update dirsync.employee set acknowledged_at = now() - interval '2 hours' where userid = 'e0002';
        update dirsync.attempt set started_at = now() - interval '2 hours' where entity_key = 'e0002'`)
      const calls = await company.spent(async () => {
        const { rows } = await company.db.query(`select dirsync.resync('full', max_age => '1 hour') as id`)
        const run = await endOf(company.db, rows[0].id)
        expect(run.result?.outcomes).toEqual({ updated: 1, in_sync: 1 })
      })
      expect(calls).toEqual({ 'employee/get': 2, 'employee/update': 1 })
    },
  )

  once('whom a full run finds as they were known is not written anew, and counts as confirmed', async () => {
    const known = async (userid: string) => {
      const { rows } = await company.db.query(
        `select xmin::text, dirsync.confirmed_at(e) as at, acknowledged_at, dept_code from dirsync.employee e where userid = $1`,
        [userid],
      )
      return rows[0]
    }
    await company.db.query(
      `update dirsync.employee set acknowledged_at = now() - interval '2 hours', queried_at = now() - interval '2 hours',
         dept_code = case userid when 'e0052' then 'ELSEWHERE' else dept_code end
       where userid in ('e0036', 'e0052');
       update dirsync.employee set acknowledged_at = now() - interval '16 days' where userid = 'e0053'`,
    )
    const [before, moved, long] = [await known('e0036'), await known('e0052'), await known('e0053')]
    await company.run('full')
    const after = await known('e0036')
    expect(after.xmin).toBe(before.xmin)
    expect(after.at.getTime()).toBeGreaterThan(before.at.getTime())
    // The platform shows another department than the one that was known: that is written.
    expect(await known('e0052')).toMatchObject({ dept_code: expect.not.stringMatching(moved.dept_code) })
    // Attempts go after 30 days.
    expect((await known('e0053')).acknowledged_at.getTime()).toBeGreaterThan(long.acknowledged_at.getTime())
    const calls = await company.spent(async () => {
      const { rows } = await company.db.query(`select dirsync.resync('full', max_age => '1 hour') as id`)
      await endOf(company.db, rows[0].id)
    })
    expect(calls).toEqual({})
  })

  once(
    'a duplicate mobile is dead-lettered with its holder, the rest is sent, and the holder giving it up heals it',
    async () => {
      await hr(`update person set mobile = '19900000004', name = 'Taker' where userid = 'e0003'`)
      const run = await company.run('changes')
      expect(run.result?.outcomes).toEqual({ partly_updated: 1 })
      expect((await company.onPlatform()).get('e0003')).toMatchObject({
        name: 'Taker',
        mobile: '19900000003',
      })
      const [open] = await company.cases('e0003')
      expect(open).toMatchObject({
        category: 'duplicate_mobile',
        field: 'mobile',
        blocked_by: 'e0004',
        state: 'open',
        platform_code: '1002218007',
      })
      expect(JSON.stringify(open)).not.toContain('19900000004')

      // The same HR row is not tried again.
      expect(await company.spent(() => company.run('changes'))).toEqual({})

      await hr(`update person set mobile = '19955550004' where userid = 'e0004'`)
      const freed = await company.run('changes')
      expect(freed.result?.outcomes).toEqual({ updated: 2 })
      expect((await company.cases('e0003'))[0]).toMatchObject({ state: 'resolved', resolution: 'succeeded' })
      expect((await company.onPlatform()).get('e0003')).toMatchObject({ mobile: '19900000004' })
    },
  )

  test('an update whose answer was lost releases those who wait for it, even if it was requested anew meanwhile', async () => {
    await hr(`update person set mobile = '19900000051' where userid = 'e0050'`)
    await company.run('changes')
    expect(await company.cases('e0050')).toMatchObject([{ blocked_by: 'e0051', state: 'open' }])

    await faults({ operation: 'employee/update', match: { userid: 'e0051' }, loseAnswer: true, times: 1 })
    await hr(`update person set mobile = '19955550051' where userid = 'e0051'`)
    await company.db.query(`select dirsync.resync('changes')`)
    await until(async () => {
      const { rowCount } = await company.db.query(
        `update dirsync.pending set not_before = now() + interval '1 hour' where entity_key = 'e0051' and attempts = 1`,
      )
      return rowCount === 1
    })
    await company.run('employees', 'e0051')
    expect((await attempts('e0051')).slice(-2).map(attempt => attempt.outcome)).toEqual(['retry', 'in_sync'])
    expect(await company.cases('e0050')).toMatchObject([{ state: 'resolved' }])
    expect((await company.onPlatform()).get('e0050')).toMatchObject({ mobile: '19900000051' })
  })

  once('repeats count up one case, and a person may ignore it until the HR row changes', async () => {
    await hr(`update person set dept_code = 'NOWHERE' where userid = 'e0005'`)
    await company.run('changes')
    const [first] = await company.cases('e0005')
    await company.run('employees', 'e0005')
    expect(await company.cases('e0005')).toMatchObject([
      { id: first.id, category: 'missing_department', occurrences: 2, state: 'open' },
    ])
    await company.db.query(`select dirsync.ignore($1, 'known')`, [first.id])
    expect(await company.spent(() => company.run('changes'))).toEqual({})
    await hr(`update person set name = 'Other' where userid = 'e0005'`)
    await company.run('changes')
    expect(await company.cases('e0005')).toMatchObject([{ id: first.id, state: 'open', occurrences: 3 }])
    await hr(`update person set dept_code = 'D0' where userid = 'e0005'`)
    await company.run('changes')
    expect(await company.cases('e0005')).toMatchObject([{ id: first.id, state: 'resolved' }])
  })

  once('an invalid HR row is a case, and no call is made for it', async () => {
    await hr(`update person set mobile = 'ask her' where userid = 'e0006'`)
    const calls = await company.spent(() => company.run('changes'))
    expect(calls).toEqual({})
    expect(await company.cases('e0006')).toMatchObject([
      { category: 'invalid_hr_row', field: 'mobile', state: 'open' },
    ])
    await hr(`update person set mobile = '19900000006' where userid = 'e0006'`)
    await company.run('changes')
    expect(await company.cases('e0006')).toMatchObject([{ state: 'resolved' }])
  })

  once(
    'an employee whom the platform lacks awaits activation, and the first success resolves it',
    async () => {
      await hr(
        `insert into person select 'new1', 'New One', '19912340001', 'new1@example.com', 'D1', date '2024-01-01', null, null, true`,
      )
      const run = await company.run('changes')
      expect(run.result?.outcomes).toEqual({ awaiting_activation: 1 })
      expect(await company.cases('new1')).toMatchObject([
        { category: 'not_on_platform', state: 'awaiting_activation' },
      ])
      await company.control('POST', 'employees', [{ userid: 'new1', name: 'New', dept_code: 'D1' }])
      await company.run('employees', 'new1')
      expect(await company.cases('new1')).toMatchObject([{ state: 'resolved' }])
      expect((await company.onPlatform()).get('new1')).toMatchObject({
        name: 'New One',
        mobile: '19912340001',
      })
    },
  )

  once(
    'the open ids of an account that the platform calls absent go, and one that comes back is bound anew',
    async () => {
      const bindings = async () =>
        (
          await company.db.query(
            `select seller_appid, open_userid from dirsync.openid_binding where userid = 'e0055' order by 1`,
          )
        ).rows
      const inService = async (in_service: boolean) => {
        const [account] = (await company.control<{ employees: object[] }>('GET', 'state?userid=e0055'))
          .employees
        await company.control('POST', 'employees', [{ ...account, in_service }])
        await company.run('employees', 'e0055')
      }
      await company.run('openids')
      const [first] = await bindings()
      expect(first).toMatchObject({ seller_appid: 'mall0001' })

      await inService(false)
      expect(await company.cases('e0055')).toMatchObject([{ category: 'not_on_platform' }])
      expect(await bindings()).toEqual([])

      await company.control('POST', 'openids', [
        { enterprise_code: '', userid: 'e0055', seller_appid: 'mall0001', open_userid: 'of-the-new-account' },
      ])
      await inService(true)
      await company.run('openids')
      expect(await bindings()).toEqual([{ seller_appid: 'mall0001', open_userid: 'of-the-new-account' }])
    },
  )

  once(
    'an account that turns out absent while an open id is bound loses what it had, and is brought in sync once it is back',
    async () => {
      const [account] = (await company.control<{ employees: object[] }>('GET', 'state?userid=e0056'))
        .employees
      await company.db.query(
        `update dirsync.openid_binding set seller_appid = 'mall0000' where userid = 'e0056'`,
      )
      const known = async () =>
        (await company.db.query(`select source_hash, status from dirsync.employee where userid = 'e0056'`))
          .rows[0]
      await company.control('POST', 'employees', [{ ...account, in_service: false }])
      await company.run('openids')
      const absent = await until(async () => {
        const employee = await known()
        return employee.status === 'awaiting_activation' && employee
      })
      const { source_hash } = absent
      const cases = await company.cases('e0056')
      expect(cases).toMatchObject([
        { category: 'not_on_platform', operation: 'bind-openid', source_hash },
        { category: 'not_on_platform', operation: 'update-employee', source_hash },
      ])
      expect(
        (await company.db.query(`select from dirsync.openid_binding where userid = 'e0056'`)).rowCount,
      ).toBe(0)
      await company.control('POST', 'employees', [{ ...account, in_service: true, email: null }])
      for (const { id } of cases) await company.retry(id)
      expect(await company.cases('e0056')).toMatchObject([{ state: 'resolved' }, { state: 'resolved' }])
      expect(await known()).toMatchObject({ status: 'in_sync' })
      expect((await company.onPlatform()).get('e0056')).toMatchObject({ email: 'e56@example.com' })
    },
  )

  once(
    'about one that turns out absent nothing is asked where the row was rejected, or is known to break a rule',
    async () => {
      const people = ['e0054', 'e0059']
      await hr(`update person set mobile = 'ask her' where userid = 'e0054'`)
      await company.run('changes')
      await company.db.query(
        `update dirsync.employee set held_run = (select max(id) from dirsync.sync_run), held_hash = source_hash,
                                     rejected = true
         where userid = 'e0059'`,
      )
      await company.db.query(
        `update dirsync.openid_binding set seller_appid = 'mall0000' where userid = any ($1)`,
        [people],
      )
      const accounts = (await company.control<{ employees: { userid: string }[] }>('GET', 'state')).employees
        .filter(({ userid }) => people.includes(userid))
        .map(account => ({ ...account, in_service: false }))
      const updates = async () =>
        (
          await company.db.query(
            `select from dirsync.attempt where operation = 'update-employee' and entity_key = any ($1)
             union all
             select from dirsync.pending where operation = 'update-employee' and entity_key = any ($1)`,
            [people],
          )
        ).rowCount
      const before = await updates()
      await company.control('POST', 'employees', accounts)
      await company.run('openids')
      for (const userid of people)
        expect((await company.cases(userid)).map(({ operation }) => operation)).toContain('bind-openid')
      expect(await updates()).toBe(before)

      await company.control(
        'POST',
        'employees',
        accounts.map(account => ({ ...account, in_service: true })),
      )
      await company.db.query(
        `update dirsync.employee set held_run = null, held_hash = null, rejected = false where userid = 'e0059'`,
      )
      await hr(`update person set mobile = '19900000054' where userid = 'e0054'`)
      await company.run('changes')
      for (const userid of people)
        for (const { id, operation } of await company.cases(userid))
          if (operation === 'bind-openid') await company.retry(id)
    },
  )

  once('someone who left HR and is still in service on the platform is a finding', async () => {
    await hr(`delete from person where userid = 'e0007'`)
    await hr(`update person set active = false where userid = 'e0008'`)
    await company.run('changes')
    expect(await company.cases('e0007')).toMatchObject([{ category: 'left_hr', state: 'open' }])
    expect(await company.cases('e0008')).toMatchObject([{ category: 'left_hr', state: 'open' }])
    expect(await company.spent(() => company.run('changes'))).toEqual({})
  })

  once(
    'someone who left HR has left, also where the platform does not say whether they are in service',
    async () => {
      await faults({ operation: 'employee/get', match: { userid: 'e0058' }, code: 1002200106 })
      await hr(`update person set active = false where userid = 'e0058'`)
      await company.run('changes')
      expect(await company.cases('e0058')).toMatchObject([{ category: 'no_permission', state: 'open' }])
      const { rows } = await company.db.query(
        `select active, status from dirsync.employee where userid = 'e0058'`,
      )
      expect(rows).toEqual([{ active: false, status: 'left' }])
      await hr(`update person set active = true where userid = 'e0058'`)
      await company.control('DELETE', 'faults')
      await company.run('changes')
      expect((await company.cases('e0058')).filter(({ state }) => state !== 'resolved')).toEqual([])
    },
  )

  once(
    'who is back in HR when a person names them is in service, also where the platform refuses',
    async () => {
      await hr(`update person set active = false where userid = 'e0057'`)
      await company.run('changes')
      await hr(`update person set active = true where userid = 'e0057'`)
      await faults({ operation: 'employee/get', match: { userid: 'e0057' }, code: 1002200106 })
      const { rows: runs } = await company.db.query(`select dirsync.resync('employees', 'e0057') as id`)
      await endOf(company.db, Number(runs[0].id))
      const { rows } = await company.db.query(
        `select active, status from dirsync.employee where userid = 'e0057'`,
      )
      expect(rows).toEqual([{ active: true, status: 'dead_lettered' }])
      await company.control('DELETE', 'faults')
      await company.run('full')
      expect((await company.cases('e0057')).filter(({ state }) => state !== 'resolved')).toEqual([])
    },
  )

  test('an answer lost after the effect is not a failure: the platform is asked before anything is repeated', async () => {
    await faults({ operation: 'employee/update', match: { userid: 'e0009' }, loseAnswer: true, times: 1 })
    await hr(`update person set name = 'Lost' where userid = 'e0009'`)
    const calls = await company.spent(() => company.run('changes'))
    expect(calls).toEqual({ 'employee/get': 2, 'employee/update': 1 })
    expect((await attempts('e0009')).slice(-2).map(attempt => attempt.outcome)).toEqual(['retry', 'in_sync'])
    expect(await company.cases('e0009')).toEqual([])
  })

  test('whom a person names is not in sync while it is unknown whether the platform has their present row', async () => {
    await faults({ operation: 'employee/update', match: { userid: 'e0047' }, loseAnswer: true, times: 1 })
    await hr(`update person set name = 'Not planned' where userid = 'e0047'`)
    const { rows } = await company.db.query(`select dirsync.resync('employees', 'e0047') as id`)
    const meanwhile = await until(async () => {
      const { rows } = await company.db.query(
        `select status from dirsync.employee e join dirsync.pending p on p.entity_key = e.userid
         where e.userid = 'e0047' and p.sent_unknown`,
      )
      return rows[0]?.status ?? null
    })
    expect(meanwhile).toBe('waiting')
    await endOf(company.db, Number(rows[0].id))
    const after = await company.db.query(`select status from dirsync.employee where userid = 'e0047'`)
    expect(after.rows).toEqual([{ status: 'in_sync' }])
  })

  once('who waits for a number is tried again once the run is cancelled that may have freed it', async () => {
    await hr(
      `update person set mobile = (select mobile from person where userid = 'e0033') where userid = 'e0034'`,
    )
    await company.run('changes')
    expect(await company.cases('e0034')).toMatchObject([
      { field: 'mobile', blocked_by: 'e0033', state: 'open' },
    ])
    await faults({ operation: 'employee/update', match: { userid: 'e0033' }, loseAnswer: true })
    await hr(`update person set mobile = '19955550033' where userid = 'e0033'`)
    const { rows } = await company.db.query(`select dirsync.resync('changes') as id`)
    const run = Number(rows[0].id)
    await until(async () => {
      const taken = await company.db.query(
        `select dirsync.cancel($1) from dirsync.pending where entity_key = 'e0033' and sent_unknown and starts = 0`,
        [run],
      )
      return taken.rowCount === 1
    })
    await endOf(company.db, run)
    await company.control('DELETE', 'faults')
    await company.run('changes')
    await requestDueRetries(company.db)
    await until(async () => {
      return (await company.cases('e0034')).every(({ state }) => state === 'resolved')
    })
    expect((await company.onPlatform()).get('e0034')).toMatchObject({ mobile: person(33).mobile })
  })

  test('whose row HR takes back is not in sync while it is unknown whether the platform has the one between', async () => {
    await faults({ operation: 'employee/update', match: { userid: 'e0048' }, loseAnswer: true, times: 1 })
    const {
      rows: [before],
    } = await company.hr.query(`select name from person where userid = 'e0048'`)
    await hr(`update person set name = 'Between' where userid = 'e0048'`)
    await company.db.query(`select dirsync.resync('changes')`)
    await until(async () => (await attempts('e0048')).at(-1)?.outcome === 'retry')
    await faults({ operation: 'employee/get', match: { userid: 'e0048' }, httpStatus: 503, times: 1 })
    await hr('update person set name = $1 where userid = $2', [before.name, 'e0048'])
    const { rows } = await company.db.query(`select dirsync.resync('changes') as id`)
    const run = Number(rows[0].id)
    const status = await until(async () => {
      const { rows } = await company.db.query(
        `select status from dirsync.employee, dirsync.sync_run r
         where userid = 'e0048' and r.id = $1 and r.state not in ('requested', 'planning')`,
        [run],
      )
      return rows[0]?.status ?? null
    })
    expect(status).toBe('waiting')
    // The work of the first run asks the platform, and brings the row back.
    await until(async () => (await attempts('e0048')).at(-1)?.outcome === 'updated')
    expect((await company.onPlatform()).get('e0048')).toMatchObject({ name: before.name })
  })

  test('whose row HR takes back while the one between is sent has it back without another run', async () => {
    await faults({ operation: 'employee/update', match: { userid: 'e0049' }, latencyMs: 1500, times: 1 })
    const {
      rows: [before],
    } = await company.hr.query(`select name from person where userid = 'e0049'`)
    await hr(`update person set name = 'Between' where userid = 'e0049'`)
    const first = await company.db.query(`select dirsync.resync('changes') as id`)
    await until(async () => (await company.control<unknown[]>('GET', 'faults')).length === 0)
    await hr('update person set name = $1 where userid = $2', [before.name, 'e0049'])
    await company.run('changes')
    await endOf(company.db, Number(first.rows[0].id))
    const after = await company.db.query(`select status from dirsync.employee where userid = 'e0049'`)
    expect(after.rows).toEqual([{ status: 'in_sync' }])
    expect((await company.onPlatform()).get('e0049')).toMatchObject({ name: before.name })
  })

  test('"too fast" is waited out, and spends no attempt', async () => {
    await faults({
      operation: 'employee/get',
      match: { userid: 'e0010' },
      httpStatus: 429,
      retryAfter: 1,
      times: 3,
    })
    await hr(`update person set name = 'Patient' where userid = 'e0010'`)
    const run = await company.run('changes')
    expect(run.result?.outcomes).toEqual({ updated: 1 })
    expect((await attempts('e0010')).map(attempt => attempt.outcome).slice(-4)).toEqual([
      'wait',
      'wait',
      'wait',
      'updated',
    ])
  })

  test('an unlisted failure is tried once more and then parked, with the trace id', async () => {
    await faults({
      operation: 'employee/update',
      match: { userid: 'e0011' },
      code: 1999999999,
      message: 'call 13800138000 for help',
    })
    await hr(`update person set name = 'Odd' where userid = 'e0011'`)
    await company.run('changes')
    const [open] = await company.cases('e0011')
    expect(open).toMatchObject({
      category: 'unclassified',
      platform_code: '1999999999',
      state: 'retry_scheduled',
    })
    expect(open.trace_id).toEqual(expect.any(String))
    expect(open.message).not.toContain('13800138000')
    expect((await attempts('e0011')).slice(-2).map(attempt => attempt.outcome)).toEqual(['retry', 'parked'])
  })

  once('a switched-off feature is not sent again for any employee until a retry gets through', async () => {
    await company.control('POST', 'enterprises', [
      { enterprise_code: '', features: { level: false, category: true, employee_attribute: [] } },
    ])
    await hr(`update person set level = 'P7' where userid = 'e0012'`)
    await company.run('changes')
    const [open] = await company.cases('(single enterprise)')
    expect(open).toMatchObject({
      entity: 'enterprise',
      category: 'feature_disabled',
      field: 'level',
      state: 'open',
    })
    await hr(`update person set level = 'P8', name = 'Graded' where userid = 'e0013'`)
    expect(await company.spent(() => company.run('changes'))).toEqual({
      'employee/get': 1,
      'employee/update': 1,
    })
    expect(await company.cases('e0013')).toEqual([])
    expect((await company.onPlatform()).get('e0013')).toMatchObject({ name: 'Graded' })

    await company.control('POST', 'enterprises', [
      { enterprise_code: '', features: { level: true, category: true, employee_attribute: [] } },
    ])
    await company.db.query('select dirsync.retry($1)', [open.id])
    // One employee is tried, and the other one follows in a run of its own.
    await until(async () => {
      const employees = await company.onPlatform()
      return employees.get('e0012')?.level === 'P7' && employees.get('e0013')?.level === 'P8'
    })
    expect(await company.cases('(single enterprise)')).toMatchObject([{ state: 'resolved' }])
    expect(await company.cases('e0012')).toEqual([])
  })

  once('a corrected grade is tried although the feature seemed to be off for everybody', async () => {
    const refused = ['WRONG', 'WORSE'].map(level => ({
      operation: 'employee/update',
      match: { level },
      code: 1000220030,
    }))
    await faults(...refused)
    await hr(`update person set level = 'WRONG' where userid = 'e0014'`)
    await hr(`update person set level = 'WORSE' where userid = 'e0018'`)
    await company.run('changes')
    const open = async () => (await company.cases('(single enterprise)')).at(-1)
    expect(await open()).toMatchObject({ category: 'feature_disabled', state: 'open' })
    await hr(`update person set level = 'P5' where userid = 'e0014'`)
    await company.run('changes')
    expect(await open()).toMatchObject({ state: 'resolved', resolution: 'succeeded' })
    expect((await company.onPlatform()).get('e0014')).toMatchObject({ level: 'P5' })
  })

  once(
    'a field that the platform does not tell is sent again while the outcome of sending it is unknown',
    async () => {
      const costCenter = async (id: number) => {
        await hr(`update person set cost_center_id = $1 where userid = 'e0015'`, [id])
        const run = await company.run('changes')
        expect(run.state).toBe('done')
      }
      await costCenter(12)
      // The answer is lost after the effect, and HR goes back to the old value before the platform is asked again.
      await faults({ operation: 'employee/update', match: { userid: 'e0015' }, loseAnswer: true, times: 1 })
      await hr(`update person set cost_center_id = 13 where userid = 'e0015'`)
      const { rows } = await company.db.query(`select dirsync.resync('changes') as id`)
      await until(async () => (await attempts('e0015')).at(-1)?.outcome === 'retry')
      await hr(`update person set cost_center_id = 12 where userid = 'e0015'`)
      // The worker finds another row than the plan saw; the next plan passes it.
      expect((await endOf(company.db, Number(rows[0].id))).result?.outcomes).toEqual({ replan: 1 })
      await company.run('changes')
      await until(async () => (await attempts('e0015')).at(-1)?.outcome === 'updated')
      expect((await company.onPlatform()).get('e0015')).toMatchObject({ cost_center_id: 12 })
    },
  )

  once('an accepted case outlives an HR row that breaks a rule', async () => {
    await hr(`update person set dept_code = 'NOWHERE' where userid = 'e0016'`)
    await company.run('changes')
    const [first] = await company.cases('e0016')
    await company.db.query(`select dirsync.ignore($1, 'known')`, [first.id])
    await hr(`update person set mobile = 'none' where userid = 'e0016'`)
    await company.run('changes')
    expect(await company.cases('e0016')).toMatchObject([
      { id: first.id, state: 'ignored' },
      { category: 'invalid_hr_row', state: 'open' },
    ])
  })

  test('wrong credentials halt everything with one alarm and no dead letters, and it heals by probing', async () => {
    await faults({ operation: '*', code: 1000210003, message: 'appinfo check failed!', times: 1 })
    await hr(`update person set entry_day = '2021-02-03' where userid between 'e0020' and 'e0039'`)
    const before = (await company.db.query('select count(*)::int as n from dirsync.dead_letter')).rows[0].n
    const { rows } = await company.db.query(`select dirsync.resync('changes') as id`)
    const halt = await until(
      async () => (await company.db.query(`select * from dirsync.halt where scope = '*'`)).rows[0] ?? null,
    )
    expect(halt).toMatchObject({ category: 'credentials', platform_code: '1000210003' })
    const run = await endOf(company.db, Number(rows[0].id))
    expect(run.result?.outcomes).toEqual({ updated: 20 })
    // The outcome of the probe is written first, and may be the last one of the run.
    await until(async () => (await company.db.query('select from dirsync.halt')).rowCount === 0)
    expect((await company.db.query('select count(*)::int as n from dirsync.dead_letter')).rows[0].n).toBe(
      before,
    )
  })

  test('a call that hangs holds up nobody else of its job', async () => {
    await faults({ operation: 'employee/get', match: { userid: 'e0025' }, latencyMs: 4000, times: 1 })
    await hr(`update person set entry_day = '2021-02-28' where userid between 'e0000' and 'e0049'`)
    await company.db.query(`select dirsync.resync('changes')`)
    const left = await until(async () => {
      const { rows } = await company.db.query('select entity_key, starts from dirsync.pending')
      return rows.length === 1 ? rows : null
    })
    expect(left).toEqual([{ entity_key: 'e0025', starts: 1 }])
    await until(async () => (await company.db.query('select from dirsync.pending')).rowCount === 0)
  })

  test('a platform that is away leaves no flood of dead letters', async () => {
    await faults({ operation: '*', reset: true, times: 12 })
    await hr(`update person set entry_day = '2021-03-04' where userid between 'e0020' and 'e0039'`)
    const { rows: requested } = await company.db.query(`select dirsync.resync('changes') as id`)
    const hastening = setInterval(hasten, 100)
    const run = await endOf(company.db, Number(requested[0].id)).finally(() => clearInterval(hastening))
    expect(run.result?.outcomes).toEqual({ updated: 20 })
    const { rows } = await company.db.query(
      `select * from dirsync.dead_letter where category = 'platform_unavailable'`,
    )
    expect(rows).toEqual([])
  })

  test('a few employees who always fail do not hold up the others for ever', async () => {
    for (const i of [40, 41, 42, 43, 44, 45])
      await faults({ operation: 'employee/get', match: { userid: `e00${i}` }, httpStatus: 500 })
    await hr(`update person set entry_day = '2021-05-06' where userid between 'e0040' and 'e0045'`)
    await company.db.query(`select dirsync.resync('changes')`)
    await until(
      async () => (await company.db.query(`select * from dirsync.halt where scope = '*'`)).rowCount === 1,
    )
    // An employee for whom the platform answers shows that it is there.
    await hr(`update person set entry_day = '2021-05-06' where userid = 'e0046'`)
    await company.db.query(`select dirsync.resync('changes')`)
    await until(async () => {
      await hasten()
      return (await company.onPlatform()).get('e0046')?.entry_day === '2021-05-06'
    })
    await company.control('DELETE', 'faults')
    await until(async () => {
      await hasten()
      return (await company.db.query(`select * from dirsync.pending`)).rowCount === 0
    })
    expect((await company.db.query(`select * from dirsync.halt`)).rows).toEqual([])
    expect((await company.onPlatform()).get('e0040')).toMatchObject({ entry_day: '2021-05-06' })
  })

  test('a department closed long ago and empty is deleted, children first', async () => {
    await company.control('POST', 'departments', [
      { dept_code: 'P', dept_name: 'parent' },
      { dept_code: 'C', dept_name: 'child', parent_code: 'P' },
    ])
    await hr(`insert into department values ('P', null, false, now() - interval '2 days'), ('C', 'P', false, now() - interval '2 days'),
              ('F', null, false, now() - interval '1 hour')`)
    const run = await company.run('departments')
    expect(run.result?.outcomes).toEqual({ deleted: 2 })
    const { calls } = await company.control<{ calls: { params: { dept_code: string } }[] }>(
      'GET',
      'calls?operation=department/delete',
    )
    expect(calls.map(call => call.params.dept_code)).toEqual(['C', 'P'])
  })

  once('a department is kept to which an update without an answer may have moved someone', async () => {
    await company.control('POST', 'departments', [{ dept_code: 'M', dept_name: 'moved to' }])
    await hr(`insert into department values ('M', null, true, null)`)
    const move = (dept: string) => hr(`update person set dept_code = $1 where userid = 'e0032'`, [dept])
    await move('M')
    // It arrives, and from then on the platform cannot be asked.
    await faults({ operation: 'employee/update', match: { userid: 'e0032' }, loseAnswer: true })
    await company.db.query(`select dirsync.resync('changes')`)
    await until(async () => (await company.onPlatform()).get('e0032')?.dept_code === 'M')
    await faults({ operation: 'employee/get', match: { userid: 'e0032' }, reset: true })
    await move('D1')
    await hr(
      `update department set active = false, closed_at = now() - interval '2 days' where dept_code = 'M'`,
    )
    expect(await company.spent(() => company.run('departments'))).not.toHaveProperty('department/delete')

    await company.control('DELETE', 'faults')
    await company.db.query(`select dirsync.resync('changes')`)
    // Not before the run is planned.
    await until(async () => {
      await hasten()
      return (await company.onPlatform()).get('e0032')?.dept_code === 'D1'
    })
    await until(async () => (await company.db.query('select from dirsync.pending')).rowCount === 0)
    expect(await company.spent(() => company.run('departments'))).toMatchObject({ 'department/delete': 1 })
  })

  const closed = (dept: string) =>
    hr(`insert into department values ($1, null, false, now() - interval '2 days')`, [dept])
  const joins = async (i: number, dept: string, mobile: string) => {
    await company.control('POST', 'departments', [{ dept_code: dept, dept_name: 'to be closed' }])
    const { userid, name, email, entry_day } = person(i)
    await company.control('POST', 'employees', [{ userid, name, dept_code: dept }])
    await hr(
      `insert into person (userid, name, mobile, email, dept_code, entry_day, active)
       values ($1, $2, $3, $4, 'D1', $5, true)`,
      [userid, name, mobile, email, entry_day],
    )
  }

  // In a group, by departments whose code only another enterprise has by then.
  const loseDeletion = (dept_code: string) =>
    faults({ operation: 'department/delete', match: { dept_code }, loseAnswer: true, times: 1 })

  const lost = [
    ['G', 'a deletion is over if its answer was lost and only another enterprise has the code', false],
    ['H', 'a deletion is over if its answer was lost, and its run cancelled since', true],
  ] as const
  for (const [dept_code, name, isCancelled] of lost)
    once(name, async () => {
      const both = [{ dept_code }, { dept_code, enterprise_code: 'E2' }]
      await company.control('POST', 'departments', both)
      await closed(dept_code)
      await loseDeletion(dept_code)
      if (isCancelled) {
        const { rows } = await company.db.query(`select dirsync.resync('departments') as id`)
        await until(async () => (await attempts(dept_code)).length === 1)
        await company.db.query('select dirsync.cancel($1)', [rows[0].id])
        await endOf(company.db, Number(rows[0].id))
      }
      expect((await company.run('departments')).result?.outcomes).toEqual({ deleted: 1 })
      expect(await attempts(dept_code)).toMatchObject([
        { outcome: 'retry' },
        { outcome: 'deleted', platform_code: '1002200106' },
      ])
      expect(await company.cases(dept_code)).toEqual([])
      expect(await company.spent(() => company.run('departments'))).toEqual({})
      const { departments } = await company.control<{ departments: object[] }>('GET', 'state')
      expect(departments).toContainEqual(expect.objectContaining(both[1] as object))
    })

  const answered = [
    ['I', 'a deletion is a case if the platform refused it before', { code: 1999 }],
    ['J', 'a deletion is a case if the platform answered before that it is away', { httpStatus: 503 }],
  ] as const
  for (const [dept_code, name, answer] of answered)
    once(name, async () => {
      await company.control('POST', 'departments', [{ dept_code, enterprise_code: 'E2' }])
      await closed(dept_code)
      await faults({ operation: 'department/delete', match: { dept_code }, times: 1, ...answer })
      expect((await company.run('departments')).result?.outcomes).toEqual({ parked: 1 })
      expect(await company.cases(dept_code)).toMatchObject([{ category: 'no_permission', state: 'open' }])
      await hr('delete from department where dept_code = $1', [dept_code])
    })

  once('a department is kept in which the platform has someone whose row in HR breaks a rule', async () => {
    await joins(70, 'U', 'ask him')
    expect(await company.spent(() => company.run('changes'))).toEqual({ 'employee/get': 1 })
    expect(await company.cases('e0070')).toMatchObject([{ category: 'invalid_hr_row', state: 'open' }])
    await closed('U')
    expect(await company.spent(() => company.run('departments'))).toEqual({})
    await hr(`update person set mobile = '19900000070' where userid = 'e0070'`)
    await company.run('changes')
    expect(await company.spent(() => company.run('departments'))).toMatchObject({ 'department/delete': 1 })
  })

  once('no department is deleted before the platform has told where a new employee is', async () => {
    await faults({ operation: 'employee/get', match: { userid: 'e0071' }, httpStatus: 503 })
    await joins(71, 'V', '19900000071')
    await closed('V')
    const { rows } = await company.db.query(`select dirsync.resync('changes') as id`)
    await until(async () => (await attempts('e0071')).length > 0)
    const stays = expect.stringContaining('It has not told of e0071')
    expect(worded(await company.run('departments'))).toMatchObject({ state: 'done', message: stays })
    // Also once it is asked no more.
    await company.db.query(`select dirsync.cancel($1)`, [rows[0].id])
    await until(async () => (await company.db.query('select from dirsync.pending')).rowCount === 0)
    expect(worded(await company.run('departments'))).toMatchObject({ state: 'done', message: stays })

    await company.control('DELETE', 'faults')
    await company.run('changes')
    expect(await company.spent(() => company.run('departments'))).toMatchObject({ 'department/delete': 1 })
  })

  once('a deletion under way ends while the platform has not told where a new employee is', async () => {
    await faults({ operation: 'department/delete', match: { dept_code: 'W' }, httpStatus: 503 })
    await company.control('POST', 'departments', [{ dept_code: 'W', dept_name: 'to be closed' }])
    await closed('W')
    const { rows } = await company.db.query(`select dirsync.resync('departments') as id`)
    await until(async () => (await attempts('W')).length > 0)
    await faults({ operation: 'employee/get', match: { userid: 'e0072' }, httpStatus: 503 })
    await joins(72, 'W', '19900000072')
    await company.db.query(`select dirsync.resync('changes')`)
    await until(async () => (await attempts('e0072')).length > 0)
    await hasten()
    expect((await endOf(company.db, Number(rows[0].id))).result?.outcomes).toEqual({ obsolete: 1 })
    await company.control('DELETE', 'faults')
    await until(async () => {
      await hasten()
      return (await company.db.query('select from dirsync.pending')).rowCount === 0
    })
    expect(await company.spent(() => company.run('departments'))).toMatchObject({ 'department/delete': 1 })
  })

  once('deletions that a person approved wait for that', async () => {
    await faults({ operation: 'department/delete', match: { dept_code: 'X1' }, httpStatus: 503 })
    for (const dept of ['X1', 'X2', 'X3', 'X4', 'X5', 'X6']) {
      await company.control('POST', 'departments', [{ dept_code: dept, dept_name: 'to be closed' }])
      await closed(dept)
    }
    const { rows } = await company.db.query(`select dirsync.resync('departments') as id`)
    const id = Number(rows[0].id)
    expect(await endOf(company.db, id)).toMatchObject({ state: 'held' })
    await company.db.query('select dirsync.approve($1)', [id])
    await until(async () => (await attempts('X1')).length > 0)
    await faults({ operation: 'employee/get', match: { userid: 'e0073' }, httpStatus: 503 })
    await joins(73, 'W', '19900000073')
    await company.db.query(`select dirsync.resync('changes')`)
    await until(async () => (await attempts('e0073')).length > 0)
    await hasten()
    const last = async () => (await attempts('X1')).at(-1)
    await until(async () => (await last())?.outcome !== 'retry')
    expect(await last()).toMatchObject({ outcome: 'wait' })
    await company.control('DELETE', 'faults')
    await until(async () => {
      await hasten()
      return (await company.db.query('select from dirsync.pending')).rowCount === 0
    })
    expect((await endOf(company.db, id)).result?.outcomes).toEqual({ deleted: 6 })
  })

  once(
    'deletions that a person has rejected are not made, although an earlier run let them pass',
    async () => {
      await faults({ operation: 'department/delete', match: { dept_code: 'Y1' }, httpStatus: 503 })
      const close = async (code: string) => {
        await company.control('POST', 'departments', [{ dept_code: code, dept_name: 'to be closed' }])
        await closed(code)
      }
      await close('Y1')
      const { rows } = await company.db.query(`select dirsync.resync('departments') as id`)
      await until(async () => (await attempts('Y1')).length > 0)
      for (const code of ['Y2', 'Y3', 'Y4', 'Y5', 'Y6']) await close(code)
      const held = await company.run('departments')
      expect(held).toMatchObject({ state: 'held' })
      await company.db.query(`select dirsync.reject($1, 'the reorganisation is off')`, [held.id])
      expect((await endOf(company.db, Number(rows[0].id))).result?.outcomes).toEqual({ obsolete: 1 })
      await company.control('DELETE', 'faults')

      // As one comes back that was in hand when it was rejected.
      const again = async (named: boolean) => {
        await company.db.query(
          `insert into dirsync.pending (operation, entity_key, named, priority)
         values ('delete-department', 'Y1', ${named}, 5);
         select pg_notify('dirsync', 'feed')`,
        )
        await until(async () => (await company.db.query('select from dirsync.pending')).rowCount === 0)
        const { outcome, calls, error } = (await attempts('Y1')).at(-1)
        return worded({ outcome, calls, error })
      }
      expect(await again(false)).toEqual({
        ...{ outcome: 'obsolete', calls: {} },
        error: `its deletion was rejected with run ${held.id}`,
      })
      // Whoever retries a case of it since has the last word.
      expect(await again(true)).toMatchObject({ outcome: 'deleted' })
    },
  )

  once('a broken user id is told, and is no reason to keep departments', async () => {
    const userid = 'e'.repeat(101)
    await hr(
      `insert into person (userid, name, mobile, email, dept_code, entry_day, active)
       values ($1, 'Long', 'ask her', 'long@example.com', 'D1', '2020-01-01', true)`,
      [userid],
    )
    expect(await company.spent(() => company.run('changes'))).toEqual({})
    expect(await company.cases(userid)).toMatchObject([{ category: 'invalid_hr_row', field: 'userid' }])
    await closed('Z')
    expect(await company.spent(() => company.run('departments'))).toMatchObject({ 'department/delete': 1 })
    await hr(`delete from person where userid = $1`, [userid])
    await company.run('changes')
  })

  once('an execution that another one has overtaken sends nothing', async () => {
    await faults({ operation: 'employee/get', match: { userid: 'e0058' }, latencyMs: 1000, times: 1 })
    await hr(`update person set dept_code = 'D2' where userid = 'e0058'`)
    await company.db.query(`select dirsync.resync('changes')`)
    // As another process would that has taken up the work of this one.
    await until(async () => {
      const overtaken = await company.db.query(
        `update dirsync.pending set execution = nextval('dirsync.execution') where entity_key = 'e0058' and in_hand`,
      )
      return overtaken.rowCount === 1
    })
    await until(async () => {
      await hasten()
      return (await company.onPlatform()).get('e0058')?.dept_code === 'D2'
    })
    await until(async () => (await attempts('e0058')).at(-1)?.outcome === 'updated')
    expect((await attempts('e0058')).slice(-2)).toMatchObject([
      { outcome: 'retry', calls: { 'employee/get': 1 } },
      { outcome: 'updated', calls: { 'employee/get': 1, 'employee/update': 1 } },
    ])
  })

  once('a refused deletion is one case, which ends when HR keeps the department after all', async () => {
    await faults({
      operation: 'department/delete',
      match: { dept_code: 'X' },
      code: 1002200106,
      message: 'no permission',
    })
    await hr(`insert into department values ('X', null, false, now() - interval '2 days')`)
    await company.run('departments')
    expect(await company.cases('X')).toMatchObject([
      { category: 'no_permission', state: 'open', entity: 'department' },
    ])
    expect(await company.spent(() => company.run('departments'))).toEqual({})
    await hr(`update department set active = true, closed_at = null where dept_code = 'X'`)
    await company.run('departments')
    expect(await company.cases('X')).toMatchObject([{ state: 'resolved', resolution: 'obsolete' }])
  })

  once(
    'an employee named by a person is in sync once the run has succeeded, as HR has them, or has left',
    async () => {
      const status = async (userid: string) =>
        (await company.db.query('select status from dirsync.employee where userid = $1', [userid])).rows
      await hr(
        `update person set name = 'Named' where userid = 'e0050'; delete from person where userid = 'e0051'`,
      )
      for (const userid of ['e0050', 'e0051'])
        expect(await company.run('employees', userid)).toMatchObject({ state: 'done' })
      expect(await status('e0050')).toEqual([{ status: 'in_sync' }])
      expect(await status('e0051')).toEqual([{ status: 'vanished' }])
      expect(await company.spent(() => company.run('changes'))).toEqual({})
    },
  )

  once('a planned deletion waits while HR has lost its employees', async () => {
    await hr(`insert into department values ('L', null, false, now() - interval '2 days');
              create table lost as select * from person; delete from person`)
    await company.db.query(
      `insert into dirsync.pending (operation, entity_key, priority) values ('delete-department', 'L', 5);
       select pg_notify('dirsync', 'feed')`,
    )
    const outcomes = async () => (await attempts('L')).map(({ outcome, error }) => [outcome, error])
    await until(async () => (await outcomes()).length > 0)
    expect(worded(await outcomes())).toEqual([
      ['wait', expect.stringContaining('HR has 0 employees in departments')],
    ])
    await hr('insert into person select * from lost; drop table lost')
    await hasten()
    await until(async () => (await outcomes()).length > 1)
    expect(worded((await outcomes())[1])).toEqual(['deleted', 'the platform had no such department'])
  })

  once('naming an unknown employee fails the run with a sentence', async () => {
    const run = await company.run('employees', 'nobody')
    expect(run).toMatchObject({ state: 'failed', message: 'neither HR nor dirsync knows an employee nobody' })
  })

  once('HR away: the run fails and says so, and the next one works', async () => {
    const { rows } = await company.hr.query('select current_database() as name')
    const hrName = rows[0].name
    await company.db.query(`alter database ${hrName} allow_connections false`)
    await company.db.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      hrName,
    ])
    const run = await company.run('changes')
    expect(run.state).toBe('failed')
    expect(run.message).toContain('HR database does not answer')
    await company.db.query(`alter database ${hrName} allow_connections true`)
    expect(worded(await company.run('changes'))).toMatchObject({ state: 'done' })
  })

  test('no employee ever had two calls at a time', async () => {
    expect(await company.control('GET', 'stats')).toMatchObject({ maxConcurrentPerUserid: 1 })
  })
})
