import type { Logger } from 'pino'
import type { EmployeeField, EmployeeKey } from '../directory/employee.ts'
import { trimText } from '../lib/text.ts'
import { unlessAborted } from '../lib/waiting.ts'
import { message } from '../texts/message.ts'
import { countEmployees, type DepartmentsInHr, namesOfDepartments, readDepartments } from './departments.ts'
import { MappingError } from './errors.ts'
import { type LookupOptions, lookupEmployees, sampleLookup } from './lookup.ts'
import { assertDepartments, type EmployeeMapping, inspectDepartments, inspectEmployees } from './mapping.ts'
import { type HrEmployeeRow, type HrScan, openScan } from './scan.ts'
import type {
  HrDelivery,
  HrFacts,
  HrKind,
  HrReader,
  HrServer,
  HrServerSettings,
  KeyCondition,
  Searched,
  SearchedBy,
  TableReadWhole,
} from './server.ts'
import { HrSnapshot } from './snapshot.ts'
import type { Mapping, MappingFile } from './statement.ts'
import { singleSelect } from './statement.ts'
import { type ChangedRow, readChangedRows } from './updated-times.ts'

export {
  HrDataError,
  HrDeliveryError,
  HrTooSlowError,
  HrUnavailableError,
  isOfHr,
  MappingError,
  noSourceHas,
} from './errors.ts'
export type { EmployeeMapping } from './mapping.ts'
export type { HrEmployeeRow, HrScan } from './scan.ts'
export type { MappingFile } from './statement.ts'

interface HrOptions {
  /** The HR server. The source closes it. */
  server: HrServer
  /** Text of the employees' mapping, with its file's name for messages. */
  employeesSql: MappingFile
  /** Text of the departments' mapping; null when there is none. */
  departmentsSql: MappingFile | null
  /** Reads a mapping file anew at each check of the mappings; default: the texts stay as they are. */
  reread?: (file: string) => Promise<string>
  /** Enterprise code of rows without one; default ''. */
  defaultEnterpriseCode?: string
  logger: Logger
}

interface SearchOptions {
  limit: number
  /** After which it is given up: where no index serves, all of HR may be read. */
  timeoutMs: number
  /** Only of this one, unless it is that of rows without a code: then the caller has to leave out others. Undefined: of all. */
  enterprise?: string | undefined
}

/** What another process needs to make the same source. */
export type HrSourceSettings = Omit<HrOptions, 'server' | 'reread' | 'logger'> & { server: HrServerSettings }

/** The columns of the mappings, once they have passed every check. */
interface MappingInspection {
  /** Columns of the SELECT, in its order. */
  employees: { file: string; columns: string[]; fields: EmployeeField[] }
  /** Null without a departments' mapping; what is wrong with it, which concerns departments alone. */
  departments: { file: string; columns: string[] } | MappingError | null
  /** Of the employees' mapping, as recorded with a plan made with it. */
  fingerprint: string
}

/** Both mappings, checked. Employees do not wait because of an error in that of departments. */
interface Mappings {
  employees: EmployeeMapping
  departments: Mapping | MappingError | null
}

/**
 * The HR system: a server behind two mapping queries, read-only. Connects at the first query. Every method fails with
 * HrUnavailableError when HR does not answer, with MappingError when a mapping is wrong, and with HrDataError when HR's rows
 * are unusable as a whole. The constructor throws a MappingError for a text that is not one SELECT.
 */
export class HrSource {
  readonly #options: HrOptions
  readonly #defaultEnterprise: string
  readonly #logger: Logger
  readonly #server: HrServer
  /** What reads HR on a connection of its own. */
  readonly #readings = new Set<{ close(): Promise<void> }>()
  readonly #ended = new AbortController()
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

  get kind(): HrKind {
    return this.#server.kind
  }

  /** Without a departments' mapping no department is ever deleted. */
  get hasDepartments(): boolean {
    return this.#options.departmentsSql !== null
  }

  /** The SELECT of a text. @throws MappingError when it cannot be one; the server is not queried */
  selectOf(mapping: MappingFile): string {
    return this.#checked(mapping).sql
  }

  /** Reads both mappings, their files included, and checks them without reading a row. */
  async inspect(): Promise<MappingInspection> {
    this.#mappings = undefined
    const { employees, departments } = await this.#inspected()
    return {
      employees: { file: employees.file, columns: [...employees.columns.keys()], fields: employees.fields },
      departments:
        departments === null || departments instanceof MappingError
          ? departments
          : { file: departments.file, columns: [...departments.columns.keys()] },
      fingerprint: employees.fingerprint,
    }
  }

  /**
   * Streams all employees in one snapshot.
   * @param options.since only rows with `updated_at` at or after this time; ignored when it is not mapped
   */
  async scan(options: { since?: Date | undefined; signal?: AbortSignal | undefined }): Promise<HrScan> {
    options.signal?.throwIfAborted()
    const session = await this.#server.open({ name: 'dirsync', timeoutMs: null, isForRun: true })
    try {
      const { employees } = await this.#inspectMappings(session)
      options.signal?.throwIfAborted()
      this.#ended.signal.throwIfAborted()
      const scan = await openScan(session, employees, {
        ...options,
        defaultEnterprise: this.#defaultEnterprise,
        rowLimit: this.#server.settings.rowLimit,
        endsSession: true,
      })
      this.#readings.add(scan)
      scan.stream.once('close', () => this.#readings.delete(scan))
      return scan
    } catch (error) {
      await session.close()
      throw error
    }
  }

  /**
   * The current rows of some employees, by `keyText`. A key that HR does not have is missing from the answer; one that it has
   * more than once is 'duplicate'. A row has the columns of the mapping that it was read with.
   * @param options.mapping fingerprint of the mapping to read with; without it, or if it cannot be found here, the current one
   * is used
   */
  async lookup(
    keys: readonly EmployeeKey[],
    { mapping = null, ...options }: LookupOptions & { mapping?: string | null } = {},
  ): Promise<Map<string, HrEmployeeRow | 'duplicate'>> {
    if (keys.length === 0) return new Map()
    const employees = await this.#mappingOf(mapping)
    const [server, defaultEnterprise] = [this.#server, this.#defaultEnterprise]
    const place = { server, reader: server.reader, mapping: employees, defaultEnterprise }
    return this.#asFound(employees, () => lookupEmployees(place, keys, options))
  }

  /**
   * Some employees of whom one of the columns begins with one of its texts, whatever its capitals, or a word of the name does, or
   * whose mobile number ends with some digits of it; none where no column is mapped. It is one question, which is answered once enough are found.
   */
  async search(
    by: readonly SearchedBy[],
    options: SearchOptions,
  ): Promise<(EmployeeKey & { by: Searched; name: string | null })[]> {
    const { employees } = await this.#inspected()
    const found = await this.#keysWith(employees, 'userid', by, options)
    return found.map(({ key: userid, ...rest }) => ({ userid, ...rest }))
  }

  /** The same for departments, by name. */
  async searchDepartments(
    text: string,
    options: SearchOptions,
  ): Promise<{ enterpriseCode: string; deptCode: string; name: string | null }[]> {
    const departments = usable((await this.#inspected()).departments)
    if (departments === null) return []
    const found = await this.#keysWith(departments, 'dept_code', [['name', [text]]], options)
    return found.map(({ enterpriseCode, key, name }) => ({ enterpriseCode, deptCode: trimText(key), name }))
  }

  /** The big tables that every look-up of an employee scans in full. */
  async lookupReadsWhole(): Promise<TableReadWhole[]> {
    const [server, defaultEnterprise] = [this.#server, this.#defaultEnterprise]
    const { query, userid } = sampleLookup({ server, mapping: await this.mapping(), defaultEnterprise })
    return (await server.readWhole?.(query, userid)) ?? []
  }

  /** The rows that HR changed at or after a time, possibly not all of them; null where `updated_at` is not mapped. */
  async changedSince(since: Date, datedOnly = false): Promise<ChangedRow[] | null> {
    const employees = await this.mapping()
    return this.#asFound(employees, () =>
      readChangedRows(this.#server.reader, employees, this.#defaultEnterprise, since, datedOnly),
    )
  }

  /** For delivered HR: what the mappings read of it; undefined for a live HR. @throws as `texts` does, HrUnavailableError */
  async delivery(): Promise<HrDelivery | undefined> {
    if (this.#server.delivery === undefined) return undefined
    const { employeesSql, departmentsSql } = this.#options
    const employees = await this.#read(employeesSql)
    const departments = departmentsSql && (await orMistake(this.#read(departmentsSql)))
    const isRead = departments !== null && !(departments instanceof MappingError)
    return this.#server.delivery(isRead ? [employees, departments] : [employees])
  }

  /**
   * All departments, checked (codes present and unique, no cycles), and how many active employees are in them, in one snapshot.
   * What goes by them cannot be undone, so neither a partial delivery nor the one before it will do.
   * @param options.timeoutMs longest time for each of its statements; default: none, as it may count all of HR
   */
  async departments({
    signal,
    timeoutMs = null,
  }: {
    signal?: AbortSignal
    timeoutMs?: number | null
  } = {}): Promise<DepartmentsInHr> {
    const ended = AbortSignal.any([this.#ended.signal, ...(signal ? [signal] : [])])
    ended.throwIfAborted()
    const session = await this.#server.open({ name: 'dirsync', timeoutMs, isForRun: true })
    this.#readings.add(session)
    try {
      return await unlessAborted(this.#departmentsIn(session), ended)
    } finally {
      await session.close()
      this.#readings.delete(session)
    }
  }

  async #departmentsIn(session: HrReader): Promise<DepartmentsInHr> {
    const { employees, departments: mapping } = await this.#inspectMappings(session)
    const departments = usable(mapping)
    if (!departments)
      throw new MappingError('MAPPING_MISSING', 'HR_DEPARTMENTS_SQL', message('said.mapping_no_departments'))
    return {
      departments: await readDepartments(session, departments, this.#defaultEnterprise),
      employees: await countEmployees(session, employees, this.#defaultEnterprise),
      mapping: employees.fingerprint,
    }
  }

  /**
   * The names of some departments, by `keyText` of enterprise and code; empty where the mapping has none.
   * @param timeoutMs after which it is given up
   */
  async departmentNames(
    wanted: readonly { enterpriseCode: string; deptCode: string }[],
    timeoutMs: number,
  ): Promise<Map<string, string>> {
    const departments = usable((await this.#inspected()).departments)
    if (!departments?.columns.has('name') || wanted.length === 0) return new Map()
    const place = { server: this.#server, mapping: departments, defaultEnterprise: this.#defaultEnterprise }
    return namesOfDepartments(place, wanted, timeoutMs)
  }

  /** The employees' mapping with the types of its columns, as of the last successful check. */
  async mapping(): Promise<EmployeeMapping> {
    return (await this.#inspected()).employees
  }

  /** Whether `lookup` reads with the mapping of this fingerprint, and not with the current one for want of it. */
  hasMapping(fingerprint: string | null): boolean {
    return fingerprint === null || this.#known.find(fingerprint) !== undefined
  }

  /** When this process took over its present mapping, by `performance.now()`; 0: it is the first one. */
  get mappedSince(): number {
    return this.#known.since
  }

  /** The employees' mapping as it was last seen, without a look at HR; undefined where nothing has looked yet. */
  get seenMapping(): EmployeeMapping | undefined {
    return this.#known.latest
  }

  /** The current texts of both mappings. @throws MappingError */
  async mappingFiles(): Promise<{ employees: MappingFile; departments: MappingFile | null }> {
    const { employeesSql, departmentsSql } = this.#options
    return {
      employees: await this.#read(employeesSql),
      departments: departmentsSql && (await this.#read(departmentsSql)),
    }
  }

  /**
   * A snapshot of HR in a session of its own, for mappings of the caller's choice.
   * @param timeoutMs longest time for each of its statements
   * @param name its purpose, for the server's list of connections
   */
  snapshot(timeoutMs: number, name = 'dirsync dry run'): Promise<HrSnapshot> {
    return HrSnapshot.open(this.#server, {
      name,
      defaultEnterprise: this.#defaultEnterprise,
      departmentsFile: this.#options.departmentsSql?.file ?? null,
      timeoutMs,
    })
  }

  /** The settings that it is made from, with the current texts. @throws MappingError */
  async settings(): Promise<HrSourceSettings> {
    const { employees, departments } = await this.mappingFiles()
    return {
      server: this.#server.settings,
      employeesSql: employees,
      departmentsSql: departments,
      defaultEnterpriseCode: this.#defaultEnterprise,
    }
  }

  /** What the server is. @throws HrUnavailableError */
  facts(): Promise<HrFacts> {
    return this.#server.facts()
  }

  /** Closes the connections and ends whatever reads all of HR. Idempotent. */
  close(): Promise<void> {
    this.#ended.abort(new Error('the HR source is closed'))
    const readings = [...this.#readings].map(reading => reading.close())
    this.#closing ??= Promise.all(readings).then(() => this.#server.close())
    return this.#closing
  }

  async #keysWith(
    mapping: Mapping,
    key: 'userid' | 'dept_code',
    by: readonly SearchedBy[],
    { limit, timeoutMs, enterprise }: SearchOptions,
  ): Promise<{ enterpriseCode: string; key: string; by: Searched; name: string | null }[]> {
    const any = by.filter(([column]) => mapping.columns.has(column)).flatMap(searchesOf)
    const [first] = any
    if (!first || enterprise?.includes('\0')) return []
    // Rows without a code have the default one, which is no condition on the column.
    const isOther = enterprise !== undefined && enterprise !== this.#defaultEnterprise
    if (isOther && !mapping.columns.has('enterprise_code')) return []
    const where: KeyCondition[] = isOther
      ? [{ column: 'enterprise_code', by: 'text', values: [enterprise] }]
      : []
    const columns = [...new Set(['enterprise_code', key, 'name', ...any.map(({ column }) => column)])]
    const query = { mapping, columns, defaultEnterprise: this.#defaultEnterprise, where, any, limit }
    const rows = await this.#server.reader.rows(query, timeoutMs)
    return rows.flatMap(row => {
      const [enterprise, key, name = null] = row
      // A server may hold other letters to be the same.
      const { column: by } = any.find(one => holds(one, row[columns.indexOf(one.column)])) ?? first
      return key ? [{ enterpriseCode: enterprise ?? '', key, by, name }] : []
    })
  }

  /** HR's tables may change under a running service: when a mapping turns out wrong, the columns are inspected anew. */
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

  /** The mapping of this fingerprint, or the current one if this process cannot find it. */
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

  /** The mappings as of the last successful check; failures are not cached. */
  #inspected(): Promise<Mappings> {
    if (this.#mappings) return this.#mappings
    const inspecting = this.#inspectMappings(this.#server.reader)
    this.#mappings = inspecting
    const forget = () => {
      if (this.#mappings === inspecting) this.#mappings = undefined
    }
    inspecting.then(({ departments }) => departments instanceof MappingError && forget(), forget)
    return inspecting
  }

  /**
   * Reads the files and checks the columns of both mappings.
   * @param reader what is queried; the answer of a session holds for that session
   */
  async #inspectMappings(reader: HrReader): Promise<Mappings> {
    const { employeesSql, departmentsSql } = this.#options
    const employees = await inspectEmployees(reader, await this.#read(employeesSql))
    const inspect = async (mapping: MappingFile) => {
      assertDepartments(employees, mapping.file)
      return inspectDepartments(reader, await this.#read(mapping))
    }
    const departments = departmentsSql && (await orMistake(inspect(departmentsSql)))
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
      const reason = message('said.mapping_unreadable', { reason: code ?? '' })
      throw new MappingError('MAPPING_FILE', file, reason, { cause: error })
    }
  }

  #checked({ file, sql }: MappingFile): MappingFile {
    return { file, sql: singleSelect({ file, sql }, this.#server.dialect) }
  }
}

/** What there is of a mapping, or what is wrong with it. */
export function orMistake<T>(mapping: Promise<T>): Promise<T | MappingError> {
  return mapping.catch(error => {
    if (error instanceof MappingError) return error
    throw error
  })
}

/** What there is of a mapping. @throws MappingError if it is wrong */
export function usable<T>(mapping: T | MappingError): T {
  if (mapping instanceof MappingError) throw mapping
  return mapping
}

function searchesOf([column, texts, ends = []]: SearchedBy): (KeyCondition & { column: Searched })[] {
  const begins = column === 'name' ? 'word' : 'beginning'
  const conditions = [[begins, texts] as const, ['end', ends] as const]
  return conditions
    .filter(([, values]) => values.length > 0)
    .map(([by, values]) => ({ column, by, values: values.map(text => text.toLowerCase()) }))
}

/** Whether a value begins so, a word of it does, or it ends so. */
function holds({ by, values }: KeyCondition, value: string | null | undefined): boolean {
  const text = (value ?? '').trim().toLowerCase()
  return values.some(wanted =>
    by === 'end'
      ? text.endsWith(wanted)
      : text.startsWith(wanted) || (by === 'word' && text.includes(` ${wanted}`)),
  )
}

/** Most mappings in use at a time: of the plans in progress, of a held one, of one that failed. */
const KEPT = 4
/** How long until an unknown fingerprint is looked up again. */
const LOOK_AGAIN_MS = 5000

/**
 * The employees' mappings that this process has seen, by fingerprint. Workers read HR with the mapping of the last plan that
 * passed, even if the file has changed since.
 */
class KnownMappings {
  readonly #mappings = new Map<string, EmployeeMapping>()
  #missed = { fingerprint: '', until: 0 }
  /** Since when another one than the first is the latest, by `performance.now()`. */
  since = 0

  find(fingerprint: string): EmployeeMapping | undefined {
    return this.#mappings.get(fingerprint)
  }

  get latest(): EmployeeMapping | undefined {
    return [...this.#mappings.values()].at(-1)
  }

  add(mapping: EmployeeMapping): void {
    if (this.latest && this.latest.fingerprint !== mapping.fingerprint) this.since = performance.now()
    this.#mappings.delete(mapping.fingerprint)
    this.#mappings.set(mapping.fingerprint, mapping)
    const [oldest] = this.#mappings.keys()
    if (this.#mappings.size > KEPT && oldest !== undefined) this.#mappings.delete(oldest)
  }

  forget(mapping: EmployeeMapping): void {
    this.#mappings.delete(mapping.fingerprint)
  }

  /** Whether it is time to check HR and the file for an unknown fingerprint; periodically, not for every key. */
  isWorthALook(fingerprint: string): boolean {
    const now = performance.now()
    if (this.#missed.fingerprint === fingerprint && now < this.#missed.until) return false
    this.#missed = { fingerprint, until: now + LOOK_AGAIN_MS }
    return true
  }
}
