import { type Lock, tryLockTransaction } from '../lib/advisory-lock.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import { LOOK_MS, onlyRow, placeholders, transaction } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { PlatformClient } from '../platform/client.ts'
import type { ContradictedMoney } from '../sync/health/health.ts'
import { type Asker, actAs, noteCommand } from '../sync/runs/commands.ts'
import { CodedError, type MessageKey, message, type Said, toStore } from '../texts/message.ts'

/**
 * The journal of what moves money: one table for refunds, one for top-ups, with the same life cycle. A row is written before
 * its call, and its number is never sent again:
 *
 *     requested → accepted, rejected   the platform answered
 *     requested → unknown              no answer came, or its sender died
 *     unknown   → accepted, rejected   the order record shows it (refunds alone), or a person says so
 *     accepted  → rejected             nothing shows it for a day, and a person says so (refunds alone)
 *     any state → notified             the platform's notification (refunds alone)
 *
 * A late answer of the platform overrides any earlier state, but nothing overrides its notification.
 */

/** The columns that both tables share. */
export interface Entry {
  enterprise_code: string
  state: EntryState
  requested_by: string
  sent_at: Date
  settled_at: Date | null
  /** When the outcome that was recorded was contradicted: see {@link contradictionOf}. */
  contradicted_at: Date | null
  platform_code: number | null
  trace_id: string | null
  message: Said | null
  resolved_by: string | null
  resolution: string | null
}

export const TOP_UP_STATES = ['requested', 'unknown', 'accepted', 'rejected'] as const
export const ENTRY_STATES = [...TOP_UP_STATES, 'notified'] as const
export type EntryState = (typeof ENTRY_STATES)[number]

/** SQL: the outcome is open. In the words of the indexes. */
export const IS_OPEN = `state in ('requested', 'unknown')`

/** Longest that sending takes, from writing a row down to storing the answer, with much to spare. */
const SENT_AFTER_MS = 5 * 60_000

/** SQL: it is still being sent after so long that its sender must hang: it holds the lock, and no worker finds out the outcome. */
export const HANGS = `(state = 'requested' and sent_at < now() - interval '${SENT_AFTER_MS} milliseconds')`

/** As HANGS. */
export function hangs({ state, sent_at }: Pick<Entry, 'state' | 'sent_at'>, now: Date): boolean {
  return state === 'requested' && now.getTime() - sent_at.getTime() > SENT_AFTER_MS
}

/** Whether the outcome is open. */
export function isOpen({ state }: Pick<Entry, 'state'>): boolean {
  return state === 'unknown' || state === 'requested'
}

/**
 * How its recorded outcome was contradicted, if it was. As in {@link CONTRADICTED}.
 *
 * - `carried_out`: it was called rejected, then the platform said that it was carried out
 * - `perhaps`: it is called rejected, and more of its order was shown refunded since than dirsync's other refunds make
 * - `refused`: it was called accepted, then the platform answered that it refused it
 */
export function contradictionOf({
  state,
  settled_at,
  contradicted_at,
}: Pick<Entry, 'state' | 'settled_at' | 'contradicted_at'>): ContradictedMoney['how'] | null {
  if (contradicted_at === null) return null
  if (state !== 'rejected') return 'carried_out'
  // An answer settles and contradicts in one statement.
  return settled_at && settled_at < contradicted_at ? 'perhaps' : 'refused'
}

/** How a call ended. */
export type Answer =
  | { state: 'accepted'; receipt: string }
  | { state: 'rejected'; platformCode: number; message: Said | null; traceId: string | null }
  | { state: 'unknown'; platformCode: number | null; message: Said; traceId: string | null }

/** Why what the platform has accepted may still be carried out. */
export type MayStillCome = 'said.refund_under_way' | 'said.refund_not_looked_for'

/** What differs between the two tables. */
interface Kind<Row> {
  table: 'refund' | 'topup'
  /** What people call a row. */
  noun: 'refund' | 'top-up'
  /** The column of our own number. */
  number: keyof Row & string
  /** The column of the order or account that it is for. */
  target: keyof Row & string
  /** The column of the platform's number. */
  receipt: keyof Row & string
  /** The platform can be asked for the outcome; the row says when to ask next. */
  canBeAsked: boolean
  /** SQL: a person may say what became of it. */
  isForPerson: string
  /** SQL: why a row `t` may still be carried out, so that no person may call it rejected yet; or null. */
  mayStillCome: string
  /** SQL: further columns of a row `t` that is shown. */
  also: string
  /** Key of the lock that its sender holds. */
  lockOf(row: Row): Lock
}

/** SQL: a list of this message alone, of none where it is null. */
const listOf = (message: string) =>
  `(case when ${message} is null then '[]' else jsonb_build_array(${message}) end)`

export class Journal<Row extends Entry> {
  readonly noun: string
  readonly #kind: Kind<Row>
  readonly #table: string
  readonly #askSoon: string
  readonly #askNoMore: string

  constructor(kind: Kind<Row>) {
    this.noun = kind.noun
    this.#kind = kind
    this.#table = `dirsync.${kind.table}`
    // The amount refunded before tells whether this refund was carried out. Without it, asking is useless.
    this.#askSoon = kind.canBeAsked
      ? ', next_settle_at = case when refunded_before is not null then now() end'
      : ''
    this.#askNoMore = kind.canBeAsked ? ', next_settle_at = null' : ''
  }

  /** The row of this number; null when dirsync never sent it. */
  async read(db: Pool, number: string): Promise<Row | null> {
    const { rows } = await db.query<Row>(
      `select t.* ${this.#kind.also} from ${this.#table} t where ${this.#kind.number} = $1`,
      [number],
    )
    return rows[0] ?? null
  }

  /** Says that dirsync never sent this number. */
  noSuch(number: string): Said {
    return message(`said.no_such_${this.#kind.table}`, { number })
  }

  /**
   * A page of rows: open outcomes first, then the latest first.
   * @param page.number only the one of this number, of us or the platform, and those of the order or account of this number
   * @param page.only SQL: only such rows
   * @param page.from only those sent at or after this time; `to`: before this one
   * @param page.after the last row of the page before, and whether its outcome was open then
   */
  async page(
    db: Pool,
    page: {
      state?: EntryState | undefined
      number?: string | undefined
      only?: string | undefined
      from?: Date | undefined
      to?: Date | undefined
      after?: { number: string; wasOpen: boolean } | undefined
      limit: number
    },
  ): Promise<Row[]> {
    const { state, from, to, after, limit } = page
    const { number, target, receipt } = this.#kind
    const { values, place } = placeholders(limit)
    // With a state given, all rows are of one kind, which has an index of its own.
    const sent = ['t.sent_at', `t.${number}`]
    const order = state === undefined ? [`(t.${IS_OPEN})`, ...sent] : sent
    const rank = `(${order.join(', ')})`
    const conditions = [page.only ?? 'true']
    if (state !== undefined) conditions.push(`t.state = ${place(state)}`)
    if (page.number !== undefined) {
      const wanted = place(page.number)
      conditions.push(`(${[number, target, receipt].map(column => `t.${column} = ${wanted}`).join(' or ')})`)
    }
    if (from !== undefined) {
      conditions.push(`t.sent_at >= ${place(from)}`)
      // The index begins with whether the outcome is open: the closed part has to stop at that time, too.
      if (state === undefined) conditions.push(`${rank} >= (false, ${place(from)}, '')`)
    }
    if (to !== undefined) conditions.push(`t.sent_at < ${place(to)}`)
    if (after !== undefined) {
      const position = state === undefined ? [`${place(after.wasOpen)}::boolean`, ...sent] : sent
      conditions.push(
        `${rank} < (select ${position.join(', ')} from ${this.#table} t where t.${number} = ${place(after.number)})`,
      )
    }
    const { rows } = await db.query<Row>(
      `select t.* ${this.#kind.also} from ${this.#table} t where ${conditions.join(' and ')}
       order by ${order.map(term => `${term} desc`).join(', ')} limit $1`,
      values,
    )
    return rows
  }

  /** The number of rows in each state, counted up to a limit so that the cost stays the same however many there are. */
  async counts(db: Pool, most: number): Promise<Record<EntryState, number>> {
    // Each state is a literal in the statement: only then does PostgreSQL know which are rare, and uses an index for them.
    const counted = ENTRY_STATES.map(
      state =>
        `'${state}', (select count(*) from (select from ${this.#table} where state = '${state}' limit $1) few)`,
    )
    const { rows } = await db.query<{ counts: Record<EntryState, number> }>(
      `select jsonb_build_object(${counted.join(', ')}) as counts`,
      [most],
    )
    return onlyRow(rows).counts
  }

  /** Deletes a row that was written but not sent: its number stays free. False when there is none. */
  async forget(db: ClientBase | Pool, number: string): Promise<boolean> {
    const { rowCount } = await db.query(
      `delete from ${this.#table} where ${this.#kind.number} = $1 and ${IS_OPEN}`,
      [number],
    )
    return rowCount === 1
  }

  /** Stores how the call ended. */
  async storeAnswer(db: Pool, number: string, answer: Answer): Promise<void> {
    const { number: numberColumn, receipt } = this.#kind
    if (answer.state === 'unknown') {
      await db.query(
        this.#keepFailure(`update ${this.#table}
         set state = 'unknown', platform_code = $2, message = $3, trace_id = $4 ${this.#askSoon}
         -- Unknown already: its sender seemed to be dead, or it was written down again.
         where ${numberColumn} = $1 and ${IS_OPEN}
         returning ${numberColumn}, message`),
        [number, answer.platformCode, toStore(answer.message), answer.traceId],
      )
      return
    }
    const rejected = answer.state === 'rejected' ? answer : null
    await db.query(
      `update ${this.#table}
       set state = case when state = 'notified' then state else $2 end,
           contradicted_at = case when (state, $2) in (('rejected', 'accepted'), ('accepted', 'rejected')) then now()
                                  else contradicted_at end,
           ${receipt} = coalesce(nullif($3, ''), ${receipt}),
           platform_code = $4, trace_id = $6,
           -- A person who has said otherwise has not decided it. What they said is kept.
           message = case when state in ('notified', $2) or resolved_by is null then $5::jsonb
                          else ${listOf('$5::jsonb')} || jsonb_build_object('key', $7::text, 'values', jsonb_build_object(
                                    'name', resolved_by, 'money_state', state, 'reason', resolution)) end,
           settled_at = case when state in ('notified', $2) then settled_at else now() end,
           resolved_by = case when state in ('notified', $2) then resolved_by end,
           resolution = case when state in ('notified', $2) then resolution end ${this.#askNoMore}
       where ${numberColumn} = $1`,
      [
        number,
        answer.state,
        answer.state === 'accepted' ? answer.receipt : null,
        rejected?.platformCode ?? null,
        toStore(rejected?.message),
        rejected?.traceId ?? null,
        'said.recorded_before' satisfies MessageKey,
      ],
    )
  }

  /** SQL: the same update, and what the call failed with is kept where checks put what they find in its place. */
  #keepFailure(update: string): string {
    if (!this.#kind.canBeAsked) return update
    const key = 'said.when_sent' satisfies MessageKey
    return `with failed as (${update})
      insert into dirsync.refund_check (outer_refund_no, message)
      select outer_refund_no, jsonb_build_object('key', '${key}', 'values', jsonb_build_object('what', message))
      from failed`
  }

  /** Marks rows whose sender died before it stored the answer as unknown. Returns their numbers. */
  async adopt(pool: Pool): Promise<string[]> {
    const { number: numberColumn, lockOf } = this.#kind
    const { rows } = await pool.query<Row>({
      text: `select * from ${this.#table} where state = 'requested'`,
      query_timeout: LOOK_MS,
    })
    const adopted: string[] = []
    for (const row of rows) {
      const number = String(row[numberColumn])
      const isAdopted = await transaction(pool, async client => {
        // Freed when the transaction ends.
        if (!(await tryLockTransaction(client, lockOf(row)))) return false
        const { rowCount } = await client.query(
          `update ${this.#table}
           set state = 'unknown', message = $2 ${this.#askSoon}
           -- One that is locked is left for later: alerts wait for this.
           where ${numberColumn} = (select ${numberColumn} from ${this.#table}
                                    where ${numberColumn} = $1 and state = 'requested' for update skip locked)`,
          [number, toStore(message('said.sender_ended'))],
        )
        return rowCount === 1
      })
      if (isAdopted) adopted.push(number)
    }
    return adopted
  }

  /**
   * Stores a person's word on a row whose outcome is unknown, or that is called accepted and that nothing shows. It is logged
   * before it takes effect.
   * @throws JournalError when there is no such row, its outcome is known or still awaited, or it may still be carried out
   */
  async resolve(
    pool: Pool,
    number: string,
    state: 'accepted' | 'rejected',
    reason: string,
    asker: Asker,
  ): Promise<Row> {
    const { table, number: numberColumn, also, isForPerson, mayStillCome } = this.#kind
    await this.adopt(pool)
    const resolved = await transaction(pool, async client => {
      await actAs(client, asker)
      const { rows: found } = await client.query<{ why: MayStillCome | null }>(
        `select ${mayStillCome} as why from ${this.#table} t where ${numberColumn} = $1 and ${isForPerson} for update`,
        [number],
      )
      const [entry] = found
      if (entry === undefined) return undefined
      if (state === 'rejected' && entry.why !== null)
        throw new JournalError('MAY_STILL_COME', message(entry.why, { number }))
      await noteCommand(client, `resolve_${table}`, { [numberColumn]: number, state, reason })
      const { rows } = await client.query<Row>(
        `update ${this.#table} t
         set state = $2, settled_at = now(), contradicted_at = case when 'rejected' in (state, $2) then null else contradicted_at end,
             resolved_by = dirsync.actor(), resolution = $3,
             message = case when state = 'accepted' then ${listOf('message')} || jsonb_build_object(
                         'key', $4::text, 'values', jsonb_build_object('when', dirsync.moment(settled_at))) else message end
             ${this.#askNoMore}
         where ${numberColumn} = $1
         returning t.* ${also}`,
        [number, state, reason, 'said.accepted_before' satisfies MessageKey],
      )
      return rows[0]
    })
    if (resolved) return resolved
    const row = await this.read(pool, number)
    if (row === null) throw new JournalError('NOT_FOUND', this.noSuch(number))
    throw new JournalError(
      'NOT_UNKNOWN',
      row.state === 'requested'
        ? message(`said.${table}_is_sent`, { number })
        : message(`said.${table}_is_known`, { number, money_state: row.state }),
    )
  }
}

/** What sending needs. */
export interface SendDeps {
  pool: Pool
  client: PlatformClient
  logger: Logger
}

/**
 * The journal refuses a request; nothing was sent.
 *
 * - `ALREADY_SENT`: the number was used
 * - `ORDER_BUSY`: another refund of the order is open
 * - `ORDER_CHANGED`: the order was refunded since a person agreed to the refund
 * - `ORDER_EXCEEDED`: the refund is more than is left of the order
 * - `ACCOUNT_BUSY`: another top-up of the account is open
 * - `ACCOUNT_CHANGED`: another top-up of the account was accepted since a person agreed to the top-up
 * - `NAMED_NOT_OPEN`: a top-up that may stay open beside this one is not an open one of the account
 * - `NOT_FOUND`: there is no such number
 * - `NOT_UNKNOWN`: nothing is left for a person to decide
 * - `MAY_STILL_COME`: the platform has accepted it, and may still carry it out
 */
export class JournalError extends CodedError<
  | 'ALREADY_SENT'
  | 'ORDER_BUSY'
  | 'ORDER_CHANGED'
  | 'ORDER_EXCEEDED'
  | 'ACCOUNT_BUSY'
  | 'ACCOUNT_CHANGED'
  | 'NAMED_NOT_OPEN'
  | 'NOT_FOUND'
  | 'NOT_UNKNOWN'
  | 'MAY_STILL_COME'
> {}
