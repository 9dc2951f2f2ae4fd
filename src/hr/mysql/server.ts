import { Readable } from 'node:stream'
import type { Connection, Pool, PoolConnection, PrepareStatementInfo, QueryError } from 'mysql2'
import type { Logger } from 'pino'
import { within } from '../../lib/waiting.ts'
import { message } from '../../texts/message.ts'
import { mappingRefused, placeAfter } from '../errors.ts'
import { conditionsOf, type Statement, wrapped } from '../rows.ts'
import {
  type DescribedColumn,
  type HrFacts,
  type HrLines,
  type HrQuery,
  type HrReader,
  type HrServer,
  type HrServerSettings,
  type HrSession,
  type HrTable,
  type HrValues,
  LOOKUP_CONNECTIONS,
  LOOKUP_MS,
  type SessionOptions,
  type TableReadWhole,
} from '../server.ts'
import type { MappingFile } from '../statement.ts'
import {
  AS_BYTES,
  type Cell,
  cells,
  connectClient,
  connectionOptions,
  limit,
  prepareSession,
  run,
} from './connection.ts'
import { driver } from './driver.ts'
import { toHrError } from './errors.ts'
import { readFacts, readTables, readWhole } from './facts.ts'
import { LineWriter, printersOf, textsOf } from './print.ts'
import { MYSQL, rowsStatement, scanStatement } from './query.ts'
import { type ColumnDefinition, keyComparison, shapeOf, typeName } from './types.ts'

/** How much longer than the server a client waits, so that it hears of the server's timeout. */
const GRACE_MS = 2000

/** How long the settings of a new connection may take. */
const PREPARE_MS = 10_000

/** The server takes no further connection, or none of this user: those that are open stay of use. */
const FULL = new Set([1040, 1203, 1226])

/** HR in a MySQL or MariaDB database. Connects at the first query. */
export class MysqlServer implements HrServer {
  readonly kind = 'mysql'
  readonly dialect = MYSQL
  readonly keyComparison = keyComparison
  readonly reader: HrReader
  readonly settings: HrServerSettings
  readonly #url: string
  readonly #logger: Logger
  #pool: Promise<Pool> | undefined
  /** The settings of each connection of the pool. */
  readonly #prepared = new WeakMap<Connection, Promise<void>>()

  constructor(settings: HrServerSettings, logger: Logger) {
    this.settings = settings
    this.#url = settings.url
    this.#logger = logger
    this.reader = {
      describe: mapping =>
        this.#pooled(connection => limited(connection, LOOKUP_MS, () => describe(connection, mapping))),
      rows: (query, timeoutMs = LOOKUP_MS) =>
        this.#pooled(connection => queryRows(connection, query, timeoutMs)),
    }
  }

  async open({ name, timeoutMs }: SessionOptions): Promise<HrSession> {
    const connection = await connectClient(this.#url, name)
    try {
      await run(connection, 'set session transaction isolation level repeatable read')
      await run(connection, 'start transaction with consistent snapshot, read only')
      return new MysqlSession(this.#url, connection, timeoutMs)
    } catch (error) {
      connection.destroy()
      throw toHrError(error)
    }
  }

  tables(): Promise<HrTable[]> {
    return this.#pooled(connection => limited(connection, LOOKUP_MS, () => readTables(connection)))
  }

  async facts(): Promise<HrFacts> {
    const connection = await connectClient(this.#url)
    try {
      return await readFacts(connection)
    } catch (error) {
      throw toHrError(error)
    } finally {
      connection.destroy()
    }
  }

  readWhole(query: HrQuery, userid: string): Promise<TableReadWhole[]> {
    const type = query.mapping.columns.get('userid')?.type
    return this.#pooled(connection =>
      limited(connection, LOOKUP_MS, () => readWhole(connection, rowsStatement(query), userid, type)),
    )
  }

  async close(): Promise<void> {
    const pool = await this.#pool?.catch(() => undefined)
    if (!pool) return
    const { promise, resolve } = Promise.withResolvers<void>()
    pool.end(() => resolve())
    await promise
  }

  async #pooled<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    let connection: PoolConnection | undefined
    try {
      this.#pool ??= this.#createPool()
      connection = await this.#borrow(this.#pool)
      await this.#prepared.get(connection)
      return await work(connection)
    } catch (error) {
      throw toHrError(error)
    } finally {
      connection?.release()
    }
  }

  /** After a failure the next look-up makes another pool, with the certificates that are there by then. */
  async #borrow(made: Promise<Pool>): Promise<PoolConnection> {
    const pool = await made
    try {
      return await borrowed(pool)
    } catch (error) {
      if (this.#pool === made && !FULL.has((error as QueryError).errno ?? 0)) {
        this.#pool = undefined
        pool.end(() => {})
      }
      throw error
    }
  }

  async #createPool(): Promise<Pool> {
    try {
      const pool = driver().createPool({
        ...connectionOptions(this.#url),
        connectionLimit: LOOKUP_CONNECTIONS,
      })
      pool.on('connection', connection => {
        connection.on('error', error => this.#logger.warn({ error: toHrError(error) }, 'HR connection lost'))
        const prepared = within(PREPARE_MS, prepareSession(connection), noAnswer)
        prepared.catch(() => connection.destroy())
        this.#prepared.set(connection, prepared)
      })
      return pool
    } catch (error) {
      this.#pool = undefined
      throw error
    }
  }
}

function borrowed(pool: Pool): Promise<PoolConnection> {
  const { promise, resolve, reject } = Promise.withResolvers<PoolConnection>()
  pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection)))
  return promise
}

/** One read-only transaction on a consistent snapshot. It ends with its connection. */
class MysqlSession implements HrSession {
  readonly #url: string
  readonly #connection: Connection
  readonly #timeoutMs: number | null
  #closing: Promise<void> | undefined
  #source: RowLines | undefined
  /** Whether the server is executing a statement. */
  #isBusy = false

  constructor(url: string, connection: Connection, timeoutMs: number | null) {
    this.#url = url
    this.#connection = connection
    this.#timeoutMs = timeoutMs
  }

  describe(mapping: MappingFile): Promise<DescribedColumn[]> {
    return this.#busy(() => describe(this.#connection, mapping))
  }

  rows(query: HrQuery, timeoutMs?: number): Promise<HrValues[]> {
    return this.#busy(() => queryRows(this.#connection, query, timeoutMs ?? this.#timeoutMs))
  }

  async lines(query: HrQuery): Promise<HrLines> {
    const statement = scanStatement(query)
    await this.#limit()
    this.#isBusy = true
    const source = new RowLines(this.#connection, statement.text, query)
    this.#source = source
    source.once('end', () => {
      this.#isBusy = false
    })
    return { source, failureOf: error => toHrError(error, statement, this.#timeoutMs) }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { localPort } = socketOf(this.#connection)
    this.#connection.destroy()
    if (!this.#source?.readableEnded) this.#source?.destroy(new Error('the session was closed'))
    if (this.#isBusy && localPort !== undefined)
      await stopStatement(this.#url, this.#connection.threadId, localPort)
  }

  /** Before each statement, whatever settings the previous one made. */
  async #limit(): Promise<void> {
    if (this.#timeoutMs === null) return
    await limit(this.#connection, this.#timeoutMs).catch(error => {
      throw toHrError(error)
    })
  }

  async #busy<T>(work: () => Promise<T>): Promise<T> {
    this.#isBusy = true
    const result = await work()
    this.#isBusy = false // after a failure it may still be running
    return result
  }
}

/** The driver's types do not declare a connection's stream as a socket. */
function socketOf(connection: Connection): { localPort?: number | undefined } {
  return (connection as unknown as { stream: { localPort?: number } }).stream
}

/**
 * Kills the statement of a closed connection: unlike PostgreSQL, the server would notice only when it has rows to send, and
 * might sort for an hour in vain. It finds the connection by both its number and its port, since behind a balancer the number
 * may be that of another server's. Never fails; a server that does not answer is left alone.
 */
async function stopStatement(url: string, thread: number, port: number): Promise<void> {
  const connection = await connectClient(url, 'dirsync').catch(() => undefined)
  if (!connection) return
  await cells(
    connection,
    `select id from information_schema.processlist where id = ${thread} and substring_index(host, ':', -1) = '${port}'`,
  )
    .then(({ rows }) => (rows.length > 0 ? run(connection, `kill ${thread}`) : undefined))
    .catch(() => undefined) // it ended by itself
  connection.destroy()
}

/** The rows of a statement as COPY text. Without a consumer the connection is paused, and with it the server. */
class RowLines extends Readable {
  readonly #connection: Connection
  readonly #sql: string
  readonly #query: HrQuery
  #isStarted = false
  #isPaused = false

  constructor(connection: Connection, sql: string, query: HrQuery) {
    super({ highWaterMark: 262_144 })
    this.#connection = connection
    this.#sql = sql
    this.#query = query
  }

  override _read(): void {
    if (!this.#isStarted) this.#start()
    else if (this.#isPaused) {
      this.#isPaused = false
      this.#connection.resume()
    }
  }

  #start(): void {
    this.#isStarted = true
    let writer: LineWriter
    const lost = (error: Error) => this.destroy(error)
    const rows = this.#connection.query({ ...AS_BYTES, sql: this.#sql })
    rows.on('fields', fields => {
      writer = new LineWriter(printersOf(this.#query, fields as unknown as ColumnDefinition[]))
    })
    rows.on('result', row => {
      const chunk = writer.add(row as unknown as Cell[])
      if (chunk !== null && !this.push(chunk)) {
        this.#isPaused = true
        this.#connection.pause()
      }
    })
    rows.on('error', lost)
    // A broken connection is reported by the connection and not by the query.
    this.#connection.on('error', lost)
    rows.once('end', () => {
      this.#connection.off('error', lost)
      if (this.destroyed) return
      const chunk = writer.take()
      if (chunk !== null) this.push(chunk)
      this.push(null)
    })
  }
}

/** A key has a character outside its column's character set: as MariaDB says it, and as MySQL does. */
const NOT_COMPARABLE = new Set<unknown>([1267, 1271, 3854])

async function queryRows(
  connection: Connection,
  query: HrQuery,
  timeoutMs: number | null,
): Promise<HrValues[]> {
  let statement = rowsStatement(query)
  const ask = () => limited(connection, timeoutMs, () => cells(connection, statement.text))
  try {
    const { rows, fields } = await ask().catch(error => {
      if (conditionsOf(query).length === 0 || !NOT_COMPARABLE.has(error.errno)) throw error
      statement = rowsStatement(query, true)
      return ask()
    })
    return textsOf(rows, printersOf(query, fields))
  } catch (error) {
    throw toHrError(error, statement, timeoutMs)
  }
}

/** Makes the server stop the work after a time, and drops the connection if it does not even report that. */
async function limited<T>(
  connection: Connection,
  timeoutMs: number | null,
  work: () => Promise<T>,
): Promise<T> {
  if (timeoutMs === null) return work()
  return within(timeoutMs + GRACE_MS, limit(connection, timeoutMs).then(work), () => {
    connection.destroy()
    return noAnswer()
  })
}

function noAnswer(): Error {
  return Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })
}

/** A duplicate name is not an error of the SELECT itself, only of its wrapper. The mapping's own check has a better message. */
const DUPLICATE_NAME = 1060

/** The columns that a mapping's SELECT returns. It is prepared, alone and as it will be run, but not executed. */
async function describe(connection: Connection, mapping: MappingFile): Promise<DescribedColumn[]> {
  const { file, sql } = mapping
  const itself = wrapped(mapping, '', '')
  const { columns, parameters } = await prepared(connection, itself)
  if (parameters > 0) {
    const place = sql.split('?').length === 2 ? placeAfter(sql.slice(0, sql.indexOf('?'))) : null
    throw mappingRefused(file, message('said.select_question'), place, undefined)
  }
  await prepared(connection, wrapped(mapping, 'select 1 from (\n', '\n) m')).catch(error => {
    if (error.cause?.errno !== DUPLICATE_NAME) throw error
  })
  return columns.map(column => {
    const type = typeName(column)
    return { name: column.name, type, shape: shapeOf(type) }
  })
}

async function prepared(
  connection: Connection,
  statement: Statement,
): Promise<{ columns: ColumnDefinition[]; parameters: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<PrepareStatementInfo>()
  connection.prepare(statement.text, (error, info) => (error ? reject(error) : resolve(info)))
  try {
    const { columns, parameters } = (await promise) as unknown as {
      columns: ColumnDefinition[]
      parameters: unknown[]
    }
    // Kept, it would describe outdated tables.
    connection.unprepare(statement.text)
    return { columns, parameters: parameters.length }
  } catch (error) {
    throw toHrError(error, statement)
  }
}
