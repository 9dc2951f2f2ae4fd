import type { Logger } from 'pino'
import { createPool } from '../src/lib/database.ts'
import { migrate } from '../src/lib/migrate.ts'
import { readyChild } from './child.ts'
import type { Figure, RunBenchmark } from './figure.ts'
import { postmasterOf, processorTime } from './processor-time.ts'
import type { Workshop } from './workshop.ts'

const RATES = [10, 100, 1000, 5000]
const PROCESSES = [1, 3, 30]
const SECONDS = 20

export interface SlotTask {
  /** Where the processes share the rate; null: one process, for itself. */
  databaseUrl: string | null
  rate: number
  seconds: number
}

/** Whether one, three and thirty processes get the whole of a rate that they share, and what that costs PostgreSQL. */
export function sharing(workshop: Workshop, logger: Logger): RunBenchmark {
  return {
    name: 'sharing',
    measures: `slots that processes took within ${SECONDS} s, 64 callers always waiting in each, divided by rate × ${SECONDS}: what the platform permits is shared in PostgreSQL; no call is made`,
    against: 'the same of one process that shares with nobody',
    async run(_parts, report) {
      const databaseUrl = await workshop.database()
      const pool = createPool(databaseUrl, { max: 1, name: 'bench', logger })
      try {
        await migrate(pool)
        const postmaster = await postmasterOf(pool)
        const share = async (place: string | null, processes: number, rate: number) => {
          await pool.query('truncate dirsync.pacer, dirsync.learnt_rate')
          const task = { databaseUrl: place, rate, seconds: SECONDS }
          const children = await Promise.all(
            Array.from({ length: processes }, () =>
              readyChild<SlotTask, number>(workshop.folder, 'child-slots.ts', task),
            ),
          )
          const before = await processorTime(postmaster)
          const taken = await Promise.all(children.map(child => child.go()))
          const used = (await processorTime(postmaster)) - before
          const value = taken.reduce((sum, one) => sum + one, 0) / (rate * SECONDS)
          const least = Math.min(...taken)
          report(
            `${processes} × ${rate}/s${place ? '' : ', alone'}: ${value.toFixed(3)}, each at least ${least} slots; PostgreSQL ${(used / SECONDS / 1000).toFixed(1)} ms a second`,
          )
          return value
        }
        const figures: Figure[] = []
        for (const rate of RATES) {
          const baseline = await share(null, 1, rate)
          for (const processes of PROCESSES)
            figures.push({
              name: `sharing-${rate}-${processes}p`,
              value: await share(databaseUrl, processes, rate),
              unit: 'of permitted',
              baseline,
              goal: { valueAtLeast: 0.95 },
            })
        }
        return figures
      } finally {
        await pool.end()
      }
    },
  }
}
