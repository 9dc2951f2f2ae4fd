import { onlyRow, type Pool } from '../lib/database.ts'

export const CASE_STATES = [
  'open',
  'retry_scheduled',
  'blocked',
  'awaiting_activation',
  'retrying',
  'snoozed',
  'resolved',
  'ignored',
] as const

export type CaseState = (typeof CASE_STATES)[number]

/** One row of `dirsync.dead_letter`, named as its columns. */
export interface DeadLetter {
  id: number
  enterprise_code: string
  entity: 'employee' | 'department' | 'mirror' | 'enterprise'
  entity_key: string
  operation: string
  field: string
  category: string
  platform_code: number | null
  trace_id: string | null
  message: string
  remedy: string
  changed_fields: { field: string; value: string | null }[]
  blocked_by: string | null
  source_hash: string | null
  state: CaseState
  first_failed_at: Date
  last_failed_at: Date
  occurrences: number
  next_retry_at: Date | null
  snooze_until: Date | null
  first_run_id: number | null
  last_run_id: number | null
  resolution: string | null
  resolved_by: string | null
  resolved_at: Date | null
  note: string | null
  version: number
  /** The same for all cases of employees who want each other's number. */
  swap_id: number | null
  /** Who takes care of it. */
  assignee: string | null
}

/** One step in the story of a case. */
export interface DeadLetterEvent {
  at: Date
  actor: string
  event: string
  run_id: number | null
  note: string | null
}

/** Which cases; without states those that are neither resolved nor ignored. */
export interface CaseFilter {
  state?: CaseState | undefined
  category?: string | undefined
}

const MATCHES = `
  ($1::text is null and state not in ('resolved', 'ignored') or state = $1) and ($2::text is null or category = $2)`

/** The first cases in the order of `failed_syncs`, and how many there are in all. */
export async function listCases(
  db: Pool,
  filter: CaseFilter,
  limit: number,
): Promise<{ total: number; cases: DeadLetter[] }> {
  const values = [filter.state ?? null, filter.category ?? null]
  const [{ rows: counted }, { rows: cases }] = await Promise.all([
    db.query<{ total: number }>(
      `select count(*)::int as total from dirsync.dead_letter where ${MATCHES}`,
      values,
    ),
    db.query<DeadLetter>(
      `select * from dirsync.dead_letter where ${MATCHES}
       order by state <> 'open', last_failed_at desc, id desc limit $3`,
      [...values, limit],
    ),
  ])
  return { total: onlyRow(counted).total, cases }
}

/** The cases that follow a case number, so that all can be read page by page. */
export async function casesAfter(
  db: Pool,
  filter: CaseFilter,
  id: number,
  limit: number,
): Promise<DeadLetter[]> {
  const { rows } = await db.query<DeadLetter>(
    `select * from dirsync.dead_letter where ${MATCHES} and id > $3 order by id limit $4`,
    [filter.state ?? null, filter.category ?? null, id, limit],
  )
  return rows
}

/** A case with its story, oldest step first, and the other cases of its swap; null when no case has the number. */
export async function readCase(
  db: Pool,
  id: number,
): Promise<(DeadLetter & { events: DeadLetterEvent[]; swapped_with: number[] }) | null> {
  const { rows } = await db.query<DeadLetter>('select * from dirsync.dead_letter where id = $1', [id])
  if (!rows[0]) return null
  const { rows: events } = await db.query<DeadLetterEvent>(
    'select at, actor, event, run_id, note from dirsync.dead_letter_event where dead_letter_id = $1 order by id',
    [id],
  )
  const { rows: others } = await db.query<{ id: number }>(
    'select id from dirsync.dead_letter where swap_id = $1 and id <> $2 order by id',
    [rows[0].swap_id, id],
  )
  return { ...rows[0], events, swapped_with: others.map(other => other.id) }
}

/** Categories of all cases that are kept, resolved ones included. */
export async function knownCategories(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ category: string }>(
    'select distinct category from dirsync.dead_letter order by 1',
  )
  return rows.map(row => row.category)
}
