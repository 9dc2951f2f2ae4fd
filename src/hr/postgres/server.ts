import pg from 'pg'
import type { Logger } from 'pino'
import { PostgresClient, surviveDrops } from '../../lib/database.ts'
import { within } from '../../lib/waiting.ts'
import { message } from '../../texts/message.ts'
import { HrTooSlowError, HrUnavailableError, mappingRefused, placeAfter } from '../errors.ts'
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
  connectClient,
  connectionSettings,
  copyOut,
  ONE_STATEMENT,
  prepareSession,
  textRows,
} from './connection.ts'
import { toHrError } from './errors.ts'
import { readWhole } from './explain.ts'
import { FunctionGate } from './gate.ts'
import { copyStatement, keyComparison, POSTGRES, rowsStatement, shapeOf } from './query.ts'

/** How long a connection for look-ups is kept idle: connecting takes many journeys. */
const IDLE_MS = 60_000

/** HR in a PostgreSQL database. Connects at the first query. */
export class PostgresServer implements HrServer {
  readonly kind = 'postgres'
  readonly dialect = POSTGRES
  readonly keyComparison = keyComparison
  readonly reader: HrReader
  readonly settings: HrServerSettings
  readonly #url: string
  readonly #pool: pg.Pool
  readonly #gate = new FunctionGate()

  constructor(settings: HrServerSettings, logger: Logger) {
    const { url, rowLimit } = settings
    this.settings = settings
    this.#url = url
    this.#pool = new pg.Pool({
      ...connectionSettings(url),
      Client: PostgresClient,
      max: LOOKUP_CONNECTIONS,
      onConnect: prepareSession,
      query_timeout: LOOKUP_MS,
      idleTimeoutMillis: IDLE_MS,
      pipeline: true,
    })
    surviveDrops(this.#pool, error => logger.warn({ error: toHrError(error) }, 'HR connection lost'))
    this.reader = {
      describe: mapping =>
        this.#alone(async client => {
          await client.query('begin read only')
          return describe(client, mapping, this.#gate)
        }),
      rows: (query, timeoutMs) => this.#undone(client => queryRows(client, query, rowLimit, timeoutMs)),
    }
  }

  async open({ name, timeoutMs }: SessionOptions): Promise<HrSession> {
    const { rowLimit } = this.settings
    const client = await connectClient(this.#url, name)
    try {
      await client.query(`begin isolation level repeatable read read only; savepoint ${UNTOUCHED}`)
      return new PostgresSession(client, timeoutMs, this.#gate, rowLimit)
    } catch (error) {
      await client.end()
      throw toHrError(error)
    }
  }

  async tables(): Promise<HrTable[]> {
    try {
      // Partitions count as their table; -1 rows means that the table was never analysed.
      const rows = await textRows(
        this.#pool,
        `select concat(case when not pg_table_is_visible(c.oid) then n.nspname || '.' end, c.relname),
           c.oid::regclass::text, nullif(c.reltuples, -1)::bigint,
           case when not has_table_privilege(c.oid, 'select') then
             (select json_agg(a.attname order by a.attnum) from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                and has_column_privilege(c.oid, a.attnum, 'select')) end
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
           and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
           and has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select')
         order by pg_relation_size(c.oid) desc nulls last, 1`,
      )
      return rows.map(([name, sql, count, readable]) => ({
        name: name ?? '',
        sql: sql ?? '',
        rows: count === null || count === undefined ? null : Number(count),
        ...(readable && { readable: JSON.parse(readable) as string[] }),
      }))
    } catch (error) {
      throw toHrError(error)
    }
  }

  facts(): Promise<HrFacts> {
    return this.#alone(async client => {
      const [[version, readOnly, writable] = []] = await textRows(
        client,
        `select current_setting('server_version'), current_setting('transaction_read_only'),
           (select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.relkind in ('r', 'p')
              and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
              and has_table_privilege(c.oid, 'insert, update, delete'))`,
      )
      const hidden = await textRows(
        client,
        `select c.oid::regclass::text from pg_class c
         where c.relkind in ('r', 'p') and c.relrowsecurity and has_table_privilege(c.oid, 'select')
           and row_security_active(c.oid)
         order by 1`,
      )
      return {
        product: `PostgreSQL ${version}`,
        readOnly: readOnly ?? '',
        writableTables: Number(writable),
        hidden: hidden.map(([name]) => name ?? ''),
      }
    })
  }

  readWhole(query: HrQuery, userid: string): Promise<TableReadWhole[]> {
    return this.#undone(client => readWhole(client, rowsStatement(query, this.settings.rowLimit), userid))
  }

  close(): Promise<void> {
    return this.#pool.end()
  }

  /**
   * Runs work on a connection of its own: the pool's connections pipeline, which the gate's protocol does not allow. It has the
   * time of a look-up, as a lock on one of HR's tables may last.
   */
  async #alone<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = await connectClient(this.#url)
    try {
      return await within(LOOKUP_MS, work(client), () => new HrTooSlowError(LOOKUP_MS))
    } catch (error) {
      throw toHrError(error)
    } finally {
      await client.end()
    }
  }

  /**
   * Runs work in a transaction that is rolled back, so that the next one finds an unchanged connection. It begins with the
   * first statement and ends after the answer: a look-up takes one journey to HR, which may be far away.
   */
  async #undone<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    let client: pg.PoolClient | undefined
    try {
      client = await this.#pool.connect()
      const [, result] = await Promise.all([client.query('begin read only'), work(client)])
      void undo(client)
      return result
    } catch (error) {
      client?.release(true)
      throw toHrError(error)
    }
  }
}

/** Gives the connection back as it was, or not at all. */
async function undo(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('rollback')
    client.release()
  } catch {
    client.release(true)
  }
}

/** Savepoint that a session returns to before each statement, to undo the settings of the one before. */
const UNTOUCHED = 'untouched'

/** One read-only, repeatable-read transaction. It ends with its connection. */
class PostgresSession implements HrSession {
  readonly #client: pg.Client
  readonly #timeoutMs: number | null
  readonly #gate: FunctionGate
  readonly #rowLimit: number

  constructor(client: pg.Client, timeoutMs: number | null, gate: FunctionGate, rowLimit: number) {
    this.#client = client
    this.#timeoutMs = timeoutMs
    this.#gate = gate
    this.#rowLimit = rowLimit
  }

  describe(mapping: MappingFile): Promise<DescribedColumn[]> {
    return this.#inTime(() => describe(this.#client, mapping, this.#gate))
  }

  rows(query: HrQuery, timeoutMs?: number): Promise<HrValues[]> {
    return this.#inTime(() => queryRows(this.#client, query, this.#rowLimit, timeoutMs))
  }

  async lines(query: HrQuery): Promise<HrLines> {
    await this.#begin()
    const statement = copyStatement(query)
    return {
      source: this.#client.query(copyOut(statement.text)),
      failureOf: error => this.#explained(toHrError(error, statement)),
    }
  }

  /** In the middle of a COPY this cuts the connection, the only quick way to end one. */
  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined) // it may be gone already
  }

  async #inTime<T>(work: () => Promise<T>): Promise<T> {
    await this.#begin()
    try {
      return await work()
    } catch (error) {
      throw this.#explained(error)
    }
  }

  async #begin(): Promise<void> {
    const limit = this.#timeoutMs === null ? '' : `; set local statement_timeout = ${this.#timeoutMs}`
    await this.#client.query(`rollback to savepoint ${UNTOUCHED}${limit}`).catch(error => {
      throw toHrError(error)
    })
  }

  #explained(error: unknown): Error {
    const failure = toHrError(error)
    const cause = failure.cause as { code?: string } | undefined
    const isTooSlow = failure instanceof HrUnavailableError && cause?.code === QUERY_CANCELED
    return isTooSlow && this.#timeoutMs !== null ? new HrTooSlowError(this.#timeoutMs) : failure
  }
}

/** SQLSTATE query_canceled. */
const QUERY_CANCELED = '57014'
/** SQLSTATE of a statement that lacks parameters. */
const PROTOCOL_VIOLATION = '08P01'

async function queryRows(
  client: pg.ClientBase,
  query: HrQuery,
  rowLimit: number,
  timeoutMs?: number,
): Promise<HrValues[]> {
  const statement = rowsStatement(query, rowLimit)
  try {
    return await textRows(client, statement.text, statement.values, timeoutMs)
  } catch (error) {
    throw toHrError(error, statement, true, timeoutMs)
  }
}

/** The columns that a mapping's SELECT returns, once the gate allows it. It is planned, and stopped before its first row. */
async function describe(
  client: pg.ClientBase,
  { file, sql }: MappingFile,
  gate: FunctionGate,
): Promise<DescribedColumn[]> {
  const before = 'select * from (\n'
  try {
    await gate.check(client, { file, sql })
    const text = `${before}${sql}\n) m limit 0`
    const { fields } = await client.query({ text, rowMode: 'array', ...ONE_STATEMENT })
    const oids = [...new Set(fields.map(field => field.dataTypeID))]
    const types = await textRows(client, 'select oid, typname from pg_type where oid = any($1::oid[])', [
      oids,
    ])
    const names = new Map(types.map(([oid, name]) => [Number(oid), name ?? '']))
    return fields.map(field => {
      const type = names.get(field.dataTypeID) ?? 'record'
      return { name: field.name, type, shape: shapeOf(type) }
    })
  } catch (error) {
    const parameter = sql.search(/\$\d/)
    if ((error as { code?: string }).code === PROTOCOL_VIOLATION && parameter !== -1) {
      const name = /\$\d+/.exec(sql)?.[0] ?? ''
      const place = placeAfter(sql.slice(0, parameter))
      throw mappingRefused(file, message('said.select_parameter_named', { name }), place, error)
    }
    throw toHrError(error, { mapping: { file, sql }, before }, false)
  }
}
