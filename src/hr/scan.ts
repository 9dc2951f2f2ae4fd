import { once } from 'node:events'
import { addAbortSignal, pipeline, type Readable, Transform } from 'node:stream'
import type { EmployeeKey } from '../directory/employee.ts'
import { maskKey } from '../directory/masking.ts'
import { message } from '../texts/message.ts'
import { HrDataError } from './errors.ts'
import { type EmployeeMapping, scanColumns } from './mapping.ts'
import type { HrQuery, HrSession, HrValues } from './server.ts'

/**
 * One employee from HR's mapping: canonical column → text. Dates are `yyyy-MM-dd`, booleans `t`/`f`, `category` is joined by
 * commas; `enterprise_code` and `userid` are always there, trimmed.
 */
export type HrEmployeeRow = Record<string, string | null>

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

/** The default for the longest row that is read, in bytes. */
export const ROW_LIMIT = 1024 * 1024

const NEWLINE = 0x0a
const TAB = 0x09

/** Turns the chunks of a scan, COPY text as they come, into whole lines, none longer than a row may be. */
export class WholeLines {
  readonly #file: string
  readonly #columns: readonly string[]
  readonly #limit: number
  /** The incomplete row. A list: joined anew for each chunk, a long one would be copied as often as it has chunks. */
  #begun: Buffer[] = []
  #length = 0

  /** @param file the mapping's file, for messages */
  constructor(file: string, columns: readonly string[], limit: number) {
    this.#file = file
    this.#columns = columns
    this.#limit = limit
  }

  /**
   * The lines that a chunk completes, possibly none; the rest of the last one waits for the next chunk.
   * @throws HrDataError for a row that is too long
   */
  push(chunk: Buffer): Buffer {
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end > 0) this.#check(chunk, end)
    const lines = end === 0 ? chunk.subarray(0, 0) : this.#completed(chunk.subarray(0, end))
    if (end < chunk.length) {
      // Copied, so that its chunk can be freed.
      this.#begun.push(Buffer.from(chunk.subarray(end)))
      this.#length += chunk.length - end
      if (this.#length > this.#limit) throw this.#tooLong(Buffer.concat(this.#begun))
    }
    return lines
  }

  #completed(lines: Buffer): Buffer {
    if (this.#begun.length === 0) return lines
    const whole = Buffer.concat([...this.#begun, lines])
    this.#begun = []
    this.#length = 0
    return whole
  }

  #check(chunk: Buffer, end: number): void {
    const [limit, begun] = [this.#limit, this.#length]
    if (begun + end <= limit) return
    for (let start = 0; start < end; ) {
      const next = chunk.indexOf(NEWLINE, start)
      const before = start === 0 ? this.#begun : []
      if ((start === 0 ? begun : 0) + next - start > limit)
        throw this.#tooLong(Buffer.concat([...before, chunk.subarray(start, next)]))
      start = next + 1
    }
  }

  /** @param row its bytes, as far as they were read */
  #tooLong(row: Buffer): HrDataError {
    let widest = { column: 0, length: -1 }
    for (let column = 0, start = 0; start <= row.length; column++) {
      const tab = row.indexOf(TAB, start)
      const end = tab === -1 ? row.length : tab
      if (end - start > widest.length) widest = { column, length: end - start }
      start = end + 1
    }
    const [, userid, rest] = row.toString('utf8', 0, 4096).split('\t', 3)
    return rowTooLong(
      this.#file,
      rest === undefined ? null : (userid ?? null),
      this.#columns[widest.column] ?? '',
      this.#limit,
    )
  }
}

/** Checks rows that were read as a whole. @throws HrDataError for one that is too long */
export function withinLimit({ mapping, columns }: HrQuery, rows: HrValues[], limit: number): HrValues[] {
  for (const row of rows) {
    const lengths = row.map(value => (value === null ? 0 : Buffer.byteLength(value)))
    if (lengths.reduce((sum, length) => sum + length, 0) <= limit) continue
    const userid = row[columns.indexOf('userid')] ?? null
    const widest = columns[lengths.indexOf(Math.max(...lengths))] ?? ''
    throw rowTooLong(mapping.file, userid, widest, limit)
  }
  return rows
}

/** For a row longer than the limit: its employee and its longest column. */
function rowTooLong(file: string, userid: string | null, column: string, limit: number): HrDataError {
  const found = { limit: Math.floor(limit / 1024), column }
  return new HrDataError(
    file,
    userid === null
      ? message('said.a_row_too_long', found)
      : message('said.row_too_long', { ...found, userid: maskKey(userid.slice(0, 100)) }),
  )
}
