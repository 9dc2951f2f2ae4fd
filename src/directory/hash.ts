import { hash } from 'node:crypto'
import { EMPLOYEE_FIELDS, type EmployeeField, type EmployeeFields, type FieldValue } from './employee.ts'

/**
 * Raised when normalisation changes, so that every row is looked at again.
 * The mapped columns are part of the seed too: another mapping makes every row differ.
 */
const RULES_VERSION = 1

const FIELDS: ReadonlySet<string> = new Set(EMPLOYEE_FIELDS)

/** Enterprise code and user id have at most 480 bytes where the platform can know them; an index takes 2,700. */
const MAX_KEY_BYTES = 2000

const NEWLINE = 0x0a
const TAB = 0x09
const BACKSLASH = 0x5c
const LETTER_N = 0x4e

/** What an HR scan looked like; compared with the last good one by the sanity gate. */
export interface SourceStatistics {
  rows: number
  /** Rows without a user id, or with one that no index takes; they cannot be synced. */
  keyless: number
  /** Empty values per mapped column. */
  empty: Record<string, number>
  /** Newest `updated_at` as PostgreSQL prints it; null when it is not mapped or there was no row. */
  newest: string | null
  /** Of one of several sources: the enterprises that were its own. */
  codes?: readonly string[]
  /** Of one of several sources: rows of enterprises that are not its own. They are not synced. */
  stray?: number
}

/**
 * Turns the lines of an HR scan (COPY text: `enterprise_code, userid, active?, updated_at?`, then fields) into lines for
 * the staging table (`enterprise_code, userid, active, hash`), still in COPY text, and counts what the sanity gate needs.
 * The bytes are hashed as they come: a row that HR did not change is never parsed, which is what makes a million of them cheap.
 */
export class RowHasher {
  readonly #seed: Buffer
  readonly #columns: readonly string[]
  readonly #activeColumn: number
  readonly #updatedColumn: number
  readonly #firstField: number
  readonly #empty: Float64Array
  #rest: Buffer = Buffer.alloc(0)
  #scratch = Buffer.alloc(4096)
  #rows = 0
  #keyless = 0
  #newest = ''

  constructor(columns: readonly string[]) {
    this.#columns = columns
    this.#activeColumn = columns.indexOf('active')
    this.#updatedColumn = columns.indexOf('updated_at')
    this.#firstField = columns.findIndex(column => FIELDS.has(column))
    this.#empty = new Float64Array(columns.length)
    this.#seed = Buffer.from(seedText(columns))
    this.#seed.copy(this.#scratch)
  }

  /** Hashes the complete lines of a chunk; what is left of the last one waits for the next chunk. */
  push(chunk: Buffer): Buffer {
    const input = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    const parts: Buffer[] = []
    // A staged line is longer than its HR line only by the hash.
    let output = Buffer.allocUnsafe(input.length + 65_536)
    let written = 0
    let start = 0
    for (let end = input.indexOf(NEWLINE, start); end !== -1; end = input.indexOf(NEWLINE, start)) {
      if (written + (end - start) + 128 > output.length) {
        parts.push(output.subarray(0, written))
        output = Buffer.allocUnsafe(input.length + 65_536)
        written = 0
      }
      written = this.#line(input, start, end, output, written)
      start = end + 1
    }
    // Copied, so that the chunk it came in can be freed.
    this.#rest = Buffer.from(input.subarray(start))
    parts.push(output.subarray(0, written))
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  }

  get statistics(): SourceStatistics {
    return {
      rows: this.#rows,
      keyless: this.#keyless,
      empty: Object.fromEntries(
        this.#columns.flatMap((column, i) =>
          i >= this.#firstField ? [[column, this.#empty[i] as number]] : [],
        ),
      ),
      newest: this.#newest || null,
    }
  }

  #line(input: Buffer, start: number, end: number, output: Buffer, offset: number): number {
    this.#rows++
    let active = 0x74 // 't'
    let keyEnd = start
    let enterpriseEnd = start
    let fields = end
    let column = 0
    let begin = start
    for (let i = start; i <= end; i++) {
      if (i < end && input[i] !== TAB) continue
      if (column === 0) enterpriseEnd = i
      else if (column === 1) keyEnd = i
      else if (column === this.#activeColumn) active = isInactive(input[begin]) ? 0x66 : 0x74
      else if (column === this.#updatedColumn) this.#updated(input, begin, i)
      else if (
        i === begin ||
        (i - begin === 2 && input[begin] === BACKSLASH && input[begin + 1] === LETTER_N)
      )
        (this.#empty[column] as number)++
      column++
      if (column === this.#firstField) fields = i + 1
      begin = i + 1
    }
    if (
      keyEnd - enterpriseEnd <= 1 ||
      keyEnd - start > MAX_KEY_BYTES ||
      (keyEnd - enterpriseEnd === 3 &&
        input[enterpriseEnd + 1] === BACKSLASH &&
        input[enterpriseEnd + 2] === LETTER_N)
    ) {
      this.#keyless++
      return offset
    }
    let at = offset
    at += input.copy(output, at, start, keyEnd)
    output[at++] = TAB
    output[at++] = active
    output[at++] = TAB
    at += output.write(this.#hash(input, fields, end, active), at, 32, 'latin1')
    output[at++] = NEWLINE
    return at
  }

  #hash(input: Buffer, from: number, to: number, active: number): string {
    const length = this.#seed.length + 1 + (to - from)
    if (this.#scratch.length < length) {
      this.#scratch = Buffer.alloc(length * 2)
      this.#seed.copy(this.#scratch)
    }
    this.#scratch[this.#seed.length] = active
    input.copy(this.#scratch, this.#seed.length + 1, from, to)
    return hash('sha256', this.#scratch.subarray(0, length), 'hex')
  }

  #updated(input: Buffer, from: number, to: number): void {
    const text = input.toString('latin1', from, to)
    // ISO timestamps in one zone sort as text.
    if (text !== '\\N' && text > this.#newest) this.#newest = text
  }
}

/**
 * Hash of one HR row as a uuid text, the same as the staging table gets for it.
 * @param row column → text as PostgreSQL prints it
 */
export function rowHash(columns: readonly string[], row: Record<string, string | null>): string {
  const active = rowIsActive(row) ? 't' : 'f'
  const values = columns.filter(column => FIELDS.has(column)).map(column => copyText(row[column] ?? null))
  const text = hash('sha256', `${seedText(columns)}${active}${values.join('\t')}`, 'hex')
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20, 32)}`
}

/** Whether a row counts as active, as the staging table gets it. */
export function rowIsActive(row: Record<string, string | null>): boolean {
  return !isInactive((row.active ?? 't').charCodeAt(0))
}

function seedText(columns: readonly string[]): string {
  return `${RULES_VERSION}:${columns.filter(column => column !== 'updated_at').join(',')}\n`
}

/** First letters of false, no and 0; everything else counts as active here, and validation decides about odd values. */
function isInactive(first: number | undefined): boolean {
  return first === 0x66 || first === 0x46 || first === 0x6e || first === 0x4e || first === 0x30
}

const ESCAPES: Record<string, string> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

/** A value as COPY text prints it; null is `\N`. */
export function copyText(value: string | null): string {
  return value === null
    ? '\\N'
    : value.replace(/[\\\b\f\n\r\t\v]/g, character => ESCAPES[character] as string)
}

/** Per field, the hash of the value that the platform last confirmed; a field never confirmed is missing. */
export type AcknowledgedHashes = Partial<Record<EmployeeField, string>>

/** A short, stable mark of a field's canonical value: 16 characters, letters, digits, `-` and `_`. */
export function fieldHash(field: EmployeeField, value: FieldValue): string {
  const text = value === null ? `${field}\u0000` : `${field}\u0001${value}`
  return hash('sha256', text, 'base64url').slice(0, 16)
}

/** Hashes of `fields`, or of those of them that are wanted. */
export function hashFields(
  fields: EmployeeFields,
  wanted: readonly EmployeeField[] = EMPLOYEE_FIELDS,
): AcknowledgedHashes {
  const hashes: AcknowledgedHashes = {}
  for (const field of wanted) {
    const value = fields[field]
    if (value !== undefined) hashes[field] = fieldHash(field, value)
  }
  return hashes
}
