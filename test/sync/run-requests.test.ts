import { once } from 'node:events'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { type SourceScope, WHOLE } from '../../src/hr/sources.ts'
import { createClient } from '../../src/lib/database.ts'
import { healHrHalt, readHalts } from '../../src/sync/outbox/halts.ts'
import { checkLater, type RunKind, type RunState, readRun } from '../../src/sync/runs/run.ts'
import {
  HrChanges,
  isPlanned,
  requestDoubted,
  requestReplan,
  requestScheduledRun,
  runFor,
} from '../../src/sync/runs/run-requests.ts'
import { message } from '../../src/texts/message.ts'
import { until } from '../helpers/company.ts'
import { hash, plant, plantRun, plantWork } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000)

describe('a request is met by', () => {
  const run = (kind: RunKind, state: RunState, differs = {}) => ({
    ...{ kind, state, undecided: null, approved: false },
    ...differs,
  })
  const whole = run('full', 'held')
  const inParts = run('changes', 'held', { undecided: 2 })

  test.each([
    ['the run that is held as a whole', { kind: 'changes' }, whole, run('changes', 'requested'), 'held'],
    ['a new run beside one that is decided in parts', { kind: 'changes' }, inParts, inParts, null],
    ['a new run where none is unfinished', { kind: 'full' }, null, run('full', 'done'), null],
    [
      'one that waits to begin',
      { kind: 'changes', unread: true },
      null,
      run('changes', 'requested'),
      'latest',
    ],
    ['one that is being planned', { kind: 'changes' }, null, run('changes', 'planning'), 'latest'],
    [
      'no run that may have read HR before',
      { kind: 'changes', unread: true },
      null,
      run('changes', 'planning'),
      null,
    ],
    ['no run of changes that is being sent', { kind: 'changes' }, null, run('changes', 'running'), null],
    ['a full run that is being sent', { kind: 'full' }, null, run('full', 'running'), 'latest'],
    [
      'no run that was approved',
      { kind: 'changes' },
      null,
      run('changes', 'requested', { approved: true }),
      null,
    ],
  ] as const)('%s', (_, wanted, held, latest, met) => {
    expect(runFor(wanted, held, latest)).toBe(met && { held, latest }[met])
  })
})

describe('a cron tick', () => {
  const request = async (kind: RunKind) => {
    const [id = 0] = await requestScheduledRun(store.pool, kind, 'cron', SILENT)
    return id
  }
  const runs = () => store.rows('select id, kind, state, requested_by from dirsync.sync_run order by id')

  test('a run is requested where none of its kind is unfinished, and heard at once', async () => {
    await plantRun(store, { state: 'done', finished_at: new Date() })
    await plantRun(store, { kind: 'full', state: 'requested' })
    const client = createClient(store.url, 'test')
    await client.connect()
    onTestFinished(() => client.end())
    await client.query('listen dirsync')
    const heard = once(client, 'notification')
    const id = await request('changes')
    expect((await runs()).at(-1)).toEqual({ id, kind: 'changes', state: 'requested', requested_by: 'cron' })
    await heard
  })

  test.each(['requested', 'planning'])('one that is %s already is enough', async state => {
    const id = await plantRun(store, { state })
    expect(await request('changes')).toBe(id)
    expect(await runs()).toHaveLength(1)
  })

  test('one that sends an approved part of a plan is not: it reads nothing', async () => {
    const part = await plantRun(store, { state: 'requested', approved: true, part_of: 1 })
    expect(await request('changes')).toBe(part + 1)
  })

  test('nor does one hide a run that waits', async () => {
    const waiting = await plantRun(store, { state: 'requested' })
    await plantRun(store, { state: 'requested', approved: true, part_of: 1 })
    expect(await request('changes')).toBe(waiting)
  })

  test('a part of a full plan that is being sent is no full run', async () => {
    const part = await plantRun(store, { kind: 'full', state: 'running', approved: true, part_of: 1 })
    expect(await request('full')).toBe(part + 1)
  })

  test.each(['changes', 'full'])(
    'while one of kind %s is held HR is checked again, and it stays held',
    async kind => {
      const id = await plantRun(store, { kind, state: 'held' })
      expect(await request('changes')).toBe(id)
      expect(await runs()).toMatchObject([{ id, state: 'held' }])
      expect(await isPlanned(store.pool, id)).toBe(false)
    },
  )

  test('changes are looked for while earlier ones are on their way, a second full run is not begun', async () => {
    const changes = await plantRun(store, { state: 'running' })
    expect(await request('changes')).toBeGreaterThan(changes)
    const full = await plantRun(store, { kind: 'full', state: 'running' })
    expect(await request('full')).toBe(full)
  })
})

describe('rows that wait for a plan', () => {
  /** A row whose HR row a worker found changed since its plan, so many minutes ago. */
  const waiting = (minutes: number) =>
    plantWork(store, 'e1', { not_before: 'infinity', replan_at: ago(minutes) })
  const changes = (state: string, minutes: number, differs = {}) =>
    plantRun(store, {
      state,
      requested_at: ago(minutes),
      started_at: ago(minutes),
      planned_at: ago(minutes),
      finished_at: ago(minutes),
      ...differs,
    })

  test('request nothing if a run has checked HR since', async () => {
    await waiting(5)
    await changes('source_suspect', 3)
    expect(await requestReplan(store.pool, WHOLE)).toBeNull()
  })

  test.each(['failed', 'cancelled'])('do not count as checked by a run that was %s', async state => {
    await waiting(5)
    const id = await changes(state, 3)
    expect(await requestReplan(store.pool, WHOLE)).toBe(id + 1)
    expect(await readRun(store.pool, id + 1)).toMatchObject({ kind: 'changes', requestedBy: 'replan' })
    // One is enough.
    expect(await requestReplan(store.pool, WHOLE)).toBe(id + 1)
  })

  test.each([
    ['another run, of which an earlier version did not say how long it took', null, false],
    ['no other run before HR has rested for nine times as long as it was read', '10 minutes', true],
    ['no other run before HR has rested, counted from the end of reading', '190 seconds', true],
    ['another run once HR has rested', '170 seconds', false],
  ])('request %s', async (_, planned_for, isEarly) => {
    await waiting(1)
    const id = await changes('done', 30, { planned_for })
    expect(await requestReplan(store.pool, WHOLE)).toBe(isEarly ? 'early' : id + 1)
  })

  test.each(['changes', 'full'])('have HR checked again for a held run of kind %s', async kind => {
    await waiting(5)
    const id = await changes('held', 30, { kind, finished_at: null })
    expect(await requestReplan(store.pool, WHOLE)).toBeNull()
    expect(await isPlanned(store.pool, id)).toBe(false)
    expect(await store.value('select count(*)::int from dirsync.sync_run')).toBe(1)
  })

  test('wait a minute after a run that failed', async () => {
    await waiting(5)
    await changes('failed', 0)
    expect(await requestReplan(store.pool, WHOLE)).toBe('early')
  })
})

describe('employees in doubt since the database was restored', () => {
  const DOUBT = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
  const doubted = (differs = {}) =>
    plant(store, 'employee', { userid: 'e1', source_hash: hash(), acknowledged_hash: DOUBT, ...differs })
  const run = (kind: string, state: string, minutes: number, differs = {}) =>
    plantRun(store, { kind, state, planned_at: ago(minutes), finished_at: ago(minutes), ...differs })

  test.each([
    ['failed', 2, true],
    ['failed', 0, false],
    ['source_suspect', 2, true],
    ['superseded', 2, true],
    ['cancelled', 60, false],
    ['cancelled', 25 * 60, true],
    ['rejected', 60, false],
    ['rejected', 25 * 60, true],
    ['done', 60, false],
    ['running', 60, false],
  ])('after a full run that is %s for %i minutes another one asks: %s', async (state, minutes, asks) => {
    await doubted()
    await run('full', state, minutes)
    const last = await run('changes', 'done', 0)
    expect(await requestDoubted(store.pool, WHOLE)).toBe(asks)
    expect(await requestDoubted(store.pool, WHOLE)).toBe(false)
    if (asks)
      expect(await readRun(store.pool, last + 1)).toMatchObject({ kind: 'full', requestedBy: 'restore' })
  })

  test.each(['done', 'cancelled'])(
    'are asked about by another full run if their source got their enterprise after one that is %s',
    async state => {
      await doubted({ enterprise_code: 'B' })
      const id = await run('full', state, 20, { hr_source: 'shanghai' })
      await run('changes', 'done', 1, { hr_source: 'shanghai' })
      const source = {
        kind: 'postgres',
        name: 'shanghai',
        position: 0,
        address: 'a',
        enterprise_codes: ['A', 'B'],
      }
      await plant(store, 'hr_source', { ...source, codes_since: id - 1 })
      const asks = () => requestDoubted(store.pool, { name: 'shanghai', codes: ['A', 'B'] })
      expect(await asks()).toBe(false)
      await store.pool.query('update dirsync.hr_source set codes_since = $1', [id])
      expect(await asks()).toBe(true)
    },
  )

  test('are asked about by no other one before HR looks right, nor where they wait for a decision', async () => {
    await doubted()
    await run('full', 'failed', 5)
    await run('changes', 'failed', 2)
    expect(await requestDoubted(store.pool, WHOLE)).toBe(false)
    await run('changes', 'done', 1)
    await store.pool.query('update dirsync.employee set held_run = 1')
    expect(await requestDoubted(store.pool, WHOLE)).toBe(false)
  })

  test('are those of the source whose run failed', async () => {
    await doubted({ enterprise_code: 'B' })
    for (const hr_source of ['shanghai', 'beijing']) {
      await run('full', 'failed', 5, { hr_source })
      await run('changes', 'done', 1, { hr_source })
    }
    expect(await requestDoubted(store.pool, { name: 'shanghai', codes: ['S'] })).toBe(false)
    expect(await requestDoubted(store.pool, { name: 'beijing', codes: ['B'] })).toBe(true)
  })
})

test('a held run that could not be checked again is checked a minute later, and nothing waits for it', async () => {
  const id = await plantRun(store, { state: 'held', message: 'why' })
  await checkLater(store.pool, id, message('said.not_checked', { reason: 'away' }))
  expect(await isPlanned(store.pool, id)).toBe(true)
  const [run] = await store.rows(
    `select recheck_at between now() + interval '30 seconds' and now() + interval '1 minute' as later, checked_at
     from dirsync.sync_run where id = $1`,
    [id],
  )
  expect(run).toEqual({ later: true, checked_at: null })
})

test('HR that answers ends the halt because of HR, and no other', async () => {
  const halt = (category: string) =>
    plant(store, 'halt', { scope: '*', category, message: 'm', remedy: 'r', since: ago(1) })
  const left = async (startedAt: Date) => {
    await healHrHalt({ db: store.pool, logger: SILENT }, WHOLE, startedAt)
    return (await readHalts(store.pool)).map(({ category }) => category)
  }
  await halt('paused')
  expect(await left(new Date())).toEqual(['paused'])
  await store.pool.query('delete from dirsync.halt')
  await halt('hr_unavailable')
  expect(await left(ago(2))).toEqual(['hr_unavailable'])
  expect(await left(new Date())).toEqual([])
})

describe("what HR's trigger tells", () => {
  const limits = { gate: { maxFewerRows: 20, maxEmptied: 20 }, breaker: { count: 50, percent: 10 } }
  let heard: HrChanges[] = []

  afterEach(async () => {
    await Promise.all(heard.map(changes => changes.stop()))
    heard = []
  })

  /** Tells what a process hears, as that does. */
  const listen = (scope: SourceScope = WHOLE) => {
    const changes = new HrChanges({ pool: store.pool, scope, limits, by: 'trigger', logger: SILENT })
    heard.push(changes)
    return changes
  }

  /** A run that read every row of HR and could say how many there are. */
  const plantFullReading = (differs: Record<string, unknown> = {}) =>
    plantRun(store, {
      state: 'done',
      keys: [],
      read_all: true,
      planned_at: new Date(),
      finished_at: new Date(),
      source: { rows: 1_000_000, keyless: 0, empty: {} },
      ...differs,
    })

  /** What waits to be planned once the trigger has named these. */
  async function requestedFor(userids: string[] | null, count = 1) {
    listen().changed(userids)
    return until(async () => {
      const runs = await store.rows(
        `select id, keys, wants_all as read_all from dirsync.sync_run where state = 'requested' order by id`,
      )
      return runs.length >= count && runs
    })
  }

  test('few rows are named', async () => {
    const full = await plantFullReading()
    expect(await requestedFor(['e1', 'e2'])).toEqual([{ id: full + 1, keys: ['e1', 'e2'], read_all: false }])
  })

  test.each(['changes', 'full'])(
    'rows are not sent past a held run of kind %s: HR is checked again',
    async kind => {
      await plantFullReading()
      const held = await plantFullReading({ kind, state: 'held', finished_at: null })
      listen().changed(['e1'])
      const [run] = await until(async () => {
        const asked = await store.rows(
          'select id, recheck_at is not null as asked from dirsync.sync_run order by id desc limit 1',
        )
        return asked[0]?.asked === true && asked
      })
      expect(run).toEqual({ id: held, asked: true })
    },
  )

  test.each(['source_suspect', 'rejected', 'failed'])(
    'rows are not sent past a run that ended as %s',
    async state => {
      await plantFullReading()
      const last = await plantFullReading({ state })
      await plantRun(store, { state: 'done', keys: ['e9'], planned_at: new Date(), finished_at: new Date() })
      expect(await requestedFor(['e1'])).toEqual([{ id: last + 2, keys: [], read_all: true }])
    },
  )

  test('few rows join the named run that waits to begin, and none that a person has approved', async () => {
    await plantFullReading()
    const named = { keys: ['e1'], state: 'requested' }
    await plantRun(store, { ...named, approved: true })
    await plantRun(store, { ...named, hr_source: 'other' })
    await plantRun(store, { ...named, kind: 'employees' })
    const waits = await plantRun(store, named)
    listen().changed(['e2', 'e1'])
    const runs = await until(async () => {
      const asked = await store.rows<{ id: number; keys: string[] }>(
        `select id, keys from dirsync.sync_run where state = 'requested' order by id`,
      )
      return asked.some(({ keys }) => keys.includes('e2')) && asked
    })
    expect(runs.map(({ keys }) => keys)).toEqual([['e1'], ['e1'], ['e1'], ['e1', 'e2']])
    expect(runs.at(-1)?.id).toBe(waits)
  })

  test('rows do not wait for a run that sends an approved part of a plan, which reads nothing', async () => {
    await plantFullReading()
    const held = await plantFullReading({ state: 'held', undecided: 2, finished_at: null })
    const part = await plantRun(store, { state: 'requested', approved: true, part_of: held })
    const [, asked] = (await requestedFor(null, 2)) ?? []
    expect(asked).toEqual({ id: part + 1, keys: [], read_all: true })
  })

  test('HR that took long to tell few rows is left in peace for nine times as long', async () => {
    const scopes = ['slow', 'fast'].map(name => ({ name, codes: [name] }))
    for (const [position, { name, codes }] of scopes.entries()) {
      const of = { kind: 'postgres', address: name, enterprise_codes: codes }
      await plant(store, 'hr_source', { name, position, ...of })
      const statistics = { rows: 1_000_000, keyless: 0, empty: {}, codes }
      await plantFullReading({ hr_source: name, source: statistics })
    }
    const requested = (name: string, userid: string) =>
      until(async () => {
        const [run] = await store.rows<{ id: number }>(
          'select id from dirsync.sync_run where hr_source = $1 and $2 = any (keys)',
          [name, userid],
        )
        return run?.id ?? null
      })
    const listeners = scopes.map(scope => ({ ...scope, changes: listen(scope) }))
    for (const { name, changes } of listeners) {
      changes.changed(['e1'])
      const run = await requested(name, 'e1')
      await store.pool.query(
        `update dirsync.sync_run
         set state = 'done', planned_at = now(), planned_for = $2 * interval '1 minute' where id = $1`,
        [run, name === 'slow' ? 10 : 0],
      )
      changes.changed(['e2'])
    }
    // The slow one was told first, and would have asked first.
    await requested('fast', 'e2')
    expect(
      await store.rows(`select keys from dirsync.sync_run where hr_source = 'slow' and 'e2' = any (keys)`),
    ).toEqual([])
  })

  test('thousands of rows are read with all the others', async () => {
    const full = await plantFullReading()
    expect(await requestedFor(Array.from({ length: 1001 }, (_, i) => `e${i}`))).toEqual([
      { id: full + 1, keys: [], read_all: true },
    ])
  })

  test('of any row, as when the listener changes, checks all rows, and finds missing employees', async () => {
    const full = await plantFullReading()
    expect(await requestedFor(null)).toEqual([{ id: full + 1, keys: [], read_all: true }])
  })

  test('joins a run that waits, which then reads every row', async () => {
    await plantFullReading()
    const waiting = await plantRun(store, { state: 'requested' })
    listen().changed(null)
    await until(async () => (await readRun(store.pool, waiting))?.wantsAll)
    expect(await store.value('select count(*)::int from dirsync.sync_run')).toBe(2)
  })
})
