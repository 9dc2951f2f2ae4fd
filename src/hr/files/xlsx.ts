import type { Readable } from 'node:stream'
import type { Tag } from 'sax'
import type { Entry, ZipFile } from 'yauzl'
import { message } from '../../texts/message.ts'
import { withoutTrailingZeros } from '../canonical.ts'
import { FileProblem, isFilled, type Row } from './text.ts'

/**
 * Reads Excel workbooks row by row: a zip of XML, of which only the shared texts are held in memory. Every value is text: a day
 * is yyyy-MM-dd, or MM-dd where Excel shows no year; a number has the 15 digits that Excel shows, and the zeros that its format
 * puts before them; a text is as it is.
 */

/** Shared texts that are held, outside of V8's heap. A million employees with ten texts each, all different, have less. */
const MOST_SHARED_BYTES = 192 * 1024 * 1024
/** Of a cell. Excel permits 32,767. */
const MOST_CHARACTERS = 65_536
/** Cells of a row, as Excel has them. */
const MOST_COLUMNS = 16_384
/** Formats of cells. Excel permits 65,490. */
const MOST_STYLES = 65_536
/** Sheets, each of which becomes a table. Excel has no limit but memory. */
const MOST_SHEETS = 4096

export interface Sheet {
  name: string
  /** Non-empty rows, in batches, the column names included. An absent value is null, missing or a hole. */
  rows(): AsyncGenerator<Row[]>
}

/** Opens a workbook while `work` runs. @throws FileProblem */
export async function withWorkbook<T>(path: string, work: (sheets: Sheet[]) => Promise<T>): Promise<T> {
  const { openPromise } = await import('yauzl')
  const zip = await openPromise(path, { autoClose: false, lazyEntries: true }).catch(notZip)
  try {
    return await work(await sheetsOf(zip))
  } catch (error) {
    if (error instanceof BrokenXml)
      throw new FileProblem(file => message('said.file_broken_xml', { file, words: error.message }))
    throw error
  } finally {
    zip.close()
  }
}

function notZip(error: Error): never {
  throw new FileProblem(file => message('said.file_no_workbook', { file, words: error.message }))
}

async function partsOf(zip: ZipFile): Promise<Map<string, Entry>> {
  const parts = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) parts.set(entry.fileName, entry)
  return parts
}

async function sheetsOf(zip: ZipFile): Promise<Sheet[]> {
  const parts = await partsOf(zip).catch(notZip)
  const stream = async (name: string): Promise<Readable | null> => {
    const entry = parts.get(name)
    return entry ? zip.openReadStreamPromise(entry).catch(notZip) : null
  }
  const targets = new Map<string, string>()
  let sharedStrings = 'xl/sharedStrings.xml'
  await parse(await stream('xl/_rels/workbook.xml.rels'), {
    open(name, { Id, Target = '', Type = '' }) {
      if (name !== 'Relationship') return
      const target = Target.startsWith('/') ? Target.slice(1) : `xl/${Target}`
      if (Id !== undefined) targets.set(Id, target)
      if (targets.size > 2 * MOST_SHEETS) throw tooBig()
      if (Type.endsWith('/sharedStrings')) sharedStrings = target
    },
  })
  const listed: { name: string; part: string }[] = []
  let epoch: Epoch = 1900
  await parse(await stream('xl/workbook.xml'), {
    open(tag, attributes) {
      if (tag === 'workbookPr' && /^(?:1|true)$/.test(attributes.date1904 ?? '')) epoch = 1904
      if (tag !== 'sheet') return
      const id = Object.entries(attributes).find(([name]) => /(?:^|:)id$/.test(name))?.[1] ?? ''
      const part = targets.get(id)
      if (part !== undefined && parts.has(part)) listed.push({ name: attributes.name ?? '', part })
      if (listed.length > MOST_SHEETS) throw tooBig()
    },
  })
  if (listed.length === 0) throw new FileProblem(file => message('said.file_no_sheets', { file }))
  const texts = await sharedTexts(await stream(sharedStrings))
  const styles = await cellStyles(await stream('xl/styles.xml'))
  return listed.map(({ name, part }) => ({
    name,
    rows: async function* () {
      yield* sheetRows(await stream(part), { sheet: name, texts, styles, epoch })
    },
  }))
}

// XML

class BrokenXml extends Error {}

interface Handlers {
  /** Names without their namespace prefix. */
  open?(name: string, attributes: Record<string, string | undefined>): void
  text?(text: string): void
  close?(name: string): void
}

async function parse(stream: Readable | null, handlers: Handlers): Promise<void> {
  for await (const _ of pieces(stream, handlers));
}

/** Feeds a stream to the handlers, pausing after each chunk. */
async function* pieces(stream: Readable | null, { open, text, close }: Handlers): AsyncGenerator<void> {
  if (stream === null) return
  const { default: sax } = await import('sax')
  const parser = sax.parser(true)
  const local = (name: string) => name.slice(name.indexOf(':') + 1)
  parser.onopentag = tag => open?.(local(tag.name), (tag as Tag).attributes)
  parser.onclosetag = name => close?.(local(name))
  parser.ontext = piece => text?.(piece)
  parser.oncdata = piece => text?.(piece)
  parser.onerror = error => {
    throw new BrokenXml(error.message.split('\n')[0])
  }
  try {
    for await (const piece of stream.setEncoding('utf8')) {
      parser.write(piece)
      yield
    }
    parser.close()
  } catch (error) {
    if (error instanceof FileProblem) throw error
    throw new BrokenXml((error as Error).message)
  } finally {
    stream.destroy()
  }
}

/** The shared texts of cells: all parts of a text with several fonts, without phonetic hints. */
async function sharedTexts(stream: Readable | null): Promise<Texts> {
  const texts = new Texts()
  let [current, isText, isPhonetic] = ['', false, false]
  await parse(stream, {
    open(name) {
      if (name === 'si') current = ''
      else if (name === 'rPh') isPhonetic = true
      else if (name === 't') isText = !isPhonetic
    },
    text(piece) {
      if (isText) current = longer(current, piece)
    },
    close(name) {
      if (name === 'si') texts.add(unescaped(current))
      else if (name === 'rPh') isPhonetic = false
      else if (name === 't') isText = false
    },
  })
  return texts
}

/** Texts by number, as bytes: V8 takes 24 of its heap, and more, for two letters. */
class Texts {
  /** The texts of each stand one after the other in `bytes`; `ends` says where each ends. */
  readonly #pages: { bytes: Buffer; ends: Uint32Array }[] = []
  #latest: Buffer[] = []
  #held = 0

  add(text: string): void {
    if (this.#latest.push(Buffer.from(text)) < OF_PAGE) return
    let end = 0
    const ends = new Uint32Array(OF_PAGE)
    for (const [place, { length }] of this.#latest.entries()) {
      end += length
      ends[place] = end
    }
    this.#pages.push({ bytes: Buffer.concat(this.#latest), ends })
    this.#latest = []
    this.#held += end + ends.byteLength
    if (this.#held > MOST_SHARED_BYTES) throw tooBig()
  }

  at(number: number): string | undefined {
    const page = this.#pages[Math.floor(number / OF_PAGE)]
    if (page === undefined) return this.#latest[number - this.#pages.length * OF_PAGE]?.toString()
    const place = number % OF_PAGE
    const end = page.ends[place]
    return end === undefined ? undefined : page.bytes.toString('utf8', page.ends[place - 1] ?? 0, end)
  }
}

const OF_PAGE = 256

function longer(text: string, piece: string): string {
  if (text.length + piece.length > MOST_CHARACTERS) throw tooBig()
  return text + piece
}

function tooBig(): FileProblem {
  return new FileProblem(file => message('said.file_too_big', { file }))
}

/** Characters that XML cannot hold are escaped by number, such as _x000D_. */
function unescaped(text: string): string {
  return text.includes('_x')
    ? text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    : text
}

// Styles

/** How a cell shows a number. */
interface Style {
  /** As a day or a time; as a day without its year; null: as a number. */
  date: 'full' | 'yearless' | null
  /** Of a whole number; empty: its digits alone. */
  shape: readonly Piece[]
}

/** A text, or the place of a digit, with what stands there if the number has none. */
type Piece = { text: string } | { digit: '0' | '' }

const PLAIN: Style = { date: null, shape: [] }

/**
 * The first section of a format such as `"E"0000;[Red]-0000`, which is that of positive numbers, if it has only colours, texts
 * and places of digits.
 */
const SECTION = /^((?:\[[^\]<>=]*\]|"[^"]*"|\\.|_.|\*.|General|[-+() 0#\u0080-\uffff])+)(?:;|$)/i
const PIECES = /\[[^\]]*\]|"([^"]*)"|\\(.)|_.|\*.|(General|[0#])|(.)/gi

type Epoch = 1900 | 1904

/** Excel's built-in number formats for days and times. */
const DATE_FORMATS = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
] as const
/** Those of a month and a day; from 28 on, as Excel in Chinese has them. */
const YEARLESS_FORMATS: ReadonlySet<number> = new Set([16, 28, 29, 51, 53, 54, 58])

async function cellStyles(stream: Readable | null): Promise<Style[]> {
  const own = new Map<string, Style>()
  const styles: Style[] = []
  let isOfCells = false
  await parse(stream, {
    open(name, { numFmtId = '', formatCode = '' }) {
      if (name === 'numFmt') own.set(numFmtId, styleOf(formatCode))
      else if (name === 'cellXfs') isOfCells = true
      else if (name === 'xf' && isOfCells) {
        styles.push(own.get(numFmtId) ?? { ...PLAIN, date: builtInDate(Number(numFmtId)) })
      }
      if (styles.length > MOST_STYLES || own.size > MOST_STYLES) throw tooBig()
    },
    close(name) {
      if (name === 'cellXfs') isOfCells = false
    },
  })
  return styles
}

function builtInDate(id: number): Style['date'] {
  if (YEARLESS_FORMATS.has(id)) return 'yearless'
  return DATE_FORMATS.some(([from, to]) => id >= from && id <= to) ? 'full' : null
}

function styleOf(format: string): Style {
  return { date: dateOf(format), shape: shapeOf(format) }
}

/** Empty also for one place with a text after it, as in `0"级"`: that is an amount with its unit. */
function shapeOf(format: string): Piece[] {
  const section = SECTION.exec(format)?.[1] ?? ''
  const pieces = [...section.matchAll(PIECES)].flatMap(([, quoted, escaped, digit, literal]): Piece[] => {
    if (digit !== undefined) return [{ digit: digit === '#' ? '' : '0' }]
    const text = quoted ?? escaped ?? literal
    return text ? [{ text }] : []
  })
  const places = pieces.filter(piece => 'digit' in piece)
  const isAmount = places.length === 1 && places[0] === pieces[0]
  return places.length === 0 || isAmount ? [] : pieces
}

/** Ignores a format's literal texts, colours and languages. With a time of day it is a moment, of which the year is needed. */
function dateOf(format: string): Style['date'] {
  const bare = format.replace(/"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, '')
  if (!/[ymdhs]/i.test(bare) || /general/i.test(bare)) return null
  return /m/i.test(bare) && /d/i.test(bare) && !/[yebhs]/i.test(bare) ? 'yearless' : 'full'
}

const DAY_MS = 86_400_000

/** A day's number as Excel counts, in which 1900 is a leap year; null for one that Excel shows as ########. */
function dateText(serial: number, date: Style['date'], epoch: Epoch): string | null {
  if (date === null) return null
  const days = epoch === 1904 ? serial + 1462 : serial < 60 ? serial + 1 : serial
  const moment = new Date(Math.round(days * DAY_MS) - 25_569 * DAY_MS)
  if (serial < 0 || Number.isNaN(moment.getTime()) || moment.getUTCFullYear() > 9999) return null
  const [day = '', time = ''] = moment.toISOString().slice(0, 23).split('T')
  const seconds = withoutTrailingZeros(time)
  if (serial < 1) return seconds
  if (date === 'yearless') return day.slice('yyyy-'.length)
  return seconds === '00:00:00' ? day : `${day} ${seconds}`
}

/**
 * With the digits that Excel shows: it computes in binary, and writes 17 of them. Of a longer integer the others are lost, so it
 * keeps Excel's exponent, in which it can be no one else's number; but for a sixteenth digit that only another program can
 * have written.
 */
function numberText(text: string): string {
  if (/^-?\d{1,15}$/.test(text)) return text
  const value = Number(text)
  if (!Number.isFinite(value)) return text
  const rounded = Number(value.toPrecision(15))
  if (Math.abs(rounded) < 1e15) return String(rounded)
  if (Number.isSafeInteger(value) && value !== rounded) return String(value)
  return rounded.toExponential().toUpperCase()
}

/** The digits fill the places from the right; the first place takes all that are left. */
function inShape(number: string, { shape }: Style): string {
  if (shape.length === 0 || !/^\d+$/.test(number)) return number
  const first = shape.findIndex(piece => 'digit' in piece)
  let [rest, text] = [number, '']
  for (const [i, piece] of [...shape.entries()].reverse()) {
    if ('text' in piece) text = piece.text + text
    else {
      const digits = i === first ? rest : rest.slice(-1)
      rest = rest.slice(0, rest.length - digits.length)
      text = (digits || piece.digit) + text
    }
  }
  return text
}

// Cells

interface SheetContext {
  sheet: string
  texts: Texts
  styles: readonly Style[]
  epoch: Epoch
}

async function* sheetRows(stream: Readable | null, context: SheetContext): AsyncGenerator<Row[]> {
  let bundle: Row[] = []
  let row: Row = { at: 0, cells: [] }
  let next = 0
  let cell = { type: '', style: PLAIN, column: 0, place: '' }
  let [value, isValue, isPhonetic] = ['', false, false]
  let hasFormula = false
  const handlers: Handlers = {
    open(name, { r = '', t = 'n', s = '' }) {
      if (name === 'row') {
        row = { at: r === '' ? row.at + 1 : Number(r), cells: [] }
        next = 0
      } else if (name === 'c') {
        const column = r === '' ? next : columnOf(r)
        if (column >= MOST_COLUMNS) throw tooBig()
        next = column + 1
        cell = { type: t, style: context.styles[Number(s)] ?? PLAIN, column, place: r }
        value = ''
        hasFormula = false
      } else if (name === 'f') hasFormula = true
      else if (name === 'rPh') isPhonetic = true
      else if (name === 'v' || name === 't') isValue = !isPhonetic
    },
    text(piece) {
      if (isValue) value = longer(value, piece)
    },
    close(name) {
      if (name === 'v' || name === 't') isValue = false
      else if (name === 'rPh') isPhonetic = false
      else if (name === 'c') {
        // Programs that write workbooks without computing them leave formulas empty; an empty text has been computed.
        if (hasFormula && value === '' && cell.type !== 'str')
          throw new FileProblem(file =>
            message('said.file_uncomputed', { file, cell: cell.place, sheet: context.sheet }),
          )
        if (value !== '') row.cells[cell.column] = cellText(value, cell, context)
      } else if (name === 'row' && row.cells.some(isFilled)) bundle.push(row)
    },
  }
  for await (const _ of pieces(stream, handlers)) {
    if (bundle.length === 0) continue
    yield bundle
    bundle = []
  }
  if (bundle.length > 0) yield bundle
}

function cellText(
  value: string,
  { type, style, place }: { type: string; style: Style; place: string },
  { sheet, texts, epoch }: SheetContext,
): string | null {
  if (type === 's') {
    const text = texts.at(Number(value))
    if (text === undefined)
      throw new FileProblem(file => message('said.file_no_text_of_cell', { file, cell: place, sheet }))
    return text || null
  }
  if (type === 'inlineStr' || type === 'str') return unescaped(value)
  if (type === 'b') return value === '1' ? 'true' : 'false'
  if (type === 'd') return value.replace('T', ' ').replace(/ 00:00:00(?:\.0+)?Z?$/, '')
  if (type === 'e')
    throw new FileProblem(file => message('said.file_formula', { file, value, cell: place, sheet }))
  return dateText(Number(value), style.date, epoch) ?? inShape(numberText(value), style)
}

/** From a cell reference, such as 27 for AB7. */
function columnOf(place: string): number {
  let column = 0
  for (const letter of place) {
    const digit = letter.charCodeAt(0) - 64
    if (digit < 1 || digit > 26) break
    column = column * 26 + digit
  }
  return column - 1
}
