import { type EmployeeKey, keyText } from '../directory/employee.ts'
import { type EmployeeMapping, type MappedColumn, scanColumns } from './mapping.ts'
import type { HrEmployeeRow } from './scan.ts'
import type { HrReader, HrServer, HrValues, KeyCondition } from './server.ts'

type Found = Map<string, HrEmployeeRow | 'duplicate'>

/** What look-ups are made with. */
interface LookupPlace {
  server: Pick<HrServer, 'keyComparison'>
  reader: HrReader
  mapping: EmployeeMapping
  defaultEnterprise: string
}

/**
 * The rows of some employees, by key text. Asks by the columns' own types first. What that does not find may still be there,
 * written with blanks around it or in a type without a native comparison: it is asked for by its text, which reads all of HR.
 * @param options.anyEnterprise a user id that was found under one enterprise is not asked for under others any more
 * @param options.timeoutMs after which each of the two queries is given up
 */
export async function lookupEmployees(
  { server, reader, mapping, defaultEnterprise }: LookupPlace,
  keys: readonly EmployeeKey[],
  { anyEnterprise = false, timeoutMs }: { anyEnterprise?: boolean; timeoutMs?: number | undefined } = {},
): Promise<Found> {
  // No key has the character 0; sending it would be an error of many a server.
  const wanted = new Map(
    keys.filter(key => !`${key.userid}${key.enterpriseCode}`.includes('\0')).map(key => [keyText(key), key]),
  )
  const found: Found = new Map()
  const columns = scanColumns(mapping)
  const ask = async (where: KeyCondition[]) => {
    if (where.some(({ values }) => values.length === 0)) return
    const query = { mapping, columns, defaultEnterprise, where }
    collect(await reader.rows(query, timeoutMs), columns, wanted, found)
  }
  const userid = mapping.columns.get('userid') as MappedColumn
  const enterprise = mapping.columns.get('enterprise_code')
  const comparison = server.keyComparison(userid.type)
  const ofEnterprise = enterprise && server.keyComparison(enterprise.type)
  const byType = (asked: readonly EmployeeKey[]): KeyCondition => ({
    column: 'userid',
    by: 'type',
    values: distinct(asked.map(key => key.userid)).filter(value => comparison?.holds(value)),
  })

  if (comparison) {
    const present = [...wanted.values()]
    const codes = distinct(present.map(key => key.enterpriseCode))
    // It narrows where an index may serve; whether each pair is one of the keys, `collect` sees. Rows without a code have
    // the default one: an `or` for them would cost the index more often than it helps.
    const narrows = ofEnterprise && !codes.includes(defaultEnterprise)
    const values = narrows ? codes.filter(code => ofEnterprise.holds(code)) : []
    await ask([
      byType(present),
      ...(narrows ? [{ column: 'enterprise_code', by: 'type', values } as const] : []),
    ])
  }
  const settled = new Set(anyEnterprise ? [...found.keys()].map(text => wanted.get(text)?.userid) : [])
  const rest = [...wanted]
    .filter(([text, key]) => !found.has(text) && !settled.has(key.userid))
    .map(([, key]) => key)
  const mayHide = !comparison?.isExact || (enterprise !== undefined && !ofEnterprise?.isExact)
  if (rest.length > 0 && mayHide)
    await ask([
      comparison?.isExact
        ? byType(rest)
        : { column: 'userid', by: 'text', values: distinct(rest.map(key => key.userid)) },
    ])
  return found
}

/** Rows of wanted keys; a comparison may also have brought others (another enterprise, another spelling). */
function collect(
  rows: HrValues[],
  columns: readonly string[],
  wanted: ReadonlyMap<string, EmployeeKey>,
  found: Found,
): void {
  const seen = new Set<string>()
  for (const values of rows) {
    const text = keyText({ enterpriseCode: values[0] ?? '', userid: values[1] ?? '' })
    if (!wanted.has(text)) continue
    const row = Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]))
    found.set(text, seen.has(text) ? 'duplicate' : row)
    seen.add(text)
  }
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
