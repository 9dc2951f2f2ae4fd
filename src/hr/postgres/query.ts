import pg from 'pg'
import type { ColumnShape, HrQuery, KeyComparison, KeyCondition } from '../server.ts'
import type { Dialect, MappedColumn } from '../statement.ts'

/** PostgreSQL's statements for the rows of a mapping, and the printing and comparison of its types. */

export const POSTGRES: Dialect = {
  beginnings: ['select', 'with', 'values', 'table'],
  quotes: [
    { opening: "e'", hasEscapes: true },
    { opening: "E'", hasEscapes: true },
    { opening: "'", hasEscapes: false },
    { opening: '"', hasEscapes: false },
  ],
  nameQuote: '"',
  hasDollarQuotes: true,
  lineComment: /--[^\n\r]*/y,
  nestsComments: true,
}

// Types, by their names in pg_type, such as `int4`; array types begin with an underscore

const MOMENTS = new Set(['date', 'timestamp', 'timestamptz'])
const UNFIT = new Set(['bytea', 'record', 'xml'])
const TEXTS = new Set(['text', 'varchar', 'bpchar', 'citext', 'name'])
const INTEGERS = new Set(['int2', 'int4', 'int8'])
const DAYS = new Set(['birth_day', 'entry_day'])

export function shapeOf(type: string): ColumnShape {
  if (MOMENTS.has(type)) return 'moment'
  if (type.startsWith('_')) return 'array'
  if (type === 'json' || type === 'jsonb') return 'json'
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

/** A statement around the text of a mapping, which it calls `m`. */
export interface Statement {
  text: string
  values: unknown[]
  /** For explaining errors: file and text of the mapping, and the length of the statement before it. */
  mapping: { file: string; sql: string; offset: number }
}

/**
 * The statement that returns the rows of a query.
 * @param rowLimit in bytes; little more of a longer text is sent, as rows are held in memory one after the other
 */
export function rowsStatement(query: HrQuery, rowLimit: number): Statement {
  const { where = [], counted, limit } = query
  const conditions = where.map((condition, i) => conditionText(query, condition, `$${i + 1}`))
  const values = where.map(condition => condition.values)
  const list = `${selectList(query, rowLimit + 1)}${counted ? ', count(*)' : ''}`
  const groups = counted ? ` group by ${query.columns.map((_, i) => i + 1).join(', ')}` : ''
  return statement(
    query,
    `select ${list} from (\n`,
    `\n) m${whereClause(query, conditions)}${groups}${limit === undefined ? '' : ` limit ${limit}`}`,
    values,
  )
}

/** The statement that copies the rows of a query to the client. COPY takes no parameters: a query with keys cannot be copied. */
export function copyStatement(query: HrQuery): Statement {
  const rest = `\n) m${whereClause(query, [])}) to stdout`
  return statement(query, `copy (select ${selectList(query)} from (\n`, rest, [])
}

function statement(query: HrQuery, before: string, after: string, values: unknown[]): Statement {
  const { file, sql } = query.mapping
  return { text: `${before}${sql}${after}`, values, mapping: { file, sql, offset: before.length } }
}

function whereClause({ mapping, since, datedOnly = false }: HrQuery, conditions: string[]): string {
  const column = mapping.columns.get('updated_at')
  // The constants have the column's own type, so that an index on it serves; the earliest timestamp means none.
  const recent =
    column && since
      ? [
          `(${reference(column)} >= '${since.toISOString()}'::timestamptz::${column.type}${datedOnly ? '' : ` or ${reference(column)} is null or ${reference(column)} = '-infinity'`})`,
        ]
      : []
  const all = [...recent, ...conditions]
  return all.length === 0 ? '' : ` where ${all.join(' and ')}`
}

function conditionText({ mapping }: HrQuery, { column, by }: KeyCondition, parameter: string): string {
  const mapped = mapping.columns.get(column)
  const native = by === 'type' && mapped && NATIVE_TYPES[mapped.type]
  if (!mapped) throw new Error(`${mapping.file} maps no ${column} to compare`)
  if (!native) return `btrim(${reference(mapped)}::text) = any(${parameter}::text[])`
  const keys = native.array === null ? parameter : `${parameter}::${native.array}`
  return `${reference(mapped)} = any(${keys})`
}

/**
 * The SELECT list that prints columns of the mapping `m` as canonical text. A column whose type prints right by itself is not
 * cast: casts would dominate a scan of a million rows.
 */
function selectList(
  { columns: names, mapping: { columns }, defaultEnterprise }: HrQuery,
  longest?: number,
): string {
  const texts = names.map(name => {
    const column = columns.get(name)
    if (name === 'enterprise_code') return enterpriseText(column, defaultEnterprise)
    if (!column) return 'null'
    const text = columnText(name, column)
    return longest === undefined || isShort(column.type) ? text : `left(${text}::text, ${longest})`
  })
  return texts.join(', ')
}

/** Whether all values of a type are short. The others are texts, or print like one. */
function isShort(type: string): boolean {
  return !(TEXTS.has(type) || type.startsWith('_') || type === 'json' || type === 'jsonb')
}

function enterpriseText(column: MappedColumn | undefined, defaultEnterprise: string): string {
  const otherwise = pg.escapeLiteral(defaultEnterprise)
  if (!column) return `${otherwise}::text`
  const trimmed = `btrim(${reference(column)}::text)`
  if (defaultEnterprise === '') return `coalesce(${trimmed}, '')`
  return `coalesce(nullif(${trimmed}, ''), ${otherwise})`
}

function columnText(name: string, column: MappedColumn): string {
  const { type } = column
  const plain = reference(column)
  if (name === 'userid') return INTEGERS.has(type) ? plain : `btrim(${plain}::text)`
  if (name === 'active') return TEXTS.has(type) ? `btrim(${plain}::text)` : plain
  if (name === 'updated_at') return type === 'timestamptz' ? plain : `${plain}::timestamptz`
  if (name === 'closed_at') return `extract(epoch from ${plain}::timestamptz)`
  if (DAYS.has(name) && type.startsWith('timestamp')) return `${plain}::date`
  if (type.startsWith('_')) return `array_to_string(${plain}, ',')`
  if (type === 'bpchar') return `${plain}::text`
  if (type === 'numeric') return `trim_scale(${plain})`
  return plain
}

/** The column in the mapping. Its name is one of a fixed list, so it needs no more than the quotes. */
function reference(column: MappedColumn): string {
  return `m."${column.source}"`
}
