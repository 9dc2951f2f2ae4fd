import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { pino } from 'pino'
import type { HrServer } from '../../src/hr/server.ts'
import { HrSource } from '../../src/hr/source.ts'
import { HrSources, type SourceScope, WHOLE } from '../../src/hr/sources.ts'
import { createPool } from '../../src/lib/database.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { UNTRACED } from '../../src/lib/tracing.ts'
import { Feeder } from '../../src/sync/outbox/feeder.ts'
import { claimSources, type KnownSource } from '../../src/sync/plan/claim-sources.ts'
import { Planner } from '../../src/sync/plan/planner.ts'
import { Standing } from '../../src/sync/processes/standing.ts'
import { noticeRestore } from '../../src/sync/runs/restored.ts'
import type { RunLimits } from '../../src/sync/runs/safety.ts'
import { JobProcessor } from '../../src/sync/work/job-processor.ts'
import type { SimulatedProcess } from './schedule.ts'
import type { World } from './world.ts'

export const SILENT = pino({ level: 'silent' })

/** Few rows trip a breaker. */
const LIMITS: RunLimits = {
  gate: { maxFewerRows: 70, maxEmptied: 60 },
  breaker: { count: 2, percent: 10 },
  maxLeavers: 50,
  departments: { count: 1, percent: 10 },
  departmentGraceMs: 3_600_000,
  readAllEveryMs: 3_600_000,
}

const EMPLOYEES_SQL = 'select enterprise_code, userid, name, mobile, remark, dept_code, active from person'
const DEPARTMENTS_SQL = 'select enterprise_code, dept_code, parent_code, active from department'

/** The settings in which processes may differ. */
interface Settings {
  limits: RunLimits
  employeesSql: string
}

export const PRESENT: Settings = { limits: LIMITS, employeesSql: EMPLOYEES_SQL }

/** Less was held then, departments went at once, and remarks were left to others. */
export const OLDER: Settings = {
  limits: {
    ...LIMITS,
    breaker: { count: 50, percent: 100 },
    departments: { count: 50, percent: 100 },
    departmentGraceMs: 0,
  },
  employeesSql: EMPLOYEES_SQL.replace(' remark,', ''),
}

/** What a process can be told to do once; its loops do all of it again and again. */
export type Activity = 'plan' | 'feed' | 'sweep' | 'work' | 'finish' | 'retry' | 'tidy' | 'notice'

/** A process of dirsync: its connections, and what runs in it. */
export class Process implements SimulatedProcess {
  readonly name: string
  dead = false
  losesAnswerOf: string | null = null
  still: Promise<void> | null = null
  readonly #death = Promise.withResolvers<void>()
  readonly died = this.#death.promise
  readonly pool: pg.Pool
  readonly locks: SessionLocks
  /** What it is doing: of each of these but work one at a time. */
  readonly busy = new Set<Activity>()
  /** Employees whom HR had when it was read for a plan that is being made. */
  readonly seen: string[] = []
  readonly #world: World
  readonly #place: number
  /** HR's sources, as HR_SOURCES had them when it started. */
  sources: readonly SourceScope[]
  engine: Engine
  #started: Promise<void> | undefined

  /** @param place among the processes */
  constructor(name: string, world: World, place: number) {
    this.name = name
    this.#place = place
    this.#world = world
    this.sources = world.sources
    this.pool = createPool(world.url, { max: 10, name, logger: SILENT })
    this.pool.on('error', () => {})
    this.locks = new SessionLocks(world.url, SILENT)
    this.engine = engineOf(this, world)
  }

  /** A process that takes the place of another has the same. */
  get settings(): Settings {
    return this.#world.stage.hasOlder && this.#place === 1 ? OLDER : PRESENT
  }

  /** Forgets all that it had in memory. */
  restart(): void {
    this.seen.length = 0
    this.sources = this.#world.sources
    this.#started = Promise.resolve()
    this.engine = engineOf(this, this.#world)
  }

  /** The source from which it reads what belongs to an enterprise. */
  sourceOf(enterprise: string): string {
    return this.sources.find(({ codes }) => codes?.includes(enterprise))?.name ?? WHOLE.name
  }

  /** What it does before all else, once. */
  start(): Promise<void> {
    const begin = async () => {
      if (this.#world.isRestored) await noticeRestore(this.pool, SILENT)
      await claimSources(this.pool, knownSources(this.sources))
    }
    this.#started ??= begin().catch(error => {
      this.#started = undefined
      throw error
    })
    return this.#started
  }

  die(): void {
    this.dead = true
    this.#death.resolve()
  }

  async close(): Promise<void> {
    await this.locks.close()
    await this.pool.end()
  }
}

type Engine = ReturnType<typeof engineOf>

function engineOf(process: Process, { hr, platform, queue, stage, departments }: World) {
  const { pool, locks } = process
  const { limits, employeesSql } = process.settings
  const { sources } = process
  const { departmentsOf } = stage
  const hrOf = (watcherFor: (source: string) => Parameters<World['hr']['as']>[2]) =>
    new HrSources(
      sources.map(scope => {
        const server = hr.as(process, scope.name, watcherFor(scope.name))
        return { ...scope, hr: sourceOf(server, employeesSql, departmentsOf.length > 0) }
      }),
    )
  const common = { pool, logger: SILENT, limits, tracing: UNTRACED }
  // As where one process plans, and another one works: neither knows what the other has read.
  const [planned, worked] = [
    hrOf(() => ({ sees: names => process.seen.push(...names) })),
    hrOf(source => ({ begins: () => departments.reads(process.name, source) })),
  ]
  return {
    processor: new JobProcessor({
      ...common,
      ...{ hr: worked, client: platform.client(process), locks, concurrentCalls: 4 },
      standing: new Standing(pool, { id: randomUUID(), secretPrint: '' }),
    }),
    planners: (planned.areNamed ? [WHOLE, ...sources] : sources).map(
      ({ name }) =>
        new Planner({
          ...common,
          hr: planned,
          source: name,
          sellerAppids: [...(stage.merchants ?? [])],
          ownEnterprise: '',
        }),
    ),
    feeder: new Feeder({ pool, queue, highWater: 100, logger: SILENT }),
  }
}

export function knownSources(sources: readonly SourceScope[]): KnownSource[] {
  return sources.flatMap(({ name, codes }) =>
    codes === null ? [] : [{ name, kind: 'postgres' as const, address: 'simulated', enterpriseCodes: codes }],
  )
}

export function sourceOf(server: HrServer, employeesSql: string, hasDepartments: boolean): HrSource {
  return new HrSource({
    server,
    employeesSql: { file: 'employees.sql', sql: employeesSql },
    departmentsSql: hasDepartments ? { file: 'departments.sql', sql: DEPARTMENTS_SQL } : null,
    logger: SILENT,
  })
}
