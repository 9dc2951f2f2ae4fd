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
  const overview = await overviewOf(db, run)
  const page = overview.stored
    ? await planPage(db, hr, run, { ...filter, after, limit })
    : { items: [], next: null, hr_error: null }
  return { ...overview, ...page }
}

async function overviewOf(db: Pool, run: number): Promise<PlanOverview> {
  const overview = await planOverview(db, run)
  if (!overview) throw new Problem('not_found', message('said.no_such_run', { run }))
  return overview
}

/** How many entities of a download are looked up in HR together. */
const CHUNK = 1000

/**
 * The entire plan, filtered, in the order of the page.
 * @throws Problem if there is no such run, or its plan is not stored
 */
export async function* readWholePlan(
  db: Pool,
  hr: EmployeeLookup,
  run: number,
  filter: PlanFilter,
): AsyncGenerator<PlanItem> {
  const { stored } = await overviewOf(db, run)
  if (!stored) throw new Problem('not_found', message('said.plan_not_stored', { run }))
  yield* everyPage(after => planPage(db, hr, run, { ...filter, after, limit: CHUNK }))
}
