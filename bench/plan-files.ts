import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { Logger } from 'pino'
import { createPool } from '../src/lib/database.ts'
import type { Benchmark, PairBenchmark } from './figure.ts'
import { EMPLOYEES_SQL, writePeopleCsv } from './people.ts'
import { acknowledgePlanned, planChanges } from './plan.ts'
import { planMemory } from './plan-memory.ts'
import { knowEveryone, openHr } from './planned-database.ts'
import type { Workshop } from './workshop.ts'

/** The mapping of the sample HR table, for a file. */
const FILES_EMPLOYEES_SQL = EMPLOYEES_SQL.replace('hr.employee', 'employee')

/** A folder with HR as CSV, and a database of dirsync that knows all its employees. */
interface FilesPlace {
  folder: string
  hr: string
  url: string
}

/**
 * Like `plan-rows`, with HR in CSV. Each plan reads a new delivery: detecting its encoding and reading it in are
 * included.
 */
export function planFilesRows(workshop: Workshop, employees: number, logger: Logger): Benchmark {
  return {
    name: 'plan-files-rows',
    unit: 'rows/s',
    measures: `planning ${employees.toLocaleString('en')} rows of HR in a CSV file that has just come, 1 % of them changed: read in, scan, hash, stage, join, judge, outbox, commit`,
    against: "DuckDB's own COPY … TO a CSV file of the mapping's SELECT over that file, with two threads",
    goal: { atLeast: 0.3 },
    async prepare() {
      const { folder, hr: address, url } = await prepared(workshop, employees, logger)
      const pool = createPool(url, { max: 2, name: 'bench', logger })
      const hr = openHr(address, logger, FILES_EMPLOYEES_SQL)
      return {
        async ours() {
          const changed = await deliver(folder, employees)
          const { seconds } = await planChanges(pool, hr, { employees, changed }, logger)
          await acknowledgePlanned(pool)
          return employees / seconds
        },
        baseline: async () => employees / (await copySeconds(folder)),
        async close() {
          await hr.close()
          await pool.end()
        },
      }
    },
  }
}

/** Like `plan-memory`, with HR in CSV. */
export function planFilesMemory(workshop: Workshop, employees: number, logger: Logger): PairBenchmark {
  return planMemory({
    ...{ name: 'plan-files-memory', employees, runFolder: workshop.folder, logger },
    does: rows => `reads in and plans ${rows} rows of HR in a CSV file`,
    async prepare(count) {
      const { folder, ...place } = await prepared(workshop, count, logger)
      return { ...place, sql: FILES_EMPLOYEES_SQL, change: () => deliver(folder, count) }
    },
  })
}

const places = new Map<number, Promise<FilesPlace>>()

/** Created once for both benchmarks. */
function prepared(workshop: Workshop, employees: number, logger: Logger): Promise<FilesPlace> {
  const place = places.get(employees) ?? prepare(workshop, employees, logger)
  places.set(employees, place)
  return place
}

async function prepare(workshop: Workshop, employees: number, logger: Logger): Promise<FilesPlace> {
  const folder = join(workshop.folder, `people_${employees}`)
  await mkdir(folder)
  await deliver(folder, employees)
  const url = await workshop.database()
  const hr = `files:${folder}`
  const source = openHr(hr, logger, FILES_EMPLOYEES_SQL)
  await knowEveryone(url, source, logger)
  await source.close()
  return { folder, hr, url }
}

/** Moves a new delivery into the folder, with a new note for one in a hundred. */
async function deliver(folder: string, employees: number): Promise<number> {
  const next = join(folder, '.employee.csv')
  const changed = await writePeopleCsv(next, employees)
  await rename(next, join(folder, 'employee.csv'))
  return changed
}

async function copySeconds(folder: string): Promise<number> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' })
  const connection = await instance.connect()
  const from = `read_csv('${join(folder, 'employee.csv')}', all_varchar = true, header = true, delim = ',')`
  const out = join(folder, '.out.csv')
  const startedAt = performance.now()
  await connection.run(
    `copy (${FILES_EMPLOYEES_SQL.replace('employee e', `${from} e`)}) to '${out}' (format csv)`,
  )
  const seconds = (performance.now() - startedAt) / 1000
  connection.closeSync()
  instance.closeSync()
  await rm(out)
  return seconds
}
