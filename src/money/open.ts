import type { Pool } from '../lib/database.ts'
import { IS_OPEN, type SendDeps } from './journal.ts'
import { refundJournal, WAITS_FOR_PERSON } from './refund.ts'
import { topUpJournal } from './top-up.ts'

/** The rows of one journal whose outcome is open. */
export interface OpenEntries {
  /** In hand. */
  requested: number
  unknown: number
  /** Those of the unknown ones that a person has to decide. */
  for_person: number
  /** When the oldest unknown one was sent. */
  oldest: Date | null
}

export type OpenMoney = Record<'refund' | 'topup', OpenEntries>

const open = (table: 'refund' | 'topup', waitsForPerson: string) => `
  select '${table}' as kind,
         count(*) filter (where state = 'requested') as requested,
         count(*) filter (where state = 'unknown') as unknown,
         count(*) filter (where ${waitsForPerson}) as for_person,
         min(sent_at) filter (where state = 'unknown') as oldest
  from dirsync.${table} where ${IS_OPEN}`

/** Reads what is open. The platform cannot be asked about a top-up, so that each unknown one waits for a person. */
export async function readOpenMoney(db: Pool): Promise<OpenMoney> {
  const { rows } = await db.query<OpenEntries & { kind: 'refund' | 'topup' }>(
    `${open('refund', WAITS_FOR_PERSON)} union all ${open('topup', `state = 'unknown'`)}`,
  )
  return Object.fromEntries(rows.map(({ kind, ...entries }) => [kind, entries])) as OpenMoney
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
