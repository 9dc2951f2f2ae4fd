import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { ENTRY_STATES } from '../../money/journal.ts'
import { type Refund, refundJournal } from '../../money/refund.ts'
import { type TopUp, topUpJournal } from '../../money/top-up.ts'
import { SaidText } from '../../texts/failures.ts'
import type { Ask } from '../ask.ts'
import { cursor, pageSize, plainText } from '../endpoint.ts'
import { givenMoment } from '../moment.ts'
import { listRefunds, listTopUps, moneyCounts } from './read.ts'

export const KINDS = ['refunds', 'topups'] as const
export type Kind = (typeof KINDS)[number]

const State = z.enum(ENTRY_STATES)

export const MoneyInput = z.object({
  kind: z.enum(KINDS).default('refunds'),
  state: State.optional(),
  number: plainText(200).optional().describe('The exact number of an entry'),
  since: z.string().max(40).optional().describe('Sent at or after this moment (ISO 8601)'),
  cursor,
  limit: pageSize,
})
export type MoneyInput = z.infer<typeof MoneyInput>

const Counts = z.record(State, z.number()).describe('By state; 1001 stands for more than 1000')

const Line = z.object({
  number: z.string(),
  enterprise_code: z.string(),
  order: z.string().nullable().describe('Of a refund: the external trade number of its order'),
  account: z.string().nullable().describe('Of a top-up: the account that the points are for'),
  amount: z.string(),
  state: State,
  requested_by: z.string(),
  sent_at: z.date(),
  settled_at: z.date().nullable(),
  for_person: z.boolean().describe('The outcome is unknown, and the platform cannot be asked for it'),
})
export type Line = z.infer<typeof Line>

export const MoneyList = z.object({
  counts: z.object({ refunds: Counts, topups: Counts }),
  kind: z.enum(KINDS),
  entries: z.array(Line).describe('Entries with an open outcome first, then the latest'),
  next: z.string().nullable(),
})
export type MoneyList = z.infer<typeof MoneyList>

export async function readMoney(pool: Pool, ask: Ask, input: MoneyInput): Promise<MoneyList> {
  const { kind, state, limit } = input
  const since = givenMoment(ask, 'since', input.since)
  const [after] = decodeCursor(z.tuple([z.string()]), input.cursor) ?? []
  const [counts, { rows, next }] = await Promise.all([
    moneyCounts(pool),
    input.number !== undefined
      ? oneOf(pool, kind, input.number, state, since)
      : kind === 'refunds'
        ? mapped(listRefunds(pool, { state, since, after, limit }), refundLine)
        : mapped(listTopUps(pool, { state, since, after, limit }), topUpLine),
  ])
  return {
    counts: { refunds: counts.refunds, topups: counts.topUps },
    kind,
    entries: rows,
    next: next === null ? null : encodeCursor([next]),
  }
}

async function mapped<Row>(page: Promise<{ rows: Row[]; next: string | null }>, line: (row: Row) => Line) {
  const { rows, next } = await page
  return { rows: rows.map(line), next }
}

async function oneOf(
  pool: Pool,
  kind: Kind,
  number: string,
  state: Line['state'] | undefined,
  since: Date | undefined,
): Promise<{ rows: Line[]; next: null }> {
  const found =
    kind === 'refunds'
      ? await refundJournal.read(pool, number).then(row => row && refundLine(row))
      : await topUpJournal.read(pool, number).then(row => row && topUpLine(row))
  const matches =
    found !== null && (state === undefined || found.state === state) && (!since || found.sent_at >= since)
  return { rows: matches ? [found] : [], next: null }
}

function refundLine(refund: Refund): Line {
  const { state, next_settle_at, left_to_person_at } = refund
  return {
    number: refund.outer_refund_no,
    enterprise_code: refund.enterprise_code,
    order: refund.outer_trade_no,
    account: null,
    amount: refund.refund_amount,
    state,
    requested_by: refund.requested_by,
    sent_at: refund.sent_at,
    settled_at: refund.settled_at,
    for_person: state === 'unknown' && (next_settle_at === null || left_to_person_at !== null),
  }
}

function topUpLine(topUp: TopUp): Line {
  const { state } = topUp
  return {
    number: topUp.external_code,
    enterprise_code: topUp.enterprise_code,
    order: null,
    account: topUp.account_openid,
    amount: topUp.amount,
    state,
    requested_by: topUp.requested_by,
    sent_at: topUp.sent_at,
    settled_at: topUp.settled_at,
    for_person: state === 'unknown',
  }
}

// One entry

const Entry = z.object({
  enterprise_code: z.string(),
  state: State,
  requested_by: z.string(),
  sent_at: z.date(),
  settled_at: z.date().nullable().describe('When its outcome became known'),
  platform_code: z.number().nullable(),
  trace_id: z.string().nullable(),
  message: SaidText.nullable().describe('What is known about the outcome'),
  resolved_by: z.string().nullable(),
  resolution: z.string().nullable(),
})
const Told = z.object({
  events: z
    .array(
      z.object({
        at: z.date(),
        event: z.enum(['sent', 'settled', 'notified', 'resolved']),
        by: z.string().nullable(),
        text: SaidText.nullable(),
      }),
    )
    .describe('Oldest first'),
  outlook: z
    .union([
      z.object({ next: z.literal('asks'), at: z.date() }),
      z.object({ next: z.literal('person'), since: z.date().nullable() }),
    ])
    .nullable()
    .describe('For an unknown outcome: whether dirsync asks again, or a person has to find out'),
})

export const RefundDetails = Told.extend({
  entry: Entry.extend({
    outer_refund_no: z.string(),
    outer_trade_no: z.string(),
    refund_amount: z.string(),
    refunded_before: z
      .string()
      .nullable()
      .describe('What the order record showed before; null: it did not say'),
    notified_at: z.date().nullable(),
    trade_no: z.string().nullable(),
    settle_attempts: z.number().describe('How often the order record was asked about it'),
    next_settle_at: z.date().nullable(),
    left_to_person_at: z.date().nullable(),
  }),
})
export type RefundDetails = z.infer<typeof RefundDetails>

export const TopUpDetails = Told.extend({
  entry: Entry.extend({
    external_code: z.string(),
    account_openid: z.string(),
    amount: z.string(),
    apply_charge_openid: z.string().nullable(),
    although_open: z.array(z.string()),
  }),
})
export type TopUpDetails = z.infer<typeof TopUpDetails>
