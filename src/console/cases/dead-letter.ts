import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { CASE_STATES } from '../../sync/cases/cases.ts'
import { SaidText } from '../../texts/failures.ts'

export const RetriesStopped = z
  .boolean()
  .describe('The cron job retry-due, which retries cases that are due, is paused or off')

export const HasSource = z.boolean().describe('false: no HR source has the enterprise')

/** One row of `dirsync.dead_letter`, named as its columns. */
export const DeadLetter = z.object({
  id: z.int(),
  enterprise_code: z.string(),
  entity: z.enum(['employee', 'department', 'mirror', 'enterprise']),
  entity_key: z.string(),
  operation: z.string(),
  field: z.string(),
  category: z.string(),
  platform_code: z.int().nullable(),
  trace_id: z.string().nullable(),
  message: SaidText,
  remedy: SaidText,
  changed_fields: z
    .array(z.object({ field: z.string(), value: z.string().nullable() }))
    .describe('Names, and masked values'),
  blocked_by: z.string().nullable(),
  source_hash: z.string().nullable(),
  state: z.enum(CASE_STATES),
  first_failed_at: z.date(),
  last_failed_at: z.date(),
  occurrences: z.int(),
  next_retry_at: z.date().nullable(),
  snooze_until: z.date().nullable(),
  first_run_id: z.int().nullable(),
  last_run_id: z.int().nullable(),
  resolution: z.string().nullable(),
  resolved_by: z.string().nullable(),
  resolved_at: z.date().nullable(),
  note: z.string().nullable(),
  version: z
    .int()
    .describe('Send it back with a decision: if the case has changed since, the decision is refused'),
  swap_id: z.int().nullable().describe('The same for all who want each other’s number'),
  assignee: z.string().nullable().describe('Who takes care of it; null: no one'),
})
export type DeadLetter = z.infer<typeof DeadLetter>

/** One step in the history of a case. */
export const DeadLetterEvent = z.object({
  at: z.date(),
  actor: z.string(),
  event: z.string(),
  run_id: z.int().nullable(),
  note: z.union([z.string(), SaidText]).nullable(),
})
type DeadLetterEvent = z.infer<typeof DeadLetterEvent>

/**
 * A case with its history, oldest step first, and the other cases of its swap; null if there is no case with this
 * number.
 */
export async function readCase(
  db: Pool,
  id: number,
): Promise<(DeadLetter & { events: DeadLetterEvent[]; swapped_with: number[] }) | null> {
  const { rows } = await db.query<DeadLetter>('select * from dirsync.dead_letter where id = $1', [id])
  if (!rows[0]) return null
  const { rows: events } = await db.query<DeadLetterEvent>(
    `select at, actor, event, run_id, coalesce(said, to_jsonb(note)) as note
     from dirsync.dead_letter_event where dead_letter_id = $1 order by id`,
    [id],
  )
  const { rows: others } = await db.query<{ id: number }>(
    'select id from dirsync.dead_letter where swap_id = $1 and id <> $2 order by id',
    [rows[0].swap_id, id],
  )
  return { ...rows[0], events, swapped_with: others.map(other => other.id) }
}

/** Categories of all stored cases, resolved ones included. */
export async function knownCategories(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ category: string }>(
    'select distinct category from dirsync.dead_letter order by 1',
  )
  return rows.map(row => row.category)
}
