import { addAbortListener } from 'node:events'
import { Readable } from 'node:stream'
import type { Logger } from 'pino'
import { type Message, message } from '../../texts/message.ts'
import { HrDeliveryError, HrUnavailableError, mappingRefused, onlyPlaceOf, placeAfter } from '../errors.ts'
import { type Statement, wrapped } from '../rows.ts'
import {
  type DescribedColumn,
  type HrDelivery,
  type HrFacts,
  type HrLines,
  type HrQuery,
  type HrReader,
  type HrServer,
  type HrServerSettings,
  type HrSession,
  type HrTable,
  type HrValues,
  LOOKUP_MS,
  type SessionOptions,
} from '../server.ts'
import type { MappingFile } from '../statement.ts'
import { Deliveries, type Kept, type Tables, tablesOf } from './delivery.ts'
import { type Connection, DUCKDB, duckDb, quoted } from './duckdb.ts'
import { toHrError } from './errors.ts'
import { END_OF_LINES, linesStatement, parse, rowsStatement, shapeOf } from './query.ts'
import { folderOf } from './settings.ts'

/** HR in files that are delivered to a folder. Reads the last good delivery. */
export class FilesServer implements HrServer {
  readonly kind = 'files'
  readonly dialect = DUCKDB
  readonly reader: HrReader
  readonly settings: HrServerSettings
  readonly #deliveries: Deliveries

  constructor(settings: HrServerSettings, logger: Logger) {
    this.settings = settings
    const deliveries = new Deliveries(folderOf(settings.url), settings.files, logger)
    this.#deliveries = deliveries
    this.reader = {
      describe: async mapping =>
        deliveries.read({ tables: (await parse(mapping.sql)).tables }, kept => describe(kept, mapping)),
      rows: async (query, timeoutMs) =>
        deliveries.read({ tables: (await parse(query.mapping.sql)).tables, timeoutMs }, kept =>
          queryRows(kept, query, timeoutMs ?? LOOKUP_MS),
        ),
    }
  }

  /** A delivery has no index: every comparison reads the whole column, and compares the text. */
  keyComparison(): null {
    return null
  }

  async open({ timeoutMs, isForRun = false }: SessionOptions): Promise<HrSession> {
    await this.#deliveries.reachFolder()
    return new FilesSession(this.#deliveries, isForRun, timeoutMs)
  }

  async delivery(mappings: readonly MappingFile[]): Promise<HrDelivery> {
    const tables = (await Promise.all(mappings.map(async ({ sql }) => (await parse(sql)).tables))).reduce(
      both,
      new Set(),
    )
    const { kept, problem, stamp, ...looked } = await this.#deliveries.refresh(tables)
    if (kept === null) return { stamp: null, files: null, writtenAt: null, problem, ...looked }
    const read = tablesOf(kept, tables).filter(({ isThere }) => isThere)
    const files = [...Map.groupBy(read, ({ file }) => file)]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, [first, ...others]]) => {
        const rows = others.reduce((sum, table) => sum + table.rows, first?.rows ?? 0)
        return deliveredFile(name, rows, first?.encoding ?? '')
      })
    const writtenAt = Math.max(...read.map(table => table.writtenAt.getTime()))
    return {
      stamp: problem === null ? stamp : null,
      files: files.length > 0 ? files.reduce((one, other) => message('said.both', { one, other })) : null,
      writtenAt: read.length > 0 ? new Date(writtenAt) : null,
      problem,
      ...looked,
    }
  }

  /** @throws HrDeliveryError also where none of the files could be read */
  async tables(): Promise<HrTable[]> {
    const tables = await this.#deliveries.read({ tables: null }, readTables)
    if (tables.length > 0) return tables
    const { problem } = await this.#deliveries.refresh(null)
    throw new HrDeliveryError(this.#deliveries.folder, problem)
  }

  async facts(): Promise<HrFacts> {
    const { version } = await duckDb()
    await this.#deliveries.reachFolder()
    return {
      product: `DuckDB ${version().replace(/^v/, '')}`,
      readOnly: message('said.kept_copy'),
      writableTables: 0,
    }
  }

  async close(): Promise<void> {
    this.#deliveries.close()
  }
}

function deliveredFile(file: string, count: number, encoding: string): Message {
  const rows = count === 1 ? message('said.one_row') : message('said.many_rows', { count })
  return encoding === ''
    ? message('said.delivered_file', { file, rows })
    : message('said.delivered_text', { file, rows, encoding })
}

function isWithin(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every(table => all.has(table))
}

function both(one: Tables, other: Tables): Tables {
  return one && other && new Set([...one, ...other])
}

/** One immutable delivery, as far as its mappings read it. */
class FilesSession implements HrSession {
  readonly #deliveries: Deliveries
  readonly #isForRun: boolean
  readonly #timeoutMs: number | null
  #taken: { kept: Kept; tables: Tables } | null = null
  readonly #closed = new AbortController()
  #rows: Promise<HrValues[]> | undefined
  #lines: DeliveryLines | undefined

  constructor(deliveries: Deliveries, isForRun: boolean, timeoutMs: number | null) {
    this.#deliveries = deliveries
    this.#isForRun = isForRun
    this.#timeoutMs = timeoutMs
  }

  async describe(mapping: MappingFile): Promise<DescribedColumn[]> {
    return describe(await this.#keptFor(mapping), mapping)
  }

  async rows(query: HrQuery, timeoutMs?: number): Promise<HrValues[]> {
    const kept = await this.#keptFor(query.mapping)
    const rows = queryRows(kept, query, timeoutMs ?? this.#timeoutMs, this.#closed.signal)
    this.#rows = rows
    return rows
  }

  async lines(query: HrQuery): Promise<HrLines> {
    const statement = linesStatement(query)
    const { instance } = await this.#keptFor(query.mapping)
    const lines = new DeliveryLines(await instance.connect(), statement, this.#timeoutMs)
    this.#lines = lines
    return { source: lines, failureOf: error => toHrError(error, statement, lines.timedOutMs) }
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await Promise.all([this.#lines?.stop(), this.#rows?.catch(() => undefined)])
    this.#release()
  }

  /** The delivery of this session, extended when a mapping reads more than those before it. */
  async #keptFor({ sql }: MappingFile): Promise<Kept> {
    const { tables: wanted } = await parse(sql)
    const before = this.#taken
    if (before && (before.tables === null || (wanted && isWithin(wanted, before.tables)))) return before.kept
    const tables = both(wanted, before?.tables ?? new Set())
    const kept = await this.#deliveries.take({ tables, isForRun: this.#isForRun })
    this.#release()
    if (this.#closed.signal.aborted) {
      this.#deliveries.release(kept)
      throw new Error('the session is closed')
    }
    this.#taken = { kept, tables }
    return kept
  }

  #release(): void {
    if (this.#taken) this.#deliveries.release(this.#taken.kept)
    this.#taken = null
  }
}

/** A value of DuckDB's type BLOB. */
interface Bytes {
  bytes: Uint8Array
}

/** The rows of a statement that returns lines. DuckDB does not read ahead of the consumer. */
class DeliveryLines extends Readable {
  readonly #connection: Connection
  readonly #statement: Statement
  readonly #timer: NodeJS.Timeout | undefined
  #result: Awaited<ReturnType<Connection['stream']>> | undefined
  #working: Promise<void> = Promise.resolve()
  #isComplete = false
  /** The timeout that stopped it; null without one. */
  timedOutMs: number | null = null

  constructor(connection: Connection, statement: Statement, timeoutMs: number | null) {
    super({ highWaterMark: 262_144 })
    this.#connection = connection
    this.#statement = statement
    if (timeoutMs === null) return
    this.#timer = setTimeout(() => {
      this.timedOutMs = timeoutMs
      connection.interrupt()
      this.destroy(new Error('too slow'))
    }, timeoutMs)
  }

  override _read(): void {
    this.#working = this.#next().catch(error => void this.destroy(error))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer)
    this.#connection.interrupt()
    this.#working.finally(() => {
      this.#connection.closeSync()
      done(error)
    })
  }

  /** Stops it, and waits until DuckDB has. */
  async stop(): Promise<void> {
    if (this.closed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.once('close', resolve)
    this.destroy(this.readableEnded ? undefined : new Error('the session was closed'))
    await promise
  }

  async #next(): Promise<void> {
    this.#result ??= await this.#connection.stream(this.#statement.text)
    const chunk = await this.#result.fetchChunk()
    const count = chunk?.rowCount ?? 0
    if (!chunk || count === 0) {
      if (!this.#isComplete && !this.destroyed) throw await this.#failure()
      this.push(null)
      return
    }
    const lines = chunk.getColumnVector(0)
    const parts = Array.from({ length: count }, (_, i) => (lines.getItem(i) as Bytes).bytes)
    this.#isComplete = END.equals(parts.at(-1) as Uint8Array)
    if (this.#isComplete) parts.pop()
    if (parts.length > 0) this.push(Buffer.concat(parts))
    else await this.#next()
  }

  /** Why a result ended early, which only a statement tells that is executed as a whole. */
  async #failure(): Promise<Error> {
    const { text, before, ...statement } = this.#statement
    const first = 'select max(line) from (\n'
    try {
      await this.#connection.run(`${first}${text}\n) lines (line)`)
    } catch (error) {
      return toHrError(error, { ...statement, text, before: first + before }, this.timedOutMs)
    }
    return new HrUnavailableError(message('said.files_unread', { reason: message('said.duckdb_silent') }))
  }
}

const END = Buffer.from(END_OF_LINES)

async function queryRows(
  kept: Kept,
  query: HrQuery,
  timeoutMs: number | null,
  closed?: AbortSignal,
): Promise<HrValues[]> {
  const statement = rowsStatement(query)
  return connected(kept, timeoutMs, { statement, closed }, async connection => {
    const reader = await connection.runAndReadAll(statement.text)
    return (reader.getRows() as (Bytes | null)[][]).map(row =>
      row.map(value => value && Buffer.from(value.bytes).toString('utf8')),
    )
  })
}

/** The tables of the delivered files, the largest first. A name is in quotes where a SELECT needs them. */
async function readTables(kept: Kept): Promise<HrTable[]> {
  const rows = await connected(kept, LOOKUP_MS, {}, async connection => {
    const reader = await connection.runAndReadAll(
      `select table_name, estimated_size::varchar,
         regexp_full_match(table_name, '[A-Za-z_][A-Za-z0-9_]*')
           and lower(table_name) not in (select keyword_name from duckdb_keywords()
                                         where keyword_category <> 'unreserved')
       from duckdb_tables() where schema_name = 'main' order by estimated_size desc, table_name`,
    )
    return reader.getRows() as [name: string, size: string, isPlain: boolean][]
  })
  const isThere = (name: string) => kept.tables.some(table => table.isThere && table.name === name)
  return rows
    .filter(([name]) => isThere(name))
    .map(([name, size, isPlain]) => ({
      name,
      sql: isPlain ? name : quoted(name),
      rows: Number(size),
    }))
}

/** Runs a statement on a connection of its own, so that no setting of a SELECT outlives it. */
async function connected<T>(
  kept: Kept,
  timeoutMs: number | null,
  {
    statement,
    hasRows = true,
    closed,
  }: { statement?: Statement; hasRows?: boolean; closed?: AbortSignal | undefined },
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await kept.instance.connect()
  let timedOut: number | null = null
  const timer =
    timeoutMs === null
      ? undefined
      : setTimeout(() => {
          timedOut = timeoutMs
          connection.interrupt()
        }, timeoutMs)
  using _closing = closed && addAbortListener(closed, () => connection.interrupt())
  try {
    return await work(connection)
  } catch (error) {
    throw toHrError(error, statement, timedOut, hasRows)
  } finally {
    clearTimeout(timer)
    connection.closeSync()
  }
}

/** The columns that a mapping's SELECT returns. It is prepared, alone and as it will be run, but not executed. */
async function describe(kept: Kept, mapping: MappingFile): Promise<DescribedColumn[]> {
  const { file, sql } = mapping
  const { acting } = await parse(sql)
  if (acting !== undefined) {
    const at = onlyPlaceOf(acting, sql)
    const reason = message('said.select_calls', { name: acting })
    throw mappingRefused(file, reason, at === null ? null : placeAfter(sql.slice(0, at)), null)
  }
  const { StatementType } = await duckDb()
  const statements = [wrapped(mapping, '', ''), wrapped(mapping, 'select 1 from (\n', '\n) m')]
  let columns: DescribedColumn[] = []
  for (const [i, statement] of statements.entries())
    await connected(kept, LOOKUP_MS, { statement, hasRows: false }, async connection => {
      const prepared = await connection.prepare(statement.text)
      if (prepared.statementType !== StatementType.SELECT)
        throw mappingRefused(file, message('said.select_other'), null, null)
      if (prepared.parameterCount > 0) {
        const at = sql.search(/\?|\$\d/)
        const place = sql.split('?').length === 2 && at !== -1 ? placeAfter(sql.slice(0, at)) : null
        throw mappingRefused(file, message('said.select_parameter'), place, null)
      }
      if (i > 0) return
      columns = Array.from({ length: prepared.columnCount }, (_, at) => {
        const column = prepared.columnType(at)
        const type = column.alias === 'JSON' ? 'JSON' : column.toString().replace(/^ENUM\(.*/s, 'ENUM')
        const name = prepared.columnName(at)
        const isData = !sql.toLowerCase().includes(name.toLowerCase())
        return { name, type, shape: shapeOf(type), isData }
      })
    })
  return columns
}
