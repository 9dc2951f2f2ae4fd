import { randomUUID } from 'node:crypto'
import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Connection, createKept, duckDbError, type Instance, literal, quoted } from './duckdb.ts'
import type { DataFile, Folder } from './folder.ts'
import type { FilesSettings } from './settings.ts'
import { csvShape, edgesOf, encodingOf, FileProblem, namedColumns, nameOf, writeAsUtf8 } from './text.ts'
import { type Sheet, withWorkbook } from './xlsx.ts'

/** A delivery's files become tables of a DuckDB database, and one more table that tells what was delivered. */

/** Little is enough for most, and more would only be filled with what is written; hundreds of columns need more. */
const MEMORY = ['64MB', '1GB']

/**
 * Reads all files in.
 * @param work a folder of its own, for the database and for copies
 * @returns the database
 * @throws FileProblem for a file that is not whole, or that cannot be read as what its name says
 */
export async function readIn(
  { path, files }: Folder,
  { encoding, complete }: FilesSettings,
  work: string,
): Promise<string> {
  const reading = { encoding, rests: 'restMs' in complete, work }
  for (const [i, memory] of MEMORY.entries()) {
    const database = join(work, `delivery-${i}`)
    const instance = await createKept(database, [path, work], memory)
    try {
      await readInAll(instance, files, reading)
      return database
    } catch (error) {
      if (duckDbError(error)?.type !== 'Out of Memory' || i === MEMORY.length - 1) throw error
    } finally {
      instance.closeSync()
    }
  }
  throw new Error('there is a last try')
}

async function readInAll(instance: Instance, files: readonly DataFile[], reading: Reading): Promise<void> {
  const connection = await instance.connect()
  await connection.run('use kept')
  await connection.run(
    'create schema dirsync; create table dirsync.contents (name varchar, tables varchar[], rows bigint, encoding varchar)',
  )
  for (const file of files) {
    const { tables, rows, encoding } = await readInFile(connection, file, reading)
    await connection.run(
      `insert into dirsync.contents values (${literal(file.name)}, [${tables.map(literal).join(', ')}], ${rows},
         ${encoding === null ? 'null' : literal(encoding)})`,
    )
  }
  // Closing writes the tables too, and says nothing where it fails, as on a full disk.
  await connection.run('checkpoint kept')
  connection.closeSync()
}

// One file

interface Reading {
  encoding: FilesSettings['encoding']
  /** Whether nobody says that the files are complete, so that a cut would have to be seen. */
  rests: boolean
  /** A folder for copies. */
  work: string
}

/** Makes the tables of a file. @throws FileProblem */
async function readInFile(
  connection: Connection,
  file: DataFile,
  reading: Reading,
): Promise<{ tables: string[]; rows: number; encoding: string | null }> {
  try {
    if (file.bytes === 0) throw new FileProblem('is empty')
    // Under a name of ours: DuckDB would take staff[1].csv for a pattern, and read staff1.csv.
    const path = join(reading.work, `${randomUUID()}.${file.format}`)
    switch (file.format) {
      case 'parquet':
        await symlink(file.path, path)
        return await counted(connection, [file.table], null, () =>
          connection.run(`create table ${quoted(file.table)} as from read_parquet(${literal(path)})`),
        )
      case 'xlsx':
        return await withWorkbook(file.path, sheets => readInSheets(connection, file, sheets))
      default: {
        const encoding = await encodingOf(file.path, reading.encoding)
        // DuckDB reads CSV with a mark at its beginning, but not JSON.
        const isRead = encoding === 'utf-8' && file.format === 'csv'
        if (isRead) await symlink(file.path, path)
        else await writeAsUtf8(file.path, encoding, path)
        const result = await counted(connection, [file.table], nameOf(encoding), () =>
          file.format === 'csv'
            ? readInCsv(connection, file, path, reading.rests)
            : readInJson(connection, file, path),
        )
        await rm(path)
        return result
      }
    }
  } catch (error) {
    if (error instanceof FileProblem) throw new FileProblem(`the file ${file.name} ${error.message}`)
    const told = duckDbError(error)
    if (told?.type === 'Catalog')
      throw new FileProblem(
        `the file ${file.name} would be a table that another file, or a sheet, already is`,
      )
    if (told && !NOT_OF_THE_FILE.has(told.type) && file.format !== 'xlsx')
      throw new FileProblem(`the file ${file.name} ${explained(told.message, file)}`)
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EACCES')
      throw new FileProblem(`the file ${file.name} cannot be read (${code})`)
    throw error
  }
}

/** Types of errors that say nothing of the file. */
const NOT_OF_THE_FILE = new Set(['Out of Memory', 'IO', 'INTERNAL', 'FATAL', 'INTERRUPT', 'Permission'])

async function counted(
  connection: Connection,
  tables: string[],
  encoding: string | null,
  make: () => Promise<unknown>,
): Promise<{ tables: string[]; rows: number; encoding: string | null }> {
  await make()
  const counts = tables.map(table => `(select count(*) from ${quoted(table)})`).join(' + ')
  const rows = (await connection.runAndReadAll(`select ${counts}`)).getRows()[0]?.[0]
  return { tables, rows: Number(rows), encoding }
}

/** DuckDB's own message may hold the line: only what it says of it is passed on. */
function explained(message: string, { format }: DataFile): string {
  if (format === 'parquet') return 'is not whole, or no Parquet'
  if (format === 'json') return 'is not whole, or no JSON'
  const line = /CSV Error on Line: (\d+)/.exec(message)?.[1]
  const [, expected, found] = /Expected Number of Columns: (\d+) Found: (\d+)/.exec(message) ?? []
  if (line === undefined) return 'cannot be read: it is no CSV'
  if (expected !== undefined)
    return `cannot be read: line ${line} has ${found} values, and the first line names ${expected} columns`
  if (message.includes('unterminated quote'))
    return `cannot be read: line ${line} has a quote that is not closed`
  return `cannot be read: line ${line} is no CSV`
}

async function readInCsv(
  connection: Connection,
  file: DataFile,
  path: string,
  rests: boolean,
): Promise<void> {
  if (rests && !(await edgesOf(path)).hasLineEnd)
    throw new FileProblem(
      'ends in the middle of its last line: let the export end it, or deliver with a marker',
    )
  const { delimiter, columns } = await csvShape(path)
  const types = columns.map(column => `${literal(column)}: 'VARCHAR'`).join(', ')
  await connection.run(
    `create table ${quoted(file.table)} as from read_csv(${literal(path)}, auto_detect = false, header = true,
       delim = ${literal(delimiter)}, quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false,
       strict_mode = true, null_padding = false, buffer_size = 2097152, max_line_size = 1048576, columns = {${types}})`,
  )
}

/** Every member becomes a column of text: DuckDB would guess types, and take texts that look like dates for dates. */
async function readInJson(connection: Connection, file: DataFile, path: string): Promise<void> {
  const { first, last } = await edgesOf(path)
  const isArray = first === '['
  if (isArray && last !== ']') throw new FileProblem('ends in the middle of its array')
  const source = `read_json_objects(${literal(path)}, format = '${isArray ? 'array' : 'newline_delimited'}')`
  const keys = await connection.runAndReadAll(
    `select distinct unnest(json_keys(json)) as k from ${source} order by k`,
  )
  const names = namedColumns((keys.getRows() as [string][]).map(([name]) => name))
  if (names.length === 0) throw new FileProblem('holds no object')
  const list = names.map(
    name => `json ->> ${literal(`/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)} as ${quoted(name)}`,
  )
  await connection.run(`create table ${quoted(file.table)} as select ${list.join(', ')} from ${source}`)
}

/** The first sheet has the name of the file, a further one also its own: `staff.xlsx` is staff and staff_Sheet2. */
async function readInSheets(
  connection: Connection,
  file: DataFile,
  sheets: Sheet[],
): Promise<{ tables: string[]; rows: number; encoding: null }> {
  const tables: string[] = []
  let count = 0
  for (const [i, { name, rows }] of sheets.entries()) {
    const table = i === 0 ? file.table : `${file.table}_${name}`
    let columns: string[] | null = null
    let appender: Awaited<ReturnType<Connection['createAppender']>> | undefined
    for await (const bundle of rows()) {
      for (const row of bundle) {
        if (columns === null) {
          columns = namedColumns(row)
          await connection.run(
            `create table ${quoted(table)} (${columns.map(column => `${quoted(column)} varchar`).join(', ')})`,
          )
          appender = await connection.createAppender(table)
          tables.push(table)
          continue
        }
        for (let at = 0; at < columns.length; at += 1) {
          const value = row[at] ?? null
          if (value === null) appender?.appendNull()
          else appender?.appendVarchar(value)
        }
        appender?.endRow()
        count += 1
      }
      appender?.flushSync()
    }
    appender?.closeSync()
    if (columns === null && i === 0) throw new FileProblem(`has nothing in its first sheet, ${name}`)
  }
  return { tables, rows: count, encoding: null }
}
