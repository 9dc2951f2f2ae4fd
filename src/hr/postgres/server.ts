import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { Logger } from 'pino'
import { HrUnavailableError, hrTooSlow, mappingRefused, placeAfter } from '../errors.ts'
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
import { connectClient, connectionSettings, prepareSession, textRows } from './connection.ts'
import { toHrError } from './errors.ts'
import { copyStatement, keyComparison, POSTGRES, rowsStatement, type Statement, shapeOf } from './query.ts'

/** Connections for look-ups at most; every session has one more of its own. */
const LOOKUP_CONNECTIONS = 4
const LOOKUP_MS = 120_000

/** HR in a PostgreSQL database. Connects when it is first asked something. */
export class PostgresServer implements HrServer {
  readonly kind = 'postgres'
  readonly dialect = POSTGRES
  readonly keyComparison = keyComparison
  readonly reader: HrReader
  readonly #url: string
  readonly #pool: pg.Pool

  constructor(url: string, logger: Logger) {
    this.#url = url
    this.#pool = new pg.Pool({
      ...connectionSettings(url),
      max: LOOKUP_CONNECTIONS,
      onConnect: prepareSession,
      query_timeout: LOOKUP_MS,
    })
    // The pool replaces a connection that breaks while idle; whoever asks next is served or told.
    this.#pool.on('error', error => logger.warn({ reason: toHrError(error).message }, 'HR connection lost'))
    this.reader = {
      describe: mapping => describe(this.#pool, mapping),
      rows: (query, timeoutMs) => queryRows(this.#pool, rowsStatement(query), timeoutMs),
    }
  }

  async open({ name, timeoutMs }: SessionOptions): Promise<HrSession> {
    const client = await connectClient(this.#url, name)
    try {
      await client.query('begin isolation level repeatable read read only')
      return new PostgresSession(client, timeoutMs)
    } catch (error) {
      await client.end()
      throw toHrError(error)
    }
  }

  async tables(): Promise<HrTable[]> {
    try {
      // Partitions show in their table; nobody has counted a table whose number of rows is -1.
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

  async facts(): Promise<HrFacts> {
    const client = await connectClient(this.#url)
    try {
      const [[version, readOnly, writable] = []] = await textRows(
        client,
        `select current_setting('server_version'), current_setting('transaction_read_only'),
           (select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.relkind in ('r', 'p')
              and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
              and has_table_privilege(c.oid, 'insert, update, delete'))`,
      )
      return {
        product: `PostgreSQL ${version}`,
        readOnly: readOnly ?? '',
        writableTables: Number(writable),
      }
    } catch (error) {
      throw toHrError(error)
    } finally {
      await client.end()
    }
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}

/** One read-only, repeatable-read transaction. It ends with its connection, which undoes whatever a SELECT may have set. */
class PostgresSession implements HrSession {
  readonly #client: pg.Client
  readonly #timeoutMs: number | null

  constructor(client: pg.Client, timeoutMs: number | null) {
    this.#client = client
    this.#timeoutMs = timeoutMs
  }

  describe(mapping: MappingFile): Promise<DescribedColumn[]> {
    return this.#inTime(() => describe(this.#client, mapping))
  }

  rows(query: HrQuery, timeoutMs?: number): Promise<HrValues[]> {
    return this.#inTime(() => queryRows(this.#client, rowsStatement(query), timeoutMs))
  }

  async lines(query: HrQuery): Promise<HrLines> {
    await this.#limit()
    const { text, mapping } = copyStatement(query)
    return {
      source: this.#client.query(copyTo(text)),
      failureOf: error => this.#explained(toHrError(error, mapping)),
    }
  }

  /** In the middle of a COPY this cuts the connection, which is the only short way out of one. */
  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined) // it may be gone already
  }

  async #inTime<T>(work: () => Promise<T>): Promise<T> {
    await this.#limit()
    try {
      return await work()
    } catch (error) {
      throw this.#explained(error)
    }
  }

  /** Before each statement, whatever the one before it has set. */
  async #limit(): Promise<void> {
    if (this.#timeoutMs === null) return
    await this.#client.query(`set local statement_timeout = ${this.#timeoutMs}`).catch(error => {
      throw toHrError(error)
    })
  }

  #explained(error: unknown): Error {
    const failure = toHrError(error)
    const cause = failure.cause as { code?: string } | undefined
    const isTooSlow = failure instanceof HrUnavailableError && cause?.code === QUERY_CANCELED
    return isTooSlow && this.#timeoutMs !== null ? hrTooSlow(this.#timeoutMs) : failure
  }
}

/** SQLSTATE query_canceled. */
const QUERY_CANCELED = '57014'
/** SQLSTATE of a statement that wants parameters and is given none. */
const PROTOCOL_VIOLATION = '08P01'

type Client = pg.Pool | pg.ClientBase

async function queryRows(
  client: Client,
  { text, values, mapping }: Statement,
  timeoutMs?: number,
): Promise<HrValues[]> {
  try {
    return await textRows(client, text, values, timeoutMs)
  } catch (error) {
    throw toHrError(error, mapping)
  }
}

/** The columns that a mapping's SELECT returns. It is planned, and stopped before its first row. */
async function describe(client: Client, { file, sql }: MappingFile): Promise<DescribedColumn[]> {
  const before = 'select * from (\n'
  try {
    // The extended protocol takes one statement and no more, whatever the text is made of.
    const statement = {
      text: `${before}${sql}\n) m limit 0`,
      rowMode: 'array',
      queryMode: 'extended',
    } as const
    const { fields } = await client.query(statement)
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
      const name = /\$\d+/.exec(sql)?.[0]
      const place = placeAfter(sql.slice(0, parameter))
      throw mappingRefused(file, `there is no parameter ${name} (42P02)`, place, error)
    }
    throw toHrError(error, { file, sql, offset: before.length }, false)
  }
}
