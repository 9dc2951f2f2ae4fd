import { isAscii, isUtf8 } from 'node:buffer'
import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, open, writeFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Message, message } from '../../texts/message.ts'
import type { Encoding, WantedEncoding } from './settings.ts'

/** Detects the encoding of text files that HR systems export, and converts them to UTF-8. */

/** An error in a delivered file, whose name is not known where the error is found. */
export class FileProblem extends Error {
  readonly of: (file: string) => Message

  constructor(of: (file: string) => Message) {
    super()
    this.of = of
  }
}

const BLOCK_BYTES = 1 << 20
const NEWLINE = 0x0a
const MARKS: [Encoding, number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

interface Block {
  bytes: Buffer
  /** Of its first byte in the file, from 0. */
  offset: number
  /** Of its first byte, from 1. */
  line: number
}

/** The file in blocks that end with a line, unless its lines are too long. Each block is valid until the next one. */
async function* blocksOf(file: FileHandle, unit: 1 | 2): AsyncGenerator<Block> {
  const buffer = Buffer.allocUnsafe(2 * BLOCK_BYTES)
  let [offset, line, rest] = [0, 1, 0]
  for (;;) {
    const { bytesRead } = await file.read(buffer, rest, BLOCK_BYTES, offset + rest)
    if (bytesRead === 0) break
    const read = buffer.subarray(0, rest + bytesRead)
    const end = unit === 1 ? read.lastIndexOf(NEWLINE) + 1 : read.length - (read.length % 2)
    const length = end === 0 && read.length > BLOCK_BYTES ? read.length : end
    rest = read.length - length
    if (length === 0) continue
    const bytes = read.subarray(0, length)
    const inside = lines(bytes)
    yield { bytes, offset, line }
    buffer.copyWithin(0, length, read.length)
    offset += length
    line += inside
  }
  if (rest > 0) yield { bytes: buffer.subarray(0, rest), offset, line }
}

function lines(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count += 1
  return count
}

/**
 * The encoding of a file: by its byte order mark; else the one that is set; else UTF-8 where all of it is valid, otherwise GB18030.
 * @throws FileProblem for broken UTF-8, such as a truncated copy: as GB18030 it would be read as other words
 */
export async function encodingOf(path: string, wanted: WantedEncoding): Promise<Encoding> {
  await using file = await open(path)
  const { buffer } = await file.read(Buffer.alloc(3), 0, 3, 0)
  const marked = MARKS.find(([, mark]) => mark.every((byte, i) => buffer[i] === byte))?.[0]
  const encoding = marked ?? (wanted === 'auto' ? undefined : wanted)
  if (encoding !== undefined && encoding !== 'utf-8') return encoding
  let isMultibyte = false
  for await (const block of blocksOf(file, 1)) {
    if (isUtf8(block.bytes)) {
      isMultibyte ||= !isAscii(block.bytes)
      continue
    }
    if (encoding === undefined && !isMultibyte && !isMostlyUtf8(block.bytes)) return 'gb18030'
    throw notText('utf-8', block)
  }
  return 'utf-8'
}

/** Whether most of the non-ASCII characters are valid UTF-8. */
function isMostlyUtf8(bytes: Buffer): boolean {
  let balance = 0
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] as number
    const length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1
    const isValid = isUtf8(bytes.subarray(at, at + length))
    if (byte >= 0x80) balance += isValid ? 1 : -1
    at += isValid ? length : 1
  }
  return balance > 0
}

/** Writes the text of a file in UTF-8 to another, private one. @throws FileProblem */
export async function writeAsUtf8(path: string, encoding: Encoding, copy: string): Promise<void> {
  await using file = await open(path)
  const unit = encoding.startsWith('utf-16') ? 2 : 1
  // It drops the byte order mark.
  const decoder = new TextDecoder(encoding, { fatal: true })
  async function* decoded(): AsyncGenerator<string> {
    for await (const block of blocksOf(file, unit)) {
      try {
        yield decoder.decode(block.bytes, { stream: true })
      } catch {
        throw notText(encoding, block)
      }
    }
    try {
      yield decoder.decode()
    } catch {
      throw new FileProblem(file => message('said.file_cut_character', { file, encoding: nameOf(encoding) }))
    }
  }
  await pipeline(decoded, createWriteStream(copy, { mode: 0o600, flags: 'wx' }))
}

/** Finds the line with invalid text; a block begins with a line. */
function notText(encoding: Encoding, { bytes, offset, line }: Block): FileProblem {
  const unit = encoding.startsWith('utf-16') ? 2 : 1
  const newline = Buffer.from(encoding === 'utf-16le' ? [NEWLINE, 0] : unit === 2 ? [0, NEWLINE] : [NEWLINE])
  let [at, number] = [0, line]
  while (at < bytes.length) {
    const found = bytes.indexOf(newline, at)
    const end = found === -1 ? bytes.length : found + unit
    try {
      new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(at, end))
    } catch {
      break
    }
    at = end
    number += 1
  }
  const found = { line: number, bytes: offset + at, encoding: nameOf(encoding) }
  return new FileProblem(file => message('said.file_no_text', { file, ...found }))
}

export function nameOf(encoding: string): string {
  return encoding.toUpperCase()
}

// Rows, and which of them names the columns

/** A row of a sheet, or a record of a CSV. */
export interface Row {
  /** Its number in the sheet, or that of its first line, from 1. */
  at: number
  cells: (string | null)[]
}

/** Whether a cell has a non-blank value. */
export function isFilled(cell: string | null | undefined): boolean {
  return (cell ?? '').trim() !== ''
}

/** Rows with a single value, such as a title, that may precede the column names. */
const MOST_TITLES = 10

/**
 * Which row names the columns: the configured one, or else the first one with several values.
 * @param rows the first rows that are not empty
 * @param isAll whether there are no others
 * @returns its index, or null while more rows are needed
 * @throws FileProblem when the configured row is empty
 */
export function headingIn(rows: readonly Row[], wanted: number | undefined, isAll: boolean): number | null {
  if (wanted !== undefined) {
    const index = rows.findIndex(({ at }) => at >= wanted)
    if (index === -1 && !isAll) return null
    if (rows[index]?.at === wanted) return index
    throw new FileProblem(file => message('said.file_no_heading', { file, line: wanted }))
  }
  const several = rows.findIndex(({ cells }) => cells.filter(isFilled).length > 1)
  if (several !== -1 && several <= MOST_TITLES) return several
  return isAll || rows.length > MOST_TITLES ? 0 : null
}

/** A table with more does not fit into the memory that a delivery is read with. */
const MOST_NAMES = 4000

/** Column names as a mapping writes them: on one line, trimmed, all different. @throws FileProblem */
export function namedColumns(cells: readonly (string | null)[]): string[] {
  const { length: count } = cells
  if (count > MOST_NAMES)
    throw new FileProblem(file => message('said.file_too_wide', { file, count, limit: MOST_NAMES }))
  const names = Array.from(cells, (cell, i) => cell?.trim().replace(/\s*[\n\r]\s*/g, ' ') || `column${i + 1}`)
  const numbers = new Map<string, number>()
  for (const [i, name] of names.entries()) {
    const [column, other] = [numbers.get(name.toLowerCase()), i + 1]
    // Does not quote the names: where the row is an employee's, they are values.
    if (column !== undefined)
      throw new FileProblem(file => message('said.file_columns_twice', { file, column, other }))
    numbers.set(name.toLowerCase(), other)
  }
  return names
}

// CSV

/** The separator of a CSV file, and its columns. */
export interface CsvShape {
  delimiter: string
  columns: string[]
  /** The length of the heading up to the end of the names, in lines and bytes. */
  heading: { lines: number; bytes: number }
  /** Whether the heading is exactly the first line. */
  isPlain: boolean
  /** The line ending. */
  newline: string
}

const DELIMITERS = [',', ';', '\t', '|']

/** A record at the beginning of a CSV, and its end. */
interface FirstRecord extends Row {
  cells: string[]
  /** Line number and character offset of the next line. */
  nextLine: number
  end: number
  newline: string
}

/**
 * From the first records.
 * @param row the configured line of the column names, if any
 * @throws FileProblem
 */
export async function csvShape(path: string, row: number | undefined): Promise<CsvShape> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(BLOCK_BYTES), 0, BLOCK_BYTES, 0)
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(buffer.subarray(0, bytesRead), {
    stream: true,
  })
  const { delimiter, heading } = DELIMITERS.map(delimiter => {
    const heading = headingRecord(text, delimiter, row)
    return { delimiter, heading, misfit: misfitOf(text, delimiter, heading) }
  }).reduce((best, shape) => {
    const worse = shape.misfit - best.misfit || best.heading.cells.length - shape.heading.cells.length
    return worse < 0 ? shape : best
  })
  return {
    delimiter,
    // Trimming removes the byte order mark, too.
    columns: namedColumns(heading.cells),
    heading: { lines: heading.nextLine - 1, bytes: Buffer.byteLength(text.slice(0, heading.end)) },
    isPlain: heading.at === 1 && heading.nextLine === 2,
    newline: heading.newline,
  }
}

function headingRecord(text: string, delimiter: string, row: number | undefined): FirstRecord {
  const records: FirstRecord[] = []
  let [line, at] = [1, 0]
  for (;;) {
    const record = recordAt(text, at, line, delimiter)
    ;[line, at] = [record.nextLine, record.end]
    if (record.cells.some(isFilled)) records.push(record)
    const isAll = at >= text.length
    const index = isAll && records.length === 0 ? -1 : headingIn(records, row, isAll)
    if (index !== null) return records[index] ?? record
  }
}

/** How many records are enough to tell whether a separator is a file's. */
const JUDGED = 100
/** A separator that divides nothing. */
const DIVIDES_NOTHING = 1000

/**
 * How badly a separator divides the first records: the lower, the better. A value, or a title, may hold another separator than the
 * file's, and even more of them. Damaged records are few. That some stand above the heading weighs more than those: they may be the
 * file's true heading. That the next one below it is not divided like it weighs most: then it is a title.
 */
function misfitOf(text: string, delimiter: string, heading: FirstRecord): number {
  const { length } = heading.cells
  if (length === 1) return DIVIDES_NOTHING
  let [above, below, misfits, isTitle, at, line] = [0, 0, 0, false, 0, 1]
  while (below < JUDGED && at < text.length) {
    const record = recordAt(text, at, line, delimiter)
    ;[line, at] = [record.nextLine, record.end]
    if (!record.cells.some(isFilled) || record.at === heading.at) continue
    if (record.at < heading.at) above += 1
    else {
      below += 1
      const isMisfit = record.cells.length < length || record.cells.slice(length).some(isFilled)
      if (isMisfit) misfits += 1
      if (isMisfit && below === 1) isTitle = true
    }
  }
  return misfits + (above > 0 ? JUDGED / 2 + above : 0) + (isTitle ? JUDGED : 0)
}

/** The record that begins at a character. */
function recordAt(text: string, start: number, line: number, delimiter: string): FirstRecord {
  const cells: string[] = []
  let [value, isQuoted, breaks, at] = ['', false, 0, start]
  for (; at < text.length; at += 1) {
    const character = text.charAt(at)
    const isBreak = character === '\n' || (character === '\r' && text[at + 1] !== '\n')
    if (character === '"') {
      if (isQuoted && text[at + 1] === '"') value += text.charAt(++at)
      else isQuoted = !isQuoted
    } else if (isQuoted) {
      value += character
      if (isBreak) breaks += 1
    } else if (character === delimiter) {
      cells.push(value)
      value = ''
    } else if (character === '\n' || character === '\r') break
    else value += character
  }
  const [newline = '\n'] = /^(?:\r\n|\r|\n)/.exec(text.slice(at, at + 2)) ?? []
  return {
    at: line,
    cells: [...cells, value],
    nextLine: line + breaks + 1,
    end: Math.min(at + newline.length, text.length),
    newline,
  }
}

/** Copies a CSV with our own column names, on one line, above the rows: DuckDB infers the format from the first line. */
export async function writeWithPlainHeading(
  path: string,
  { columns, delimiter, heading, newline }: CsvShape,
  copy: string,
): Promise<void> {
  await writeFile(copy, columns.map((_, i) => `c${i}`).join(delimiter) + newline, { mode: 0o600, flag: 'wx' })
  await pipeline(
    createReadStream(path, { start: heading.bytes }),
    createWriteStream(copy, { mode: 0o600, flags: 'a' }),
  )
}

const [QUOTE, BLANK, RETURN] = [0x22, 0x20, 0x0d]

/**
 * The number of non-empty records of a CSV, without `heading`, to be compared with the reader's result; and the first of its
 * lines that ends in CRLF though the heading ends in LF, or the other way round.
 */
export async function recordsOf(
  path: string,
  { delimiter, heading, newline }: CsvShape,
): Promise<{ count: number; oddLine: number | null }> {
  await using file = await open(path)
  const separator = delimiter.charCodeAt(0)
  const ending = newline === '\r' ? RETURN : NEWLINE
  let [count, isQuoted, isBegin, hasContent] = [0, false, true, false]
  let [line, oddLine]: [number, number | null] = [heading.lines, null]
  const take = (byte: number, last: number | undefined) => {
    if (byte === NEWLINE) {
      line += 1
      const isOdd = (last === RETURN) !== (newline === '\r\n')
      if (isOdd && !isQuoted && newline !== '\r') oddLine ??= line
    }
    if (isQuoted) isQuoted = byte !== QUOTE
    else if (byte === ending) {
      if (hasContent) count += 1
      ;[isBegin, hasContent] = [true, false]
    } else if (byte === separator) isBegin = true
    else if (byte === QUOTE && isBegin) {
      isQuoted = hasContent = true
      // A second quote, as of "" within a text, opens it again.
    } else {
      if (byte !== RETURN && byte !== NEWLINE) hasContent = true
      if (byte !== BLANK) isBegin = false
    }
  }
  for await (const { bytes, offset } of blocksOf(file, 1)) {
    const from = Math.max(0, heading.bytes - offset)
    if (from >= bytes.length) continue
    const isPlain = !isQuoted && bytes.indexOf(QUOTE, from) === -1
    for (let at = from; at < bytes.length; ) {
      // A content byte decides for its line, unless a quote may follow.
      const end = isPlain && hasContent ? bytes.indexOf(ending, at) : at
      at = end === -1 ? bytes.length : end
      if (at < bytes.length) take(bytes[at] as number, bytes[at - 1])
      at += 1
    }
  }
  return { count: hasContent ? count + 1 : count, oddLine }
}

/** The first and last non-blank characters of a text in UTF-8, and whether its last line is terminated. */
export async function edgesOf(path: string): Promise<{ first: string; last: string; hasLineEnd: boolean }> {
  await using file = await open(path)
  const { size } = await file.stat()
  const part = async (offset: number) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(EDGE_BYTES), 0, EDGE_BYTES, offset)
    return buffer.toString('latin1', 0, bytesRead)
  }
  const tail = await part(Math.max(0, size - EDGE_BYTES))
  return {
    first: (await part(0)).trimStart().slice(0, 1),
    last: tail.trimEnd().slice(-1),
    hasLineEnd: /[\n\r]$/.test(tail),
  }
}

const EDGE_BYTES = 65_536
