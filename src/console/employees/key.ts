import { type EmployeeKey, qualified } from '../../directory/employee.ts'
import { HrUnavailableError, isOfHr } from '../../hr/source.ts'
import { within } from '../../lib/waiting.ts'
import { enterpriseCodes, findEmployees, present } from '../../sync/employee.ts'
import { message } from '../../texts/message.ts'
import { Problem } from '../problem.ts'
import type { Services } from '../services.ts'

/** The displayed name of an employee: the user id, preceded by the enterprise if there are several. */
export function employeeLabel({ enterpriseCode, userid }: EmployeeKey): string {
  return qualified(enterpriseCode, userid)
}

/** How long a page waits for HR to say which employee is meant. */
const HR_MS = 3000

/**
 * The employee whom an address names: `userid`, or `enterprise/userid`. HR is asked about one that dirsync does not know; while
 * it gives no answer, the deployment's own enterprise is assumed.
 * @throws Problem when several enterprises have a user id
 */
export async function resolveKey({ pool, config, hr }: Services, name: string): Promise<EmployeeKey> {
  const own = config.PLATFORM_ENTERPRISE_CODE
  const codes = await enterpriseCodes(pool, own)
  const slash = name.indexOf('/')
  if (slash >= 0) {
    const enterpriseCode = name.slice(0, slash)
    if (enterpriseCode === '' || [...codes, ...hr.codes].includes(enterpriseCode))
      return { enterpriseCode, userid: name.slice(slash + 1) }
  }
  const known = await findEmployees(pool, [name])
  const [first, second] = known.length > 0 ? known : await inHr()
  if (first && second)
    throw new Problem(
      'invalid',
      `${name} may be any of several employees: name one as ${employeeLabel(first)} or ${employeeLabel(second)}`,
    )
  return first ?? { enterpriseCode: own, userid: name }

  async function inHr(): Promise<EmployeeKey[]> {
    const options = { expected: (missing: EmployeeKey[]) => present(pool, missing), timeoutMs: HR_MS }
    try {
      return (
        await within(
          HR_MS,
          hr.find([name], codes, options),
          () => new HrUnavailableError(message('said.hr_late', { seconds: HR_MS / 1000 })),
        )
      ).keys
    } catch (error) {
      if (isOfHr(error)) return []
      throw error
    }
  }
}
