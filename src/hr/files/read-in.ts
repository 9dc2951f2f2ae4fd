import { randomUUID } from 'node:crypto'
import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Message, message, type Said } from '../../texts/message.ts'
import { HrUnavailableError } from '../errors.ts'
import { type Connection, createKept, duckDbError, type Instance, literal, quoted } from './duckdb.ts'
import { type DataFile, isSameTable } from './folder.ts'
import type { FilesSettings } from './settings.ts'
import {
  type CsvShape,
  csvShape,
  edgesOf,
  encodingOf,
  FileProblem,
  headingIn,
  isFilled,
  namedColumns,
  nameOf,
  type Row,
  recordsOf,
  writeAsUtf8,
  writeWithPlainHeading,
} from './text.ts'
import { type Sheet, withWorkbook } from './xlsx.ts'

/** Loads a delivery's files into tables of a DuckDB database, with one more table that describes the delivery. */

/** A table of a kept delivery. */
export interface KeptTable {
  name: string
  /** Its file, of which it may be a sheet, and the file's name in a mapping. */
  file: string
  root: string
  /** Of the file, when it was last checked; `UNOPENED` while it cannot be opened. */
  state: string
  writtenAt: Date
  rows: number
  /** Of its text; null for Parquet and XLSX, which have none. */
  encoding: string | null
  /** Why it does not have the file's content. */
  problem: Said | null
  /** Whether it exists at all: otherwise the file could never be read. */
  isThere: boolean
  /** Whether a mapping names it: otherwise it may be gone from the next delivery. */
  isNamed: boolean
}

/** The name in a mapping of the file that has the table in a delivery: what was a sheet may now be a file of its own. */
export function rootOf({ name, root }: KeptTable, files: readonly DataFile[]): string {
  return files.some(({ table }) => isSameTable(table, name)) ? name : root
}

/** Who may read a file can change without a trace on it, such as with the groups of dirsync's user. */
export const UNOPENED = ''

/** Of DuckDB, in MB: little is enough for most, and more would only fill with written data; hundreds of columns need more. */
const [LITTLE, MUCH] = [64, 1024]
/** MB of the process beside DuckDB. */
const OWN = 200

/** What DuckDB may take, try after try: what a container does not have would end the process, again and again. */
function memories(): number[] {
  const room = (process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2 ** 20
  return [LITTLE, Math.min(MUCH, Math.floor(room) - OWN)].filter((memory, i) => i === 0 || memory > LITTLE)
}

/** A delivery to be kept. */
export interface Delivering {
  /** The folder's path. */
  path: string
  files: readonly DataFile[]
  /** Whether a mapping names a table. */
  isNamed: (table: string) => boolean
  /** The previous delivery, and its tables: those that are not, or cannot be, loaded anew stay as they are. */
  before: { path: string; tables: readonly KeptTable[] } | null
}

/**
 * Loads files. A file that is incomplete, or does not have the format of its name, is reported in its table's `problem`.
 * @param work a folder of its own, for the database and for copies
 * @returns the database, and its tables
 */
export async function readIn(
  delivering: Delivering,
  { encoding, complete, headings }: FilesSettings,
  work: string,
): Promise<{ database: string; tables: KeptTable[] }> {
  const { path, before, isNamed } = delivering
  const reading = { encoding, headings, rests: 'restMs' in complete, work, isNamed }
  for (const [i, memory] of memories().entries()) {
    const database = join(work, `delivery-${i}`)
    const instance = await createKept(database, [path, work], `${memory}MiB`, before?.path ?? null)
    try {
      return { database, tables: await readInAll(instance, delivering, reading) }
    } catch (error) {
      if (duckDbError(error)?.type !== 'Out of Memory') throw error
    } finally {
      instance.closeSync()
    }
    for (const left of ['', '.wal', '.tmp']) await rm(`${database}${left}`, { recursive: true, force: true })
  }
  throw new HrUnavailableError(message('said.files_unread', { reason: message('said.no_memory') }))
}

async function readInAll(
  instance: Instance,
  { files, before }: Delivering,
  reading: Reading,
): Promise<KeptTable[]> {
  const connection = await instance.connect()
  await connection.run('use kept')
  const tables: KeptTable[] = []
  for (const file of files) {
    const known = before?.tables.filter(table => isSameTable(rootOf(table, files), file.table)) ?? []
    for (const made of await readInFile(connection, file, reading, known)) {
      const last = known.find(({ name, isThere }) => isThere && isSameTable(name, made.name))
      const isBroken = made.problem !== null && last !== undefined
      if (isBroken) await carryOver(connection, last.name)
      tables.push({
        ...(isBroken ? { ...last, root: made.root, state: made.state, problem: made.problem } : made),
        isNamed: reading.isNamed(made.name),
      })
    }
  }
  for (const table of before?.tables ?? []) {
    if (files.some(file => isSameTable(file.table, rootOf(table, files)))) continue
    if (table.isThere) await carryOver(connection, table.name)
    tables.push({ ...table, isNamed: reading.isNamed(table.name) })
  }
  await connection.run(`create schema dirsync; create table dirsync.contents as select unnest([
    ${tables.map(table => literal(JSON.stringify(table))).join(', ')}]::varchar[]) as kept`)
  // Closing writes the tables too, but does not report a failure such as a full disk.
  await connection.run('checkpoint kept')
  connection.closeSync()
  return tables
}

async function carryOver(connection: Connection, table: string): Promise<void> {
  // Replaces the part that was read before the file turned out to be broken.
  await connection.run(`create or replace table ${quoted(table)} as from before.main.${quoted(table)}`)
}

/** The tables of a kept delivery. */
export async function keptTables(connection: Connection): Promise<KeptTable[]> {
  const reader = await connection.runAndReadAll('select kept from dirsync.contents')
  return (reader.getRows() as [string][]).map(([text]) => {
    const table = JSON.parse(text) as KeptTable
    return { ...table, writtenAt: new Date(table.writtenAt) }
  })
}

// One file

interface Reading {
  encoding: FilesSettings['encoding']
  headings: FilesSettings['headings']
  /** Whether the delivery has no marker of completeness, so that truncation has to be detected. */
  rests: boolean
  /** A folder for copies. */
  work: string
  isNamed: Delivering['isNamed']
}

/** A table made from a file, or why it was not. */
type Made = Pick<KeptTable, 'name' | 'rows' | 'encoding'> & { problem: Message | null }

/** Makes the tables of a file. @param known its tables so far */
async function readInFile(
  connection: Connection,
  file: DataFile,
  reading: Reading,
  known: readonly KeptTable[],
): Promise<Omit<KeptTable, 'isNamed'>[]> {
  const { state, writtenAt } = file
  let made: Made[]
  try {
    made = await madeOf(connection, file, reading)
    const { name: book, table } = file
    for (const { name, isThere } of known) {
      if (!isThere || !reading.isNamed(name) || made.some(one => isSameTable(one.name, name))) continue
      const problem = message('said.file_sheet_missing', { file: book, sheet: name.slice(table.length + 1) })
      made.push({ name, rows: 0, encoding: null, problem })
    }
  } catch (error) {
    const problem = problemOf(error, file)
    const names = known.length > 0 ? known.map(({ name }) => name) : [file.table]
    made = names.map(name => ({ name, rows: 0, encoding: null, problem }))
  }
  return made.map(table => ({
    ...table,
    file: file.name,
    root: file.table,
    state: table.problem?.key === 'said.file_unreadable' ? UNOPENED : state,
    writtenAt,
    isThere: table.problem === null,
  }))
}

async function madeOf(connection: Connection, file: DataFile, reading: Reading): Promise<Made[]> {
  if (file.bytes === 0) throw new FileProblem(name => message('said.file_empty', { file: name }))
  // Under a name of ours: DuckDB would take staff[1].csv for a pattern, and read staff1.csv.
  const path = join(reading.work, `${randomUUID()}.${file.format}`)
  const table = async (encoding: string | null, make: Promise<unknown>): Promise<Made[]> => {
    await make
    const rows = await countRows(connection, file.table)
    return [{ name: file.table, rows, encoding, problem: null }]
  }
  switch (file.format) {
    case 'parquet':
      await symlink(file.path, path)
      return await table(
        null,
        connection.run(`create table ${quoted(file.table)} as from read_parquet(${literal(path)})`),
      )
    case 'xlsx':
      return await withWorkbook(file.path, sheets => readInSheets(connection, file, sheets, reading))
    default: {
      const encoding = await encodingOf(file.path, reading.encoding)
      // DuckDB reads CSV with a byte order mark, but not JSON.
      const isRead = encoding === 'utf-8' && file.format === 'csv'
      if (isRead) await symlink(file.path, path)
      else await writeAsUtf8(file.path, encoding, path)
      const make = file.format === 'csv' ? readInCsv : readInJson
      return await table(
        nameOf(encoding),
        make(connection, file, path, reading).finally(() => rm(path)),
      )
    }
  }
}

/** @throws what is not the file's fault */
function problemOf(error: unknown, file: DataFile): Message {
  const { name } = file
  if (error instanceof FileProblem) return error.of(name)
  const told = duckDbError(error)
  if (told?.type === 'Catalog') return message('said.file_table_taken', { file: name })
  if (told && !NOT_OF_THE_FILE.has(told.type) && file.format !== 'xlsx') return explained(told.message, file)
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'EACCES')
    return message('said.file_unreadable', { file: name, reason: code })
  throw error
}

/** Types of errors that say nothing about the file. */
const NOT_OF_THE_FILE = new Set(['Out of Memory', 'IO', 'INTERNAL', 'FATAL', 'INTERRUPT', 'Permission'])

async function countRows(connection: Connection, table: string): Promise<number> {
  return Number((await connection.runAndReadAll(`select count(*) from ${quoted(table)}`)).getRows()[0]?.[0])
}

/** DuckDB's own message may quote the line, so only its explanation is passed on. */
function explained(words: string, { format, name }: DataFile): Message {
  if (format === 'parquet') return message('said.file_no_parquet', { file: name })
  return format === 'json' ? message('said.file_no_json', { file: name }) : explainedCsv(words, name)
}

/**
 * @param shape its heading may have several lines, which DuckDB counted as one
 * @param oddLine the first line that ends otherwise: DuckDB says of it that it has an open quote, or nothing
 */
function explainedCsv(words: string, file: string, shape?: CsvShape, oddLine: number | null = null): Message {
  const heading = shape?.heading.lines ?? 1
  const found = /CSV Error on Line: (\d+)/.exec(words)?.[1]
  const line = found === undefined ? null : Number(found) + heading - 1
  const [, expected, count] = /Expected Number of Columns: (\d+) Found: (\d+)/.exec(words) ?? []
  if (line !== null && line < (oddLine ?? Infinity) && expected !== undefined && count !== undefined)
    return message('said.file_columns', { file, line, count, other: heading, limit: expected })
  if (oddLine !== null) {
    const [others, end] = shape?.newline === '\r\n' ? ['CRLF', 'LF'] : ['LF', 'CRLF']
    return message('said.file_line_ends', { file, line: oddLine, end, other: heading, others })
  }
  if (line === null) return message('said.file_no_csv', { file })
  const isOpen = words.includes('unterminated quote')
  return message(isOpen ? 'said.file_quote' : 'said.file_no_csv_line', { file, line })
}

async function readInCsv(
  connection: Connection,
  file: DataFile,
  path: string,
  { rests, headings }: Reading,
): Promise<void> {
  if (rests && !(await edgesOf(path)).hasLineEnd)
    throw new FileProblem(name => message('said.file_cut', { file: name }))
  const shape = await csvShape(path, headings.get(file.table.toLowerCase()))
  const copy = shape.isPlain ? null : `${path}-`
  if (copy !== null) await writeWithPlainHeading(path, shape, copy)
  const types = shape.columns.map(column => `${literal(column)}: 'VARCHAR'`).join(', ')
  try {
    await connection.run(
      `create table ${quoted(file.table)} as from read_csv(${literal(copy ?? path)}, auto_detect = false, header = true,
       delim = ${literal(shape.delimiter)}, quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false,
       strict_mode = true, null_padding = false, buffer_size = 2097152, max_line_size = 1048576, columns = {${types}})
       where coalesce(${shape.columns.map(quoted).join(', ')}) is not null`,
    )
  } catch (error) {
    const told = duckDbError(error)
    if (told === null || NOT_OF_THE_FILE.has(told.type) || told.type === 'Catalog') throw error
    const { oddLine } = await recordsOf(path, shape)
    throw new FileProblem(name => explainedCsv(told.message, name, shape, oddLine))
  } finally {
    if (copy !== null) await rm(copy)
  }
  const [read, { count }] = [await countRows(connection, file.table), await recordsOf(path, shape)]
  if (read === count) return
  await connection.run(`drop table ${quoted(file.table)}`)
  throw new FileProblem(name => message('said.file_records', { file: name, count, rows: read }))
}

/** Every member becomes a column of text: DuckDB would guess types, and take texts that look like dates for dates. */
async function readInJson(connection: Connection, file: DataFile, path: string): Promise<void> {
  const { first, last } = await edgesOf(path)
  const isArray = first === '['
  if (isArray && last !== ']') throw new FileProblem(name => message('said.file_cut_array', { file: name }))
  const source = `read_json_objects(${literal(path)}, format = '${isArray ? 'array' : 'newline_delimited'}')`
  const keys = await connection.runAndReadAll(
    `select distinct unnest(json_keys(json)) as k from ${source} order by k`,
  )
  const members = (keys.getRows() as [string][]).map(([member]) => member)
  const names = namedColumns(members)
  if (names.length === 0) throw new FileProblem(name => message('said.file_no_object', { file: name }))
  const pointer = (member: string) => literal(`/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  const list = names.map((name, i) => `json ->> ${pointer(members[i] as string)} as ${quoted(name)}`)
  await connection.run(`create table ${quoted(file.table)} as select ${list.join(', ')} from ${source}`)
}

/** The first sheet has the name of the file, others also their own: `staff.xlsx` is staff and staff_Sheet2. */
async function readInSheets(
  connection: Connection,
  file: DataFile,
  sheets: Sheet[],
  { headings }: Reading,
): Promise<Made[]> {
  const made: Made[] = []
  for (const [i, sheet] of sheets.entries()) {
    const name = i === 0 ? file.table : `${file.table}_${sheet.name}`
    try {
      const rows = await readInSheet(connection, name, sheet, headings.get(name.toLowerCase()))
      if (rows === null && i === 0)
        throw new FileProblem(book => message('said.file_no_sheet', { file: book, sheet: sheet.name }))
      if (rows !== null) made.push({ name, rows, encoding: null, problem: null })
    } catch (error) {
      made.push({ name, rows: 0, encoding: null, problem: problemOf(error, file) })
    }
  }
  return made
}

/** @returns how many rows it has below the names of its columns; null when it is empty */
async function readInSheet(
  connection: Connection,
  table: string,
  sheet: Sheet,
  wanted: number | undefined,
): Promise<number | null> {
  let columns: string[] | null = null
  let appender: Awaited<ReturnType<Connection['createAppender']>> | undefined
  let [heading, count] = [0, 0]
  try {
    for await (const bundle of fromHeading(sheet, wanted)) {
      for (const { at, cells } of bundle) {
        if (columns === null) {
          const width = cells.findLastIndex(isFilled) + 1
          columns = namedColumns(cells.slice(0, width))
          heading = at
          await connection.run(
            `create table ${quoted(table)} (${columns.map(column => `${quoted(column)} varchar`).join(', ')})`,
          )
          appender = await connection.createAppender(table)
          continue
        }
        if (cells.slice(columns.length).some(isFilled))
          throw new FileProblem(file =>
            message('said.file_wide_row', { file, line: at, sheet: sheet.name, other: heading }),
          )
        for (let column = 0; column < columns.length; column += 1) {
          const value = cells[column] ?? null
          if (value === null) appender?.appendNull()
          else appender?.appendVarchar(value)
        }
        appender?.endRow()
        count += 1
      }
      appender?.flushSync()
    }
    return columns && count
  } finally {
    appender?.closeSync()
  }
}

/** The rows of a sheet from the names of its columns on. */
async function* fromHeading(sheet: Sheet, wanted: number | undefined): AsyncGenerator<Row[]> {
  let first: Row[] | null = []
  for await (const bundle of sheet.rows()) {
    if (first === null) {
      yield bundle
      continue
    }
    first.push(...bundle)
    const index = headingIn(first, wanted, false)
    if (index === null) continue
    yield first.slice(index)
    first = null
  }
  if (first?.[0]) yield first.slice(headingIn(first, wanted, true) ?? 0)
}
