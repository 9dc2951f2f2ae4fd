import { askChild } from './child.ts'
import type { Benchmark } from './figure.ts'

const FEW = 10_000

/** @param database a filled database of so many employees */
export function planMemory(
  database: (employees: number) => Promise<string>,
  employees: number,
  runFolder: string,
): Benchmark {
  return {
    name: 'plan-memory',
    unit: 'MB',
    measures: `peak resident memory of a process that plans ${employees.toLocaleString('en')} unchanged HR rows`,
    against: `the same of a process that plans ${FEW.toLocaleString('en')}`,
    goal: { atMost: 1.6 },
    async prepare() {
      const many = await database(employees)
      const few = await database(FEW)
      const peak = (url: string, rows: number) =>
        askChild<PlanTask, number>(runFolder, 'child-plan.ts', { url, employees: rows })
      return { ours: () => peak(many, employees), baseline: () => peak(few, FEW), close: async () => {} }
    },
  }
}

export interface PlanTask {
  url: string
  employees: number
}
