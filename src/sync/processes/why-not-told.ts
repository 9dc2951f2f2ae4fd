import type { Pool } from '../../lib/database.ts'
import type { CatalogueMessages } from '../../platform/codes.ts'
import type { PlatformError } from '../../platform/errors.ts'
import { type Message, message } from '../../texts/message.ts'
import { PLATFORM_PAUSE } from './pace.ts'

/* What a person reads who has asked the platform something, and is told nothing. Such a call is not taken up again. */

/** Whether the call was not made: a person has paused all calls, or its turn did not come in time. */
export function isUnasked({ kind, outcomeKnown }: PlatformError): boolean {
  return kind === 'paused' || (kind === 'aborted' && outcomeKnown)
}

export async function whyNotTold(db: Pool, error: PlatformError): Promise<CatalogueMessages> {
  if (error.kind !== 'aborted') return error.verdict.said
  const heldOff = isUnasked(error) ? await whyHeldOff(db) : null
  return {
    meaning: heldOff ?? message(isUnasked(error) ? 'said.turn_late' : 'said.answer_late'),
    remedy: message('said.ask_again'),
  }
}

/** That the platform wants no calls at present; null: it takes them. */
export async function whyHeldOff(
  db: Pool,
  key: 'said.held_off' | 'said.rest_held_off' = 'said.held_off',
): Promise<Message | null> {
  const { rows } = await db.query<{ time: string }>(
    `select dirsync.moment(paused_until) as time from (${PLATFORM_PAUSE}) p`,
  )
  return rows[0] ? message(key, rows[0]) : null
}
