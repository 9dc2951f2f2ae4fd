import { z } from 'zod'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { CASE_STATES } from '../../sync/cases/cases.ts'
import { SaidText } from '../../texts/failures.ts'
import { BULK_ACTIONS } from '../cases/input.ts'

const Counts = z.record(z.string(), z.int())

/** A bulk action, with its progress. */
export const BulkRow = z.object({
  id: z.int(),
  action: z.enum([...BULK_ACTIONS, 'undo']),
  filter: z.record(z.string(), z.unknown()).nullable().describe('null: the cases were ticked one by one'),
  arguments: z.object({
    until: z.string().optional(),
    reason: z.string().optional(),
    assignee: z.string().optional(),
    text: z.string().optional(),
  }),
  state: z.enum(['preview', 'requested', 'running', 'done', 'stopped']),
  total: z.int(),
  more: z.boolean().describe('true: more cases matched than one action can take; the rest is left out'),
  categories: Counts.describe('Cases by category, when the preview was made'),
  states: Counts.describe('Cases by state, when the preview was made'),
  done: z.int(),
  skipped: z.int(),
  failed: z.int(),
  requested_by: z.string(),
  reason: z.string().nullable(),
  created_at: z.date(),
  confirmed_at: z.date().nullable(),
  started_at: z.date().nullable(),
  finished_at: z.date().nullable(),
  undoes: z.int().nullable().describe('Of an `undo`: the action that it takes back'),
  undone_by: z.int().nullable().describe('The action that takes it back'),
  undone_in_part: z.boolean().describe('Whether that action was stopped before it had reached all cases'),
  undoable_until: z.date().nullable().describe('Until when it can be taken back; null: it cannot'),
})
export type BulkRow = z.infer<typeof BulkRow>

/** SQL: the actions that undo one; those that were stopped before they had undone anything do not. */
const UNDONE = `dirsync.bulk_action u where u.undoes = bulk_action.id and (u.state <> 'stopped' or u.done > 0)`

const COLUMNS = `id, action, filter, arguments, state, total, more, categories, states, done, skipped, failed,
  requested_by, reason, created_at, confirmed_at, started_at, finished_at, undoes,
  (select max(u.id) from ${UNDONE}) as undone_by,
  exists (select from ${UNDONE}) and not exists (select from ${UNDONE} and u.state <> 'stopped') as undone_in_part,
  (select dirsync.bulk_undo_ends(bulk_action)
   where action in ('ignore', 'snooze', 'assign') and done > 0 and finished_at is not null
     and dirsync.bulk_undo_ends(bulk_action) > now()
     and not exists (select from ${UNDONE} and u.state <> 'stopped')) as undoable_until`

/** Null if there is no such action (any more). */
export async function readBulk(db: Pool, id: number): Promise<BulkRow | null> {
  const { rows } = await db.query<BulkRow>(`select ${COLUMNS} from dirsync.bulk_action where id = $1`, [id])
  return rows[0] ?? null
}

/** The latest actions that were confirmed, newest first. */
export async function listBulk(
  db: Pool,
  limit: number,
  { from, to }: { from?: Date | undefined; to?: Date | undefined } = {},
): Promise<BulkRow[]> {
  const { rows } = await db.query<BulkRow>(
    `select ${COLUMNS} from dirsync.bulk_action
     where confirmed_at is not null and ($2::timestamptz is null or confirmed_at >= $2)
       and ($3::timestamptz is null or confirmed_at < $3)
     order by id desc limit $1`,
    [limit, from ?? null, to ?? null],
  )
  return rows
}

/** The result of one case, with the case as it is now. */
export const BulkResult = z.object({
  dead_letter_id: z.int(),
  outcome: z.enum(['done', 'skipped', 'failed']).nullable().describe('null: its turn has not come'),
  code: z
    .enum(['changed', 'closed', 'gone', 'error'])
    .nullable()
    .describe(
      'Why it was not done: changed since the preview, resolved or ignored, not kept any more, an error',
    ),
  message: SaidText.nullable().describe('changed: who changed it, how and when; error: the error'),
  run_id: z.int().nullable(),
  at: z.date().nullable(),
  enterprise_code: z.string().nullable().describe('null, as what follows: the case is not kept any more'),
  entity: z.string().nullable(),
  entity_key: z.string().nullable(),
  field: z.string().nullable(),
  category: z.string().nullable(),
  state: z.enum(CASE_STATES).nullable(),
})
export type BulkResult = z.infer<typeof BulkResult>

/** The cases of an action in the order of their numbers, page by page. */
export async function bulkResults(
  db: Pool,
  id: number,
  { after, limit, outcome }: PageAsked & { outcome?: 'done' | 'skipped' | 'failed' | 'waiting' | undefined },
): Promise<Paged<BulkResult>> {
  const position = decodeCursor(z.tuple([z.int()]), after)
  const which =
    outcome === undefined ? '' : outcome === 'waiting' ? 'and outcome is null' : 'and outcome = $4'
  const { rows } = await db.query<BulkResult>(
    `select i.dead_letter_id, i.outcome, i.code, i.message, i.run_id, i.at, d.enterprise_code, d.entity,
            d.entity_key, d.field, d.category, d.state
     from (select * from dirsync.bulk_item
           where bulk_id = $1 and dead_letter_id > $2 ${which} order by dead_letter_id limit $3) i
     left join dirsync.dead_letter d on d.id = i.dead_letter_id
     order by i.dead_letter_id`,
    [id, position?.[0] ?? 0, limit + 1, ...(which.includes('$4') ? [outcome] : [])],
  )
  return onePage(rows, limit, row => [row.dead_letter_id])
}
