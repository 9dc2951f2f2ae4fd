import { parseActive } from '../directory/field-rules.ts'
import { HrDataError, MappingError } from '../hr/errors.ts'
import type { Mapping } from '../hr/mapping.ts'
import type { HrServer, HrTable } from '../hr/server.ts'
import { type Dialect, quotedName, quotedText } from '../hr/statement.ts'
import { genderOf, type HrColumn } from './guess.ts'

/** A table of HR's becomes a first SELECT: what is in it, and how the SELECT is written. */

/** Rows whose values are looked at. */
const SAMPLED = 200

/** The columns of a table, each with values of some rows. */
export async function readColumns(
  server: HrServer,
  { name, sql, readable: named }: HrTable,
): Promise<HrColumn[]> {
  const list = named?.map(column => quotedName(column, server.dialect)).join(', ') ?? '*'
  const described = await server.reader.describe({ file: name, sql: `select ${list} from ${sql}` })
  const readable = described.filter(({ shape }) => shape !== 'other')
  const mapping = plainMapping(server, { name, sql }, readable)
  const columns = [...mapping.columns.keys()]
  const rows =
    columns.length === 0
      ? []
      : await server.reader.rows({ mapping, columns, defaultEnterprise: '', limit: SAMPLED })
  return described.map(column => {
    const place = readable.indexOf(column)
    const values = place === -1 ? [] : rows.map(row => row[place] ?? '').filter(value => value.trim() !== '')
    return { ...column, values }
  })
}

/** Different values of a column that are worth asking about. */
const MOST_VALUES = 12

/**
 * The different values of a column, those that most rows have first; null where it cannot be a state: it has too many of
 * them, or hardly anybody shares one, so that they may be names.
 */
export async function statesOf(server: HrServer, table: HrTable, column: HrColumn): Promise<string[] | null> {
  const mapping = plainMapping(server, table, [column])
  const rows = await server.reader
    .rows({
      mapping,
      columns: [...mapping.columns.keys()],
      defaultEnterprise: '',
      counted: true,
      limit: MOST_VALUES + 2,
    })
    .catch(error => {
      // Of some types the server cannot tell what is equal: a json, a point.
      if (error instanceof MappingError || error instanceof HrDataError) return []
      throw error
    })
  const counts = rows
    .flatMap(([value, count]) => (value?.trim() ? [{ value, count: Number(count) }] : []))
    .sort((a, b) => b.count - a.count)
  const values = counts.map(({ value }) => value)
  if (values.length === 0 || values.length > MOST_VALUES) return null
  const shared = counts.reduce((sum, { count }) => sum + count, 0) >= 2 * values.length
  return shared || values.every(value => parseActive(value) !== undefined) ? values : null
}

/** Columns of a table by names of ours, which need no quotes, so that they are read like those of any mapping. */
function plainMapping(
  server: HrServer,
  table: Pick<HrTable, 'name' | 'sql'>,
  columns: readonly { name: string; type: string }[],
): Mapping {
  const named = columns.map(({ name, type }, i) => ({ name, type, source: `c${i + 1}` }))
  const list = named.map(({ name, source }) => `${quotedName(name, server.dialect)} as ${source}`)
  return {
    file: table.name,
    sql: `select ${list.join(', ')} from ${table.sql}`,
    columns: new Map(named.map(({ source, type }) => [source, { source, type }])),
  }
}

/** How HR tells who is in service, or which departments are open. */
export type ActiveRule =
  | { by: 'nothing' }
  /** A column that is true or false. */
  | { by: 'flag'; column: string }
  /** A column whose values, some of them, mean: in service. Any other value means: has left. */
  | { by: 'states'; column: string; active: readonly string[] }
  /** A column whose values, some of them, mean: closed. Any other value means: open. */
  | { by: 'closed states'; column: string; closed: readonly string[] }
  /** A column with the day of leaving, or with nothing, or with a day long ago that stands for nothing. */
  | { by: 'day'; column: Pick<HrColumn, 'name' | 'type' | 'shape'> }

/** What a column of a SELECT becomes. */
export interface Chosen {
  column: HrColumn
  meaning: string
}

/** The SELECT as a file has it. @param additions expressions with their names, after those of the columns */
export function selectOf(
  table: HrTable,
  chosen: readonly Chosen[],
  active: ActiveRule,
  dialect: Dialect,
  additions: readonly string[] = [],
): string {
  const lines = chosen.map(({ column, meaning }) => `${expressionOf(column, meaning, dialect)} as ${meaning}`)
  const rule = activeExpression(active, dialect)
  if (rule !== null) lines.splice(1, 0, `${rule} as active`)
  lines.push(...additions)
  return `select\n${lines.map(line => `  ${line}`).join(',\n')}\nfrom ${table.sql}\n`
}

function expressionOf({ name, values }: HrColumn, meaning: string, dialect: Dialect): string {
  const quoted = quotedName(name, dialect)
  const words = [...new Set(values)]
  // As numbers of the platform's they can stay; as anything else that is known for sure they become them.
  if (meaning !== 'gender' || !words.some(word => genderOf(word) !== word)) return quoted
  const cases = words.filter(word => genderOf(word) !== null && genderOf(word) !== '3').sort()
  const whens = cases.map(word => `when ${quotedText(word, dialect)} then ${genderOf(word)}`)
  return whens.length === 0 ? quoted : `case ${quoted} ${whens.join(' ')} else 3 end`
}

function activeExpression(active: ActiveRule, dialect: Dialect): string | null {
  if (active.by === 'nothing') return null
  if (active.by === 'day') return dayExpression(active.column, dialect)
  const column = quotedName(active.column, dialect)
  if (active.by === 'flag') return column
  const list = (values: readonly string[]) => values.map(value => quotedText(value, dialect)).join(', ')
  if (active.by === 'states') return `case when ${column} in (${list(active.active)}) then 1 else 0 end`
  return `case when ${column} in (${list(active.closed)}) then 0 else 1 end`
}

/** The day itself is the last one in service. Many an HR system writes 0000-00-00 or 1900-01-01 for none. */
function dayExpression({ name, type, shape }: Pick<HrColumn, 'name' | 'type' | 'shape'>, dialect: Dialect) {
  const column = quotedName(name, dialect)
  const none = /char|text|name/.test(type) ? "''" : '0'
  const stays =
    shape === 'moment' ? `${column} >= current_date or ${column} < '1901-01-01'` : `${column} = ${none}`
  return `case when ${column} is null or ${stays} then 1 else 0 end`
}
