import { CHINA_MS } from '../../lib/text.ts'
import {
  conditionsOf,
  isLike,
  likePatterns,
  reference,
  type Statement,
  selectRows,
  wrapped,
} from '../rows.ts'
import type { HrQuery, KeyCondition } from '../server.ts'
import type { Dialect, MappedColumn } from '../statement.ts'
import { driver } from './driver.ts'
import { keyComparison } from './types.ts'

/** MySQL's statements for the rows of a mapping. */

export const MYSQL: Dialect = {
  beginnings: ['select', 'with'],
  quotes: [
    { opening: "'", hasEscapes: true },
    { opening: '"', hasEscapes: true },
    { opening: '`', hasEscapes: false },
  ],
  nameQuote: '`',
  hasDollarQuotes: false,
  // Two hyphens begin a comment only with a blank or a control character after them.
  lineComment: /(?:#|--(?=[\0-\x20\x7f]|$))[^\n]*/y,
  nestsComments: false,
  // And optimizer hints, which override the limits and settings of the session.
  executedComment: /\/\*(?:M?!|\+)/y,
  acts: /\b(?:(?:sleep|benchmark|get_lock|release_(?:all_)?locks?|load_file|(?:master|source)_(?:pos|gtid)_wait|wait_\w+|(?:wsrep|service|version_tokens)_\w+) \(|lock in share mode\b|for (?:share|update)\b)/,
}

/**
 * The statement that streams the rows of a query. For all rows it is the mapping's SELECT as it is: wrapped, MariaDB would not
 * keep its order, and neither server could send a row of a union before it had the last.
 */
export function scanStatement(query: HrQuery): Statement {
  const types = mappedColumns(query).map(({ type }) => type)
  const isWhole =
    query.since === undefined &&
    conditionsOf(query).length === 0 &&
    !query.counted &&
    !types.includes('float')
  return isWhole ? wrapped(query.mapping, '', '') : rowsStatement(query)
}

/**
 * The statement that returns the rows of a query: those of its columns that are mapped.
 * @param isConverted compare keys in UTF-8, whatever the character set of their column, without an index
 */
export function rowsStatement(query: HrQuery, isConverted = false): Statement {
  const columns = mappedColumns(query)
  // The values of a group have equal bytes, so any of them will do; an aggregate would lose the zeros of ZEROFILL.
  const list = columns.map(column => `${valueText(column)} as \`${column.source}\``)
  return selectRows(query, list, {
    key: (column, condition) => keyText(column, condition, isConverted),
    since: (column, since) => `${m(column)} >= ${momentText(since, column.type)}`,
    // A zero date means none. An index on the column serves all three.
    undated: column => `${m(column)} is null or ${m(column)} = 0`,
    count: 'count(*)',
    groups: columns.map(column => `cast(convert(${m(column)} using utf8mb4) as binary)`),
  })
}

function mappedColumns({ mapping, columns }: HrQuery): MappedColumn[] {
  return columns.flatMap(name => mapping.columns.get(name) ?? [])
}

/** A FLOAT prints with six digits, whatever its value; in a computation it is a double. */
function valueText(column: MappedColumn): string {
  return column.type === 'float' ? `${m(column)} + 0e0` : m(column)
}

function keyText(column: MappedColumn, condition: KeyCondition, isConverted: boolean): string {
  const { by, values } = condition
  const plain = m(column)
  const texts = `(${values.map(value => driver().escape(value)).join(', ')})`
  const converted = `convert(${plain} using utf8mb4)`
  if (isLike(condition)) {
    const patterns = likePatterns(condition).map(pattern => driver().escape(pattern))
    return `(${patterns.map(pattern => `lower(trim(${converted})) like ${pattern}`).join(' or ')})`
  }
  if (by === 'text') return `trim(${converted}) collate utf8mb4_bin in ${texts}`
  if (column.type !== 'uuid' && keyComparison(column.type)?.isExact)
    return `${plain} in (${values.join(', ')})`
  return `${isConverted ? converted : plain} in ${texts}`
}

/** A time in China's zone, as a literal for a column of this type, so that an index on it serves. */
function momentText(moment: Date, type: string): string {
  const inChina = new Date(moment.getTime() + CHINA_MS).toISOString()
  return type === 'date' ? `'${inChina.slice(0, 10)}'` : `'${inChina.slice(0, 23).replace('T', ' ')}'`
}

const m = (column: MappedColumn) => reference(column, MYSQL)
