import type { Logger } from 'pino'
import { createPool } from '../src/lib/database.ts'
import { askChild } from './child.ts'
import type { PairBenchmark } from './figure.ts'
import { EMPLOYEES_SQL } from './people.ts'
import { acknowledgePlanned, changeOnePercent } from './plan.ts'
import type { Planned } from './plan-first.ts'

const FEW = 10_000

/** HR with so many employees, all of them known to a database of dirsync. */
interface KnownHr extends Pick<PlanTask, 'url' | 'hr' | 'sql'> {
  /** Changes one row in a hundred, and gives the number of those. */
  change(): Promise<number>
}

/** @param options.does what the process does with so many rows */
export function planMemory(options: {
  name: string
  does(rows: string): string
  employees: number
  runFolder: string
  logger: Logger
  prepare(employees: number): Promise<KnownHr>
}): PairBenchmark {
  const { name, does, employees, runFolder, logger, prepare } = options
  return {
    name,
    unit: 'MB',
    measures: `peak resident memory of a process that ${does(employees.toLocaleString('en'))}, 1 % of them changed`,
    against: `the same of a process that plans ${FEW.toLocaleString('en')}`,
    goal: { atMost: 1.5 },
    async prepare() {
      const [many, few] = [await prepare(employees), await prepare(FEW)]
      const peak = async ({ change, ...place }: KnownHr, count: number) => {
        const task = { ...place, employees: count, changed: await change() }
        const { megabytes } = await askChild<PlanTask, Planned>(runFolder, 'child-plan.ts', task)
        const pool = createPool(place.url, { max: 2, name: 'bench', logger })
        await acknowledgePlanned(pool)
        await pool.end()
        return megabytes
      }
      return {
        ours: () => peak(many, employees),
        baseline: () => peak(few, FEW),
        close: async () => {},
      }
    },
  }
}

/** @param database a database filled with that many employees */
export function planPostgresMemory(
  database: (employees: number) => Promise<string>,
  employees: number,
  runFolder: string,
  logger: Logger,
): PairBenchmark {
  return planMemory({
    ...{ name: 'plan-memory', employees, runFolder, logger },
    does: rows => `plans ${rows} HR rows`,
    async prepare(count) {
      const url = await database(count)
      return {
        ...{ url, hr: url, sql: EMPLOYEES_SQL },
        async change() {
          const pool = createPool(url, { max: 1, name: 'bench', logger })
          const changed = await changeOnePercent(pool)
          await pool.end()
          return changed
        },
      }
    },
  })
}

export interface PlanTask {
  /** dirsync's database. */
  url: string
  /** HR's. */
  hr: string
  /** The mapping. */
  sql: string
  employees: number
  changed: number
}
