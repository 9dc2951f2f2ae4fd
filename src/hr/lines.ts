import type { HrEmployeeRow } from './scan.ts'

const ESCAPED: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
const NEWLINE = 0x0a

/** Turns the chunks of a scan, COPY text as they come, into rows. */
export class ScanRows {
  readonly #columns: readonly string[]
  #rest: Buffer = Buffer.alloc(0)

  constructor(columns: readonly string[]) {
    this.#columns = columns
  }

  /** The rows that a chunk completes; what is left of the last one waits for the next chunk. */
  push(chunk: Buffer): HrEmployeeRow[] {
    const input = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    const end = input.lastIndexOf(NEWLINE)
    // Copied, so that the chunk it came in can be freed.
    this.#rest = Buffer.from(input.subarray(end + 1))
    if (end === -1) return []
    return input
      .toString('utf8', 0, end)
      .split('\n')
      .map(line => this.#rowOf(line))
  }

  #rowOf(line: string): HrEmployeeRow {
    const values = line.split('\t')
    const row: HrEmployeeRow = {}
    for (const [i, column] of this.#columns.entries()) row[column] = unescaped(values[i] ?? '\\N')
    return row
  }
}

function unescaped(text: string): string | null {
  if (text === '\\N') return null
  return text.includes('\\') ? text.replace(/\\(.)/g, (_, letter) => ESCAPED[letter] ?? letter) : text
}
