import type { Logger } from 'pino'
import type { EmployeeField, EmployeeKey } from '../directory/employee.ts'
import { type ChangedRow, readChangedRows } from './changed-rows.ts'
import { countEmployees, type DepartmentCount, type HrDepartmentRow, readDepartments } from './departments.ts'
import { MappingError } from './errors.ts'
import { lookupEmployees } from './lookup.ts'
import {
  assertDepartments,
  type EmployeeMapping,
  inspectDepartments,
  inspectEmployees,
  type Mapping,
  type MappingFile,
  scanColumns,
} from './mapping.ts'
import { type HrEmployeeRow, type HrScan, openScan } from './scan.ts'
import type { HrFacts, HrKind, HrReader, HrServer } from './server.ts'
import { HrSnapshot } from './snapshot.ts'
import { singleSelect } from './statement.ts'

export { HrDataError, HrDeliveryError, HrUnavailableError, isOfHr, MappingError } from './errors.ts'
export type { EmployeeMapping, MappingFile } from './mapping.ts'
export type { HrEmployeeRow, HrScan } from './scan.ts'

interface HrOptions {
  /** Where HR is. The source closes it. */
  server: HrServer
  /** Text of the employees' mapping, with its file's name for messages. */
  employeesSql: MappingFile
  /** Text of the departments' mapping; null when there is none. */
  departmentsSql: MappingFile | null
  /** Reads a mapping file anew, whenever the mappings are looked at; absent: the texts stay as they are. */
  reread?: (file: string) => Promise<string>
  /** Enterprise code of rows that have none; default ''. */
  defaultEnterpriseCode?: string
  logger: Logger
}

/** What the mappings return, once they have passed every check. */
interface MappingInspection {
  /** Columns of every scan, in their order. */
  employees: { file: string; columns: string[]; fields: EmployeeField[] }
  /** Null without a departments' mapping. */
  departments: { file: string; columns: string[] } | null
  /** Of the employees' mapping, as a plan made with it carries it. */
  fingerprint: string
}

/** Both mappings, checked. */
interface Mappings {
  employees: EmployeeMapping
  departments: Mapping | null
}

/**
 * The HR system: a server behind two mapping queries, only ever read. Connects when it is first asked something.
 * Every method fails with HrUnavailableError when HR does not answer, with MappingError when a mapping is wrong, and with
 * HrDataError when what HR returns is of no use as a whole. The constructor throws a MappingError for a text that is not one SELECT.
 */
export class HrSource {
  readonly #options: HrOptions
  readonly #defaultEnterprise: string
  readonly #logger: Logger
  readonly #server: HrServer
  readonly #scans = new Set<HrScan>()
  readonly #known = new KnownMappings()
  #mappings: Promise<Mappings> | undefined
  #closing: Promise<void> | undefined

  constructor(options: HrOptions) {
    const { server, employeesSql, departmentsSql, defaultEnterpriseCode = '', logger } = options
    this.#server = server
    this.#options = {
      ...options,
      employeesSql: this.#checked(employeesSql),
      departmentsSql: departmentsSql && this.#checked(departmentsSql),
    }
    this.#defaultEnterprise = defaultEnterpriseCode
    this.#logger = logger.child({ component: 'hr' })
  }

  /** Where HR is. */
  get kind(): HrKind {
    return this.#server.kind
  }

  /** Without a departments' mapping no department is ever deleted. */
  get hasDepartments(): boolean {
    return this.#options.departmentsSql !== null
  }

  /** @throws MappingError when a text cannot be one SELECT; the server is not asked */
  assertSelect(mapping: MappingFile): void {
    this.#checked(mapping)
  }

  /** Looks at both mappings, their files included, and checks them without reading a row. */
  async inspect(): Promise<MappingInspection> {
    this.#mappings = undefined
    const { employees, departments } = await this.#inspected()
    return {
      employees: { file: employees.file, columns: scanColumns(employees), fields: employees.fields },
      departments: departments && { file: departments.file, columns: [...departments.columns.keys()] },
      fingerprint: employees.fingerprint,
    }
  }

  /**
   * Streams all employees as they are at one moment.
   * @param options.since only rows with `updated_at` at or after this moment; ignored when it is not mapped
   */
  async scan(options: { since?: Date | undefined; signal?: AbortSignal | undefined }): Promise<HrScan> {
    options.signal?.throwIfAborted()
    const session = await this.#server.open({ name: 'dirsync', timeoutMs: null, isForRun: true })
    try {
      const { employees } = await this.#look(session)
      options.signal?.throwIfAborted()
      if (this.#closing) throw new Error('the HR source is closed')
      const scan = await openScan(session, employees, {
        ...options,
        defaultEnterprise: this.#defaultEnterprise,
        endsSession: true,
      })
      this.#scans.add(scan)
      scan.stream.once('close', () => this.#scans.delete(scan))
      return scan
    } catch (error) {
      await session.close()
      throw error
    }
  }

  /**
   * The present rows of some employees, by `keyText`. A key that HR does not have is missing from the answer; one that it
   * has more than once is 'duplicate'. A row has the columns of the mapping that it was read with.
   * @param options.mapping fingerprint of the mapping to read with; without it, or where it is not to be found here, the
   *   present one is used
   * @param options.anyEnterprise the keys name each user id in every enterprise there is, since it is not known which one
   *   has it: HR is not read through for the others once one of them has it
   * @param options.timeoutMs how long somebody who looks is willing to wait for an answer; absent: as long as a job is
   */
  async lookup(
    keys: readonly EmployeeKey[],
    options: { mapping?: string | null; anyEnterprise?: boolean; timeoutMs?: number } = {},
  ): Promise<Map<string, HrEmployeeRow | 'duplicate'>> {
    if (keys.length === 0) return new Map()
    const { mapping = null, anyEnterprise = false, timeoutMs } = options
    const employees = await this.#mappingOf(mapping)
    const [server, defaultEnterprise] = [this.#server, this.#defaultEnterprise]
    const place = { server, reader: server.reader, mapping: employees, defaultEnterprise }
    return this.#asFound(employees, () => lookupEmployees(place, keys, { anyEnterprise, timeoutMs }))
  }

  /** The rows that HR changed at or after a moment, and perhaps not all of them; null where `updated_at` is not mapped. */
  async changedSince(since: Date): Promise<ChangedRow[] | null> {
    const employees = await this.mapping()
    return this.#asFound(employees, () =>
      readChangedRows(this.#server.reader, employees, this.#defaultEnterprise, since),
    )
  }

  /** Which delivery of files HR is, null while none is complete; undefined where HR is not handed over but lives. */
  async delivery(): Promise<string | null | undefined> {
    return this.#server.delivery?.()
  }

  /** All departments, checked: codes present and unique, no cycles. */
  async departments(): Promise<HrDepartmentRow[]> {
    // Looked at anew every time: a mapping of departments that broke is no reason to forget the employees' one.
    const { departments } = await this.#look(this.#server.reader)
    if (!departments)
      throw new MappingError('MAPPING_MISSING', 'HR_DEPARTMENTS_SQL', 'there is no mapping of departments')
    return readDepartments(this.#server.reader, departments, this.#defaultEnterprise)
  }

  /** How many active employees HR has in each department that has any. */
  async employeesByDepartment(): Promise<DepartmentCount[]> {
    const employees = await inspectEmployees(
      this.#server.reader,
      await this.#read(this.#options.employeesSql),
    )
    if (!employees.columns.has('dept_code'))
      throw new MappingError(
        'MAPPING_COLUMNS',
        employees.file,
        'column dept_code is missing; employees cannot be counted by department',
      )
    return countEmployees(this.#server.reader, employees, this.#defaultEnterprise)
  }

  /** The employees' mapping with the types of its columns, as it was last found good. */
  async mapping(): Promise<EmployeeMapping> {
    return (await this.#inspected()).employees
  }

  /** The texts of both mappings as they are now. @throws MappingError */
  async texts(): Promise<{ employees: MappingFile; departments: MappingFile | null }> {
    const { employeesSql, departmentsSql } = this.#options
    return {
      employees: await this.#read(employeesSql),
      departments: departmentsSql && (await this.#read(departmentsSql)),
    }
  }

  /**
   * One moment of HR in a session of its own, for mappings of the caller's choice.
   * @param timeoutMs longest time for each of its statements
   * @param name what it is for, as the server's list of connections shows it
   */
  snapshot(timeoutMs: number, name = 'dirsync dry run'): Promise<HrSnapshot> {
    return HrSnapshot.open(this.#server, {
      name,
      defaultEnterprise: this.#defaultEnterprise,
      departmentsFile: this.#options.departmentsSql?.file ?? null,
      timeoutMs,
    })
  }

  /** What the server is. @throws HrUnavailableError */
  facts(): Promise<HrFacts> {
    return this.#server.facts()
  }

  /** Closes the connections and ends scans that are under way. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([...this.#scans].map(scan => scan.close())).then(() => this.#server.close())
    return this.#closing
  }

  /** HR's tables may change under a running service: where a mapping turns out wrong, the columns are looked at anew. */
  async #asFound<T>(employees: EmployeeMapping, read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      if (error instanceof MappingError) {
        this.#known.forget(employees)
        this.#mappings = undefined
      }
      throw error
    }
  }

  /** The mapping of this fingerprint, or the present one where this process cannot find it. */
  async #mappingOf(fingerprint: string | null): Promise<EmployeeMapping> {
    if (fingerprint === null) return (await this.#inspected()).employees
    const known = this.#known.find(fingerprint)
    if (known) return known
    const isLooking = this.#known.isWorthALook(fingerprint)
    if (isLooking) this.#mappings = undefined
    const { employees } = await this.#inspected()
    const found = this.#known.find(fingerprint)
    if (!found && isLooking)
      this.#logger.warn(
        { file: employees.file, wanted: fingerprint, found: employees.fingerprint },
        'the mapping here is not the one of the last plan: give every process the same file',
      )
    return found ?? employees
  }

  /** The mappings as they were last found good; a failure is not remembered. */
  #inspected(): Promise<Mappings> {
    if (this.#mappings) return this.#mappings
    const inspecting = this.#look(this.#server.reader)
    this.#mappings = inspecting
    inspecting.catch(() => {
      if (this.#mappings === inspecting) this.#mappings = undefined
    })
    return inspecting
  }

  /**
   * Reads the files and checks the columns of both mappings.
   * @param reader what is asked; the answer of a session holds for that session
   */
  async #look(reader: HrReader): Promise<Mappings> {
    const { employeesSql, departmentsSql } = this.#options
    const employees = await inspectEmployees(reader, await this.#read(employeesSql))
    const departments = departmentsSql && (await inspectDepartments(reader, await this.#read(departmentsSql)))
    if (departments) assertDepartments(employees, departments.file)
    this.#known.add(employees)
    return { employees, departments }
  }

  async #read(mapping: MappingFile): Promise<MappingFile> {
    const { reread } = this.#options
    if (!reread) return mapping
    const { file } = mapping
    try {
      return this.#checked({ file, sql: await reread(file) })
    } catch (error) {
      if (error instanceof MappingError) throw error
      const { code } = error as NodeJS.ErrnoException
      throw new MappingError('MAPPING_FILE', file, `the file cannot be read (${code})`, { cause: error })
    }
  }

  #checked({ file, sql }: MappingFile): MappingFile {
    return { file, sql: singleSelect({ file, sql }, this.#server.dialect) }
  }
}

/** As many as may be in use at a time: of the plans under way, of one that is held, of one that came to nothing. */
const KEPT = 4
/** A fingerprint that this process could not find is looked for again after this long. */
const LOOK_AGAIN_MS = 5000

/**
 * The employees' mappings that this process has seen, by fingerprint. Workers read HR with the mapping of the last plan
 * that passed, though the file may have changed since.
 */
class KnownMappings {
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
