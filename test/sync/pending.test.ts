import { describe, expect, test } from 'vitest'
import { transaction } from '../../src/lib/database.ts'
import { claim } from '../../src/sync/outbox/claim.ts'
import { Feeder } from '../../src/sync/outbox/feeder.ts'
import { countEnqueued, refeed, takeForQueue, takeProbes } from '../../src/sync/outbox/feeding.ts'
import {
  haltForHr,
  healHrHalt,
  liftHalts,
  raiseHalt,
  readHalts,
  untoldIn,
} from '../../src/sync/outbox/halts.ts'
import { addWork, detachHalted, postpone } from '../../src/sync/outbox/outbox.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { inWords, message } from '../../src/texts/message.ts'
import { employee } from './outcomes.ts'
import { plant, plantRun, plantWork } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const deletion = (entityKey: string, wave: number, differs = {}) =>
  plantWork(store, entityKey, { operation: 'delete-department', wave, priority: 5, ...differs })
const keysOf = (fed: { entityKey: string }[]) => fed.map(({ entityKey }) => entityKey)
const take = async (room = 100) =>
  keysOf(await transaction(store.pool, db => takeForQueue(db, room, () => 1)))
const probe = async (next = () => 60_000) => keysOf(await transaction(store.pool, db => takeProbes(db, next)))
const add = (run: number, priority: number, ...asked: Parameters<typeof addWork>[3][number][]) =>
  transaction(store.pool, db => addWork(db, run, priority, asked))
const detach = () => detachHalted(store.pool)
const done = (...keys: string[]) =>
  store.pool.query('delete from dirsync.pending where entity_key = any ($1)', [keys])
const rows = () =>
  store.rows('select *, not_before > now() as waits from dirsync.pending order by entity_key')

/** A halt whose first probe is due. */
const halt = (scope: string, firstProbeMs = 0) =>
  raiseHalt(
    store.pool,
    { scope, category: 'credentials', platformCode: 1000210003, message: inWords('m'), remedy: inWords('r') },
    firstProbeMs,
  )
/** A call for C1 that began then has succeeded. Returns the scopes that are still halted. */
const lift = async (startedAt: Date) => {
  await liftHalts({ pool: store.pool, logger: SILENT }, 'C1', startedAt)
  return (await readHalts(store.pool)).map(({ scope }) => scope)
}

describe('work', () => {
  const named = { ...employee('e1', 'C1'), wave: 0 }

  test('goes into the outbox with its run, priority and wave', async () => {
    const run = await plantRun(store)
    const bind = {
      operation: 'bind-openid' as const,
      enterpriseCode: '',
      entityKey: 'e2',
      detail: '20000001',
      wave: 2,
    }
    await add(run, 5, named, bind as never)
    expect(await rows()).toMatchObject([
      {
        operation: 'update-employee',
        enterprise_code: 'C1',
        entity_key: 'e1',
        detail: '',
        run_id: run,
        priority: 5,
        wave: 0,
        version: 1,
      },
      { operation: 'bind-openid', entity_key: 'e2', detail: '20000001', run_id: run, wave: 2 },
    ])
  })

  test('that is there is asked for anew: another version, the better priority, the new run, at once', async () => {
    const [first, second] = [await plantRun(store), await plantRun(store)]
    await add(first, 3, named)
    await store.pool.query(
      `update dirsync.pending set enqueued_at = now(), attempts = 3, not_before = now() + interval '1 hour'`,
    )
    await add(second, 7, named)
    expect(await rows()).toMatchObject([
      { run_id: second, priority: 3, version: 2, enqueued_at: null, attempts: 0, waits: false },
    ])
    await add(second, 1, named)
    expect(await rows()).toMatchObject([{ priority: 1, version: 3 }])
  })

  test('stays when its run is removed', async () => {
    const run = await plantRun(store)
    await add(run, 3, named)
    await store.pool.query('delete from dirsync.sync_run')
    expect(await rows()).toMatchObject([{ run_id: null }])
  })
})

describe('the queue is fed', () => {
  test('the best priority first, then what waits longest, as far as there is room, and once', async () => {
    await plantWork(store, 'full', { priority: 7 })
    await plantWork(store, 'late', { not_before: '2020-01-02T00:00:00Z' })
    await plantWork(store, 'early', { not_before: '2020-01-01T00:00:00Z' })
    await plantWork(store, 'named', { priority: 1 })
    expect((await take(3)).sort()).toEqual(['early', 'late', 'named'])
    expect(await take(3)).toEqual(['full'])
    expect(await take(3)).toEqual([])
  })

  test('not with what is put off', async () => {
    await plantWork(store, 'e1', { not_before: '2222-01-01T00:00:00Z' })
    expect(await take()).toEqual([])
  })

  test('wave by wave within an enterprise, whichever run asked for it', async () => {
    await deletion('child', 0, { run_id: await plantRun(store) })
    await deletion('parent', 1, { run_id: await plantRun(store) })
    await deletion('grandparent', 2)
    await deletion('elsewhere', 1, { enterprise_code: 'C2' })
    await plantWork(store, 'e1')
    expect((await take()).sort()).toEqual(['child', 'e1', 'elsewhere'])
    expect(await take()).toEqual([])
    await done('child')
    expect(await take()).toEqual(['parent'])
    await done('parent')
    expect(await take()).toEqual(['grandparent'])
  })

  test('a child that is put off holds its parent back', async () => {
    await deletion('child', 0, { not_before: '2222-01-01T00:00:00Z' })
    await deletion('parent', 1)
    expect(await take()).toEqual([])
  })
})

describe('while an enterprise is halted', () => {
  test('no more rows are locked than are taken, however many enterprises have work', async () => {
    await store.pool.query(
      `insert into dirsync.pending (operation, enterprise_code, entity_key, priority)
       select 'update-employee', 'C' || c, 'e' || e, 3 from generate_series(1, 20) c, generate_series(1, 100) e`,
    )
    await plantWork(store, 'e1', { enterprise_code: 'halted' })
    await halt('halted', 60_000)
    await transaction(store.pool, async db => {
      expect(await takeForQueue(db, 10, () => 1)).toHaveLength(10)
      expect(await store.rows('select from dirsync.pending for update skip locked')).toHaveLength(1991)
    })
  })

  test('what others have locked is passed over', async () => {
    for (const userid of ['e1', 'e2', 'e3'])
      await plantWork(store, userid, { enterprise_code: 'C1', priority: 3 })
    await halt('halted', 60_000)
    await transaction(store.pool, async db => {
      await db.query(`select from dirsync.pending where entity_key = 'e2' for update`)
      expect((await take()).sort()).toEqual(['e1', 'e3'])
    })
    expect(await take()).toEqual(['e2'])
  })

  test('the others are fed, and of it one job is let through when its probe is due', async () => {
    for (const userid of ['e1', 'e2']) await plantWork(store, userid, { enterprise_code: 'C1' })
    await plantWork(store, 'e3', { enterprise_code: 'C2' })
    await halt('C1')
    expect(await take()).toEqual(['e3'])
    expect(await probe(() => 60_000)).toHaveLength(1)
    expect(await probe()).toEqual([])
    expect(await take()).toEqual([])
    const [status] = await readHalts(store.pool)
    expect(status?.next_probe_at?.getTime()).toBeGreaterThan(Date.now() + 30_000)
  })

  test('nothing is let through before the first probe is due', async () => {
    await plantWork(store, 'e1', { enterprise_code: 'C1' })
    await halt('C1', 60_000)
    expect(await probe()).toEqual([])
  })

  test('probes come at growing intervals, and stay due until there is something to let through', async () => {
    await halt('C1')
    const asked: number[] = []
    const next = (probes: number) => {
      asked.push(probes)
      return 0
    }
    await transaction(store.pool, db => takeProbes(db, next))
    for (const userid of ['e1', 'e2']) {
      await plantWork(store, userid, { enterprise_code: 'C1' })
      await transaction(store.pool, db => takeProbes(db, next))
    }
    await transaction(store.pool, db => takeProbes(db, next))
    expect(asked).toEqual([0, 1])
  })

  test('its work leaves the runs, which can end, and stays in the outbox', async () => {
    const run = await plantRun(store)
    await plantWork(store, 'e1', { enterprise_code: 'C1', run_id: run })
    await plantWork(store, 'e2', { enterprise_code: 'C1', run_id: run, enqueued_at: new Date() })
    await plantWork(store, 'e3', { enterprise_code: 'C2', run_id: run })
    await halt('C1')
    expect(await detach()).toBe(1)
    expect(await detach()).toBe(0)
    expect(await rows()).toMatchObject([{ run_id: null }, { run_id: run }, { run_id: run }])
    expect(
      await store.rows('select run_id, entity_key, enterprise_code, outcome, calls from dirsync.attempt'),
    ).toEqual([{ run_id: run, entity_key: 'e1', enterprise_code: 'C1', outcome: 'halted', calls: {} }])
  })

  test('a run tells of HR because of the work that left it, whether HR answers again by then or not', async () => {
    const beijing = { name: 'beijing', codes: ['C1', 'C2'] }
    const away = () => haltForHr({ pool: store.pool, logger: SILENT }, beijing, message('said.hr_away'))
    const [left, repeated] = [await plantRun(store), await plantRun(store)]
    await plantWork(store, 'e1', { enterprise_code: 'C1', run_id: left })
    await plantWork(store, 'e2', { enterprise_code: 'C2', run_id: left })
    await away()
    expect(await detach()).toBe(2)
    const told = [
      {
        message: message('said.source_unread_because', { name: 'beijing', reason: message('said.hr_away') }),
        remedy: message('said.hr_unread_remedy'),
      },
    ]
    expect(await untoldIn(store.pool, left)).toEqual(told)
    await healHrHalt({ db: store.pool, logger: SILENT }, beijing, new Date(Date.now() + 60_000))
    expect(await readHalts(store.pool)).toEqual([])
    expect(await untoldIn(store.pool, left)).toEqual(told)
    // Whatever was halted in the other run was repeated in it before HR went away once more.
    await plant(
      store,
      'attempt',
      ...['halted', 'updated'].map(outcome => ({
        ...{ run_id: repeated, operation: 'update-employee', enterprise_code: 'C1' },
        ...{ entity_key: 'e3', detail: '', started_at: new Date(), duration_ms: 1, outcome },
      })),
    )
    await away()
    expect(await untoldIn(store.pool, repeated)).toEqual([])
    await plant(store, 'attempt', {
      ...{
        run_id: repeated,
        operation: 'update-employee',
        enterprise_code: 'C1',
        entity_key: 'e4',
        detail: '',
      },
      ...{ started_at: new Date(), duration_ms: 1, outcome: 'obsolete' },
      error: message('said.not_read_since'),
    })
    expect(await untoldIn(store.pool, repeated)).toEqual([{ message: message('said.not_read_since') }])
  })

  test('but not work of a cancelled run, which is withdrawn once no worker holds it', async () => {
    const run = await plantRun(store)
    await plantWork(store, 'e1', { enterprise_code: 'C1', run_id: run, starts: 1, in_hand: true })
    await halt('C1')
    await store.pool.query('select dirsync.cancel($1)', [run])
    expect(await detach()).toBe(0)
    await store.pool.query('update dirsync.pending set starts = 0, in_hand = false')
    await finishRuns(store.pool)
    expect(await rows()).toEqual([])
  })

  test('what a run of changes asked for keeps the time since then when it has left that run', async () => {
    const at = new Date(Date.now() - 3_600_000)
    const [changes, full, later] = [
      await plantRun(store),
      await plantRun(store, { kind: 'full' }),
      await plantRun(store, { kind: 'full' }),
    ]
    await plantWork(store, 'e1', { enterprise_code: 'C1', run_id: changes, created_at: at })
    await plantWork(store, 'e2', { enterprise_code: 'C1', run_id: full, created_at: at })
    await plantWork(store, 'e3', { enterprise_code: 'C1', run_id: changes, created_at: at })
    await halt('C1')
    expect(await detach()).toBe(3)
    await lift(new Date(Date.now() + 1000))
    await add(later, 7, { ...employee('e3', 'C1'), wave: 0 })
    const claims = await claim(
      store.pool,
      ['e1', 'e2', 'e3'].map(userid => employee(userid, 'C1')),
      {},
    )
    expect(claims).toMatchObject([
      { runId: null, changeMsAgo: expect.closeTo(3_600_000, -5) },
      { runId: null, changeMsAgo: null },
      { runId: later, changeMsAgo: expect.closeTo(3_600_000, -5) },
    ])
  })

  test('what a run of changes takes over from a full run has been a change since then', async () => {
    const full = await plantRun(store, { kind: 'full' })
    const found = await plantRun(store, { started_at: new Date(Date.now() - 60_000) })
    await plantWork(store, 'e1', { run_id: full, created_at: new Date(Date.now() - 3_600_000) })
    await add(found, 3, { ...employee('e1'), wave: 0 })
    expect(await claim(store.pool, [employee('e1')], {})).toMatchObject([
      { runId: found, changeMsAgo: expect.closeTo(60_000, -5) },
    ])
  })

  test('waves keep their order when the work has left its run', async () => {
    const run = await plantRun(store)
    await deletion('child', 0, { enterprise_code: 'C1', run_id: run })
    await deletion('parent', 1, { enterprise_code: 'C1', run_id: run })
    await halt('C1')
    await detach()
    expect(await probe(() => 0)).toEqual(['child'])
    expect(await probe(() => 0)).toEqual([])
    await lift(new Date(Date.now() + 1000))
    expect(await take()).toEqual([])
    await done('child')
    expect(await take()).toEqual(['parent'])
  })
})

describe('while everything is halted', () => {
  test('nothing is fed but probes, and runs keep their work', async () => {
    const run = await plantRun(store)
    for (const userid of ['e1', 'e2']) await plantWork(store, userid, { run_id: run })
    await halt('*')
    expect(await take()).toEqual([])
    expect(await detach()).toBe(0)
    expect(await probe()).toHaveLength(1)
    expect(await probe()).toEqual([])
  })

  test('a wave whose turn it is can be the probe, so that a halt never outlives its cause', async () => {
    await deletion('parent', 1)
    await halt('*')
    expect(await probe()).toEqual(['parent'])
  })

  test('an enterprise that is halted by itself is not probed for all', async () => {
    await plantWork(store, 'e1', { enterprise_code: 'C1' })
    await halt('*')
    await halt('C1', 60_000)
    expect(await probe(() => 0)).toEqual([])
    await plantWork(store, 'e2', { enterprise_code: 'C2' })
    expect(await probe(() => 0)).toEqual(['e2'])
  })
})

describe('a halt', () => {
  test('is raised once: the first one is the alarm', async () => {
    expect(await halt('*')).toBe(true)
    expect(await halt('*')).toBe(false)
    expect(await halt('C1')).toBe(true)
    expect(await readHalts(store.pool)).toMatchObject([
      {
        scope: '*',
        category: 'credentials',
        platform_code: 1000210003,
        message: inWords('m'),
        remedy: inWords('r'),
        since: expect.any(Date),
      },
      { scope: 'C1' },
    ])
  })

  test('is lifted by a success that began after it, of the same enterprise', async () => {
    for (const scope of ['*', 'C1', 'C2']) await halt(scope)
    expect(await lift(new Date(Date.now() - 60_000))).toEqual(['*', 'C1', 'C2'])
    expect(await lift(new Date(Date.now() + 60_000))).toEqual(['C2'])
  })
})

describe('a clock that is put back', () => {
  const feeder = () =>
    new Feeder({
      pool: store.pool,
      queue: { add: async () => {}, counts: async () => ({ total: 0 }) },
      highWater: 10,
      logger: SILENT,
    })
  const ahead = (minutes: number) => new Date(Date.now() + minutes * 60_000)

  test('leaves no work waiting for longer than it may have been put off', async () => {
    await plantWork(store, 'retried', { not_before: ahead(3) })
    await plantWork(store, 'of tomorrow', { not_before: ahead(24 * 60) })
    await plantWork(store, 'queued tomorrow', { not_before: ahead(24 * 60), enqueued_at: ahead(24 * 60) })
    await plantWork(store, 'awaits a plan', { not_before: 'infinity', replan_at: new Date() })
    // Two must agree on what the queue has lost.
    const sweeping = feeder()
    for (let i = 0; i < 3; i += 1) await sweeping.sweep()
    expect((await take()).sort()).toEqual(['of tomorrow', 'queued tomorrow'])
  })

  test('by less than an hour leaves no work waiting but what is to be retried', async () => {
    const [soon, planned] = [ahead(3), ahead(30)]
    await plantRun(store, { kind: 'full', requested_at: planned })
    await plantWork(store, 'retried', { not_before: soon, created_at: planned, execution: 1, attempts: 1 })
    await plantWork(store, 'put off', { not_before: soon })
    await plantWork(store, 'planned', { not_before: planned, created_at: planned })
    await plantWork(store, 'queued', { not_before: planned, created_at: planned, enqueued_at: planned })
    await plantWork(store, 'awaits a plan', {
      not_before: 'infinity',
      created_at: planned,
      replan_at: planned,
    })
    const sweeping = feeder()
    for (let i = 0; i < 3; i += 1) await sweeping.sweep()
    expect((await take()).sort()).toEqual(['planned', 'queued'])
  })

  test('leaves no halt that nothing lifts, and of which no job can be the probe', async () => {
    await plantWork(store, 'e1', { enterprise_code: 'C1' })
    await halt('C1')
    await store.pool.query('update dirsync.halt set since = $1', [ahead(24 * 60)])
    await feeder().sweep()
    expect(await probe()).toHaveLength(1)
    const [claimed] = await claim(store.pool, [employee('e1', 'C1')], {})
    expect(claimed).toMatchObject({ halted: false, underHalt: true })
    expect(await lift(claimed?.startedAt ?? new Date(0))).toEqual([])
  })

  test('leaves no probe waiting for longer than from one to the next', async () => {
    await plantWork(store, 'e1', { enterprise_code: 'C1' })
    await halt('C1', 24 * 3_600_000)
    expect(await probe()).toHaveLength(1)
    await halt('C2', 300_000)
    await plantWork(store, 'e2', { enterprise_code: 'C2' })
    expect(await probe()).toEqual([])
  })
})

describe('what the queue has lost', () => {
  test('is what was enqueued some seconds ago; it is fed again', async () => {
    await plantWork(store, 'old', { enqueued_at: '2020-01-01T00:00:00Z' })
    await plantWork(store, 'new', { enqueued_at: new Date() })
    await plantWork(store, 'never')
    expect(await countEnqueued(store.pool)).toEqual({ rows: 2, jobs: 2 })
    expect(await refeed(store.pool, 60_000)).toBe(1)
    expect(await countEnqueued(store.pool)).toEqual({ rows: 1, jobs: 1 })
    expect((await take()).sort()).toEqual(['never', 'old'])
  })
})

test('work whose entity another process has in hand is put off', async () => {
  await plantWork(store, 'e1', { enqueued_at: new Date() })
  await postpone(store.pool, [employee('e1')], 60_000)
  await postpone(store.pool, [employee('e2')], 60_000)
  expect(await rows()).toMatchObject([{ enqueued_at: null, waits: true, version: 1 }])
  const later = (await rows())[0]?.not_before
  await postpone(store.pool, [employee('e1')], 1000)
  expect((await rows())[0]?.not_before).toEqual(later)
})
