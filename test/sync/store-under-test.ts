import type pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { createPool } from '../../src/lib/database.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { worded } from '../texts/worded.ts'

export const SILENT = pino({ level: 'silent' })

/** SQL: sessions of this database that wait for a lock. */
export const WAITING_FOR_A_LOCK = `
  select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** dirsync's own database, empty before each test of the file. */
export class StoreUnderTest {
  #database: TestDatabase | undefined
  #pool: pg.Pool | undefined

  constructor() {
    beforeAll(async () => {
      this.#database = await createTestDatabase({ migrated: true })
      this.#pool = createPool(this.url, { max: 10, name: 'test', logger: SILENT })
    })
    beforeEach(() => this.clear())
    afterAll(async () => {
      await this.#pool?.end()
      await this.#database?.close()
    })
  }

  get url(): string {
    if (!this.#database) throw new Error('the store exists within tests only')
    return this.#database.url
  }

  /** The pool that dirsync would have. */
  get pool(): pg.Pool {
    if (!this.#pool) throw new Error('the store exists within tests only')
    return this.#pool
  }

  async rows<T extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<T[]> {
    return worded((await this.pool.query<T>(text, values)).rows)
  }

  /** The first column of the first row. */
  async value<T>(text: string, values: unknown[] = []): Promise<T> {
    const { rows } = await this.pool.query<unknown[]>({ text, values, rowMode: 'array' })
    return rows[0]?.[0] as T
  }

  /** Resolves when no session holds an advisory lock: the server frees those of a connection that was lost when it notices. */
  async unlocked(): Promise<void> {
    const held = `select exists (select from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database()))`
    while (await this.value<boolean>(held));
  }

  /** Everything in the schema but the tally, which only says how much of the rest there is; to be compared with later. */
  async contents(): Promise<Record<string, unknown[]>> {
    const tables = (await this.#tables()).filter(table => table !== 'tally')
    const contents: Record<string, unknown[]> = {}
    for (const table of tables)
      contents[table] = await this.rows(`select * from dirsync.${table} t order by t::text`)
    return contents
  }

  async clear(): Promise<void> {
    // Faster than truncate where there are few rows. As a replica: the record of commands refuses to be emptied.
    const emptied = (await this.#tables()).map(table => `delete from dirsync.${table}`).join(';')
    await this.pool.query(
      `set session_replication_role = replica; ${emptied}; reset session_replication_role`,
    )
  }

  /** Names of all tables but the schema's own: which migrations it has, and the catalogue of texts. */
  async #tables(): Promise<string[]> {
    const rows = await this.rows<{ name: string }>(
      `select tablename as name from pg_tables
       where schemaname = 'dirsync' and tablename not in ('migration', 'text') order by 1`,
    )
    return rows.map(row => row.name)
  }
}
