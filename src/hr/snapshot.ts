import type { EmployeeKey } from '../directory/employee.ts'
import { examineDepartments } from './departments.ts'
import { lookupEmployees } from './lookup.ts'
import {
  assertDepartments,
  DEPARTMENT_COLUMNS,
  type EmployeeMapping,
  inspectDepartments,
  inspectEmployees,
  type MappingFile,
} from './mapping.ts'
import { type HrEmployeeRow, type HrScan, openScan } from './scan.ts'
import type { HrServer, HrSession } from './server.ts'
import { singleSelect } from './statement.ts'

interface SnapshotOptions {
  /** What it is for, as the server's list of connections shows it. */
  name: string
  defaultEnterprise: string
  /** The departments' mapping, which asks something of that of the employees; null without one. */
  departmentsFile: string | null
  timeoutMs: number
}

/**
 * HR as it is at one moment, read with any mapping: with today's and with one that somebody tries out. Everything happens in
 * one session that can write nothing and is closed afterwards, so that nothing which a SELECT may set outlives it. One thing
 * at a time: each has to end before the next one begins.
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
   * Streams all employees. One that is not read to its end ends the snapshot.
   * @param read is told of every chunk
   */
  async scan(
    mapping: EmployeeMapping,
    signal: AbortSignal,
    read: (chunk: Buffer) => void = () => {},
  ): Promise<HrScan> {
    signal.throwIfAborted()
    const { defaultEnterprise } = this.#options
    return openScan(this.#session, mapping, { defaultEnterprise, signal, read, endsSession: false })
  }

  /** All departments, whatever is wrong with them. Needs a mapping of them. @throws MappingError, HrUnavailableError */
  async departments({ file, sql }: MappingFile): Promise<ReturnType<typeof examineDepartments>> {
    const select = singleSelect({ file, sql }, this.#server.dialect)
    const mapping = await inspectDepartments(this.#session, { file, sql: select })
    const { defaultEnterprise } = this.#options
    return examineDepartments(
      await this.#session.rows({ mapping, columns: DEPARTMENT_COLUMNS, defaultEnterprise }),
    )
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
