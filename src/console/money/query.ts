import { z } from 'zod'
import { decodeCursor, everyPage, onePage, type Paged } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import {
  contradictionOf,
  ENTRY_STATES,
  type Entry,
  type EntryState,
  isOpen,
  TOP_UP_STATES,
} from '../../money/journal.ts'
import { adoptMoney, readHanging } from '../../money/open.ts'
import {
  checksOf,
  IS_OVERDUE,
  type ReadRefund,
  type RefundCheck,
  readMisfits,
  readUnmatched,
  readUnshown,
  refundJournal,
  waitsForPerson,
} from '../../money/refund.ts'
import { type TopUp, topUpJournal } from '../../money/top-up.ts'
import { CONTRADICTED, type ContradictedMoney } from '../../sync/health/health.ts'
import { isPaused } from '../../sync/outbox/halts.ts'
import { recentRestore } from '../../sync/runs/restored.ts'
import { SaidText } from '../../texts/failures.ts'
import { inWords } from '../../texts/message.ts'
import type { Ask } from '../ask.ts'
import { cursor, EXPORTED_AT_ONCE, listOf, pageSize, plainText } from '../endpoint.ts'
import { RANGE, rangeOf, SINCE } from '../range.ts'

/* Refunds and top-ups: which are open, and their outcomes. An entry is its row in the database. */

export const KINDS = ['refunds', 'topups'] as const
export type Kind = (typeof KINDS)[number]

const JOURNALS = { refunds: refundJournal, topups: topUpJournal }

/** The states in which an entry can be. */
export const STATES_OF: Record<Kind, readonly EntryState[]> = { refunds: ENTRY_STATES, topups: TOP_UP_STATES }

const State = z.enum(ENTRY_STATES)

const Row = z.object({
  enterprise_code: z.string(),
  state: State,
  requested_by: z.string(),
  sent_at: z.date(),
  settled_at: z.date().nullable().describe('When its outcome became known'),
  contradicted_at: z
    .date()
    .nullable()
    .describe(
      'When the platform said that it was carried out, although it was called rejected; of a rejected one: when more of its order was shown refunded than dirsync’s other refunds make, or the platform refused it, although it was called accepted',
    ),
  platform_code: z.int().nullable(),
  trace_id: z.string().nullable(),
  message: SaidText.nullable().describe('What is known about the outcome'),
  resolved_by: z.string().nullable(),
  resolution: z.string().nullable(),
})

const RefundRow = Row.extend({
  outer_refund_no: z.string(),
  outer_trade_no: z.string(),
  refund_amount: z.string(),
  refunded_before: z
    .string()
    .nullable()
    .describe('What the order record showed before; null: what was refunded is not known for certain'),
  notified_at: z.date().nullable(),
  trade_no: z.string().nullable(),
  settle_attempts: z.int().describe('How often the order record was asked about it'),
  next_settle_at: z.date().nullable(),
  left_to_person_at: z.date().nullable(),
  shown_at: z
    .date()
    .nullable()
    .describe('When the order record, or the mirror, was first seen to show this accepted refund'),
  asset_code: z
    .string()
    .nullable()
    .describe('What the order was paid with, as far as the mirror knows; null: it does not, or with several'),
  misfit_at: z
    .date()
    .nullable()
    .describe('Since when the platform has notified of it with another order or amount than was sent'),
})

const TopUpRow = Row.extend({
  external_code: z.string(),
  account_openid: z.string(),
  amount: z.string(),
  apply_charge_openid: z.string().nullable(),
  although_open: z.array(z.string()),
})

export type Line = z.infer<typeof RefundRow> | z.infer<typeof TopUpRow>

// The list

export const EntriesInput = z.object({
  state: State.optional(),
  number: plainText(200)
    .optional()
    .describe('The exact number of an entry, of us or the platform, or of its order or account'),
  ...RANGE,
  ...SINCE,
  cursor,
  limit: pageSize,
})
export const RefundsInput = EntriesInput.extend({
  unshown: z
    .enum(['true'])
    .optional()
    .describe('Only refunds that were accepted more than a day ago, and that nothing shows as completed'),
})
export const MoneyInput = RefundsInput.extend({ kind: z.enum(KINDS).default('refunds') })
export type MoneyInput = z.infer<typeof MoneyInput>
export const MoneyFilter = MoneyInput.omit({ cursor: true, limit: true })

const Counts = z
  .object(Object.fromEntries(ENTRY_STATES.map(state => [state, z.int()])) as Record<EntryState, z.ZodInt>)
  .describe('By state; 1001 stands for more than 1000')

export const MoneyList = z.object({
  counts: z.object({ refunds: Counts, topups: Counts }),
  contradicted: z
    .array(
      z.object({
        kind: z.enum(['refund', 'topup']),
        count: z.int(),
        latest: z.string(),
        of: z.string(),
        how: z.enum(['carried_out', 'perhaps', 'refused']),
      }),
    )
    .describe(
      'Recorded as not carried out and turned out within seven days to be carried out, or perhaps; the latest one, its order or account, and whether the platform said so (`carried_out`) or more of the order is shown refunded than dirsync’s other refunds make (`perhaps`); and those recorded as carried out that the platform then refused (`refused`)',
    ),
  restored_at: z
    .date()
    .nullable()
    .describe(
      'When the database was seen, within 30 days, to be restored: what was sent between the backup and then may be missing',
    ),
  misfits: z
    .object({ count: z.int(), latest: z.string().nullable() })
    .describe(
      'Refunds that the platform has notified of with another order or amount than was sent: those of open outcome, and for a day those that no person has settled since',
    ),
  unshown: z
    .object({
      count: z.int(),
      overdue: z.int(),
      latest: z.string().nullable(),
      of: z.string().nullable(),
      sent_at: z.date().nullable(),
    })
    .describe(
      'Refunds that the platform accepted, of which neither a notification, nor the order record, nor the mirror has shown that they are completed; those sent more than a day ago, the latest of these, its order, and when it was sent',
    ),
  hanging: z
    .object({ refunds: z.int(), topups: z.int() })
    .describe('Those whose sender has hung for more than five minutes: each may have been carried out'),
  unmatched: z
    .array(z.string())
    .describe(
      'Refunds of which the platform notified within a day and that dirsync does not know: up to ten numbers, the latest first',
    ),
  kind: z.enum(KINDS),
  ...listOf(z.union([RefundRow, TopUpRow])).shape,
})
export type MoneyList = z.infer<typeof MoneyList>

export async function readMoney(
  deps: Parameters<typeof adoptMoney>[0],
  ask: Pick<Ask, 'zone' | 't' | 'now'>,
  input: MoneyInput,
): Promise<MoneyList> {
  const { pool } = deps
  // Their senders may have died where no worker runs that would notice.
  await adoptMoney(deps)
  const [counts, { rows: contradicted }, restored_at, misfits, unshown, unmatched, hanging, found] =
    await Promise.all([
      moneyCounts(pool),
      pool.query<ContradictedMoney>(CONTRADICTED),
      recentRestore(pool),
      readMisfits(pool),
      readUnshown(pool),
      readUnmatched(pool),
      readHanging(pool),
      entriesPage(pool, ask, input),
    ])
  return {
    counts,
    contradicted,
    restored_at,
    misfits,
    unshown,
    unmatched,
    hanging,
    kind: input.kind,
    ...found,
  }
}

async function entriesPage(
  db: Pool,
  ask: Pick<Ask, 'zone' | 't' | 'now'>,
  { kind, state, number, unshown, limit, cursor, ...range }: MoneyInput,
): Promise<Paged<Line>> {
  const only = unshown && (kind === 'refunds' ? IS_OVERDUE : 'false')
  const { from, to } = rangeOf(ask, range)
  const position = decodeCursor(z.tuple([z.string(), z.boolean()]), cursor)
  const after = position ? { number: position[0], wasOpen: position[1] } : undefined
  const found = await JOURNALS[kind].page(db, { state, number, only, from, to, after, limit: limit + 1 })
  return onePage<Line>(found, limit, row => [entryNumber(row), isOpen(row)])
}

/** Every matching entry, once. */
export async function* everyEntry(
  deps: Parameters<typeof adoptMoney>[0],
  ask: Ask,
  filter: z.infer<typeof MoneyFilter>,
): AsyncGenerator<Line> {
  await adoptMoney(deps)
  const open = new Set<string>()
  const page = (after: string | null) =>
    entriesPage(deps.pool, ask, { ...filter, cursor: after ?? undefined, limit: EXPORTED_AT_ONCE })
  for await (const entry of everyPage(page)) {
    // One that is settled meanwhile comes again, among the closed.
    if (open.has(entryNumber(entry))) continue
    if (isOpen(entry)) open.add(entryNumber(entry))
    yield entry
  }
}

/** The fields of an entry, by kind. */
export const FIELDS_OF: Record<Kind, readonly string[]> = {
  refunds: RefundRow.keyof().options,
  topups: TopUpRow.keyof().options,
}

export function entryNumber(entry: Line): string {
  return 'outer_refund_no' in entry ? entry.outer_refund_no : entry.external_code
}

/** Counting stops at this number. */
export const MOST_ENTRIES_COUNTED = 1000

/** Rows by state; `MOST_ENTRIES_COUNTED` + 1 means more. */
export async function moneyCounts(db: Pool): Promise<Record<Kind, Record<EntryState, number>>> {
  const [refunds, topups] = await Promise.all([
    refundJournal.counts(db, MOST_ENTRIES_COUNTED + 1),
    topUpJournal.counts(db, MOST_ENTRIES_COUNTED + 1),
  ])
  return { refunds, topups }
}

// One entry

const Event = z.object({
  at: z.date(),
  event: z.enum([
    'sent',
    'call_failed',
    'checked',
    'settled',
    'called_refused',
    'after_all',
    'refused_after_all',
    'shown_otherwise',
    'shown',
    'notified',
    'misfit',
    'resolved',
  ]),
  by: z.string().nullable().describe('null: dirsync or the platform'),
  text: SaidText.nullable().describe('The outcome, what a check found, or a person’s reason'),
  times: z.int().describe('How many checks in a row found the same; 1 for all else'),
  last_at: z.date().describe('When the last of them was'),
})
type Event = z.infer<typeof Event>

const Told = z.object({
  events: z.array(Event).describe('Oldest first'),
  outlook: z
    .union([
      z.object({ next: z.literal('asks'), at: z.date() }),
      z.object({ next: z.literal('held') }),
      z.object({ next: z.literal('person'), since: z.date().nullable() }),
    ])
    .nullable()
    .describe(
      'For an unknown outcome: whether dirsync asks again, when calls are no longer paused (`held`), or a person has to find out',
    ),
})

export const RefundDetails = RefundRow.extend({
  ...Told.shape,
  is_mirrored: z.boolean().describe('Whether the mirror has its payment order'),
  is_order_mirrored: z.boolean().describe('Whether the mirror has any payment order of its order'),
  earlier_checks: z.int().describe('Checks of the order record that were before those among the events'),
})
export type RefundDetails = z.infer<typeof RefundDetails>

export const TopUpDetails = TopUpRow.extend(Told.shape)
export type TopUpDetails = z.infer<typeof TopUpDetails>

export async function refundDetails(db: Pool, refund: ReadRefund): Promise<RefundDetails> {
  const {
    state,
    settled_at,
    contradicted_at,
    shown_at,
    notified_at,
    misfit_at,
    left_to_person_at,
    next_settle_at,
  } = refund
  const events = eventsOf(refund)
  const [checks, isHeld, mirrored] = await Promise.all([
    checksOf(db, refund.outer_refund_no),
    isPaused(db),
    db.query<Pick<RefundDetails, 'is_mirrored' | 'is_order_mirrored'>>(
      `select exists (select from dirsync.payment_order where trade_no collate "C" = $1) as is_mirrored,
              exists (select from dirsync.payment_order where out_trade_no = $2) as is_order_mirrored`,
      [refund.trade_no, refund.outer_trade_no],
    ),
  ])
  const found = checks.filter(check => !isFailure(check))
  const shown = found.reduce((sum, { times }) => sum + times, 0)
  return {
    ...refund,
    is_mirrored: mirrored.rows[0]?.is_mirrored === true,
    is_order_mirrored: mirrored.rows[0]?.is_order_mirrored === true,
    // More may have been made since it was read.
    earlier_checks: Math.max(0, refund.settle_attempts - shown),
    events: inOrder([
      ...events.slice(0, 1),
      ...checks.map(({ first_at, last_at, times, message }) => ({
        ...happened(isFailure({ message }) ? 'call_failed' : 'checked', first_at, null, message),
        ...{ last_at, times },
      })),
      // The check that told the outcome comes first. Settled by its notification, a refund has no other, but an old doubt.
      ...(settled_at?.getTime() === notified_at?.getTime() ? [] : events.slice(1)),
      ...(contradicted_at && contradictionOf(refund) === 'perhaps'
        ? [happened('shown_otherwise', contradicted_at)]
        : []),
      // A verdict of the order record is its own sign.
      ...(shown_at && shown_at.getTime() !== settled_at?.getTime() ? [happened('shown', shown_at)] : []),
      ...(notified_at ? [happened('notified', notified_at)] : []),
      ...(misfit_at ? [happened('misfit', misfit_at)] : []),
    ]),
    outlook:
      state !== 'unknown'
        ? null
        : next_settle_at && !waitsForPerson(refund)
          ? isHeld
            ? { next: 'held' }
            : { next: 'asks', at: next_settle_at }
          : { next: 'person', since: left_to_person_at },
  }
}

/** Whether it is what the call itself failed with, which is kept beside the checks. */
function isFailure({ message }: Pick<RefundCheck, 'message'>): boolean {
  return 'key' in message && message.key === 'said.when_sent'
}

export function topUpDetails(topUp: TopUp): TopUpDetails {
  // The platform cannot be asked about a top-up.
  const outlook = topUp.state === 'unknown' ? ({ next: 'person', since: topUp.sent_at } as const) : null
  return { ...topUp, events: inOrder(eventsOf(topUp)), outlook }
}

function eventsOf(entry: Entry): Event[] {
  const { sent_at, requested_by, settled_at, contradicted_at, message, resolved_by, resolution } = entry
  const sent = happened('sent', sent_at, requested_by)
  if (settled_at === null) return [sent]
  if (resolved_by !== null)
    return [
      sent,
      happened('resolved', settled_at, resolved_by, resolution === null ? null : inWords(resolution)),
    ]
  const event =
    contradicted_at === null
      ? 'settled'
      : settled_at < contradicted_at
        ? 'called_refused'
        : contradictionOf(entry) === 'refused'
          ? 'refused_after_all'
          : 'after_all'
  return [sent, happened(event, settled_at, null, message)]
}

function happened(
  event: Event['event'],
  at: Date,
  by: string | null = null,
  text: Event['text'] = null,
): Event {
  return { at, event, by, text, times: 1, last_at: at }
}

function inOrder(events: Event[]): Event[] {
  return events.toSorted((one, other) => one.at.getTime() - other.at.getTime())
}
