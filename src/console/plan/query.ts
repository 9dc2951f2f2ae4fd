import { z } from 'zod'
import type { EmployeeLookup } from '../../hr/sources.ts'
import { everyPage } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { PlanFilter } from '../../sync/stored-plan.ts'
import { SaidText } from '../../texts/failures.ts'
import { message } from '../../texts/message.ts'
import { cursor, pageSize } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { PlanItem, PlanOverview, planOverview, planPage } from './stored.ts'

export const PlanQuery = PlanFilter.extend({ cursor, limit: pageSize })

export const PlanResult = PlanOverview.extend({
  items: z.array(PlanItem),
  next: z.string().nullable(),
  hr_error: SaidText.nullable().describe('Why HR cannot be read: then values are missing'),
})
export type PlanResult = z.infer<typeof PlanResult>

/** @throws Problem if there is no such run */
export async function readPlan(
  db: Pool,
  hr: EmployeeLookup,
  run: number,
  { cursor: after, limit, ...filter }: z.infer<typeof PlanQuery>,
): Promise<PlanResult> {
  const overview = await planOverview(db, run)
  if (!overview) throw new Problem('not_found', message('said.no_such_run', { run }))
  const page = overview.stored
    ? await planPage(db, hr, run, { ...filter, after, limit })
    : { items: [], next: null, hr_error: null }
  return { ...overview, ...page }
}

/** How many entities of a download are looked up in HR together. */
const CHUNK = 1000

/** The entire plan, filtered, in the order of the page. */
export function readWholePlan(
  db: Pool,
  hr: EmployeeLookup,
  run: number,
  filter: PlanFilter,
): AsyncGenerator<PlanItem> {
  return everyPage(after => planPage(db, hr, run, { ...filter, after, limit: CHUNK }))
}
