import pg from 'pg'
import type { Logger } from 'pino'
import type { EmployeeField, EmployeeKey } from '../directory/employee.ts'
import { countEmployees, type DepartmentCount, type HrDepartmentRow, readDepartments } from './departments.ts'
import { MappingError, toHrError } from './errors.ts'
import {
  assertDepartments,
  type EmployeeMapping,
  inspectDepartments,
  inspectEmployees,
  type Mapping,
  type MappingFile,
  singleSelect,
} from './mapping.ts'
import {
  connectClient,
  connectionSettings,
  type HrEmployeeRow,
  type HrScan,
  lookupEmployees,
  openScan,
  prepareSession,
  scanColumns,
} from './rows.ts'
import { HrSnapshot } from './snapshot.ts'

export { HrDataError, HrUnavailableError, MappingError } from './errors.ts'
export type { EmployeeMapping, MappingFile } from './mapping.ts'
export type { HrEmployeeRow, HrScan } from './rows.ts'

interface HrOptions {
  url: string
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

/** Connections for look-ups at most; every scan has one more of its own. */
const LOOKUP_CONNECTIONS = 4
const LOOKUP_MS = 120_000

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
 * The HR system: a PostgreSQL database behind two mapping queries, only ever read. Connects when it is first asked something.
 * Every method fails with HrUnavailableError when HR does not answer, with MappingError when a mapping is wrong, and with
 * HrDataError when what HR returns is of no use as a whole. The constructor throws a MappingError for a text that is not one SELECT.
 */
export class HrSource {
  readonly #options: HrOptions
  readonly #defaultEnterprise: string
  readonly #logger: Logger
  readonly #pool: pg.Pool
  readonly #scans = new Set<HrScan>()
  readonly #known = new KnownMappings()
  #mappings: Promise<Mappings> | undefined
  #closing: Promise<void> | undefined

  constructor(options: HrOptions) {
    const { url, employeesSql, departmentsSql, defaultEnterpriseCode = '', logger } = options
    this.#options = {
      ...options,
      employeesSql: checked(employeesSql),
      departmentsSql: departmentsSql && checked(departmentsSql),
    }
    this.#defaultEnterprise = defaultEnterpriseCode
    this.#pool = new pg.Pool({
      ...connectionSettings(url),
      max: LOOKUP_CONNECTIONS,
      onConnect: prepareSession,
      query_timeout: LOOKUP_MS,
    })
    this.#logger = logger.child({ component: 'hr' })
    // The pool replaces a connection that breaks while idle; whoever asks next is served or told.
    this.#pool.on('error', error =>
      this.#logger.warn({ reason: toHrError(error).message }, 'HR connection lost'),
    )
  }

  /** Without a departments' mapping no department is ever deleted. */
  get hasDepartments(): boolean {
    return this.#options.departmentsSql !== null
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
   * Streams all employees in one read-only, repeatable-read transaction.
   * @param options.since only rows with `updated_at` at or after this moment; ignored when it is not mapped
   */
  async scan(options: { since?: Date | undefined; signal?: AbortSignal | undefined }): Promise<HrScan> {
    options.signal?.throwIfAborted()
    const client = await connectClient(this.#options.url)
    try {
      await client.query('begin isolation level repeatable read read only').catch(error => {
        throw toHrError(error)
      })
      const { employees } = await this.#look(client)
      options.signal?.throwIfAborted()
      if (this.#closing) throw new Error('the HR source is closed')
      const scan = openScan(client, employees, { ...options, defaultEnterprise: this.#defaultEnterprise })
      this.#scans.add(scan)
      scan.stream.once('close', () => this.#scans.delete(scan))
      return scan
    } catch (error) {
      await client.end()
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
    try {
      return await lookupEmployees(this.#pool, employees, keys, this.#defaultEnterprise, {
        anyEnterprise,
        timeoutMs,
      })
    } catch (error) {
      // HR's tables may change under a running service: the columns are looked at anew.
      if (error instanceof MappingError) {
        this.#known.forget(employees)
        this.#mappings = undefined
      }
      throw error
    }
  }

  /** All departments, checked: codes present and unique, no cycles. */
  async departments(): Promise<HrDepartmentRow[]> {
    // Looked at anew every time: a mapping of departments that broke is no reason to forget the employees' one.
    const { departments } = await this.#look(this.#pool)
    if (!departments)
      throw new MappingError('MAPPING_MISSING', 'HR_DEPARTMENTS_SQL', 'there is no mapping of departments')
    return readDepartments(this.#pool, departments, this.#defaultEnterprise)
  }

  /** How many active employees HR has in each department that has any. */
  async employeesByDepartment(): Promise<DepartmentCount[]> {
    const employees = await inspectEmployees(this.#pool, await this.#read(this.#options.employeesSql))
    if (!employees.columns.has('dept_code'))
      throw new MappingError(
        'MAPPING_COLUMNS',
        employees.file,
        'column dept_code is missing; employees cannot be counted by department',
      )
    return countEmployees(this.#pool, employees, this.#defaultEnterprise)
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
   * One moment of HR on a connection of its own, for mappings of the caller's choice.
   * @param timeoutMs longest time for each of its statements
   */
  snapshot(timeoutMs: number): Promise<HrSnapshot> {
    return HrSnapshot.open(this.#options.url, {
      defaultEnterprise: this.#defaultEnterprise,
      departmentsFile: this.#options.departmentsSql?.file ?? null,
      timeoutMs,
    })
  }

  /** Closes the connections and ends scans that are under way. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([...this.#scans].map(scan => scan.close())).then(() => this.#pool.end())
    return this.#closing
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
    const inspecting = this.#look(this.#pool)
    this.#mappings = inspecting
    inspecting.catch(() => {
      if (this.#mappings === inspecting) this.#mappings = undefined
    })
    return inspecting
  }

  /**
   * Reads the files and checks the columns of both mappings.
   * @param client what is asked; within a transaction the answer holds for that transaction
   */
  async #look(client: pg.Pool | pg.ClientBase): Promise<Mappings> {
    const { employeesSql, departmentsSql } = this.#options
    const employees = await inspectEmployees(client, await this.#read(employeesSql))
    const departments = departmentsSql && (await inspectDepartments(client, await this.#read(departmentsSql)))
    if (departments) assertDepartments(employees, departments.file)
    this.#known.add(employees)
    return { employees, departments }
  }

  async #read(mapping: MappingFile): Promise<MappingFile> {
    const { reread } = this.#options
    if (!reread) return mapping
    const { file } = mapping
    try {
      return checked({ file, sql: await reread(file) })
    } catch (error) {
      if (error instanceof MappingError) throw error
      const { code } = error as NodeJS.ErrnoException
      throw new MappingError('MAPPING_FILE', file, `the file cannot be read (${code})`, { cause: error })
    }
  }
}

function checked(mapping: MappingFile): MappingFile {
  return { file: mapping.file, sql: singleSelect(mapping) }
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
