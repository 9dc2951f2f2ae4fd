import { hash } from 'node:crypto'
import type pg from 'pg'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../directory/employee.ts'
import { MappingError, placeAfter, toHrError } from './errors.ts'
import { textRows } from './rows.ts'

/** A mapping file: its name for messages, and its text. */
export interface MappingFile {
  file: string
  sql: string
}

/** A mapping whose columns have been checked on the server. */
export interface Mapping extends MappingFile {
  /** Where each mapped column comes from, by its canonical name (`code` has become `corp_code`). */
  columns: ReadonlyMap<string, MappedColumn>
}

export interface MappedColumn {
  /** Its name in the mapping's SELECT. */
  source: string
  type: string
}

export interface EmployeeMapping extends Mapping {
  /** Managed fields in canonical order. */
  fields: EmployeeField[]
  /** Sixteen characters that change with the SELECT and with the columns that it returns. */
  fingerprint: string
}

/** A column of a mapping as the server describes it. */
interface DescribedColumn {
  name: string
  /** `pg_type.typname`, such as `int4`; array types begin with an underscore. */
  type: string
}

type Client = pg.Pool | pg.ClientBase

/** The employees' mapping, its columns checked on the server without reading a row. */
export async function inspectEmployees(client: Client, mapping: MappingFile): Promise<EmployeeMapping> {
  return employeeMapping(mapping.file, mapping.sql, await describe(client, mapping))
}

/** @throws MappingError when there is a mapping of departments, and employees cannot be counted by department */
export function assertDepartments(employees: EmployeeMapping, departmentsFile: string): void {
  if (!employees.columns.has('dept_code'))
    throw new MappingError(
      'MAPPING_COLUMNS',
      employees.file,
      `column dept_code is missing; ${departmentsFile} needs it, so that no department with employees in it is deleted`,
    )
}

/** The departments' mapping, checked in the same way. */
export async function inspectDepartments(client: Client, mapping: MappingFile): Promise<Mapping> {
  return departmentMapping(mapping.file, mapping.sql, await describe(client, mapping))
}

/** The columns that a mapping's SELECT returns. It is planned, and stopped before its first row. */
async function describe(client: Client, { file, sql }: MappingFile): Promise<DescribedColumn[]> {
  const before = 'select * from (\n'
  try {
    // The extended protocol takes one statement and no more, whatever the text is made of.
    const statement = {
      text: `${before}${sql}\n) m limit 0`,
      rowMode: 'array',
      queryMode: 'extended',
    } as const
    const { fields } = await client.query(statement)
    const oids = [...new Set(fields.map(field => field.dataTypeID))]
    const types = await textRows(client, 'select oid, typname from pg_type where oid = any($1::oid[])', [
      oids,
    ])
    const names = new Map(types.map(([oid, name]) => [Number(oid), name ?? '']))
    return fields.map(field => ({ name: field.name, type: names.get(field.dataTypeID) ?? 'record' }))
  } catch (error) {
    const parameter = sql.search(/\$\d/)
    if ((error as { code?: string }).code === PROTOCOL_VIOLATION && parameter !== -1) {
      const place = placeAfter(sql.slice(0, parameter))
      const name = /\$\d+/.exec(sql)?.[0]
      const message = `line ${place.line}: there is no parameter ${name} (42P02)`
      throw new MappingError('MAPPING_SQL', file, message, { place, cause: error })
    }
    throw toHrError(error, { file, sql, offset: before.length })
  }
}

/** SQLSTATE of a statement that wants parameters and is given none. */
const PROTOCOL_VIOLATION = '08P01'

const EMPLOYEE_COLUMNS = ['enterprise_code', 'userid', 'active', 'updated_at', ...EMPLOYEE_FIELDS, 'code']
const DEPARTMENT_COLUMNS = ['enterprise_code', 'dept_code', 'parent_code', 'active', 'closed_at']
const TIMES = new Set(['date', 'timestamp', 'timestamptz'])
const STRUCTURED = new Set(['json', 'jsonb', 'bytea', 'record', 'xml'])

/** Checks the columns of the employees' mapping. */
export function employeeMapping(file: string, sql: string, described: DescribedColumn[]): EmployeeMapping {
  const names = new Set(described.map(({ name }) => name))
  const fields = EMPLOYEE_FIELDS.filter(
    field => names.has(field === 'corp_code' ? 'code' : field) || names.has(field),
  )
  const problems: string[] = []
  if (fields.length === 0) problems.push('no employee field is mapped; map at least one')
  if (names.has('code') && names.has('corp_code'))
    problems.push('code and corp_code are both mapped; map the work number once')
  if (names.has('mobile_area') && !names.has('mobile')) problems.push('mobile_area is mapped without mobile')
  if (names.has('card_type') && !names.has('card_no')) problems.push('card_type is mapped without card_no')
  const columns = checkedColumns(file, described, EMPLOYEE_COLUMNS, ['userid'], problems)
  const fingerprint = hash('sha256', JSON.stringify([sql, described]), 'base64url').slice(0, 16)
  return { file, sql, columns, fields, fingerprint }
}

/** Checks the columns of the departments' mapping. */
export function departmentMapping(file: string, sql: string, described: DescribedColumn[]): Mapping {
  const required = ['dept_code', 'parent_code', 'active']
  return { file, sql, columns: checkedColumns(file, described, DEPARTMENT_COLUMNS, required) }
}

/**
 * The columns by canonical name.
 * @throws MappingError that names everything that is wrong with them, `problems` included
 */
function checkedColumns(
  file: string,
  described: DescribedColumn[],
  allowed: string[],
  required: string[],
  problems: string[] = [],
): Map<string, MappedColumn> {
  const columns = new Map(described.map(({ name, type }) => [name, { source: name, type }]))
  const found = [
    ...commonProblems(described, allowed),
    ...required.filter(name => !columns.has(name)).map(name => `column ${name} is missing`),
    ...problems,
  ]
  if (found.length > 0) {
    const message = `${found.join('; ')}. Columns may be: ${allowed.join(', ')}`
    throw new MappingError('MAPPING_COLUMNS', file, message)
  }
  return new Map([...columns].map(([name, column]) => [name === 'code' ? 'corp_code' : name, column]))
}

function commonProblems(described: DescribedColumn[], allowed: string[]): string[] {
  const problems: string[] = []
  const seen = new Map<string, number>()
  for (const { name } of described) seen.set(name, (seen.get(name) ?? 0) + 1)
  for (const [name, count] of seen) {
    if (count > 1) problems.push(`column ${JSON.stringify(name)} occurs ${count} times`)
    if (!allowed.includes(name)) problems.push(`unknown column ${JSON.stringify(name)}${hint(name, allowed)}`)
  }
  for (const { name, type } of described) {
    if (allowed.includes(name) && !typeFits(name, type)) {
      problems.push(`column ${name} cannot be of type ${type.replace(/^_(.*)/, '$1[]')}${typeHint(name)}`)
    }
  }
  return problems
}

function hint(name: string, allowed: string[]): string {
  if (name === '?column?') return ' (an expression without "as")'
  const lower = name.toLowerCase()
  return allowed.includes(lower) ? ` (write ${lower} in small letters)` : ''
}

function typeFits(name: string, type: string): boolean {
  if (name === 'updated_at' || name === 'closed_at') return TIMES.has(type)
  if (type.startsWith('_')) return name === 'category'
  if (type === 'json' || type === 'jsonb') return name === 'category' || name === 'employee_attribute'
  return !STRUCTURED.has(type)
}

function typeHint(name: string): string {
  if (name === 'updated_at' || name === 'closed_at') return ' (it must be a timestamp or a date)'
  return ' (make it a single plain value)'
}

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y
const OPENING = /[eE]'|'|"|--|\/\*|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y
/** The words that a SELECT may begin with. */
const BEGINNINGS = new Set(['select', 'with', 'values', 'table', '('])

/**
 * The one SELECT of a mapping file, from the file's first character (so that positions hold) up to its final
 * semicolon. Throws a MappingError for an empty file, several statements, or another kind of statement.
 */
export function singleSelect({ file, sql }: MappingFile): string {
  const text = sql.replace(/^\ufeff/, '')
  let first: string | undefined
  let end: number | undefined
  let depth = 0
  let at = 0
  const refuse = (message: string) => new MappingError('MAPPING_STATEMENT', file, message)
  const refuseHere = (message: string) => {
    const place = placeAfter(text.slice(0, at))
    return new MappingError('MAPPING_STATEMENT', file, `line ${place.line}: ${message}`, { place })
  }
  while (at < text.length) {
    const character = text.charAt(at)
    const after = skip(text, at)
    if (after === null) throw refuseHere('a quote or comment is not closed')
    const isComment = text.startsWith('--', at) || text.startsWith('/*', at)
    if (!isComment && !/\s/.test(character) && character !== ';') {
      if (end !== undefined) {
        throw refuseHere('a second statement begins; the mapping must be one SELECT')
      }
      first ??= text.slice(at, after).toLowerCase()
    }
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) throw refuseHere('a parenthesis closes that was never opened')
    if (character === ';') end ??= at
    at = after
  }
  if (first === undefined) throw refuse('the file holds no statement; it must be one SELECT')
  if (!BEGINNINGS.has(first)) throw refuse('the statement must be a SELECT (or begin with WITH)')
  return text.slice(0, end)
}

/** Where the token that begins at `at` ends, or null when it never does. */
function skip(text: string, at: number): number | null {
  OPENING.lastIndex = at
  const opening = OPENING.exec(text)?.[0]
  if (opening === undefined) {
    WORD.lastIndex = at
    return at + (WORD.exec(text)?.[0].length ?? 1)
  }
  const inside = at + opening.length
  if (opening === '--') return found(text.indexOf('\n', inside), 0) ?? text.length
  if (opening === '/*') return skipComment(text, inside)
  if (opening.startsWith('$')) return found(text.indexOf(opening, inside), opening.length)
  return skipQuoted(text, inside, opening.slice(-1), opening.length === 2)
}

function found(index: number, length: number): number | null {
  return index === -1 ? null : index + length
}

/** Comments nest in PostgreSQL. */
function skipComment(text: string, inside: number): number | null {
  const mark = /\/\*|\*\//g
  mark.lastIndex = inside
  for (let depth = 1; ; ) {
    const match = mark.exec(text)
    if (!match) return null
    depth += match[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
}

/** A doubled quote is read as the end of one text and the beginning of the next, which comes to the same. */
function skipQuoted(text: string, inside: number, quote: string, escapes: boolean): number | null {
  for (let at = inside; at < text.length; at += 1) {
    if (escapes && text[at] === '\\') at += 1
    else if (text[at] === quote) return at + 1
  }
  return null
}
