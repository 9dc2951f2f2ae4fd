import pg from 'pg'
import type { Logger } from 'pino'
import { countEmployees, readDepartments } from './departments.ts'
import { MappingError, toHrError } from './errors.ts'
import { describeMappings, inspectMappings, type Mappings } from './inspection.ts'
import { lookupEmployees } from './lookup.ts'
import { openScan } from './scan.ts'
import { connectClient, connectionSettings, prepareSession } from './session.ts'
import type { HrScan, HrSource } from './source.ts'
import { type MappingFile, singleSelect } from './statement.ts'

/** What an HR source on PostgreSQL needs. */
export interface PostgresHrOptions {
  url: string
  /** Text of the employees' mapping, with its file's name for messages. */
  employeesSql: MappingFile
  /** Text of the departments' mapping; null when there is none. */
  departmentsSql: MappingFile | null
  /** Enterprise code of rows that have none; default ''. */
  defaultEnterpriseCode?: string
  logger: Logger
  /** Connections for look-ups at most; every scan has one more of its own. Default 4. */
  poolSize?: number
}

/**
 * An HR system in PostgreSQL, behind two mapping queries. Connects when it is first asked something.
 * Throws a MappingError at once when a mapping's text is no single SELECT.
 */
export function createPostgresHrSource(options: PostgresHrOptions): HrSource {
  return new PostgresHrSource(options)
}

class PostgresHrSource implements HrSource {
  readonly #url: string
  readonly #employees: MappingFile
  readonly #departments: MappingFile | null
  readonly #defaultEnterprise: string
  readonly #pool: pg.Pool
  readonly #scans = new Set<HrScan>()
  #mappings: Promise<Mappings> | undefined
  #closing: Promise<void> | undefined

  constructor(options: PostgresHrOptions) {
    const checked = (mapping: MappingFile) => ({ file: mapping.file, sql: singleSelect(mapping) })
    this.#url = options.url
    this.#employees = checked(options.employeesSql)
    this.#departments = options.departmentsSql && checked(options.departmentsSql)
    this.#defaultEnterprise = options.defaultEnterpriseCode ?? ''
    this.#pool = new pg.Pool({
      ...connectionSettings(options.url),
      max: options.poolSize ?? 4,
      onConnect: prepareSession,
      query_timeout: 120_000,
    })
    const logger = options.logger.child({ component: 'hr' })
    // The pool replaces a connection that breaks while idle; whoever asks next is served or told.
    this.#pool.on('error', error => logger.warn({ reason: toHrError(error).message }, 'HR connection lost'))
  }

  get hasDepartments(): boolean {
    return this.#departments !== null
  }

  async inspect() {
    this.#mappings = undefined
    return describeMappings(await this.#inspected())
  }

  async scan(options: { since?: Date | undefined; signal?: AbortSignal | undefined }): Promise<HrScan> {
    options.signal?.throwIfAborted()
    const client = await connectClient(this.#url)
    try {
      await begin(client)
      const { employees } = await inspectMappings(client, this.#employees, this.#departments)
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

  async lookup(keys: Parameters<HrSource['lookup']>[0]) {
    if (keys.length === 0) return new Map()
    const { employees } = await this.#inspected()
    return this.#ask(() => lookupEmployees(this.#pool, employees, keys, this.#defaultEnterprise))
  }

  async departments() {
    // Looked at anew every time: a mapping of departments that broke is no reason to forget the employees' one.
    const { departments } = await inspectMappings(this.#pool, this.#employees, this.#departments)
    if (!departments) {
      throw new MappingError('MAPPING_MISSING', 'HR_DEPARTMENTS_SQL', 'there is no mapping of departments')
    }
    return readDepartments(this.#pool, departments, this.#defaultEnterprise)
  }

  async employeesByDepartment() {
    const { employees } = await this.#inspected()
    if (!employees.columns.has('dept_code')) {
      const message = 'column dept_code is missing; employees cannot be counted by department'
      throw new MappingError('MAPPING_COLUMNS', employees.file, message)
    }
    return this.#ask(() => countEmployees(this.#pool, employees, this.#defaultEnterprise))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#scans].map(scan => scan.close()))
    await this.#pool.end()
  }

  /** The mappings as they were last found good; a failure is not remembered. */
  #inspected(): Promise<Mappings> {
    if (this.#mappings) return this.#mappings
    const inspecting = inspectMappings(this.#pool, this.#employees, this.#departments)
    this.#mappings = inspecting
    inspecting.catch(() => this.#forget(inspecting))
    return inspecting
  }

  /** HR's tables may change under a running service: after a failure of the mapping its columns are looked at anew. */
  async #ask<T>(question: () => Promise<T>): Promise<T> {
    const mappings = this.#mappings
    try {
      return await question()
    } catch (error) {
      if (error instanceof MappingError) this.#forget(mappings)
      throw error
    }
  }

  #forget(mappings: Promise<Mappings> | undefined): void {
    if (this.#mappings === mappings) this.#mappings = undefined
  }
}

async function begin(client: pg.Client): Promise<void> {
  try {
    await client.query('begin isolation level repeatable read read only')
  } catch (error) {
    throw toHrError(error)
  }
}
