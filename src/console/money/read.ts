import type { Pool } from '../../lib/database.ts'
import type { Entry, EntryState, Journal } from '../../money/journal.ts'
import { type Refund, refundJournal } from '../../money/refund.ts'
import { type TopUp, topUpJournal } from '../../money/top-up.ts'
import { inWords, type Said } from '../../texts/message.ts'

/** Refunds and top-ups for display: which are open, and their outcomes. */

/** Counting stops at this number. */
export const MOST_ENTRIES_COUNTED = 1000

/** Rows by state; `MOST_COUNTED` + 1 means more. */
export async function moneyCounts(
  db: Pool,
): Promise<{ refunds: Record<EntryState, number>; topUps: Record<EntryState, number> }> {
  const [refunds, topUps] = await Promise.all([
    refundJournal.counts(db, MOST_ENTRIES_COUNTED + 1),
    topUpJournal.counts(db, MOST_ENTRIES_COUNTED + 1),
  ])
  return { refunds, topUps }
}

export interface MoneyPage {
  state?: EntryState | undefined
  /** Sent at or after this moment. */
  since?: Date | undefined
  /** The number of the last row on the preceding page. */
  after?: string | undefined
  limit: number
}

/** Refunds, open outcomes first, then the latest. */
export function listRefunds(db: Pool, page: MoneyPage): Promise<{ rows: Refund[]; next: string | null }> {
  return pageOf(refundJournal, db, page, refund => refund.outer_refund_no)
}

/** Top-ups in the same order. */
export function listTopUps(db: Pool, page: MoneyPage): Promise<{ rows: TopUp[]; next: string | null }> {
  return pageOf(topUpJournal, db, page, topUp => topUp.external_code)
}

async function pageOf<Row extends Entry>(
  journal: Journal<Row>,
  db: Pool,
  page: MoneyPage,
  numberOf: (row: Row) => string,
): Promise<{ rows: Row[]; next: string | null }> {
  const found = await journal.page(db, { ...page, limit: page.limit + 1 })
  const rows = found.slice(0, page.limit)
  const last = rows.at(-1)
  return { rows, next: found.length > page.limit && last ? numberOf(last) : null }
}

/** An event in the history of a refund or a top-up. */
export interface MoneyEvent {
  at: Date
  event: 'sent' | 'settled' | 'notified' | 'resolved'
  /** Who did it; null for dirsync or the platform. */
  by: string | null
  /** The outcome, or a person's reason. */
  text: Said | null
}

/** What comes next: dirsync asks again, or a person has to find out. */
export type MoneyOutlook = { next: 'asks'; at: Date } | { next: 'person'; since: Date | null } | null

export interface MoneyStory<Row> {
  entry: Row
  /** Oldest first. */
  events: MoneyEvent[]
  outlook: MoneyOutlook
}

export async function readRefund(db: Pool, number: string): Promise<MoneyStory<Refund> | null> {
  const refund = await refundJournal.read(db, number)
  if (refund === null) return null
  const { notified_at, left_to_person_at, next_settle_at } = refund
  const notified: MoneyEvent[] =
    notified_at === null ? [] : [{ at: notified_at, event: 'notified', by: null, text: null }]
  return {
    entry: refund,
    events: inOrder([...eventsOf(refund), ...notified]),
    outlook:
      refund.state !== 'unknown'
        ? null
        : next_settle_at && !left_to_person_at
          ? { next: 'asks', at: next_settle_at }
          : { next: 'person', since: left_to_person_at },
  }
}

export async function readTopUp(db: Pool, number: string): Promise<MoneyStory<TopUp> | null> {
  const topUp = await topUpJournal.read(db, number)
  if (topUp === null) return null
  // The platform cannot be asked about a top-up.
  const outlook = topUp.state === 'unknown' ? ({ next: 'person', since: topUp.sent_at } as const) : null
  return { entry: topUp, events: inOrder(eventsOf(topUp)), outlook }
}

function eventsOf({
  sent_at,
  requested_by,
  settled_at,
  message,
  resolved_by,
  resolution,
}: Entry): MoneyEvent[] {
  const sent: MoneyEvent = { at: sent_at, event: 'sent', by: requested_by, text: null }
  if (settled_at === null) return [sent]
  return [
    sent,
    resolved_by === null
      ? { at: settled_at, event: 'settled', by: null, text: message }
      : {
          at: settled_at,
          event: 'resolved',
          by: resolved_by,
          text: resolution === null ? null : inWords(resolution),
        },
  ]
}

function inOrder(events: MoneyEvent[]): MoneyEvent[] {
  return events.toSorted((one, other) => one.at.getTime() - other.at.getTime())
}
