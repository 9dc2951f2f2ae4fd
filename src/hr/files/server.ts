import { Readable } from 'node:stream'
import type { Logger } from 'pino'
import { HrDeliveryError, mappingRefused, placeAfter } from '../errors.ts'
import type { MappingFile } from '../mapping.ts'
import type {
  DescribedColumn,
  HrFacts,
  HrLines,
  HrQuery,
  HrReader,
  HrServer,
  HrSession,
  HrTable,
  HrValues,
  SessionOptions,
} from '../server.ts'
import { Deliveries, type Kept, type Look } from './delivery.ts'
import { type Connection, duckDb, quoted } from './duckdb.ts'
import { type Statement, toHrError } from './errors.ts'
import { DUCKDB, linesStatement, rowsStatement, shapeOf } from './query.ts'
import { type FilesSettings, folderOf } from './settings.ts'

const LOOKUP_MS = 120_000

/** HR in files that are delivered to a folder. The last good delivery is what is read. */
export class FilesServer implements HrServer {
  readonly kind = 'files'
  readonly dialect = DUCKDB
  readonly reader: HrReader
  readonly #deliveries: Deliveries

  constructor(url: string, settings: FilesSettings, logger: Logger) {
    const deliveries = new Deliveries(folderOf(url), settings, logger)
    this.#deliveries = deliveries
    this.reader = {
      describe: mapping => deliveries.read({}, kept => describe(kept, mapping)),
      rows: (query, timeoutMs) =>
        deliveries.read({ timeoutMs }, kept => queryRows(kept, query, timeoutMs ?? LOOKUP_MS)),
    }
  }

  /** A delivery has no index: every comparison reads the whole column, and is made by the text. */
  keyComparison(): null {
    return null
  }

  async open({ timeoutMs, isForRun = false }: SessionOptions): Promise<HrSession> {
    const kept = await this.#deliveries.take({ isForRun })
    return new FilesSession(kept, () => this.#deliveries.release(kept), timeoutMs)
  }

  async delivery(): Promise<string | null> {
    const { kept, problem } = await this.#deliveries.look()
    return problem === null ? (kept?.stamp ?? null) : null
  }

  tables(): Promise<HrTable[]> {
    return this.#deliveries.read({}, readTables)
  }

  async facts(): Promise<HrFacts> {
    const { version } = await duckDb()
    const look = await this.#deliveries.look()
    if (look.kept === null) throw new HrDeliveryError(this.#deliveries.folder, look.problem)
    return {
      product: `DuckDB ${version().replace(/^v/, '')}`,
      readOnly: 'a kept copy',
      writableTables: 0,
      delivery: deliveryFacts(look),
    }
  }

  async close(): Promise<void> {
    this.#deliveries.close()
  }
}

function deliveryFacts({ kept, problem, folder }: Look): NonNullable<HrFacts['delivery']> {
  const files = kept?.files.map(
    ({ name, rows, encoding }) => `${name} (${rows} rows${encoding === null ? '' : `, ${encoding}`})`,
  )
  return { files: files?.join(', ') ?? '', problem, ignored: folder?.ignored ?? [] }
}

/** One delivery, which nobody changes any more. */
class FilesSession implements HrSession {
  readonly #kept: Kept
  readonly #timeoutMs: number | null
  #release: (() => void) | null
  #lines: DeliveryLines | undefined

  constructor(kept: Kept, release: () => void, timeoutMs: number | null) {
    this.#kept = kept
    this.#release = release
    this.#timeoutMs = timeoutMs
  }

  describe(mapping: MappingFile): Promise<DescribedColumn[]> {
    return describe(this.#kept, mapping)
  }

  rows(query: HrQuery, timeoutMs?: number): Promise<HrValues[]> {
    return queryRows(this.#kept, query, timeoutMs ?? this.#timeoutMs)
  }

  async lines(query: HrQuery): Promise<HrLines> {
    const statement = linesStatement(query)
    const lines = new DeliveryLines(await this.#kept.instance.connect(), statement.text, this.#timeoutMs)
    this.#lines = lines
    return { source: lines, failureOf: error => toHrError(error, statement, lines.timedOutMs) }
  }

  async close(): Promise<void> {
    const release = this.#release
    this.#release = null
    if (release === null) return
    await this.#lines?.stop()
    release()
  }
}

/** A value of DuckDB's type BLOB. */
interface Bytes {
  bytes: Uint8Array
}

/** The rows of a statement that returns lines. DuckDB reads no further ahead than is taken. */
class DeliveryLines extends Readable {
  readonly #connection: Connection
  readonly #sql: string
  readonly #timer: NodeJS.Timeout | undefined
  #result: Awaited<ReturnType<Connection['stream']>> | undefined
  #working: Promise<void> = Promise.resolve()
  /** The time after which it was stopped; null where it was not. */
  timedOutMs: number | null = null

  constructor(connection: Connection, sql: string, timeoutMs: number | null) {
    super({ highWaterMark: 262_144 })
    this.#connection = connection
    this.#sql = sql
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

  /** Ends it, and waits until DuckDB has. */
  async stop(): Promise<void> {
    if (this.closed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.once('close', resolve)
    this.destroy(this.readableEnded ? undefined : new Error('the session was closed'))
    await promise
  }

  async #next(): Promise<void> {
    this.#result ??= await this.#connection.stream(this.#sql)
    const chunk = await this.#result.fetchChunk()
    const count = chunk?.rowCount ?? 0
    if (!chunk || count === 0) {
      this.push(null)
      return
    }
    const lines = chunk.getColumnVector(0)
    const parts = Array.from({ length: count }, (_, i) => (lines.getItem(i) as Bytes).bytes)
    this.push(Buffer.concat(parts))
  }
}

async function queryRows(kept: Kept, query: HrQuery, timeoutMs: number | null): Promise<HrValues[]> {
  const statement = rowsStatement(query)
  return within(kept, timeoutMs, statement, async connection => {
    const reader = await connection.runAndReadAll(statement.text)
    return (reader.getRows() as (Bytes | null)[][]).map(row =>
      row.map(value => value && Buffer.from(value.bytes).toString('utf8')),
    )
  })
}

/** What the delivered files have become, the largest first. A name is in quotes where a SELECT needs them. */
async function readTables(kept: Kept): Promise<HrTable[]> {
  const rows = await within(kept, LOOKUP_MS, undefined, async connection => {
    const reader = await connection.runAndReadAll(
      `select table_name, estimated_size::varchar,
         regexp_full_match(table_name, '[A-Za-z_][A-Za-z0-9_]*')
           and lower(table_name) not in (select keyword_name from duckdb_keywords()
                                         where keyword_category <> 'unreserved')
       from duckdb_tables() where schema_name = 'main' order by estimated_size desc, table_name`,
    )
    return reader.getRows() as [name: string, size: string, isPlain: boolean][]
  })
  return rows.map(([name, size, isPlain]) => ({
    name,
    sql: isPlain ? name : quoted(name),
    rows: Number(size),
  }))
}

/** Runs a statement on a connection of its own, so that nothing which a SELECT may set outlives it. */
async function within<T>(
  kept: Kept,
  timeoutMs: number | null,
  statement: Statement | undefined,
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
  try {
    return await work(connection)
  } catch (error) {
    throw toHrError(error, statement, timedOut)
  } finally {
    clearTimeout(timer)
    connection.closeSync()
  }
}

/** The columns that a mapping's SELECT returns. It is prepared, by itself and as it will be run, and not carried out. */
async function describe(kept: Kept, { file, sql }: MappingFile): Promise<DescribedColumn[]> {
  const { StatementType } = await duckDb()
  const mapping = { file, sql }
  const statements = ['', 'select 1 from (\n'].map(before => ({
    text: before === '' ? sql : `${before}${sql}\n) m`,
    mapping: { ...mapping, offset: Buffer.byteLength(before) },
  }))
  let columns: DescribedColumn[] = []
  for (const [i, statement] of statements.entries())
    await within(kept, LOOKUP_MS, statement, async connection => {
      const prepared = await connection.prepare(statement.text)
      if (prepared.statementType !== StatementType.SELECT)
        throw mappingRefused(file, 'the statement is no SELECT', null, null)
      if (prepared.parameterCount > 0) {
        const at = sql.search(/\?|\$\d/)
        const place = sql.split('?').length === 2 && at !== -1 ? placeAfter(sql.slice(0, at)) : null
        throw mappingRefused(file, 'the SELECT has a parameter, and nobody gives it a value', place, null)
      }
      if (i > 0) return
      columns = Array.from({ length: prepared.columnCount }, (_, at) => {
        const column = prepared.columnType(at)
        const type = column.alias === 'JSON' ? 'JSON' : column.toString().replace(/^ENUM\(.*/s, 'ENUM')
        return { name: prepared.columnName(at), type, shape: shapeOf(type) }
      })
    })
  return columns
}
