import { randomUUID } from 'node:crypto'
// @module-tag mariadb

import { createServer, type Socket } from 'node:net'
import type { Connection } from 'mysql2/promise'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readArrival } from '../../src/console/cases/arrival.ts'
import { previewDeletions } from '../../src/console/departments/page.ts'
import { countStatuses, listEmployees } from '../../src/console/employees/list.ts'
import { previewRun } from '../../src/console/employees/preview.ts'
import { readEmployeeStory } from '../../src/console/employees/story.ts'
import { readHistory } from '../../src/console/overview/history.ts'
import { readNow, todosOf } from '../../src/console/overview/query.ts'
import { readOverview, syncSummary } from '../../src/console/overview/read.ts'
import { HrUnavailableError } from '../../src/hr/source.ts'
import { HrSources, mappingFor, type NamedSource, WHOLE } from '../../src/hr/sources.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { UNTRACED } from '../../src/lib/tracing.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { formatJobKey } from '../../src/queue/job.ts'
import { requestDueRetries } from '../../src/sync/cases/retries.ts'
import { claimDeployment } from '../../src/sync/health/deployment.ts'
import { noteStatuses } from '../../src/sync/health/figures.ts'
import { type ClaimKey, claim } from '../../src/sync/outbox/claim.ts'
import { haltForHr, readHalts } from '../../src/sync/outbox/halts.ts'
import { claimSources } from '../../src/sync/plan/claim-sources.ts'
import { Standing } from '../../src/sync/processes/standing.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { lastFullReading, watermark } from '../../src/sync/runs/earlier-runs.ts'
import { type Run, type RunKind, readRun, requestRun } from '../../src/sync/runs/run.ts'
import { HrChanges, requestReplan, requestScheduledRun } from '../../src/sync/runs/run-requests.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle as settleOutcomes } from '../../src/sync/settle/settlement.ts'
import { JobProcessor } from '../../src/sync/work/job-processor.ts'
import { inWords } from '../../src/texts/message.ts'
import { until } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { freePort } from '../helpers/free-port.ts'
import { createMariadbDatabase } from '../helpers/mariadb.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { hrSource } from '../hr/hr-database.ts'
import { worded } from '../texts/worded.ts'
import { employee, outcome } from './outcomes.ts'
import { acknowledge, plannerOf, LIMITS as USUAL_LIMITS } from './plan-under-test.ts'
import { caseOf, fail, plant } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const LIMITS = { ...USUAL_LIMITS, breaker: { count: 3, percent: 10 }, departmentGraceMs: 0 }
const MAPPING = 'select enterprise_code, userid, name, mobile, dept_code, active from person'
const DEPARTMENTS = 'select enterprise_code, dept_code, parent_code, active from department'
const TABLES = `
  create table person (enterprise_code varchar(20), userid varchar(50), name varchar(50), mobile varchar(20),
                       dept_code varchar(20), active boolean default true);
  create table department (enterprise_code varchar(20), dept_code varchar(20), parent_code varchar(20),
                           active boolean default true)`

const store = new StoreUnderTest()
const shanghai = duringFile(createTestDatabase)
const beijing = duringFile(createMariadbDatabase)

beforeAll(async () => {
  await shanghai.pool.query(TABLES)
  await beijing.admin.query(TABLES)
})
beforeEach(async () => {
  await shanghai.pool.query('delete from person; delete from department')
  await beijing.admin.query('delete from person; delete from department')
})

/** The two sources: a company in PostgreSQL with enterprise E1, one in MariaDB with E2. */
const both = () => [source('shanghai', ['E1'], shanghai.url), source('beijing', ['E2'], beijing.url)]

function source(name: string, codes: string[], url: string, departments?: string): NamedSource {
  const [defaultEnterpriseCode = ''] = codes
  const hr = hrSource(url, MAPPING, { defaultEnterpriseCode, ...(departments && { departments }) })
  return { name, codes, hr }
}

/** A process starts with these sources. */
async function settle(sources: NamedSource[]): Promise<HrSources> {
  await claimSources(
    store.pool,
    sources.map(({ name, codes, hr }) => ({
      name,
      kind: hr.kind,
      address: 'hr.example/hr',
      enterpriseCodes: codes ?? [],
    })),
  )
  return new HrSources(sources)
}

/** The planner of one source plans what has been asked for. */
const planNext = (hr: HrSources, name: string) =>
  plannerOf(store, { hr, source: name, limits: LIMITS }).planNext(new AbortController().signal)

/** Plans a run of one source, as its planner would. */
async function plan(
  hr: HrSources,
  name: string,
  kind: RunKind = 'changes',
  keys: string[] = [],
): Promise<Run> {
  const id = await requestRun(store.pool, kind, keys, 'test', name)
  await planNext(hr, name)
  return (await readRun(store.pool, id)) as Run
}

const people = (code: string, count: number, prefix = 'e') =>
  Array.from({ length: count }, (_, i) => [code, `${prefix}${i}`, `n${i}`, `1380000000${i}`, 'D0'])
const COLUMNS = '(enterprise_code, userid, name, mobile, dept_code)'

function hire(place: pg.Pool | Connection, rows: string[][]): Promise<unknown> {
  const values = rows.map(row => `(${row.map(value => `'${value}'`).join(', ')})`).join(', ')
  const sql = `insert into person ${COLUMNS} values ${values}`
  return 'release' in place || 'totalCount' in place
    ? (place as pg.Pool).query(sql)
    : (place as Connection).query(sql)
}

/** Both companies with ten employees each, all of them in step. */
async function inSync(): Promise<HrSources> {
  await hire(shanghai.pool, people('E1', 10))
  await hire(beijing.admin, people('E2', 10, 'b'))
  const hr = await settle(both())
  for (const { name } of hr.all) await plan(hr, name)
  await acknowledge(store)
  return hr
}

/** A worker has an employee or department in hand. */
const execute = (hr: HrSources, key: ClaimKey) => worker(hr)(key)

/** A worker that is started now. */
function worker(hr: HrSources): (key: ClaimKey) => Promise<void> {
  const locks = new SessionLocks(store.url, SILENT)
  // Nothing answers there: no call is made for an enterprise without a source.
  const client = new PlatformClient({
    baseUrl: 'http://127.0.0.1:1',
    appId: 'a',
    appSecret: 's',
    ratePerSecond: 1,
  })
  onTestFinished(async () => {
    await Promise.all([locks.close(), client.close()])
  })
  const processor = new JobProcessor({
    pool: store.pool,
    client,
    hr,
    locks,
    standing: new Standing(store.pool, { id: randomUUID(), secretPrint: '' }),
    logger: SILENT,
    concurrentCalls: 1,
    limits: LIMITS,
    tracing: UNTRACED,
  })
  return async key => {
    const { ended } = await processor.process(
      { name: key.operation, keys: [formatJobKey(key)], priority: 3 },
      new AbortController().signal,
    )
    await ended
  }
}

const job = (enterpriseCode: string, entityKey: string) =>
  ({ operation: 'update-employee', enterpriseCode, entityKey, detail: '' }) as const

const employees = () =>
  store.rows<{ code: string; n: number; vanished: number }>(
    `select enterprise_code as code, count(*)::int as n, count(vanished_at)::int as vanished
     from dirsync.employee group by 1 order by 1`,
  )
const pending = async () =>
  (
    await store.rows<{ key: string }>(
      `select enterprise_code || '/' || entity_key as key from dirsync.pending order by 1`,
    )
  ).map(({ key }) => key)
const cases = () =>
  store.rows(
    `select enterprise_code as code, entity_key as key, field, category, dirsync.in_language('en', message) as message, state
     from dirsync.dead_letter order by id`,
  )

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

describe('the sources change', () => {
  test('one that is added is not held for all its employees', async () => {
    await hire(shanghai.pool, people('E1', 10))
    const one = await settle([source('shanghai', ['E1'], shanghai.url)])
    await plan(one, 'shanghai')
    await acknowledge(store)
    await hire(beijing.admin, people('E2', 10, 'b'))
    const hr = await settle(both())
    expect(await plan(hr, 'beijing')).toMatchObject({ state: 'running', plan: { reasons: { new: 10 } } })
  })

  test('one that is added and held for its leavers goes on once HR leaves them out', async () => {
    await shanghai.pool.query('delete from person')
    await hire(shanghai.pool, people('E1', 10))
    await shanghai.pool.query(`update person set active = false where userid > 'e3'`)
    const hr = await settle([source('shanghai', ['E1'], shanghai.url)])
    const held = await plan(hr, 'shanghai')
    expect(held).toMatchObject({ state: 'held' })
    await shanghai.pool.query(`delete from person where not active`)
    expect(worded(await plan(hr, 'shanghai'))).toMatchObject({ state: 'running', message: null })
    expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'superseded' })
  })

  test('one whose first run was cancelled for its mapping is read as if that had never been', async () => {
    await hire(shanghai.pool, [...people('E1', 7), ...people('E3', 3, 'c')])
    const hr = await settle([source('shanghai', ['E1', 'E3'], shanghai.url)])
    await store.pool.query('select dirsync.cancel($1)', [(await plan(hr, 'shanghai')).id])
    await finishRuns(store.pool)
    await shanghai.pool.query(`delete from person where enterprise_code = 'E3'`)
    expect(worded(await plan(hr, 'shanghai'))).toMatchObject({ state: 'running', message: null })
  })

  test('one that delivers no leavers any more once it has another enterprise goes on', async () => {
    await hire(shanghai.pool, people('E1', 10))
    await shanghai.pool.query(`update person set active = false where userid > 'e5'`)
    await plan(await settle([source('shanghai', ['E1'], shanghai.url)]), 'shanghai')
    await acknowledge(store)
    await shanghai.pool.query('delete from person where not active')
    const hr = await settle([source('shanghai', ['E1', 'E3'], shanghai.url)])
    expect(worded(await plan(hr, 'shanghai'))).toMatchObject({ state: 'running', message: null })
    await acknowledge(store)
    await shanghai.pool.query(`delete from person where userid > 'e3'`)
    const other = await settle([source('shanghai', ['E1', 'E4'], shanghai.url)])
    expect(await plan(other, 'shanghai')).toMatchObject({ state: 'source_suspect' })
  })

  test('one that is removed makes no leavers; its held and waiting runs end, and waiting work is withdrawn', async () => {
    const hr = await inSync()
    await beijing.admin.query(`update person set name = 'Changed' where userid = 'b1'`)
    const running = await plan(hr, 'beijing')
    expect(running.state).toBe('running')
    await beijing.admin.query(`update person set name = 'Other'`)
    await hire(beijing.admin, people('E2', 1, 'new'))
    const held = await plan(hr, 'beijing')
    const waiting = await requestRun(store.pool, 'full', [], 'test', 'beijing')
    const rest = await settle([source('shanghai', ['E1'], shanghai.url)])
    expect(worded(await readRun(store.pool, held.id))).toMatchObject({
      state: 'rejected',
      message: 'Its HR source is not among those of the settings any more. Nothing of this plan was sent.',
    })
    // No decision is made about its change, and it is not in sync.
    expect(
      await store.rows(`select status, count(*)::int as n from dirsync.employee group by 1 order by 1`),
    ).toEqual([
      { status: 'in_sync', n: 10 },
      { status: 'waiting', n: 10 },
    ])
    // Nothing goes on with them by itself, and no figure says so.
    expect(await syncSummary(store.pool, 1, new Date())).toMatchObject({
      employees: { in_sync: 10, no_source: 10, waiting: 0 },
    })
    expect(await countStatuses(store.pool)).toMatchObject({ no_source: 10, waiting: 0 })
    expect((await listEmployees(store.pool, { status: 'no_source' }, { limit: 20 })).items).toHaveLength(10)
    expect(await readRun(store.pool, waiting)).toMatchObject({ state: 'cancelled' })
    await finishRuns(store.pool)
    expect(await readRun(store.pool, running.id)).toMatchObject({ state: 'cancelled' })
    expect(await plan(rest, 'shanghai')).toMatchObject({ state: 'running', planned: 0 })
    expect(await pending()).toEqual([])
    expect(await employees()).toEqual([
      { code: 'E1', n: 10, vanished: 0 },
      { code: 'E2', n: 10, vanished: 0 },
    ])
    // When it comes back, what it has changed is planned as ever.
    expect(await plan(await settle(both()), 'beijing')).toMatchObject({ state: 'held', planned: 11 })
  })

  test('everyone in service of one that is removed is without HR source, those who were in sync too', async () => {
    await inSync()
    await store.pool.query(`update dirsync.employee set vanished_at = now() where userid = 'b9'`)
    await store.pool.query(
      `update dirsync.employee set acknowledged_hash = gen_random_uuid() where userid = 'b1'`,
    )
    await settle([source('shanghai', ['E1'], shanghai.url)])
    const stands = { in_sync: 10, no_source: 9, waiting: 0 }
    expect(await countStatuses(store.pool)).toMatchObject({ ...stands, vanished: 1 })
    expect(await syncSummary(store.pool, 1, new Date())).toMatchObject({ employees: stands })
    const { items, next } = await listEmployees(store.pool, { status: 'no_source' }, { limit: 3 })
    const rest = await listEmployees(store.pool, { status: 'no_source' }, { after: next ?? '', limit: 20 })
    expect([...items, ...rest.items].map(({ userid, status }) => `${userid} ${status}`)).toEqual(
      ['b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8'].map(userid => `${userid} no_source`),
    )
    await noteStatuses(store.pool)
    expect(await store.rows('select in_sync, waiting, no_source from dirsync.status_history')).toEqual([
      stands,
    ])
    expect(
      (await readEmployeeStory(store.pool, { enterpriseCode: 'E2', userid: 'b0' })).record,
    ).toMatchObject({
      status: 'no_source',
    })
  })

  test('one that is removed for good is a to-do for a week, and then no more', async () => {
    await claimDeployment(store.pool, { baseUrl: 'https://platform.example', appId: 'a', enterpriseCode: '' })
    await inSync()
    await finishRuns(store.pool)
    await plant(store, 'process', {
      id: randomUUID(),
      host: 'h',
      pid: 1,
      version: '1',
      roles: ['scheduler', 'worker'],
    })
    await settle([source('shanghai', ['E1'], shanghai.url)])
    await noteStatuses(store.pool)
    const told = async () => {
      const { result } = await readNow(store.pool, 'en')
      const todos = todosOf(result).filter(({ what }) => what === 'no_source')
      return { todos, share: result.share_in_sync, arrival: await readArrival(store.pool) }
    }
    expect(await told()).toEqual({
      ...{ todos: [{ what: 'no_source', count: 10 }], share: 1, arrival: 'no_source' },
    })
    const weekGoesBy = () =>
      store.pool.query(`update dirsync.deployment set source_lost_at = source_lost_at - interval '7 days'`)
    await weekGoesBy()
    const none = { todos: [], share: 1, arrival: 'arrived' }
    expect(await told()).toEqual(none)
    const now = new Date()
    const { in_sync } = await readHistory(store.pool, { from: new Date(now.getTime() - 600_000), to: now })
    expect(in_sync.filter(share => share !== null)).toEqual([1])
    // Starts that change nothing are no news; that it comes back while the other one goes is.
    await settle([source('shanghai', ['E1'], shanghai.url)])
    expect(await told()).toEqual(none)
    await settle([source('beijing', ['E2'], beijing.url)])
    const lost = { todos: [{ what: 'no_source', count: 10 }], arrival: 'no_source' }
    expect(await told()).toMatchObject(lost)
    // So is one that the only HR had.
    await settle([])
    await weekGoesBy()
    expect(await told()).toMatchObject(none)
    await settle([source('beijing', ['E2'], beijing.url)])
    expect(await told()).toMatchObject(lost)
  })

  describe('one loses an enterprise while a run is held', () => {
    const whole = () => [source('shanghai', ['E1', 'E3'], shanghai.url)]
    /** Nor does HR deliver it. */
    async function without(): Promise<HrSources> {
      await shanghai.pool.query(`delete from person where enterprise_code = 'E3'`)
      return settle([source('shanghai', ['E1'], shanghai.url)])
    }

    /** One of them was rejected earlier. */
    async function heldForBoth(): Promise<Run> {
      await hire(shanghai.pool, [...people('E1', 10), ...people('E3', 10, 'c')])
      const hr = await settle(whole())
      await plan(hr, 'shanghai')
      await acknowledge(store)
      await shanghai.pool.query(`update person set name = 'Changed' where userid <> 'c9'`)
      await hire(shanghai.pool, people('E3', 1, 'new'))
      const held = await plan(hr, 'shanghai')
      expect(held).toMatchObject({ state: 'held', planned: 20 })
      await store.pool.query(`update dirsync.employee set rejected = true where userid = 'c0'`)
      return held
    }
    const approve = async (run: Run, hr: HrSources) => {
      await store.pool.query('select dirsync.approve($1)', [run.id])
      await planNext(hr, 'shanghai')
      return worded(await readRun(store.pool, run.id))
    }
    const WAITING = { held: 19, no_source: 2, rejected: 0, in_sync: 0 }
    const LET_GO = { held: 0, no_source: 10, rejected: 0, in_sync: 0 }

    test('for a moment: what is approved is sent', async () => {
      const held = await heldForBoth()
      await settle([source('shanghai', ['E1'], shanghai.url)])
      expect(await countStatuses(store.pool)).toMatchObject(WAITING)
      const hr = await settle(whole())
      await plan(hr, 'shanghai')
      expect(await approve(held, hr)).toMatchObject({ state: 'running', message: null })
      expect(await pending()).toHaveLength(20)
    })

    test('which is approved then: nothing of the enterprise is sent, nor waits any more', async () => {
      const held = await heldForBoth()
      const hr = await without()
      expect(worded(await plan(hr, 'shanghai'))).toMatchObject({ state: 'superseded' })
      // Of the enterprise nothing is read.
      expect(worded(await readRun(store.pool, held.id))).toMatchObject({
        state: 'held',
        message: expect.stringMatching(/HR has not changed since\.$/),
      })
      expect(await countStatuses(store.pool)).toMatchObject(WAITING)
      expect(await approve(held, hr)).toMatchObject({
        state: 'running',
        message: expect.stringMatching(/^Planned rows left out: 10\. /),
      })
      expect(await countStatuses(store.pool)).toMatchObject(LET_GO)
    })

    test('which a later plan supersedes: none of the enterprise waits any more', async () => {
      const held = await heldForBoth()
      const hr = await without()
      await shanghai.pool.query(
        `update person set name = replace(userid, 'e', 'n') where enterprise_code = 'E1'`,
      )
      await plan(hr, 'shanghai')
      expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'superseded' })
      expect(await countStatuses(store.pool)).toMatchObject({ ...LET_GO, in_sync: 10 })
      // When it comes back, what HR has changed is planned as ever.
      await hire(shanghai.pool, people('E3', 10, 'c'))
      await shanghai.pool.query(
        `update person set name = 'Changed' where enterprise_code = 'E3' and userid <> 'c9'`,
      )
      await plan(await settle(whole()), 'shanghai')
      expect(await countStatuses(store.pool)).toMatchObject({
        held: 8,
        no_source: 0,
        rejected: 1,
        in_sync: 11,
      })
    })

    test('which was over before: the next start lets go who has been waiting since', async () => {
      const held = await heldForBoth()
      await store.pool.query(
        `update dirsync.sync_run set state = 'superseded', finished_at = now() where id = $1`,
        [held.id],
      )
      await without()
      // The others are looked at by the next plan.
      expect(await countStatuses(store.pool)).toMatchObject({ ...LET_GO, held: 10 })
    })

    test('of which a part is under way: the others wait until that cannot be taken back any more', async () => {
      const held = await heldForBoth()
      const of = { keys: ['c1', 'c2'] }
      const part = await store.value<number>('select dirsync.approve_part($1, $2)', [held.id, of])
      await planNext(await settle(whole()), 'shanghai')
      expect(await pending()).toEqual(['E3/c1', 'E3/c2'])
      const hr = await without()
      await shanghai.pool.query(`update person set name = replace(userid, 'e', 'n')`)
      await plan(hr, 'shanghai')
      expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'superseded' })
      expect(await countStatuses(store.pool)).toMatchObject({
        ...WAITING,
        held: 7,
        no_source: 4,
        in_sync: 10,
      })
      await store.pool.query('select dirsync.cancel($1)', [part])
      expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'held' })
      expect(await countStatuses(store.pool)).toMatchObject({ ...WAITING, held: 9, in_sync: 10 })
      await plan(hr, 'shanghai')
      await finishRuns(store.pool)
      await plan(hr, 'shanghai')
      expect(await countStatuses(store.pool)).toMatchObject({ ...LET_GO, in_sync: 10 })
    })
  })

  test('one that is removed after a part of its plan was sent is not said to have sent nothing', async () => {
    const hr = await inSync()
    await beijing.admin.query(`update person set name = 'Other' where userid < 'b6'`)
    const held = await plan(hr, 'beijing')
    await store.pool.query('select dirsync.approve_part($1, $2)', [held.id, { keys: ['b0', 'b1'] }])
    await planNext(hr, 'beijing')
    await acknowledge(store)
    await finishRuns(store.pool)
    await settle([source('shanghai', ['E1'], shanghai.url)])
    expect(worded(await readRun(store.pool, held.id))).toMatchObject({
      state: 'rejected',
      message:
        'Its HR source is not among those of the settings any more. What nobody had decided about by then was not sent.',
    })
  })

  test('one that is removed leaves no retry of a withheld field under way', async () => {
    await inSync()
    const E2 = { enterprise_code: 'E2', field: 'level' }
    await store.pool.query(`update dirsync.employee set withheld = '{level}' where userid = 'b3'`)
    await plant(store, 'field_block', { ...E2, next_probe_at: new Date(0) })
    const id = await fail(store, {
      ...E2,
      entity: 'enterprise',
      entity_key: 'E2',
      category: 'feature_disabled',
    })
    const hr = await settle([source('shanghai', ['E1'], shanghai.url)])
    const run = await requestRun(store.pool, 'retry', [String(id)], 'test')
    await planNext(hr, '')
    expect(await caseOf(store, id)).toMatchObject({ state: 'retrying' })
    await execute(hr, employee('b3', 'E2'))
    expect(await store.rows('select run_id, outcome, error from dirsync.attempt')).toEqual([
      { run_id: run, outcome: 'obsolete', error: 'no HR source has enterprise E2' },
    ])
    expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
    expect(
      await store.rows(
        `select probing, next_probe_at > now() + interval '4 days' as late from dirsync.field_block`,
      ),
    ).toEqual([{ probing: false, late: true }])
    expect(await requestDueRetries(store.pool)).toBeNull()
  })

  test('a run of one whom dirsync knows, and whose enterprise no source has, says so', async () => {
    await inSync()
    const hr = await settle([source('shanghai', ['E1'], shanghai.url)])
    const of = async (...names: string[]) => {
      const { state, message } = worded(await plan(hr, '', 'employees', names))
      return { state, message }
    }
    const message = 'no HR source has enterprise E2'
    expect(await of('b1')).toEqual({ state: 'failed', message })
    expect(await of('b1', 'nobody')).toEqual({ state: 'failed', message: `unknown: nobody; ${message}` })
    // That is no failure of such runs.
    expect((await readOverview(store.pool)).failed_runs).toEqual([])
    expect(await of('e1', 'E2/b1')).toEqual({ state: 'running', message })
    expect(await of('nobody')).toMatchObject({ message: 'neither HR nor dirsync knows an employee nobody' })
  })

  test('from one HR to several: no one is sent anew, and the gate knows how many there were', async () => {
    await hire(shanghai.pool, [...people('E1', 10), ...people('E2', 10, 'b')])
    const hr = hrSource(shanghai.url, MAPPING)
    const whole = HrSources.one(hr)
    expect(await plan(whole, '')).toMatchObject({ state: 'running', inScope: 20 })
    await acknowledge(store)
    await hire(beijing.admin, people('E2', 3, 'b'))
    await shanghai.pool.query(`delete from person where enterprise_code = 'E2'`)
    const several = await settle(both())
    expect(await plan(several, 'shanghai')).toMatchObject({ state: 'running', planned: 0, inScope: 10 })
    expect(worded(await plan(several, 'beijing'))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('HR delivers 3 rows, 70 % fewer than the last good run (10)'),
    })
    await beijing.admin.query('delete from person')
    await hire(beijing.admin, people('E2', 10, 'b'))
    expect(await plan(several, 'beijing')).toMatchObject({ state: 'running', planned: 0, inScope: 10 })
  })

  describe('back to one HR system', () => {
    const one = () => HrSources.one(hrSource(shanghai.url, MAPPING))
    const MISSING =
      'HR delivers none of the 2 employees who are known of enterprise E2: they would count as having left. If another HR system has them, set HR_SOURCES for every process.'
    const ALL = [
      { code: 'E1', n: 10, vanished: 0 },
      { code: 'E2', n: 2, vanished: 0 },
    ]

    /** Of Beijing's company there are few; the only HR read Shanghai's before there were several. */
    async function severalInSync(): Promise<void> {
      await claimDeployment(store.pool, {
        baseUrl: 'https://platform.example',
        appId: 'a',
        enterpriseCode: '',
      })
      await hire(shanghai.pool, people('E1', 10))
      await plan(one(), '')
      await acknowledge(store)
      await hire(beijing.admin, people('E2', 2, 'b'))
      const hr = await settle(both())
      for (const { name } of hr.all) await plan(hr, name)
      await acknowledge(store)
      expect(await employees()).toEqual(ALL)
    }
    async function heldWithout(): Promise<Run> {
      await severalInSync()
      await settle([])
      const held = await plan(one(), '')
      expect(worded(held)).toMatchObject({ state: 'held', message: MISSING })
      expect(await pending()).toEqual([])
      expect(await employees()).toEqual(ALL)
      return held
    }
    /** What a decision requests is planned first. */
    const passes = async () => {
      const id = await requestRun(store.pool, 'changes', [], 'test')
      while (await planNext(one(), ''));
      expect(worded(await readRun(store.pool, id))).toMatchObject({ state: 'running', message: null })
    }

    test('that lacks an enterprise makes no leavers before a person approves', async () => {
      const held = await heldWithout()
      expect(worded(await plan(one(), ''))).toMatchObject({ state: 'superseded' })
      expect(worded(await readRun(store.pool, held.id))).toMatchObject({
        state: 'held',
        message: `${MISSING} HR has not changed since.`,
      })
      await store.pool.query('select dirsync.approve($1)', [held.id])
      await planNext(one(), '')
      expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'running' })
      expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 2 }])
      await passes()
    })

    const cancel = (run: number) => store.pool.query('select dirsync.cancel($1)', [run])
    /** HR is the only one, and the run is cancelled while the next plan reads it. */
    const cancelledMeanwhile = (run: number) => {
      const hr = hrSource(shanghai.url, MAPPING)
      const { scan } = hr
      hr.scan = async options => {
        await cancel(run)
        return scan.call(hr, options)
      }
      return HrSources.one(hr)
    }
    test.each<[string, (run: number) => Promise<unknown>]>([
      ['at once', cancel],
      ['once the run that it requested has passed', run => passes().then(() => cancel(run))],
      ['while the next run reads HR', run => planNext(cancelledMeanwhile(run), '')],
    ])(
      'that lacks an enterprise, about which a person decides anew, with the approval cancelled %s',
      async (_, end) => {
        const held = await heldWithout()
        await store.pool.query('select dirsync.approve($1)', [held.id])
        await planNext(one(), '')
        await end(held.id)
        await requestRun(store.pool, 'changes', [], 'test')
        while (await planNext(one(), ''));
        expect(await store.rows(`select message from dirsync.sync_run where state = 'held'`)).toMatchObject([
          { message: expect.stringContaining(MISSING) },
        ])
        expect(await employees()).toEqual(ALL)
      },
    )

    test('that lacks an enterprise, with the approval cancelled: also of whom the platform was never asked', async () => {
      await severalInSync()
      // What an invalid row leaves.
      await store.pool.query(
        `update dirsync.employee set platform_state = 'unknown', acknowledged_hash = null, parked_hash = source_hash
         where enterprise_code = 'E2'`,
      )
      await settle([])
      const { id } = await plan(one(), '')
      await store.pool.query('select dirsync.approve($1)', [id])
      await planNext(one(), '')
      await cancel(id)
      await planNext(one(), '')
      // HR is checked again for the one that is held.
      await plan(one(), '')
      expect(worded(await readRun(store.pool, id + 1))).toMatchObject({
        state: 'held',
        message: `${MISSING} HR has not changed since.`,
      })
      expect(await employees()).toEqual(ALL)
    })

    test('that lacks one which had no source before either', async () => {
      await severalInSync()
      await settle([source('shanghai', ['E1'], shanghai.url)])
      await settle([])
      expect(worded(await plan(one(), ''))).toMatchObject({ state: 'held', message: MISSING })
    })

    test('that lacks an enterprise, whose people stay once that was rejected', async () => {
      const held = await heldWithout()
      await store.pool.query(`select dirsync.reject($1, 'not ours')`, [held.id])
      for (const _ of ['now', 'ever after']) await passes()
      expect(await employees()).toEqual(ALL)
      const hr = await settle(both())
      for (const { name } of hr.all) expect(await plan(hr, name)).toMatchObject({ state: 'running' })
      expect(await countStatuses(store.pool)).toMatchObject({ in_sync: 12, held: 0, rejected: 0 })
    })

    test('that lacks an enterprise, by mistake: with several once more nothing is held', async () => {
      const held = await heldWithout()
      const hr = await settle(both())
      expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'rejected' })
      for (const { name } of hr.all) expect(await plan(hr, name)).toMatchObject({ state: 'running' })
      expect(await countStatuses(store.pool)).toMatchObject({ in_sync: 12, held: 0, rejected: 0 })
    })

    test('that lacks more enterprises while the run is held, about which a person decides, too', async () => {
      await severalInSync()
      await shanghai.pool.query('delete from person')
      const codes = ['E3', 'E4', 'E5', 'E6', 'E7', 'E8']
      await hire(
        shanghai.pool,
        codes.flatMap(code => people(code, 1, code)),
      )
      const hr = await settle([source('shanghai', codes, shanghai.url)])
      await plan(hr, 'shanghai')
      await acknowledge(store)
      await hire(shanghai.pool, people('E1', 10))
      await settle([])
      const held = await plan(one(), '')
      expect(worded(held)).toMatchObject({ state: 'held', message: MISSING })
      await shanghai.pool.query(`delete from person where enterprise_code = 'E8'`)
      await plan(one(), '')
      expect(worded(await readRun(store.pool, held.id))).toMatchObject({
        state: 'held',
        message: expect.stringMatching(/^HR delivers none .* of these enterprises: E2 \(2\); E8 \(1\)\. /),
      })
      await store.pool.query('select dirsync.approve($1)', [held.id])
      while (await planNext(one(), ''));
      expect(await store.rows(`select grown, state from dirsync.sync_run where state = 'held'`)).toHaveLength(
        1,
      )
      expect((await employees()).filter(({ vanished }) => vanished > 0)).toMatchObject([{ code: 'E2' }])
    })

    test('that has all of them passes, unless it has far fewer rows', async () => {
      await severalInSync()
      await settle([])
      await hire(shanghai.pool, people('E2', 2, 'b'))
      await shanghai.pool.query(`delete from person where userid in ('e7', 'e8', 'e9')`)
      expect(worded(await plan(one(), ''))).toMatchObject({
        state: 'source_suspect',
        message: expect.stringContaining('HR delivers 9 rows, 25 % fewer than the last good run (12)'),
      })
      await shanghai.pool.query(`delete from person where enterprise_code = 'E1'`)
      await hire(shanghai.pool, people('E1', 10))
      await passes()
      // Once it has been read completely, missing employees are leavers.
      await shanghai.pool.query(`delete from person where enterprise_code = 'E2'`)
      expect(await plan(one(), '')).toMatchObject({ state: 'running', plan: { reasons: { vanished: 2 } } })
    })
  })

  test('an enterprise that moves to another source is checked there', async () => {
    await hire(shanghai.pool, [...people('E1', 5), ...people('E3', 5, 'c')])
    await hire(beijing.admin, people('E2', 5, 'b'))
    const hr = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    await shanghai.pool.query(`delete from person where enterprise_code = 'E3'`)
    await hire(beijing.admin, people('E3', 5, 'c'))
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    for (const { name } of moved.all)
      expect(await plan(moved, name)).toMatchObject({ state: 'running', planned: 0 })
    expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 0 }, { vanished: 0 }])
  })

  test('an enterprise that moves to a source that has none of it makes no leavers, few as they are', async () => {
    await hire(shanghai.pool, [...people('E1', 10), ...people('E3', 2, 'c')])
    await hire(beijing.admin, people('E2', 10, 'b'))
    const hr = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    expect(worded(await plan(moved, 'beijing'))).toMatchObject({
      state: 'source_suspect',
      message:
        'HR delivers none of the 2 employees who are known of enterprise E3: check the mapping query, or enterprise_codes in the file of HR_SOURCES. Nothing was enqueued.',
    })
    expect(await pending()).toEqual([])
    // Once it has been read completely, missing employees are leavers, even the last one of an enterprise.
    await hire(beijing.admin, people('E3', 2, 'c'))
    expect(await plan(moved, 'beijing')).toMatchObject({ state: 'running', planned: 0 })
    await beijing.admin.query(`delete from person where enterprise_code = 'E3'`)
    expect(await plan(moved, 'beijing')).toMatchObject({
      state: 'running',
      plan: { reasons: { vanished: 2 } },
    })
  })

  test('a named employee of an enterprise that moves to a source that has none of it does not leave by that', async () => {
    await hire(shanghai.pool, [...people('E1', 3), ...people('E3', 2, 'c')])
    await hire(beijing.admin, people('E2', 3, 'b'))
    const hr = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    // Named before the file changes, by mistake; or after.
    const before = await plan(hr, '', 'employees', ['E3/c0'])
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    const after = await plan(moved, '', 'employees', ['E3/c1'])
    for (const userid of ['c0', 'c1']) await execute(moved, employee(userid, 'E3'))
    expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 0 }, { vanished: 0 }])
    const error =
      'HR has no row of this employee, but no run has passed that read every row of HR as it is set up now: such a run decides whether they have left'
    expect(
      await store.rows(
        `select run_id, outcome, dirsync.in_language('en', error) as error from dirsync.attempt order by id`,
      ),
    ).toEqual([before, after].map(({ id }) => ({ run_id: id, outcome: 'obsolete', error })))
    expect(await plan(moved, 'beijing')).toMatchObject({ state: 'source_suspect' })
  })

  test('a named employee who leaves by an earlier plan leaves, though their source was not read since', async () => {
    await hire(shanghai.pool, people('E1', 10))
    const hr = await settle([source('shanghai', ['E1'], shanghai.url)])
    await plan(hr, 'shanghai')
    await acknowledge(store)
    await shanghai.pool.query(`delete from person where userid = 'e0'`)
    expect(await plan(hr, 'shanghai')).toMatchObject({ state: 'running', planned: 1 })
    const more = await settle([source('shanghai', ['E1', 'E4'], shanghai.url)])
    const { id } = await plan(more, '', 'employees', ['E1/e0'])
    await execute(more, employee('e0', 'E1'))
    // The platform is asked about them, as the plan wants: it is away.
    expect(await store.rows('select run_id, outcome from dirsync.attempt')).toEqual([
      { run_id: id, outcome: 'retry' },
    ])
  })

  describe('an enterprise that comes back', () => {
    const TIMED = MAPPING.replace(' from', ', updated_at from')
    const timed = (name: string, codes: string[], url: string): NamedSource => ({
      ...{ name, codes, hr: hrSource(url, TIMED, {}) },
    })
    const before = () => [
      timed('shanghai', ['E1', 'E3'], shanghai.url),
      timed('beijing', ['E2'], beijing.url),
    ]
    const moved = () => [timed('shanghai', ['E1'], shanghai.url), timed('beijing', ['E3', 'E2'], beijing.url)]

    beforeAll(async () => {
      await shanghai.pool.query('alter table person add column updated_at timestamptz default now()')
      await beijing.admin.query('alter table person add column updated_at timestamp default now()')
    })
    afterAll(async () => {
      await shanghai.pool.query('alter table person drop column updated_at')
      await beijing.admin.query('alter table person drop column updated_at')
    })

    /** Every company has its employees, and `first` has read them. */
    async function known(first: NamedSource[]): Promise<HrSources> {
      await hire(shanghai.pool, [...people('E1', 10), ...people('E3', 10, 'c'), ...people('E2', 10, 'b')])
      if (first.length > 0) await shanghai.pool.query(`delete from person where enterprise_code = 'E2'`)
      await shanghai.pool.query(
        `update person set updated_at = now() - case userid when 'e9' then interval '1 day' else '3 days' end`,
      )
      await hire(beijing.admin, people('E2', 10, 'b'))
      await settle(first)
      const hr = first.length > 0 ? new HrSources(first) : HrSources.one(hrSource(shanghai.url, TIMED))
      for (const { name } of hr.all) await plan(hr, name)
      await acknowledge(store)
      return hr
    }
    /** Beijing has the enterprise meanwhile, two with other names and one not at all, and has sent that. */
    async function sendOthers(): Promise<void> {
      await hire(beijing.admin, people('E3', 9, 'c'))
      await beijing.admin.query(`update person set name = 'Other' where userid in ('c1', 'c2')`)
      expect(await plan(await settle(moved()), 'beijing')).toMatchObject({ state: 'running', planned: 3 })
      await acknowledge(store)
    }

    test('is read completely, although its source had read it once', async () => {
      await known(before())
      await sendOthers()
      const back = await settle(before())
      expect(await watermark(store.pool, { name: 'shanghai', codes: ['E1', 'E3'] })).toBeNull()
      await plan(back, 'shanghai')
      expect(await pending()).toEqual(['E3/c1', 'E3/c2', 'E3/c9'])
      expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 0 }, { vanished: 0 }])
      await acknowledge(store)
      // A process that starts with the same sources changes nothing, in whatever order it names the enterprises.
      const again = await settle(before().map(one => ({ ...one, codes: one.codes?.toReversed() ?? [] })))
      await plan(again, 'shanghai')
      expect(await readsAll()).toBe(false)
      // What was read after the clock had been put back by a day counts, too.
      await store.pool.query(`update dirsync.sync_run set planned_at = planned_at - interval '1 day'`)
      expect(await lastFullReading(store.pool, { name: 'shanghai', codes: ['E1', 'E3'] })).not.toBeNull()
    })

    test('is read completely by the only HR that there is once more', async () => {
      await claimDeployment(store.pool, {
        baseUrl: 'https://platform.example',
        appId: 'a',
        enterpriseCode: '',
      })
      const only = await known([])
      await sendOthers()
      for (const _ of ['as before', 'the same once more']) await settle([])
      await plan(only, '')
      expect(await pending()).toEqual(['E3/c1', 'E3/c2', 'E3/c9'])
      await acknowledge(store)
      await plan(only, '')
      expect(await readsAll()).toBe(false)
    })

    test('and that its source delivers no more makes no leavers', async () => {
      await known(before())
      await shanghai.pool.query(`delete from person where enterprise_code = 'E3' and userid > 'c1'`)
      await store.pool.query(`delete from dirsync.employee where enterprise_code = 'E3' and userid > 'c1'`)
      await plan(await settle(before()), 'shanghai', 'full')
      await settle(moved())
      await shanghai.pool.query(`delete from person where enterprise_code = 'E3'`)
      expect(worded(await plan(await settle(before()), 'shanghai', 'full'))).toMatchObject({
        state: 'source_suspect',
        message: expect.stringContaining('2 employees who are known of enterprise E3'),
      })
    })

    test('is read again if it had left and come back while it was read', async () => {
      const hr = await known(before())
      const reader = await shanghai.pool.connect()
      await reader.query('begin; lock table person')
      const run = await requestRun(store.pool, 'changes', [], 'test', 'shanghai', true)
      const planning = planNext(hr, 'shanghai')
      await until(async () => (await readRun(store.pool, run))?.state === 'planning')
      await settle(moved())
      const back = await settle(before())
      await reader.query('rollback')
      reader.release()
      await planning
      expect(await readRun(store.pool, run)).toMatchObject({ state: 'running' })
      await plan(back, 'shanghai')
      expect(await readsAll()).toBe(true)
      await plan(back, 'shanghai')
      expect(await readsAll()).toBe(false)
    })

    /** Whether the latest run read every row. */
    const readsAll = () =>
      store.value<boolean>('select read_all from dirsync.sync_run order by id desc limit 1')
  })

  test('departments of an enterprise that moves to a source that has none of them are not missing', async () => {
    await shanghai.pool.query(
      `insert into department values ('E1', 'D0', null, true), ('E3', 'D3', null, true)`,
    )
    await beijing.admin.query(
      `insert into department values ('E2', 'D0', null, true), ('E2', 'D1', null, true)`,
    )
    const first = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url, DEPARTMENTS),
    ])
    await hire(shanghai.pool, people('E1', 2))
    await hire(beijing.admin, people('E2', 2))
    for (const { name } of first.all) await plan(first, name, 'departments')
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2', 'E3'], beijing.url, DEPARTMENTS),
    ])
    await beijing.admin.query(`delete from department where dept_code = 'D1'`)
    await plan(moved, 'beijing')
    await acknowledge(store)
    await plan(moved, 'beijing', 'departments')
    expect(await plan(moved, 'beijing', 'departments')).toMatchObject({ plan: { reasons: { delete: 1 } } })
    expect(await pending()).toEqual(['E2/D1'])
  })

  test('the deletion of a department ends where the enterprise has moved to a source without departments', async () => {
    await shanghai.pool.query(
      `insert into department values ('E1', 'D0', null, true), ('E3', 'D0', null, true), ('E3', 'D4', null, false)`,
    )
    await hire(shanghai.pool, [...people('E1', 5), ...people('E3', 5, 'c')])
    const hr = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url),
    ])
    await plan(hr, 'shanghai')
    await acknowledge(store)
    await plan(hr, 'shanghai', 'departments')
    const { id } = await plan(hr, 'shanghai', 'departments')
    expect(await pending()).toEqual(['E3/D4'])
    await hire(beijing.admin, people('E3', 5, 'c'))
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    await execute(moved, {
      operation: 'delete-department',
      enterpriseCode: 'E3',
      entityKey: 'D4',
      detail: '',
    })
    expect(await pending()).toEqual([])
    expect(
      await store.rows(
        `select outcome, dirsync.in_language('en', error) as error from dirsync.attempt where run_id = ${id}`,
      ),
    ).toEqual([{ outcome: 'obsolete', error: 'departments_sql is not set: no department is ever deleted' }])
    await finishRuns(store.pool)
    expect(await readRun(store.pool, id)).toMatchObject({ state: 'done' })
    // The next run of the source that still has departments is planned.
    expect(await requestScheduledRun(store.pool, 'departments', 'cron', SILENT)).toHaveLength(2)
  })

  test('the deletion of a department waits for a worker that knows the new mapping, and ends if there is none any more', async () => {
    await shanghai.pool.query(
      `insert into department values ('E1', 'D0', null, true), ('E1', 'D4', null, false)`,
    )
    await hire(shanghai.pool, people('E1', 5))
    const without = () => new HrSources(both())
    const older = worker(without())
    const hr = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url),
    ])
    await plan(hr, 'shanghai')
    await acknowledge(store)
    await plan(hr, 'shanghai', 'departments')
    const { id } = await plan(hr, 'shanghai', 'departments')
    const key = { ...job('E1', 'D4'), operation: 'delete-department' } as const
    const attempts = () =>
      store.rows(
        `select outcome, dirsync.in_language('en', error) as error from dirsync.attempt where run_id = ${id} order by id`,
      )
    await older(key)
    expect(await pending()).toEqual(['E1/D4'])
    const waits = {
      outcome: 'wait',
      error:
        'the worker was started without departments_sql before the deletion was planned: it waits for one that has it. If the mapping was removed, cancel the run or restart the worker',
    }
    expect(await attempts()).toEqual([waits])
    await store.pool.query('update dirsync.pending set not_before = now()')
    await execute(without(), key)
    expect(await pending()).toEqual([])
    const ends = { outcome: 'obsolete', error: 'departments_sql is not set: no department is ever deleted' }
    expect(await attempts()).toEqual([waits, ends])
    await finishRuns(store.pool)
    expect(await readRun(store.pool, id)).toMatchObject({ state: 'done' })
  })

  test('a held plan sends nothing of an enterprise that has moved since', async () => {
    await hire(shanghai.pool, [...people('E1', 10), ...people('E3', 10, 'c')])
    await hire(beijing.admin, people('E2', 10, 'b'))
    const hr = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    // Shanghai hands its second company over before the file of HR_SOURCES says so.
    await shanghai.pool.query(
      `delete from person where userid in ('c1', 'c2', 'c3');
       update person set name = 'Changed' where enterprise_code = 'E1'`,
    )
    const held = await plan(hr, 'shanghai')
    expect(held).toMatchObject({ state: 'held', planned: 13 })
    await hire(beijing.admin, people('E3', 10, 'c'))
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    expect(await plan(moved, 'beijing')).toMatchObject({ state: 'running', planned: 0 })
    await store.pool.query('select dirsync.approve($1)', [held.id])
    await planNext(moved, 'shanghai')
    expect(worded(await readRun(store.pool, held.id))).toMatchObject({
      state: 'running',
      message: expect.stringMatching(
        /^Planned rows left out: 3\. .* or their enterprise is not in their HR source any more/,
      ),
    })
    expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 0 }, { vanished: 0 }])
    expect(await pending()).toHaveLength(10)
  })
})

test('an update without an answer is asked about once the enterprise has a source again, whatever HR has by then', async () => {
  await hire(shanghai.pool, [...people('E1', 5), ...people('E3', 5, 'c')])
  const whole = [source('shanghai', ['E1', 'E3'], shanghai.url)]
  const hr = await settle(whole)
  await plan(hr, 'shanghai')
  await acknowledge(store)
  const rename = (name: string) =>
    shanghai.pool.query(`update person set name = $1 where userid = 'c1'`, [name])
  await rename('Other')
  await plan(hr, 'shanghai')
  const key = employee('c1', 'E3')
  const [claimed] = await claim(store.pool, [key], hr.owners)
  if (!claimed) throw new Error('there is no work')
  await settleOutcomes(store.pool, [
    outcome(key, claimed, { outcome: 'retry', sentUnknown: true, again: { delayMs: 0, attempts: 1 } }),
  ])

  const without = await settle([source('shanghai', ['E1'], shanghai.url)])
  await execute(without, key)
  expect(await pending()).toEqual([])
  await finishRuns(store.pool)

  await rename('n1')
  expect(await plan(await settle(whole), 'shanghai')).toMatchObject({
    state: 'running',
    plan: { reasons: { changed: 1 } },
  })
  expect(await pending()).toEqual(['E3/c1'])
})

describe('a process that was started before the sources changed', () => {
  test('and knows the only HR plans nothing, and no one vanishes', async () => {
    const hr = await inSync()
    await shanghai.pool.query(`update person set name = 'Changed' where userid = 'e1'`)
    const older = HrSources.one(hrSource(shanghai.url, MAPPING))
    const everybody = await requestRun(store.pool, 'changes', [], 'poller')
    const named = await requestRun(store.pool, 'employees', ['e1'], 'test')
    expect(await planNext(older, '')).toBe(false)
    expect(await employees()).toEqual([
      { code: 'E1', n: 10, vanished: 0 },
      { code: 'E2', n: 10, vanished: 0 },
    ])
    expect(await readRun(store.pool, everybody)).toMatchObject({ state: 'requested' })
    // In the order asked for: a process with these sources has none that is nameless.
    for (const _ of [everybody, named]) await planNext(hr, '')
    expect(await readRun(store.pool, named)).toMatchObject({ state: 'running' })
  })

  test('plans the sources that have not changed, and no other one', async () => {
    await hire(shanghai.pool, people('E1', 5))
    await hire(beijing.admin, people('E2', 5, 'b'))
    const three = ['E1', 'E3']
    const older = await settle([
      source('shanghai', three, shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    const newer = await settle(both())
    const runs = await Promise.all(
      ['shanghai', 'beijing', ''].map(name =>
        requestRun(store.pool, name === '' ? 'openids' : 'changes', [], 'test', name),
      ),
    )
    const states = () => Promise.all(runs.map(async run => (await readRun(store.pool, run))?.state))
    for (const name of ['shanghai', 'beijing', '']) await planNext(older, name)
    expect(await states()).toEqual(['requested', 'running', 'requested'])
    for (const name of ['shanghai', 'beijing', '']) await planNext(newer, name)
    expect(await states()).toEqual(['running', 'running', 'running'])
  })

  test('writes nothing of a plan that it had begun, and another one makes it', async () => {
    const hr = await inSync()
    const newer = [source('shanghai', ['E1', 'E2'], shanghai.url)]
    await shanghai.pool.query(`update person set name = 'Changed' where userid = 'e1'`)
    const run = await requestRun(store.pool, 'changes', [], 'test', 'shanghai')
    const reader = await shanghai.pool.connect()
    await reader.query('begin; lock table person')
    const planning = planNext(hr, 'shanghai')
    await until(async () => (await readRun(store.pool, run))?.state === 'planning')
    await settle(newer)
    await reader.query('rollback')
    reader.release()
    await planning
    expect(await readRun(store.pool, run)).toMatchObject({ state: 'requested', message: null })
    expect(await pending()).toEqual([])
  })

  test('claims nothing of an enterprise that now belongs to another source, and gives it back', async () => {
    await hire(shanghai.pool, [...people('E1', 1), ...people('E3', 1, 'c')])
    await hire(beijing.admin, people('E2', 1, 'b'))
    const older = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    for (const { name } of older.all) await plan(older, name)
    await store.pool.query('update dirsync.pending set enqueued_at = now()')
    const newer = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    const keys = [job('E1', 'e0'), job('E2', 'b0'), job('E3', 'c0')]
    expect(await claim(store.pool, keys, older.owners)).toEqual([expect.anything(), expect.anything(), null])
    expect(await claim(store.pool, keys, {})).toEqual([null, null, null])
    expect(
      await store.rows(
        `select entity_key as key, starts, enqueued_at is null and not_before > now() as "givenBack"
         from dirsync.pending order by 1`,
      ),
    ).toEqual([
      { key: 'b0', starts: 1, givenBack: true },
      { key: 'c0', starts: 0, givenBack: true },
      { key: 'e0', starts: 1, givenBack: true },
    ])
    await store.pool.query('update dirsync.pending set not_before = now()')
    expect(await claim(store.pool, keys, newer.owners)).not.toContain(null)
  })

  test('leaves nothing that waits for a source which is gone, once it is started with the others', async () => {
    const older = await inSync()
    await beijing.admin.query(`update person set name = 'Changed' where userid = 'b1'`)
    const { id } = await plan(older, 'beijing')
    const key = job('E2', 'b1')
    const [claimed] = await claim(store.pool, [key], older.owners)
    if (!claimed) throw new Error('there is no work')
    const start = () => settle([source('shanghai', ['E1'], shanghai.url)])
    await start()
    // It still has this in hand.
    const again = { delayMs: 0, attempts: 0 }
    await settleOutcomes(store.pool, [outcome(key, claimed, { outcome: 'replan', again })])
    const gone = older.named('beijing') as NamedSource
    await haltForHr({ pool: store.pool, logger: SILENT }, gone, inWords('no answer'))
    await start()
    expect(await store.rows('select not_before <= now() as due, replan_at from dirsync.pending')).toEqual([
      { due: true, replan_at: null },
    ])
    expect(await readHalts(store.pool)).toEqual([])
    await finishRuns(store.pool)
    expect(await readRun(store.pool, id)).toMatchObject({ state: 'cancelled' })
  })

  test('asks for no run that only it could plan', async () => {
    await inSync()
    await store.pool.query(
      `insert into dirsync.pending (operation, enterprise_code, entity_key, priority, not_before, replan_at)
       values ('update-employee', 'E2', 'b1', 3, 'infinity', now())`,
    )
    const before = await store.value('select count(*)::int from dirsync.sync_run')
    const changes = new HrChanges({
      pool: store.pool,
      scope: WHOLE,
      limits: LIMITS,
      by: 'trigger',
      logger: SILENT,
    })
    changes.changed(['e1'])
    await changes.stop()
    expect(await store.value('select count(*)::int from dirsync.sync_run')).toBe(before)
  })
})
