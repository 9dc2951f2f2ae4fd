import { type EmployeeKey, keyOfText, keyText } from '../directory/employee.ts'
import { type EmployeeMapping, scanColumns } from './mapping.ts'
import { type HrEmployeeRow, withinLimit } from './scan.ts'
import type { HrQuery, HrReader, HrServer, HrValues, KeyComparison, KeyCondition } from './server.ts'
import type { MappedColumn } from './statement.ts'

type Found = Map<string, HrEmployeeRow | 'duplicate'>

/** The inputs of every look-up. */
interface LookupPlace {
  server: Pick<HrServer, 'keyComparison' | 'settings'>
  reader: HrReader
  mapping: EmployeeMapping
  defaultEnterprise: string
}

/** How employees are looked up. */
export interface LookupOptions {
  /**
   * It is not known which enterprise has a user id: the answer has the rows of the keys' user ids in any enterprise, and once
   * found in one of them, a user id is no longer looked up in others. The keys' own enterprises only help the server's index.
   */
  anyEnterprise?: boolean
  /**
   * Of the employees not found by an index: those that HR should have. Only for these all of HR is read, since their user ids
   * may have blanks around them. Default: all of them.
   */
  expected?: (missing: EmployeeKey[]) => EmployeeKey[] | Promise<EmployeeKey[]>
  /** How long a person is willing to wait for each answer; default: as long as a job. */
  timeoutMs?: number
  /** Canonical columns to read besides the key; default: all that a scan has. */
  columns?: readonly string[]
}

/**
 * The rows of some employees, by key text. Queries by the columns' own types first. A key not found may have blanks around it,
 * so it is queried by its text, as are columns whose type has no native comparison. That reads all of HR.
 */
export async function lookupEmployees(
  { server, reader, mapping, defaultEnterprise }: LookupPlace,
  keys: readonly EmployeeKey[],
  { anyEnterprise = false, expected, timeoutMs, columns: wantedColumns }: LookupOptions = {},
): Promise<Found> {
  // No key has the character 0; many servers reject it.
  const wanted = new Map(
    keys.filter(key => !`${key.userid}${key.enterpriseCode}`.includes('\0')).map(key => [keyText(key), key]),
  )
  const userids = new Set([...wanted.values()].map(key => key.userid))
  const found: Found = new Map()
  const columns = wantedColumns ? ['enterprise_code', 'userid', ...wantedColumns] : scanColumns(mapping)
  const ask = async (where: KeyCondition[]) => {
    if (where.some(({ values }) => values.length === 0)) return
    const query = { mapping, columns, defaultEnterprise, where }
    const rows = withinLimit(query, await reader.rows(query, timeoutMs), server.settings.rowLimit)
    collect(rows, columns, key => (anyEnterprise ? userids.has(key.userid) : wanted.has(keyText(key))), found)
  }
  const missing = () => {
    const settled = new Set(anyEnterprise ? [...found.keys()].map(text => keyOfText(text).userid) : [])
    return [...wanted]
      .filter(([text, key]) => !found.has(text) && !settled.has(key.userid))
      .map(([, key]) => key)
  }
  const { comparison, ofEnterprise } = comparisonsOf(server, mapping)
  if (comparison) {
    const where = conditionsByType({ server, mapping, defaultEnterprise }, [...wanted.values()], comparison)
    await ask(where)
    // The codes of enterprises may have blanks around them as well.
    if (where.length > 1 && !ofEnterprise?.isExact) await ask([useridByType(missing(), comparison)])
  }
  if (comparison?.isExact) return found
  const rest = missing()
  const sought = comparison && expected && rest.length > 0 ? await expected(rest) : rest
  await ask([{ column: 'userid', by: 'text', values: distinct(sought.map(key => key.userid)) }])
  return found
}

/** Sample keys, one for each type. No employee has them. */
const SAMPLES = [
  { userid: 'dirsync_user', enterpriseCode: 'dirsync_enterprise' },
  { userid: '101', enterpriseCode: '102' },
  { userid: '00000000-0000-0000-0000-000000000001', enterpriseCode: '00000000-0000-0000-0000-000000000002' },
]

/** The first query of an employee's look-up, to be explained; with the user id that it names. */
export function sampleLookup(place: Omit<LookupPlace, 'reader'>): { query: HrQuery; userid: string } {
  const { server, mapping, defaultEnterprise } = place
  const { comparison, ofEnterprise } = comparisonsOf(server, mapping)
  const sampleOf = (name: 'userid' | 'enterpriseCode', by: KeyComparison | null | undefined) =>
    (SAMPLES.find(sample => by?.holds(sample[name])) ?? SAMPLES[0])?.[name] ?? ''
  const userid = sampleOf('userid', comparison)
  const key = { userid, enterpriseCode: sampleOf('enterpriseCode', ofEnterprise) }
  const where: KeyCondition[] = comparison
    ? conditionsByType(place, [key], comparison)
    : [{ column: 'userid', by: 'text', values: [userid] }]
  return { query: { mapping, columns: scanColumns(mapping), defaultEnterprise, where }, userid }
}

function comparisonsOf(server: LookupPlace['server'], { columns }: EmployeeMapping) {
  const enterprise = columns.get('enterprise_code')
  return {
    comparison: server.keyComparison((columns.get('userid') as MappedColumn).type),
    enterprise,
    ofEnterprise: enterprise && server.keyComparison(enterprise.type),
  }
}

function conditionsByType(
  { server, mapping, defaultEnterprise }: Omit<LookupPlace, 'reader'>,
  keys: readonly EmployeeKey[],
  comparison: KeyComparison,
): KeyCondition[] {
  const { ofEnterprise } = comparisonsOf(server, mapping)
  const codes = distinct(keys.map(key => key.enterpriseCode))
  // It narrows the rows where an index may serve; `collect` checks whether each pair is one of the keys. Rows without a code
  // have the default one: an `or` for them would cost the index more often than it helps.
  const narrows = ofEnterprise && !codes.includes(defaultEnterprise)
  const values = narrows ? codes.filter(code => ofEnterprise.holds(code)) : []
  return [
    useridByType(keys, comparison),
    ...(narrows ? [{ column: 'enterprise_code', by: 'type', values } as const] : []),
  ]
}

function useridByType(keys: readonly EmployeeKey[], comparison: KeyComparison): KeyCondition {
  const values = distinct(keys.map(key => key.userid)).filter(value => comparison.holds(value))
  return { column: 'userid', by: 'type', values }
}

/** The wanted rows; a comparison may also have returned others (another enterprise, another spelling). */
function collect(
  rows: HrValues[],
  columns: readonly string[],
  isWanted: (key: EmployeeKey) => boolean,
  found: Found,
): void {
  const seen = new Set<string>()
  for (const values of rows) {
    const key = { enterpriseCode: values[0] ?? '', userid: values[1] ?? '' }
    if (!isWanted(key)) continue
    const text = keyText(key)
    const row: HrEmployeeRow = {}
    for (const [index, column] of columns.entries()) row[column] = values[index] ?? null
    found.set(text, seen.has(text) ? 'duplicate' : row)
    seen.add(text)
  }
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
