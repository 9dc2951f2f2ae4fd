import { randomUUID } from 'node:crypto'
import { glob, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { message } from '../../texts/message.ts'
import { HrUnavailableError } from '../errors.ts'
import { type Dialect, POSTGRES_TOKENS, quotedName, quotedText } from '../statement.ts'

/** DuckDB is optional: it is 70 MB. */
type DuckDb = typeof import('@duckdb/node-api')
export type Connection = import('@duckdb/node-api').DuckDBConnection
export type Instance = import('@duckdb/node-api').DuckDBInstance

let loading: Promise<DuckDb> | undefined

/** @throws HrUnavailableError that says what to install */
export async function duckDb(): Promise<DuckDb> {
  loading ??= import('@duckdb/node-api')
  try {
    return await loading
  } catch (error) {
    loading = undefined
    throw new HrUnavailableError(message('said.no_duckdb'), { cause: error })
  }
}

/** Memory limit. Joins, sorts and groups spill the rest to `temp_directory`. */
const MEMORY = '256MB'

/** Limit of the spilled data of one reader: the disk is not HR's alone. */
const SPILLED = '4GB'

/** Only what we ask for may be fetched, loaded or written: no extension, no secret, no file outside the given places. */
const LOCKED = {
  enable_external_access: 'false',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
  allow_persistent_secrets: 'false',
}

/** Settings of every session: days are in China's time zone, and errors include their position. */
const SETTINGS = ["set global TimeZone = 'Asia/Shanghai'", 'set global errors_as_json = true']

/**
 * Opens a kept delivery read-only; a mapping can read nothing else. Data that does not fit into memory goes to a folder of its
 * own: DuckDB always uses the same names in it, and two processes would read each other's rows.
 */
export async function openKept(path: string): Promise<Instance> {
  const spill = join(dirname(path), `.${process.pid}-${randomUUID()}`)
  const limits = { memory_limit: MEMORY, temp_directory: spill, max_temp_directory_size: SPILLED }
  return opened(path, { access_mode: 'READ_ONLY', ...limits }, [])
}

/** Removes the spilled data that a killed process left behind. */
export async function removeSpilled(keep: string, pid: number): Promise<void> {
  for await (const folder of glob(`*/.${pid}-*`, { cwd: keep }))
    await rm(join(keep, folder), { recursive: true, force: true })
}

/**
 * The database of a new delivery, which reads the files of some folders. Its tables are made in `kept`.
 * @param before the previous delivery, which becomes `before`
 */
export async function createKept(
  path: string,
  folders: readonly string[],
  memory: string,
  before: string | null,
): Promise<Instance> {
  const options = { memory_limit: memory, temp_directory: `${path}.tmp` }
  return opened(':memory:', options, [
    // Finding the best compression by trying all would take as long again as reading.
    "set force_compression = 'fsst'",
    // This many rows are held in memory until they are written.
    `attach ${literal(path)} as kept (row_group_size 16384)`,
    ...(before === null ? [] : [`attach ${literal(before)} as before (read_only)`]),
    `set allowed_directories = [${folders.map(literal).join(', ')}]`,
  ])
}

async function opened(path: string, options: Record<string, string>, before: string[]): Promise<Instance> {
  const { DuckDBInstance } = await duckDb()
  const { enable_external_access, ...locked } = LOCKED
  // One thread: the consumer of the rows has as much to do.
  const instance = await DuckDBInstance.create(path, {
    ...options,
    ...locked,
    threads: '1',
  })
  try {
    const connection = await instance.connect()
    const settings = [
      ...SETTINGS,
      ...before,
      `set enable_external_access = ${enable_external_access}`,
      'set lock_configuration = true',
    ]
    for (const statement of settings) await connection.run(statement)
    connection.closeSync()
    return instance
  } catch (error) {
    instance.closeSync()
    throw error
  }
}

export const DUCKDB: Dialect = {
  ...POSTGRES_TOKENS,
  beginnings: ['select', 'with', 'from', 'values'],
  blanks: /[\u00a0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]/g,
}

export const literal = (text: string) => quotedText(text, DUCKDB)

/** A name in quotes, whatever its characters. */
export const quoted = (name: string) => quotedName(name, DUCKDB)

/** DuckDB's details of an error, as far as it gives them. */
export interface DuckDbError {
  /** For example Parser, Binder, Conversion. */
  type: string
  message: string
  /** Position in the statement, in bytes. */
  position: number | null
}

export function duckDbError(error: unknown): DuckDbError | null {
  const text = error instanceof Error ? error.message : ''
  const start = text.indexOf('{"exception_type"')
  if (start === -1) return null
  try {
    const { exception_type, exception_message, position } = JSON.parse(text.slice(start)) as Record<
      string,
      string
    >
    return {
      type: exception_type ?? '',
      message: exception_message ?? '',
      position: position === undefined ? null : Number(position),
    }
  } catch {
    return null
  }
}
