import { randomUUID } from 'node:crypto'
import type { Connection } from 'mysql2/promise'
import type pg from 'pg'
import { beforeAll, beforeEach, onTestFinished } from 'vitest'
import { HrSources, type NamedSource } from '../../src/hr/sources.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { UNTRACED } from '../../src/lib/tracing.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { formatJobKey } from '../../src/queue/job.ts'
import type { ClaimKey } from '../../src/sync/outbox/claim.ts'
import { claimSources } from '../../src/sync/plan/claim-sources.ts'
import { Standing } from '../../src/sync/processes/standing.ts'
import { type Run, type RunKind, readRun, requestRun } from '../../src/sync/runs/run.ts'
import { JobProcessor } from '../../src/sync/work/job-processor.ts'
import { duringFile } from '../helpers/during.ts'
import { createMariadbDatabase } from '../helpers/mariadb.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { hrSource } from '../hr/hr-database.ts'
import { acknowledge, plannerOf, LIMITS as USUAL_LIMITS } from './plan-under-test.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

export const LIMITS: typeof USUAL_LIMITS = {
  ...USUAL_LIMITS,
  breaker: { count: 3, percent: 10 },
  departmentGraceMs: 0,
}
export const MAPPING = 'select enterprise_code, userid, name, mobile, dept_code, active from person'
export const DEPARTMENTS = 'select enterprise_code, dept_code, parent_code, active from department'
export const COLUMNS = '(enterprise_code, userid, name, mobile, dept_code)'
const TABLES = `
  create table person (enterprise_code varchar(20), userid varchar(50), name varchar(50), mobile varchar(20),
                       dept_code varchar(20), active boolean default true);
  create table department (enterprise_code varchar(20), dept_code varchar(20), parent_code varchar(20),
                           active boolean default true)`

/** A group of two companies, each with an HR system of its own, and dirsync's database. For one test file. */
export function groupUnderTest() {
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
      // Locks are returned a little later, with the next statement: by then another worker may have the key.
      await locks.lock('next')
      await locks.unlock('next')
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

  return {
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
    execute,
    worker,
    job,
    employees,
    pending,
    cases,
  }
}
