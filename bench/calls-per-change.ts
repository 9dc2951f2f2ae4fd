import type { Logger } from 'pino'
import { createPool } from '../src/lib/database.ts'
import { acknowledgeAll, seedOf } from './company.ts'
import { watchCalls } from './emulator-log.ts'
import type { RunBenchmark } from './figure.ts'
import { NAIVE, runNaive } from './naive.ts'
import { changeOnePercent } from './plan.ts'
import { fillDatabase } from './planned-database.ts'
import { runChanges } from './run-changes.ts'
import { startService } from './service.ts'
import type { Workshop } from './workshop.ts'

const RATE = 5000
/** One in a hundred of them has changed; with more employees, calls per change are the same. */
const NAIVE_EMPLOYEES = 2000

/** How many calls the whole service makes per change, and without changes. */
export function callsPerChange(workshop: Workshop, employees: number, logger: Logger): RunBenchmark {
  return {
    name: 'calls-per-change',
    measures: `calls that the emulator saw, those for the token apart, ÷ changed employees, 1 % of ${employees.toLocaleString('en')}; then the calls, attempts and outbox rows of a run that finds nothing changed`,
    against: `the same of ${NAIVE}; it makes as many per employee however many there are, so it is run on ${NAIVE_EMPLOYEES.toLocaleString('en')} and counted for all`,
    async run(_parts, report) {
      const databaseUrl = await workshop.database()
      await fillDatabase(databaseUrl, employees, logger)
      const platform = await workshop.emulator(seedOf(await acknowledgeAll(databaseUrl, logger)))
      const pool = createPool(databaseUrl, { max: 2, name: 'bench', logger })
      try {
        const deployment = { databaseUrl, redisUrl: null, platform, ratePerSecond: RATE }
        const service = await startService(workshop.folder, deployment, ['scheduler', 'worker'])
        const run = async (changed: number) => {
          const watched = await watchCalls(platform)
          const outcome = await runChanges(pool, { changed })
          const calls = (await watched.all()).filter(({ operation }) => !operation.startsWith('token/'))
          report(`${calls.length} calls for ${changed} changes`)
          return { ...outcome, calls: calls.length }
        }
        const changed = await changeOnePercent(pool)
        const first = await run(changed)
        const second = await run(0)
        await service.stop()

        const sample = Math.min(NAIVE_EMPLOYEES, employees)
        const unchanged = await runNaive(workshop, { databaseUrl, platform, employees: sample })
        await changeOnePercent(pool)
        const naive = await runNaive(workshop, { databaseUrl, platform, employees: sample })
        return [
          {
            name: 'calls-per-change',
            value: first.calls / changed,
            unit: 'calls',
            baseline: naive.calls.length / (naive.calls.length - sample),
            goal: { valueAtMost: 2.02 },
          },
          {
            name: 'calls-unchanged',
            value: second.calls,
            unit: 'calls',
            baseline: (unchanged.calls.length / sample) * employees,
            goal: { valueAtMost: 0 },
          },
          {
            name: 'jobs-unchanged',
            value: second.attempts + second.pending,
            unit: 'jobs',
            baseline: null,
            goal: { valueAtMost: 0 },
          },
        ]
      } finally {
        await pool.end()
      }
    },
  }
}
