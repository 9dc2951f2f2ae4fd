import type { EmployeeKey } from '../directory/employee.ts'
import { type Culprit, findCulprit } from './culprit.ts'
import { examineDepartments } from './departments.ts'
import { lookupEmployees } from './lookup.ts'
import {
  assertDepartments,
  DEPARTMENT_COLUMNS,
  type EmployeeMapping,
  inspectDepartments,
  inspectEmployees,
} from './mapping.ts'
import { type HrEmployeeRow, type HrScan, openScan } from './scan.ts'
import type { HrServer, HrSession } from './server.ts'
import type { MappingFile } from './statement.ts'
import { singleSelect } from './statement.ts'

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
    const { departmentsFile } = this.#options
    const select = singleSelect({ file, sql }, this.#server.dialect)
    const mapping = await inspectEmployees(this.#session, { file, sql: select })
    if (departmentsFile !== null) assertDepartments(mapping, departmentsFile)
    return mapping
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

  /** All departments, with all their problems. Needs a mapping of them. @throws MappingError, HrUnavailableError */
  async departments({ file, sql }: MappingFile): Promise<ReturnType<typeof examineDepartments>> {
    const select = singleSelect({ file, sql }, this.#server.dialect)
    const mapping = await inspectDepartments(this.#session, { file, sql: select })
    const { defaultEnterprise } = this.#options
    return examineDepartments(
      await this.#session.rows({ mapping, columns: DEPARTMENT_COLUMNS, defaultEnterprise }),
    )
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

  /** Closes the session. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#session.close()
  }
}
