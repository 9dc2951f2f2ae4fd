import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CallRecord } from '../../emulator/call-log.ts'
import { startEmulator } from '../../emulator/emulator.ts'
import type { HrSource } from '../../src/hr/source.ts'
import { HrSources } from '../../src/hr/sources.ts'
import { createPool, transaction } from '../../src/lib/database.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { UNTRACED } from '../../src/lib/tracing.ts'
import { LocalPacer } from '../../src/platform/caller.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { formatJobKey } from '../../src/queue/job.ts'
import { nextProbeDelay } from '../../src/sync/outbox/backoff.ts'
import type { ClaimKey } from '../../src/sync/outbox/claim.ts'
import { takeProbes } from '../../src/sync/outbox/feeding.ts'
import { forbidding, raiseHalt } from '../../src/sync/outbox/halts.ts'
import { Standing } from '../../src/sync/processes/standing.ts'
import { type RunKind, requestRun } from '../../src/sync/runs/run.ts'
import { JobProcessor } from '../../src/sync/work/job-processor.ts'
import { inWords } from '../../src/texts/message.ts'
import { duringTest } from '../helpers/during.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { freePort } from '../helpers/free-port.ts'
import { delivered } from '../hr/files/delivered.ts'
import { openHrSource } from '../hr/hr-database.ts'
import { employee } from './outcomes.ts'
import { LIMITS, MAPPING, PlanUnderTest } from './plan-under-test.ts'
import { plant, plantRun } from './planted.ts'
import { SILENT } from './store-under-test.ts'

const E0 = employee('e0')
const NOWHERE = { appId: 'a', appSecret: 's' }
const OUTAGE_OF_ALL = {
  ...{ scope: '*', category: 'platform_unavailable', platformCode: null },
  ...{ message: inWords('m'), remedy: inWords('r') },
}

test('without PostgreSQL a job fails at once, so that the queue hands it out again, and its place is free', async () => {
  const url = `postgres://nobody@127.0.0.1:${await freePort()}/none`
  const pool = createPool(url, { max: 1, name: 'test', logger: SILENT })
  const locks = new SessionLocks(url, SILENT)
  const client = new PlatformClient({ baseUrl: 'http://127.0.0.1:9', appId: 'a', appSecret: 's' })
  onTestFinished(async () => {
    await Promise.all([locks.close(), client.close(), pool.end()])
  })
  const processor = new JobProcessor({
    ...{
      pool,
      client,
      locks,
      standing: new Standing(pool, { id: randomUUID(), secretPrint: '' }),
      logger: SILENT,
      limits: LIMITS,
      tracing: UNTRACED,
    },
    hr: new HrSources([]),
    concurrentCalls: 1,
  })
  for (const entityKey of ['e1', 'e2', 'e3']) {
    const keys = [formatJobKey({ enterpriseCode: '', entityKey, detail: '' })]
    const job = { name: 'update-employee', keys, priority: 3 } as const
    await expect(processor.process(job, new AbortController().signal)).rejects.toThrow('ECONNREFUSED')
  }
})

describe('what a worker has in hand, but its call has been in line for longer than 5 s,', () => {
  const plans = new PlanUnderTest()
  const { store } = plans
  const application = { appId: 'test-application', appSecret: 'test-secret' }
  const emulator = duringTest(() =>
    startEmulator({
      strict: true,
      ...application,
      seed: {
        departments: [
          { dept_code: 'D0', dept_name: 'base', base: true },
          { dept_code: 'D1', dept_name: 'one', parent_code: 'D0' },
          { dept_code: 'D2', dept_name: 'two', parent_code: 'D0' },
        ],
        employees: ['e0', 'e1', 'e2'].map((userid, i) => {
          return { userid, corp_code: userid, name: 'old', mobile: `1380000000${i}`, dept_code: 'D0' }
        }),
      },
    }),
  )
  const hr = () =>
    plans.source(
      'select userid, name, mobile, dept_code, active from person',
      'select dept_code, parent_code, active, closed_at from department',
    )
  const plan = (kind?: RunKind) =>
    plans.plan(kind, { source: hr(), limits: { departments: { count: 2, percent: 100 } } })
  const cancel = (run: number) => store.pool.query('select dirsync.cancel($1)', [run])

  /** Has a worker carry out work. What happens meanwhile happens when their calls of an operation are all in line. */
  async function carryOut(keys: ClaimKey[], operation: string, meanwhile: () => Promise<unknown>) {
    const [inLine, turn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let waiting = 0
    const { ended } = await begin(keys, async request => {
      if (request.operation !== operation) return
      waiting += 1
      if (waiting === keys.length) inLine.resolve()
      await turn.promise
    })
    await Promise.race([inLine.promise, ended])
    await Promise.all([meanwhile(), setTimeout(5000)])
    turn.resolve()
    await ended
  }

  /** Has a worker take work over. @returns its end */
  async function begin(
    keys: ClaimKey[],
    acquire: (request: { operation: string }) => Promise<void> = async () => {},
    source = hr(),
  ): Promise<{ ended: Promise<void> }> {
    return handOver(worker(keys.length, acquire, source), keys)
  }

  function handOver(processor: JobProcessor, keys: ClaimKey[]): Promise<{ ended: Promise<void> }> {
    const [{ operation: name } = E0] = keys
    const job = { name, keys: keys.map(formatJobKey), priority: 3 }
    return processor.process(job, AbortSignal.timeout(20_000))
  }

  function worker(
    concurrentCalls: number,
    acquire: (request: { operation: string }) => Promise<void> = async () => {},
    source = hr(),
  ): JobProcessor {
    const pacer = Object.assign(new LocalPacer(10_000), { acquire })
    const client = new PlatformClient({ baseUrl: emulator.url, ...application, pacer })
    const locks = new SessionLocks(store.url, SILENT)
    onTestFinished(async () => {
      await Promise.all([locks.close(), client.close()])
    })
    return new JobProcessor({
      ...{
        pool: store.pool,
        client,
        locks,
        standing: new Standing(store.pool, { id: randomUUID(), secretPrint: '' }),
        logger: SILENT,
        limits: LIMITS,
        tracing: UNTRACED,
      },
      hr: HrSources.one(source),
      concurrentCalls,
    })
  }
  const writes = async () => {
    const { calls } = await controlOf(emulator.url)<{ calls: CallRecord[] }>('GET', 'calls')
    return calls
      .filter(({ operation }) => !['token/create', 'employee/get'].includes(operation))
      .map(({ params }) => params)
  }
  const outbox = () =>
    store.rows('select entity_key, version, in_hand, attempts from dirsync.pending order by 1')

  test('holds up no one else, where a person is deciding about one of them', async () => {
    await plans.hire(3)
    await plan()
    const open = (userids: string[]) =>
      vi.waitUntil(
        async () => (await outbox()).map(({ entity_key }) => entity_key).join() === userids.join(),
        { timeout: 30_000 },
      )
    const { ended } = await transaction(store.pool, async reviewer => {
      await reviewer.query(`select from dirsync.employee where userid = 'e0' for no key update`)
      const begun = await begin([E0, employee('e1'), employee('e2')])
      await open(['e0'])
      return begun
    })
    await ended
    await open([])
  })

  test('holds up no one else, where a person is deciding about as many that fail as it has room for', async () => {
    await plans.hire(3)
    await plan()
    const control = controlOf(emulator.url)
    const refused = { operation: 'employee/update', code: 1000220002 }
    await control(
      'POST',
      'faults',
      ['e0', 'e1'].map(userid => ({ ...refused, match: { userid } })),
    )
    const processor = worker(2)
    const all = await transaction(store.pool, async reviewer => {
      await reviewer.query(`select from dirsync.employee where userid in ('e0', 'e1') for no key update`)
      const failed = await handOver(processor, [E0, employee('e1')])
      const other = await handOver(processor, [employee('e2')])
      await other.ended
      expect(await outbox()).toMatchObject([
        { entity_key: 'e0', in_hand: true },
        { entity_key: 'e1', in_hand: true },
      ])
      return [failed, other]
    })
    await Promise.all(all.map(({ ended }) => ended))
    expect(await outbox()).toEqual([])
    const outcomes = await store.rows('select entity_key, outcome from dirsync.attempt order by 1')
    expect(outcomes).toEqual([
      { entity_key: 'e0', outcome: 'parked' },
      { entity_key: 'e1', outcome: 'parked' },
      { entity_key: 'e2', outcome: 'updated' },
    ])
  })

  test.each(['employee/get', 'employee/update'])(
    '%s, is sent, unless a plan has replaced its row or its run was cancelled',
    async operation => {
      await plans.hire(3)
      await plan()
      const other = await plantRun(store, { state: 'running' })
      await store.pool.query(`update dirsync.pending set run_id = $1 where entity_key = 'e2'`, [other])
      await carryOut([E0, employee('e1'), employee('e2')], operation, async () => {
        await plans.hr.query(`update person set name = 'corrected' where userid = 'e1'`)
        await plan()
        await cancel(other)
      })
      expect(await writes()).toMatchObject([{ userid: 'e0' }])
      expect(await outbox()).toEqual([
        { entity_key: 'e1', version: 2, in_hand: false, attempts: 0 },
        { entity_key: 'e2', version: 1, in_hand: false, attempts: 0 },
      ])
    },
  )

  test.each(['employee/get', 'employee/update'])(
    '%s, is not sent by name once a person has rejected its row',
    async operation => {
      await plans.hire(3)
      await plan()
      await plans.acknowledge()
      await plans.hr.query(`update person set name = 'held'`)
      const { id, state } = await plan()
      expect(state).toBe('held')
      await plans.planRequested(await requestRun(store.pool, 'employees', ['e0', 'e1'], 'test'), hr())
      await carryOut([E0, employee('e1')], operation, () =>
        store.pool.query(`select dirsync.reject_part($1, '{"keys": ["e1"]}')`, [id]),
      )
      expect(await writes()).toMatchObject([{ userid: 'e0' }])
      const employees = await store.rows('select userid, status from dirsync.employee order by 1')
      expect(employees).toEqual([
        { userid: 'e0', status: 'in_sync' },
        { userid: 'e1', status: 'rejected' },
        { userid: 'e2', status: 'held' },
      ])
    },
  )

  test('is no open id of a cancelled run', async () => {
    await plans.hire(1)
    const run_id = await plantRun(store, { kind: 'openids', state: 'running' })
    const key: ClaimKey = { ...E0, operation: 'bind-openid', detail: '20000001' }
    const { operation, entityKey: entity_key, detail } = key
    await plant(store, 'pending', { operation, entity_key, detail, priority: 5, run_id })
    await carryOut([key], 'employee/openid', () => cancel(run_id))
    expect(await writes()).toEqual([])
  })

  test('is no deletion of a department that HR has opened again', async () => {
    await plans.hire(1)
    await plan()
    await plans.hr.query(
      `insert into department (dept_code, parent_code, active, closed_at)
       values ('D0', null, true, null), ('D1', 'D0', false, now() - interval '1 day'),
              ('D2', 'D0', false, now() - interval '1 day')`,
    )
    await store.pool.query(`update dirsync.employee set platform_state = 'absent', queried_at = now()`)
    await plan('departments')
    const deletion: ClaimKey = { ...E0, operation: 'delete-department' }
    const deletions = ['D1', 'D2'].map(entityKey => ({ ...deletion, entityKey }))
    await carryOut(deletions, 'department/delete', () =>
      plans.hr.query(`update department set active = true, closed_at = null where dept_code = 'D1'`),
    )
    expect(await writes()).toMatchObject([{ dept_code: 'D2' }])
  })

  test('is no deletion that waits for who is unlocated: HR is not read for it, and it is tried ever more rarely', async () => {
    await plans.hire(1)
    await plan()
    await plans.hr.query(
      `insert into department (dept_code, active, closed_at) values ('D0', true, null), ('D1', false, now() - interval '1 day')`,
    )
    await store.pool.query(`update dirsync.employee set platform_state = 'absent', queried_at = now()`)
    const { id } = await plan('departments')
    await store.pool.query('update dirsync.sync_run set approved = true where id = $1', [id])
    const locate = (at: Date | null) => store.pool.query('update dirsync.employee set queried_at = $1', [at])
    await locate(null)
    const reading = vi.spyOn(hr(), 'departments')
    onTestFinished(() => reading.mockRestore())
    const tried = async (): Promise<number | undefined> => {
      await (await begin([{ ...E0, operation: 'delete-department', entityKey: 'D1' }])).ended
      const [work] = await store.rows(
        `with was as (select not_before from dirsync.pending where entity_key = 'D1')
         update dirsync.pending set not_before = now() where entity_key = 'D1'
         returning round(extract(epoch from (select not_before from was) - now()) / 60)::int as minutes`,
      )
      // Zero: the worker before has not given its lock back yet, so that it was put off for a second.
      return work?.minutes === 0 ? tried() : work?.minutes
    }
    const delays = []
    for (let i = 0; i < 7; i += 1) delays.push(await tried())
    expect(delays).toEqual([1, 2, 4, 8, 16, 30, 30])
    expect(reading).not.toHaveBeenCalled()
    await locate(new Date())
    expect(await tried()).toBeUndefined()
    expect(await writes()).toMatchObject([{ dept_code: 'D1' }])
  })

  test('is no deletion of an enterprise of which HR delivers no department any more: it is planned again once HR does', async () => {
    const enterprise = `case when dept_code = 'D0' then 'E1' end as enterprise_code`
    const source = plans.source(
      `select userid, name, dept_code, ${enterprise} from person`,
      `select dept_code, parent_code, active, closed_at, ${enterprise} from department`,
    )
    await plans.hire(1)
    await plans.hr.query(`update person set dept_code = 'D0';
      insert into department (dept_code, active) values ('D0', true), ('D1', true), ('D2', true)`)
    await plans.plan('changes', { source })
    await store.pool.query(`update dirsync.employee set platform_state = 'absent', queried_at = now()`)
    const planned = () =>
      plans.plan('departments', { source, limits: { departments: { count: 2, percent: 100 } } })
    await planned()
    await plans.hr.query(`delete from department where dept_code = 'D1'`)
    await planned()
    await store.pool.query(
      `update dirsync.department set first_missing_at = now() - interval '25 hours' where dept_code = 'D1'`,
    )
    expect(await planned()).toMatchObject({ planned: 1 })
    const deletion: ClaimKey = { ...E0, operation: 'delete-department', entityKey: 'D1' }
    const outcomes = async () => {
      await store.pool.query('update dirsync.pending set not_before = now()')
      await (await begin([deletion], undefined, source)).ended
      return store.rows('select outcome, error from dirsync.attempt order by id')
    }
    await plans.hr.query(`delete from department where dept_code = 'D2'`)
    const kept = {
      outcome: 'obsolete',
      error: expect.stringContaining('HR delivers no department of the enterprise without a code'),
    }
    expect(await outcomes()).toMatchObject([kept])
    expect(await writes()).toEqual([])
    await plans.hr.query(`insert into department (dept_code, active) values ('D2', true)`)
    expect(await planned()).toMatchObject({ planned: 1 })
    // The worker before may still hold its lock.
    await expect.poll(outcomes).toMatchObject([kept, { outcome: 'deleted' }])
  })

  test('is no deletion while the delivery is incomplete: it alone waits, and goes by the next one', async () => {
    const files = await delivered()
    const source = files.source(
      'select userid, name, dept_code from staff',
      `select dept_code, null as parent_code, active, now() - interval '1 day' as closed_at from units`,
    )
    const units = 'dept_code,active\nD0,1\n'
    await files.deliver('staff.csv', 'userid,name,dept_code\ne0,n0,D0\n')
    await files.deliver('units.csv', `${units}D1,0\nD2,0\n`)
    await plans.plan('changes', { source })
    await store.pool.query(`update dirsync.employee set platform_state = 'absent', queried_at = now()`)
    const limits = { departments: { count: 2, percent: 100 } }
    expect(await plans.plan('departments', { source, limits })).toMatchObject({ planned: 2 })
    // D1 is open again, and somebody is in D2.
    await files.deliver('staff.csv', 'userid,name,dept_code\ne0,n0,D2\ne1')
    await files.deliver('units.csv', `${units}D1,1\nD2,0`)
    const deletions = ['D1', 'D2'].map(
      entityKey => ({ ...E0, operation: 'delete-department', entityKey }) as const,
    )
    const outcomes = async () => {
      await store.pool.query('update dirsync.pending set not_before = now()')
      await (await begin(deletions, undefined, source)).ended
      return store.rows(
        `select outcome from (select distinct on (entity_key) * from dirsync.attempt where operation = 'delete-department'
                              order by entity_key, id desc) latest`,
      )
    }
    expect(await outcomes()).toEqual([{ outcome: 'wait' }, { outcome: 'wait' }])
    expect(await store.rows('select from dirsync.halt')).toEqual([])
    await files.deliver('staff.csv', 'userid,name,dept_code\ne0,n0,D2\n')
    await files.deliver('units.csv', `${units}D1,1\nD2,0\n`)
    // The worker before may still hold their locks.
    await expect.poll(outcomes).toEqual([{ outcome: 'obsolete' }, { outcome: 'obsolete' }])
    expect(await writes()).toEqual([])
  })

  test('is no deletion while something in HR is locked: it alone waits', async () => {
    await plans.hire(1)
    await plan()
    await plans.hr.query(
      `insert into department (dept_code, active, closed_at) values ('D0', true, null), ('D1', false, now() - interval '1 day')`,
    )
    await store.pool.query(`update dirsync.employee set platform_state = 'absent', queried_at = now()`)
    await plan('departments')
    const limited = hr()
    const read = limited.departments.bind(limited)
    const reading = vi
      .spyOn(limited, 'departments')
      .mockImplementation(({ timeoutMs, ...options } = {}) =>
        read({ ...options, timeoutMs: timeoutMs ? timeoutMs / 2000 : null }),
      )
    onTestFinished(() => reading.mockRestore())
    const other = await plans.hr.connect()
    await other.query('begin; lock table department')
    await (await begin([{ ...E0, operation: 'delete-department', entityKey: 'D1' }])).ended
    await other.query('rollback')
    other.release()
    expect(await store.rows(`select outcome from dirsync.attempt where entity_key = 'D1'`)).toEqual([
      { outcome: 'wait' },
    ])
    expect(await store.rows('select from dirsync.halt')).toEqual([])
    expect(await writes()).toEqual([])
  })
})

describe('an outage of the platform', () => {
  const plans = new PlanUnderTest()
  const { store } = plans
  const isProbe = async () => (await forbidding(store.pool, '')).isProbe
  const age = (minutes: number) =>
    store.pool.query(
      `update dirsync.halt set (since, next_probe_at, jobs_probe_until) = (since - $1::interval, next_probe_at - $1::interval, jobs_probe_until - $1::interval)`,
      [`${minutes} minutes`],
    )

  /** A feeder lets a job through, and a worker carries it out, which does not reach the platform unless it has its address. */
  async function probe(source: HrSource, platform?: string): Promise<void> {
    const baseUrl = platform ?? `http://127.0.0.1:${await freePort()}`
    const client = new PlatformClient({ ...NOWHERE, baseUrl })
    const locks = new SessionLocks(store.url, SILENT)
    const processor = new JobProcessor({
      ...{ pool: store.pool, client, locks, logger: SILENT, limits: LIMITS, tracing: UNTRACED },
      standing: new Standing(store.pool, { id: randomUUID(), secretPrint: '' }),
      hr: HrSources.one(source),
      concurrentCalls: 1,
    })
    const fed = await transaction(store.pool, db => takeProbes(db, nextProbeDelay))
    expect(fed).toHaveLength(1)
    const job = { name: E0.operation, keys: fed.map(formatJobKey), priority: 3 }
    await (await processor.process(job, AbortSignal.timeout(20_000))).ended
    await Promise.all([locks.close(), client.close()])
    expect(await store.rows('select enqueued_at from dirsync.pending')).toEqual([{ enqueued_at: null }])
  }

  test('is probed by others soon, where the jobs that probe it make no call, since HR is away', async () => {
    await plans.hire(1)
    await plans.plan()
    await raiseHalt(store.pool, OUTAGE_OF_ALL, 0)
    const away = openHrSource(`postgres://nobody@127.0.0.1:${await freePort()}/none`, MAPPING)
    onTestFinished(() => away.close())
    await probe(away)
    await age(5)
    await probe(away)
    expect(await isProbe()).toBe(false)
    await age(6)
    await probe(away)
    expect([await isProbe(), await isProbe()]).toEqual([true, false])

    await age(11)
    await probe(plans.source())
    expect(await isProbe()).toBe(false)
    await store.pool.query('update dirsync.halt set next_probe_at = now()')
    await store.pool.query('update dirsync.pending set not_before = now()')
    expect(await isProbe()).toBe(false)
  })

  test.each([
    [1000210003, { scope: '*', category: 'credentials' }],
    [1000210001, { scope: '*', category: 'clock_skew' }],
    [1000240002, { scope: '', category: 'enterprise_code' }],
  ])('ends by an answer also if that is a refusal, %i, and halts by itself', async (code, halt) => {
    await plans.hire(1)
    await plans.plan()
    const emulator = await startEmulator(NOWHERE)
    onTestFinished(() => emulator.close())
    await controlOf(emulator.url)('POST', 'faults', [{ operation: '*', code }])
    await raiseHalt(store.pool, OUTAGE_OF_ALL, 0)
    await probe(plans.source(), emulator.url)
    expect(await store.rows('select scope, category, platform_code::int from dirsync.halt')).toEqual([
      { ...halt, platform_code: code },
    ])
  })

  test('does not end by the refusal of a secret that one worker has alone, which leaves the work to others', async () => {
    await plans.hire(1)
    await plans.plan()
    for (const secret_print of ['', 'right'])
      await plant(store, 'process', {
        ...{ id: randomUUID(), host: 'h', pid: 1, roles: ['worker'], version: '1', pacer: {}, secret_print },
      })
    const emulator = await startEmulator(NOWHERE)
    onTestFinished(() => emulator.close())
    await controlOf(emulator.url)('POST', 'faults', [{ operation: '*', code: 1000210003 }])
    await raiseHalt(store.pool, OUTAGE_OF_ALL, 0)
    await probe(plans.source(), emulator.url)
    expect(await store.rows('select secret_print, aside_for from dirsync.process order by 1')).toEqual([
      { secret_print: '', aside_for: 'secret' },
      { secret_print: 'right', aside_for: null },
    ])
    expect(await store.rows('select scope, category from dirsync.halt')).toEqual([
      { scope: '*', category: 'platform_unavailable' },
    ])
    // The others' jobs are to find out.
    expect(await isProbe()).toBe(false)
  })

  test('is probed by a job in its turn also while others probe it in vain, every 30 seconds', async () => {
    await plans.hire(1)
    await plans.plan()
    await raiseHalt(store.pool, OUTAGE_OF_ALL, 300_000)
    // As after ten minutes without a job's call, while probes failed.
    await store.pool.query(
      `update dirsync.halt set probes = 10, jobs_probe_until = now() - interval '1 second'`,
    )
    const take = () => transaction(store.pool, db => takeProbes(db, nextProbeDelay))
    let asked = 0
    let fed = 0
    for (let round = 0; round < 20 && fed === 0; round += 1) {
      if (await isProbe()) asked += 1
      await age(0.5)
      fed += (await take()).length
    }
    expect({ asked, fed }).toEqual({ asked: 10, fed: 1 })
  })
})
