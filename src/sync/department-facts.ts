import type { ClientBase, Pool } from 'pg'
import { type DepartmentDeletion, planDeletions } from '../core/department-plan.ts'
import type { HrSource } from '../hr/source.ts'
import { knownDepartments, rememberDepartments } from '../store/department.ts'

/** What HR says of departments now, remembered, and the deletions that follow from it. */
export interface DepartmentFacts {
  /** Departments not deleted yet. */
  total: number
  deletions: DepartmentDeletion[]
}

/**
 * Reads HR's departments and the employees in them, remembers them and plans deletions (DESIGN, 'Departments').
 * @param parked departments whose deletion is a dead letter are planned too: for the worker that retries one
 */
export async function departmentFacts(
  db: ClientBase | Pool,
  hr: HrSource,
  options: { graceMs: number; now: Date; parked: boolean },
): Promise<DepartmentFacts> {
  const [departments, employees] = await Promise.all([hr.departments(), hr.employeesByDepartment()])
  await rememberDepartments(db, departments)
  const known = await knownDepartments(db, employees)
  const considered = options.parked ? known.map(department => ({ ...department, parked: false })) : known
  return {
    total: known.filter(department => !department.deleted).length,
    deletions: planDeletions(considered, options.now, options.graceMs),
  }
}
