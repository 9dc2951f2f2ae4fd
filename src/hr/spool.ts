import { type FileHandle, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, Transform } from 'node:stream'
import { type HrEmployeeRow, type HrScan, ScanRows } from './scan.ts'

const LINE_END = 10

/** The temporary file cannot be created or written. */
export class SpoolError extends Error {
  readonly code = 'SPOOL'

  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'SpoolError'
  }
}

/**
 * The rows of a scan, spooled to be read again: the work that follows may take hours, for which no HR server should have to
 * keep a snapshot. They are in an unlinked file, so that nothing is left of them however the process ends.
 */
export class ScanSpool implements AsyncDisposable {
  readonly #file: FileHandle
  #columns: readonly string[] = []

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async open(): Promise<ScanSpool> {
    const path = join(tmpdir(), `dirsync-${crypto.randomUUID()}`)
    const file = await open(path, 'ax+', 0o600).catch(error => {
      throw new SpoolError(error)
    })
    await rm(path)
    return new ScanSpool(file)
  }

  /** The same scan, whose rows are spooled as they are read; those of an earlier one are dropped. */
  async keep(scan: HrScan): Promise<HrScan> {
    await this.#file.truncate()
    this.#columns = scan.columns
    const stream = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        this.#file.appendFile(chunk).then(
          () => done(null, chunk),
          error => done(new SpoolError(error)),
        )
      },
    })
    pipeline(scan.stream, stream, () => {}) // failures come out of `stream`
    return { ...scan, stream, close: () => scan.close() }
  }

  /** The rows, in the order of the scan. */
  async *rows(): AsyncGenerator<HrEmployeeRow> {
    const rows = new ScanRows(this.#columns)
    let rest: Buffer = Buffer.alloc(0)
    for await (const chunk of this.#file.createReadStream({ start: 0, autoClose: false })) {
      const bytes = Buffer.concat([rest, chunk as Buffer])
      const end = bytes.lastIndexOf(LINE_END) + 1
      rest = bytes.subarray(end)
      if (end > 0) yield* rows.push(bytes.subarray(0, end))
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file.close()
  }
}
