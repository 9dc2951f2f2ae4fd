import { z } from 'zod'
import type { EmployeeField } from '../../directory/employee.ts'
import { hideValue, maskValue } from '../../directory/masking.ts'
import { isOfHr } from '../../hr/source.ts'
import type { EmployeeLookup } from '../../hr/sources.ts'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { within } from '../../lib/waiting.ts'
import {
  changeOf,
  type PlanFilter,
  type PlannedChange,
  type PlannedEntity,
  plannedEntities,
  rowsOf,
} from '../../sync/plan/stored-plan.ts'
import { SaidText } from '../../texts/failures.ts'
import { type Said, saidBy } from '../../texts/message.ts'
import { HR_MS, hrLate } from '../employees/key.ts'
import { ListedRun, RunStanding, STANDING } from '../runs/list.ts'
import { HeldBack, heldBack } from './held-back.ts'

/** The stored plan of a held run, for the person who decides about it. Values are masked. */

/** One entity of a stored plan, compared with HR as it is now. */
export const PlanItem = z.object({
  enterprise_code: z.string(),
  key: z.string().describe('User id or department code'),
  reason: z.string(),
  department: z.string().nullable().describe('In HR, else the one that the platform last showed'),
  changed: z
    .array(
      z.object({
        field: z.string(),
        value: z.string().nullable().describe('HR’s value, masked'),
        before: z
          .string()
          .nullable()
          .optional()
          .describe(
            'The platform’s value, masked but for names; a department as it was last seen. Absent: the platform was not asked, or does not tell',
          ),
      }),
    )
    .describe('What differs from what the platform confirmed last'),
  changed_since: z
    .boolean()
    .nullable()
    .describe(
      'HR has another row by now: what is not sent yet is left to the next plan; null: HR cannot be read',
    ),
  odd: z
    .boolean()
    .describe(
      'Few rows of the plan have the same reason and changed fields, or go with those to the same department',
    ),
  decision: z
    .object({
      approved: z.boolean(),
      by: z.string(),
      at: z.date(),
      run: z.int().nullable().describe('The run that sends an approved row'),
    })
    .nullable()
    .describe('Of a plan that is decided in parts; null: not decided'),
  outcome: z.string().nullable().describe('What came of sending it; null: it was not sent'),
  later: z
    .object({
      run: z
        .int()
        .nullable()
        .describe('null: it was rejected, and the platform was found to have all of it already'),
      outcome: z.string(),
    })
    .nullable()
    .describe(
      'The later run that dealt with it: HR had changed it by then, or it had been rejected; null: none did in the last 30 days',
    ),
})
export type PlanItem = z.infer<typeof PlanItem>

const PlanField = z.object({ field: z.string(), n: z.int() })
export const PlanDepartment = z.object({ enterprise_code: z.string(), department: z.string(), n: z.int() })

export const PlanMove = PlanDepartment.extend({ from: z.string().describe('The department that they leave') })

/** What a person decided about a plan, or a part of it. */
export const PlanDecision = z.object({
  approved: z.boolean(),
  filter: z.record(z.string(), z.unknown()).describe('The part; {}: all that was undecided'),
  planned: z.int().describe('How many rows were decided'),
  returned: z
    .int()
    .describe('How many of what was approved are undecided again, as its run ended before it sent them'),
  reasons: z.record(z.string(), z.int()).describe('Of those that are not: rows by reason'),
  fields: z
    .record(z.string(), z.int())
    .nullable()
    .describe('Rows by field that changes or breaks a rule; null: HR has not been read for all of them'),
  departments: z.array(PlanDepartment).nullable().describe('The 50 with most rows, at least'),
  moves: z.array(PlanMove).nullable().describe('From department to department, as departments'),
  outcomes: z
    .record(z.string(), z.int())
    .describe('What came of sending an approved part; empty until its run has ended'),
  decided_by: z.string(),
  decided_at: z.date(),
  why: z.string().nullable(),
  run: z.int().nullable().describe('The run that sends an approved part; null: the held run itself'),
  run_state: z.string().nullable(),
})
export type PlanDecision = z.infer<typeof PlanDecision>

/** What was decided about a run's plan, oldest first. @param part the run of the only part wanted; absent: all */
async function planDecisions(db: Pool, run: number, part: number | null = null): Promise<PlanDecision[]> {
  const { rows } = await db.query<PlanDecision>(
    `select d.approved, d.filter, d.planned, d.returned, d.reasons, d.fields, d.departments, d.moves,
            d.decided_by, d.decided_at,
            d.why, d.part_run as run, r.state as run_state,
            case when d.approved then coalesce(sender.result -> 'outcomes', '{}') else '{}' end as outcomes
     from dirsync.plan_decision d
     left join dirsync.sync_run r on r.id = d.part_run
     join dirsync.sync_run sender on sender.id = coalesce(d.part_run, d.run_id)
     where d.run_id = $1 and ($2::bigint is null or d.part_run = $2) order by d.id`,
    [run, part],
  )
  return rows
}

/** A stored plan in figures. */
export const PlanOverview = z.object({
  run: z.int(),
  kind: z.string(),
  hr_source: ListedRun.shape.hr_source,
  ...RunStanding.shape,
  message: SaidText.nullable().describe('Why it is held'),
  in_scope: z
    .int()
    .nullable()
    .describe('Employees in service according to HR, whatever was decided about others'),
  total: z
    .int()
    .nullable()
    .describe(
      'Employees that the plan covers: those in scope, and those who leave by it; not those whose leaving was rejected before',
    ),
  planned: z.int().nullable(),
  stored: z
    .boolean()
    .describe('Only held runs keep their plans, until 180 days after their end, 30 without a decision'),
  reasons: z.record(z.string(), z.int()),
  leavers: z
    .object({ left: z.int(), of: z.int() })
    .nullable()
    .describe('Of a first run that is held because so many have left'),
  changed_since: z.int().nullable().describe('Rows that HR has changed since; null: not known yet'),
  checked_at: z.date().nullable().describe('Of a held run: when HR was last checked again'),
  approved: z.boolean(),
  decided_by: z.string().nullable(),
  decided_at: z.date().nullable(),
  decision_reason: z.string().nullable(),
  part_of: ListedRun.shape.part_of,
  undecided: ListedRun.shape.undecided,
  decisions: z.array(PlanDecision),
  held_back: HeldBack.nullable().describe('What was rejected of its plan and still differs; null: nothing'),
  figures: z
    .object({
      state: z.enum(['running', 'done', 'failed', 'stopped']),
      looked_at: z.int(),
      changed_since: z.int().describe('Rows that had already changed in HR when they were read'),
      message: SaidText.nullable().describe('Why HR could not be read'),
      finished_at: z.date().nullable(),
      fields: z.array(PlanField).describe('Highest first; empty until it is done'),
      departments: z.array(PlanDepartment).describe('The 50 largest'),
      moves: z.array(PlanMove).describe('From department to department, the 50 largest'),
    })
    .nullable()
    .describe('Counted in the background after the run was held; of a part, when it was decided'),
  open: z
    .object({
      reasons: z.record(z.string(), z.int()),
      fields: z.array(PlanField),
      departments: z.array(PlanDepartment),
      moves: z.array(PlanMove),
    })
    .nullable()
    .describe(
      'The same figures of the rows that are not decided, of a held plan that is decided in parts; else null',
    ),
})
export type PlanOverview = z.infer<typeof PlanOverview>

/** The figures of a run's plan, in a few rows however large it is; null when no run has the number. */
export async function planOverview(db: Pool, run: number): Promise<PlanOverview | null> {
  const [overviews, readings, decisions, held_back] = await Promise.all([
    db.query<Omit<PlanOverview, 'figures' | 'open' | 'decisions' | 'held_back'>>(
      `select r.id as run, r.kind, r.hr_source, ${STANDING}, r.message, r.in_scope, r.planned,
              coalesce((r.plan ->> 'total')::int, r.in_scope) as total,
              coalesce(r.plan -> 'reasons', '{}') as reasons, r.plan -> 'leavers' as leavers,
              exists (select from dirsync.planned_work w where w.run_id = r.id) as stored,
              (r.plan ->> 'changed_since')::int as changed_since, r.checked_at, r.approved, r.decided_by,
              r.decided_at, r.decision_reason, r.part_of, r.undecided
       from dirsync.sync_run r where r.id = $1`,
      [run],
    ),
    db.query<NonNullable<PlanOverview['figures']>>(
      `select p.state, looked_at, changed_since, p.message, p.finished_at, fields, coalesce(nullif(moves, 'null'), '[]') as moves,
              (select coalesce(jsonb_agg('{"enterprise_code": ""}' || d order by place), '[]')
               from jsonb_array_elements(departments) with ordinality as a (d, place)) as departments
       from dirsync.plan_reading p join dirsync.sync_run r on r.id = p.run_id
       -- What version 1.0 has read of a held plan is read again.
       where p.run_id = $1 and (r.state <> 'held' or case p.state when 'done' then jsonb_typeof(moves) = 'array' else moves is not null end)`,
      [run],
    ),
    planDecisions(db, run),
    heldBack(db, run),
  ])
  const [overview] = overviews.rows
  if (!overview) return null
  const figures =
    overview.part_of === null ? (readings.rows[0] ?? null) : await partFigures(db, run, overview.part_of)
  const counted = figures?.state === 'done' ? figures.changed_since : null
  const open =
    overview.state === 'held' && overview.undecided !== null
      ? openFigures(overview.reasons, figures, decisions)
      : null
  return {
    ...overview,
    changed_since: overview.changed_since ?? counted,
    figures,
    open,
    decisions,
    held_back,
  }
}

/** The figures of an approved part, which stand with its decision. */
async function partFigures(db: Pool, run: number, held: number): Promise<PlanOverview['figures']> {
  const [decision] = await planDecisions(db, held, run)
  if (!decision) return null
  const { fields, departments, moves, planned, decided_at } = decision
  return {
    state: fields === null ? 'stopped' : 'done',
    looked_at: planned,
    changed_since: 0,
    message: null,
    finished_at: decided_at,
    fields: Object.entries(fields ?? {})
      .map(([field, n]) => ({ field, n }))
      .sort((a, b) => b.n - a.n),
    departments: departments ?? [],
    moves: moves ?? [],
  }
}

/** The figures of a plan without what is decided of it. */
function openFigures(
  reasons: PlanOverview['reasons'],
  figures: PlanOverview['figures'],
  decisions: PlanDecision[],
): NonNullable<PlanOverview['open']> {
  const decided = (of: (decision: PlanDecision) => number | undefined) =>
    decisions.reduce((sum, decision) => sum + (of(decision) ?? 0), 0)
  const left = <Count extends { n: number }>(
    counts: Count[],
    of: (count: Count, decision: PlanDecision) => number | undefined,
  ) =>
    counts
      .map(count => ({ ...count, n: count.n - decided(decision => of(count, decision)) }))
      .filter(({ n }) => n > 0)
      .sort((a, b) => b.n - a.n)
  return {
    reasons: Object.fromEntries(
      Object.entries(reasons).map(([reason, n]) => [reason, n - decided(({ reasons }) => reasons[reason])]),
    ),
    fields: left(figures?.fields ?? [], ({ field }, { fields }) => fields?.[field]),
    departments: left(
      figures?.departments ?? [],
      ({ enterprise_code, department }, { departments }) =>
        departments?.find(of => of.enterprise_code === enterprise_code && of.department === department)?.n,
    ),
    moves: left(
      figures?.moves ?? [],
      ({ enterprise_code, from, department }, { moves }) =>
        moves?.find(
          of => of.enterprise_code === enterprise_code && of.from === from && of.department === department,
        )?.n,
    ),
  }
}

export interface PlanPage extends Paged<PlanItem> {
  /** Why HR cannot be read: then changed fields are those found in the background, without values. */
  hr_error: Said | null
}

/** Some entities of a plan with their differences, in the order of their keys. @param found is told them before HR is read */
export async function planPage(
  db: Pool,
  hr: EmployeeLookup,
  run: number,
  { after, limit, ...filter }: PlanFilter & PageAsked,
  found?: (entities: readonly PlannedEntity[]) => void,
): Promise<PlanPage> {
  const position = decodeCursor(z.tuple([z.int(), z.string(), z.string()]), after)
  const pageOf = async (isOdd: boolean, limit: number) => {
    if (limit <= 0) return []
    const cursor =
      position?.[0] === Number(isOdd) ? { entityKey: position[1], enterpriseCode: position[2] } : undefined
    return plannedEntities(db, run, { ...filter, isOdd, after: cursor, limit })
  }
  // What is odd comes first.
  const odd = position?.[0] === 0 ? [] : await pageOf(true, limit + 1)
  const others = filter.odd ? [] : await pageOf(false, limit + 1 - odd.length)
  const { items: entities, next } = onePage([...odd, ...others], limit, row => [
    Number(row.odd),
    row.entityKey,
    row.enterpriseCode,
  ])
  found?.(entities)
  try {
    const rowOf = await within(HR_MS, rowsOf(hr, entities, HR_MS), () => hrLate(HR_MS))
    return {
      items: entities.map(entity => itemOf(entity, changeOf(entity, rowOf(entity)))),
      next,
      hr_error: null,
    }
  } catch (error) {
    if (!isOfHr(error)) throw error
    return { items: entities.map(entity => unread(entity, null)), next, hr_error: saidBy(error) }
  }
}

function itemOf(entity: PlannedEntity, change: PlannedChange): PlanItem {
  if (change.changedSince) return unread(entity, true)
  const { deptCode, isOld } = entity
  const changed = Object.entries(change.changed).map(([field, value]) => ({
    field,
    value: maskValue(field as EmployeeField, value),
    // Once it is sent, the memory has the new one.
    ...(field === 'dept_code' && deptCode !== null && isOld && { before: deptCode }),
  }))
  const hidden = change.broken.map(({ field, value }) => ({ field, value: hideValue(value) }))
  return {
    ...storedOf(entity),
    department: change.department,
    changed: [...changed, ...hidden],
    changed_since: false,
  }
}

/** An entity without HR: the fields that were read for it once. */
function unread(entity: PlannedEntity, changed_since: true | null): PlanItem {
  const changed = (entity.fields ?? []).map(field => ({ field, value: null }))
  return { ...storedOf(entity), changed, changed_since }
}

function storedOf(entity: PlannedEntity): Omit<PlanItem, 'changed' | 'changed_since'> {
  const { enterpriseCode: enterprise_code, entityKey: key, reason, deptCode } = entity
  const { odd, decision, outcome, later } = entity
  const department = entity.department ?? deptCode
  return { enterprise_code, key, reason, department, odd, decision, outcome, later }
}
