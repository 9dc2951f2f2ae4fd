import { z } from 'zod'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import type { DryRunSummary } from '../../sync/plan/dry-run-reading.ts'
import { DIFFERENCES, type DifferenceKind } from '../../sync/plan/dry-run-tables.ts'
import { SaidText } from '../../texts/failures.ts'

/** A dry run of another SELECT, as a list shows it. */
export const DryRunLine = z.object({
  id: z.int(),
  requested_by: z.string(),
  requested_at: z.date(),
  source: z.string().describe('The HR source that it reads; empty where there is only one'),
  state: z.enum(['requested', 'running', 'done', 'failed', 'cancelled']),
  phase: z.enum(['plan', 'new', 'today', 'compare']).nullable().describe('The current phase while it runs'),
  rows_read: z
    .int()
    .describe('So far: every row is read twice with the SELECT and once with today’s mapping'),
  started_at: z.date().nullable(),
  finished_at: z.date().nullable(),
  message: SaidText.nullable().describe('failed: why'),
})
export type DryRunLine = z.infer<typeof DryRunLine>

/** A dry run without its employees. */
export interface DryRun extends DryRunLine {
  mapping: string
  /** The line of the error in the SELECT, from 1. */
  error_line: number | null
  error_column: number | null
  summary: DryRunSummary | null
}

const LINE = `id::int, requested_by, requested_at, hr_source as source, state, phase, rows_read,
  started_at, finished_at, message`

/** Dry runs, the latest first. */
export async function listDryRuns(
  db: Pool,
  {
    after,
    limit,
    source,
    from,
    to,
  }: PageAsked & { source?: string | undefined; from?: Date | undefined; to?: Date | undefined },
): Promise<Paged<DryRunLine>> {
  const [before = null] = decodeCursor(z.tuple([z.int()]), after) ?? []
  const { rows } = await db.query<DryRunLine>(
    `select ${LINE} from dirsync.dry_run
     where ($1::bigint is null or id < $1) and ($3::timestamptz is null or requested_at >= $3)
       and ($4::timestamptz is null or requested_at < $4) and ($5::text is null or hr_source = $5)
     order by id desc limit $2`,
    [before, limit + 1, from ?? null, to ?? null, source ?? null],
  )
  return onePage(rows, limit, row => [row.id])
}

/** Null if there is no dry run with this number. */
export async function readDryRun(db: Pool, id: number): Promise<DryRun | null> {
  const { rows } = await db.query<DryRun>(
    `select ${LINE}, mapping, error_line, error_column, summary
     from dirsync.dry_run where id = $1`,
    [id],
  )
  return rows[0] ?? null
}

/** One employee affected by the SELECT; values are masked. */
export const DryRunEntity = z.object({
  enterprise_code: z.string(),
  userid: z.string(),
  what: z.enum(DIFFERENCES),
  department: z.string().nullable(),
  changed: z.array(z.object({ field: z.string(), from: z.string().nullable(), to: z.string().nullable() })),
})
export type DryRunEntity = z.infer<typeof DryRunEntity>

/** Some of the stored employees of a dry run, in the order of their keys. */
export async function dryRunPage(
  db: Pool,
  id: number,
  { after, limit, reason }: PageAsked & { reason?: DifferenceKind | undefined },
): Promise<Paged<DryRunEntity>> {
  const [enterprise, userid] = decodeCursor(z.tuple([z.string(), z.string()]), after) ?? ['', '']
  const { rows } = await db.query<DryRunEntity>(
    // A dry run has at most 10,000 rows, so filtering them costs little.
    `select enterprise_code, entity_key as userid, reason as what, department, changed
     from dirsync.dry_run_entity
     where dry_run_id = $1 and (entity_key collate "C", enterprise_code) > ($2, $3)
       and ($4::text is null or reason = $4)
     order by entity_key collate "C", enterprise_code limit $5`,
    [id, userid, enterprise, reason ?? null, limit + 1],
  )
  return onePage(rows, limit, row => [row.enterprise_code, row.userid])
}
