import pg from 'pg'
import type { Logger } from 'pino'
import type { LearntRate } from './learning.ts'
import { LearntRates, type LeaseRequest, type PacerLease, type PacerStore } from './store.ts'

const CHANNEL = 'dirsync_pacer'
const RECONNECT_MS = 1000
/** A statement without an answer by then is given up, and its connection: nobody waits for its slots any more. */
const STATEMENT_MS = 2000

interface LeaseRow extends Omit<PacerLease, 'learnt'> {
  ratePerSecond: number
  ceiling: number | null
  loweredAtMs: number | null
  changedAtMs: number
  leasedAtChange: number
}

const LEASE = `
  select start_ms as "startMs", count, now_ms as "nowMs", paused_until_ms as "pausedUntilMs", shared,
         spacing_ms as "spacingMs", leased::float8, coalesce(l.version, 0)::float8 as version,
         l.rate_per_second as "ratePerSecond", l.ceiling,
         extract(epoch from l.lowered_at)::float8 * 1000 as "loweredAtMs",
         extract(epoch from l.changed_at)::float8 * 1000 as "changedAtMs",
         l.leased_at_change::float8 as "leasedAtChange"
  from (select) as one
  left join dirsync.learnt_rate l on l.gate = $7
  cross join lateral dirsync.lease_slots($1, $2, $3, greatest($4, 1000 / l.rate_per_second), $5, $6)`

const TELL = `select pg_notify('${CHANNEL}', $2::float8 || ' ' || $1::text)`

const PAUSE = `
  insert into dirsync.pacer as p (gate, next_at, paused_until, pause_reason)
  values ($1, clock_timestamp(), clock_timestamp() + $2::float8 * interval '1 ms', $3)
  on conflict (gate) do update set
    pause_reason = case when excluded.paused_until > p.paused_until is not false then excluded.pause_reason else p.pause_reason end,
    paused_until = greatest(p.paused_until, excluded.paused_until)`

/** The pauses that last, as their notifications would tell them. */
const PAUSES = `
  select ceil(extract(epoch from paused_until - clock_timestamp()) * 1000) || ' ' || gate as payload
  from dirsync.pacer where paused_until > clock_timestamp()`

/** Slots in `dirsync.pacer`; pauses are pushed by NOTIFY. */
export class PostgresStore implements PacerStore {
  readonly #pool: pg.Pool
  readonly #url: string
  readonly #rates: LearntRates
  readonly #log: Logger | undefined
  #tell: (payload: string) => void = () => undefined
  #listener: pg.Client | null = null
  /** The same once it listens, and until it is lost. */
  #listening: pg.Client | null = null
  #retry: NodeJS.Timeout | null = null
  #closed = false

  /** @param options.url of the same database, for the connection that listens */
  constructor(options: { pool: pg.Pool; url: string; logger?: Logger }) {
    this.#pool = options.pool
    this.#url = options.url
    this.#rates = new LearntRates(options.pool)
    this.#log = options.logger?.child({ component: 'pacer' })
  }

  async lease({
    gate,
    holder,
    count,
    spacingMs,
    budget,
    learntAs = gate,
  }: LeaseRequest): Promise<PacerLease> {
    const values = [gate, holder, count, spacingMs, budget?.gate, budget?.spacingMs, learntAs]
    const statement = { text: LEASE, values, query_timeout: STATEMENT_MS }
    const { rows } = await this.#pool.query<LeaseRow>(statement)
    const { ratePerSecond, ceiling, loweredAtMs, changedAtMs, leasedAtChange, ...lease } = rows[0] as LeaseRow
    const learnt = { ratePerSecond, ceiling, loweredAtMs, changedAtMs, leasedAtChange }
    return { ...lease, learnt: lease.version === 0 ? null : learnt }
  }

  async pause(gate: string, ms: number, reason: string): Promise<void> {
    // Told before it is kept, which may wait for processes that reserve, and not behind the pool's queries.
    const db = this.#listening ?? this.#pool
    const query_timeout = STATEMENT_MS
    const tell = { text: TELL, values: [gate, Math.ceil(ms)], query_timeout }
    const told = db.query(tell).catch(error => {
      if (db !== this.#pool) this.#lost(db as pg.Client, error)
      throw error
    })
    const keep = { text: PAUSE, values: [gate, Math.ceil(ms), reason], query_timeout }
    await Promise.all([told, this.#pool.query(keep)])
  }

  learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean> {
    return this.#rates.replace(name, expectedVersion, learnt)
  }

  watch(onPause: (gate: string, ms: number) => void): void {
    if (this.#closed) return
    this.#tell = payload => {
      const space = payload.indexOf(' ')
      onPause(payload.slice(space + 1), Number(payload.slice(0, space)))
    }
    void this.#listen()
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    await this.#listener?.end().catch(() => undefined) // it may be gone already
  }

  async #listen(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'dirsync pacer',
      connectionTimeoutMillis: 5000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5000,
      query_timeout: STATEMENT_MS,
    })
    this.#listener = client
    client.on('notification', ({ payload }) => this.#tell(payload ?? ''))
    client.on('error', error => this.#lost(client, error))
    client.on('end', () => this.#lost(client))
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
      this.#listening = client
      const { rows } = await client.query<{ payload: string }>(PAUSES)
      for (const { payload } of rows) this.#tell(payload)
    } catch (error) {
      this.#lost(client, error as Error)
    }
  }

  #lost(client: pg.Client, error?: Error): void {
    if (this.#closed || this.#listener !== client) return
    this.#listener = null
    this.#listening = null
    client.end().catch(() => undefined) // what is left of it; a second failure says nothing new
    this.#log?.warn({ err: error?.message }, 'pauses of other processes are noticed late: connection dropped')
    this.#retry = setTimeout(() => void this.#listen(), RECONNECT_MS)
  }
}
