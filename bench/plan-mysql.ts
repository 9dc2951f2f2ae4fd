import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createConnection as createPlainConnection } from 'mysql2'
import { type Connection, createConnection } from 'mysql2/promise'
import type { Logger } from 'pino'
import { createPool } from '../src/lib/database.ts'
import type { Benchmark, PairBenchmark } from './figure.ts'
import { createMysqlPeople, MYSQL_EMPLOYEES_SQL } from './people.ts'
import { acknowledgePlanned, planChanges } from './plan.ts'
import { planMemory } from './plan-memory.ts'
import { knowEveryone, openHr } from './planned-database.ts'
import type { Workshop } from './workshop.ts'

/** HR in a MariaDB, and a database of dirsync that knows all its employees. */
export interface MysqlPlace {
  hr: string
  url: string
}

/** Like `plan-rows`, with HR in a MariaDB. */
export function planMysqlRows(workshop: Workshop, employees: number, logger: Logger): Benchmark {
  return {
    name: 'plan-mysql-rows',
    unit: 'rows/s',
    measures: `planning ${employees.toLocaleString('en')} rows of HR in a MariaDB, 1 % of them changed: scan, hash, stage, join, judge, outbox, commit`,
    against:
      "the mapping's SELECT on the same server, streamed by bare mysql2 into a sink that drops the rows",
    goal: { atLeast: 0.3 },
    async prepare() {
      const place = await prepared(workshop, employees, logger)
      const pool = createPool(place.url, { max: 2, name: 'bench', logger })
      const hr = openHr(place.hr, logger, MYSQL_EMPLOYEES_SQL)
      const admin = await createConnection(place.hr)
      return {
        async ours() {
          const changed = await changeOnePercent(admin)
          const { seconds } = await planChanges(pool, hr, { employees, changed }, logger)
          await acknowledgePlanned(pool)
          return employees / seconds
        },
        baseline: async () => employees / (await streamSeconds(place.hr)),
        async close() {
          await hr.close()
          await pool.end()
          await admin.end()
        },
      }
    },
  }
}

/** Like `plan-memory`, with HR in a MariaDB. */
export function planMysqlMemory(workshop: Workshop, employees: number, logger: Logger): PairBenchmark {
  return planMemory({
    ...{ name: 'plan-mysql-memory', employees, runFolder: workshop.folder, logger },
    does: rows => `plans ${rows} rows of HR in a MariaDB`,
    async prepare(count) {
      const place = await prepared(workshop, count, logger)
      return {
        ...place,
        sql: MYSQL_EMPLOYEES_SQL,
        async change() {
          const admin = await createConnection(place.hr)
          const changed = await changeOnePercent(admin)
          await admin.end()
          return changed
        },
      }
    },
  })
}

const places = new Map<number, Promise<MysqlPlace>>()

/** Created once for both benchmarks. */
function prepared(workshop: Workshop, employees: number, logger: Logger): Promise<MysqlPlace> {
  const place = places.get(employees) ?? prepareMysql(workshop, employees, logger)
  places.set(employees, place)
  return place
}

/** Creates so many people on a MariaDB, and dirsync's schema with all of them known and nothing to do. */
export async function prepareMysql(
  workshop: Workshop,
  employees: number,
  logger: Logger,
  sql = MYSQL_EMPLOYEES_SQL,
): Promise<MysqlPlace> {
  const hr = await workshop.mariadb(`people_${employees}`)
  await createMysqlPeople(hr, employees)
  const url = await workshop.database()
  const source = openHr(hr, logger, sql)
  await knowEveryone(url, source, logger)
  await source.close()
  return { hr, url }
}

async function changeOnePercent(admin: Connection): Promise<number> {
  const [result] = await admin.query(
    `update employee set note = concat('Seen at ', now(6)) where right(staff_id, 2) = '50'`,
  )
  return (result as { affectedRows: number }).affectedRows
}

/** The obvious way, from the driver's documentation. */
async function streamSeconds(url: string): Promise<number> {
  const connection = createPlainConnection(url)
  const startedAt = performance.now()
  const sink = new Writable({ objectMode: true, write: (_row, _encoding, done) => done() })
  await pipeline(connection.query(MYSQL_EMPLOYEES_SQL).stream(), sink)
  connection.end()
  return (performance.now() - startedAt) / 1000
}
