import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, onTestFinished, vi } from 'vitest'
import type { HrSource } from '../../src/hr/source.ts'
import { HrSources } from '../../src/hr/sources.ts'
import { UNTRACED } from '../../src/lib/tracing.ts'
import { Planner, type PlannerOptions } from '../../src/sync/plan/planner.ts'
import { type Run, type RunKind, readRun, requestRun } from '../../src/sync/runs/run.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { openHrSource } from '../hr/hr-database.ts'
import { worded } from '../texts/worded.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

/** What a run may do in these tests: little, so that few rows are enough. */
export const LIMITS: PlannerOptions['limits'] = {
  gate: { maxFewerRows: 20, maxEmptied: 20 },
  breaker: { count: 2, percent: 10 },
  maxLeavers: 50,
  departments: { count: 1, percent: 10 },
  departmentGraceMs: 3_600_000,
  readAllEveryMs: 3_600_000,
}

export const MAPPING = 'select userid, name, mobile, active from person'
/** With a watermark. */
export const TIMED = 'select userid, name, mobile, active, updated_at from person'

const MARKS = { held_run: null, held_hash: null, held_gone: false, rejected: false, status: null }

/** A planner between an HR database with small tables and dirsync's own. */
export class PlanUnderTest {
  readonly store = new StoreUnderTest()
  #hr: TestDatabase | undefined
  /** By mapping: connecting takes longer than a plan does. */
  readonly #sources = new Map<string, HrSource>()

  constructor() {
    beforeAll(async () => {
      this.#hr = await createTestDatabase()
      await this.hr.query(`
        create table person (userid text, name text, mobile text, dept_code text, active boolean default true, updated_at timestamptz default now());
        create table department (dept_code text, parent_code text, active boolean default true, closed_at timestamptz)`)
    })
    beforeEach(() => this.hr.query('delete from person; delete from department'))
    afterAll(async () => {
      for (const source of this.#sources.values()) await source.close()
      await this.#hr?.close()
    })
  }

  get hr(): pg.Pool {
    if (!this.#hr) throw new Error('HR exists within tests only')
    return this.#hr.pool
  }

  /** Employees e0, e1 … in HR. */
  hire(count: number, from = 0): Promise<unknown> {
    return this.hr.query(
      `insert into person (userid, name, mobile, dept_code)
       select 'e' || i, 'n' || i, (13800000000 + i)::text, 'D0' from generate_series($1::int, $1::int + $2::int - 1) i`,
      [from, count],
    )
  }

  source(employees = MAPPING, departments?: string): HrSource {
    const mapping = JSON.stringify([employees, departments])
    const source =
      this.#sources.get(mapping) ??
      openHrSource(this.#hr?.url ?? '', employees, departments === undefined ? {} : { departments })
    this.#sources.set(mapping, source)
    return source
  }

  /** Plans a run of the kind, as the scheduler would. */
  async plan(
    kind: RunKind = 'changes',
    options: { employees?: string; source?: HrSource; limits?: Partial<PlannerOptions['limits']> } = {},
  ): Promise<Run> {
    const id = await requestRun(this.store.pool, kind, [], 'test')
    return this.planRequested(id, options.source ?? this.source(options.employees), options.limits)
  }

  async planRequested(
    id: number,
    source = this.source(),
    limits: Partial<PlannerOptions['limits']> = {},
  ): Promise<Run> {
    await this.planner({ hr: HrSources.one(source), limits: { ...LIMITS, ...limits } }).planNext(
      new AbortController().signal,
    )
    return worded((await readRun(this.store.pool, id)) as Run)
  }

  planner(differs: Partial<PlannerOptions> = {}): Planner {
    return plannerOf(this.store, { hr: HrSources.one(this.source()), ...differs })
  }

  /** User ids with work in the outbox. */
  async pending(): Promise<string[]> {
    const rows = await this.store.rows<{ entity_key: string }>(
      'select entity_key from dirsync.pending order by 1',
    )
    return rows.map(row => row.entity_key)
  }

  acknowledge(...refused: string[]): Promise<void> {
    return acknowledge(this.store, ...refused)
  }

  /** HR has so many employees, all of them in step. */
  async inSync(count: number, employees = MAPPING): Promise<void> {
    await this.hire(count)
    await this.plan('changes', { employees })
    await this.acknowledge()
  }

  /** Everything but the runs, their counters, events and stored plans, and who waits for a decision: what a plan that may not run leaves as it was. */
  async untouched(): Promise<unknown> {
    const all = await this.store.contents()
    const { sync_run: _, run_count: __, run_event: ___, planned_work: ____, employee, ...rest } = all
    const known = employee?.map(row => ({ ...(row as object), ...MARKS })) ?? []
    return { ...rest, employee: known }
  }
}

export function plannerOf(
  { pool }: StoreUnderTest,
  differs: Pick<PlannerOptions, 'hr'> & Partial<PlannerOptions>,
): Planner {
  return new Planner({
    pool,
    source: '',
    logger: SILENT,
    limits: LIMITS,
    sellerAppids: [],
    ownEnterprise: '',
    tracing: UNTRACED,
    ...differs,
  })
}

/** The platform confirms everything that is in the outbox, except what it refuses. */
export async function acknowledge({ pool }: StoreUnderTest, ...refused: string[]): Promise<void> {
  await pool.query(
    `update dirsync.employee e set acknowledged_hash = case when userid <> all ($1) then source_hash end,
       parked_hash = case when userid = any ($1) then source_hash end,
       platform_state = 'in_service', queried_at = now()
     from dirsync.pending p where p.entity_key = e.userid and p.enterprise_code = e.enterprise_code`,
    [refused],
  )
  await pool.query('delete from dirsync.pending')
  await finishRuns(pool)
}

/** The clock of this process shows another time than the database's. */
export function clockIsOff(hours: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
  onTestFinished(() => void vi.useRealTimers())
}
