import pg from 'pg'
import type { Logger } from 'pino'
import { toDesired } from '../src/directory/desired.ts'
import type { DesiredEmployee } from '../src/directory/employee.ts'
import { hashFields } from '../src/directory/hash.ts'
import { DEPARTMENTS } from './people.ts'
import { openHr } from './planned-database.ts'

/** Employees that are read and acknowledged together. */
const CHUNK = 5000

/**
 * Makes dirsync remember that the platform confirmed every field, and showed the department, of every employee who is in no group.
 * @param hr where they are, if not in the same database; it is closed
 */
export async function acknowledgeAll(
  url: string,
  logger: Logger,
  hr = openHr(url, logger),
): Promise<DesiredEmployee[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(
      `select userid from dirsync.employee where enterprise_code = '' order by userid`,
    )
    const { columns } = (await hr.inspect()).employees
    const people: DesiredEmployee[] = []
    for (let from = 0; from < rows.length; from += CHUNK) {
      const keys = rows.slice(from, from + CHUNK).map(({ userid }) => ({ enterpriseCode: '', userid }))
      const found = await hr.lookup(keys)
      const chunk = [...found.values()].map(row => {
        const result = row === 'duplicate' ? null : toDesired(row, columns)
        if (!result?.ok) throw new Error('a sample employee is not valid')
        return result.desired
      })
      await client.query(
        `update dirsync.employee e set acknowledged = s.acknowledged, dept_code = s.dept_code
         from jsonb_to_recordset($1) as s (userid text, acknowledged jsonb, dept_code text)
         where e.enterprise_code = '' and e.userid = s.userid`,
        [
          JSON.stringify(
            chunk.map(({ key, fields }) => ({
              userid: key.userid,
              acknowledged: hashFields(fields),
              dept_code: fields.dept_code,
            })),
          ),
        ],
      )
      people.push(...chunk)
    }
    await client.query('vacuum (analyze) dirsync.employee')
    return people
  } finally {
    await hr.close()
    await client.end()
  }
}

/** The seed of an emulator that is in sync with these employees. */
export function seedOf(people: readonly DesiredEmployee[]) {
  return {
    departments: DEPARTMENTS.map(code => ({ dept_code: code, dept_name: code })),
    employees: people.map(({ key, fields }) => ({ userid: key.userid, ...fields })),
  }
}
