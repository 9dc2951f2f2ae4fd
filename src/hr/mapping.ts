import { hash } from 'node:crypto'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../directory/employee.ts'
import { MappingError } from './source.ts'

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

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y
const OPENING = /[eE]'|'|"|--|\/\*|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y
const BEGINNINGS = new Set(['select', 'with', 'values', 'table', '('])

/** A mapping file: its name for messages, and its text. */
export interface MappingFile {
  file: string
  sql: string
}

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
  while (at < text.length) {
    const character = text.charAt(at)
    const after = skip(text, at)
    if (after === null) throw refuse(`line ${lineAt(text, at)}: a quote or comment is not closed`)
    const isComment = text.startsWith('--', at) || text.startsWith('/*', at)
    if (!isComment && !/\s/.test(character) && character !== ';') {
      if (end !== undefined) {
        throw refuse(`line ${lineAt(text, at)}: a second statement begins; the mapping must be one SELECT`)
      }
      first ??= text.slice(at, after).toLowerCase()
    }
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) throw refuse(`line ${lineAt(text, at)}: a parenthesis closes that was never opened`)
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

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

/** As many as may be in use at a time: of the plans that are carried out, of one that is held, of one that came to nothing. */
const KEPT = 4
/** A fingerprint that this process could not find is looked for again after this long. */
const LOOK_AGAIN_MS = 5000

/** The employees' mappings that this process has seen, by fingerprint. */
export class KnownMappings {
  readonly #mappings = new Map<string, EmployeeMapping>()
  #missed = { fingerprint: '', until: 0 }

  find(fingerprint: string): EmployeeMapping | undefined {
    return this.#mappings.get(fingerprint)
  }

  add(mapping: EmployeeMapping): void {
    this.#mappings.delete(mapping.fingerprint)
    this.#mappings.set(mapping.fingerprint, mapping)
    const [oldest] = this.#mappings.keys()
    if (this.#mappings.size > KEPT && oldest !== undefined) this.#mappings.delete(oldest)
  }

  forget(mapping: EmployeeMapping): void {
    this.#mappings.delete(mapping.fingerprint)
  }

  /** Whether it is time to look at HR and the file for an unknown fingerprint; every so often, not for every key. */
  isWorthALook(fingerprint: string): boolean {
    const now = performance.now()
    if (this.#missed.fingerprint === fingerprint && now < this.#missed.until) return false
    this.#missed = { fingerprint, until: now + LOOK_AGAIN_MS }
    return true
  }
}
