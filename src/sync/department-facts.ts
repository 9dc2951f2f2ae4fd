import type { ClientBase, Pool } from 'pg'
import { type DepartmentDeletion, planDeletions } from '../core/department-plan.ts'
import type { HrSource } from '../hr/source.ts'
import { knownDepartments, rememberDepartments } from '../store/department.ts'

/** What HR says of departments now, remembered, and the deletions that follow from it. */
export interface DepartmentFacts {
  /** Departments not deleted yet. */
  total: number
  /** What a run deletes: those whose deletion failed before wait for the retry of their case. */
  deletions: DepartmentDeletion[]
  /** Everything that HR wants deleted, whatever became of it so far. */
  wanted: DepartmentDeletion[]
}

/** Reads HR's departments and the employees in them, remembers them and plans deletions (DESIGN, 'Departments'). */
export async function departmentFacts(
  db: ClientBase | Pool,
  hr: HrSource,
  options: { graceMs: number; now: Date },
): Promise<DepartmentFacts> {
  const [departments, employees] = await Promise.all([hr.departments(), hr.employeesByDepartment()])
  await rememberDepartments(db, departments)
  const known = await knownDepartments(db, employees)
  const unparked = known.map(department => ({ ...department, parked: false }))
  return {
    total: known.filter(department => !department.deleted).length,
    deletions: planDeletions(known, options.now, options.graceMs),
    wanted: planDeletions(unparked, options.now, options.graceMs),
  }
}
