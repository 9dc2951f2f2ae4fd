import type { ClientBase } from 'pg'
import type { HrSource } from '../src/hr/source.ts'
import { planEmployees } from '../src/sync/plan-employees.ts'
import { LIMITS } from './planned-database.ts'

/**
 * Plans a sweep of an HR database in which nothing changed, in the caller's transaction.
 * @throws Error when the plan finds anything to do, or less than all employees
 */
export async function planUnchanged(db: ClientBase, hr: HrSource, employees: number): Promise<void> {
  const run = { kind: 'changes' as const, approved: false }
  const plan = await planEmployees(db, hr, run, LIMITS, new Date(), new AbortController().signal)
  if (
    plan.state !== 'running' ||
    plan.inScope !== employees ||
    Object.keys(plan.plan?.reasons ?? {}).length > 0
  ) {
    throw new Error(
      `the plan should find nothing to do, it found ${JSON.stringify({ ...plan, difference: null })}`,
    )
  }
}
