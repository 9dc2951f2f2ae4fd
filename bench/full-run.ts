import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createPool, onlyRow, type Pool } from '../src/lib/database.ts'
import { requestRun } from '../src/sync/runs/run.ts'
import { fillBareQueue } from './bare-queue.ts'
import { askChild } from './child.ts'
import type { RunBenchmark } from './figure.ts'
import { peakMemory, postmasterOf, processorTime } from './processor-time.ts'
import { startService } from './service.ts'
import { prepareCompany, type WorkTask } from './worker.ts'
import type { Workshop } from './workshop.ts'

const LOOK_EVERY_MS = 500
/** Calls per second, the most that can be set. */
const HIGHEST_RATE = 100_000
/** Jobs of the baseline. */
const BARE_JOBS = 50_000
const ROLES = ['scheduler', 'worker']

/** A full run over everybody, by a whole service at a platform without a limit: how long, and what it costs. */
export function fullRun(workshop: Workshop, employees: number, logger: Logger): RunBenchmark {
  const people = employees.toLocaleString('en')
  return {
    name: 'full-run',
    measures: `a full run over ${people} employees in sync, from the request to its end, by dirsync start as a scheduler and a worker with the queue in Redis, an emulator without a limit or delay; processor time for each employee, peak resident memory, and the database after it`,
    against: `bare BullMQ on the same Redis, one job and one call for each employee: the time of ${BARE_JOBS.toLocaleString('en')} and more jobs to add and to work off, for as many employees`,
    async run(_parts, report) {
      const { task, userids } = await prepareCompany('redis', workshop, employees, logger)
      const some = userids.slice(0, BARE_JOBS)
      const filling = await fillBareQueue(task, some, 1000)
      const working = await askChild<WorkTask, number>(workshop.folder, 'child-bare-worker.ts', {
        ...task,
        jobs: some.length,
      })
      const bare = ((filling + working) / some.length) * employees
      report(`bare BullMQ would take ${bare.toFixed(1)} s`)
      const pool = createPool(task.databaseUrl, { max: 2, name: 'bench', logger })
      const deployment = { ...task, ratePerSecond: HIGHEST_RATE }
      const settings = { WORKER_CONCURRENCY: String(task.concurrency) }
      const service = await startService(workshop.folder, deployment, ROLES, settings)
      try {
        const postmaster = await postmasterOf(pool)
        const used = async () => Promise.all([...service.pids, postmaster].map(processorTime))
        const before = await used()
        const seconds = await runFully(pool, employees, report)
        const costs = (await used()).map((now, i) => (now - (before[i] as number)) / employees)
        const peaks = await Promise.all(service.pids.map(peakMemory))
        const [scheduler, worker, postgres] = costs as [number, number, number]
        const each = { unit: 'µs/employee', baseline: null }
        return [
          { name: 'full-run-seconds', value: seconds, unit: 's', baseline: bare, goal: { valueAtMost: 180 } },
          { name: 'full-run-scheduler', value: scheduler, ...each, goal: { valueAtMost: 50 } },
          { name: 'full-run-worker', value: worker, ...each, goal: { valueAtMost: 100 } },
          { name: 'full-run-postgres', value: postgres, ...each, goal: { valueAtMost: 80 } },
          ...ROLES.map((role, i) => ({
            name: `full-run-memory-${role}`,
            value: peaks[i] as number,
            unit: 'MB',
            baseline: null,
            goal: { valueAtMost: 250 },
          })),
          {
            name: 'full-run-database',
            value: await megabytesOf(pool),
            unit: 'MB',
            baseline: null,
            goal: { valueAtMost: 500 },
          },
        ]
      } finally {
        await service.stop()
        await pool.end()
      }
    },
  }
}

/**
 * Requests a full run and waits for its end.
 * @returns seconds from the request to the end
 * @throws Error unless it found everybody in sync
 */
async function runFully(pool: Pool, employees: number, report: (line: string) => void): Promise<number> {
  const id = await requestRun(pool, 'full', [], 'bench')
  for (let looked = 0; ; looked += 1) {
    const { rows } = await pool.query(
      `select r.state, r.message, extract(epoch from r.finished_at - r.requested_at)::float8 as seconds,
         (select coalesce(sum(n), 0)::int from dirsync.tally where source = 'pending' and run_id = r.id) as waiting
       from dirsync.sync_run r where r.id = $1`,
      [id],
    )
    const { state, message, seconds, waiting } = onlyRow(rows)
    if (looked % 40 === 0) report(`${state}, ${Number(waiting).toLocaleString('en')} to do`)
    if (seconds === null) {
      await sleep(LOOK_EVERY_MS)
      continue
    }
    const outcomes = await pool.query(
      `select outcome, count(*)::int as n from dirsync.attempt where run_id = $1 group by outcome`,
      [id],
    )
    const expected = [{ outcome: 'in_sync', n: employees }]
    if (state !== 'done' || JSON.stringify(outcomes.rows) !== JSON.stringify(expected))
      throw new Error(
        `the run did not find everybody in sync: ${JSON.stringify([state, message, outcomes.rows])}`,
      )
    return seconds
  }
}

/** Size of dirsync's schema, without HR's table, which is in the same database. */
async function megabytesOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ megabytes: number }>(
    `select sum(pg_total_relation_size(c.oid))::float8 / 1e6 as megabytes
     from pg_class c where c.relnamespace = 'dirsync'::regnamespace and c.relkind = 'r'`,
  )
  return onlyRow(rows).megabytes
}
