import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { hrServer } from '../../src/hr/servers.ts'
import type { HrScan } from '../../src/hr/source.ts'
import { HrSource } from '../../src/hr/source.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'

/** A database with the given tables that goes away with the test. */
export async function hrDatabase(ddl: string): Promise<TestDatabase> {
  const database = await createTestDatabase()
  onTestFinished(() => database.close())
  await database.pool.query(ddl)
  return database
}

interface HrSourceOptions {
  departments?: string
  defaultEnterpriseCode?: string
}

/** A source over mapping texts that is closed with the test. */
export function hrSource(url: string, employees: string, options: HrSourceOptions = {}): HrSource {
  const source = openHrSource(url, employees, options)
  onTestFinished(() => source.close())
  return source
}

/** The same, for the caller to close. */
export function openHrSource(url: string, employees: string, options: HrSourceOptions = {}): HrSource {
  const { departments, defaultEnterpriseCode } = options
  const logger = pino({ level: 'silent' })
  return new HrSource({
    server: hrServer(url, logger),
    employeesSql: { file: 'employees.sql', sql: employees },
    departmentsSql: departments === undefined ? null : { file: 'departments.sql', sql: departments },
    ...(defaultEnterpriseCode === undefined ? {} : { defaultEnterpriseCode }),
    logger,
  })
}

const ESCAPED: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** The rows of a scan, read to its end. */
export async function rowsOf(scan: HrScan): Promise<Record<string, string | null>[]> {
  const lines = (await text(scan.stream)).split('\n').slice(0, -1)
  return lines.map(line => {
    const values = line
      .split('\t')
      .map(value => (value === '\\N' ? null : value.replace(/\\(.)/g, (_, c) => ESCAPED[c] ?? c)))
    return Object.fromEntries(scan.columns.map((column, index) => [column, values[index] ?? null]))
  })
}
