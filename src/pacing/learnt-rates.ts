import type { Pool, QueryResult, QueryResultRow } from 'pg'
import type { LearntRate } from '../core/rate-learning.ts'

/** A row of `dirsync.learnt_rate` as JSON has it: times as texts. */
interface LearntRateRow {
  rate_per_second: number
  ceiling: number | null
  lowered_ms: number | null
  changed_ms: number
  leased_at_change: number
}

/** A statement without an answer by then is given up, and its connection. */
const STATEMENT_MS = 2000

/** What was learnt, in PostgreSQL (`dirsync.learnt_rate`), where it outlives restarts and a wiped Redis. */
export class LearntRates {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async find(gate: string): Promise<LearntRate | null> {
    const { rows } = await this.#query<LearntRateRow>(
      `select rate_per_second, ceiling, extract(epoch from lowered_at)::float8 * 1000 as lowered_ms,
              extract(epoch from changed_at)::float8 * 1000 as changed_ms, leased_at_change::float8
       from dirsync.learnt_rate where gate = $1`,
      [gate],
    )
    const row = rows[0]
    return row === undefined
      ? null
      : {
          ratePerSecond: row.rate_per_second,
          ceiling: row.ceiling,
          loweredAtMs: row.lowered_ms,
          changedAtMs: row.changed_ms,
          leasedAtChange: row.leased_at_change,
        }
  }

  /** Replaces what is kept if it has version `expected`, 0 for nothing; false where it has another. */
  async replace(gate: string, expected: number, learnt: LearntRate): Promise<boolean> {
    const { rowCount } = await this.#query(
      `insert into dirsync.learnt_rate as l
         (gate, version, rate_per_second, ceiling, lowered_at, changed_at, leased_at_change)
       select $1, 1, $3, $4, to_timestamp($5::float8 / 1000), to_timestamp($6::float8 / 1000), $7
       where $2 = 0 or exists (select from dirsync.learnt_rate where gate = $1)
       on conflict (gate) do update set
         version = l.version + 1, rate_per_second = excluded.rate_per_second, ceiling = excluded.ceiling,
         lowered_at = excluded.lowered_at, changed_at = excluded.changed_at, leased_at_change = excluded.leased_at_change
       where l.version = $2`,
      [gate, expected, ...valuesOf(learnt)],
    )
    return rowCount === 1
  }

  /** Replaces what is kept unless it is newer. */
  async keep(gate: string, learnt: LearntRate): Promise<void> {
    await this.#query(
      `insert into dirsync.learnt_rate as l
         (gate, version, rate_per_second, ceiling, lowered_at, changed_at, leased_at_change)
       values ($1, 1, $2, $3, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000), $6)
       on conflict (gate) do update set
         version = l.version + 1, rate_per_second = excluded.rate_per_second, ceiling = excluded.ceiling,
         lowered_at = excluded.lowered_at, changed_at = excluded.changed_at, leased_at_change = excluded.leased_at_change
       where l.changed_at <= excluded.changed_at`,
      [gate, ...valuesOf(learnt)],
    )
  }

  #query<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<QueryResult<Row>> {
    const statement = { text, values, query_timeout: STATEMENT_MS }
    return this.#pool.query<Row>(statement)
  }
}

function valuesOf(learnt: LearntRate): (number | null)[] {
  const { ratePerSecond, ceiling, loweredAtMs, changedAtMs, leasedAtChange } = learnt
  return [ratePerSecond, ceiling, loweredAtMs, changedAtMs, leasedAtChange]
}
