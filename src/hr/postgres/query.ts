import pg from 'pg'
import { DAYS } from '../canonical.ts'
import {
  conditionsOf,
  isLike,
  likePatterns,
  type RowsSql,
  reference,
  type Statement,
  selectRows,
} from '../rows.ts'
import type { ColumnShape, HrQuery, KeyComparison, KeyCondition } from '../server.ts'
import { type Dialect, type MappedColumn, POSTGRES_TOKENS } from '../statement.ts'

/** PostgreSQL's statements for the rows of a mapping, and the printing and comparison of its types. */

export const POSTGRES: Dialect = {
  beginnings: ['select', 'with', 'values', 'table'],
  ...POSTGRES_TOKENS,
}

// Types, by their names in pg_type, such as `int4`; array types begin with an underscore

const MOMENTS = new Set(['date', 'timestamp', 'timestamptz'])
const UNFIT = new Set(['bytea', 'record', 'xml'])
const TEXTS = new Set(['text', 'varchar', 'bpchar', 'citext', 'name'])
const INTEGERS = new Set(['int2', 'int4', 'int8'])

const isJson = (type: string) => type === 'json' || type === 'jsonb'

export function shapeOf(type: string): ColumnShape {
  if (MOMENTS.has(type)) return 'moment'
  if (type.startsWith('_')) return 'array'
  if (isJson(type)) return 'json'
  return UNFIT.has(type) ? 'other' : 'plain'
}

interface NativeType extends KeyComparison {
  /** Type of an array of keys; null: of the column's own type, wherever that is defined. */
  array: string | null
}

const isText = { holds: () => true, isExact: false }
const NATIVE_TYPES: Record<string, NativeType> = {
  text: { array: 'text[]', ...isText },
  varchar: { array: 'text[]', ...isText },
  name: { array: 'text[]', ...isText },
  bpchar: { array: 'bpchar[]', ...isText },
  citext: { array: null, ...isText },
  int2: { array: 'int2[]', holds: integerOf(16n), isExact: true },
  int4: { array: 'int4[]', holds: integerOf(32n), isExact: true },
  int8: { array: 'int8[]', holds: integerOf(64n), isExact: true },
  numeric: {
    array: 'numeric[]',
    holds: text => /^-?\d{1,100}(?:\.\d{1,100})?$/.test(text),
    isExact: true,
  },
  uuid: {
    array: 'uuid[]',
    holds: text => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text),
    isExact: true,
  },
}

export function keyComparison(type: string): KeyComparison | null {
  return NATIVE_TYPES[type] ?? null
}

function integerOf(bits: bigint): (text: string) => boolean {
  const limit = 1n << (bits - 1n)
  return text => {
    if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return false
    const value = BigInt(text)
    return value >= -limit && value < limit
  }
}

// The statement

/** A statement with the values of its parameters. */
export interface RowsStatement extends Statement {
  values: unknown[]
}

/**
 * The statement that returns the rows of a query.
 * @param rowLimit in bytes; little more of a longer text is sent, as rows are held in memory one after the other
 */
export function rowsStatement(query: HrQuery, rowLimit: number): RowsStatement {
  const values = conditionsOf(query).map(condition =>
    isLike(condition) ? likePatterns(condition) : condition.values,
  )
  return { ...selectRows(query, selectList(query, rowLimit + 1), SQL), values }
}

/** The statement that copies the rows of a query to the client. COPY takes no parameters: a query with keys cannot be copied. */
export function copyStatement(query: HrQuery): Statement {
  return selectRows(query, selectList(query), SQL, { before: 'copy (', after: ') to stdout' })
}

const SQL: RowsSql = {
  key: keyText,
  since: (column, since) => `${m(column)} >= '${since.toISOString()}'::timestamptz::${column.type}`,
  // The earliest timestamp means none.
  undated: column => `${m(column)} is null or ${m(column)} = '-infinity'`,
  count: 'count(*)',
}

function keyText(column: MappedColumn, condition: KeyCondition, index: number): string {
  const { by } = condition
  const parameter = `$${index + 1}`
  if (isLike(condition)) return `lower(btrim(${m(column)}::text)) like any(${parameter}::text[])`
  const native = by === 'type' && NATIVE_TYPES[column.type]
  if (!native) return `btrim(${m(column)}::text) = any(${parameter}::text[])`
  const keys = native.array === null ? parameter : `${parameter}::${native.array}`
  return `${m(column)} = any(${keys})`
}

/**
 * The SELECT list that prints columns of the mapping `m` as canonical text. A column whose type prints right by itself is not
 * cast: casts would dominate a scan of a million rows.
 */
function selectList(
  { columns: names, mapping: { columns }, defaultEnterprise, counted }: HrQuery,
  longest?: number,
): string[] {
  // A collation of HR's may group codes that are written differently.
  const grouped = (text: string) => (counted ? `${text} collate "C"` : text)
  return names.map(name => {
    const column = columns.get(name)
    if (name === 'enterprise_code') return grouped(enterpriseText(column, defaultEnterprise))
    if (!column) return 'null'
    const text = columnText(name, column)
    return longest === undefined || isShort(column.type) ? text : grouped(`left(${text}::text, ${longest})`)
  })
}

/** Whether all values of a type are short. The others are texts, or print like one. */
function isShort(type: string): boolean {
  return !(TEXTS.has(type) || type.startsWith('_') || isJson(type))
}

function enterpriseText(column: MappedColumn | undefined, defaultEnterprise: string): string {
  const otherwise = pg.escapeLiteral(defaultEnterprise)
  if (!column) return `${otherwise}::text`
  const trimmed = `btrim(${m(column)}::text)`
  if (defaultEnterprise === '') return `coalesce(${trimmed}, '')`
  return `coalesce(nullif(${trimmed}, ''), ${otherwise})`
}

function columnText(name: string, column: MappedColumn): string {
  const { type } = column
  const plain = m(column)
  if (name === 'userid') return INTEGERS.has(type) ? plain : `btrim(${plain}::text)`
  if (name === 'active' && TEXTS.has(type)) return `btrim(${plain}::text)`
  if (name === 'updated_at') return type === 'timestamptz' ? plain : `${plain}::timestamptz`
  // Infinity means none.
  if (name === 'closed_at')
    return `case when isfinite(${plain}) then extract(epoch from ${plain}::timestamptz) end`
  if (DAYS.has(name) && type.startsWith('timestamp')) return `${plain}::date`
  if (type.startsWith('_')) return arrayText(plain)
  if (isJson(type)) return `case when ${type}_typeof(${plain}) <> 'null' then ${plain} end`
  if (type === 'bpchar') return `${plain}::text`
  if (type === 'numeric') return `trim_scale(${plain})`
  return plain
}

/** A server of another encoding could not read a full-width comma in the statement. */
const FULL_WIDTH_COMMA = `decode('efbc8c', 'hex')`

/** The items with commas between them; as JSON if one has a comma itself, so that it does not become two. */
function arrayText(array: string): string {
  const items = `array_to_string(${array}, '')`
  return `case when strpos(${items}, ',') > 0 or position(${FULL_WIDTH_COMMA} in convert_to(${items}, 'UTF8')) > 0
    then to_json(${array})::text else array_to_string(${array}, ',') end`
}

const m = (column: MappedColumn) => reference(column, POSTGRES)
