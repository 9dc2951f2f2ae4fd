import { z } from 'zod'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import type { AnyBulkAction } from '../../sync/bulk.ts'
import type { CaseFilter } from '../../sync/case-filter.ts'
import { CASE_STATES, type CaseState } from '../../sync/cases.ts'
import { SaidText } from '../../texts/failures.ts'

/** A bulk action, with its progress. */
export interface Bulk {
  id: number
  action: AnyBulkAction
  /** Null: the cases were ticked one by one. */
  filter: CaseFilter | null
  arguments: { until?: string; reason?: string; assignee?: string; text?: string }
  state: 'preview' | 'requested' | 'running' | 'done' | 'stopped'
  total: number
  /** More cases matched than one action can take. */
  more: boolean
  categories: Record<string, number>
  states: Partial<Record<CaseState, number>>
  done: number
  skipped: number
  failed: number
  requested_by: string
  address: string | null
  reason: string | null
  created_at: Date
  confirmed_at: Date | null
  started_at: Date | null
  finished_at: Date | null
  version: number
  /** Of an `undo`: the action that it takes back. */
  undoes: number | null
  /** The action that takes this one back. */
  undone_by: number | null
  /** Until when it can be taken back; null: it cannot. */
  undoable_until: Date | null
}

const COLUMNS = `id, action, filter, arguments, state, total, more, categories, states, done, skipped, failed,
  requested_by, address, reason, created_at, confirmed_at, started_at, finished_at, version, undoes,
  (select u.id from dirsync.bulk_action u where u.undoes = bulk_action.id) as undone_by,
  (select bulk_action.finished_at + dirsync.undo_time()
   where action in ('ignore', 'snooze', 'assign') and done > 0
     and bulk_action.finished_at > now() - dirsync.undo_time()
     and not exists (select from dirsync.bulk_action u where u.undoes = bulk_action.id)) as undoable_until`

/** Null if there is no such action (any more). */
export async function readBulk(db: Pool, id: number): Promise<Bulk | null> {
  const { rows } = await db.query<Bulk>(`select ${COLUMNS} from dirsync.bulk_action where id = $1`, [id])
  return rows[0] ?? null
}

/** The latest actions that were confirmed, newest first. */
export async function listBulk(
  db: Pool,
  limit: number,
  { from, to }: { from?: Date | undefined; to?: Date | undefined } = {},
): Promise<Bulk[]> {
  const { rows } = await db.query<Bulk>(
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
