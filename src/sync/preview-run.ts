import type { Pool } from 'pg'
import type { DepartmentDeletion } from '../core/department-plan.ts'
import type { EmployeeKey } from '../core/employee.ts'
import { trips } from '../core/safety.ts'
import type { HrSource } from '../hr/source.ts'
import { stagedEmployees } from '../store/employee-plan-preview.ts'
import { countUnbound } from '../store/pending.ts'
import { rolledBack } from '../store/rolled-back.ts'
import { departmentFacts } from './department-facts.ts'
import { type EmployeePlan, planEmployees } from './plan-employees.ts'
import type { PlannerOptions } from './plan-kind.ts'

/** What runs started now would do. */
export interface RunPreview {
  employees: EmployeePlan
  /** Active employees of HR but those that the run would skip; read for `full` alone. */
  keys: EmployeeKey[]
  /** Null without a departments' mapping. */
  departments: { total: number; deletions: DepartmentDeletion[]; isHeld: boolean } | null
  /** Missing bindings: employees × merchant applications. */
  openids: number
}

/** Plans as the planner does, in a transaction that leaves nothing behind. */
export function previewRun(options: {
  pool: Pool
  hr: HrSource
  kind: 'changes' | 'full'
  /** As of a run. */
  maxAgeMs: number | null
  limits: PlannerOptions['limits']
  sellerAppids: string[]
}): Promise<RunPreview> {
  const { pool, hr, kind, maxAgeMs, limits, sellerAppids } = options
  const now = new Date()
  return rolledBack(pool, async db => {
    const employees = await planEmployees(
      db,
      hr,
      { kind, state: 'requested', maxAgeMs },
      limits,
      now,
      new AbortController().signal,
    )
    const keys = kind === 'full' ? await stagedEmployees(db) : []
    const openids = await countUnbound(db, sellerAppids)
    if (!hr.hasDepartments) return { employees, keys, departments: null, openids }
    const { total, deletions } = await departmentFacts(db, hr, {
      graceMs: limits.departmentGraceMs,
      now,
    })
    const isHeld = trips(limits.departments, deletions.length, total)
    return { employees, keys, departments: { total, deletions, isHeld }, openids }
  })
}
