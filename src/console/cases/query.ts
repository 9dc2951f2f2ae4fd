import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { countCases, groupCases, listCasesPage } from '../../report/cases.ts'
import type { DeadLetter } from '../../report/review.ts'
import { type CaseFilter, FIELDS } from '../../sync/case-filter.ts'
import { CASE_STATES } from '../../sync/cases.ts'
import { cursor, pageSize } from '../endpoint.ts'

/** What an address says about which cases, in which order, and from where on. */
export const FilterInput = z.object(FIELDS).partial()
export const ListInput = FilterInput.extend({
  order: z
    .enum(['latest', 'oldest'])
    .optional()
    .describe('Last failure first, or oldest case first, as where `olderThan` is given'),
  cursor,
  limit: pageSize,
})
export type ListInput = z.output<typeof ListInput>

const State = z.enum(CASE_STATES)
const ChangedFields = z.array(z.object({ field: z.string(), value: z.string().nullable() }))

/** A case, as /api/v1 gives it: the columns of `dirsync.dead_letter`. */
const CaseRow = z.object({
  id: z.number(),
  enterprise_code: z.string(),
  entity: z.string(),
  entity_key: z.string(),
  operation: z.string(),
  field: z.string(),
  category: z.string(),
  platform_code: z.number().nullable(),
  trace_id: z.string().nullable(),
  message: z.string(),
  remedy: z.string(),
  changed_fields: ChangedFields.describe('Names, and masked values'),
  blocked_by: z.string().nullable(),
  state: State,
  first_failed_at: z.date(),
  last_failed_at: z.date(),
  occurrences: z.number(),
  next_retry_at: z.date().nullable(),
  snooze_until: z.date().nullable(),
  first_run_id: z.number().nullable(),
  last_run_id: z.number().nullable(),
  resolution: z.string().nullable(),
  resolved_by: z.string().nullable(),
  resolved_at: z.date().nullable(),
  note: z.string().nullable(),
  version: z
    .number()
    .describe('To be given back with a decision, so that nobody decides on what has changed'),
  swap_id: z.number().nullable(),
  assignee: z.string().nullable(),
})

export const CaseList = z.object({
  cases: z.array(CaseRow),
  next: z.string().nullable().describe('Cursor of the next page; null: this is the last one'),
  count: z.number().describe('How many match, up to 10,000'),
  more: z.boolean().describe('true: more than `count` match'),
})
export type CaseList = z.infer<typeof CaseList>

export const CaseGroups = z.object({
  groups: z.array(
    z.object({
      category: z.string(),
      platform_code: z.number().nullable(),
      count: z.number().describe('Cases that are neither resolved nor ignored'),
      open: z.number(),
      snoozed: z.number(),
      waiting: z.number().describe('dirsync tries again by itself'),
      retrying: z.number(),
      failures: z.number(),
      oldest: z.date(),
      newest: z.date(),
    }),
  ),
})
export type CaseGroups = z.infer<typeof CaseGroups>

const CaseLine = CaseRow.pick({
  id: true,
  operation: true,
  field: true,
  category: true,
  platform_code: true,
  state: true,
  message: true,
  occurrences: true,
  first_failed_at: true,
  last_failed_at: true,
  next_retry_at: true,
  assignee: true,
})

export const CaseDetails = CaseRow.extend({
  events: z.array(
    z.object({
      at: z.date(),
      actor: z.string(),
      event: z.string(),
      run_id: z.number().nullable(),
      note: z.string().nullable(),
    }),
  ),
  attempts: z.array(
    z.object({
      id: z.number(),
      started_at: z.date(),
      run_id: z.number().nullable(),
      operation: z.string(),
      detail: z.string(),
      outcome: z.string(),
      duration_ms: z.number(),
      calls: z.record(z.string(), z.number()),
      fields: z.array(z.string()),
      platform_code: z.number().nullable(),
      trace_id: z.string().nullable(),
      error: z.string().nullable(),
    }),
  ),
  swapped_with: z.array(z.number()).describe('The other cases of the swap'),
  others: z.array(CaseLine).describe('Other unresolved cases of the same employee or department'),
  blocker: z
    .object({
      userid: z.string(),
      enterpriseCode: z.string(),
      employee: z
        .object({
          active: z.boolean(),
          in_step: z.boolean(),
          platform_state: z.string(),
          dept_code: z.string().nullable(),
          vanished_at: z.date().nullable(),
        })
        .nullable(),
      cases: z.array(CaseLine),
    })
    .nullable()
    .describe('Who has to change first'),
})

export type CaseDetails = z.infer<typeof CaseDetails>

/** The filter in what an address says. */
export function filterOf({ order: _, cursor: __, limit: ___, ...filter }: ListInput): CaseFilter {
  return filter
}

/** Who looks for old cases gets the oldest first: they need not be looked for among all newer ones. */
export function orderOf({ order, olderThan }: Pick<ListInput, 'order' | 'olderThan'>): 'latest' | 'oldest' {
  return order ?? (olderThan === undefined ? 'latest' : 'oldest')
}

export async function readCaseList(pool: Pool, input: ListInput): Promise<CaseList> {
  const { cursor: after = null, limit } = input
  const filter = filterOf(input)
  const [page, counted] = await Promise.all([
    listCasesPage(pool, filter, { after, limit, order: orderOf(input) }),
    countCases(pool, filter),
  ])
  return { ...page, ...counted }
}

export async function readCaseGroups(pool: Pool): Promise<CaseGroups> {
  return { groups: await groupCases(pool) }
}

/** Categories that unresolved and ignored cases have, for the filter. */
export async function presentCategories(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ category: string }>({
    name: 'console case categories',
    text: `select category from dirsync.tally where source = 'dead_letter'
           group by category having sum(n) > 0 order by category`,
  })
  return rows.map(({ category }) => category)
}

/** Columns of an exported list, in their order. */
export const CSV_COLUMNS = [
  'id',
  'enterprise_code',
  'entity',
  'entity_key',
  'operation',
  'field',
  'state',
  'category',
  'platform_code',
  'message',
  'remedy',
  'blocked_by',
  'assignee',
  'first_failed_at',
  'last_failed_at',
  'occurrences',
  'next_retry_at',
  'snooze_until',
  'trace_id',
  'first_run_id',
  'last_run_id',
  'resolution',
  'resolved_by',
  'resolved_at',
  'note',
] as const satisfies readonly (keyof DeadLetter)[]

const EXPORT_PAGE = 500

/** All cases that match, page by page: whatever happens meanwhile, none comes twice. */
export async function* everyCase(
  pool: Pool,
  filter: CaseFilter,
  order: 'latest' | 'oldest',
): AsyncGenerator<DeadLetter> {
  for (let after: string | null = null; ; ) {
    const page: { cases: DeadLetter[]; next: string | null } = await listCasesPage(pool, filter, {
      after,
      limit: EXPORT_PAGE,
      order,
    })
    yield* page.cases
    if (page.next === null) return
    after = page.next
  }
}
