import type { Pool } from '../lib/database.ts'
import { IS_OPEN } from './journal.ts'
import { WAITS_FOR_PERSON } from './refund.ts'

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
