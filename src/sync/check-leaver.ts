import type { CountedPlatform } from './counted-platform.ts'
import { employeeQuery, unasked } from './employee-memory.ts'
import { failure } from './failure.ts'
import { type JobResult, result } from './job-result.ts'
import { judge } from './judge.ts'
import type { EmployeeJob } from './reconcile-employee.ts'

/**
 * An employee whom HR has as a leaver, or has no more. The interface cannot end an employment, so one whom the platform
 * still has in service is a finding for review.
 * @param hash of the leaver's HR row; null when HR has none
 */
export async function checkLeaver(
  job: EmployeeJob,
  hash: string | null,
  platform: CountedPlatform,
): Promise<JobResult> {
  const memory = { ...unasked(false), acknowledgedHash: hash }
  let deptCode: string | null
  try {
    deptCode = (await platform.getEmployee(employeeQuery(job.key))).dept_code ?? null
  } catch (error) {
    if (judge(error).verdict.category !== 'not_on_platform') throw error
    return result('left', { employee: { ...memory, platformState: 'absent' }, keep: [] })
  }
  const message =
    hash === null
      ? 'HR has no row for this employee any more, but the platform still has them in service.'
      : 'HR says that this employee has left, but the platform still has them in service.'
  return result('parked', {
    employee: { ...memory, acknowledgedHash: null, parkedHash: hash, platformState: 'in_service', deptCode },
    failures: [
      failure({
        entity: 'employee',
        category: 'left_hr',
        message,
        remedy: "End the employment in the platform's back office (its interface cannot), or correct HR.",
        sourceHash: hash,
        cases: job.claim.cases,
      }),
    ],
    keep: [],
    attempt: { error: message },
  })
}
