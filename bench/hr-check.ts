import { askChild } from './child.ts'
import type { PairBenchmark } from './figure.ts'

const FEW = 10_000

/** @param database a filled database of so many employees */
export function hrCheckMemory(
  database: (employees: number) => Promise<string>,
  employees: number,
  runFolder: string,
): PairBenchmark {
  return {
    name: 'hr-check-memory',
    unit: 'MB',
    measures: `peak resident memory of a process that checks ${employees.toLocaleString('en')} HR rows as dirsync hr check does`,
    against: `the same of a process that checks ${FEW.toLocaleString('en')}`,
    goal: { atMost: 1.5 },
    async prepare() {
      const many = await database(employees)
      const few = await database(FEW)
      const peak = (hr: string, count: number) =>
        askChild<CheckTask, number>(runFolder, 'child-hr-check.ts', { hr, employees: count })
      return {
        ours: () => peak(many, employees),
        baseline: () => peak(few, FEW),
        close: async () => {},
      }
    },
  }
}

export interface CheckTask {
  /** HR's database. */
  hr: string
  employees: number
}
