import { once } from 'node:events'
import { addAbortSignal, pipeline, type Readable, Transform } from 'node:stream'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { EMPLOYEE_FIELDS, type EmployeeKey, keyText } from '../directory/employee.ts'
import { toHrError } from './errors.ts'
import type { EmployeeMapping, MappedColumn, Mapping } from './mapping.ts'

/**
 * One employee as HR's mapping returns it: canonical column → text. Dates are `yyyy-MM-dd`, booleans `t`/`f`,
 * `category` is joined by commas; `enterprise_code` and `userid` are always there, trimmed.
 */
export type HrEmployeeRow = Record<string, string | null>

/** A pass over all employees of HR, at one moment. Close it when it is not read to its end. */
export interface HrScan {
  columns: string[]
  /** Fingerprint of the mapping that it reads with. */
  mapping: string
  /**
   * COPY text format (UTF-8): one line per row with exactly `columns`. Fails with HrUnavailableError, HrDataError, or
   * the signal's AbortError. When it closes, the transaction has ended and the connection is closed.
   */
  stream: Readable
  /** Ends the transaction and closes the connection, whatever was read. Idempotent. */
  close(): Promise<void>
}

// Connections

/**
 * Pinned for every connection, whatever the server's or the role's defaults: HR is never written to, dates print as
 * yyyy-MM-dd, and a timestamp's day is the day in China, where the platform's clock stands (section 1).
 */
const SETTINGS = `
  set default_transaction_read_only = on;
  set datestyle = 'ISO, YMD';
  set timezone = 'Asia/Shanghai';
  set standard_conforming_strings = on;
  set statement_timeout = 0;
  set idle_in_transaction_session_timeout = 0`

/** Values arrive as the server prints them, as they do in a scan. */
const RAW: pg.CustomTypesConfig = { getTypeParser: () => (text: string | Buffer) => text }

/** How connections to HR are made. */
export function connectionSettings(url: string, name = 'dirsync'): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  }
}

/** Prepares a new connection. */
export async function prepareSession(client: pg.ClientBase): Promise<void> {
  await client.query(SETTINGS)
  // Lets the server notice during a long sort that nobody waits any more. Servers before version 14 do not have it
  // and some platforms refuse it; without it they notice when they have something to send.
  await client.query("set client_connection_check_interval = '2s'").catch(error => {
    if (!(error instanceof pg.DatabaseError)) throw error
  })
}

/** A connection of its own, such as for a scan. */
export async function connectClient(url: string, name?: string): Promise<pg.Client> {
  const client = new pg.Client(connectionSettings(url, name))
  client.on('error', () => {}) // also reported by the query that is under way
  try {
    await client.connect()
    await prepareSession(client)
  } catch (error) {
    void client.end().catch(() => {}) // the failure to connect is what counts
    throw toHrError(error)
  }
  return client
}

/**
 * Rows of a query as arrays of text.
 * @param timeoutMs after which it is given up, together with its connection; absent: as the connection has it
 */
export async function textRows(
  client: pg.Pool | pg.ClientBase,
  text: string,
  values: unknown[] = [],
  timeoutMs?: number,
): Promise<(string | null)[][]> {
  const query: pg.QueryArrayConfig = { text, values, rowMode: 'array', types: RAW }
  const patience = timeoutMs === undefined ? {} : { query_timeout: timeoutMs }
  const { rows } = await client.query<(string | null)[]>({ ...query, ...patience })
  return rows
}

/**
 * Rows of a query over a mapping, which the query calls `m`. Errors name the mapping's file and line.
 * @param rest what follows after the mapping: a condition or a grouping
 */
export async function mappedRows(
  client: pg.Pool | pg.ClientBase,
  { file, sql }: Mapping,
  list: string,
  rest = '',
  values: unknown[] = [],
  timeoutMs?: number,
): Promise<(string | null)[][]> {
  const before = `select ${list} from (\n`
  try {
    return await textRows(client, `${before}${sql}\n) m ${rest}`, values, timeoutMs)
  } catch (error) {
    throw toHrError(error, { file, sql, offset: before.length })
  }
}

// Columns as text

const TEXTS = new Set(['text', 'varchar', 'bpchar', 'citext', 'name'])
const INTEGERS = new Set(['int2', 'int4', 'int8'])
const DAYS = new Set(['birth_day', 'entry_day'])

/** Canonical columns of an employee scan, in their order: `enterprise_code`, `userid`, `active`?, `updated_at`?, fields. */
export function scanColumns({ columns }: Mapping): string[] {
  const optional = ['active', 'updated_at', ...EMPLOYEE_FIELDS].filter(name => columns.has(name))
  return ['enterprise_code', 'userid', ...optional]
}

/**
 * The SELECT list that prints columns of the mapping `m` as canonical text. A column whose type prints right by itself is
 * not cast: casts are what a scan of a million rows would spend its time on.
 *
 * @param defaultEnterprise enterprise code of rows that have none
 */
export function selectList(
  names: readonly string[],
  { columns }: Mapping,
  defaultEnterprise: string,
): string {
  const texts = names.map(name => {
    const column = columns.get(name)
    if (name === 'enterprise_code') return enterpriseText(column, defaultEnterprise)
    return column ? columnText(name, column) : 'null'
  })
  return texts.join(', ')
}

function enterpriseText(column: MappedColumn | undefined, defaultEnterprise: string): string {
  const otherwise = pg.escapeLiteral(defaultEnterprise)
  if (!column) return `${otherwise}::text`
  const trimmed = `btrim(${reference(column)}::text)`
  if (defaultEnterprise === '') return `coalesce(${trimmed}, '')`
  return `coalesce(nullif(${trimmed}, ''), ${otherwise})`
}

function columnText(name: string, column: MappedColumn): string {
  const { type } = column
  const plain = reference(column)
  if (name === 'userid') return INTEGERS.has(type) ? plain : `btrim(${plain}::text)`
  if (name === 'active') return TEXTS.has(type) ? `btrim(${plain}::text)` : plain
  if (name === 'updated_at') return type === 'timestamptz' ? plain : `${plain}::timestamptz`
  if (name === 'closed_at') return `extract(epoch from ${plain}::timestamptz)`
  if (DAYS.has(name) && type.startsWith('timestamp')) return `${plain}::date`
  if (type.startsWith('_')) return `array_to_string(${plain}, ',')`
  if (type === 'bpchar') return `${plain}::text`
  if (type === 'numeric') return `trim_scale(${plain})`
  return plain
}

/** The column in the mapping. Its name is one of a fixed list, so it needs no more than the quotes. */
function reference(column: MappedColumn): string {
  return `m."${column.source}"`
}

// Every employee: a scan

/**
 * Streams the employees' mapping by COPY. Owns `client` from here on: when the stream closes, for whatever reason, the
 * transaction has ended and the connection is closed.
 *
 * @param client a connection of its own, within the scan's transaction
 */
export function openScan(
  client: pg.Client,
  mapping: EmployeeMapping,
  options: { defaultEnterprise: string; since?: Date | undefined; signal?: AbortSignal | undefined },
): HrScan {
  const columns = scanColumns(mapping)
  const { source, failureOf } = copyRows(client, mapping, options)

  const stream = new Transform({
    transform(chunk, _encoding, done) {
      done(null, chunk)
    },
    flush(done) {
      client.query('commit').then(() => done(), done)
    },
    destroy(error, done) {
      const finish = () => done(error && failureOf(error))
      // In the middle of a COPY this cuts the connection, which is the only short way out of one.
      client.end().then(finish, finish)
    },
  })
  pipeline(source, stream, () => {}) // failures come out of `stream`
  if (options.signal) addAbortSignal(options.signal, stream)
  return {
    columns,
    mapping: mapping.fingerprint,
    stream,
    async close() {
      if (stream.closed) return
      const closed = once(stream, 'close')
      stream.destroy()
      await closed
    },
  }
}

/** Begins to copy the rows of a mapping, as text. */
export function copyRows(
  client: pg.ClientBase,
  mapping: EmployeeMapping,
  options: { defaultEnterprise: string; since?: Date | undefined },
): { source: Readable; failureOf: (error: Error) => Error } {
  const { file, sql } = mapping
  const before = `copy (select ${selectList(scanColumns(mapping), mapping, options.defaultEnterprise)} from (\n`
  const text = `${before}${sql}\n) m${sinceClause(mapping, options.since)}) to stdout`
  return {
    source: client.query(copyTo(text)),
    failureOf: error => toHrError(error, { file, sql, offset: before.length }),
  }
}

function sinceClause(mapping: EmployeeMapping, since: Date | undefined): string {
  const column = mapping.columns.get('updated_at')
  if (!column || !since) return ''
  // COPY takes no parameters; the constant has the column's own type, so that an index on it serves.
  return ` where ${reference(column)} >= '${since.toISOString()}'::timestamptz::${column.type}`
}

// Some employees: a look-up

type Found = Map<string, HrEmployeeRow | 'duplicate'>

/**
 * The rows of some employees, by key text. Asks by the columns' own types first. What that does not find may still be there,
 * written with blanks around it or in a type without a native comparison: it is asked for by its text, which reads all of HR.
 * @param options.anyEnterprise a user id that was found under one enterprise is not asked for under others any more
 * @param options.timeoutMs after which each of the two queries is given up; absent: as the connection has it
 */
export async function lookupEmployees(
  client: pg.Pool | pg.ClientBase,
  mapping: EmployeeMapping,
  keys: readonly EmployeeKey[],
  defaultEnterprise: string,
  { anyEnterprise, timeoutMs }: { anyEnterprise: boolean; timeoutMs?: number | undefined },
): Promise<Found> {
  // No text of PostgreSQL holds the character 0, so nobody has such a key; sending it would be an error.
  const wanted = new Map(
    keys.filter(key => !`${key.userid}${key.enterpriseCode}`.includes('\0')).map(key => [keyText(key), key]),
  )
  const found: Found = new Map()
  const columns = scanColumns(mapping)
  const list = selectList(columns, mapping, defaultEnterprise)
  const ask = async (conditions: Condition[]) => {
    if (conditions.some(({ values }) => values.length === 0)) return
    const texts = conditions.map(({ left, array }, i) => `${left} = any($${i + 1}::${array})`)
    const values = conditions.map(condition => condition.values)
    const where = `where ${texts.join(' and ')}`
    collect(await mappedRows(client, mapping, list, where, values, timeoutMs), columns, wanted, found)
  }
  const userid = mapping.columns.get('userid') as MappedColumn
  const enterprise = mapping.columns.get('enterprise_code')

  if (NATIVE_TYPES[userid.type]) {
    const present = [...wanted.values()]
    await ask([useridIs(userid, present), ...enterpriseIs(enterprise, present, defaultEnterprise)])
  }
  const settled = new Set(anyEnterprise ? [...found.keys()].map(text => wanted.get(text)?.userid) : [])
  const rest = [...wanted]
    .filter(([text, key]) => !found.has(text) && !settled.has(key.userid))
    .map(([, key]) => key)
  const mayHide = !EXACT.has(userid.type) || (enterprise !== undefined && !EXACT.has(enterprise.type))
  if (rest.length > 0 && mayHide)
    await ask([EXACT.has(userid.type) ? useridIs(userid, rest) : useridTextIs(userid, rest)])
  return found
}

/** `left` equals one of the values. */
interface Condition {
  left: string
  /** Type of the array of values. */
  array: string
  values: string[]
}

function useridIs(column: MappedColumn, keys: readonly EmployeeKey[]): Condition {
  const { array, holds } = NATIVE_TYPES[column.type] ?? ANY_TEXT
  return { left: reference(column), array, values: distinct(keys.map(key => key.userid).filter(holds)) }
}

function useridTextIs(column: MappedColumn, keys: readonly EmployeeKey[]): Condition {
  const values = distinct(keys.map(key => key.userid))
  return { left: `btrim(${reference(column)}::text)`, array: 'text[]', values }
}

/** Narrows to the enterprises of the keys, where an index may serve. Whether each pair is one of the keys, `collect` sees. */
function enterpriseIs(
  column: MappedColumn | undefined,
  keys: readonly EmployeeKey[],
  defaultEnterprise: string,
): Condition[] {
  const native = column && NATIVE_TYPES[column.type]
  const codes = distinct(keys.map(key => key.enterpriseCode))
  // Rows without a code have the default one; an `or` for them would cost the index more often than it helps.
  if (!native || codes.includes(defaultEnterprise)) return []
  return [{ left: reference(column), array: native.array, values: codes.filter(native.holds) }]
}

/** Rows of wanted keys; a comparison may also have brought others (another enterprise, another spelling). */
function collect(
  rows: (string | null)[][],
  columns: readonly string[],
  wanted: ReadonlyMap<string, EmployeeKey>,
  found: Found,
): void {
  const seen = new Set<string>()
  for (const values of rows) {
    const text = keyText({ enterpriseCode: values[0] ?? '', userid: values[1] ?? '' })
    if (!wanted.has(text)) continue
    const row = Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]))
    found.set(text, seen.has(text) ? 'duplicate' : row)
    seen.add(text)
  }
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

/** How keys are compared in a column's own type, so that an index on it serves. */
interface NativeType {
  array: string
  /** Whether a key's text can be of this type at all; one that cannot is nobody's key. */
  holds: (text: string) => boolean
}

const ANY_TEXT: NativeType = { array: 'text[]', holds: () => true }
const NATIVE_TYPES: Record<string, NativeType> = {
  text: ANY_TEXT,
  varchar: ANY_TEXT,
  name: ANY_TEXT,
  bpchar: { array: 'bpchar[]', holds: () => true },
  int2: { array: 'int2[]', holds: integerOf(16n) },
  int4: { array: 'int4[]', holds: integerOf(32n) },
  int8: { array: 'int8[]', holds: integerOf(64n) },
  numeric: { array: 'numeric[]', holds: text => /^-?\d{1,100}(?:\.\d{1,100})?$/.test(text) },
  uuid: { array: 'uuid[]', holds: text => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) },
}

/** Types that print their values in one way only, without blanks: a key that equality does not find is not there. */
const EXACT = new Set(['int2', 'int4', 'int8', 'uuid'])

function integerOf(bits: bigint): (text: string) => boolean {
  const limit = 1n << (bits - 1n)
  return text => {
    if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return false
    const value = BigInt(text)
    return value >= -limit && value < limit
  }
}
