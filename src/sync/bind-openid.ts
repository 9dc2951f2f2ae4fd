import { parseActive } from '../core/flag.ts'
import type { CountedPlatform } from './counted-platform.ts'
import { employeeQuery } from './employee-memory.ts'
import { type JobResult, result } from './job-result.ts'
import type { EmployeeJob } from './reconcile-employee.ts'

/** Learns the open id of an employee for a merchant application; the platform makes one when there is none (4.5). */
export async function bindOpenid(
  job: Pick<EmployeeJob, 'key' | 'row'>,
  sellerAppid: string,
  platform: CountedPlatform,
): Promise<JobResult> {
  const { key, row } = job
  if (row === null || row === 'duplicate' || parseActive(row.active) !== true)
    return result('obsolete', { keep: [] })
  const { open_userid } = await platform.bindOpenid({ ...employeeQuery(key), seller_appid: sellerAppid })
  return result('bound', { binding: open_userid, keep: [] })
}
