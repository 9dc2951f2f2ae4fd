import { parseActive } from '../directory/field-rules.ts'
import { HrDataError, MappingError } from '../hr/errors.ts'
import type { HrServer, HrTable } from '../hr/server.ts'
import type { Mapping } from '../hr/statement.ts'
import { type Dialect, quotedName, quotedText } from '../hr/statement.ts'
import { type Gender, type HrColumn, isUndeleted } from './guess.ts'

/** Turns a table of HR into a first SELECT: examines the table, and writes the SELECT. */

/** Number of sampled rows. */
const SAMPLED = 200

/** The columns of a table, each with sample values. */
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

/** Most distinct values of a column that are worth asking about. */
const MOST_VALUES = 12
/** Most distinct days of leaving that are read. */
const DAYS = 400

/** The value that stands for null, an empty text, and blanks. */
export const EMPTY = ''

/** A value with the number of rows that have it. */
export interface CountedValue {
  value: string
  rows: number
}

/**
 * The distinct values of a column in all rows, most frequent first; null where it cannot be a state: it has too many of them,
 * or they are hardly ever shared, so that they may be names.
 */
export async function sharedValues(
  server: HrServer,
  table: HrTable,
  column: HrColumn,
): Promise<CountedValue[] | null> {
  const counts = await differentValues(server, table, column, MOST_VALUES + 2)
  const written = counts.filter(({ value }) => value !== EMPTY)
  const values = written.map(({ value }) => value)
  if (values.length === 0 || values.length > MOST_VALUES) return null
  const shared = written.reduce((sum, { rows }) => sum + rows, 0) >= 2 * values.length
  return shared || values.every(value => parseActive(value) !== undefined) ? counts : null
}

/** The column with the values of all rows, if they contain a day of leaving. */
export async function withDays(server: HrServer, table: HrTable, column: HrColumn): Promise<HrColumn> {
  const values = await differentValues(server, table, column, DAYS)
  return { ...column, values: values.flatMap(({ value }) => (value.trim() === '' ? [] : [value])) }
}

/** At most this many, the empty ones as one, most frequent first. */
async function differentValues(
  server: HrServer,
  table: HrTable,
  column: HrColumn,
  limit: number,
): Promise<CountedValue[]> {
  const mapping = plainMapping(server, table, [column])
  const rows = await server.reader
    .rows({ mapping, columns: [...mapping.columns.keys()], defaultEnterprise: '', counted: true, limit })
    .catch(noneIfRefused)
  const counts = new Map<string, number>()
  for (const [text, count] of rows) {
    // SQL's trim takes away nothing but blanks.
    const value = text === null || text === undefined || /^ *$/.test(text) ? EMPTY : text
    counts.set(value, (counts.get(value) ?? 0) + Number(count))
  }
  return [...counts].map(([value, rows]) => ({ value, rows })).sort((a, b) => b.rows - a.rows)
}

/** The server cannot compare some types for equality, such as json or point, and others not at all. */
function noneIfRefused(error: unknown): [] {
  if (error instanceof MappingError || error instanceof HrDataError) return []
  throw error
}

/** How many of all rows a rule takes for active; null where HR refuses it, or its values fit neither. */
export async function countActive(
  server: HrServer,
  table: HrTable,
  rule: ActiveRule,
): Promise<{ active: number; of: number } | null> {
  const expression = activeExpression(rule, server.dialect) ?? '1'
  const file = { file: table.name, sql: `select ${expression} as c1 from ${table.sql}` }
  const [column] = await server.reader.describe(file).catch(noneIfRefused)
  if (!column) return null
  const columns = new Map([['c1', { source: 'c1', type: column.type }]])
  const rows = await server.reader
    .rows({
      mapping: { ...file, columns },
      columns: ['c1'],
      defaultEnterprise: '',
      counted: true,
      limit: MOST_VALUES,
    })
    .catch(noneIfRefused)
  const count = { active: 0, of: 0 }
  for (const [value, n] of rows) {
    const isActive = parseActive(value)
    if (isActive === undefined) return null
    count.of += Number(n)
    if (isActive) count.active += Number(n)
  }
  return count
}

/** The rule for the rows that HR does not mark as deleted in a column with a flag or a time. */
export async function undeletedRule(
  server: HrServer,
  table: HrTable,
  column: HrColumn,
): Promise<ActiveRule & { by: 'states' }> {
  const shared = await sharedValues(server, table, column)
  const values = new Set([EMPTY, ...(shared?.map(({ value }) => value) ?? column.values)])
  return { by: 'states', column, active: [...values].filter(isUndeleted) }
}

/** Columns of a table under our own names, which need no quotes, so that they are read like those of any mapping. */
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

/** How HR marks employees in service, or open departments. */
export type ActiveRule =
  | { by: 'nothing' }
  /** A column that is true or false. */
  | { by: 'flag'; column: string }
  /** A column whose listed values mean in service. Any other value means left. */
  | { by: 'states'; column: HrColumn; active: readonly string[] }
  /** A column whose listed values mean closed. Any other value means open. */
  | { by: 'closed states'; column: HrColumn; closed: readonly string[] }
  /** A column with the day of leaving, empty or with a placeholder date for none. */
  | { by: 'day'; column: HrColumn }

/** The mapping of one column of a SELECT. */
export interface Chosen {
  column: HrColumn
  meaning: string
  /** The meaning of each value of a gender that is not the platform's. */
  genders?: ReadonlyMap<string, Gender>
}

/**
 * The SELECT for a file.
 * @param additions expressions with their names, after those of the columns
 * @param ending lines after all others
 */
export function selectOf(
  table: HrTable,
  chosen: readonly Chosen[],
  active: ActiveRule,
  dialect: Dialect,
  additions: readonly string[],
  ending: readonly string[],
): string {
  const lines = chosen.map(part => `${expressionOf(part, dialect)} as ${part.meaning}`)
  const rule = activeExpression(active, dialect)
  if (rule !== null) lines.splice(1, 0, `${rule} as active`)
  lines.push(...additions)
  return `select\n${lines.map(line => `  ${line}`).join(',\n')}\n${[`from ${table.sql}`, ...ending].join('\n')}\n`
}

/** An unknown value becomes null, so that the platform keeps its own. */
function expressionOf({ column, genders }: Chosen, dialect: Dialect): string {
  const quoted = quotedName(column.name, dialect)
  if (!genders) return quoted
  const whens = [...genders].map(([value, gender]) => `when ${quotedText(value, dialect)} then ${gender}`)
  return `case ${quoted} ${whens.sort().join(' ')} end`
}

function activeExpression(active: ActiveRule, dialect: Dialect): string | null {
  if (active.by === 'nothing') return null
  if (active.by === 'day') return dayExpression(active.column, dialect)
  if (active.by === 'flag') return quotedName(active.column, dialect)
  if (active.by === 'states')
    return `case when ${hasOneOf(active.column, active.active, dialect)} then 1 else 0 end`
  return `case when ${hasOneOf(active.column, active.closed, dialect)} then 0 else 1 end`
}

/** Types that can hold an empty text. */
const TEXT = /^(?:(?:var|bp)?char|(?:ci)?text|name|enum)$/i

/** SQL: whether a column has one of the values. */
export function hasOneOf({ name, type }: HrColumn, values: readonly string[], dialect: Dialect): string {
  const column = quotedName(name, dialect)
  const written = values.filter(value => value !== EMPTY).map(value => quotedText(value, dialect))
  return [
    ...(values.includes(EMPTY) ? [`${column} is null`] : []),
    ...(values.includes(EMPTY) && TEXT.test(type) ? [`trim(${column}) = ''`] : []),
    ...(written.length > 0 ? [`${column} in (${written.join(', ')})`] : []),
  ].join(' or ')
}

const NUMBER = /int|num|dec|float|double|real|year/i
/** A year, a month and a day of two digits each, so that texts sort by time. */
const WHOLE_DAY = /^\d{4}([-./]?)\d\d\1\d\d(?:\D|$)/
/** Years that HR systems write for no date. */
export const NO_DAYS = ['0000', '0001', '1899', '1900', '2999', '9999']

/** A day whose parts may have one digit, perhaps with a time after a blank. */
const PARTED_DAY = /^(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})(?: |$)/

/** SQL: year, month and day without marks; null where the values are not such days, or do not show the order of their parts. */
function partedDay(column: string, values: readonly string[], { nameQuote }: Dialect): string | null {
  const days = values.map(value => PARTED_DAY.exec(value.trim()) ?? [])
  const [, , mark] = days[0] ?? []
  if (mark === undefined || days.some(parts => parts[2] !== mark)) return null
  const order = orderOf(
    days.map(([, first = '', , second = '', third = '']) => [first, second, third]),
    mark,
  )
  const whole = `trim(${column})`
  const part =
    nameQuote === '`'
      ? (n: number) =>
          `substring_index(substring_index(substring_index(${whole}, ' ', 1), '${mark}', ${n}), '${mark}', -1)`
      : (n: number) => `split_part(split_part(${whole}, ' ', 1), '${mark}', ${n})`
  const padded = order?.map((n, i) => `lpad(${part(n)}, ${i === 0 ? 4 : 2}, '0')`)
  return padded ? `concat(${padded.join(', ')})` : null
}

/** The places of year, month and day. Dots stand between a day and its month, anything between a month and its day. */
function orderOf(days: readonly string[][], mark: string): number[] | null {
  const isYear = (place: number) => days.every(parts => parts[place - 1]?.length === 4)
  const isMonth = (place: number) => days.every(parts => Number(parts[place - 1]) <= 12)
  if (isYear(1)) return [1, 2, 3]
  if (!isYear(3) || isMonth(1) === isMonth(2))
    return mark === '.' && isYear(3) && isMonth(2) ? [3, 2, 1] : null
  return isMonth(2) ? [3, 2, 1] : [3, 1, 2]
}

/** The day itself is the last one in service. Many HR systems write 0000-00-00, 1900-01-01 or 9999-12-31 for none. */
function dayExpression({ name, type, shape, values }: HrColumn, dialect: Dialect): string {
  const column = quotedName(name, dialect)
  const stays = () => {
    if (shape === 'moment') return [`${column} >= current_date`, `${column} < '1901-01-01'`]
    const isNumber = NUMBER.test(type)
    const none = isNumber ? `${column} = 0` : `trim(${column}) = ''`
    const isNone = (value: string) => isNumber && Number(value) === 0
    const isWhole = values.every(value => WHOLE_DAY.test(value.trim()) || isNone(value))
    const made = isWhole || isNumber ? null : partedDay(column, values, dialect)
    if (!isWhole && made === null) {
      if (!isNumber) return [none, ...NO_DAYS.map(year => `${column} like '${year}%'`)]
      // Seconds since 1970 are not dates.
      return [none, ...(values.every(value => Number(value) < 1e8) ? [`${column} >= 29990101`] : [])]
    }
    const inText = (value: string) => `cast(${value} as ${dialect.nameQuote === '`' ? 'char' : 'varchar'})`
    const digits = (text: string) =>
      ['-', '/', '.'].reduce((all, mark) => `replace(${all}, '${mark}', '')`, text)
    const day = made ?? (isNumber ? inText(column) : digits(column))
    return [
      none,
      `${day} >= ${digits(inText('current_date'))}`,
      `${made ?? (isNumber ? day : column)} < '1901'`,
    ]
  }
  return `case when ${[`${column} is null`, ...stays()].join(' or ')} then 1 else 0 end`
}
