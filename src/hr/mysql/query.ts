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
  nameQuote: '`',
  hasDollarQuotes: false,
  // Two hyphens begin a comment only with a blank after them.
  lineComment: /#|--(?=\s|$)/y,
  nestsComments: false,
  executedComment: /\/\*M?!/y,
}

/**
 * The statement that streams the rows of a query. Where it wants all rows that is the mapping's SELECT as it is: around it,
 * MariaDB would not keep its order, and neither server could send a row of a union before it had the last.
 */
export function scanStatement(query: HrQuery): Statement {
  const types = mappedColumns(query).map(({ type }) => type)
  const isWhole = query.since === undefined && !query.where && !query.counted && !types.includes('float')
  return isWhole ? wrapped(query.mapping, '', '') : rowsStatement(query)
}

/**
 * The statement that returns the rows of a query: those of its columns that are mapped.
 * @param isConverted keys are compared in UTF-8, which no index serves, whatever character set their column has
 */
export function rowsStatement(query: HrQuery, isConverted = false): Statement {
  const { mapping, where = [], since, counted, limit } = query
  const columns = mappedColumns(query)
  const list = columns.map(column => {
    // A group is of equal bytes, of which any value does.
    const value = counted ? `min(${valueText(column)})` : valueText(column)
    return `${value} as \`${column.source}\``
  })
  const updated = mapping.columns.get('updated_at')
  const conditions = where.map(condition => conditionText(query, condition, isConverted))
  if (updated && since) conditions.unshift(`${reference(updated)} >= ${momentText(since, updated.type)}`)
  const groups = columns.map(column => `cast(convert(${reference(column)} using utf8mb4) as binary)`)
  return wrapped(
    mapping,
    `select ${[...list, ...(counted ? ['count(*)'] : [])].join(', ')} from (\n`,
    `\n) m${conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''}${
      counted ? ` group by ${groups.join(', ')}` : ''
    }${limit === undefined ? '' : ` limit ${limit}`}`,
  )
}

function mappedColumns({ mapping, columns }: HrQuery): MappedColumn[] {
  return columns.flatMap(name => mapping.columns.get(name) ?? [])
}

/** A statement around the text of a mapping. */
export function wrapped(
  { file, sql }: { file: string; sql: string },
  before: string,
  after: string,
): Statement {
  return { text: `${before}${sql}${after}`, mapping: { file, sql, offset: before.length } }
}

/** A FLOAT prints with six digits, whatever it holds; in a calculation it is a double. */
function valueText(column: MappedColumn): string {
  return column.type === 'float' ? `${reference(column)} + 0e0` : reference(column)
}

function conditionText(
  { mapping }: HrQuery,
  { column, by, values }: KeyCondition,
  isConverted: boolean,
): string {
  const mapped = mapping.columns.get(column)
  if (!mapped) throw new Error(`${mapping.file} maps no ${column} to compare`)
  const plain = reference(mapped)
  const texts = `(${values.map(value => quote(value)).join(', ')})`
  const converted = `convert(${plain} using utf8mb4)`
  if (by === 'text') return `trim(${converted}) collate utf8mb4_bin in ${texts}`
  if (keyComparison(mapped.type)?.isExact) return `${plain} in (${values.join(', ')})`
  return `${isConverted ? converted : plain} in ${texts}`
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
