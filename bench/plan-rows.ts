import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { Logger } from 'pino'
import { connectClient } from '../src/hr/postgres/connection.ts'
import type { HrSource } from '../src/hr/source.ts'
import { createPool } from '../src/lib/database.ts'
import type { Benchmark } from './figure.ts'
import { acknowledgePlanned, changeOnePercent, planChanges } from './plan.ts'
import { openHr } from './planned-database.ts'

/** @param database a database filled with that many employees */
export function planRows(database: () => Promise<string>, employees: number, logger: Logger): Benchmark {
  return {
    name: 'plan-rows',
    unit: 'rows/s',
    measures: `planning ${employees.toLocaleString('en')} HR rows, 1 % of them changed: scan, hash, stage, join, judge, outbox, commit`,
    against:
      'COPY (the very query of the scan) TO STDOUT of the same server, with pg-copy-streams into a sink that drops it',
    goal: { atLeast: 0.3 },
    async prepare() {
      const url = await database()
      const pool = createPool(url, { max: 2, name: 'bench', logger })
      const hr = openHr(url, logger)
      const statement = await scanStatement(url, hr)
      return {
        async ours() {
          const changed = await changeOnePercent(pool)
          const { seconds } = await planChanges(pool, hr, { employees, changed }, logger)
          await acknowledgePlanned(pool)
          return employees / seconds
        },
        baseline: async () => employees / (await copySeconds(url, statement)),
        async close() {
          await hr.close()
          await pool.end()
        },
      }
    },
  }
}

/** The statement of the scan, exactly as the server receives it. */
export async function scanStatement(url: string, hr: HrSource): Promise<string> {
  const scan = await hr.scan({})
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(
      `select query from pg_stat_activity where datname = current_database() and query like 'copy (%'`,
    )
    const statement = String(rows[0]?.query)
    if (rows.length !== 1 || !statement.endsWith('to stdout')) throw new Error(`no whole COPY: ${statement}`)
    return statement
  } finally {
    await client.end()
    await scan.close()
  }
}

/** How long a bare read takes. */
export async function copySeconds(url: string, statement: string): Promise<number> {
  const client = await connectClient(url)
  try {
    const startedAt = performance.now()
    const sink = new Writable({ write: (_chunk, _encoding, done) => done() })
    await pipeline(client.query(copyTo(statement)), sink)
    return (performance.now() - startedAt) / 1000
  } finally {
    await client.end()
  }
}
