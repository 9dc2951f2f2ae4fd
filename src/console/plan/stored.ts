import type { EmployeeField } from '../../directory/employee.ts'
import { hideValue, maskValue } from '../../directory/masking.ts'
import { HrUnavailableError, isOfHr } from '../../hr/source.ts'
import type { EmployeeLookup } from '../../hr/sources.ts'
import type { Pool } from '../../lib/database.ts'
import { within } from '../../lib/waiting.ts'
import {
  changeOf,
  type PlanCursor,
  type PlanFilter,
  type PlannedChange,
  type PlannedEntity,
  plannedEntities,
  rowsOf,
} from '../../sync/stored-plan.ts'
import { message, type Said, saidBy } from '../../texts/message.ts'

/** The stored plan of a held run, for the person who decides about it. Values are masked. */

/** One entity of a stored plan, compared with HR as it is now. */
export interface PlanEntry {
  enterpriseCode: string
  entityKey: string
  reason: string
  /** The department in HR, else the one that the platform last showed. */
  department: string | null
  /** For a changed employee: the columns that differ from what the platform last confirmed. */
  changed: { field: string; value: string | null }[]
  /** HR's row has changed since the plan: approval does not send it. */
  changedSince: boolean
}

/** A stored plan in figures. */
export interface PlanOverview {
  run: number
  kind: string
  /** The HR source; empty if there is only one. */
  source: string
  state: string
  message: Said | null
  inScope: number | null
  /** Employees that the plan covers, including leavers. */
  total: number | null
  planned: number | null
  reasons: Record<string, number>
  /** For a first run that is held because so many have left; else null. */
  leavers: { left: number; of: number } | null
  /** Whether the plan is stored: only held runs keep theirs. */
  stored: boolean
  /** Rows that HR has changed since, as counted when HR was last checked again; null if it has not been. */
  changedSince: number | null
  judgedAt: Date | null
  approved: boolean
  decidedBy: string | null
  decidedAt: Date | null
  decisionReason: string | null
  /** Counted in the background; null before that has begun. */
  figures: PlanReading | null
}

/** The part of a plan's figures that needs HR. */
export interface PlanReading {
  state: 'running' | 'done' | 'failed' | 'stopped'
  lookedAt: number
  /** Rows that had already changed in HR when they were read. */
  changedSince: number
  /** Why HR could not be read. */
  message: Said | null
  finishedAt: Date | null
  /** Highest first; empty until it is done. */
  fields: { field: string; n: number }[]
  /** The 50 highest. */
  departments: { department: string; n: number }[]
}

/** The figures of a run's plan, in a few rows however large it is; null when no run has the number. */
export async function planOverview(db: Pool, run: number): Promise<PlanOverview | null> {
  const { rows } = await db.query<PlanOverview>(
    `select r.id as run, r.kind, r.hr_source as source, r.state, r.message, r.in_scope as "inScope", r.planned,
            coalesce((r.plan ->> 'total')::int, r.in_scope) as total,
            coalesce(r.plan -> 'reasons', '{}') as reasons, r.plan -> 'leavers' as leavers,
            exists (select from dirsync.planned_work w where w.run_id = r.id) as stored,
            (r.plan ->> 'changed_since')::int as "changedSince", r.judged_at as "judgedAt",
            r.approved, r.decided_by as "decidedBy", r.decided_at as "decidedAt", r.decision_reason as "decisionReason",
            null as figures
     from dirsync.sync_run r where r.id = $1`,
    [run],
  )
  const [overview] = rows
  return overview ? { ...overview, figures: await readingOf(db, run) } : null
}

async function readingOf(db: Pool, run: number): Promise<PlanReading | null> {
  const { rows } = await db.query<PlanReading>(
    `select state, looked_at as "lookedAt", changed_since as "changedSince", message,
            finished_at as "finishedAt", fields, departments
     from dirsync.plan_reading where run_id = $1`,
    [run],
  )
  return rows[0] ?? null
}

/** How long a page waits for HR. */
const HR_MS = 3000

/** One page of a plan. */
export interface PlanPage {
  entries: PlanEntry[]
  /** The position of the next page; null on the last page. */
  next: PlanCursor | null
  /** Why HR cannot be read: then changed fields are those found in the background, without values. */
  hrError: Said | null
}

/** Some entities of a plan with their differences, in the order of their keys. */
export async function planPage(
  db: Pool,
  hr: EmployeeLookup | null,
  run: number,
  options: PlanFilter & { after?: PlanCursor | undefined; limit: number },
): Promise<PlanPage> {
  const { limit } = options
  const found = await plannedEntities(db, run, { ...options, limit: limit + 1 })
  const entities = found.slice(0, limit)
  const last = entities.at(-1)
  const next =
    found.length > limit && last ? { enterpriseCode: last.enterpriseCode, entityKey: last.entityKey } : null
  try {
    if (hr === null) return { entries: entities.map(unread), next, hrError: message('said.hr_not_read_here') }
    const late = () => new HrUnavailableError(message('said.hr_late', { seconds: HR_MS / 1000 }))
    const rowOf = await within(HR_MS, rowsOf(hr, entities, HR_MS), late)
    return {
      entries: entities.map(entity => entryOf(entity, changeOf(entity, rowOf(entity)))),
      next,
      hrError: null,
    }
  } catch (error) {
    if (!isOfHr(error)) throw error
    return { entries: entities.map(unread), next, hrError: saidBy(error) }
  }
}

/** Entities of a stored plan that are looked up in HR together. */
const PAGE = 1000

/**
 * The stored plan of a run, page by page, with the changed columns of rows that are still in HR as planned.
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function* readStoredPlan(
  pool: Pool,
  hr: EmployeeLookup,
  run: number,
): AsyncGenerator<PlanEntry[]> {
  let after: PlanCursor | undefined
  for (;;) {
    const entities = await plannedEntities(pool, run, { after, limit: PAGE })
    after = entities.at(-1)
    if (!after) return
    const rowOf = await rowsOf(hr, entities)
    yield entities.map(entity => entryOf(entity, changeOf(entity, rowOf(entity))))
  }
}

function entryOf(entity: PlannedEntity, change: PlannedChange): PlanEntry {
  const { enterpriseCode, entityKey, reason } = entity
  const { department, changedSince, broken } = change
  if (changedSince) return { ...unread(entity), changedSince }
  const changed = Object.entries(change.changed).map(([field, value]) => ({
    field,
    value: maskValue(field as EmployeeField, value),
  }))
  const hidden = broken.map(({ field, value }) => ({ field, value: hideValue(value) }))
  return { enterpriseCode, entityKey, reason, department, changed: [...changed, ...hidden], changedSince }
}

/** An entity without HR. */
function unread({ enterpriseCode, entityKey, reason, ...known }: PlannedEntity): PlanEntry {
  const changed = (known.fields ?? []).map(field => ({ field, value: null }))
  const department = known.department ?? known.deptCode
  return { enterpriseCode, entityKey, reason, department, changed, changedSince: false }
}

/** Whether the plan of a run is stored. */
export async function isStored(db: Pool, runId: number): Promise<boolean> {
  const { rowCount } = await db.query('select from dirsync.planned_work where run_id = $1 limit 1', [runId])
  return (rowCount ?? 0) > 0
}
