import { onlyRow, type Pool } from '../lib/database.ts'
import { HANGS, IS_OPEN, type SendDeps } from './journal.ts'
import { IS_LOST, refundJournal, WAITS_FOR_PERSON } from './refund.ts'
import { topUpJournal } from './top-up.ts'

/** The rows of one journal whose outcome is open. */
export interface OpenEntries {
  /** In hand. */
  requested: number
  /** Also those whose sender hangs, and accepted refunds that nothing showed for as long as they were looked for. */
  unknown: number
  /** Those of the unknown ones that a person has to decide. */
  for_person: number
  /** When the oldest unknown one was sent. */
  oldest: Date | null
  /** When the latest unknown one was sent. */
  latest: Date | null
}

export type OpenMoney = Record<'refund' | 'topup', OpenEntries>

const open = (table: 'refund' | 'topup', isUnknown: string, waitsForPerson: string) => `
  select '${table}' as kind,
         count(*) filter (where state = 'requested' and not ${HANGS}) as requested,
         count(*) filter (where ${isUnknown}) as unknown,
         count(*) filter (where ${waitsForPerson}) as for_person,
         min(sent_at) filter (where ${isUnknown}) as oldest,
         max(sent_at) filter (where ${isUnknown}) as latest
  from dirsync.${table} where ${IS_OPEN} or ${isUnknown}`
const IS_UNKNOWN = `state = 'unknown' or ${HANGS}`

/** Reads what is open. The platform cannot be asked about a top-up, so that each unknown one waits for a person. */
export async function readOpenMoney(db: Pool): Promise<OpenMoney> {
  const { rows } = await db.query<OpenEntries & { kind: 'refund' | 'topup' }>(
    `${open('refund', `${IS_UNKNOWN} or ${IS_LOST}`, `${WAITS_FOR_PERSON} or ${HANGS} or ${IS_LOST}`)}
     union all ${open('topup', IS_UNKNOWN, IS_UNKNOWN)}`,
  )
  return Object.fromEntries(rows.map(({ kind, ...entries }) => [kind, entries])) as OpenMoney
}

/** How many have a sender that hangs. */
export async function readHanging(db: Pool): Promise<{ refunds: number; topups: number }> {
  const { rows } = await db.query<{ refunds: number; topups: number }>(
    `select (select count(*)::int from dirsync.refund where ${HANGS}) as refunds,
            (select count(*)::int from dirsync.topup where ${HANGS}) as topups`,
  )
  return onlyRow(rows)
}

/** Marks what was in hand of senders that died as unknown. */
export async function adoptMoney({ pool, logger }: Pick<SendDeps, 'pool' | 'logger'>): Promise<void> {
  for (const number of await refundJournal.adopt(pool))
    logger.warn({ number }, 'the sender of a refund ended before it stored the answer')
  for (const number of await topUpJournal.adopt(pool))
    logger.warn(
      { number },
      'the sender of a top-up ended before it stored the answer: ask the platform, then say so with dirsync topup resolve',
    )
}
