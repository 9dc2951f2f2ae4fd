import type { Readable } from 'node:stream'
import type { EmployeeField, EmployeeKey } from '../core/employee.ts'

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
