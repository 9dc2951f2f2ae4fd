import pg from 'pg'
import type { Logger } from 'pino'
import { countEmployees, readDepartments } from './departments.ts'
import { describeMappings, inspectEmployees, inspectMappings, type Mappings } from './inspection.ts'
import { type EmployeeMapping, KnownMappings, type MappingFile, singleSelect } from './mapping.ts'
import { connectClient, connectionSettings, lookupEmployees, openScan, prepareSession } from './rows.ts'
import { type HrScan, type HrSource, MappingError, toHrError } from './source.ts'

/** What an HR source on PostgreSQL needs. */
interface PostgresHrOptions {
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
  readonly #reread: PostgresHrOptions['reread']
  readonly #defaultEnterprise: string
  readonly #logger: Logger
  readonly #pool: pg.Pool
  readonly #scans = new Set<HrScan>()
  readonly #known = new KnownMappings()
  #mappings: Promise<Mappings> | undefined
  #closing: Promise<void> | undefined

  constructor(options: PostgresHrOptions) {
    this.#url = options.url
    this.#employees = checked(options.employeesSql)
    this.#departments = options.departmentsSql && checked(options.departmentsSql)
    this.#reread = options.reread
    this.#defaultEnterprise = options.defaultEnterpriseCode ?? ''
    this.#pool = new pg.Pool({
      ...connectionSettings(options.url),
      max: options.poolSize ?? 4,
      onConnect: prepareSession,
      query_timeout: 120_000,
    })
    this.#logger = options.logger.child({ component: 'hr' })
    // The pool replaces a connection that breaks while idle; whoever asks next is served or told.
    this.#pool.on('error', error =>
      this.#logger.warn({ reason: toHrError(error).message }, 'HR connection lost'),
    )
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

  async lookup(
    keys: Parameters<HrSource['lookup']>[0],
    { mapping = null, anyEnterprise = false }: Parameters<HrSource['lookup']>[1] = {},
  ) {
    if (keys.length === 0) return new Map()
    const employees = await this.#mappingOf(mapping)
    try {
      return await lookupEmployees(this.#pool, employees, keys, this.#defaultEnterprise, anyEnterprise)
    } catch (error) {
      // HR's tables may change under a running service: the columns are looked at anew.
      if (error instanceof MappingError) {
        this.#known.forget(employees)
        this.#mappings = undefined
      }
      throw error
    }
  }

  async departments() {
    // Looked at anew every time: a mapping of departments that broke is no reason to forget the employees' one.
    const { departments } = await this.#look(this.#pool)
    if (!departments) {
      throw new MappingError('MAPPING_MISSING', 'HR_DEPARTMENTS_SQL', 'there is no mapping of departments')
    }
    return readDepartments(this.#pool, departments, this.#defaultEnterprise)
  }

  async employeesByDepartment() {
    const employees = await inspectEmployees(this.#pool, await this.#read(this.#employees))
    if (!employees.columns.has('dept_code')) {
      const message = 'column dept_code is missing; employees cannot be counted by department'
      throw new MappingError('MAPPING_COLUMNS', employees.file, message)
    }
    return countEmployees(this.#pool, employees, this.#defaultEnterprise)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#scans].map(scan => scan.close()))
    await this.#pool.end()
  }

  /** The mapping of this fingerprint, or the one there is where this process cannot find it. */
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

  /** Reads the files and asks the server for their columns. */
  async #look(client: pg.Pool | pg.ClientBase): Promise<Mappings> {
    const employees = await this.#read(this.#employees)
    const departments = this.#departments && (await this.#read(this.#departments))
    const mappings = await inspectMappings(client, employees, departments)
    this.#known.add(mappings.employees)
    return mappings
  }

  async #read(mapping: MappingFile): Promise<MappingFile> {
    if (!this.#reread) return mapping
    const { file } = mapping
    try {
      return checked({ file, sql: await this.#reread(file) })
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

async function begin(client: pg.Client): Promise<void> {
  try {
    await client.query('begin isolation level repeatable read read only')
  } catch (error) {
    throw toHrError(error)
  }
}
