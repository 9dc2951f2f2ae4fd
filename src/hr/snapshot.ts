import type { EmployeeKey } from '../directory/employee.ts'
import { examineDepartments } from './departments.ts'
import { HrDataError } from './errors.ts'
import { lookupEmployees } from './lookup.ts'
import {
  assertDepartments,
  DEPARTMENT_COLUMNS,
  type EmployeeMapping,
  inspectDepartments,
  inspectEmployees,
  scanColumns,
} from './mapping.ts'
import { type HrEmployeeRow, type HrScan, openScan } from './scan.ts'
import type { HrQuery, HrReader, HrServer, HrSession, HrValues } from './server.ts'
import { type MappingFile, singleSelect } from './statement.ts'

interface SnapshotOptions {
  /** Its purpose, for the server's list of connections. */
  name: string
  defaultEnterprise: string
  /** The departments' mapping, which has a requirement for that of the employees; null without one. */
  departmentsFile: string | null
  timeoutMs: number
}

/**
 * A snapshot of HR, read with any mapping: with today's and with one under test. Everything happens in one read-only session
 * that is closed afterwards, so that no setting of a SELECT outlives it. Sequential: each operation has to end before the next
 * one begins.
 */
export class HrSnapshot implements AsyncDisposable {
  readonly #server: HrServer
  readonly #session: HrSession
  readonly #options: SnapshotOptions

  private constructor(server: HrServer, session: HrSession, options: SnapshotOptions) {
    this.#server = server
    this.#session = session
    this.#options = options
  }

  /** @throws HrUnavailableError */
  static async open(server: HrServer, options: SnapshotOptions): Promise<HrSnapshot> {
    const session = await server.open({ name: options.name, timeoutMs: options.timeoutMs })
    return new HrSnapshot(server, session, options)
  }

  /** Checks a mapping without reading a row. @throws MappingError, HrUnavailableError */
  async inspect({ file, sql }: MappingFile): Promise<EmployeeMapping> {
    const select = singleSelect({ file, sql }, this.#server.dialect)
    return inspectEmployees(this.#session, { file, sql: select })
  }

  /** @throws MappingError when there is a mapping of departments, which lacks something in this one of the employees */
  assertDepartments(employees: EmployeeMapping): void {
    const { departmentsFile } = this.#options
    if (departmentsFile !== null) assertDepartments(employees, departmentsFile)
  }

  /**
   * Streams all employees. Closing it before its end closes the snapshot.
   * @param read called with every chunk
   */
  async scan(
    mapping: EmployeeMapping,
    signal: AbortSignal,
    read: (chunk: Buffer) => void = () => {},
  ): Promise<HrScan> {
    signal.throwIfAborted()
    const { defaultEnterprise } = this.#options
    const { rowLimit } = this.#server.settings
    return openScan(this.#session, mapping, { defaultEnterprise, rowLimit, signal, read, endsSession: false })
  }

  /**
   * All departments, with all their problems and the columns of their mapping. Needs a mapping of them.
   * @throws MappingError, HrUnavailableError
   */
  async departments({ file, sql }: MappingFile, employees: EmployeeMapping) {
    assertDepartments(employees, file)
    const select = singleSelect({ file, sql }, this.#server.dialect)
    const mapping = await inspectDepartments(this.#session, { file, sql: select })
    const { defaultEnterprise } = this.#options
    const rows = await this.#session.rows({ mapping, columns: DEPARTMENT_COLUMNS, defaultEnterprise })
    return { ...examineDepartments(rows), columns: mapping.columns }
  }

  /** The value that made a scan fail with HrDataError, found by reading again; null where it cannot be found. */
  culprit(mapping: EmployeeMapping): Promise<Culprit | null> {
    return findCulprit(this.#session, mapping, this.#options.defaultEnterprise)
  }

  /** As `HrSource.lookup`. */
  lookup(
    mapping: EmployeeMapping,
    keys: readonly EmployeeKey[],
  ): Promise<Map<string, HrEmployeeRow | 'duplicate'>> {
    const { defaultEnterprise } = this.#options
    return lookupEmployees({ server: this.#server, reader: this.#session, mapping, defaultEnterprise }, keys)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#session.close()
  }
}

/*
 * The value that a mapping fails on. Servers say that a cast failed, but not where: so the SELECT is read again, column by
 * column, and then with ever closer limits.
 */

interface Culprit {
  column: string
  /** Null when no employee fails on their own, or beyond a million rows. */
  key: EmployeeKey | null
}

/** Number of rows first searched for the failing one; that many more each time. */
const BEGINNING = 1000
const GROWTH = 8
const MOST = 1_000_000

/** Null when no column fails by itself, or every one does: the failure is in a condition or a join, or is over. */
async function findCulprit(
  reader: HrReader,
  mapping: EmployeeMapping,
  defaultEnterprise: string,
): Promise<Culprit | null> {
  /** Null when the query fails on a value. */
  const rows = (query: Omit<HrQuery, 'mapping' | 'defaultEnterprise'>): Promise<HrValues[] | null> =>
    reader.rows({ mapping, defaultEnterprise, ...query }).catch(error => {
      if (error instanceof HrDataError) return null
      throw error
    })
  // Counting computes every row's value, and hardly sends anything.
  const fails = async (column: string) =>
    (await rows({ columns: [column], counted: true, limit: 1 })) === null
  let [culprit, isAnySound] = ['', false]
  for (const column of scanColumns(mapping)) {
    if (!mapping.columns.has(column) || (culprit && isAnySound)) continue
    if (!(await fails(column))) isAnySound = true
    else culprit ||= column
  }
  if (!culprit || !isAnySound) return null
  return { column: culprit, key: culprit === 'userid' ? null : await keyOf(culprit, rows) }
}

async function keyOf(
  column: string,
  rows: (query: Pick<HrQuery, 'columns' | 'limit' | 'where'>) => Promise<HrValues[] | null>,
): Promise<EmployeeKey | null> {
  const key = ['enterprise_code', 'userid']
  let [sound, failing] = [0, BEGINNING]
  for (;;) {
    const found = await rows({ columns: [...key, column], limit: failing })
    if (found === null) break
    if (found.length < failing || failing >= MOST) return null
    sound = failing
    failing *= GROWTH
  }
  while (failing - sound > 1) {
    const middle = Math.floor((sound + failing) / 2)
    if ((await rows({ columns: [...key, column], limit: middle })) === null) failing = middle
    else sound = middle
  }
  const last = (await rows({ columns: key, limit: failing }))?.at(-1)
  const [enterpriseCode, userid] = last ?? []
  if (!userid) return null
  // Rows have no order of their own: it is this one only if it fails alone.
  const alone = {
    columns: [...key, column],
    where: [{ column: 'userid', by: 'text', values: [userid] }],
  } as const
  return (await rows(alone)) === null ? { enterpriseCode: enterpriseCode ?? '', userid } : null
}
