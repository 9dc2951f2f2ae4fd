import { likeBeginning, likeText } from '../lib/text.ts'
import type { HrQuery, KeyCondition } from './server.ts'
import { type Dialect, type MappedColumn, type MappingFile, quotedName } from './statement.ts'

/** A statement around the SELECT of a mapping, which it calls `m`: the part that is the same in every server's SQL. */
export interface Statement {
  text: string
  mapping: MappingFile
  /** The text before the mapping's own: servers count positions from the beginning of the statement. */
  before: string
}

export function wrapped({ file, sql }: MappingFile, before: string, after: string): Statement {
  return { text: `${before}${sql}${after}`, mapping: { file, sql }, before }
}

/** How a server's SQL writes the parts of a query that differ. */
export interface RowsSql {
  /** Whether the column has one of the condition's values. */
  key(column: MappedColumn, condition: KeyCondition, index: number): string
  /** Whether `updated_at` is at or after a time: compared in the column's own type, so that an index on it serves. */
  since(updatedAt: MappedColumn, since: Date): string
  /** Whether `updated_at` holds no time. */
  undated(updatedAt: MappedColumn): string
  /** The number of rows in a group. */
  count: string
  /** What makes rows distinct when they are counted; default: the columns of the list. */
  groups?: readonly string[]
}

/**
 * The statement that returns the rows of a query.
 * @param list what it returns of a row
 * @param around text before and after the statement itself
 */
export function selectRows(
  query: HrQuery,
  list: readonly string[],
  sql: RowsSql,
  around = { before: '', after: '' },
): Statement {
  const { mapping, where = [], any = [], since, datedOnly = false, counted = false, limit } = query
  const texts = conditionsOf(query).map((condition, i) =>
    sql.key(comparedColumn(query, condition), condition, i),
  )
  const conditions = texts.slice(0, where.length)
  if (any.length > 0) conditions.push(`(${texts.slice(where.length).join(' or ')})`)
  const updatedAt = mapping.columns.get('updated_at')
  if (updatedAt && since) {
    const dated = sql.since(updatedAt, since)
    conditions.unshift(datedOnly ? dated : `(${dated} or ${sql.undated(updatedAt)})`)
  }
  const groups = sql.groups ?? list.map((_, i) => i + 1)
  const clauses = [
    conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '',
    counted ? ` group by ${groups.join(', ')}` : '',
    limit === undefined ? '' : ` limit ${limit}`,
  ]
  const returned = counted ? [...list, sql.count] : list
  return wrapped(
    mapping,
    `${around.before}select ${returned.join(', ')} from (\n`,
    `\n) m${clauses.join('')}${around.after}`,
  )
}

/** All conditions of a query, in the order in which they are numbered. */
export function conditionsOf({ where = [], any = [] }: HrQuery): KeyCondition[] {
  return [...where, ...any]
}

/** Whether a condition is one of `likePatterns`. */
export function isLike({ by }: KeyCondition): boolean {
  return by === 'beginning' || by === 'word' || by === 'end'
}

/** Patterns for LIKE of texts in lower case that begin or end with one of the values, or of which a word begins so. */
export function likePatterns({ by, values }: KeyCondition): string[] {
  return values.flatMap(value => {
    if (by === 'end') return [`%${likeText(value)}`]
    return by === 'word' ? [likeBeginning(value), `% ${likeBeginning(value)}`] : [likeBeginning(value)]
  })
}

function comparedColumn({ mapping }: HrQuery, { column }: KeyCondition): MappedColumn {
  const mapped = mapping.columns.get(column)
  if (!mapped) throw new Error(`${mapping.file} maps no ${column} to compare`)
  return mapped
}

/** A column of the mapping `m`. */
export function reference(column: MappedColumn, dialect: Dialect): string {
  return `m.${quotedName(column.source, dialect)}`
}
