import { hash } from 'node:crypto'
import { keyText } from '../directory/employee.ts'
import { type EmployeeMapping, scanColumns } from './mapping.ts'
import type { HrReader } from './server.ts'
import { updatedAtOf } from './updated-times.ts'

/** More rows are not compared one by one. */
export const MOST_CHANGED = 20_000

/** A row of HR that was written recently. */
export interface ChangedRow {
  userid: string
  /** Enterprise and user id. */
  key: string
  /** Changes with every column of the row: clocks are too coarse to tell two changes within a second apart. */
  hash: string
  /** Invalid without a time. */
  updatedAt: Date
}

/**
 * The rows whose `updated_at` is at or after a time, and with `datedOnly` false those without one; more than `MOST_CHANGED`
 * means at least that many. Null where `updated_at` is not mapped.
 */
export async function readChangedRows(
  reader: HrReader,
  mapping: EmployeeMapping,
  defaultEnterprise: string,
  since: Date,
  datedOnly: boolean,
): Promise<ChangedRow[] | null> {
  if (!mapping.columns.has('updated_at')) return null
  const columns = scanColumns(mapping)
  const limit = MOST_CHANGED + 1
  const rows = await reader.rows({ mapping, columns, defaultEnterprise, since, datedOnly, limit })
  const updated = columns.indexOf('updated_at')
  return rows.flatMap(values => {
    const [enterpriseCode, userid] = values
    // A row without a user id belongs to no employee; a run that reads every row reports it.
    if (!userid) return []
    const key = keyText({ enterpriseCode: enterpriseCode ?? '', userid })
    const updatedAt = updatedAtOf(values[updated])
    return [{ userid, key, hash: hash('sha256', JSON.stringify(values), 'base64url'), updatedAt }]
  })
}
