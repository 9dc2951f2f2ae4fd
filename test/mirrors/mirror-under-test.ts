import { platformDay } from '../../src/lib/text.ts'
import type { Company } from '../helpers/company.ts'

const DAY_MS = 24 * 3_600_000

/** The day (GMT+8) so many days ago. */
export const daysAgo = (days: number): string => platformDay(new Date(Date.now() - days * DAY_MS))

/** A payment order as the emulator takes it. */
export function order(number: number, age: number, differs: Record<string, unknown> = {}) {
  const second = (value: number) => String(value % 60).padStart(2, '0')
  return {
    trade_no: `T${String(number).padStart(15, '0')}`,
    userid: 'e0000',
    payer_name: 'Person 0',
    subject: 'Lunch',
    total_amount: '12.50',
    create_time: `${daysAgo(age)} 00:${second(Math.floor(number / 60))}:${second(number)}`,
    ...differs,
  }
}

/** Every row of a table of the schema, in the order of its key, with the transaction that wrote it. */
export async function rowsOf(
  company: Company,
  table: string,
): Promise<(Record<string, unknown> & { xmin: string })[]> {
  const { rows } = await company.db.query(`select *, xmin::text from dirsync.${table} order by 1, 2, 3`)
  return rows
}

/** The unresolved cases of an operation. */
export async function casesOf(company: Company, operation: string) {
  const { rows } = await company.db.query(
    `select id::int, enterprise_code, entity, entity_key, field, category, state, occurrences, dirsync.in_language('en', message) as message from dirsync.dead_letter
     where operation = $1 and state <> 'resolved' order by id`,
    [operation],
  )
  return rows
}
