import type { Logger } from 'pino'
import { askChild } from './child.ts'
import type { PairBenchmark } from './figure.ts'
import { copySeconds, scanStatement } from './plan-rows.ts'
import { openHr } from './planned-database.ts'

const FEW = 10_000

/** @param database a database filled with that many employees */
export function hrCheckSeconds(
  database: () => Promise<string>,
  employees: number,
  runFolder: string,
  logger: Logger,
): PairBenchmark {
  return {
    name: 'hr-check-seconds',
    unit: 's',
    measures: `checking ${employees.toLocaleString('en')} HR rows as dirsync hr check does`,
    against: 'a bare read of the same rows: the COPY that plan-rows is compared with',
    goal: { atMost: 5 },
    async prepare() {
      const url = await database()
      const hr = openHr(url, logger)
      const statement = await scanStatement(url, hr)
      return {
        ours: async () => (await check(runFolder, url, employees)).seconds,
        baseline: () => copySeconds(url, statement),
        close: () => hr.close(),
      }
    },
  }
}

/** @param database a database filled with that many employees */
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
    goal: { valueAtMost: 256 },
    async prepare() {
      const many = await database(employees)
      const few = await database(FEW)
      return {
        ours: async () => (await check(runFolder, many, employees)).megabytes,
        baseline: async () => (await check(runFolder, few, FEW)).megabytes,
        close: async () => {},
      }
    },
  }
}

function check(runFolder: string, hr: string, employees: number): Promise<Checked> {
  return askChild<CheckTask, Checked>(runFolder, 'child-hr-check.ts', { hr, employees })
}

export interface CheckTask {
  /** HR's database. */
  hr: string
  employees: number
}

/** The time and memory of a check. */
export interface Checked {
  seconds: number
  /** The process' peak of resident memory. */
  megabytes: number
}
