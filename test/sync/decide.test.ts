import { describe, expect, test } from 'vitest'
import { caseOf, fail, hash, plant, plantRun, plantWork } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const call = (text: string, ...values: unknown[]) => store.value<number>(`select dirsync.${text}`, values)
const commands = () => store.rows('select name, arguments, run_id from dirsync.command order by id')
const me = () => store.value<string>('select session_user')

/** What HR changed while the run was held waits for no cron job. */
const NEXT = { kind: 'changes', state: 'requested', approved: false }

describe('approve and reject', () => {
  test('approve lets a held run go on without its breakers', async () => {
    const run = await plantRun(store, { state: 'held' })
    expect(await call('approve($1)', run)).toBe(run)
    expect(await store.rows('select * from dirsync.sync_run order by id')).toMatchObject([
      {
        state: 'requested',
        approved: true,
        decided_by: await me(),
        decided_at: expect.any(Date),
        finished_at: null,
      },
      NEXT,
    ])
    expect(await commands()).toMatchObject([{ name: 'approve', arguments: { run }, run_id: run }])
  })

  test('reject ends it', async () => {
    const run = await plantRun(store, { state: 'held' })
    expect(await call('reject($1)', run)).toBe(run)
    expect(await store.rows('select * from dirsync.sync_run order by id')).toMatchObject([
      { state: 'rejected', approved: false, decided_by: await me(), finished_at: expect.any(Date) },
      NEXT,
    ])
    expect(await commands()).toMatchObject([{ name: 'reject', run_id: run }])
  })

  test.each(['requested', 'planning', 'running', 'done', 'failed', 'source_suspect', 'rejected'])(
    'a run that is %s is neither',
    async state => {
      const run = await plantRun(store, { state })
      const refused = { code: 'P0002', message: `run ${run} is ${state}: there is nothing to decide` }
      for (const decision of ['approve', 'reject'])
        await expect(call(`${decision}($1)`, run)).rejects.toMatchObject({
          ...refused,
          hint: 'no run is held',
        })
      const held = await plantRun(store, { kind: 'full', state: 'held' })
      // A reviewer may not read the table of runs.
      await expect(call('approve($1)', run)).rejects.toMatchObject({
        ...refused,
        hint: `held: ${held} (full)`,
      })
      expect(await commands()).toEqual([])
    },
  )

  test('only one of two decisions counts', async () => {
    const run = await plantRun(store, { state: 'held' })
    const decisions = await Promise.allSettled([call('approve($1)', run), call('reject($1)', run)])
    expect(decisions.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await commands()).toHaveLength(1)
  })
})

describe('a rejected deletion of a department', () => {
  const DELETION = { operation: 'delete-department', enterprise_code: '' }
  /** Of departments A, which waits in the outbox as it is, and B. Returns the runs. */
  async function plantDeletions(row: object): Promise<{ earlier: number; held: number; open: number }> {
    const kind = 'departments'
    const [earlier, held] = [await plantRun(store, { kind }), await plantRun(store, { kind, state: 'held' })]
    for (const dept_code of ['A', 'B']) {
      await plant(store, 'department', { dept_code, active: false })
      await plant(store, 'planned_work', {
        ...DELETION,
        ...{ run_id: held, entity_key: dept_code, reason: 'delete' },
      })
    }
    await plant(store, 'pending', { ...DELETION, entity_key: 'A', run_id: earlier, priority: 5, ...row })
    await plant(store, 'pending', { ...DELETION, entity_key: 'C', run_id: earlier, priority: 5 })
    const open = await fail(store, { ...DELETION, entity: 'department', entity_key: 'A', field: '' })
    await store.pool.query(`update dirsync.dead_letter set state = 'retrying'`)
    return { earlier, held, open }
  }
  const waiting = () => store.rows('select entity_key, named, version from dirsync.pending order by 1')
  const OTHER = { entity_key: 'C', named: false, version: 1 }

  test('leaves the outbox, where an earlier run had put it, as one that is not needed', async () => {
    const { earlier, held, open } = await plantDeletions({})
    await call('reject($1)', held)
    expect(await waiting()).toEqual([OTHER])
    expect(await store.rows('select run_id, entity_key, outcome, error from dirsync.attempt')).toEqual([
      {
        ...{ run_id: earlier, entity_key: 'A', outcome: 'obsolete' },
        error: `its deletion was rejected with run ${held}`,
      },
    ])
    expect(await caseOf(store, open)).toMatchObject({ state: 'open' })
  })

  test('leaves it where only a part of the plan is rejected', async () => {
    const { held } = await plantDeletions({})
    await call('reject_part($1, $2)', held, { keys: ['B'] })
    expect(await waiting()).toMatchObject([{ entity_key: 'A' }, OTHER])
    await call('reject_part($1, $2)', held, { keys: ['A'] })
    expect(await waiting()).toEqual([OTHER])
  })

  test('that is in hand is looked at anew, even if a person had named it before', async () => {
    const { held } = await plantDeletions({ named: true, in_hand: true, starts: 1 })
    await call('reject($1)', held)
    expect(await waiting()).toEqual([{ entity_key: 'A', named: false, version: 2 }, OTHER])
  })
})

describe('a rejected row of an employee', () => {
  /** Rows of a held run, whose employees wait in the outbox as these rows say. Returns the runs. */
  async function plantUpdates(rows: Record<string, object>): Promise<{ byName: number; held: number }> {
    const byName = await plantRun(store, { kind: 'employees' })
    const held = await plantRun(store, { state: 'held' })
    for (const [userid, row] of Object.entries(rows)) {
      const [source_hash, operation] = [hash(), 'update-employee']
      await plant(store, 'employee', { userid, source_hash: hash(), held_run: held, held_hash: source_hash })
      await plant(store, 'planned_work', {
        ...{ run_id: held, operation, entity_key: userid, source_hash, reason: 'changed', active: true },
      })
      await plantWork(store, userid, { run_id: byName, named: true, ...row })
    }
    return { byName, held }
  }
  const waiting = () => store.rows('select entity_key, named, version from dirsync.pending order by 1')

  test('that a person had named before is withdrawn, as one that only a later request by name sends', async () => {
    const { byName, held } = await plantUpdates({ e1: {}, e2: {}, e3: { named: false } })
    const open = await fail(store)
    await store.pool.query(`update dirsync.dead_letter set state = 'retrying'`)
    await call('reject_part($1, $2)', held, { keys: ['e1', 'e3'] })
    expect(await store.rows('select run_id, entity_key, outcome, error from dirsync.attempt')).toEqual([
      {
        ...{ run_id: byName, entity_key: 'e1', outcome: 'obsolete' },
        error: `rejected with run ${held}; only a sync by name sends it`,
      },
    ])
    expect(await waiting()).toEqual([
      { entity_key: 'e2', named: true, version: 1 },
      { entity_key: 'e3', named: false, version: 1 },
    ])
    expect(await caseOf(store, open)).toMatchObject({ state: 'open' })
    await call('reject($1)', held)
    expect(await waiting()).toMatchObject([{ entity_key: 'e3' }])
  })

  test('that is in hand, or may have been sent, is looked at anew', async () => {
    const { held } = await plantUpdates({ e1: { in_hand: true, starts: 1 }, e2: { sent_unknown: true } })
    await call('reject($1)', held)
    expect(await waiting()).toEqual([
      { entity_key: 'e1', named: false, version: 1 },
      { entity_key: 'e2', named: false, version: 1 },
    ])
  })

  test('stays as requested while another row of the employee is held', async () => {
    const { held } = await plantUpdates({ e1: {} })
    await store.pool.query('update dirsync.employee set held_hash = $1', [hash()])
    await call('reject($1)', held)
    expect(await waiting()).toMatchObject([{ entity_key: 'e1', named: true }])
  })
})

test('cancel of a run that is over names those under way', async () => {
  const over = await plantRun(store, { state: 'done' })
  const going = await plantRun(store, { kind: 'full' })
  await expect(call('cancel($1)', over)).rejects.toMatchObject({
    code: 'P0002',
    message: `run ${over} is done, so nothing of it is under way`,
    hint: `under way: ${going} (full)`,
  })
})
