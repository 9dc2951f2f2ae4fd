import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { HrUnavailableError } from '../errors.ts'

/** DuckDB is there only where somebody wants it: it is 70 MB. */
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
    throw new HrUnavailableError(
      'HR in files is read by DuckDB, which is not installed here: run npm install @duckdb/node-api, with Node.js 24 on glibc',
      { cause: error },
    )
  }
}

/** More than this is not held in memory. What a join, a sort or a group needs beyond it goes to `temp_directory`. */
const MEMORY = '256MB'

/** Nothing is fetched, loaded or written but what we ask for: no extension, no secret, no file outside the given places. */
const LOCKED = {
  enable_external_access: 'false',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
  allow_persistent_secrets: 'false',
}

/** Settings of every session: the day of a moment is the day in China, and errors tell their place. */
const SETTINGS = ["set global TimeZone = 'Asia/Shanghai'", 'set global errors_as_json = true']

/**
 * A kept delivery, which can only be read; and nothing else can be, whatever a mapping asks for. What does not fit into memory
 * goes to a folder of its own: DuckDB's names in it are always the same, and two processes would read each other's rows.
 */
export async function openKept(path: string): Promise<Instance> {
  const spill = join(dirname(path), `.${randomUUID()}`)
  const options = { access_mode: 'READ_ONLY', memory_limit: MEMORY, temp_directory: spill }
  return opened(path, options, [])
}

/** A new delivery's database, which reads the files of some folders. Its tables are made in `kept`. */
export async function createKept(
  path: string,
  folders: readonly string[],
  memory: string,
): Promise<Instance> {
  const options = { memory_limit: memory, temp_directory: `${path}.tmp` }
  return opened(':memory:', options, [
    // Trying which of all ways to compress is best would take as long again as reading.
    "set force_compression = 'fsst'",
    // So many rows are held in memory until they are written.
    `attach ${literal(path)} as kept (row_group_size 16384)`,
    `set allowed_directories = [${folders.map(literal).join(', ')}]`,
  ])
}

async function opened(path: string, options: Record<string, string>, before: string[]): Promise<Instance> {
  const { DuckDBInstance } = await duckDb()
  const { enable_external_access, ...locked } = LOCKED
  // One thread: whoever takes the rows has as much to do.
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

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A name in quotes, whatever it holds. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** What DuckDB says of an error, as far as it tells. */
export interface DuckDbError {
  /** Such as Parser, Binder, Conversion. */
  type: string
  message: string
  /** Of its place in the statement: bytes before it. */
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
