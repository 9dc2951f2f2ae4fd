import { hash } from 'node:crypto'
import { keyText } from '../directory/employee.ts'
import { type EmployeeMapping, scanColumns } from './mapping.ts'
import type { HrReader } from './server.ts'

/** More rows are not told apart. */
export const MOST_CHANGED = 20_000

/** A row of HR that was written lately. */
export interface ChangedRow {
  userid: string
  /** Enterprise and user id. */
  key: string
  /** Another one as soon as a column of the row is: clocks are too coarse to tell two changes of a second apart. */
  hash: string
  /** Invalid where it is no moment of a calendar, as PostgreSQL's infinity is not. */
  updatedAt: Date
}

/**
 * The rows whose `updated_at` is at or after a moment; more than `MOST_CHANGED` means that there are at least so many.
 * Null where `updated_at` is not mapped.
 */
export async function readChangedRows(
  reader: HrReader,
  mapping: EmployeeMapping,
  defaultEnterprise: string,
  since: Date,
): Promise<ChangedRow[] | null> {
  if (!mapping.columns.has('updated_at')) return null
  const columns = scanColumns(mapping)
  const rows = await reader.rows({ mapping, columns, defaultEnterprise, since, limit: MOST_CHANGED + 1 })
  const updated = columns.indexOf('updated_at')
  return rows.flatMap(values => {
    const [enterpriseCode, userid] = values
    // One without a user id is nobody's; a run that reads every row says so.
    if (!userid) return []
    const key = keyText({ enterpriseCode: enterpriseCode ?? '', userid })
    const updatedAt = new Date(`${values[updated]?.replace(' ', 'T')}:00`)
    return [{ userid, key, hash: hash('sha256', JSON.stringify(values), 'base64url'), updatedAt }]
  })
}
