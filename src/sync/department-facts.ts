import type { ClientBase, Pool } from 'pg'
import { type DepartmentDeletion, planDeletions } from '../core/department-plan.ts'
import type { HrSource } from '../hr/source.ts'
import { knownDepartments, rememberDepartments } from '../store/department.ts'

/** What HR says of departments now, remembered, and the deletions that follow from it. */
export interface DepartmentFacts {
  /** Departments that HR delivers; with none at all nothing is remembered and nothing is to be deleted. */
  inHr: number
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
  if (departments.length > 0) await rememberDepartments(db, departments)
  const known = await knownDepartments(db, employees)
  const total = known.filter(department => !department.deleted).length
  if (departments.length === 0) return { inHr: 0, total, deletions: [], wanted: [] }
  const unparked = known.map(department => ({ ...department, parked: false }))
  return {
    inHr: departments.length,
    total,
    deletions: planDeletions(known, options.now, options.graceMs),
    wanted: planDeletions(unparked, options.now, options.graceMs),
  }
}
