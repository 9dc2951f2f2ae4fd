import type { Connection, ConnectionOptions, SslOptions } from 'mysql2'
import { pemFile } from '../../lib/failure.ts'
import { type MysqlAddress, mysqlAddress } from './address.ts'
import { driver } from './driver.ts'
import { toHrError } from './errors.ts'
import type { ColumnDefinition } from './types.ts'

/**
 * Pinned for every connection, whatever the server's defaults:
 *
 * - nothing is written, and each statement outside a transaction sees the present;
 * - a timestamp's day is the day in China, where the platform's clock stands (section 1);
 * - texts arrive in UTF-8, whatever character set their columns have;
 * - `sql_mode` is empty: quotes, backslashes and `||` mean the same as in a client with default settings, blanks at the end of
 *   a CHAR are left out, and no comparison with a zero date is an error; a `group by` is checked as little as in MariaDB;
 * - nothing truncates an answer: not `group_concat` at 1,024 characters, not `sql_select_limit`, and not the server when it has
 *   to wait for a reader that is held back (net_write_timeout is 60 s by default), or for its next query.
 *
 * Only MariaDB reads comments that begin with M!, and it ignores those for MySQL 5.7 and later.
 */
const SETTINGS = `set names utf8mb4, autocommit = 1, sql_mode = '', time_zone = '+08:00',
  group_concat_max_len = 16777216, sql_select_limit = 18446744073709551615, sql_big_selects = 1,
  net_write_timeout = 86400, wait_timeout = 86400
  /*M!100102 , max_statement_time = 0 */ /*M!100300 , idle_transaction_timeout = 0 */
  /*!50708 , max_execution_time = 0 */`
const READ_ONLY = 'set session transaction read only'

/** The driver's options for connections to HR. */
export function connectionOptions(url: string, name = 'dirsync'): ConnectionOptions {
  const { tls, ...address } = mysqlAddress(url)
  return {
    ...address,
    ...(tls && { ssl: tlsOptions(tls) }),
    charset: 'UTF8MB4_GENERAL_CI',
    connectTimeout: 10_000,
    enableKeepAlive: true,
    keepAliveInitialDelay: 10_000,
    connectAttributes: { program_name: name },
    // No server may request a file from this machine.
    flags: ['-LOCAL_FILES'],
  }
}

function tlsOptions({ mode, ca, cert, key }: NonNullable<MysqlAddress['tls']>): SslOptions {
  return {
    rejectUnauthorized: mode !== 'required',
    verifyIdentity: mode === 'verify-identity',
    minVersion: 'TLSv1.2',
    ...(ca && { ca: pemFile(ca, 'CERTIFICATE') }),
    ...(cert && { cert: pemFile(cert, 'CERTIFICATE') }),
    ...(key && { key: pemFile(key, 'PRIVATE KEY') }),
  }
}

export async function prepareSession(connection: Connection): Promise<void> {
  await run(connection, SETTINGS)
  await run(connection, READ_ONLY)
}

/** A dedicated connection, such as for a scan. @throws HrUnavailableError */
export async function connectClient(url: string, name?: string): Promise<Connection> {
  let connection: Connection | undefined
  try {
    connection = driver().createConnection(connectionOptions(url, name))
    connection.on('error', () => {}) // also reported by the query in flight
    await prepareSession(connection)
    return connection
  } catch (error) {
    connection?.destroy()
    throw toHrError(error)
  }
}

/** Sets the longest time for the following statements. */
export function limit(connection: Connection, timeoutMs: number): Promise<void> {
  return run(
    connection,
    `set @dirsync = 0 /*M!100102 , max_statement_time = ${timeoutMs / 1000} */ /*!50708 , max_execution_time = ${timeoutMs} */`,
  )
}

/** Runs a statement without a result. */
export function run(connection: Connection, sql: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  connection.query(sql, error => (error ? reject(error) : resolve()))
  return promise
}

/** Bytes of a value as the server prints it. */
export type Cell = Buffer | null

/** What a query returned: its columns as the server describes them, and its rows. */
interface Answer {
  fields: ColumnDefinition[]
  rows: Cell[][]
}

/** The rows of a query, as bytes. */
export function cells(connection: Connection, sql: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  connection.query({ ...AS_BYTES, sql }, (error, rows, fields) =>
    error
      ? reject(error)
      : resolve({ rows: rows as unknown as Cell[][], fields: fields as unknown as ColumnDefinition[] }),
  )
  return promise
}

/** Query options for rows as arrays of bytes: nothing is parsed. */
export const AS_BYTES = { rowsAsArray: true, typeCast: false } as const
