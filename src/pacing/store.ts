import type { QueryResult, QueryResultRow } from 'pg'
import type { Pool } from '../lib/database.ts'
import type { LearntRate } from './learning.ts'

/** Slots of a gate that a process wants. */
export interface LeaseRequest {
  gate: string
  /** The process that asks. */
  holder: string
  /** Slots to reserve; 0 only asks how things stand. */
  count: number
  /** Distance between two slots in milliseconds, longer where a lower rate was learnt; null: by the learnt rate. */
  spacingMs: number | null
  /** Name under which the gate's rate is learnt, as {@link learntName} makes it; by default the gate's own. */
  learntAs?: string
  /** A second gate that must have a slot at the same moment; `count` is then 1. */
  budget?: { gate: string; spacingMs: number }
}

/** Slots that were reserved, evenly spaced from `startMs` on, and how the gate stands. Times are the store's milliseconds since 1970. */
export interface PacerLease {
  /** The first slot; where the budget had none, the moment from which it has one. */
  startMs: number
  /** Slots that were reserved: as many as were asked for, or none. */
  count: number
  nowMs: number
  pausedUntilMs: number | null
  /** Whether another process reserved before this one. */
  shared: boolean
  /** Distance of the slots; 0 when it was to be learnt and nothing is known yet: then none are reserved. */
  spacingMs: number
  /** Slots ever reserved, these included. */
  leased: number
  learnt: LearntRate | null
  /** Version of what was learnt; 0 when nothing was. */
  version: number
}

/** Each rate that was set is learnt for itself: a changed setting begins anew. */
export function learntName(gate: string, setRate: number | 'auto'): string {
  return setRate === 'auto' ? gate : `${gate}@${setRate}`
}

/**
 * Where all processes of a deployment meet: one record per gate, whose next free slot they move. Slots are never in the
 * past and never within a pause. Every method but `watch` rejects when the store does not answer.
 */
export interface PacerStore {
  /** Reserves the next free slots, in one step whoever else asks. */
  lease(request: LeaseRequest): Promise<PacerLease>
  /** Reserves nothing within `ms` milliseconds from now. Never shortens a pause. */
  pause(gate: string, ms: number, reason: string): Promise<void>
  /** Replaces what was learnt under a name; false when somebody else was faster, that is when the version is another one. */
  learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean>
  /** Tells of every pause as soon as any process begins it, this one included, and after a gap of those that last. Once. */
  watch(onPause: (gate: string, ms: number) => void): void
  close(): Promise<void>
}

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
