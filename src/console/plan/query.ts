import { z } from 'zod'
import type { EmployeeLookup } from '../../hr/sources.ts'
import { decodeCursor, encodeCursor } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { PlanFilter } from '../../sync/stored-plan.ts'
import { SaidText } from '../../texts/failures.ts'
import type { Said } from '../../texts/message.ts'
import { cursor, pageSize } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { type PlanEntry, planOverview, planPage } from './stored.ts'

export const PlanQuery = PlanFilter.extend({ cursor, limit: pageSize })

const PlanItem = z.object({
  enterprise_code: z.string(),
  key: z.string().describe('User id or department code'),
  reason: z.string(),
  department: z.string().nullable(),
  changed: z
    .array(z.object({ field: z.string(), value: z.string().nullable().describe('HR’s value, masked') }))
    .describe('What differs from what the platform confirmed last'),
  changed_since: z
    .boolean()
    .nullable()
    .describe('HR has another row by now: approval leaves it to the next plan; null: HR cannot be read'),
})
export type PlanItem = z.infer<typeof PlanItem>

export const PlanResult = z.object({
  run: z.number(),
  kind: z.string(),
  hr_source: z.string().describe('The HR source that it is about; empty where there is only one'),
  state: z.string(),
  message: SaidText.nullable().describe('Why it is held'),
  in_scope: z.number().nullable(),
  total: z.number().nullable().describe('Whom the plan is about: who is in service, and who leaves by it'),
  planned: z.number().nullable(),
  stored: z.boolean().describe('Only held runs keep their plans, until 30 days after their end'),
  reasons: z.record(z.string(), z.number()),
  leavers: z
    .object({ left: z.number(), of: z.number() })
    .nullable()
    .describe('Of a first run that is held because so many have left'),
  changed_since: z.number().nullable().describe('Rows that HR has changed since; null: not known yet'),
  judged_at: z.date().nullable().describe('When HR was last judged again'),
  approved: z.boolean(),
  decided_by: z.string().nullable(),
  decided_at: z.date().nullable(),
  decision_reason: z.string().nullable(),
  figures: z
    .object({
      state: z.string(),
      looked_at: z.number(),
      changed_since: z.number(),
      message: SaidText.nullable(),
      finished_at: z.date().nullable(),
      fields: z.array(z.object({ field: z.string(), n: z.number() })),
      departments: z.array(z.object({ department: z.string(), n: z.number() })).describe('The 50 largest'),
    })
    .nullable()
    .describe('Counted in the background after the run was held'),
  entries: z.array(PlanItem),
  next: z.string().nullable(),
  hr_error: SaidText.nullable().describe('Why HR cannot be read: then values are missing'),
})
export type PlanResult = z.infer<typeof PlanResult>

/** @throws Problem if there is no such run */
export async function readPlan(
  db: Pool,
  hr: EmployeeLookup,
  run: number,
  { cursor, limit, ...filter }: z.infer<typeof PlanQuery>,
): Promise<PlanResult> {
  const position = decodeCursor(z.tuple([z.string(), z.string()]), cursor)
  const after = position ? { entityKey: position[0], enterpriseCode: position[1] } : undefined
  const overview = await planOverview(db, run)
  if (!overview) throw new Problem('not_found', `There is no run ${run}.`)
  const page = overview.stored
    ? await planPage(db, hr, run, { ...filter, after, limit })
    : { entries: [], next: null, hrError: null }
  const { figures } = overview
  return {
    run,
    kind: overview.kind,
    hr_source: overview.source,
    state: overview.state,
    message: overview.message,
    in_scope: overview.inScope,
    total: overview.total,
    planned: overview.planned,
    stored: overview.stored,
    reasons: overview.reasons,
    leavers: overview.leavers,
    changed_since: overview.changedSince ?? (figures?.state === 'done' ? figures.changedSince : null),
    judged_at: overview.judgedAt,
    approved: overview.approved,
    decided_by: overview.decidedBy,
    decided_at: overview.decidedAt,
    decision_reason: overview.decisionReason,
    figures: figures && {
      state: figures.state,
      looked_at: figures.lookedAt,
      changed_since: figures.changedSince,
      message: figures.message,
      finished_at: figures.finishedAt,
      fields: figures.fields,
      departments: figures.departments,
    },
    entries: page.entries.map(entry => entryOf(entry, page.hrError)),
    next: page.next && encodeCursor([page.next.entityKey, page.next.enterpriseCode]),
    hr_error: page.hrError,
  }
}

function entryOf(
  { enterpriseCode, entityKey, changedSince, ...entry }: PlanEntry,
  hrError: Said | null,
): PlanItem {
  const { reason, department, changed } = entry
  return {
    ...{ enterprise_code: enterpriseCode, key: entityKey, reason, department, changed },
    changed_since: hrError === null ? changedSince : null,
  }
}

/** How many entities of a download are looked up in HR together. */
const CHUNK = 1000

/** The entire plan, filtered, in the order of the page. */
export async function* readWholePlan(
  db: Pool,
  hr: EmployeeLookup,
  run: number,
  filter: PlanFilter,
): AsyncGenerator<PlanItem> {
  let after: Awaited<ReturnType<typeof planPage>>['next'] = null
  do {
    const page = await planPage(db, hr, run, { ...filter, ...(after && { after }), limit: CHUNK })
    for (const entry of page.entries) yield entryOf(entry, page.hrError)
    after = page.next
  } while (after !== null)
}
