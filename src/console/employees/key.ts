import { type EmployeeKey, qualified } from '../../directory/employee.ts'
import { HrUnavailableError, isOfHr } from '../../hr/source.ts'
import type { Pool } from '../../lib/database.ts'
import { within } from '../../lib/waiting.ts'
import { UNRESOLVED } from '../../sync/cases/cases.ts'
import { enterpriseCodes, findEmployees, knownInHr } from '../../sync/outbox/employee.ts'
import { message } from '../../texts/message.ts'
import { Problem } from '../problem.ts'
import type { Services } from '../services.ts'

/** The displayed name of an employee: the user id, preceded by the enterprise if there are several. */
export function employeeLabel({ enterpriseCode, userid }: EmployeeKey): string {
  return qualified(enterpriseCode, userid)
}

/** How long a page waits for HR. */
export const HR_MS = 3000

export function hrLate(ms: number): HrUnavailableError {
  return new HrUnavailableError(message('said.hr_late', { seconds: ms / 1000 }))
}

/** What tells whom a person means. `hrMs`: how long HR may take for it, unless that is a page. */
export type Knows = Pick<Services, 'pool' | 'config' | 'hr'> & { hrMs?: number }

/**
 * The employee whom an address names: `userid`, or `enterprise/userid`. HR is asked about one that dirsync does not know; while
 * it gives no answer, the deployment's own enterprise is assumed.
 * @throws Problem when several enterprises have a user id
 */
export async function resolveKey(services: Knows, name: string): Promise<EmployeeKey> {
  const { config, hr } = services
  const own = config.PLATFORM_ENTERPRISE_CODE
  const slash = name.indexOf('/')
  if (slash >= 0) {
    const enterpriseCode = name.slice(0, slash)
    if (enterpriseCode === '' || [...(await codesOf(services)), ...hr.codes].includes(enterpriseCode))
      return { enterpriseCode, userid: name.slice(slash + 1) }
  }
  const { keys } = await employeesNamed(services, name)
  const [first, second] = keys
  if (first && second)
    throw new Problem(
      'invalid',
      message('said.may_be_several', { name, one: employeeLabel(first), other: employeeLabel(second) }),
    )
  return first ?? { enterpriseCode: own, userid: name }
}

/** Whom dirsync knows by this name, else HR; and the HR sources that give no answer. */
export async function employeesNamed(
  services: Knows,
  name: string,
): Promise<{ keys: EmployeeKey[]; silent: string[] }> {
  const { pool, hr, hrMs = HR_MS } = services
  const found = await findEmployees(pool, [name])
  // A row that no run plans has a case all the same.
  const known = found.length > 0 ? found : await namedInCase(pool, name)
  if (known.length > 0) return { keys: known, silent: [] }
  const options = { expected: (missing: EmployeeKey[]) => knownInHr(pool, missing), timeoutMs: hrMs }
  try {
    const finding = hr.find([name], await codesOf(services), options)
    const { keys, failures } = await within(hrMs, finding, () => hrLate(hrMs))
    return { keys, silent: failures.map(({ source }) => (source.name ? `HR source ${source.name}` : 'HR')) }
  } catch (error) {
    if (isOfHr(error)) return { keys: [], silent: ['HR'] }
    throw error
  }
}

/** Whom an unresolved case names so: `enterprise/userid`. */
async function namedInCase(db: Pool, name: string): Promise<EmployeeKey[]> {
  const slash = name.indexOf('/')
  if (slash < 0) return []
  const key = { enterpriseCode: name.slice(0, slash), userid: name.slice(slash + 1) }
  const { rowCount } = await db.query(
    `select from dirsync.dead_letter d
     where enterprise_code = $1 and entity = 'employee' and entity_key = $2 and ${UNRESOLVED} limit 1`,
    [key.enterpriseCode, key.userid],
  )
  return rowCount ? [key] : []
}

function codesOf({ pool, config }: Knows): Promise<string[]> {
  return enterpriseCodes(pool, config.PLATFORM_ENTERPRISE_CODE)
}
