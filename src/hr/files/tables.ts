import { duckDb, literal } from './duckdb.ts'

/** The tables that a SELECT reads, from its text alone: only their files are checked. */

/** Number of cached statements. */
const KEPT = 64
const known = new Map<string, Promise<ReadonlySet<string> | null>>()

/** @returns lower-case names; null when the text does not tell, so that it may be any of them */
export function tablesIn(sql: string): Promise<ReadonlySet<string> | null> {
  const found = known.get(sql) ?? parsed(sql)
  known.delete(sql)
  known.set(sql, found)
  found.catch(() => known.delete(sql))
  const [oldest] = known.keys()
  if (known.size > KEPT && oldest !== undefined) known.delete(oldest)
  return found
}

async function parsed(sql: string): Promise<ReadonlySet<string> | null> {
  const { DuckDBInstance } = await duckDb()
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  try {
    const connection = await instance.connect()
    const reader = await connection.runAndReadAll(`select json_serialize_sql(${literal(sql)})`)
    connection.closeSync()
    return tablesOf(JSON.parse(String(reader.getRows()[0]?.[0])))
  } finally {
    instance.closeSync()
  }
}

/** The function whose argument names a table. */
const NAMING = 'query_table'

/** Includes names of common table expressions, which does no harm. */
function tablesOf(tree: { error: boolean }): ReadonlySet<string> | null {
  const tables = new Set<string>()
  let isSure = !tree.error
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, table_name, function_name } = node as Record<string, unknown>
    if (type === 'BASE_TABLE') tables.add(String(table_name).toLowerCase())
    if (String(function_name).toLowerCase() === NAMING) isSure = false
    for (const child of Object.values(node)) visit(child)
  }
  visit(tree)
  return isSure ? tables : null
}
