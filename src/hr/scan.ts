import { once } from 'node:events'
import { addAbortSignal, pipeline, type Readable, Transform } from 'node:stream'
import type { EmployeeKey } from '../directory/employee.ts'
import { type EmployeeMapping, scanColumns } from './mapping.ts'
import type { HrSession } from './server.ts'
import { WholeLines } from './whole-lines.ts'

/**
 * One employee from HR's mapping: canonical column → text. Dates are `yyyy-MM-dd`, booleans `t`/`f`, `category` is joined by
 * commas; `enterprise_code` and `userid` are always there, trimmed.
 */
export type HrEmployeeRow = Record<string, string | null>

/** The key of a row's employee. */
export function keyOfRow({ enterprise_code, userid }: HrEmployeeRow): EmployeeKey {
  return { enterpriseCode: enterprise_code ?? '', userid: userid ?? '' }
}

/** A pass over all employees of HR, in one snapshot. Close it when it is not read to its end. */
export interface HrScan {
  columns: string[]
  /** Fingerprint of the mapping that it reads with. */
  mapping: string
  /**
   * COPY text format (UTF-8): one line per row with exactly `columns`, in chunks of whole lines. Fails with HrUnavailableError,
   * HrDataError, or the signal's AbortError. Closing it closes the session, if it is the session's last use.
   */
  stream: Readable
  /** Ends the reading at any point. Idempotent. */
  close(): Promise<void>
}

/**
 * Streams all employees.
 * @param options.since only rows with `updated_at` at or after this time; ignored when it is not mapped
 * @param options.endsSession the session is closed when the stream closes; otherwise only where it was not read to its end
 * @param options.rowLimit the longest row that is read, in bytes
 * @param options.read called with every chunk
 */
export async function openScan(
  session: HrSession,
  mapping: EmployeeMapping,
  options: {
    defaultEnterprise: string
    since?: Date | undefined
    signal?: AbortSignal | undefined
    endsSession: boolean
    rowLimit: number
    read?: (chunk: Buffer) => void
  },
): Promise<HrScan> {
  const { defaultEnterprise, since, signal, endsSession, rowLimit, read } = options
  const columns = scanColumns(mapping)
  const { source, failureOf } = await session.lines({ mapping, columns, defaultEnterprise, since })
  const whole = new WholeLines(mapping.file, columns, rowLimit)
  let isComplete = false
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        const lines = whole.push(chunk)
        if (lines.length > 0) read?.(lines)
        done(null, lines)
      } catch (error) {
        done(error as Error)
      }
    },
    flush(done) {
      isComplete = true
      done()
    },
    destroy(error, done) {
      const finish = () => done(error && failureOf(error))
      if (isComplete && !endsSession) finish()
      else session.close().then(finish, finish)
    },
  })
  pipeline(source, stream, () => {}) // failures come out of `stream`
  if (signal) addAbortSignal(signal, stream)
  return {
    columns,
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

// Rows

const ESCAPED: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** Parses a scan's stream, COPY text in whole lines, into rows. */
export class ScanRows {
  readonly #columns: readonly string[]
  /** Copied for each row, which is faster than adding its columns one after another. */
  readonly #blank: HrEmployeeRow

  constructor(columns: readonly string[]) {
    this.#columns = columns
    this.#blank = Object.fromEntries(columns.map(column => [column, null]))
  }

  /** The rows of one or more lines. */
  push(lines: Buffer): HrEmployeeRow[] {
    return lines
      .toString('utf8', 0, lines.length - 1)
      .split('\n')
      .map(line => this.#rowOf(line))
  }

  #rowOf(line: string): HrEmployeeRow {
    const values = line.split('\t')
    const row = { ...this.#blank }
    for (let i = 0; i < this.#columns.length; i++)
      row[this.#columns[i] as string] = unescaped(values[i] ?? '\\N')
    return row
  }
}

function unescaped(text: string): string | null {
  if (text === '\\N') return null
  return text.includes('\\') ? text.replace(/\\(.)/g, (_, letter) => ESCAPED[letter] ?? letter) : text
}
