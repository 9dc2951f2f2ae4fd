import type { HrEmployeeRow } from './scan.ts'

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
