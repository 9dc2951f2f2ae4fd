import pg from 'pg'
import type { Logger } from '../logger.ts'
import { ANY_MS } from './time-limits.ts'

const INT8 = 20

/** Numbers of rows and cases stay far below 2^53, so bigint columns are read as numbers. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8
      ? Number
      : pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
}

/**
 * A pool of connections to dirsync's own database. An idle connection that drops is logged, never fatal.
 * @param options.timeoutMs longest time to connect and for each statement; absent: 5 s to connect, 10 minutes for a statement
 */
export function createPool(
  url: string,
  options: { max: number; name: string; logger: Logger; timeoutMs?: number },
): pg.Pool {
  const { max, name, logger, timeoutMs } = options
  const timeouts = timeoutMs && {
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    // The server may be unable to tell us that it gave up.
    query_timeout: timeoutMs,
  }
  const pool = new pg.Pool({ ...connection(url, name), max, query_timeout: ANY_MS, ...timeouts })
  pool.on('error', error => logger.warn({ err: error.message }, 'an idle database connection dropped'))
  return pool
}

/** A connection of its own, for LISTEN, session locks or a long transaction. The caller connects and handles 'error'. */
export function createClient(url: string, name: string): pg.Client {
  return new pg.Client(connection(url, name))
}

function connection(url: string, name: string) {
  return {
    connectionString: url,
    application_name: `dirsync ${name}`,
    types,
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
  }
}
