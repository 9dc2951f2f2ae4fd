import { once } from 'node:events'
import { addAbortSignal, pipeline, Transform } from 'node:stream'
import type pg from 'pg'
import type { EmployeeKey } from '../directory/employee.ts'
import { HrUnavailableError, toHrError } from './errors.ts'
import {
  assertDepartments,
  type EmployeeMapping,
  inspectEmployees,
  type MappingFile,
  singleSelect,
} from './mapping.ts'
import {
  connectClient,
  copyRows,
  type HrEmployeeRow,
  type HrScan,
  lookupEmployees,
  scanColumns,
} from './rows.ts'

interface SnapshotOptions {
  defaultEnterprise: string
  /** The departments' mapping, which asks something of that of the employees; null without one. */
  departmentsFile: string | null
  timeoutMs: number
}

/**
 * HR as it is at one moment, read with any mapping: with today's and with one that somebody tries out. Everything happens in
 * one read-only transaction that is rolled back, on a connection of its own that is closed afterwards, so that nothing which
 * a SELECT may set outlives it. One thing at a time: each has to end before the next one begins.
 */
export class HrSnapshot implements AsyncDisposable {
  readonly #client: pg.Client
  readonly #options: SnapshotOptions

  private constructor(client: pg.Client, options: SnapshotOptions) {
    this.#client = client
    this.#options = options
  }

  /** @throws HrUnavailableError */
  static async open(url: string, options: SnapshotOptions): Promise<HrSnapshot> {
    const client = await connectClient(url, 'dirsync dry run')
    try {
      await client.query('begin isolation level repeatable read read only')
      return new HrSnapshot(client, options)
    } catch (error) {
      await client.end()
      throw toHrError(error)
    }
  }

  /** Checks a mapping without reading a row. @throws MappingError, HrUnavailableError */
  async inspect({ file, sql }: MappingFile): Promise<EmployeeMapping> {
    const { departmentsFile } = this.#options
    const select = singleSelect({ file, sql })
    await this.#limit()
    const mapping = await this.#inTime(inspectEmployees(this.#client, { file, sql: select }))
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
    await this.#limit()
    const client = this.#client
    const { source, failureOf } = copyRows(client, mapping, this.#options)
    let isComplete = false
    const stream = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        read(chunk)
        done(null, chunk)
      },
      flush(done) {
        isComplete = true
        done()
      },
      destroy: (error, done) => {
        const finish = () => done(error && this.#explained(failureOf(error)))
        // In the middle of a COPY this cuts the connection, which is the only short way out of one.
        if (isComplete) finish()
        else client.end().then(finish, finish)
      },
    })
    pipeline(source, stream, () => {}) // failures come out of `stream`
    addAbortSignal(signal, stream)
    return {
      columns: scanColumns(mapping),
      mapping: mapping.fingerprint,
      stream,
      async close() {
        if (stream.closed) return
        const closed = once(stream, 'close')
        stream.destroy()
        await closed
      },
    }
  }

  /** As `HrSource.lookup`. */
  async lookup(
    mapping: EmployeeMapping,
    keys: readonly EmployeeKey[],
  ): Promise<Map<string, HrEmployeeRow | 'duplicate'>> {
    await this.#limit()
    const { defaultEnterprise } = this.#options
    return this.#inTime(
      lookupEmployees(this.#client, mapping, keys, defaultEnterprise, { anyEnterprise: false }),
    )
  }

  /** Ends the transaction and closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end().catch(() => undefined) // it may be gone already
  }

  /** Before each statement, whatever the one before it has set. */
  async #limit(): Promise<void> {
    await this.#client.query(`set local statement_timeout = ${this.#options.timeoutMs}`).catch(error => {
      throw toHrError(error)
    })
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      throw this.#explained(error)
    }
  }

  /** A statement that took too long does not mean that HR is away. */
  #explained(error: unknown): Error {
    const failure = toHrError(error)
    const cause = failure.cause as { code?: string } | undefined
    if (!(failure instanceof HrUnavailableError) || cause?.code !== QUERY_CANCELED) return failure
    const seconds = Math.round(this.#options.timeoutMs / 1000)
    return new HrUnavailableError(`HR's server needed more than ${seconds} s for the SELECT, and stopped it`)
  }
}

/** SQLSTATE query_canceled. */
const QUERY_CANCELED = '57014'
