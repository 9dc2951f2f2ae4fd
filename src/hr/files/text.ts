import { isAscii, isUtf8 } from 'node:buffer'
import { createWriteStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Encoding, WantedEncoding } from './settings.ts'

/** Files of text in the encodings that HR systems export: which one it is, and the same in UTF-8. */

/** What is wrong with a file of a delivery; the file's name is put before it. */
export class FileProblem extends Error {}

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

/** The file in blocks that end with a line, where its lines are not too long for that. Each is gone with the next one. */
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
 * The encoding of a file. A mark at its beginning says so; else it is UTF-8 where all of it is valid, and GB18030 where not.
 * @throws FileProblem for UTF-8 that is broken, such as by a copy that was cut off: as GB18030 it would be read as other words
 */
export async function encodingOf(path: string, wanted: WantedEncoding): Promise<Encoding> {
  await using file = await open(path)
  const { buffer } = await file.read(Buffer.alloc(3), 0, 3, 0)
  const marked = MARKS.find(([, mark]) => mark.every((byte, i) => buffer[i] === byte))?.[0]
  const encoding = wanted === 'auto' ? marked : wanted
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

/** Whether more of the characters that are not ASCII are valid UTF-8 than not. */
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

/** Writes the text of a file in UTF-8 to another one that nobody else may read. @throws FileProblem */
export async function writeAsUtf8(path: string, encoding: Encoding, copy: string): Promise<void> {
  await using file = await open(path)
  const unit = encoding.startsWith('utf-16') ? 2 : 1
  // It leaves out the mark at the beginning.
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
      throw new FileProblem(`ends in the middle of a character of ${nameOf(encoding)}`)
    }
  }
  await pipeline(decoded, createWriteStream(copy, { mode: 0o600, flags: 'wx' }))
}

/** Finds the line that is no text; a block begins with one. */
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
  return new FileProblem(
    `line ${number} (from byte ${offset + at} on) is no text in ${nameOf(encoding)}; check HR_FILES_ENCODING, or the export`,
  )
}

export function nameOf(encoding: string): string {
  return encoding.toUpperCase()
}

// CSV

/** What separates the values of a CSV file, and its columns. */
export interface CsvShape {
  delimiter: string
  columns: string[]
}

const DELIMITERS = [',', ';', '\t', '|']

/** From the first record. @throws FileProblem */
export async function csvShape(path: string): Promise<CsvShape> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(BLOCK_BYTES), 0, BLOCK_BYTES, 0)
  const text = new TextDecoder().decode(buffer.subarray(0, bytesRead), { stream: true })
  const counts = DELIMITERS.map(delimiter => firstRecord(text, delimiter).length)
  const delimiter = DELIMITERS[counts.indexOf(Math.max(...counts))] as string
  const columns = namedColumns(firstRecord(text, delimiter))
  return { delimiter, columns }
}

function firstRecord(text: string, delimiter: string): string[] {
  const values: string[] = []
  let [value, isQuoted] = ['', false]
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '"') {
      if (isQuoted && text[at + 1] === '"') value += text.charAt(++at)
      else isQuoted = !isQuoted
    } else if (isQuoted) value += character
    else if (character === delimiter) {
      values.push(value)
      value = ''
    } else if (character === '\n' || character === '\r') break
    else value += character
  }
  return [...values, value]
}

/** The names of columns as a mapping writes them: without blanks around them, all different. @throws FileProblem */
export function namedColumns(cells: readonly (string | null)[]): string[] {
  const names = cells.map((cell, i) => cell?.trim() || `column${i + 1}`)
  const first = (name: string) => names.findIndex(other => other.toLowerCase() === name.toLowerCase())
  const twice = names.findIndex((name, i) => first(name) !== i)
  // Not by their names: where the first line is somebody's, they are values.
  if (twice !== -1)
    throw new FileProblem(
      `has the same name for columns ${first(names[twice] as string) + 1} and ${twice + 1} in its first line`,
    )
  return names
}

/** How a text in UTF-8 begins and ends: its first and last characters that are no blanks, and whether its last line ends. */
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
