// @module-tag mariadb

import { createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { previewDeletions } from '../../src/console/departments/page.ts'
import { previewRun } from '../../src/console/employees/preview.ts'
import { readOverview } from '../../src/console/overview/read.ts'
import { HrUnavailableError } from '../../src/hr/source.ts'
import { HrSources, mappingFor, type NamedSource } from '../../src/hr/sources.ts'
import { claim } from '../../src/sync/outbox/claim.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { readRun, requestRun } from '../../src/sync/runs/run.ts'
import { requestReplan, requestScheduledRun } from '../../src/sync/runs/run-requests.ts'
import { until } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { worded } from '../texts/worded.ts'
import { COLUMNS, DEPARTMENTS, groupUnderTest, LIMITS } from './group-under-test.ts'
import { acknowledge } from './plan-under-test.ts'
import { SILENT } from './store-under-test.ts'

const {
  store,
  shanghai,
  beijing,
  both,
  source,
  settle,
  planNext,
  plan,
  people,
  hire,
  inSync,
  employees,
  pending,
  cases,
} = groupUnderTest()

describe('each source is checked by itself', () => {
  test('a request without a source makes a run for each, one of all employees none', async () => {
    await settle(both())
    const commands = new Commands(store.pool, { actor: 'test' })
    const runs = await commands.resync('changes')
    expect(runs).toHaveLength(2)
    expect(await commands.resync('changes', 'beijing')).toEqual([runs[1]])
    expect(await commands.resync('openids')).toHaveLength(1)
    await expect(commands.resync('changes', 'nowhere')).rejects.toThrow("no HR source 'nowhere'")
    expect(await requestScheduledRun(store.pool, 'departments', 'cron', SILENT)).toHaveLength(2)
    expect(
      await store.rows(
        `select kind, hr_source from dirsync.sync_run where kind <> 'departments' order by id`,
      ),
    ).toEqual([
      { kind: 'changes', hr_source: 'shanghai' },
      { kind: 'changes', hr_source: 'beijing' },
      { kind: 'openids', hr_source: '' },
    ])
  })

  test('an empty one is suspect, and the other one goes on', async () => {
    const hr = await inSync()
    await beijing.admin.query('delete from person')
    await shanghai.pool.query(`update person set name = 'Changed' where userid = 'e1'`)
    expect(worded(await plan(hr, 'beijing'))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('no rows at all'),
    })
    expect(await plan(hr, 'shanghai')).toMatchObject({ state: 'running', inScope: 10 })
    expect(await pending()).toEqual(['E1/e1'])
    expect(await employees()).toEqual([
      { code: 'E1', n: 10, vanished: 0 },
      { code: 'E2', n: 10, vanished: 0 },
    ])
  })

  test('a held run is in the overview, however many others its source has had since', async () => {
    const hr = await inSync()
    await beijing.admin.query(`update person set name = 'Changed'`)
    const held = await plan(hr, 'beijing')
    await store.pool.query(
      `insert into dirsync.sync_run (kind, hr_source, keys, state, finished_at)
       values ('changes', 'beijing', '{e1}', 'done', now()), ('changes', 'shanghai', '{}', 'done', now())`,
    )
    const { runs } = await readOverview(store.pool)
    expect(runs.map(({ id }) => id)).toContain(held.id)
    expect(new Set(runs.map(({ id }) => id)).size).toBe(runs.length)
  })

  test('a held run stands beside a running one, and is checked again with its own source only', async () => {
    const hr = await inSync()
    await beijing.admin.query(`update person set name = 'Changed'`)
    await shanghai.pool.query(`update person set name = 'Changed' where userid = 'e1'`)
    const held = await plan(hr, 'beijing')
    expect(worded(held)).toMatchObject({
      state: 'held',
      message: expect.stringContaining('10 of 10 employees'),
    })
    expect(await plan(hr, 'shanghai')).toMatchObject({ state: 'running' })
    expect(await store.value('select recheck_at from dirsync.sync_run where id = $1', [held.id])).toBeNull()
    // Another tick finds the held one, and no second plan of it; the other source has a run of its own.
    const again = await requestScheduledRun(store.pool, 'changes', 'cron', SILENT)
    expect(again).toEqual([expect.any(Number), held.id])
    await store.pool.query('select dirsync.approve($1)', [held.id])
    await planNext(hr, 'shanghai')
    expect((await readRun(store.pool, held.id))?.state).toBe('requested')
    await planNext(hr, 'beijing')
    expect((await readRun(store.pool, held.id))?.state).toBe('running')
    expect(await pending()).toHaveLength(11)
  })

  test('a leaver of one is not a leaver of the other, although both know the user id', async () => {
    await hire(shanghai.pool, people('E1', 10))
    await hire(beijing.admin, people('E2', 10))
    const hr = await settle(both())
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    await shanghai.pool.query(`delete from person where userid = 'e3'`)
    expect(await plan(hr, 'shanghai')).toMatchObject({ plan: { reasons: { vanished: 1 } } })
    expect(await pending()).toEqual(['E1/e3'])
  })

  test('departments of another source are neither missing nor deleted', async () => {
    await hire(shanghai.pool, people('E1', 2))
    await hire(beijing.admin, people('E2', 2))
    await shanghai.pool.query(
      `insert into department values ('E1', 'D0', null, true), ('E1', 'D1', null, true)`,
    )
    await beijing.admin.query(
      `insert into department values ('E2', 'D0', null, true), ('E2', 'D1', null, true)`,
    )
    const hr = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url, DEPARTMENTS),
    ])
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    for (const { name } of hr.all) await plan(hr, name, 'departments')
    await shanghai.pool.query(`delete from department where dept_code = 'D1'`)
    await plan(hr, 'shanghai', 'departments')
    expect(await plan(hr, 'shanghai', 'departments')).toMatchObject({
      inScope: 2,
      plan: { reasons: { delete: 1 } },
    })
    expect(await pending()).toEqual(['E1/D1'])
    expect(await plan(hr, 'beijing', 'departments')).toMatchObject({ inScope: 2, plan: { reasons: {} } })
  })

  test('a look at departments to be deleted says which source is left out', async () => {
    await shanghai.pool.query(`insert into department values ('E1', 'D0', null, true)`)
    const away = source('beijing', ['E2'], `postgres://nobody@127.0.0.1:${await freePort()}/hr`, DEPARTMENTS)
    const hr = await settle([source('shanghai', ['E1'], shanghai.url, DEPARTMENTS), away])
    await hire(shanghai.pool, people('E1', 2))
    await plan(hr, 'shanghai')
    await plan(hr, 'shanghai', 'departments')
    expect(worded(await previewDeletions(store.pool, hr, LIMITS))).toEqual({
      ...{ total: 1, deletions: [], waiting: 0, isHeld: false, heldRuns: [] },
      unread: expect.stringMatching(/^HR source beijing cannot be read: the HR database does not answer/),
    })
    const alone = new HrSources([away])
    await expect(previewDeletions(store.pool, alone, LIMITS)).rejects.toBeInstanceOf(HrUnavailableError)
  })

  test('a look at departments to be deleted names the source of which none is', async () => {
    await hire(shanghai.pool, people('E1', 2))
    await shanghai.pool.query(`insert into department values ('E1', 'D0', null, true)`)
    const hr = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url, DEPARTMENTS),
    ])
    await plan(hr, 'shanghai')
    await plan(hr, 'shanghai', 'departments')
    expect(worded(await previewDeletions(store.pool, hr, LIMITS))).toMatchObject({
      unread: expect.stringMatching(/^HR source beijing: \S/),
    })
  })

  test('a look at departments to be deleted locks none while HR is slow', async () => {
    await shanghai.pool.query(`insert into department values ('E1', 'D0', null, true)`)
    const hr = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url, DEPARTMENTS),
    ])
    await plan(hr, 'shanghai', 'departments')
    await shanghai.pool.query('update department set active = false')
    await beijing.admin.query('lock tables department write')
    const preview = previewDeletions(store.pool, hr, LIMITS)
    try {
      await until(async () => {
        const [waiting] = await beijing.admin.query(
          `select id from information_schema.processlist where state like 'Waiting for table%'`,
        )
        return (waiting as unknown[]).length > 0 || null
      })
      await store.pool.query('select from dirsync.department for update nowait')
    } finally {
      await beijing.admin.query('unlock tables')
    }
    expect(await preview).toMatchObject({ total: 1 })
  })

  test('rows that workers found changed are planned by a run of their own source', async () => {
    const hr = await inSync()
    await store.pool.query(
      `insert into dirsync.pending (operation, enterprise_code, entity_key, priority, not_before, replan_at)
       values ('update-employee', 'E2', 'b1', 3, 'infinity', now())`,
    )
    const [first, second] = hr.all as readonly [NamedSource, NamedSource]
    expect(await requestReplan(store.pool, first)).toBeNull()
    const run = await until(async () => {
      const asked = await requestReplan(store.pool, second)
      return typeof asked === 'number' && asked
    })
    expect(await readRun(store.pool, run)).toMatchObject({ kind: 'changes', source: 'beijing' })
  })

  test('workers read each with the mapping of its own latest plan', async () => {
    await hire(shanghai.pool, people('E1', 1))
    await hire(beijing.admin, people('E2', 1, 'b'))
    const hr = await settle(both())
    const keys = [
      { operation: 'update-employee', enterpriseCode: 'E1', entityKey: 'e0', detail: '' },
      { operation: 'update-employee', enterpriseCode: 'E2', entityKey: 'b0', detail: '' },
    ] as const
    const [first, second] = hr.all as [NamedSource, NamedSource]
    for (const { name } of hr.all) await plan(hr, name)
    const fingerprints = await store.rows<{ mapping: string }>(
      'select mapping from dirsync.sync_run order by id',
    )
    expect((await claim(store.pool, [...keys], hr.owners)).map(claimed => claimed?.mapping)).toEqual(
      fingerprints.map(({ mapping }) => mapping),
    )
    // One of named employees is about all of them.
    await plan(hr, '', 'employees', ['e0'])
    await store.pool.query('update dirsync.pending set in_hand = false')
    const [claimed, other] = await claim(store.pool, [...keys], hr.owners)
    expect(claimed?.mapping).toMatch(/^shanghai=\S+ beijing=\S+$/)
    expect(mappingFor(first, claimed?.mapping ?? null)).toBe(fingerprints[0]?.mapping)
    expect(mappingFor(second, other?.mapping ?? null)).toBe(fingerprints[1]?.mapping)
  })

  test('a named employee is looked for in all of them, and one that is away is named', async () => {
    await hire(shanghai.pool, people('E1', 2))
    const away = source('beijing', ['E2'], `postgres://nobody@127.0.0.1:${await freePort()}/hr`)
    const hr = await settle([source('shanghai', ['E1'], shanghai.url), away])
    expect(worded(await plan(hr, '', 'employees', ['e1', 'b1']))).toMatchObject({
      state: 'running',
      message: expect.stringMatching(/^unknown: b1; HR source beijing cannot be read: .*ECONNREFUSED/),
    })
    expect(await pending()).toEqual(['E1/e1'])
  })

  test('where nobody is found, each source that cannot be read is named, unless the name has the enterprise of another', async () => {
    await hire(shanghai.pool, people('E1', 2))
    const hr = await settle(both())
    await beijing.admin.query('rename table person to person_before')
    onTestFinished(() => beijing.admin.query('rename table person_before to person').then(() => {}))
    const of = async (name: string) => {
      const { state, message } = worded(await plan(hr, '', 'employees', [name]))
      return { state, message }
    }
    const unread = expect.stringMatching(
      /^unknown: .*newguy; HR source beijing cannot be read: .*doesn't exist/,
    )
    expect(await of('newguy')).toEqual({ state: 'failed', message: unread })
    expect(await of('E2/newguy')).toEqual({ state: 'failed', message: unread })
    expect(await of('E1/newguy')).toEqual({
      state: 'failed',
      message: 'neither HR nor dirsync knows an employee E1/newguy',
    })
    await shanghai.pool.query('alter table person rename to person_before')
    onTestFinished(() => shanghai.pool.query('alter table person_before rename to person').then(() => {}))
    expect(await of('E1/newer')).toEqual({
      state: 'failed',
      message: expect.stringMatching(
        /^HR source shanghai cannot be read: .*person.*; HR source beijing cannot be read: .*doesn't exist/,
      ),
    })
  })
})

describe('a source that hangs', () => {
  /** Takes connections and never says a word. */
  async function silentServer(): Promise<{ url: string; connected: Promise<void>; hangUp(): void }> {
    const sockets = new Set<Socket>()
    const { promise: connected, resolve } = Promise.withResolvers<void>()
    const server = createServer(socket => {
      sockets.add(socket)
      resolve()
    })
    await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
    const hangUp = () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
    onTestFinished(hangUp)
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    return { url: `postgres://nobody@127.0.0.1:${port}/hr`, connected, hangUp }
  }

  test('does not delay the plan of another one', async () => {
    await hire(beijing.admin, people('E2', 3, 'b'))
    const { url, connected, hangUp } = await silentServer()
    const hr = await settle([source('shanghai', ['E1'], url), source('beijing', ['E2'], beijing.url)])
    const hanging = await requestRun(store.pool, 'changes', [], 'test', 'shanghai')
    const planning = planNext(hr, 'shanghai')
    await connected
    expect(await plan(hr, 'beijing')).toMatchObject({ state: 'running', inScope: 3 })
    expect(await readRun(store.pool, hanging)).toMatchObject({ state: 'planning' })
    hangUp()
    await planning
    expect(await readRun(store.pool, hanging)).toMatchObject({ state: 'failed' })
  })
})

test('the plan of each tells of its own open ids', async () => {
  const hr = await inSync()
  const missing = hr.all.map(async source => {
    const options = { kind: 'changes', maxAgeMs: null, limits: LIMITS } as const
    const { openids } = await previewRun({ pool: store.pool, source, ...options, sellerAppids: ['app00001'] })
    return openids
  })
  expect(await Promise.all(missing)).toEqual([10, 10])
})

describe('an employee whom two sources deliver', () => {
  test('is a case that names both, while the row of the owner goes on being synced', async () => {
    const hr = await inSync()
    await shanghai.pool.query(
      `insert into person ${COLUMNS} values ('E2', 'b1', 'Twice', '13900000000', 'D0'), ('E9', 'x', 'X', '1', 'D0')`,
    )
    await beijing.admin.query(`update person set name = 'Changed' where userid = 'b1'`)
    expect(await plan(hr, 'shanghai')).toMatchObject({ state: 'running', inScope: 10, planned: 0 })
    expect(await cases()).toEqual([
      {
        code: 'E2',
        key: 'b1',
        field: 'shanghai',
        category: 'stray_row',
        message: 'HR source shanghai delivers this employee, but enterprise E2 is that of HR source beijing.',
        state: 'open',
      },
      expect.objectContaining({
        code: 'E9',
        message: 'HR source shanghai delivers this employee, but enterprise E9 is that of no source.',
      }),
    ])
    expect(await plan(hr, 'beijing')).toMatchObject({ state: 'running', plan: { reasons: { changed: 1 } } })
    expect(await pending()).toEqual(['E2/b1'])
    // It is told once, and over when the row is gone.
    await acknowledge(store)
    await plan(hr, 'shanghai')
    expect(await store.value('select sum(occurrences)::int from dirsync.dead_letter')).toBe(2)
    await shanghai.pool.query(`delete from person where enterprise_code <> 'E1'`)
    await plan(hr, 'shanghai')
    expect(await cases()).toMatchObject([{ state: 'resolved' }, { state: 'resolved' }])
  })

  test('more than a few such rows are a mapping that broke, and no mass of cases', async () => {
    const hr = await inSync()
    await hire(shanghai.pool, people('E2', 4, 'b'))
    expect(worded(await plan(hr, 'shanghai'))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('4 of 14 rows that HR delivers are of enterprises'),
    })
    expect(await cases()).toEqual([])
  })

  test('rows without a user id are a case of each source', async () => {
    await hire(shanghai.pool, [...people('E1', 5), ['E1', '', 'n', '1', 'D0']])
    await hire(beijing.admin, [...people('E2', 5), ['E2', '', 'n', '1', 'D0']])
    const hr = await settle(both())
    for (const { name } of hr.all) await plan(hr, name)
    expect(worded(await cases())).toMatchObject([{ field: 'shanghai' }, { field: 'beijing' }])
    await shanghai.pool.query(`delete from person where userid = ''`)
    for (const { name } of hr.all) await plan(hr, name)
    expect(await cases()).toMatchObject([{ state: 'resolved' }, { state: 'open' }])
  })

  test('a retry of such cases reads all of their source again, and leaves them open until that decides', async () => {
    const hr = await inSync()
    await hire(shanghai.pool, [
      ['E2', 'b1', 'Twice', '1', 'D0'],
      ['E1', '', 'n', '1', 'D0'],
    ])
    await plan(hr, 'shanghai')
    const retry = async () => {
      await store.pool.query('select dirsync.retry(id) from dirsync.dead_letter order by id')
      while (await planNext(hr, ''));
      return store.rows(
        `select state, kind, wants_all, dirsync.in_language('en', message) as message from dirsync.sync_run
         where id > (select max(id) from dirsync.sync_run where kind = 'changes' and state <> 'requested') order by id`,
      )
    }
    const message = expect.stringMatching(/^run \d+ reads every row of HR source shanghai again$/)
    expect(await retry()).toEqual([
      { state: 'running', kind: 'retry', wants_all: false, message },
      { state: 'running', kind: 'retry', wants_all: false, message },
      { state: 'requested', kind: 'changes', wants_all: true, message: null },
    ])
    expect(await cases()).toMatchObject([{ state: 'open' }, { state: 'open' }])
    await planNext(hr, 'shanghai')
    expect(await cases()).toMatchObject([{ state: 'open' }, { state: 'open' }])
    // Nor does that make one read all of HR every week.
    expect(await store.rows('select next_retry_at as next from dirsync.dead_letter')).toEqual([
      { next: null },
      { next: null },
    ])
    await shanghai.pool.query(`delete from person where userid in ('', 'b1')`)
    await retry()
    await planNext(hr, 'shanghai')
    expect(await cases()).toMatchObject([{ state: 'resolved' }, { state: 'resolved' }])
  })
})
