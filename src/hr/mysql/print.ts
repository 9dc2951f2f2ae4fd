import { isUtf8 } from 'node:buffer'
import { normaliseDate } from '../../lib/text.ts'
import { DAYS, floatText } from '../canonical.ts'
import type { HrQuery, HrValues } from '../server.ts'
import type { Cell } from './connection.ts'
import { type ColumnDefinition, isBoolean, isText, typeName } from './types.ts'

/** Turns values as MySQL prints them into canonical text, and rows into lines of COPY text. */

/** Canonical text of a non-null value, in UTF-8; null for a value that means none. */
type Print = (bytes: Buffer) => Cell

/** Prints a column: from a cell of the answer, or `otherwise` where the result is null. */
interface Printer {
  /** Index of its cell in a row; -1: the column is not mapped. */
  cell: number
  /** Null: as the server prints it. */
  print: Print | null
  otherwise: Cell
}

/** Printers of a query's columns, in their order; one more when rows are counted. */
export function printersOf(query: HrQuery, fields: readonly ColumnDefinition[]): Printer[] {
  const printers = query.columns.map(name => {
    const column = query.mapping.columns.get(name)
    const cell = column ? fields.findIndex(field => field.name === column.source) : -1
    const field = fields[cell]
    const type = column?.type === 'float' ? 'float' : field && typeName(field)
    const otherwise = name === 'enterprise_code' ? Buffer.from(query.defaultEnterprise) : null
    return { cell, print: type ? printOf(name, type) : null, otherwise }
  })
  return query.counted ? [...printers, { cell: fields.length - 1, print: null, otherwise: null }] : printers
}

/** The rows of an answer as canonical text. */
export function textsOf(rows: readonly Cell[][], printers: readonly Printer[]): HrValues[] {
  return rows.map(row =>
    printers.map(printer => {
      const value = printed(row, printer)
      return value === null ? null : value.toString('utf8')
    }),
  )
}

function printed(row: readonly Cell[], { cell, print, otherwise }: Printer): Cell {
  const bytes = row[cell] ?? null
  if (bytes === null) return otherwise
  return (print === null ? bytes : print(bytes)) ?? otherwise
}

// By column and type

function printOf(name: string, type: string): Print | null {
  // As a name, a decimal keeps its zeros.
  if (name === 'userid') return isText(type) ? userid : type === 'decimal' ? null : bare(type)
  if (name === 'enterprise_code')
    return isText(type) ? enterpriseCode : type === 'decimal' ? null : bare(type)
  if (name === 'active') return isBoolean(type) ? boolean(type) : isText(type) ? trimmed : bare(type)
  if (name === 'updated_at') return updatedAt
  if (name === 'closed_at') return seconds
  if (DAYS.has(name) && type === 'datetime') return day
  if (DAYS.has(name) && type === 'timestamp') return dayInChina
  return bare(type)
}

/** How values of a type print in any mapped column; null: as the server prints them. */
function bare(type: string): Print | null {
  if (type === 'decimal' || type === 'time') return withoutTrailingZeros
  if (type === 'date') return dated
  if (type === 'datetime') return bytes => dated(withoutTrailingZeros(bytes))
  if (type === 'timestamp') return moment
  if (type === 'double') return bytes => Buffer.from(floatText(Number(bytes.toString('latin1'))))
  if (type === 'float') return bytes => Buffer.from(floatText(shortest(Number(bytes.toString('latin1')))))
  if (type === 'json') return bytes => (trimmed(bytes).equals(JSON_NULL) ? null : bytes)
  return type.startsWith('bit') ? bits : null
}

const [SPACE, ZERO, POINT] = [0x20, 0x30, 0x2e]
const JSON_NULL = Buffer.from('null')
const [T, F] = [Buffer.from('t'), Buffer.from('f')]

function trimmed(bytes: Buffer): Buffer {
  let [start, end] = [0, bytes.length]
  while (end > start && bytes[end - 1] === SPACE) end -= 1
  while (start < end && bytes[start] === SPACE) start += 1
  return end - start === bytes.length ? bytes : bytes.subarray(start, end)
}

/** No key holds the character 0, or half a character. */
function userid(bytes: Buffer): Cell {
  return bytes.includes(0) || !isUtf8(bytes) ? null : trimmed(bytes)
}

/** A blank code becomes null. */
function enterpriseCode(bytes: Buffer): Cell {
  const code = trimmed(bytes.includes(0) ? (bytes.filter(byte => byte !== 0) as Buffer) : bytes)
  return code.length === 0 ? null : code
}

function boolean(type: string): Print {
  const number = type.startsWith('bit') ? bits : (bytes: Buffer) => bytes
  return bytes => {
    const digits = number(bytes)
    if (digits.length > 1) return digits
    return digits[0] === ZERO ? F : digits[0] === ZERO + 1 ? T : digits
  }
}

/** BIT arrives as the bytes of a number. */
function bits(bytes: Buffer): Buffer {
  return Buffer.from(BigInt(`0x${bytes.toString('hex') || '0'}`).toString())
}

/** For decimals, and for times with a fraction of a second. */
function withoutTrailingZeros(bytes: Buffer): Buffer {
  if (!bytes.includes(POINT)) return bytes
  let end = bytes.length
  while (bytes[end - 1] === ZERO) end -= 1
  return bytes.subarray(0, bytes[end - 1] === POINT ? end - 1 : end)
}

/** The shortest decimal that gives the same FLOAT. */
function shortest(value: number): number {
  for (let digits = 6; digits < 9; digits += 1) {
    const rounded = Number(value.toPrecision(digits))
    if (Math.fround(rounded) === value) return rounded
  }
  return value
}

/** MySQL uses a zero date for none in a column that is not nullable. */
function dated(bytes: Buffer): Cell {
  return bytes.subarray(0, 10).equals(NO_DATE) ? null : bytes
}

const NO_DATE = Buffer.from('0000-00-00')

function moment(bytes: Buffer): Cell {
  const value = dated(withoutTrailingZeros(bytes))
  return value === null ? null : Buffer.concat([value, ZONE])
}

const ZONE = Buffer.from('+08')

function day(bytes: Buffer): Cell {
  return dated(bytes.subarray(0, 10))
}

/** In the summers of 1986 to 1991, midnight was at +09:00, an hour before that of the session. */
function dayInChina(bytes: Buffer): Cell {
  const value = moment(bytes)
  const text = value && normaliseDate(value.toString('latin1'))
  return text ? Buffer.from(text) : value
}

/** An invalid time, such as the 0th of a month, is left out: it would be compared with others. */
function updatedAt(bytes: Buffer): Cell {
  const text = withoutTrailingZeros(bytes).toString('latin1')
  if (!isDay(text)) return null
  return Buffer.from(`${text.length === 10 ? `${text} 00:00:00` : text}+08`)
}

/** Seconds since 1970. An invalid time stays a text. */
function seconds(bytes: Buffer): Cell {
  const value = dated(bytes)
  if (value === null) return null
  const text = value.toString('latin1')
  if (!isDay(text)) return value
  const [date, time = '00:00:00'] = text.split(' ')
  return Buffer.from(String(Date.parse(`${date}T${time}+08:00`) / 1000))
}

/** MySQL may hold the 0th of a month, and with ALLOW_INVALID_DATES the 31st of any month. */
function isDay(text: string): boolean {
  const date = text.slice(0, 10)
  const day = date.slice(8)
  if (date.slice(5, 7) === '00' || day === '00') return false
  return day <= '28' || new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
}

// Lines

const CHUNK_BYTES = 65_536
const [TAB, NEWLINE, BACKSLASH, LETTER_N] = [0x09, 0x0a, 0x5c, 0x4e]

/** COPY text's character after a backslash, by byte; 0: the byte stands for itself. */
const ESCAPES = new Uint8Array(256)
for (const [character, letter] of ['\bb', '\ff', '\nn', '\rr', '\tt', '\vv', '\\\\'])
  ESCAPES[(character as string).charCodeAt(0)] = (letter as string).charCodeAt(0)

/** Collects lines of COPY text into chunks. */
export class LineWriter {
  readonly #printers: readonly Printer[]
  #chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  #length = 0

  constructor(printers: readonly Printer[]) {
    this.#printers = printers
  }

  /** Adds a row. Returns a chunk when one is full. */
  add(row: readonly Cell[]): Buffer | null {
    const last = this.#printers.length - 1
    for (let i = 0; i <= last; i += 1) {
      const value = printed(row, this.#printers[i] as Printer)
      this.#write(value, i === last ? NEWLINE : TAB)
    }
    return this.#length < CHUNK_BYTES / 2 ? null : this.take()
  }

  /** The lines added since the last chunk. MariaDB may hold half a surrogate pair: U+FFFD, as in `textsOf`. */
  take(): Buffer | null {
    if (this.#length === 0) return null
    const chunk = this.#chunk.subarray(0, this.#length)
    this.#chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    this.#length = 0
    return isUtf8(chunk) ? chunk : Buffer.from(chunk.toString('utf8'))
  }

  #write(value: Cell, separator: number): void {
    // Every byte may become two.
    const room = this.#length + 2 * (value?.length ?? 1) + 1
    if (room > this.#chunk.length) this.#grow(room)
    const chunk = this.#chunk
    let at = this.#length
    if (value === null) {
      chunk[at++] = BACKSLASH
      chunk[at++] = LETTER_N
    } else {
      for (let i = 0; i < value.length; i += 1) {
        const byte = value[i] as number
        const letter = ESCAPES[byte] as number
        if (letter !== 0) chunk[at++] = BACKSLASH
        chunk[at++] = letter === 0 ? byte : letter
      }
    }
    chunk[at++] = separator
    this.#length = at
  }

  #grow(room: number): void {
    const chunk = Buffer.allocUnsafe(2 * room)
    this.#chunk.copy(chunk, 0, 0, this.#length)
    this.#chunk = chunk
  }
}
