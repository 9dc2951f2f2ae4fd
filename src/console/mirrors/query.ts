import { z } from 'zod'
import type { Paged } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { MIRRORS, type Mirror } from '../../sync/runs/mirror-kind.ts'
import { ACCOUNT_SINCE, ofKind } from '../../sync/runs/run.ts'
import { SaidText } from '../../texts/failures.ts'
import type { Ask } from '../ask.ts'
import { listOf, type PageInput, plainText } from '../endpoint.ts'
import { platformDayOf } from '../moment.ts'
import {
  LimitAccountRow,
  listLimitAccounts,
  listPaymentOrders,
  listTaxpayers,
  PaymentOrderRow,
  TaxpayerRow,
} from './read.ts'

const Run = z.object({
  id: z.int(),
  state: z.string(),
  requested_at: z.date(),
  finished_at: z.date().nullable(),
  message: SaidText.nullable(),
  parts: z.int().nullable().describe('How many parts it has to read'),
  left: z.int().describe('How many of them are still to be read'),
  rows_read: z.int(),
  rows_changed: z.int(),
})

const MirrorStatus = z.object({
  mirror: z.enum(MIRRORS),
  on: z
    .boolean()
    .describe(
      'Read by its schedule: MIRRORS lists it, and its schedule is not off; false until a scheduler has run',
    ),
  last: Run.nullable().describe('The latest run that has ended'),
  present: Run.nullable().describe('The run that waits or is under way'),
  next_read_at: z.date().nullable().describe('null: it is off'),
  paused_at: z.date().nullable().describe('Since when its schedule has been paused'),
})
export type MirrorStatus = z.infer<typeof MirrorStatus>
export const MirrorStatuses = listOf(MirrorStatus)

/** The status of each mirror, from a few rows of the index on runs. */
export async function readMirrorStatuses(pool: Pool): Promise<z.infer<typeof MirrorStatuses>> {
  const { rows } = await pool.query<MirrorStatus>(
    `select m.mirror, s.interval_seconds is not null as on, last.run as last, present.run as present,
            case when s.interval_seconds is not null then s.next_due_at end as next_read_at, s.paused_at
     from unnest($1::text[]) with ordinality as m (mirror, place)
     left join dirsync.job_schedule s on s.job = 'mirror-' || m.mirror
     left join lateral (${RUN} where ${ofKind('m.mirror')} and r.finished_at >= ${ACCOUNT_SINCE}
                        order by r.kind, r.id desc limit 1) last on true
     left join lateral (${RUN} where ${ofKind('m.mirror')} and r.finished_at is null
                        order by r.kind desc, r.id limit 1) present on true
     order by m.place`,
    [MIRRORS],
  )
  return {
    items: rows.map(({ last, present, ...row }) => ({
      ...row,
      last: last && withDates(last),
      present: present && withDates(present),
    })),
    next: null,
  }
}

const RUN = `
  select jsonb_build_object(
    'id', r.id, 'state', r.state, 'requested_at', r.requested_at, 'finished_at', r.finished_at,
    'message', r.message, 'parts', r.planned,
    'left', (select count(*) from (select from dirsync.mirror_task k where k.run_id = r.id limit 100000) few),
    'rows_read', coalesce(r.result #> '{rows,read}', '0'),
    'rows_changed', coalesce(r.result #> '{rows,changed}', '0')) as run
  from dirsync.sync_run r`

/** Turns the texts that JSON has for moments into dates. */
function withDates(run: z.infer<typeof Run>): z.infer<typeof Run> {
  return {
    ...run,
    requested_at: new Date(run.requested_at),
    finished_at: run.finished_at && new Date(run.finished_at),
  }
}

export async function readMirrorStatus(pool: Pool, mirror: Mirror): Promise<MirrorStatus | null> {
  const { items } = await readMirrorStatuses(pool)
  return items.find(status => status.mirror === mirror) ?? null
}

// Payment orders

const enterprise = plainText(100).optional()

export const OrderQuery = z.object({
  employee: plainText(200).optional().describe('User id'),
  number: plainText(100)
    .optional()
    .describe('The beginning of a payment order number, or a whole order number of the merchant'),
  status: z.coerce.number().int().min(-1000).max(1000).optional(),
  from: z.iso.date().optional().describe('First day, in GMT+8'),
  to: z.iso.date().optional().describe('Last day, in GMT+8'),
  enterprise,
})
export type OrdersInput = z.infer<typeof OrderQuery> & PageInput

export const Orders = listOf(PaymentOrderRow)

export function readOrders(pool: Pool, ask: Ask, input: OrdersInput): Promise<Paged<PaymentOrderRow>> {
  return listPaymentOrders(pool, {
    userid: input.employee,
    number: input.number,
    status: input.status,
    enterprise: input.enterprise,
    from: platformDayOf(ask, 'from', input.from, 'begins'),
    until: platformDayOf(ask, 'to', input.to, 'is over'),
    after: input.cursor,
    limit: input.limit,
  })
}

// Limit accounts

/** A check box. */
const gone = z
  .enum(['1', 'on', 'true'])
  .optional()
  .describe('Include rows that the platform no longer lists, or is no longer asked for')

export const AccountQuery = z.object({ enterprise, gone })
export type AccountsInput = z.infer<typeof AccountQuery> & PageInput

export const Accounts = listOf(LimitAccountRow)

export function readAccounts(pool: Pool, input: AccountsInput): Promise<Paged<LimitAccountRow>> {
  return listLimitAccounts(pool, {
    enterprise: input.enterprise,
    gone: input.gone !== undefined,
    after: input.cursor,
    limit: input.limit,
  })
}

// Taxpayers

export const TaxpayerQuery = z.object({
  identifier: plainText(100).optional().describe('The beginning of an identification number'),
  enterprise,
  gone,
})
export type TaxpayersInput = z.infer<typeof TaxpayerQuery> & PageInput

export const Taxpayers = listOf(TaxpayerRow)

export function readTaxpayers(pool: Pool, input: TaxpayersInput): Promise<Paged<TaxpayerRow>> {
  return listTaxpayers(pool, {
    enterprise: input.enterprise,
    identifier: input.identifier,
    gone: input.gone !== undefined,
    after: input.cursor,
    limit: input.limit,
  })
}
