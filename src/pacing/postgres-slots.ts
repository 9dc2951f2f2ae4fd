import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { createClient, onlyRow } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { LearntRate, Lease, LeaseRequest, Slots } from './slots.ts'

/** A statement that takes longer is given up, and its connection with it. */
const STATEMENT_MS = 2000
/** Hold-offs are announced here, as their length in milliseconds. */
const CHANNEL = 'dirsync_pacer'

/**
 * The slots that all processes of a deployment share: `dirsync.pacer` has the next free one, `dirsync.learnt_rate` the learnt
 * rates. Everything goes over one dedicated connection, so that a lease never waits behind a job's statements and hold-offs
 * arrive on it. A connection that is lost, or does not answer, is replaced at the next request.
 */
export class PostgresSlots implements Slots {
  readonly #url: string
  readonly #log: Logger | undefined
  /** Identifies this process. */
  readonly #holder = randomUUID()
  #onHoldOff: (ms: number) => void = () => undefined
  #connection: Connection | null = null
  /** The latest statement; a connection runs one at a time. */
  #last: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(options: { url: string; logger?: Logger }) {
    this.#url = options.url
    this.#log = options.logger?.child({ component: 'pacer' })
  }

  async lease({ count, spacingMs, learntAs, budget }: LeaseRequest): Promise<Lease> {
    const operation = budget && `operation:${budget.operation}`
    const values = [this.#holder, count, spacingMs, operation, budget?.spacingMs, learntAs]
    const { rows } = await this.#query<LeaseRow>({ name: 'lease', text: LEASE, values })
    const { ratePerSecond, ceiling, loweredAtMs, changedAtMs, leasedAtChange, ...others } = onlyRow(rows)
    const { capPerSecond, capUntilMs, ...lease } = others
    const learnt = { ratePerSecond, ceiling, loweredAtMs, changedAtMs, leasedAtChange }
    const cap =
      capPerSecond === null || capUntilMs === null
        ? null
        : { ratePerSecond: capPerSecond, untilMs: capUntilMs }
    return { ...lease, learnt: lease.version === 0 ? null : learnt, cap }
  }

  /** Announced before it is stored, which may have to wait for processes that reserve. */
  async holdOff(ms: number, reason: string): Promise<void> {
    const whole = Math.ceil(ms)
    await Promise.all([
      this.#query({ text: `select pg_notify('${CHANNEL}', $1::text)`, values: [whole] }),
      this.#query({ text: HOLD_OFF, values: [whole, reason] }),
    ])
  }

  async learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean> {
    const { ratePerSecond, ceiling, loweredAtMs, changedAtMs, leasedAtChange } = learnt
    const values = [name, expectedVersion, ratePerSecond, ceiling, loweredAtMs, changedAtMs, leasedAtChange]
    const { rowCount } = await this.#query({ text: LEARN, values })
    return rowCount === 1
  }

  watch(onHoldOff: (ms: number) => void): void {
    this.#onHoldOff = onHoldOff
  }

  async close(): Promise<void> {
    this.#closed = true
    const connection = this.#connection
    // In pg, `connect` never settles on a client that is ended meanwhile: let it finish first.
    await connection?.ready.catch(() => undefined) // its caller is told
    this.#connection = null
    await connection?.client.end().catch(() => undefined) // it may be gone already
  }

  #query<Row extends pg.QueryResultRow = never>(statement: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    const answer = this.#last.then(() => this.#send<Row>(statement))
    this.#last = answer.catch(() => undefined) // its caller is told
    return answer
  }

  async #send<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    if (this.#closed) throw new Error('the slots are closed')
    this.#connection ??= this.#connect()
    const connection = this.#connection
    try {
      await connection.ready
      const withTimeout = { ...statement, query_timeout: STATEMENT_MS }
      return await connection.client.query<Row>(withTimeout)
    } catch (error) {
      this.#drop(connection, error as Error)
      throw error
    }
  }

  #connect(): Connection {
    const client = createClient(this.#url, 'pacer')
    const connect = async () => {
      await client.connect()
      const listen = { text: `listen ${CHANNEL}`, query_timeout: STATEMENT_MS }
      await client.query(listen)
    }
    const connection = { client, ready: connect() }
    client.on('notification', ({ payload }) => {
      const ms = Number(payload)
      if (Number.isFinite(ms) && ms >= 0) this.#onHoldOff(ms) // any user who may connect may notify
    })
    client.on('error', error => this.#drop(connection, error))
    client.on('end', () => this.#drop(connection))
    return connection
  }

  #drop(connection: Connection, error?: Error): void {
    if (this.#connection !== connection) return
    this.#connection = null
    this.#log?.debug({ error }, 'the connection dropped; the next question makes a new one')
    connection.client.end().catch(() => undefined) // the rest of it; a second failure says nothing new
  }
}

interface Connection {
  client: pg.Client
  /** Resolves once the client is connected and listens. */
  ready: Promise<void>
}

interface LeaseRow extends Omit<Lease, 'learnt' | 'cap'>, LearntRate {
  capPerSecond: number | null
  capUntilMs: number | null
}

const LEASE = `
  select start_ms as "startMs", count, now_ms as "nowMs", paused_until_ms as "heldUntilMs", shared,
         spacing_ms as "spacingMs", own_spacing_ms as "ownSpacingMs",
         cap_per_second as "capPerSecond", cap_until_ms as "capUntilMs", leased::float8,
         coalesce(l.version, 0)::float8 as version,
         l.rate_per_second as "ratePerSecond", l.ceiling,
         extract(epoch from l.lowered_at)::float8 * 1000 as "loweredAtMs",
         extract(epoch from l.changed_at)::float8 * 1000 as "changedAtMs",
         l.leased_at_change::float8 as "leasedAtChange"
  from (select) as one
  left join dirsync.learnt_rate l on l.gate = $6
  cross join lateral dirsync.lease_slots('platform', $1, $2, greatest($3, 1000 / l.rate_per_second), $4, $5)`

const HOLD_OFF = `
  insert into dirsync.pacer as p (gate, next_at, paused_until, pause_reason)
  values ('platform', clock_timestamp(), clock_timestamp() + $1::float8 * interval '1 ms', $2)
  on conflict (gate) do update set
    pause_reason = case when excluded.paused_until > p.paused_until is not false
                        then excluded.pause_reason else p.pause_reason end,
    paused_until = greatest(p.paused_until, excluded.paused_until)`

/**
 * Version 0 means that there is no row: one is inserted only where none is expected, and replaced only in the version expected.
 */
const LEARN = `
  insert into dirsync.learnt_rate as l
    (gate, version, rate_per_second, ceiling, lowered_at, changed_at, leased_at_change)
  select $1, 1, $3, $4, to_timestamp($5::float8 / 1000), to_timestamp($6::float8 / 1000), $7
  where $2 = 0 or exists (select from dirsync.learnt_rate where gate = $1)
  on conflict (gate) do update set
    version = l.version + 1, rate_per_second = excluded.rate_per_second, ceiling = excluded.ceiling,
    lowered_at = excluded.lowered_at, changed_at = excluded.changed_at,
    leased_at_change = excluded.leased_at_change
  where l.version = $2`
