import type pg from 'pg'
import { type EmployeeKey, keyText } from '../core/employee.ts'
import { columnTexts, reference, scanColumns } from './column-text.ts'
import { toHrError } from './errors.ts'
import type { EmployeeMapping, MappedColumn } from './mapping.ts'
import { textRows } from './session.ts'
import type { HrEmployeeRow } from './source.ts'

/** How keys are compared in a column's own type, so that an index on it serves. */
interface NativeType {
  array: string
  /** Whether a key's text can be of this type at all; one that cannot is nobody's key. */
  holds: (text: string) => boolean
}

const ANY_TEXT: NativeType = { array: 'text[]', holds: () => true }
const NATIVE_TYPES: Record<string, NativeType> = {
  text: ANY_TEXT,
  varchar: ANY_TEXT,
  name: ANY_TEXT,
  bpchar: { array: 'bpchar[]', holds: () => true },
  int2: { array: 'int2[]', holds: integerOf(16n) },
  int4: { array: 'int4[]', holds: integerOf(32n) },
  int8: { array: 'int8[]', holds: integerOf(64n) },
  numeric: { array: 'numeric[]', holds: text => /^-?\d{1,100}(?:\.\d{1,100})?$/.test(text) },
  uuid: { array: 'uuid[]', holds: text => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) },
}

/** Types that print their values in one way only, without blanks: a key that equality does not find is not there. */
const EXACT = new Set(['int2', 'int4', 'int8', 'uuid'])

type Found = Map<string, HrEmployeeRow | 'duplicate'>

/**
 * The rows of some employees, by key text. Asks by the columns' own types first; what that does not find, and may be
 * there written with blanks around it or in a type without a native comparison, is asked for by its text, which reads all of HR.
 * @param anyEnterprise a user id that was found under one enterprise is not asked for under others any more
 */
export async function lookupEmployees(
  client: pg.Pool,
  mapping: EmployeeMapping,
  keys: readonly EmployeeKey[],
  defaultEnterprise: string,
  anyEnterprise: boolean,
): Promise<Found> {
  // No text of PostgreSQL holds the character 0, so nobody has such a key; sending it would be an error.
  const wanted = new Map(
    keys.filter(key => !`${key.userid}${key.enterpriseCode}`.includes('\0')).map(key => [keyText(key), key]),
  )
  const found: Found = new Map()
  const ask = async (conditions: Conditions) => {
    if (conditions.values.some(values => values.length === 0)) return
    const before = `select ${columnTexts(columns, mapping.columns, defaultEnterprise).join(', ')} from (\n`
    const text = `${before}${mapping.sql}\n) m where ${conditions.texts.join(' and ')}`
    const rows = await textRows(client, text, conditions.values).catch(error => {
      throw toHrError(error, { file: mapping.file, sql: mapping.sql, offset: before.length })
    })
    collect(rows, columns, wanted, found)
  }
  const columns = scanColumns(mapping.columns)
  const userid = mapping.columns.get('userid') as MappedColumn
  const enterprise = mapping.columns.get('enterprise_code')

  if (NATIVE_TYPES[userid.type]) {
    const conditions = useridCondition(userid, [...wanted.values()])
    if (enterprise) addEnterpriseCondition(conditions, enterprise, [...wanted.values()], defaultEnterprise)
    await ask(conditions)
  }
  const settled = new Set(anyEnterprise ? [...found.keys()].map(text => wanted.get(text)?.userid) : [])
  const rest = [...wanted]
    .filter(([text, { userid }]) => !found.has(text) && !settled.has(userid))
    .map(([, key]) => key)
  const mayHide = !EXACT.has(userid.type) || (enterprise !== undefined && !EXACT.has(enterprise.type))
  if (rest.length > 0 && mayHide) {
    const byValue = EXACT.has(userid.type)
    await ask(byValue ? useridCondition(userid, rest) : useridTextCondition(userid, rest))
  }
  return found
}

interface Conditions {
  texts: string[]
  values: string[][]
}

function useridCondition(column: MappedColumn, keys: readonly EmployeeKey[]): Conditions {
  const native = NATIVE_TYPES[column.type] ?? ANY_TEXT
  const values = distinct(keys.map(key => key.userid).filter(native.holds))
  return { texts: [`${reference(column)} = any($1::${native.array})`], values: [values] }
}

function useridTextCondition(column: MappedColumn, keys: readonly EmployeeKey[]): Conditions {
  return {
    texts: [`btrim(${reference(column)}::text) = any($1::text[])`],
    values: [distinct(keys.map(key => key.userid))],
  }
}

/** Narrows to the enterprises of the keys; that each pair is one of the keys is seen to when rows are collected. */
function addEnterpriseCondition(
  conditions: Conditions,
  column: MappedColumn,
  keys: readonly EmployeeKey[],
  defaultEnterprise: string,
): void {
  const native = NATIVE_TYPES[column.type]
  const codes = distinct(keys.map(key => key.enterpriseCode))
  // Rows without a code have the default one; an `or` for them would cost the index more often than it helps.
  if (!native || codes.includes(defaultEnterprise)) return
  conditions.texts.push(`${reference(column)} = any($2::${native.array})`)
  conditions.values.push(codes.filter(native.holds))
}

/** Rows of wanted keys; a comparison may also have brought others (another enterprise, another spelling). */
function collect(
  rows: (string | null)[][],
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

function integerOf(bits: bigint): (text: string) => boolean {
  const limit = 1n << (bits - 1n)
  return text => {
    if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return false
    const value = BigInt(text)
    return value >= -limit && value < limit
  }
}
