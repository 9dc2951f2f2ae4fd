import type { EmployeeKey } from '../directory/employee.ts'
import { HrDataError } from './errors.ts'
import { type EmployeeMapping, scanColumns } from './mapping.ts'
import type { HrQuery, HrReader, HrValues } from './server.ts'

/**
 * Finds the value that a mapping fails on. Servers say that a cast failed, but not where: so the SELECT is read again, column
 * by column, and then with ever closer limits.
 */

export interface Culprit {
  column: string
  /** Null when no employee fails on their own, or beyond a million rows. */
  key: EmployeeKey | null
}

/** Number of rows first searched for the failing one; that many more each time. */
const BEGINNING = 1000
const GROWTH = 8
const MOST = 1_000_000

/** Null when no column fails by itself, or every one does: the failure is in a condition or a join, or is over. */
export async function findCulprit(
  reader: HrReader,
  mapping: EmployeeMapping,
  defaultEnterprise: string,
): Promise<Culprit | null> {
  /** Null when the query fails on a value. */
  const rows = (query: Omit<HrQuery, 'mapping' | 'defaultEnterprise'>): Promise<HrValues[] | null> =>
    reader.rows({ mapping, defaultEnterprise, ...query }).catch(error => {
      if (error instanceof HrDataError) return null
      throw error
    })
  // Counting computes every row's value, and hardly sends anything.
  const fails = async (column: string) =>
    (await rows({ columns: [column], counted: true, limit: 1 })) === null
  let [culprit, isAnySound] = ['', false]
  for (const column of scanColumns(mapping)) {
    if (!mapping.columns.has(column) || (culprit && isAnySound)) continue
    if (!(await fails(column))) isAnySound = true
    else culprit ||= column
  }
  if (!culprit || !isAnySound) return null
  return { column: culprit, key: culprit === 'userid' ? null : await keyOf(culprit, rows) }
}

async function keyOf(
  column: string,
  rows: (query: Pick<HrQuery, 'columns' | 'limit' | 'where'>) => Promise<HrValues[] | null>,
): Promise<EmployeeKey | null> {
  const key = ['enterprise_code', 'userid']
  let [sound, failing] = [0, BEGINNING]
  for (;;) {
    const found = await rows({ columns: [...key, column], limit: failing })
    if (found === null) break
    if (found.length < failing || failing >= MOST) return null
    sound = failing
    failing *= GROWTH
  }
  while (failing - sound > 1) {
    const middle = Math.floor((sound + failing) / 2)
    if ((await rows({ columns: [...key, column], limit: middle })) === null) failing = middle
    else sound = middle
  }
  const last = (await rows({ columns: key, limit: failing }))?.at(-1)
  const [enterpriseCode, userid] = last ?? []
  if (!userid) return null
  // Rows have no order of their own: it is this one only if it fails alone.
  const alone = {
    columns: [...key, column],
    where: [{ column: 'userid', by: 'text', values: [userid] }],
  } as const
  return (await rows(alone)) === null ? { enterpriseCode: enterpriseCode ?? '', userid } : null
}
