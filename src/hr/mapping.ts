import { hash } from 'node:crypto'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../core/employee.ts'
import { MappingError } from './errors.ts'

/** A column of a mapping as the server describes it. */
export interface DescribedColumn {
  name: string
  /** `pg_type.typname`, such as `int4`; array types begin with an underscore. */
  type: string
}

/** The checked columns of the employees' mapping. */
export interface EmployeeMapping {
  file: string
  /** The mapping's one SELECT. */
  sql: string
  /** Mapped columns by their canonical name (`code` has become `corp_code`). */
  columns: ReadonlyMap<string, MappedColumn>
  /** Managed fields in canonical order. */
  fields: EmployeeField[]
  /** Another one for another SELECT, and for other columns of the same: 16 characters. */
  fingerprint: string
}

/** The checked columns of the departments' mapping. */
export interface DepartmentMapping {
  file: string
  sql: string
  columns: ReadonlyMap<string, MappedColumn>
}

/** Where a canonical column comes from. */
export interface MappedColumn {
  /** Its name in the mapping's SELECT. */
  source: string
  type: string
}

const EMPLOYEE_COLUMNS = ['enterprise_code', 'userid', 'active', 'updated_at', ...EMPLOYEE_FIELDS, 'code']
const DEPARTMENT_COLUMNS = ['enterprise_code', 'dept_code', 'parent_code', 'active', 'closed_at']
const TIMES = new Set(['date', 'timestamp', 'timestamptz'])
const STRUCTURED = new Set(['json', 'jsonb', 'bytea', 'record', 'xml'])

/** Checks the columns of the employees' mapping; all that is wrong with them is in one MappingError. */
export function employeeMapping(file: string, sql: string, described: DescribedColumn[]): EmployeeMapping {
  const names = new Set(described.map(({ name }) => name))
  const problems = [...commonProblems(described, EMPLOYEE_COLUMNS), ...missing(names, ['userid'])]
  const fields = EMPLOYEE_FIELDS.filter(
    field => names.has(field === 'corp_code' ? 'code' : field) || names.has(field),
  )
  if (fields.length === 0) problems.push('no employee field is mapped; map at least one')
  if (names.has('code') && names.has('corp_code')) {
    problems.push('code and corp_code are both mapped; map the work number once')
  }
  if (names.has('mobile_area') && !names.has('mobile')) problems.push('mobile_area is mapped without mobile')
  if (names.has('card_type') && !names.has('card_no')) problems.push('card_type is mapped without card_no')
  refuseAny(file, problems, EMPLOYEE_COLUMNS)
  const fingerprint = hash('sha256', JSON.stringify([sql, described]), 'base64url').slice(0, 16)
  return { file, sql, columns: byCanonicalName(described), fields, fingerprint }
}

/** Checks the columns of the departments' mapping; all that is wrong with them is in one MappingError. */
export function departmentMapping(
  file: string,
  sql: string,
  described: DescribedColumn[],
): DepartmentMapping {
  const names = new Set(described.map(({ name }) => name))
  const problems = [
    ...commonProblems(described, DEPARTMENT_COLUMNS),
    ...missing(names, ['dept_code', 'parent_code', 'active']),
  ]
  refuseAny(file, problems, DEPARTMENT_COLUMNS)
  return { file, sql, columns: byCanonicalName(described) }
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

function missing(names: ReadonlySet<string>, required: string[]): string[] {
  return required.filter(name => !names.has(name)).map(name => `column ${name} is missing`)
}

function refuseAny(file: string, problems: string[], allowed: string[]): void {
  if (problems.length === 0) return
  const message = `${problems.join('; ')}. Columns may be: ${allowed.join(', ')}`
  throw new MappingError('MAPPING_COLUMNS', file, message)
}

function byCanonicalName(described: DescribedColumn[]): Map<string, MappedColumn> {
  return new Map(
    described.map(
      ({ name, type }) => [name === 'code' ? 'corp_code' : name, { source: name, type }] as const,
    ),
  )
}
