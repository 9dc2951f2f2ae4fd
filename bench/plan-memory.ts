import type { Logger } from 'pino'
import { createPool } from '../src/lib/database.ts'
import { askChild } from './child.ts'
import type { PairBenchmark } from './figure.ts'
import { EMPLOYEES_SQL } from './people.ts'
import { acknowledgePlanned, changeOnePercent } from './plan.ts'
import type { Planned } from './plan-first.ts'

const FEW = 10_000

/** @param database a database filled with that many employees */
export function planMemory(
  database: (employees: number) => Promise<string>,
  employees: number,
  runFolder: string,
  logger: Logger,
): PairBenchmark {
  return {
    name: 'plan-memory',
    unit: 'MB',
    measures: `peak resident memory of a process that plans ${employees.toLocaleString('en')} HR rows, 1 % of them changed`,
    against: `the same of a process that plans ${FEW.toLocaleString('en')}`,
    goal: { atMost: 1.5 },
    async prepare() {
      const many = createPool(await database(employees), { max: 2, name: 'bench', logger })
      const few = createPool(await database(FEW), { max: 2, name: 'bench', logger })
      const peak = async (pool: typeof many, count: number) => {
        const changed = await changeOnePercent(pool)
        const url = String(pool.options.connectionString)
        const task = { url, hr: url, sql: EMPLOYEES_SQL, employees: count, changed }
        const { megabytes } = await askChild<PlanTask, Planned>(runFolder, 'child-plan.ts', task)
        await acknowledgePlanned(pool)
        return megabytes
      }
      return {
        ours: () => peak(many, employees),
        baseline: () => peak(few, FEW),
        async close() {
          await many.end()
          await few.end()
        },
      }
    },
  }
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
