import { escape as quote } from 'mysql2'
import type { MappedColumn } from '../mapping.ts'
import type { HrQuery, KeyCondition } from '../server.ts'
import type { Dialect } from '../statement.ts'
import type { Statement } from './errors.ts'
import { keyComparison } from './types.ts'

/** How MySQL is asked for the rows of a mapping. */

export const MYSQL: Dialect = {
  beginnings: ['select', 'with'],
  quotes: [
    { opening: "'", hasEscapes: true },
    { opening: '"', hasEscapes: true },
    { opening: '`', hasEscapes: false },
  ],
  hasDollarQuotes: false,
  // Two hyphens begin a comment only with a blank after them.
  lineComment: /#|--(?=\s|$)/y,
  nestsComments: false,
  executedComment: /\/\*M?!/y,
}

/**
 * The statement that returns the rows of a query: those of its columns that are mapped, in their order.
 * @param timeoutMs after which the server stops it; null: never
 */
export function rowsStatement(query: HrQuery, timeoutMs: number | null): Statement {
  const { mapping, columns: names, where = [], since, counted } = query
  const columns = mappedColumns(query).map(name => mapping.columns.get(name) as MappedColumn)
  const list = columns.map(column => {
    // A group is of equal bytes, of which any value does.
    return counted ? `min(${expressionOf(column)})` : expressionOf(column)
  })
  if (counted) list.push('count(*)')
  const updated = mapping.columns.get('updated_at')
  const conditions = where.map(condition => conditionText(query, condition))
  if (updated && since) conditions.unshift(`${reference(updated)} >= ${momentText(since, updated.type)}`)
  const groups = columns.map(column => `cast(convert(${reference(column)} using utf8mb4) as binary)`)
  return wrapped(
    mapping,
    `${limited(timeoutMs)} ${list.join(', ') || 'null'} from (\n`,
    `\n) m${conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''}${
      counted && names.length > 0 ? ` group by ${groups.join(', ')}` : ''
    }`,
  )
}

/** The names of a query's columns that are mapped. */
export function mappedColumns({ mapping, columns }: HrQuery): string[] {
  return columns.filter(name => mapping.columns.has(name))
}

/** A statement around the text of a mapping. */
export function wrapped(
  { file, sql }: { file: string; sql: string },
  before: string,
  after: string,
): Statement {
  return { text: `${before}${sql}${after}`, mapping: { file, sql, offset: before.length } }
}

/** MariaDB reads a comment that begins with M!, MySQL a hint; each takes the other's for a comment. */
function limited(timeoutMs: number | null): string {
  if (timeoutMs === null) return 'select'
  return `/*M!100102 set statement max_statement_time = ${timeoutMs / 1000} for */ select /*+ max_execution_time(${Math.ceil(timeoutMs)}) */`
}

/** A FLOAT prints with six digits, whatever it holds; in a calculation it is a double. */
function expressionOf(column: MappedColumn): string {
  return column.type === 'float' ? `${reference(column)} + 0e0` : reference(column)
}

function conditionText({ mapping }: HrQuery, { column, by, values }: KeyCondition): string {
  const mapped = mapping.columns.get(column)
  if (!mapped) throw new Error(`${mapping.file} maps no ${column} to compare`)
  const isNumber = keyComparison(mapped.type)?.isExact
  if (by === 'type') return `${reference(mapped)} in (${(isNumber ? values : values.map(text)).join(', ')})`
  return `trim(convert(${reference(mapped)} using utf8mb4)) collate utf8mb4_bin in (${values.map(text).join(', ')})`
}

function text(value: string): string {
  return quote(value)
}

/** A moment in China's time, as a literal for a column of this type, so that an index on it serves. */
function momentText(moment: Date, type: string): string {
  const inChina = new Date(moment.getTime() + 8 * 3_600_000).toISOString()
  return type === 'date' ? `'${inChina.slice(0, 10)}'` : `'${inChina.slice(0, 23).replace('T', ' ')}'`
}

/** The column in the mapping. Its name is one of a fixed list, so it needs no more than the quotes. */
function reference(column: MappedColumn): string {
  return `m.\`${column.source}\``
}
