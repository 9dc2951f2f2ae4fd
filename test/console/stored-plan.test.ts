import { beforeEach, describe, expect, test, vi } from 'vitest'
import { readWholePlan } from '../../src/console/plan/query.ts'
import { planOverview, planPage } from '../../src/console/plan/stored.ts'
import { toDesired } from '../../src/directory/desired.ts'
import { hashFields } from '../../src/directory/hash.ts'
import { keepOutcomes, readNextPlan } from '../../src/sync/plan/stored-plan.ts'
import { PlanUnderTest } from '../sync/plan-under-test.ts'
import { plant, plantRun } from '../sync/planted.ts'
import { SILENT, WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'
import { worded } from '../texts/worded.ts'

const place = new PlanUnderTest()
const MAPPING = 'select userid, name, mobile, dept_code, active from person'
const signal = new AbortController().signal

/** Twelve employees in sync, of whom the names of ten change and the numbers of two break rules: too many. */
async function hold(): Promise<number> {
  await place.inSync(12, MAPPING)
  await place.hr.query(`update person set dept_code = 'D1' where userid in ('e3', 'e4')`)
  await place.hr.query(`update person set name = 'New ' || userid where userid <> 'e11'`)
  await place.hr.query(`update person set mobile = 'none' where userid in ('e0', 'e1')`)
  const { id, state } = await place.plan('changes', { employees: MAPPING })
  expect(state).toBe('held')
  return id
}

const source = () => place.source(MAPPING)
const read = () => readNextPlan({ pool: place.store.pool, hr: source(), logger: SILENT }, signal)
const page = (run: number, options: Partial<Parameters<typeof planPage>[3]> = {}) =>
  planPage(place.store.pool, source(), run, { limit: 100, ...options })

let run: number
beforeEach(async () => {
  run = await hold()
})

describe('the overview of a held plan', () => {
  test('has its reasons at once, and fields and departments when HR has been read', async () => {
    expect(await planOverview(place.store.pool, run)).toMatchObject({
      kind: 'changes',
      state: 'held',
      reasons: { changed: 11 },
      stored: true,
      figures: null,
    })
    expect(await read()).toBe(true)
    const { figures } = (await planOverview(place.store.pool, run)) ?? {}
    expect(figures).toMatchObject({ state: 'done', looked_at: 11, changed_since: 0, message: null })
    // Nothing was confirmed by fields here, so that every mapped field of a valid row differs.
    expect(figures?.fields).toContainEqual({ field: 'name', n: 9 })
    expect(figures?.fields).toContainEqual({ field: 'mobile', n: 11 })
    expect(figures?.departments).toEqual([
      { enterprise_code: '', department: 'D0', n: 7 },
      { enterprise_code: '', department: 'D1', n: 2 },
    ])
    expect(await read()).toBe(false)
  })

  test('says why there are no figures while HR is away, and has them later', async () => {
    const broken = place.source('select userid, nonsense from person')
    await readNextPlan({ pool: place.store.pool, hr: broken, logger: SILENT }, signal)
    expect(worded(await planOverview(place.store.pool, run))?.figures).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/nonsense/),
    })
    expect(await read()).toBe(false)
    await place.store.pool.query('update dirsync.plan_reading set retry_at = now()')
    expect(await read()).toBe(true)
    expect((await planOverview(place.store.pool, run))?.figures?.state).toBe('done')
  })

  test('goes on after the page at which a process died', async () => {
    await read()
    const { rows } = await place.store.pool.query('select fields, departments from dirsync.plan_reading')
    await place.store.pool.query(
      `update dirsync.plan_reading set state = 'running', finished_at = null, after_key = 'e3', looked_at = 6`,
    )
    await place.store.pool.query(`update dirsync.planned_work set fields = null where entity_key > 'e3'`)
    await read()
    const again = await place.store.pool.query(
      'select fields, departments, looked_at from dirsync.plan_reading',
    )
    expect(again.rows[0]).toEqual({ ...rows[0], looked_at: 12 })
  })

  test.each([
    ['has read', 'default'],
    ['has read to its end', `'null'`],
  ])(
    'that an earlier version %s is read again, as that knew neither who moves nor what is odd',
    async (_, moves) => {
      const { pool } = place.store
      await pool.query(`update dirsync.employee set dept_code = 'D0'`)
      await read()
      const { figures } = (await planOverview(pool, run)) ?? {}
      await pool.query(`
      update dirsync.plan_reading set moves = ${moves}, departments = '[{"department": "D0", "n": 9}]';
      update dirsync.planned_work set from_department = null, odd = false, fields = '{dept_code}'`)
      const part = (of: object) => pool.query('select dirsync.approve_part($1, $2)', [run, of])
      expect((await planOverview(pool, run))?.figures).toBeNull()
      await expect(part({ from: 'D0' })).rejects.toThrow('HR has not been read for all rows')
      await part({ keys: ['e3'] })
      expect((await planOverview(pool, run))?.decisions).toMatchObject([{ fields: null, moves: null }])
      expect(await read()).toBe(true)
      const again = await planOverview(pool, run)
      const move = { enterprise_code: '', from: 'D0', department: 'D1', n: 2 }
      expect(again?.figures).toEqual({ ...figures, moves: [move], finished_at: expect.any(Date) })
      expect(again?.decisions).toMatchObject([{ fields: { name: 1 }, moves: [{ ...move, n: 1 }] }])
      expect(await read()).toBe(false)
    },
  )

  test('decided in parts, has what is not decided, and each part its own', async () => {
    const { pool } = place.store
    const decided = (name: string, part: object) =>
      place.store.value<number>(`select dirsync.${name}($1, $2)`, [run, part])
    const part = await decided('approve_part', { keys: ['e3'] })
    // Its rows had not been read.
    expect((await planOverview(pool, part))?.figures).toMatchObject({ state: 'stopped' })
    await read()
    await decided('reject_part', { keys: ['e4', 'e5'] })
    expect((await planOverview(pool, part))?.figures).toMatchObject({
      state: 'done',
      looked_at: 1,
      fields: expect.arrayContaining([{ field: 'name', n: 1 }]),
      departments: [{ enterprise_code: '', department: 'D1', n: 1 }],
    })
    expect((await planOverview(pool, run))?.open).toEqual({
      reasons: { changed: 8 },
      fields: expect.arrayContaining([
        { field: 'mobile', n: 8 },
        { field: 'name', n: 6 },
      ]),
      departments: [{ enterprise_code: '', department: 'D0', n: 6 }],
      moves: [],
    })
    await pool.query('select dirsync.cancel($1)', [part])
    expect((await planOverview(pool, run))?.open).toMatchObject({
      reasons: { changed: 9 },
      departments: [{ n: 6 }, { department: 'D1', n: 1 }],
    })
    expect((await planOverview(pool, run))?.decisions).toMatchObject([
      { planned: 1, returned: 1, reasons: {} },
      { planned: 2, returned: 0 },
    ])
  })

  test('has who moves from which department to which, also of a part and of what is left', async () => {
    const { pool } = place.store
    await pool.query(
      `update dirsync.employee set dept_code = case when userid = 'e5' then 'D9' else 'D0' end`,
    )
    const decide = (part: object) =>
      place.store.value<number>('select dirsync.approve_part($1, $2)', [run, part])
    const part = await decide({ keys: ['e5'] })
    // Its run has sent it before HR is read.
    await pool.query(`update dirsync.employee set dept_code = 'D0' where userid = 'e5'`)
    await read()
    const figures = async (id: number) => {
      const { figures, open } = (await planOverview(pool, id)) ?? {}
      return (open ?? figures)?.moves.map(({ from, department, n }) => `${from} ${department} ${n}`)
    }
    expect((await planOverview(pool, run))?.figures?.moves).toEqual([
      { enterprise_code: '', from: 'D0', department: 'D1', n: 2 },
      { enterprise_code: '', from: 'D9', department: 'D0', n: 1 },
    ])
    expect(await figures(run)).toEqual(['D0 D1 2'])
    expect(await figures(part)).toEqual(['D9 D0 1'])
    const keys = async (id: number, filter: object) => (await page(id, filter)).items.map(({ key }) => key)
    expect(await keys(run, { from: 'D0', department: 'D1' })).toEqual(['e3', 'e4'])
    const moved = await decide({ from: 'D0' })
    expect(await keys(moved, {})).toEqual(['e3', 'e4'])
    expect(await figures(run)).toEqual([])
  })

  test('names the fields of a part that is approved while a page of it is stored', async () => {
    const { pool } = place.store
    const client = await pool.connect()
    try {
      await client.query('begin')
      const { rows } = await client.query<{ part: number }>(
        `select dirsync.approve_part($1, '{"keys": ["e3"]}')::int as part`,
        [run],
      )
      const reading = read()
      await expect.poll(async () => (await pool.query(WAITING_FOR_A_LOCK)).rowCount).toBeGreaterThan(0)
      await client.query('commit')
      await reading
      const { items } = await page(rows[0]?.part ?? 0, { field: 'name' })
      expect(items.map(({ key }) => key)).toEqual(['e3'])
    } finally {
      client.release(true)
    }
  })

  test('names the fields of a part that was approved before HR was read', async () => {
    const { pool } = place.store
    const part = await place.store.value<number>('select dirsync.approve_part($1, $2)', [
      run,
      { keys: ['e3'] },
    ])
    await read()
    const found = await page(part, { field: 'name' })
    expect(found.items.map(({ key }) => key)).toEqual(['e3'])
    const away = place.source('select userid, nonsense from person')
    const { items } = await planPage(pool, away, part, { limit: 10 })
    expect(items[0]?.changed.map(({ field }) => field)).toContain('name')
  })

  test('tells departments of the same code in several enterprises apart', async () => {
    await place.store.pool.query(
      `update dirsync.planned_work set enterprise_code = 'E2' where entity_key in ('e2', 'e10')`,
    )
    await read()
    await place.store.pool.query(
      `update dirsync.planned_work set department = 'D0', fields = '{name}' where enterprise_code = 'E2'`,
    )
    await place.store.pool.query(`update dirsync.plan_reading set state = 'running', after_key = 'e9'`)
    await read()
    expect((await planOverview(place.store.pool, run))?.figures?.departments).toEqual([
      { enterprise_code: '', department: 'D0', n: 5 },
      { enterprise_code: 'E2', department: 'D0', n: 2 },
      { enterprise_code: '', department: 'D1', n: 2 },
    ])
  })

  test('decided as a whole before HR was read, has them all the same, as of before it was sent', async () => {
    const { pool } = place.store
    await pool.query(`update dirsync.employee set dept_code = 'D0' where userid = 'e3'`)
    await pool.query('select dirsync.approve($1)', [run])
    await place.planRequested(run, source())
    // What is sent is acknowledged, and so no longer differs.
    await pool.query(`update dirsync.employee set dept_code = 'D1' where userid = 'e3'`)
    expect(await planOverview(pool, run)).toMatchObject({ state: 'running', figures: null })
    expect(await read()).toBe(true)
    const counted = {
      fields: expect.arrayContaining([{ field: 'name', n: 9 }]),
      departments: [
        { enterprise_code: '', department: 'D0', n: 7 },
        { enterprise_code: '', department: 'D1', n: 2 },
      ],
      moves: [{ enterprise_code: '', from: 'D0', department: 'D1', n: 1 }],
    }
    const overview = await planOverview(pool, run)
    expect(overview?.figures).toMatchObject({ state: 'done', looked_at: 11, ...counted })
    const { departments, moves } = counted
    expect(overview?.decisions).toMatchObject([{ fields: { name: 9 }, departments, moves }])
    expect(await read()).toBe(false)
  })

  const REJECTS = `select dirsync.reject($1, 'not today')`
  const SUPERSEDES = `update dirsync.sync_run set state = 'superseded', finished_at = now() where id = $1`
  test.each([
    ['goes on once a person has rejected it', REJECTS, 'done'],
    ['stops once a later plan has taken its place', SUPERSEDES, 'stopped'],
  ])('%s', async (_, statement, state) => {
    const { pool } = place.store
    const hr = source()
    using lookup = vi.spyOn(hr, 'lookup')
    lookup.mockImplementationOnce(async (...asked) => {
      await pool.query(statement, [run])
      return hr.lookup(...asked)
    })
    await readNextPlan({ pool, hr, logger: SILENT }, signal)
    expect((await planOverview(pool, run))?.figures?.state).toBe(state)
    expect(await read()).toBe(false)
  })
})

describe('the pages of a held plan', () => {
  test('follow each other in the order of keys, with masked differences', async () => {
    const first = await page(run, { limit: 4 })
    expect(first.items.map(({ key }) => key)).toEqual(['e0', 'e1', 'e10', 'e2'])
    expect(first.items[2]?.changed).toContainEqual({ field: 'name', value: 'N*' })
    expect(first.items[0]?.changed).toEqual([{ field: 'mobile', value: '**** (4)' }])
    const second = await page(run, { limit: 4, after: first.next ?? undefined })
    expect(second.items.map(({ key }) => key)).toEqual(['e3', 'e4', 'e5', 'e6'])
    const third = await page(run, { limit: 4, after: second.next ?? undefined })
    expect(third).toMatchObject({ next: null, items: [{}, {}, {}] })
  })

  test('are filtered by the beginning of a key, by reason and by department', async () => {
    await read()
    const keys = async (options: Parameters<typeof page>[1]) =>
      (await page(run, options)).items.map(({ key }) => key)
    expect(await keys({ key: 'e1' })).toEqual(['e1', 'e10'])
    expect(await keys({ key: '%' })).toEqual([])
    expect(await keys({ reason: 'vanished' })).toEqual([])
    expect(await keys({ reason: 'changed', key: 'e2' })).toEqual(['e2'])
    expect(await keys({ department: 'D1' })).toEqual(['e3', 'e4'])
  })

  test('are filtered by field, and begin with the rows that are unlike the rest', async () => {
    await read()
    expect((await page(run, { field: 'name', limit: 3 })).items.map(({ key }) => key)).toEqual([
      ...['e10', 'e2', 'e3'],
    ])
    expect(await page(run, { odd: 'yes' })).toMatchObject({ items: [] })
    await place.store.pool.query('select dirsync.reject($1)', [run])
    await place.hire(24, 20)
    await place.hr.query(`update person set name = 'Also new' where userid = 'e11'`)
    const next = await place.store.value<number>(`select id from dirsync.sync_run where state = 'requested'`)
    await place.planRequested(next, source())
    await read()
    const first = await page(next, { limit: 3 })
    expect(first.items).toMatchObject([
      { key: 'e11', reason: 'changed', odd: true },
      { key: 'e20', reason: 'new', odd: false },
      { key: 'e21' },
    ])
    const second = await page(next, { limit: 100, after: first.next ?? undefined })
    expect(second.items.map(({ key }) => key)).toEqual(Array.from({ length: 22 }, (_, i) => `e${i + 22}`))
    expect((await page(next, { odd: 'yes' })).items.map(({ key }) => key)).toEqual(['e11'])
  })

  test('begin with the one who goes elsewhere than the rest', async () => {
    await place.store.pool.query('delete from dirsync.planned_work')
    await place.store.pool.query(
      `insert into dirsync.planned_work (run_id, operation, entity_key, reason, fields, department)
       select $1, 'update-employee', 'm' || i, 'changed', '{dept_code}', case i when 15 then 'D110' else 'D220' end
       from generate_series(10, 21) i`,
      [run],
    )
    await place.store.pool.query(
      `insert into dirsync.plan_reading (run_id, state, after_key, moves) values ($1, 'running', 'z', '[]')`,
      [run],
    )
    await read()
    expect((await page(run, { limit: 2 })).items).toMatchObject([
      { key: 'm15', odd: true },
      { key: 'm10', odd: false },
    ])
  })

  test('have the old department from memory until it is sent', async () => {
    await place.store.pool.query(`update dirsync.employee set dept_code = 'D0' where userid = 'e3'`)
    const moved = async () => (await page(run, { key: 'e3' })).items[0]?.changed
    expect(await moved()).toContainEqual({ field: 'dept_code', value: 'D1', before: 'D0' })
    await plant(place.store, 'attempt', {
      ...{ operation: 'update-employee', entity_key: 'e3', run_id: run, outcome: 'updated', duration_ms: 1 },
      started_at: new Date(),
    })
    expect(await moved()).toContainEqual({ field: 'dept_code', value: 'D1' })
  })

  test('say which rows HR has changed since', async () => {
    await place.hr.query(`update person set name = 'Once more' where userid = 'e5'`)
    const { items } = await page(run, { key: 'e5' })
    expect(items).toMatchObject([{ key: 'e5', changed_since: true, changed: [] }])
  })

  test.each([
    ['after HR has been read for them', true],
    ['before they were looked at', false],
  ])('show what was approved for good, when it was approved %s', async (_, isRead) => {
    if (isRead) await read()
    const before = (await page(run)).items
    await place.store.pool.query('select dirsync.approve($1)', [run])
    await place.planRequested(run, source())
    // The platform confirms every field as HR has it: nothing differs any more.
    for (const { userid, ...row } of (
      await place.hr.query('select userid, name, mobile, dept_code from person')
    ).rows) {
      const desired = toDesired({ userid, ...row }, ['userid', ...Object.keys(row)])
      await place.store.pool.query('update dirsync.employee set acknowledged = $2 where userid = $1', [
        userid,
        desired.ok ? hashFields(desired.desired.fields) : {},
      ])
    }
    await place.acknowledge()
    expect((await page(run)).items).toEqual(before)
    await place.hr.query(`update person set name = 'Once more' where userid = 'e5'`)
    expect((await page(run, { key: 'e5' })).items).toMatchObject([
      { changed_since: true, changed: isRead ? [{}, {}, {}, {}] : [] },
    ])
  })

  test('say which later run sent a row, and keep what came of one for longer than the attempts', async () => {
    await read()
    const { pool } = place.store
    await pool.query(`select dirsync.reject_part($1, '{"key": "e0"}')`, [run])
    const part = await place.store.value<number>(`select dirsync.approve_part($1, '{"key": "e1"}')`, [run])
    await place.planRequested(part, source())
    await place.hr.query(`update person set name = 'Once more' where userid = 'e0'`)
    const attempt = (key: string, run_id: number, outcome: string) =>
      plant(place.store, 'attempt', {
        ...{ operation: 'update-employee', entity_key: key, run_id, outcome, duration_ms: 1 },
        started_at: new Date(),
      })
    await attempt('e1', part, 'replan')
    await attempt('e10', part, 'updated')
    const later = await plantRun(place.store, { kind: 'changes', state: 'running' })
    for (const key of ['e0', 'e1', 'e10']) await attempt(key, later, 'updated')
    await place.acknowledge()
    const shown = async () => {
      const { items } = await page(run, { limit: 3 })
      return items.map(({ key, outcome, later }) => ({ key, outcome, later }))
    }
    const sent = { run: later, outcome: 'updated' }
    const before = [
      { key: 'e0', outcome: null, later: sent },
      { key: 'e1', outcome: 'replan', later: sent },
      { key: 'e10', outcome: 'updated', later: null },
    ]
    expect(await shown()).toEqual(before)
    await keepOutcomes(pool)
    await pool.query(`delete from dirsync.attempt where run_id = $1`, [part])
    expect(await shown()).toEqual(before)
    expect((await page(part)).items).toMatchObject([{ outcome: 'replan' }, { outcome: 'updated' }])
    expect(await keepOutcomes(pool)).toBe(0)
  })

  test('name the changed fields without HR, as they were read before', async () => {
    await read()
    const away = await planPage(place.store.pool, place.source('select userid, nonsense from person'), run, {
      limit: 100,
      key: 'e0',
    })
    expect(worded(away).hr_error).toMatch(/nonsense/)
    expect(away.items).toMatchObject([{ key: 'e0', changed: [{ field: 'mobile', value: null }] }])
  })

  test('are the same entities as the stream of all of it', async () => {
    const all: string[] = []
    for await (const { key } of readWholePlan(place.store.pool, source(), run, {})) all.push(key)
    expect(all).toEqual((await page(run)).items.map(({ key }) => key))
  })
})
