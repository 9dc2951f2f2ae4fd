import type { DepartmentDeletion } from '../core/department-plan.ts'
import type { Claim } from '../store/claim.ts'
import type { CountedPlatform } from './counted-platform.ts'
import { type JobResult, result } from './job-result.ts'
import { judge } from './judge.ts'

interface DepartmentJob {
  enterpriseCode: string
  deptCode: string
  claim: Claim
  /** The deletions that HR's present state asks for. */
  wanted: DepartmentDeletion[]
}

/**
 * Deletes one department, if HR still wants it and nothing is left below it; a department that the platform does not know
 * has reached its goal (4.6). One whose child could not be deleted is planned again once the child is gone.
 */
export async function deleteDepartment(job: DepartmentJob, platform: CountedPlatform): Promise<JobResult> {
  const { enterpriseCode, deptCode } = job
  const wanted = job.wanted.some(
    deletion =>
      deletion.enterpriseCode === enterpriseCode && deletion.deptCode === deptCode && deletion.wave === 0,
  )
  if (!wanted) return result('obsolete', { keep: [] })
  try {
    await platform.deleteDepartment({
      dept_code: deptCode,
      ...(enterpriseCode === '' ? {} : { enterprise_code: enterpriseCode }),
    })
  } catch (thrown) {
    const { error, verdict } = judge(thrown)
    if (verdict.disposition !== 'done') throw error
    return result('deleted', {
      department: 'deleted',
      keep: [],
      attempt: { platformCode: error.platformCode ?? null, error: 'the platform had no such department' },
    })
  }
  return result('deleted', { department: 'deleted', keep: [] })
}
