import { hash } from 'node:crypto'
import { CHINA_MS } from '../lib/text.ts'
import { EMPLOYEE_FIELDS, type EmployeeField, type EmployeeFields, type FieldValue } from './employee.ts'
import { clearsField, parseActive } from './field-rules.ts'

/**
 * Raised when every row has to be checked again: that looks like a change of all of them, so a full run, which asks about everyone
 * anyway, is the better way to apply a new rule. The mapped columns are part of the seed too: another mapping makes every row
 * differ.
 */
const RULES_VERSION = 1

/** What is hashed of a row whose employee has left: nothing of it counts, so HR may change it, and mappings may differ. */
const LEFT = 'left'

const FIELDS: ReadonlySet<string> = new Set(EMPLOYEE_FIELDS)

/** Enterprise code and user id have at most 480 bytes on the platform; an index takes 2,700. */
const MAX_KEY_BYTES = 2000

const NEWLINE = 0x0a
const TAB = 0x09
const BACKSLASH = 0x5c
const LETTER_N = 0x4e
const LETTER_F = 0x66
const LETTER_T = 0x74
const QUESTION_MARK = 0x3f

/** As {@link rowHash} has it, in the bytes of the staging table. */
const LEFT_BYTES = hash('sha256', LEFT, 'binary')

/** Figures of an HR scan; the sanity gate compares them with the last good ones. */
export interface SourceStatistics {
  rows: number
  /** Rows of active employees; missing in statistics of earlier versions. */
  active?: number
  /** Active employees with a user id and a department; missing where `dept_code` is not mapped, and in statistics of earlier versions. */
  placed?: number
  /** Rows without a user id, or with one too long for an index; they cannot be synced. */
  keyless: number
  /**
   * Values per mapped column that clear the field on the platform, of rows of active employees with a user id. Without `blank` they are counted
   * of all rows, as earlier versions did.
   */
  empty: Record<string, number>
  /** Those of them that have a text, such as a blank; missing in statistics of earlier versions, which did not count them. */
  blank?: Record<string, number>
  /**
   * Newest `updated_at` as PostgreSQL prints it; null when it is not mapped or there was no row. Future times do not count:
   * they say nothing about what has been read.
   */
  newest: string | null
  /** With several sources: the enterprises of this one. */
  codes?: readonly string[]
  /** With several sources: rows of enterprises that belong to others. They are not synced. */
  stray?: number
}

/** The bytes before and after the rows of a COPY in binary format. */
export const COPY_BEGIN = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
export const COPY_END = Buffer.from('\xff\xff', 'latin1')

/**
 * Turns the lines of an HR scan (COPY text: `enterprise_code, userid, active?, updated_at?`, then fields) into rows of the
 * staging table (`enterprise_code, userid, active, hash`) in COPY's binary format, which PostgreSQL loads in less than half the
 * time of text, and counts what the sanity gate needs. The bytes are hashed as they come: an unchanged row is never parsed,
 * which makes a million of them cheap.
 */
export class RowHasher {
  readonly #seed: Buffer
  /** Those from `#firstField` on are fields. */
  readonly #columns: readonly string[]
  readonly #activeColumn: number
  readonly #firstField: number
  readonly #departmentColumn: number
  readonly #empty: Float64Array
  readonly #blank: Float64Array
  #rest: Buffer = Buffer.alloc(0)
  #scratch = Buffer.alloc(4096)
  #rows = 0
  #keyless = 0
  #active = 0
  #placed = 0
  #newest = ''
  /** In China's time zone, like HR's times. */
  readonly #now: string

  /** @param now later times are in the future; default: none are */
  constructor(columns: readonly string[], now?: Date) {
    this.#columns = columns
    this.#now = now ? new Date(now.getTime() + CHINA_MS).toISOString().replace('T', ' ') : '~'
    this.#activeColumn = columns.indexOf('active')
    this.#firstField = columns.findIndex(column => FIELDS.has(column))
    this.#departmentColumn = columns.indexOf('dept_code')
    this.#empty = new Float64Array(columns.length)
    this.#blank = new Float64Array(columns.length)
    this.#seed = Buffer.from(seedText(columns))
    this.#seed.copy(this.#scratch)
  }

  /** The rows of the complete lines of a chunk; the rest of the last one waits for the next chunk. */
  push(chunk: Buffer): Buffer {
    const input = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    const parts: Buffer[] = []
    let output = Buffer.allocUnsafe(input.length + 65_536)
    let written = 0
    let start = 0
    for (let end = input.indexOf(NEWLINE, start); end !== -1; end = input.indexOf(NEWLINE, start)) {
      // A staged row is longer than its HR line by the hash and COPY's headers of each column.
      if (written + (end - start) + 128 > output.length) {
        parts.push(output.subarray(0, written))
        output = Buffer.allocUnsafe(input.length + 65_536)
        written = 0
      }
      written = this.#line(input, start, end, output, written)
      start = end + 1
    }
    // Copied, so that its chunk can be freed.
    this.#rest = Buffer.from(input.subarray(start))
    parts.push(output.subarray(0, written))
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  }

  /** Rows for the staging table so far. */
  get staged(): { rows: number; active: number } {
    return { rows: this.#rows - this.#keyless, active: this.#active }
  }

  get statistics(): SourceStatistics {
    return {
      rows: this.#rows,
      active: this.#active,
      ...(this.#departmentColumn >= 0 && { placed: this.#placed }),
      keyless: this.#keyless,
      empty: this.#perField(i => (this.#empty[i] as number) + (this.#blank[i] as number)),
      blank: this.#perField(i => this.#blank[i] as number),
      newest: this.#newest || null,
    }
  }

  #perField(count: (column: number) => number): Record<string, number> {
    return Object.fromEntries(
      this.#columns.flatMap((column, i) => (i >= this.#firstField ? [[column, count(i)]] : [])),
    )
  }

  #line(input: Buffer, start: number, end: number, output: Buffer, offset: number): number {
    this.#rows++
    let active = LETTER_T
    let keyEnd = start
    let enterpriseEnd = start
    let fields = end
    let column = 0
    let begin = start
    let isPlaced = false
    let isKeyless = false
    const [columns, firstField, departmentColumn] = [this.#columns, this.#firstField, this.#departmentColumn]
    const [empty, blank] = [this.#empty, this.#blank]
    for (let i = start; i <= end; i++) {
      const byte = input[i] as number
      // One comparison for most bytes: only tabs and rarer ones are at most a newline.
      if (byte > NEWLINE || (byte !== TAB && i < end)) continue
      if (column >= firstField) {
        if (active === LETTER_F || isKeyless) {
          // What HR keeps of leavers, and of whom it does not name, says nothing.
        } else if (isEmpty(input, begin, i)) (empty[column] as number)++
        else if (isBlank(input, begin, i, columns[column] as EmployeeField)) (blank[column] as number)++
        else if (column === departmentColumn) isPlaced = true
      } else if (column === 0) enterpriseEnd = i
      else if (column === 1) {
        keyEnd = i
        isKeyless = isEmpty(input, enterpriseEnd + 1, keyEnd) || keyEnd - start > MAX_KEY_BYTES
      } else if (column === this.#activeColumn) active = readActive(input, begin, i)
      else this.#updated(input, begin, i)
      column++
      begin = i + 1
      if (column === firstField) fields = begin
    }
    if (isPlaced) this.#placed++
    if (isKeyless) {
      this.#keyless++
      return offset
    }
    if (active !== LETTER_F) this.#active++
    let at = output.writeInt16BE(4, offset)
    at = writeText(input, start, enterpriseEnd, output, at)
    at = writeText(input, enterpriseEnd + 1, keyEnd, output, at)
    at = output.writeInt32BE(1, at)
    output[at++] = active === LETTER_F ? 0 : 1
    at = output.writeInt32BE(HASH_BYTES, at)
    const hashed = active === LETTER_F ? LEFT_BYTES : this.#hash(input, fields, end, active)
    return at + output.write(hashed, at, HASH_BYTES, 'latin1')
  }

  #hash(input: Buffer, from: number, to: number, active: number): string {
    const length = this.#seed.length + 1 + (to - from)
    if (this.#scratch.length < length) {
      this.#scratch = Buffer.alloc(length * 2)
      this.#seed.copy(this.#scratch)
    }
    this.#scratch[this.#seed.length] = active
    input.copy(this.#scratch, this.#seed.length + 1, from, to)
    // A text with a character for each byte: faster than a buffer for every row.
    return hash('sha256', this.#scratch.subarray(0, length), 'binary')
  }

  #updated(input: Buffer, from: number, to: number): void {
    const text = input.toString('latin1', from, to)
    // ISO timestamps in one zone sort as text.
    if (text !== '\\N' && text > this.#newest && text <= this.#now) this.#newest = text
  }
}

/**
 * In what share of the rows of active employees a column has no value that reaches the platform: 0 to 1. Statistics of earlier
 * versions tell it of all rows.
 */
export function emptyShare({ empty, blank, active, rows }: SourceStatistics, column: string): number {
  const whole = blank && active !== undefined ? active : rows
  return whole === 0 ? 0 : (empty[column] ?? 0) / whole
}

/** Whether a value of a COPY text line is empty, or null. */
function isEmpty(input: Buffer, from: number, to: number): boolean {
  // A backslash of the value itself would be written twice.
  return to <= from || (input[from] === BACKSLASH && input[from + 1] === LETTER_N)
}

/** What is hashed of `active`: whether the employee is in service, or that it is unclear. */
function activeLetter(text: string | null | undefined): number {
  const active = parseActive(text)
  return active === undefined ? QUESTION_MARK : active ? LETTER_T : LETTER_F
}

/** Of each single byte; HR servers print t and f, or 1 and 0. */
const ACTIVE_LETTERS = Uint8Array.from({ length: 256 }, (_, byte) => activeLetter(String.fromCharCode(byte)))

function readActive(input: Buffer, from: number, to: number): number {
  if (to - from === 1) return ACTIVE_LETTERS[input[from] as number] as number
  return activeLetter(isEmpty(input, from, to) ? null : valueText(input, from, to))
}

/** By first byte of a character, whether a value that has it clears no field: ASCII letters and digits, common ideographs. */
const TELLS = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number((byte >= 0xe4 && byte <= 0xe9) || (byte < 0x80 && /[0-9A-Za-z]/.test(String.fromCharCode(byte)))),
)

/** Whether a value that has a text clears its field. */
function isBlank(input: Buffer, from: number, to: number, field: EmployeeField): boolean {
  // The letter after a backslash is not one of the value, and extended fields without values have names.
  if (field !== 'employee_attribute')
    for (let i = from; i < to && input[i] !== BACKSLASH; i++)
      if (TELLS[input[i] as number] === 1) return false
  return clearsField(field, valueText(input, from, to))
}

function valueText(input: Buffer, from: number, to: number): string {
  const text = input.toString('utf8', from, to)
  if (!text.includes('\\')) return text
  return text.replace(/\\(.)/g, (_, letter: string) => String.fromCharCode(unescaped(letter.charCodeAt(0))))
}

/** Bytes of the digest that are used, as many as a uuid has. */
const HASH_BYTES = 16

/** Converts a value of a COPY text line to COPY's binary format: its length and its bytes. */
function writeText(input: Buffer, from: number, to: number, output: Buffer, offset: number): number {
  let at = offset + 4
  for (let i = from; i < to; i++) {
    const byte = input[i] as number
    output[at++] = byte === BACKSLASH ? unescaped(input[++i] as number) : byte
  }
  output.writeInt32BE(at - offset - 4, offset)
  return at
}

/** The byte that COPY text writes as a backslash and this one. */
function unescaped(letter: number): number {
  return UNESCAPED.get(letter) ?? letter
}

/**
 * Hash of one HR row as a uuid text, the same as in the staging table.
 * @param row column → text as PostgreSQL prints it
 */
export function rowHash(columns: readonly string[], row: Record<string, string | null>): string {
  const text = hash('sha256', rowIsActive(row) ? activeText(columns, row) : LEFT, 'hex')
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20, 32)}`
}

function activeText(columns: readonly string[], row: Record<string, string | null>): string {
  const { seed, fields } = layoutOf(columns)
  let text = seed + String.fromCharCode(activeLetter(row.active))
  for (let i = 0; i < fields.length; i += 1) {
    if (i > 0) text += '\t'
    text += copyText(row[fields[i] as string] ?? null)
  }
  return text
}

interface Layout {
  columns: readonly string[]
  seed: string
  fields: readonly string[]
}

let latestLayout: Layout | undefined

/** What all rows with these columns share. Those of one mapping come one after the other. */
function layoutOf(columns: readonly string[]): Layout {
  const latest = latestLayout
  if (latest?.columns.length === columns.length && columns.every((name, i) => name === latest.columns[i]))
    return latest
  latestLayout = {
    columns: [...columns],
    seed: seedText(columns),
    fields: columns.filter(column => FIELDS.has(column)),
  }
  return latestLayout
}

/** The hash of every row of an employee who has left. */
export const LEFT_HASH = rowHash([], { active: 'f' })

/** Whether a row has no usable key: no user id, or a key too long for an index. Measured as a scan has it, in COPY's form. */
export function isKeyless({ enterprise_code, userid }: Record<string, string | null>): boolean {
  return (
    !userid || Buffer.byteLength(`${copyText(enterprise_code ?? '')}\t${copyText(userid)}`) > MAX_KEY_BYTES
  )
}

/** Whether a row counts as active, as in the staging table: validation decides about odd values. */
export function rowIsActive(row: Record<string, string | null>): boolean {
  return parseActive(row.active) !== false
}

function seedText(columns: readonly string[]): string {
  return `${RULES_VERSION}:${columns.filter(column => column !== 'updated_at').join(',')}\n`
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

const UNESCAPED = new Map(
  Object.entries(ESCAPES).map(([character, written]) => [written.charCodeAt(1), character.charCodeAt(0)]),
)

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

/** A mark of a platform account, by its registration date (section 2.3): 32 bits, signed. */
export function accountMark(timeCreated: string): number {
  return Number.parseInt(hash('sha256', timeCreated, 'hex').slice(0, 8), 16) | 0
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

/**
 * A number below 2^53 that distinguishes values; never 0. Millions are compared and a collision benefits no attacker, so it
 * need not be a cryptographic hash, which would cost most of a dry run's time. (It is known as cyrb53.)
 * @param seed 32 bits; another seed gives other numbers
 * @param scope prefix of the text
 */
export function smallHash(text: string, seed = 0, scope = ''): number {
  let high = 0xdeadbeef ^ seed
  let low = 0x41c6ce57 ^ seed
  for (let i = -scope.length; i < text.length; i++) {
    const code = i < 0 ? scope.charCodeAt(scope.length + i) : text.charCodeAt(i)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return 4294967296 * (2097151 & low) + (high >>> 0) || 1
}
