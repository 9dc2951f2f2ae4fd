import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { type CaseFilter, FIELDS } from '../../sync/case-filter.ts'
import { cursor, pageSize } from '../endpoint.ts'
import { DeadLetter } from './dead-letter.ts'
import { CaseGroup, countCases, groupCases, listCasesPage } from './read.ts'

/** Filter, order and position of a list, as an address holds them. */
export const FilterInput = z.strictObject(FIELDS).partial()
export const ListInput = FilterInput.extend({
  order: z
    .enum(['latest', 'oldest'])
    .optional()
    .describe('`latest`: latest failure first; `oldest`: oldest case first, the default with `olderThan`'),
  cursor,
  limit: pageSize,
})
export type ListInput = z.output<typeof ListInput>

export const CaseList = z.object({
  items: z.array(DeadLetter),
  next: z.string().nullable().describe('Cursor of the next page; null: this is the last one'),
  count: z.number().describe('How many match, up to 10,000'),
  more: z.boolean().describe('true: more than `count` match'),
})
export type CaseList = z.infer<typeof CaseList>

export const CaseGroups = z.object({ groups: z.array(CaseGroup) })
export type CaseGroups = z.infer<typeof CaseGroups>

/** The filter without order and paging. */
export function filterOf({ order: _, cursor: __, limit: ___, ...filter }: ListInput): CaseFilter {
  return filter
}

/** A search for old cases starts with the oldest, so that it need not read all newer ones first. */
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
export const CSV_COLUMNS = DeadLetter.keyof().options
