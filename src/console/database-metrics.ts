import { Gauge, Registry } from 'prom-client'
import type { Pool } from '../lib/database.ts'
import type { JobOperation } from '../queue/job.ts'
import { type Figures, readFigures, type Standing } from '../report/figures.ts'
import { ROLES } from '../sync/process.ts'
import type { RunState } from '../sync/run.ts'

/** Shown even when there are none, so that an alarm can tell "none" from "not measured". */
const OPERATIONS = keys<JobOperation>({ 'update-employee': 1, 'delete-department': 1, 'bind-openid': 1 })
const RUN_STATES = keys<RunState>({
  requested: 1,
  planning: 1,
  held: 1,
  running: 1,
  done: 1,
  failed: 1,
  source_suspect: 1,
  rejected: 1,
  superseded: 1,
  cancelled: 1,
})
const STANDINGS = keys<Standing>({
  in_step: 1,
  awaiting_activation: 1,
  dead_lettered: 1,
  halted: 1,
  waiting: 1,
  left: 1,
  vanished: 1,
})

/**
 * Where the whole of dirsync stands, read from PostgreSQL at the moment of the scrape: the same in every process. Counts
 * come from the tally that is kept there, so that a scrape costs the same however much there is. Without the database only `dirsync_database_up` is left, at 0, rather than figures that are no longer true.
 */
export class DatabaseMetrics {
  readonly #pool: Pool
  readonly #onTrouble: (error: Error) => void
  #reading: Promise<string> | undefined

  constructor(options: { pool: Pool; onTrouble: (error: Error) => void }) {
    this.#pool = options.pool
    this.#onTrouble = options.onTrouble
  }

  /** The figures in Prometheus' text format. Scrapes that come while one is read get the same answer. */
  text(): Promise<string> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<string> {
    let figures: Figures | null = null
    try {
      figures = await readFigures(this.#pool)
    } catch (error) {
      this.#onTrouble(error as Error)
    }
    // A registry of its own per reading: what is gone from the database is gone from the answer.
    const registry = new Registry()
    gaugeIn(registry, 'dirsync_database_up', '1 when the figures of the database could be read, else 0.').set(
      figures === null ? 0 : 1,
    )
    if (figures !== null) fill(registry, figures)
    return registry.metrics()
  }
}

function fill(registry: Registry, figures: Figures): void {
  const pending = gaugeIn(
    registry,
    'dirsync_pending_entities',
    'Entities whose desired state the platform has not confirmed, by operation and whether they are in the queue.',
    ['operation', 'enqueued'],
  )
  const oldest = gaugeIn(
    registry,
    'dirsync_pending_oldest_age_seconds',
    'Age of the oldest pending entity by operation; 0 when there is none.',
    ['operation'],
  )
  for (const operation of OPERATIONS) {
    const rows = figures.pending.filter(row => row.operation === operation)
    for (const enqueued of [true, false])
      pending.set(
        { operation, enqueued: String(enqueued) },
        rows.find(row => row.enqueued === enqueued)?.count ?? 0,
      )
    oldest.set({ operation }, Math.max(0, ...rows.map(row => row.oldestAge)))
  }

  const deadLetters = gaugeIn(
    registry,
    'dirsync_dead_letters',
    'Cases for review that are not resolved, by category and state.',
    ['category', 'state'],
  )
  for (const { category, state, count } of figures.deadLetters) deadLetters.set({ category, state }, count)

  const runs = gaugeIn(registry, 'dirsync_runs', 'Runs that are kept (180 days), by state.', ['state'])
  for (const state of RUN_STATES)
    runs.set(
      { state },
      countOf(figures.runs, row => row.state === state),
    )

  const successes = gaugeIn(
    registry,
    'dirsync_run_last_success_age_seconds',
    'Time since the last run that was done ended, by kind; absent when there was none.',
    ['kind'],
  )
  for (const { kind, age } of figures.lastSuccesses) successes.set({ kind }, age)

  const halts = gaugeIn(registry, 'dirsync_halts', 'Halts in force, by category.', ['category'])
  for (const { category, count } of figures.halts) halts.set({ category }, count)

  const employees = gaugeIn(registry, 'dirsync_employees', 'Employees, by where they stand.', ['standing'])
  for (const standing of STANDINGS)
    employees.set(
      { standing },
      countOf(figures.employees, row => row.standing === standing),
    )

  const processes = gaugeIn(
    registry,
    'dirsync_processes',
    'Processes that gave a sign of life within 15 s, by role.',
    ['role'],
  )
  for (const role of ROLES)
    processes.set(
      { role },
      countOf(figures.processes, row => row.role === role),
    )

  const { calls_per_second, utilisation } = figures.pace
  gaugeIn(
    registry,
    'dirsync_platform_calls_per_second',
    'Calls to the platform per second over the last ten seconds, of all workers.',
  ).set(calls_per_second)
  if (utilisation !== null)
    gaugeIn(
      registry,
      'dirsync_platform_utilisation_ratio',
      'Share of the permitted rate that was used over the last ten seconds, 0 to 1; absent while the rate is not known.',
    ).set(utilisation)

  gaugeIn(
    registry,
    'dirsync_platform_pause_seconds',
    'How long no call is made from now on because the platform asked for it; 0 when it did not.',
  ).set(figures.platformPause)
}

function gaugeIn<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: Label[] = [],
): Gauge<Label> {
  return new Gauge({ name, help, labelNames, registers: [registry] })
}

function countOf<Row extends { count: number }>(rows: Row[], isWanted: (row: Row) => boolean): number {
  return rows.find(isWanted)?.count ?? 0
}

/** The names of a union, complete because the compiler demands each. */
function keys<Name extends string>(names: Record<Name, 1>): Name[] {
  return Object.keys(names) as Name[]
}
