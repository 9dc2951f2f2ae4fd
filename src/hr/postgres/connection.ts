import type { Readable } from 'node:stream'
import pg, { type Connection, type Submittable } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { PostgresClient } from '../../lib/database.ts'
import { hrTooOld } from '../errors.ts'
import { toHrError } from './errors.ts'

/**
 * Pinned for every connection, whatever the server's or the role's defaults: HR is never written to, dates print as yyyy-MM-dd,
 * and a timestamp's day is the day in China, where the platform's clock stands (section 1).
 */
const SETTINGS = `
  set default_transaction_read_only = on;
  set datestyle = 'ISO, YMD';
  set timezone = 'Asia/Shanghai';
  set standard_conforming_strings = on;
  set client_encoding = 'UTF8';
  set statement_timeout = 0;
  set lock_timeout = 0;
  set idle_in_transaction_session_timeout = 0;
  -- Older servers lack them.
  select pg_catalog.set_config(name, '0', false) from pg_catalog.pg_settings
  where name in ('transaction_timeout', 'idle_session_timeout')`

/** Values arrive as the server prints them, as in a scan. */
const RAW: pg.CustomTypesConfig = { getTypeParser: () => (text: string | Buffer) => text }

/** The configuration of connections to HR. */
export function connectionSettings(url: string, name = 'dirsync'): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  }
}

/** The oldest version whose catalogue and functions the statements here know. */
const OLDEST = 13

/** Prepares a new connection. @throws HrUnavailableError if the server is too old to be read */
export async function prepareSession(client: pg.ClientBase): Promise<void> {
  const [[version, number] = []] = await textRows(
    client,
    `select current_setting('server_version'), current_setting('server_version_num')`,
  )
  if (Number(number) < OLDEST * 10_000) throw hrTooOld(version ?? '', OLDEST)
  await client.query(SETTINGS)
  // Lets the server notice during a long sort that its client is gone. Servers before version 14 lack it and some platforms
  // refuse it; those notice when they have something to send.
  await client.query("set client_connection_check_interval = '2s'").catch(error => {
    if (!(error instanceof pg.DatabaseError)) throw error
  })
}

/** A dedicated connection, such as for a scan. @throws HrUnavailableError */
export async function connectClient(url: string, name?: string): Promise<pg.Client> {
  let client: pg.Client | undefined
  try {
    client = new PostgresClient(connectionSettings(url, name))
    client.on('error', () => {}) // also reported by the query in flight
    await client.connect()
    await prepareSession(client)
    return client
  } catch (error) {
    void client?.end().catch(() => {}) // the failure to connect is what counts
    throw toHrError(error)
  }
}

/** For a query: by the extended protocol, in which the server accepts one statement only, however it parses the text. */
export const ONE_STATEMENT = { queryMode: 'extended' } as const

/**
 * Rows of a query as arrays of text.
 * @param timeoutMs after which it is given up, together with its connection; default: as the connection has it
 */
export async function textRows(
  client: pg.Pool | pg.ClientBase,
  text: string,
  values: unknown[] = [],
  timeoutMs?: number,
): Promise<(string | null)[][]> {
  const query: pg.QueryArrayConfig = { text, values, rowMode: 'array', types: RAW, ...ONE_STATEMENT }
  const patience = timeoutMs === undefined ? {} : { query_timeout: timeoutMs }
  const { rows } = await client.query<(string | null)[]>({ ...query, ...patience })
  return rows
}

/** The copy as pg passes it to a connection and reports an error to it. */
type Copying = Readable & Submittable & { handleError?(error: Error): void }

/**
 * COPY to the client by the extended protocol, in which the server accepts one statement only, however it parses the text; in
 * the simple one, which pg-copy-streams would use, it runs all of them. Equally fast: only the beginning differs.
 */
export function copyOut(text: string): Readable & Submittable {
  const copying: Copying = copyTo(text)
  const submit = copying.submit.bind(copying)
  const handleError = copying.handleError?.bind(copying)
  let atFailure = () => {}
  copying.submit = connection => {
    const bound = () => {
      atFailure = () => {}
      // From here on it reads the connection's bytes itself: nothing has come yet, since nothing was executed.
      submit({ stream: connection.stream, query: () => execute(connection) } as unknown as Connection)
    }
    atFailure = () => {
      connection.off('bindComplete', bound)
      if (connection.stream.writable) connection.sync()
    }
    connection.once('bindComplete', bound)
    connection.parse({ name: '', text, types: [] }, true)
    connection.bind({}, true)
    connection.flush()
  }
  copying.handleError = error => {
    atFailure()
    handleError?.(error)
  }
  return copying
}

function execute(connection: Connection): void {
  connection.execute({}, true)
  connection.sync()
}
