import type { Readable } from 'node:stream'
import pg from 'pg'
import type { EmployeeField, EmployeeKey } from '../directory/employee.ts'

/**
 * One employee as HR's mapping returns it: canonical column → text. Dates are `yyyy-MM-dd`, booleans `t`/`f`,
 * `category` is joined by commas; `enterprise_code` and `userid` are always there, trimmed.
 */
export type HrEmployeeRow = Record<string, string | null>

/** One department of the departments' mapping. */
export interface HrDepartmentRow {
  enterpriseCode: string
  deptCode: string
  /** Null for a department at the top. */
  parentCode: string | null
  active: boolean
  /** When it was closed; null when it is not, or `closed_at` is not mapped. */
  closedAt: Date | null
}

/** What the mappings return, once they have passed every check. */
export interface MappingInspection {
  employees: {
    file: string
    /** Columns of every scan, in their order: `enterprise_code`, `userid`, `active`?, `updated_at`?, fields. */
    columns: string[]
    fields: EmployeeField[]
  }
  /** Null without a departments' mapping. */
  departments: { file: string; columns: string[] } | null
  /** Of the employees' mapping, as a plan made with it carries it. */
  fingerprint: string
}

/** A pass over all employees of HR, at one moment. Close it when it is not read to its end. */
export interface HrScan {
  columns: string[]
  /** Fingerprint of the mapping that it reads with. */
  mapping: string
  /**
   * COPY text format (UTF-8): one line per row with exactly `columns`. Fails with HrUnavailableError, HrDataError, or
   * the signal's AbortError. The transaction has ended and the connection is closed when it closes.
   */
  stream: Readable
  /** Ends the transaction and closes the connection, whatever was read. Idempotent. */
  close(): Promise<void>
}

/**
 * The HR system, which is only ever read. Every method fails with HrUnavailableError when HR does not answer, with
 * MappingError when a mapping is wrong, and with HrDataError when what HR returns is of no use as a whole.
 */
export interface HrSource {
  /** Without it no department is ever deleted. */
  readonly hasDepartments: boolean

  /** Looks at both mappings, their files included, and checks them without reading a row. */
  inspect(): Promise<MappingInspection>

  /**
   * Streams all employees in one read-only, repeatable-read transaction.
   *
   * @param options.since only rows with `updated_at` at or after this moment; ignored when it is not mapped
   */
  scan(options: { since?: Date | undefined; signal?: AbortSignal | undefined }): Promise<HrScan>

  /**
   * The present rows of some employees, by `keyText`. A key that HR does not have is missing from the answer; one that
   * it has more than once is 'duplicate'.
   *
   * @param options.mapping fingerprint of the mapping to read with; absent, null, or not to be found here: the one there is
   *   now. A row has the columns that it was read with.
   * @param options.anyEnterprise the keys name each user id in every enterprise there is, since it is not known which one has
   *   it: HR is not read through for the others once one of them has it
   */
  lookup(
    keys: readonly EmployeeKey[],
    options?: { mapping?: string | null; anyEnterprise?: boolean },
  ): Promise<Map<string, HrEmployeeRow | 'duplicate'>>

  /** All departments, checked: codes present and unique, no cycles. MappingError without a departments' mapping. */
  departments(): Promise<HrDepartmentRow[]>

  /** How many active employees HR has in each department that has any. */
  employeesByDepartment(): Promise<{ enterpriseCode: string; deptCode: string; employees: number }[]>

  /** Closes the connections and ends scans that are under way. Idempotent. */
  close(): Promise<void>
}

/** The mapping itself is wrong; nothing can be read until somebody mends the file. */
export class MappingError extends Error {
  /** What is wrong: the file, its statement, the server's opinion of it, its columns, or that there is no mapping. */
  readonly code: 'MAPPING_FILE' | 'MAPPING_STATEMENT' | 'MAPPING_SQL' | 'MAPPING_COLUMNS' | 'MAPPING_MISSING'
  /** Name of the mapping file. */
  readonly file: string

  constructor(code: MappingError['code'], file: string, message: string, options?: ErrorOptions) {
    super(`${file}: ${message}`, options)
    this.name = 'MappingError'
    this.code = code
    this.file = file
  }
}

/** The HR database does not answer, now or in the middle of an answer; the next try may succeed. */
export class HrUnavailableError extends Error {
  readonly code = 'HR_UNAVAILABLE'
  override readonly name = 'HrUnavailableError'
}

/** The mapping ran into rows that it, or dirsync, cannot use as a whole (single bad employees are no such case). */
export class HrDataError extends Error {
  readonly code = 'HR_DATA'
  override readonly name = 'HrDataError'
}

/** SQLSTATE classes and codes after which another try may succeed: nothing is wrong with the mapping. */
const TRANSIENT = /^(?:08|28|3D|40|53|55|57|58|XX)/

/** Classes whose messages speak of the statement's text and of names in the schema, never of values in rows. */
const ABOUT_THE_STATEMENT = /^(?:42|0A|25)/

/**
 * What an error of the HR connection means. Messages of the server are passed on only where they cannot hold values of
 * rows; for the same reason errors about data carry no cause.
 *
 * @param mapping file and text of the statement that was running, with what stood before the text in the query
 */
export function toHrError(error: unknown, mapping?: { file: string; sql: string; offset: number }): Error {
  if (error instanceof MappingError || error instanceof HrUnavailableError || error instanceof HrDataError) {
    return error
  }
  if (error instanceof Error && error.name === 'AbortError') return error
  if (!(error instanceof pg.DatabaseError)) return unavailable(error, codeOf(error))
  const state = error.code ?? 'no SQLSTATE'
  if (TRANSIENT.test(state)) return unavailable(error, state)
  if (!mapping) return unavailable(error, state)
  const line = lineOf(error, mapping)
  const place = line === undefined ? '' : `line ${line}: `
  if (ABOUT_THE_STATEMENT.test(state)) {
    return new MappingError('MAPPING_SQL', mapping.file, `${place}${error.message} (${state})`, {
      cause: error,
    })
  }
  return new HrDataError(
    `${mapping.file}: ${place}the query failed on a value of HR (SQLSTATE ${state}); make its casts and arithmetic accept every row`,
  )
}

/** What the server answered to a login. */
const REFUSALS: Record<string, string> = {
  '28000': 'the HR database refuses the login',
  '28P01': 'the HR database refuses the login',
  '3D000': 'the HR server has no such database',
}

function unavailable(cause: unknown, reason: string): HrUnavailableError {
  const refusal = REFUSALS[reason]
  if (refusal)
    return new HrUnavailableError(
      `${refusal} (${reason}); check user, password and database in HR_DATABASE_URL`,
      { cause },
    )
  return new HrUnavailableError(
    `the HR database does not answer (${reason}); check HR_DATABASE_URL and that the server is up`,
    { cause },
  )
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'connection lost'
}

/** Line in the mapping file; PostgreSQL counts a position in characters of the whole query, from 1. */
function lineOf(error: pg.DatabaseError, mapping: { sql: string; offset: number }): number | undefined {
  const position = Number(error.position) - mapping.offset
  const characters = [...mapping.sql]
  if (!(position >= 1 && position <= characters.length + 1)) return undefined
  return characters.slice(0, position - 1).filter(character => character === '\n').length + 1
}
