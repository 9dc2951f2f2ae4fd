import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { pruneHistory } from '../../jobs/prune.ts'
import { type BulkRow, bulkResults, listBulk, readBulk } from '../../src/console/bulk/read.ts'
import { dirsyncListener } from '../../src/lib/listener.ts'
import type { Loop } from '../../src/lib/loop.ts'
import {
  type BulkAction,
  type BulkRequest,
  bulkRunner,
  MOST_CASES,
  POSSIBLE,
  previewBulk,
  startBulk,
  stopBulk,
  undoBulk,
} from '../../src/sync/cases/bulk.ts'
import { CASE_STATES } from '../../src/sync/cases/cases.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { inLanguage } from '../../src/texts/failures.ts'
import { createDeployment } from '../helpers/deployment.ts'
import { spawnDirsync, spawnScript } from '../helpers/process.ts'
import { caseOf, fail, story } from './planted.ts'
import { SILENT, StoreUnderTest, WAITING_FOR_A_LOCK } from './store-under-test.ts'

const store = new StoreUnderTest()
const MEI = { actor: 'console:mei', address: '192.0.2.7' }
const LI = { actor: 'console:li', address: null }
const ALL = { filter: {} }

const preview = (request: BulkRequest) => previewBulk(store.pool, MEI, request)
const start = (id: number) => startBulk(store.pool, MEI, id)
const commands = () =>
  store.rows('select name, arguments, requested_by, address, reason from dirsync.command order by id')
const runs = () =>
  store.rows<{ id: number; kind: string; keys: string[] }>(
    'select id, kind, keys from dirsync.sync_run order by id',
  )

/** Plants so many open cases of employees e1, e2 … */
async function plantCases(count: number): Promise<number[]> {
  const rows = await store.rows<{ id: number }>(
    `insert into dirsync.dead_letter (entity, entity_key, operation, field, category, message, remedy)
     select 'employee', 'e' || i, 'update-employee', 'mobile', 'duplicate_mobile', '[]', '[]'
     from generate_series(1, $1) i returning id`,
    [count],
  )
  return rows.map(({ id }) => id)
}

/** A runner in this process, for as long as the test goes on. */
function run(): Loop {
  const runner = bulkRunner({ pool: store.pool, logger: SILENT })
  runner.start()
  onTestFinished(() => runner.stop())
  return runner
}

/** Waits until the action says so. */
async function reach(id: number, reached: (bulk: BulkRow) => boolean): Promise<BulkRow> {
  for (;;) {
    const bulk = await readBulk(store.pool, id)
    if (bulk && reached(bulk)) return bulk
    await delay(20)
  }
}
const ended = (id: number) => reach(id, ({ finished_at }) => finished_at !== null)

describe('what is left alone', () => {
  const actions = Object.keys(POSSIBLE) as BulkAction[]

  test.each(actions.flatMap(action => CASE_STATES.map(state => ({ action, state }))))(
    'when a bulk $action finds a case that is $state is what its preview says',
    async ({ action, state }) => {
      const [row] = await store.rows<{ why: string | null }>(
        `select dirsync.bulk_skip_reason(i, d, $1) as why
       from jsonb_populate_record(null::dirsync.bulk_item, '{"version": 1}') i,
         jsonb_populate_record(null::dirsync.dead_letter, jsonb_build_object('id', 1, 'version', 1, 'state', $2::text)) d`,
        [action, state],
      )
      expect(row).toEqual({ why: POSSIBLE[action](state) ? null : 'closed' })
    },
  )
})

describe('a preview', () => {
  test('names the cases that match, says what will happen, and changes nothing', async () => {
    const [open, snoozed] = [await fail(store), await fail(store, { entity_key: 'e2', category: 'left_hr' })]
    await fail(store, { entity_key: 'e3', field: 'email' })
    await store.pool.query(`select dirsync.snooze($1, now() + interval '1 day')`, [snoozed])
    const ignored = await fail(store, { entity_key: 'e4' })
    await store.pool.query(`select dirsync.ignore($1, 'shared')`, [ignored])
    const before = await store.contents()
    const seen = await preview({
      of: { filter: { field: 'mobile', states: ['open', 'snoozed', 'ignored'] } },
      action: 'ignore',
      reason: 'shared phones',
    })
    expect(seen).toMatchObject({
      ...{ action: 'ignore', total: 3, more: false, willAct: 2, willSkip: 1, runs: 0 },
      categories: { duplicate_mobile: 2, left_hr: 1 },
      states: { open: 1, snoozed: 1, ignored: 1 },
      sample: [{ id: open, entity_key: 'e1' }, { id: snoozed }, { id: ignored, state: 'ignored' }],
    })
    expect(await readBulk(store.pool, seen.id)).toMatchObject({
      ...{ state: 'preview', action: 'ignore', total: 3, done: 0, reason: 'shared phones' },
      filter: { field: 'mobile', states: ['open', 'snoozed', 'ignored'] },
      requested_by: expect.stringContaining('console:mei'),
      categories: { duplicate_mobile: 2, left_hr: 1 },
    })
    expect(await store.value('select address from dirsync.bulk_action')).toBe('192.0.2.7')
    const { bulk_action: _, bulk_item: __, ...after } = await store.contents()
    expect(after).toEqual(Object.fromEntries(Object.entries(before).filter(([name]) => name in after)))
    expect(await listBulk(store.pool, 10)).toEqual([])
  })

  test('of many has a sample, and a retry says how many runs it makes', async () => {
    const ids = await plantCases(10_001)
    const seen = await preview({ of: { ids }, action: 'retry' })
    expect(seen).toMatchObject({ total: 10_001, willAct: 10_001, runs: 2 })
    expect(seen.sample.map(({ id }) => id)).toEqual(ids.slice(0, 20))
  })

  test.each<[string, BulkRequest]>([
    ['COMMAND_NOT_FOUND', { of: { filter: { key: 'nobody' } }, action: 'retry' }],
    ['COMMAND_NOT_FOUND', { of: { ids: [4711] }, action: 'retry' }],
    ['COMMAND_INVALID', { of: ALL, action: 'ignore', reason: ' ' }],
    ['COMMAND_INVALID', { of: ALL, action: 'snooze', until: new Date(0) }],
    ['COMMAND_INVALID', { of: ALL, action: 'comment', text: '' }],
    ['COMMAND_INVALID', { of: ALL, action: 'comment', text: 'x'.repeat(2001) }],
    [
      'COMMAND_INVALID',
      { of: { ids: Array.from({ length: MOST_CASES + 1 }, (_, i) => i) }, action: 'retry' },
    ],
  ])('is refused with %s: %j', async (code, request) => {
    await fail(store)
    await expect(preview(request)).rejects.toMatchObject({ code })
    expect(await store.rows('select from dirsync.bulk_action')).toEqual([])
  })

  test('that is not confirmed is forgotten after a day, one that was carried out after thirty', async () => {
    await plantCases(2)
    const [old, fresh, done, ancient] = [
      await preview({ of: ALL, action: 'retry' }),
      await preview({ of: ALL, action: 'retry' }),
      await preview({ of: ALL, action: 'retry' }),
      await preview({ of: ALL, action: 'retry' }),
    ]
    const age = (id: number, days: number, state: string) =>
      store.pool.query(
        `update dirsync.bulk_action set created_at = now() - $2 * interval '1 day', state = $3 where id = $1`,
        [id, days, state],
      )
    await age(old.id, 1.1, 'preview')
    await age(fresh.id, 0.9, 'preview')
    await age(done.id, 29, 'done')
    await age(ancient.id, 31, 'done')
    expect(await pruneHistory(store.pool)).toMatchObject({ bulk_action: 2 })
    expect(await store.rows('select id from dirsync.bulk_action order by id')).toEqual([
      { id: fresh.id },
      { id: done.id },
    ])
    expect(await store.value('select count(*)::int from dirsync.bulk_item')).toBe(4)
  })
})

describe('an action', () => {
  test('is undone in the background, but for cases to which anything happened since', async () => {
    const [changed, ...others] = await plantCases(4)
    const { id } = await preview({ of: ALL, action: 'ignore', reason: 'shared' })
    await start(id)
    run()
    await ended(id)
    await store.pool.query(`select dirsync.assign($1, 'li')`, [changed])
    const undone = await undoBulk(store.pool, LI, id)
    expect(await ended(undone)).toMatchObject({
      ...{ action: 'undo', undoes: id, state: 'done', total: 4, done: 3, skipped: 1, failed: 0 },
      requested_by: expect.stringContaining('console:li'),
    })
    for (const one of others) expect(await caseOf(store, one)).toMatchObject({ state: 'open', note: null })
    expect(await caseOf(store, changed as number)).toMatchObject({ state: 'ignored' })
    const { items } = await bulkResults(store.pool, undone, { limit: 10, outcome: 'skipped' })
    expect(items).toMatchObject([{ dead_letter_id: changed, code: 'changed' }])
    expect((await commands()).at(-1)).toMatchObject({ name: 'bulk_undo', arguments: { bulk: id, cases: 4 } })
    await expect(undoBulk(store.pool, LI, id)).rejects.toMatchObject({ code: 'COMMAND_CONFLICT' })
    await expect(undoBulk(store.pool, LI, undone)).rejects.toMatchObject({ code: 'COMMAND_CONFLICT' })
    expect(await readBulk(store.pool, id)).toMatchObject({ undone_by: undone, undoable_until: null })
  })

  test('whose undo was stopped is undone in part, and the rest when it is asked for again', async () => {
    const ids = await plantCases(4)
    const { id } = await preview({ of: ALL, action: 'ignore', reason: 'shared' })
    await start(id)
    const runner = run()
    await ended(id)
    await runner.stop()
    const first = await undoBulk(store.pool, LI, id)
    await expect(undoBulk(store.pool, LI, id)).rejects.toMatchObject({ code: 'COMMAND_CONFLICT' })
    await store.pool.query('select dirsync.bulk_step(1, 1)')
    // The time begins anew with its end, for who has stopped it to look into something.
    await store.pool.query(
      `update dirsync.bulk_action set finished_at = now() - interval '11 minutes' where id = $1`,
      [id],
    )
    expect(await readBulk(store.pool, id)).toMatchObject({ undoable_until: null })
    await stopBulk(store.pool, LI, first)
    expect(await readBulk(store.pool, id)).toMatchObject({
      ...{ undone_by: first, undone_in_part: true },
      undoable_until: expect.any(Date),
    })
    const second = await undoBulk(store.pool, LI, id)
    run()
    expect(await ended(second)).toMatchObject({ total: 3, done: 3, skipped: 0, failed: 0 })
    for (const one of ids) expect(await caseOf(store, one)).toMatchObject({ state: 'open', note: null })
    expect(await readBulk(store.pool, id)).toMatchObject({
      ...{ undone_by: second, undone_in_part: false },
      undoable_until: null,
    })
    await expect(undoBulk(store.pool, LI, id)).rejects.toMatchObject({ code: 'COMMAND_CONFLICT' })
  })

  test('is undone also after a later one was', async () => {
    const ids = await plantCases(2)
    const carryOut = async (request: BulkRequest) => {
      const { id } = await preview(request)
      await start(id)
      await ended(id)
      return id
    }
    run()
    const ignored = await carryOut({ of: { ids }, action: 'ignore', reason: 'shared' })
    const assigned = await carryOut({ of: { ids }, action: 'assign', assignee: 'li' })
    for (const id of [assigned, ignored])
      expect(await ended(await undoBulk(store.pool, LI, id))).toMatchObject({ done: 2, skipped: 0 })
    for (const id of ids) expect(await caseOf(store, id)).toMatchObject({ state: 'open', assignee: null })
  })

  test('that is confirmed is recorded first, and then done to every case in the name of the person who confirmed it', async () => {
    const ids = await plantCases(3)
    const { id } = await previewBulk(store.pool, LI, { of: ALL, action: 'ignore', reason: 'shared phones' })
    await start(id)
    expect(await commands()).toEqual([
      {
        name: 'bulk_ignore',
        arguments: { bulk: id, cases: 3, filter: {}, reason: 'shared phones' },
        requested_by: expect.stringContaining('console:mei'),
        address: '192.0.2.7',
        reason: 'shared phones',
      },
    ])
    run()
    expect(await ended(id)).toMatchObject({
      ...{ state: 'done', done: 3, skipped: 0, failed: 0 },
      requested_by: expect.stringContaining('console:mei'),
      ...{ confirmed_at: expect.any(Date), started_at: expect.any(Date) },
    })
    for (const one of ids) {
      expect(await caseOf(store, one)).toMatchObject({ state: 'ignored', note: 'shared phones' })
      expect(await story(store, one)).toMatchObject([
        { event: 'ignored', actor: expect.stringContaining('console:mei'), note: 'shared phones' },
      ])
    }
    expect(await commands()).toHaveLength(1)
    expect(await listBulk(store.pool, 10)).toMatchObject([{ id }])
  })

  test.each<[BulkRequest, Record<string, unknown>, string]>([
    [
      { of: ALL, action: 'snooze', until: new Date('2099-01-01T00:00:00Z'), reason: 'HR mends it' },
      { state: 'snoozed', snooze_until: new Date('2099-01-01T00:00:00Z'), note: 'HR mends it' },
      'snoozed',
    ],
    [{ of: ALL, action: 'assign', assignee: ' li ' }, { state: 'open', assignee: 'li' }, 'assigned'],
    [{ of: ALL, action: 'assign', assignee: null }, { state: 'open', assignee: null }, 'assigned'],
    [{ of: ALL, action: 'comment', text: 'asked HR' }, { state: 'open', version: 1 }, 'commented'],
  ])('%j changes each case', async (request, expected, event) => {
    const ids = await plantCases(2)
    const { id } = await preview(request)
    await start(id)
    run()
    await ended(id)
    for (const one of ids) {
      expect(await caseOf(store, one)).toMatchObject(expected)
      expect(await story(store, one)).toMatchObject([{ event }])
    }
  })

  test('of retry makes one run for all of them, and one more only beyond ten thousand', async () => {
    const ids = await plantCases(10_002)
    const { id } = await preview({ of: { filter: { categories: ['duplicate_mobile'] } }, action: 'retry' })
    await start(id)
    run()
    expect(await ended(id)).toMatchObject({ state: 'done', done: 10_002 })
    const made = await runs()
    expect(made).toMatchObject([
      { kind: 'retry', keys: ids.slice(0, 10_000).map(String) },
      { kind: 'retry', keys: ids.slice(10_000).map(String) },
    ])
    expect((await commands()).map(({ name }) => name)).toEqual(['bulk_retry', 'bulk_retry', 'bulk_retry'])
    const { next } = await bulkResults(store.pool, id, { limit: 10_000 })
    const last = await bulkResults(store.pool, id, { after: next, limit: 10 })
    expect(last.items).toMatchObject([
      { dead_letter_id: ids[10_000], outcome: 'done', run_id: made[1]?.id, entity_key: 'e10001' },
      { dead_letter_id: ids[10_001] },
    ])
  })

  test('leaves alone what has changed since the preview, is closed or gone, and says so', async () => {
    const [same, changed, closed, gone] = (await plantCases(4)) as [number, number, number, number]
    await store.pool.query(`update dirsync.dead_letter set state = 'ignored', note = 'n' where id = $1`, [
      closed,
    ])
    for (const request of [
      { of: { ids: [same, changed, closed, gone] }, action: 'snooze', until: new Date('2099-01-01') },
      { of: { ids: [same, changed, closed, gone] }, action: 'retry' },
    ] satisfies BulkRequest[]) {
      const { id, willSkip } = await preview(request)
      expect(willSkip).toBe(request.action === 'snooze' ? 1 : 0)
      await new Commands(store.pool, LI).assign(changed, 'li')
      if (request.action === 'retry')
        await store.pool.query('delete from dirsync.dead_letter where id = $1', [gone])
      await start(id)
      run()
      await ended(id)
      const { items } = await bulkResults(store.pool, id, { limit: 10 })
      const isRetry = request.action === 'retry'
      expect(items).toMatchObject([
        { dead_letter_id: same, outcome: 'done', code: null },
        {
          ...{ dead_letter_id: changed, outcome: 'skipped', code: 'changed' },
          message: {
            key: 'said.was_changed_by',
            values: { name: expect.stringMatching(/^\S+ \(console:li\)$/), event: 'assigned' },
          },
        },
        isRetry
          ? { dead_letter_id: closed, outcome: 'done' }
          : { dead_letter_id: closed, outcome: 'skipped', code: 'closed', message: null },
        isRetry
          ? { dead_letter_id: gone, outcome: 'skipped', code: 'gone', entity_key: null, state: null }
          : { dead_letter_id: gone, outcome: 'done' },
      ])
      expect(await readBulk(store.pool, id)).toMatchObject({ done: 2, skipped: 2, failed: 0 })
    }
    expect((await runs()).map(({ keys }) => keys)).toEqual([[String(same), String(closed)]])
  })

  test('goes on behind a case where it fails, and leaves that one as it was', async () => {
    const ids = await plantCases(5)
    await store.pool.query(`
      create function public.refuse() returns trigger language plpgsql as $$
      begin
        if new.entity_key = 'e3' then raise exception 'not this one'; end if;
        return new;
      end $$;
      create trigger refuse before update on dirsync.dead_letter for each row execute function public.refuse()`)
    onTestFinished(async () => {
      await store.pool.query('drop function public.refuse() cascade')
    })
    const { id } = await preview({ of: ALL, action: 'ignore', reason: 'shared' })
    await start(id)
    run()
    expect(await ended(id)).toMatchObject({ state: 'done', done: 4, failed: 1 })
    const { items } = await bulkResults(store.pool, id, { limit: 10, outcome: 'failed' })
    expect(items).toMatchObject([
      {
        dead_letter_id: ids[2],
        outcome: 'failed',
        code: 'error',
        message: { key: 'said.words', values: { words: 'not this one' } },
        state: 'open',
      },
    ])
    expect(await story(store, ids[2] as number)).toEqual([])
  })

  test('says in the reader’s language what is refused, such as a snooze whose time is over by its turn', async () => {
    await plantCases(1)
    const { id } = await preview({ of: ALL, action: 'snooze', until: new Date(Date.now() + 60_000) })
    await start(id)
    await store.pool.query(`
      update dirsync.bulk_action set arguments = arguments || jsonb_build_object('until', now() - interval '1 hour')`)
    run()
    expect(await ended(id)).toMatchObject({ state: 'done', done: 0, failed: 1 })
    const { items } = await bulkResults(store.pool, id, { limit: 10 })
    expect(items).toMatchObject([
      { outcome: 'failed', code: 'error', message: { key: 'said.snooze_needs_time' }, state: 'open' },
    ])
    expect(inLanguage('zh-CN', items[0]?.message ?? [])).toBe('snooze 需要一个未来的时间')
  })

  test('waits for an outcome of the employee, which is written as if it were not there', async () => {
    const [case_] = await plantCases(1)
    await store.pool.query(
      `insert into dirsync.employee (userid, source_hash) values ('e1', gen_random_uuid())`,
    )
    const { id } = await preview({ of: ALL, action: 'ignore', reason: 'shared' })
    await start(id)
    const outcome = await store.pool.connect()
    onTestFinished(() => outcome.release())
    await outcome.query('begin')
    await outcome.query(`select from dirsync.employee where userid = 'e1' for no key update`)
    const step = store.pool.query('select dirsync.bulk_step(200, 10000)')
    await expect.poll(() => store.rows(WAITING_FOR_A_LOCK)).not.toEqual([])
    await outcome.query('update dirsync.dead_letter set occurrences = occurrences + 1 where id = $1', [case_])
    await outcome.query('commit')
    await step
    expect(await readBulk(store.pool, id)).toMatchObject({ state: 'done', done: 1 })
  })

  test('tells its results page by page', async () => {
    const ids = await plantCases(5)
    const { id } = await preview({ of: ALL, action: 'comment', text: 'asked HR' })
    const first = await bulkResults(store.pool, id, { limit: 3, outcome: 'waiting' })
    expect(first).toMatchObject({ items: [{ outcome: null }, {}, {}], next: expect.any(String) })
    const second = await bulkResults(store.pool, id, { limit: 3, after: first.next })
    expect(second.items.map(({ dead_letter_id }) => dead_letter_id)).toEqual(ids.slice(3))
    expect(second.next).toBeNull()
    expect(await bulkResults(store.pool, id, { limit: 3, outcome: 'done' })).toEqual({
      items: [],
      next: null,
    })
  })

  test('begins at the notification, not at the next look', async () => {
    await plantCases(1)
    // Its pauses never end by themselves.
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const runner = run()
    const listener = dirsyncListener(store.url, SILENT, payload => {
      if (payload === 'bulk') runner.wake()
    })
    onTestFinished(() => listener.close())
    await listener.start()
    const { id } = await preview({ of: ALL, action: 'retry' })
    await runner.tried
    await start(id)
    await ended(id)
  })
})

describe('an action is confirmed and stopped once', () => {
  test('of two people who confirm it, one is told that the other was quicker', async () => {
    await plantCases(1)
    const { id } = await preview({ of: ALL, action: 'retry' })
    const both = await Promise.allSettled([start(id), startBulk(store.pool, LI, id)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const lost = both.find(({ status }) => status === 'rejected') as PromiseRejectedResult
    expect(lost.reason).toMatchObject({
      code: 'COMMAND_CONFLICT',
      message: expect.stringMatching(/^bulk action \d+ was started by \S+ \(console:\w+\) at .* UTC$/),
    })
    expect(await commands()).toHaveLength(1)
    await expect(start(4711)).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
  })

  test('stopped, it does not go on, and what is done stays done', async () => {
    await plantCases(1_000)
    const { id } = await preview({ of: ALL, action: 'ignore', reason: 'shared' })
    await start(id)
    await store.pool.query('select dirsync.bulk_step(200, 10000)')
    await stopBulk(store.pool, LI, id)
    expect(await readBulk(store.pool, id)).toMatchObject({ state: 'stopped', done: 200, total: 1_000 })
    expect(await store.value('select dirsync.bulk_step(200, 10000)')).toBeNull()
    expect(await store.value(`select count(*)::int from dirsync.dead_letter where state = 'ignored'`)).toBe(
      200,
    )
    expect((await commands()).map(({ name }) => name)).toEqual(['bulk_ignore', 'bulk_stop'])
    await expect(stopBulk(store.pool, MEI, id)).rejects.toMatchObject({ code: 'COMMAND_CONFLICT' })
    await expect(start(id)).rejects.toMatchObject({ code: 'COMMAND_CONFLICT' })
  })

  test('a preview is thrown away without a record', async () => {
    await plantCases(1)
    const { id } = await preview({ of: ALL, action: 'retry' })
    await stopBulk(store.pool, MEI, id)
    await expect(start(id)).rejects.toThrow(/was thrown away by/)
    expect(await commands()).toEqual([])
  })
})

describe('several processes', () => {
  test('share the work without doing anything twice, and a small action does not wait for a large one', async () => {
    const ids = await plantCases(3_000)
    const large = await preview({ of: ALL, action: 'comment', text: 'large' })
    await start(large.id)
    const small = await preview({ of: { ids: ids.slice(0, 5) }, action: 'comment', text: 'small' })
    await start(small.id)
    run()
    run()
    run()
    const [first, second] = [await ended(small.id), await ended(large.id)]
    expect(first.finished_at?.getTime()).toBeLessThan(second.finished_at?.getTime() ?? 0)
    expect(second).toMatchObject({ done: 3_000, skipped: 0, failed: 0 })
    expect(
      await store.rows(
        `select note, count(*)::int as n, count(distinct dead_letter_id)::int as cases
         from dirsync.dead_letter_event group by 1 order by 1`,
      ),
    ).toEqual([
      { note: 'large', n: 3_000, cases: 3_000 },
      { note: 'small', n: 5, cases: 5 },
    ])
  })

  test.each(['console', 'scheduler'])('carry it out where they have the role %s', async role => {
    await using deployment = await createDeployment()
    await deployment.own.pool.query(
      `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy)
       values ('employee', 'e1', 'update-employee', 'left_hr', '[]', '[]')`,
    )
    await using child = spawnDirsync(['start', '--roles', role], { env: deployment.settings })
    const { id } = await previewBulk(deployment.own.pool, MEI, {
      of: ALL,
      action: 'ignore',
      reason: 'agreed',
    })
    await startBulk(deployment.own.pool, MEI, id)
    while ((await readBulk(deployment.own.pool, id))?.state !== 'done') await delay(20)
    expect(await child.kill()).toMatchObject({ code: 0 })
  })

  test('after kill -9 of the one at work the next goes on where it was, no case twice', async () => {
    const cases = await plantCases(2_000)
    const { id } = await preview({ of: ALL, action: 'ignore', reason: 'shared' })
    // However fast it is, it does not come to its end.
    const holder = await store.pool.connect()
    await holder.query('begin')
    await holder.query('select from dirsync.dead_letter where id = $1 for update', [cases.at(-1)])
    await start(id)
    const file = join(import.meta.dirname, 'fixtures/bulk-process.ts')
    await using child = spawnScript(file, [store.url])
    await reach(id, ({ done }) => done >= 400)
    await child.kill('SIGKILL')
    const left = await readBulk(store.pool, id)
    expect(left).toMatchObject({ state: 'running' })
    expect(left?.done).toBeLessThan(2_000)
    await holder.query('rollback')
    holder.release()
    run()
    expect(await ended(id)).toMatchObject({ state: 'done', done: 2_000, skipped: 0, failed: 0 })
    expect(
      await store.rows(
        `select count(*)::int as events, count(distinct dead_letter_id)::int as cases,
                (select count(*)::int from dirsync.dead_letter where state = 'ignored' and version = 2) as ignored
         from dirsync.dead_letter_event where event = 'ignored'`,
      ),
    ).toEqual([{ events: 2_000, cases: 2_000, ignored: 2_000 }])
  })
})
