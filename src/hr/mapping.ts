import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../directory/employee.ts'
import { type Message, message } from '../texts/message.ts'
import { MappingError, onlyPlaceOf, placeAfter } from './errors.ts'
import type { ColumnShape, DescribedColumn, HrReader } from './server.ts'
import type { MappedColumn, Mapping, MappingFile } from './statement.ts'

/**
 * The text of a mapping file. One in another encoding would still be readable, but its literals would match no data: with a
 * Chinese status, all employees would have left.
 * @throws MappingError where it is not UTF-8, and the file system's own errors
 */
export async function readMappingFile(file: string): Promise<string> {
  const bytes = await readFile(file)
  const text = bytes.toString('utf8')
  if (isUtf8(bytes)) return text
  const place = placeAfter(text.slice(0, text.indexOf('\ufffd')))
  throw new MappingError('MAPPING_FILE', file, message('said.mapping_not_utf8'), { place })
}

export interface EmployeeMapping extends Mapping {
  /** Managed fields in canonical order. */
  fields: EmployeeField[]
  /** Sixteen characters that change with the SELECT and with its columns. */
  fingerprint: string
}

/** Canonical columns of an employee scan, in their order: `enterprise_code`, `userid`, `active`?, `updated_at`?, fields. */
export function scanColumns({ columns }: Mapping): string[] {
  const optional = ['active', 'updated_at', ...EMPLOYEE_FIELDS].filter(name => columns.has(name))
  return ['enterprise_code', 'userid', ...optional]
}

/** Canonical columns of a departments' mapping that runs read. */
export const DEPARTMENT_COLUMNS = ['enterprise_code', 'dept_code', 'parent_code', 'active', 'closed_at']
/** The same, with its name, which people alone read. */
const NAMED_DEPARTMENT_COLUMNS = [...DEPARTMENT_COLUMNS, 'name']

/** The employees' mapping, its columns checked on the server without reading a row. */
export async function inspectEmployees(reader: HrReader, mapping: MappingFile): Promise<EmployeeMapping> {
  return employeeMapping(mapping.file, mapping.sql, await reader.describe(mapping))
}

/** The departments' mapping, checked in the same way. */
export async function inspectDepartments(reader: HrReader, mapping: MappingFile): Promise<Mapping> {
  return departmentMapping(mapping.file, mapping.sql, await reader.describe(mapping))
}

/** @throws MappingError when there is a mapping of departments, but employees cannot be counted by department */
export function assertDepartments(employees: EmployeeMapping, departmentsFile: string): void {
  if (!employees.columns.has('dept_code'))
    throw new MappingError(
      'MAPPING_COLUMNS',
      employees.file,
      message('said.mapping_dept_code', { file: departmentsFile }),
    )
}

const EMPLOYEE_COLUMNS = ['enterprise_code', 'userid', 'active', 'updated_at', ...EMPLOYEE_FIELDS, 'code']

export function employeeMapping(file: string, sql: string, described: DescribedColumn[]): EmployeeMapping {
  const names = new Set(described.map(({ name }) => name))
  const fields = EMPLOYEE_FIELDS.filter(
    field => names.has(field === 'corp_code' ? 'code' : field) || names.has(field),
  )
  const problems: Problem[] = []
  if (fields.length === 0) problems.push({ what: message('said.mapping_no_field') })
  if (names.has('code') && names.has('corp_code'))
    problems.push({ what: message('said.mapping_code_twice'), column: 'corp_code' })
  if (names.has('mobile_area') && !names.has('mobile'))
    problems.push({ what: message('said.mapping_area_alone'), column: 'mobile_area' })
  if (names.has('card_type') && !names.has('card_no'))
    problems.push({ what: message('said.mapping_type_alone'), column: 'card_type' })
  const columns = checkedColumns({ file, sql }, described, EMPLOYEE_COLUMNS, ['userid'], problems)
  const returned = described.map(({ name, type }) => ({ name, type }))
  const fingerprint = hash('sha256', JSON.stringify([sql, returned]), 'base64url').slice(0, 16)
  return { file, sql, columns, fields, fingerprint }
}

export function departmentMapping(file: string, sql: string, described: DescribedColumn[]): Mapping {
  const required = ['dept_code', 'parent_code', 'active']
  return { file, sql, columns: checkedColumns({ file, sql }, described, NAMED_DEPARTMENT_COLUMNS, required) }
}

/** An error in the columns of a mapping. */
interface Problem {
  what: Message
  /** The column concerned, if there is one. */
  column?: string
}

/**
 * The columns by canonical name.
 * @throws MappingError with all their problems, `problems` included
 */
function checkedColumns(
  { file, sql }: MappingFile,
  described: DescribedColumn[],
  allowed: string[],
  required: string[],
  problems: Problem[] = [],
): Map<string, MappedColumn> {
  const columns = new Map(described.map(({ name, type }) => [name, { source: name, type }]))
  const found: Problem[] = [
    ...commonProblems(described, allowed),
    ...required
      .filter(name => !columns.has(name))
      .map(column => ({ what: message('said.mapping_lacks', { column }) })),
    ...problems,
  ]
  if (found.length > 0) {
    // The message begins with the first of them.
    const column = found[0]?.column
    const at = column === undefined ? null : placeInSelect(column, sql)
    throw new MappingError(
      'MAPPING_COLUMNS',
      file,
      message('said.mapping_columns', { problems: found.map(({ what }) => what), names: allowed }),
      { place: at === null ? null : placeAfter(sql.slice(0, at)) },
    )
  }
  return new Map([...columns].map(([name, column]) => [name === 'code' ? 'corp_code' : name, column]))
}

/** Where a SELECT names one of its columns, if that is certain: after the only `as` before the name, or its only occurrence. */
function placeInSelect(column: string, sql: string): number | null {
  return onlyPlaceOf(column, sql, 'as\\s+["`]?') ?? onlyPlaceOf(column, sql)
}

function commonProblems(described: DescribedColumn[], allowed: string[]): Problem[] {
  const problems: Problem[] = []
  const seen = new Map<string, number>()
  const isUnnamed = ({ name, isData }: DescribedColumn) => isData === true && !allowed.includes(name)
  const unnamed = described.filter(isUnnamed).length
  for (const { name } of described.filter(column => !isUnnamed(column)))
    seen.set(name, (seen.get(name) ?? 0) + 1)
  for (const [name, count] of seen) {
    const column = JSON.stringify(name)
    if (count > 1)
      problems.push({ what: message('said.mapping_column_twice', { column, count }), column: name })
    if (!allowed.includes(name)) problems.push({ what: unknownColumn(name, allowed), column: name })
  }
  if (unnamed > 0) problems.push({ what: message('said.mapping_unnamed', { count: unnamed }) })
  for (const { name, type, shape } of described) {
    // PostgreSQL's own name of an array of texts is _text.
    if (allowed.includes(name) && !shapeFits(name, shape)) {
      const named = { column: name, type: type.replace(/^_(.*)/, '$1[]') }
      const what = isMoment(name)
        ? message('said.mapping_no_moment', named)
        : message('said.mapping_no_value', named)
      problems.push({ what, column: name })
    }
  }
  return problems
}

function unknownColumn(name: string, allowed: string[]): Message {
  const column = JSON.stringify(name)
  if (name === '?column?') return message('said.mapping_nameless', { column })
  const lower = name.toLowerCase()
  return allowed.includes(lower)
    ? message('said.mapping_capitals', { column, name: lower })
    : message('said.mapping_unknown', { column })
}

function shapeFits(name: string, shape: ColumnShape): boolean {
  if (isMoment(name)) return shape === 'moment'
  if (shape === 'array') return name === 'category'
  if (shape === 'json') return name === 'category' || name === 'employee_attribute'
  return shape !== 'other'
}

function isMoment(name: string): boolean {
  return name === 'updated_at' || name === 'closed_at'
}
