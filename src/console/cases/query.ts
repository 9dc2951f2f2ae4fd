import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { type CaseFilter, FIELDS, MINE } from '../../sync/cases/case-filter.ts'
import type { Ask } from '../ask.ts'
import { cursor, listOf, pageSize } from '../endpoint.ts'
import { type DepartmentKey, departmentText, type People } from '../people.ts'
import { rangeOf } from '../range.ts'
import { Arrival, readArrival } from './arrival.ts'
import { DeadLetter } from './dead-letter.ts'
import {
  CASE_ORDERS,
  CaseGroup,
  type CaseOrder,
  countCases,
  fewCases,
  groupCases,
  listCasesPage,
  orderFor,
} from './read.ts'

/** The columns that the list can have beside the key, in their order. */
export const COLUMNS = [
  'number',
  'what',
  'cause',
  'state',
  'blocked_by',
  'age',
  'last_failed',
  'failures',
  'next_try',
  'assignee',
  'run',
  'reason',
] as const

/** Filter, order and position of a list, as an address holds them. */
export const FilterInput = z.strictObject(FIELDS).partial()
export const ListInput = FilterInput.extend({
  order: z
    .enum(Object.keys(CASE_ORDERS) as [CaseOrder, ...CaseOrder[]])
    .optional()
    .describe(
      '`latest`, `earliest`: by the latest failure; `oldest` (the default with `olderThan`), `newest`: by the first ' +
        'failure; `most`, `fewest`: by the number of failures; `key`, `key_backwards`: by the key; `state`, `cause`, `assignee`, `next_try` and the same with `_backwards`. With resolved or ' +
        'ignored cases those by the latest failure alone',
    ),
  columns: z
    .preprocess(
      given => [given].flat().flatMap(one => String(one).split(',')),
      z.array(z.enum(COLUMNS)).min(1).max(COLUMNS.length),
    )
    .optional()
    .describe(`The columns on a page and a terminal, beside the key: ${COLUMNS.join(', ')}`),
  cursor,
  limit: pageSize,
})
export type ListInput = z.output<typeof ListInput>

export const CaseList = z.object({
  ...listOf(DeadLetter).shape,
  count: z.int().describe('How many match, up to 10,000'),
  more: z.boolean().describe('true: more than `count` match'),
  arrival: Arrival.nullable().describe(
    'Without filters and cases: whether all has arrived, or what keeps it: HR was never read, …; else null',
  ),
})
export type CaseList = z.infer<typeof CaseList>

export const CaseGroups = listOf(CaseGroup)
export type CaseGroups = z.infer<typeof CaseGroups>

/** The filter without order and paging. */
export function filterOf(input: Omit<ListInput, 'limit'>): CaseFilter {
  const { order: _, cursor: __, limit: ___, columns: ____, ...filter } = input as ListInput
  return filter
}

/** The filter as it is for one person at this moment: what is theirs by name, and times in their zone. */
export function filterFor(ask: Ask, filter: CaseFilter): CaseFilter {
  const { from, to } = rangeOf(ask, filter)
  return {
    ...filter,
    // To the shell's user cases are assigned without where they ask from.
    ...(filter.assignee === MINE ? { assignee: ask.viewer.name.replace(/^cli:/, '') } : {}),
    ...(from ? { from: from.toISOString() } : {}),
    ...(to ? { to: to.toISOString() } : {}),
  }
}

/** A search for old cases starts with the oldest, so that it need not read all newer ones first. */
export function orderOf(input: Omit<ListInput, 'limit'>): CaseOrder {
  const { order, olderThan } = input
  return orderFor(input, order ?? (olderThan === undefined ? 'latest' : 'oldest'))
}

export async function readCaseList(pool: Pool, ask: Ask, input: ListInput): Promise<CaseList> {
  const { cursor: after = null, limit } = input
  const filter = filterFor(ask, filterOf(input))
  const few = await fewCases(pool, filter)
  const [page, counted] = await Promise.all([
    listCasesPage(pool, filter, { after, limit, order: orderOf(input), few }),
    countCases(pool, filter, { few }),
  ])
  const isEmpty = after === null && page.items.length === 0 && Object.keys(filter).length === 0
  return { ...page, ...counted, arrival: isEmpty ? await readArrival(pool) : null }
}

export async function readCaseGroups(pool: Pool): Promise<CaseGroups> {
  return { items: await groupCases(pool), next: null }
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
export const CSV_COLUMNS = DeadLetter.keyof().options

/** More departments than one chooses from a list; their codes are typed. */
const MOST_DEPARTMENTS = 500

/** The departments that are known, to choose one from, with their names as far as HR tells them; empty if they are too many. */
export async function departmentChoices(
  pool: Pool,
  people: Pick<People, 'departments'> | null,
): Promise<{ value: string; text: string }[]> {
  const { rows } = await pool.query<DepartmentKey>({
    name: 'console known departments',
    text: `select enterprise_code as "enterpriseCode", dept_code as "deptCode" from dirsync.department
           where deleted_at is null order by dept_code, enterprise_code limit ${MOST_DEPARTMENTS + 1}`,
  })
  if (rows.length > MOST_DEPARTMENTS) return []
  const names = (await people?.departments(rows)) ?? new Map<string, string>()
  const choices = rows.map(key => [key.deptCode, names.get(departmentText(key))] as const)
  // A code may be that of several enterprises; the filter finds them all.
  return [...new Map(choices)].map(([value, name]) => ({ value, text: name ? `${value} ${name}` : value }))
}

/** The users who may decide about cases, to choose an assignee from. */
export async function assignableUsers(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>({
    name: 'console assignable users',
    text: `select name from dirsync.console_user 
           where disabled_at is null and no_role_since is null and role <> 'viewer' order by name limit 1000`,
  })
  return rows.map(({ name }) => name)
}
