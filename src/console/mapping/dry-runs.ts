import type { Pool } from '../../lib/database.ts'
import type { DryRunSummary } from '../../sync/dry-run-reading.ts'
import type { DifferenceKind } from '../../sync/dry-run-tables.ts'
import { beginningWith } from '../../sync/stored-plan.ts'
import type { Said } from '../../texts/message.ts'

/** A dry run of another SELECT, as a list shows it. */
export interface DryRunLine {
  id: number
  requestedBy: string
  requestedAt: Date
  address: string | null
  /** The HR source that it reads; empty if there is only one. */
  source: string
  state: 'requested' | 'running' | 'done' | 'failed' | 'cancelled'
  /** The current phase while it runs. */
  phase: 'plan' | 'new' | 'today' | 'compare' | null
  /** Rows read from HR so far: every row is read twice with the SELECT and once with today's mapping. */
  rowsRead: number
  startedAt: Date | null
  finishedAt: Date | null
  /** Why it failed. */
  message: Said | null
}

/** A dry run without its employees. */
export interface DryRun extends DryRunLine {
  /** The SELECT. */
  mapping: string
  /** The line of the error in the SELECT, from 1. */
  errorLine: number | null
  errorColumn: number | null
  summary: DryRunSummary | null
}

const LINE = `id::int, requested_by as "requestedBy", requested_at as "requestedAt", address, hr_source as source,
  state, phase,
  rows_read as "rowsRead", started_at as "startedAt", finished_at as "finishedAt", message`

/**
 * Dry runs, the latest first.
 * @param before number of the last one on the preceding page
 */
export async function listDryRuns(
  db: Pool,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<DryRunLine[]> {
  const { rows } = await db.query<DryRunLine>(
    `select ${LINE} from dirsync.dry_run where $1::bigint is null or id < $1 order by id desc limit $2`,
    [before ?? null, limit],
  )
  return rows
}

/** Null if there is no dry run with this number. */
export async function readDryRun(db: Pool, id: number): Promise<DryRun | null> {
  const { rows } = await db.query<DryRun>(
    `select ${LINE}, mapping, error_line as "errorLine", error_column as "errorColumn", summary
     from dirsync.dry_run where id = $1`,
    [id],
  )
  return rows[0] ?? null
}

/** One employee affected by the SELECT; values are masked. */
export interface DryRunEntity {
  enterpriseCode: string
  entityKey: string
  reason: DifferenceKind
  department: string | null
  changed: { field: string; from: string | null; to: string | null }[]
}

/** The position of the next page. */
export interface DryRunCursor {
  enterpriseCode: string
  entityKey: string
}

/** Some of the stored employees of a dry run, in the order of their keys. */
export async function dryRunPage(
  db: Pool,
  id: number,
  options: { after?: DryRunCursor | undefined; limit: number; reason?: DifferenceKind; key?: string },
): Promise<{ entities: DryRunEntity[]; next: DryRunCursor | null }> {
  const { after, limit, reason, key } = options
  const { rows } = await db.query<DryRunEntity>(
    // A dry run has at most 10,000 rows, so filtering them costs little.
    `select enterprise_code as "enterpriseCode", entity_key as "entityKey", reason, department, changed
     from dirsync.dry_run_entity
     where dry_run_id = $1 and (entity_key collate "C", enterprise_code) > ($2, $3)
       and ($4::text is null or reason = $4) and ($5::text is null or entity_key like $5)
     order by entity_key collate "C", enterprise_code limit $6`,
    [
      id,
      after?.entityKey ?? '',
      after?.enterpriseCode ?? '',
      reason ?? null,
      key === undefined ? null : beginningWith(key),
      limit + 1,
    ],
  )
  const entities = rows.slice(0, limit)
  const last = entities.at(-1)
  const next = rows.length > limit && last
  return {
    entities,
    next: next ? { enterpriseCode: next.enterpriseCode, entityKey: next.entityKey } : null,
  }
}
