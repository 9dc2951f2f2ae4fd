import pg from 'pg'
import type { Logger } from 'pino'
import { createPool } from '../src/lib/database.ts'
import { migrate } from '../src/lib/migrate.ts'
import { askChild } from './child.ts'
import type { RunBenchmark } from './figure.ts'
import { createPeople, EMPLOYEES_SQL } from './people.ts'
import type { PlanTask } from './plan-memory.ts'
import { copySeconds, scanStatement } from './plan-rows.ts'
import { openHr } from './planned-database.ts'
import type { Workshop } from './workshop.ts'

/** The plan of a first sync, once: nobody is known, and everyone goes into the outbox. */
export function planFirst(workshop: Workshop, employees: number, logger: Logger): RunBenchmark {
  return {
    name: 'plan-first',
    measures: `the first plan of ${employees.toLocaleString('en')} HR rows, all of them new, and the peak of its process' resident memory`,
    against: 'COPY (the very query of the scan) TO STDOUT of the same server, as in `plan-rows`',
    async run(_parts, report) {
      const url = await workshop.database()
      await createHr(url, employees, logger)
      report('everyone is in HR')
      const hr = openHr(url, logger)
      const statement = await scanStatement(url, hr)
      await hr.close()
      const bare = await copySeconds(url, statement)
      report(`COPY takes ${bare.toFixed(1)} s`)
      const task = { url, hr: url, sql: EMPLOYEES_SQL, employees, changed: employees }
      const { seconds, megabytes } = await askChild<PlanTask, Planned>(workshop.folder, 'child-plan.ts', task)
      return [
        {
          name: 'plan-first',
          value: employees / seconds,
          unit: 'rows/s',
          baseline: employees / bare,
          goal: { atLeast: 0.02 },
        },
        {
          name: 'plan-first-memory',
          value: megabytes,
          unit: 'MB',
          baseline: null,
          goal: { valueAtMost: 256 },
        },
      ]
    },
  }
}

/** What a process that planned says of it. */
export interface Planned {
  seconds: number
  /** Peak of resident memory. */
  megabytes: number
}

async function createHr(url: string, employees: number, logger: Logger): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await createPeople(client, employees)
  await client.query('vacuum (analyze) hr.employee')
  await client.end()
  const pool = createPool(url, { max: 1, name: 'bench', logger })
  await migrate(pool)
  await pool.end()
}
