import { type EmployeeKey, qualified } from '../../directory/employee.ts'
import { enterpriseCodes, findEmployees } from '../../sync/employee.ts'
import { Problem } from '../problem.ts'
import type { Services } from '../services.ts'

/** How an employee is called: the user id, with the enterprise before it where there are several. */
export function employeeName({ enterpriseCode, userid }: EmployeeKey): string {
  return qualified(enterpriseCode, userid)
}

/**
 * The employee whom an address names: `userid`, or `enterprise/userid`. One whom dirsync does not know may be known to HR.
 * @throws Problem when several enterprises have a user id
 */
export async function resolveKey({ pool, config, hr }: Services, name: string): Promise<EmployeeKey> {
  const slash = name.indexOf('/')
  if (slash >= 0) {
    const enterpriseCode = name.slice(0, slash)
    const codes = await enterpriseCodes(pool, config.PLATFORM_ENTERPRISE_CODE)
    if (enterpriseCode === '' || [...codes, ...hr.codes].includes(enterpriseCode))
      return { enterpriseCode, userid: name.slice(slash + 1) }
  }
  const [first, second] = await findEmployees(pool, [name])
  if (first && second)
    throw new Problem(
      'invalid',
      `${name} may be any of several employees: name one as ${employeeName(first)} or ${employeeName(second)}`,
    )
  return first ?? { enterpriseCode: config.PLATFORM_ENTERPRISE_CODE, userid: name }
}
