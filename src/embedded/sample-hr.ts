import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'

const FOLDER = join(import.meta.dirname, '../../examples/hr')

/** Files of the sample that the service is pointed at: two mappings, and the emulator's first state. */
export const SAMPLE = {
  employeesSql: join(FOLDER, 'employees.sql'),
  departmentsSql: join(FOLDER, 'departments.sql'),
  platform: join(FOLDER, 'platform.json'),
}

/** Fills an empty database with the sample HR system, all of it or nothing; true when it was empty. */
export async function loadSampleHr(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rowCount } = await client.query(`select from pg_namespace where nspname = 'hr'`)
    if (rowCount) return false
    const schema = await readFile(join(FOLDER, 'schema.sql'), 'utf8')
    const data = await readFile(join(FOLDER, 'data.sql'), 'utf8')
    await client.query(`begin; ${schema}; ${data}; commit; analyze`)
    return true
  } finally {
    await client.end()
  }
}
