import { DAYS } from '../canonical.ts'
import { isLike, likePatterns, type RowsSql, reference, type Statement, selectRows } from '../rows.ts'
import type { ColumnShape, HrQuery } from '../server.ts'
import type { MappedColumn } from '../statement.ts'
import { DUCKDB, duckDb, literal } from './duckdb.ts'

/** DuckDB's statements for the rows of a mapping, the printing of its types, and the tables that a mapping reads. */

// Types, as DuckDB writes them: `VARCHAR`, `DECIMAL(12,2)`, `VARCHAR[]`, `STRUCT("a" INTEGER)`

const isList = (type: string) => type.endsWith(']')
const isObject = (type: string) => /^(?:STRUCT|MAP)\(/.test(type) && !isList(type)
const isMoment = (type: string) => /^(?:DATE$|TIMESTAMP)/.test(type) && !isList(type)
const OTHER = /^(?:BLOB|BIT|INTERVAL|UNION|GEOMETRY|VARIANT)\b/

export function shapeOf(type: string): ColumnShape {
  if (isMoment(type)) return 'moment'
  if (isList(type)) return OTHER.test(type) ? 'other' : 'array'
  if (type === 'JSON' || isObject(type)) return 'json'
  return OTHER.test(type) ? 'other' : 'plain'
}

// The statement

/** The statement that returns a query's rows, every value as canonical text in bytes: a text would lose byte order marks. */
export function rowsStatement(query: HrQuery): Statement {
  const list = query.columns.map((name, i) => `encode(${textOf(query, name)}) as c${i}`)
  return selectRows(query, list, sqlOf(query))
}

/** COPY's end-of-data marker: DuckDB ends a result that fails once it has begun as if all rows had been read. */
export const END_OF_LINES = '\\.\n'

/**
 * The statement that returns each row as one value, a line of COPY text in bytes, and then `END_OF_LINES`. A line without characters to escape, as
 * nearly all are, is built without checking its values one by one.
 */
export function linesStatement(query: HrQuery): Statement {
  const names = query.columns.map((_, i) => `c${i}`)
  const all = `concat(${names.join(', ')})`
  const hasSpecial = ESCAPES.map(([character]) => `contains(l, ${character})`).join(' or ')
  const list = query.columns.map((name, i) => `${textOf(query, name)} as c${i}`)
  const before = `
    select encode(case when ${hasSpecial} then ${line(names.map(escaped))} else ${line(names)} end || chr(10))
    from (select *, ${all} as l from (`
  return selectRows(query, list, sqlOf(query), {
    before,
    after: `)) union all select encode(${literal(END_OF_LINES)})`,
  })
}

function sqlOf(query: HrQuery): RowsSql {
  return {
    // Keys are compared as they print: a delivery has no index that another comparison could use.
    key: (_, condition) => {
      const text = textOf(query, condition.column)
      if (!isLike(condition)) return `${text} in (${condition.values.map(literal).join(', ')})`
      const like = (pattern: string) => `lower(trim(${text})) like ${literal(pattern)} escape '\\'`
      return `(${likePatterns(condition).map(like).join(' or ')})`
    },
    since: (column, since) => `${moment(column)} >= ${literal(since.toISOString())}::timestamptz`,
    undated: column => `${moment(column)} is null`,
    count: 'encode(count(*)::varchar) as n',
  }
}

/** COPY text's escapes for characters, the backslash first. */
const ESCAPES = [
  ["'\\'", "'\\\\'"],
  ...[...'btnvfr'].map((letter, i) => [`chr(${[8, 9, 10, 11, 12, 13][i]})`, `'\\${letter}'`]),
] as [character: string, written: string][]

function escaped(value: string): string {
  return ESCAPES.reduce((text, [character, written]) => `replace(${text}, ${character}, ${written})`, value)
}

function line(values: string[]): string {
  return `concat_ws(chr(9), ${values.map(value => `coalesce(${value}, '\\N')`).join(', ')})`
}

/** The canonical text of a column of the mapping `m`. */
function textOf({ mapping, defaultEnterprise }: HrQuery, name: string): string {
  const column = mapping.columns.get(name)
  if (name === 'enterprise_code') return enterpriseText(column, defaultEnterprise)
  if (!column) return 'null::varchar'
  const { type } = column
  const value = m(column)
  if (name === 'userid')
    return type === 'VARCHAR'
      ? `case when contains(${value}, chr(0)) then null else trim(${value}, ' ') end`
      : nameText(value, type)
  if (name === 'active' && type === 'VARCHAR') return `trim(${value}, ' ')`
  if (name === 'updated_at') return `${moment(column)}::varchar`
  if (name === 'closed_at') return `epoch(${moment(column)})::varchar`
  if (DAYS.has(name) && isMoment(type)) return `${value}::date::varchar`
  return plainText(value, type)
}

function enterpriseText(column: MappedColumn | undefined, defaultEnterprise: string): string {
  const otherwise = literal(defaultEnterprise)
  if (!column) return otherwise
  const text = nameText(m(column), column.type)
  return `coalesce(nullif(trim(replace(${text}, chr(0), ''), ' '), ''), ${otherwise})`
}

/** A decimal that is a name keeps its zeros. */
function nameText(value: string, type: string): string {
  return type.startsWith('DECIMAL') ? `${value}::varchar` : plainText(value, type)
}

/** A timestamp without a zone is in China's time, the session's zone. */
function moment(column: MappedColumn): string {
  return `${m(column)}::timestamp${column.type.includes('ZONE') ? 'tz' : '::timestamptz'}`
}

/** The items with commas between them; as JSON if one has a comma itself, so that it does not become two. */
function listText(list: string): string {
  return `case when regexp_matches(array_to_string(${list}, ''), '[,，]') then to_json(${list})::varchar
    else array_to_string(${list}, ',') end`
}

/** How values of a type print in any mapped column. */
function plainText(value: string, type: string): string {
  if (type === 'VARCHAR') return value
  if (isList(type)) return listText(`${value}::varchar[]`)
  if (type === 'JSON') return `case when json_type(${value}) <> 'NULL' then ${value}::varchar end`
  if (isObject(type)) return `to_json(${value})::varchar`
  if (type === 'BOOLEAN') return `case ${value} when true then 't' when false then 'f' end`
  if (/^DECIMAL\(\d+,[1-9]/.test(type)) return `rtrim(rtrim(${value}::varchar, '0'), '.')`
  if (type === 'DOUBLE') return doubleText(value)
  // Through its text: cast to a double it would gain digits.
  if (type === 'FLOAT') return doubleText(`${value}::varchar::double`)
  if (/^TIMESTAMP_/.test(type)) return `${value}::timestamp::varchar`
  return `${value}::varchar`
}

/** DuckDB writes 1e15 with all its digits, and whole numbers with `.0`. */
function doubleText(value: string): string {
  return `case when isnan(${value}) then 'NaN'
    when isinf(${value}) then case when ${value} > 0 then 'Infinity' else '-Infinity' end
    when abs(${value}) >= 1e15 and abs(${value}) < 1e16
      then rtrim(regexp_replace(${value}::hugeint::varchar, '^(-?\\d)(\\d*?)0*$', '\\1.\\2'), '.') || 'e+15'
    else regexp_replace(${value}::varchar, '\\.0$', '') end`
}

const m = (column: MappedColumn) => reference(column, DUCKDB)

// What a SELECT reads and calls, by DuckDB's own parse of its text, which is not run

interface Parse {
  /** Lower-case names of the tables that it reads; null when the text does not tell, so that it may be any of them. */
  tables: ReadonlySet<string> | null
  /** A function that it calls and that does more than read. */
  acting: string | undefined
}

/** Settings are locked, but not against these functions; those that run a text as SQL could call them. */
const ACTS =
  /^(?:(?:en|dis)able_\w+|truncate_duckdb_logs|write_log|sleep_ms|pg_sleep|(?:force_)?checkpoint|query|json_execute_serialized_sql)$/

/** Number of cached statements. */
const KEPT = 64
const known = new Map<string, Promise<Parse>>()

export function parse(sql: string): Promise<Parse> {
  const found = known.get(sql) ?? parsed(sql)
  known.delete(sql)
  known.set(sql, found)
  found.catch(() => known.delete(sql))
  const [oldest] = known.keys()
  if (known.size > KEPT && oldest !== undefined) known.delete(oldest)
  return found
}

async function parsed(sql: string): Promise<Parse> {
  const { DuckDBInstance } = await duckDb()
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  try {
    const connection = await instance.connect()
    const reader = await connection.runAndReadAll(`select json_serialize_sql(${literal(sql)})`)
    connection.closeSync()
    // The value of 1e400 is no JSON. In a text of the SELECT the quotes would be escaped.
    const tree = String(reader.getRows()[0]?.[0]).replace(/"value":-?Infinity/g, '"value":null')
    return readTree(JSON.parse(tree))
  } finally {
    instance.closeSync()
  }
}

/** The function whose argument names a table. */
const NAMING = 'query_table'

/** A node of DuckDB's parse, as far as it matters here. */
interface TreeNode {
  type?: unknown
  table_name?: unknown
  schema_name?: unknown
  function_name?: unknown
  cte_map?: { map: { key: string; value: unknown }[] }
  cte_name?: string
}

/** A text that is no SELECT has no tree. */
function readTree(tree: { error: boolean }): Parse {
  const tables = new Set<string>()
  const functions = new Set<string>()
  /** @param hidden names that mean a common table expression there, and no table */
  const visit = (node: unknown, hidden: readonly string[]): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, table_name, schema_name, function_name, cte_map, cte_name, ...children } = node as TreeNode
    let known = hidden
    // One that is not recursive does not see itself: `with staff as (select * from staff)` reads the table.
    for (const { key, value } of cte_map?.map ?? []) {
      visit(value, known)
      known = [...known, key.toLowerCase()]
    }
    const table = String(table_name).toLowerCase()
    if (type === 'BASE_TABLE' && (schema_name !== '' || !known.includes(table))) tables.add(table)
    if (function_name !== undefined) functions.add(String(function_name).toLowerCase())
    for (const [name, child] of Object.entries(children)) {
      const isRepeated = type === 'RECURSIVE_CTE_NODE' && name === 'right'
      visit(child, isRepeated ? [...known, String(cte_name).toLowerCase()] : known)
    }
  }
  visit(tree, [])
  const isSure = !tree.error && !functions.has(NAMING)
  return { tables: isSure ? tables : null, acting: [...functions].find(name => ACTS.test(name)) }
}
