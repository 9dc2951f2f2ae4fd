import { type EmployeeKey, keyText } from '../core/employee.ts'
import type { HrSource } from '../hr/source.ts'
import { enterpriseCodes, findEmployees } from '../store/employee.ts'
import type { CommandContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'

/**
 * The one employee whom a person means by a user id, or `enterprise/userid`.
 * @param hr null when HR is away: then dirsync's own memory has to know
 * @throws FailedError when nobody knows such an employee, UsageError when several are meant
 */
export async function findEmployee(
  { pool, config }: CommandContext,
  hr: HrSource | null,
  name: string,
): Promise<EmployeeKey> {
  const known = await findEmployees(pool, [name])
  const inHr = hr
    ? await findInHr(hr, name, await enterpriseCodes(pool, config.PLATFORM_ENTERPRISE_CODE))
    : []
  const found = [...new Map([...known, ...inHr].map(key => [keyText(key), key])).values()]
  const [first, second] = found
  if (!first)
    throw new FailedError(
      hr
        ? `neither HR nor dirsync knows an employee ${name}`
        : `dirsync knows no employee ${name}, and HR cannot be asked`,
    )
  if (second) {
    const names = found.map(({ enterpriseCode, userid }) => `${enterpriseCode}/${userid}`)
    throw new UsageError(`${name} may be any of ${names.join(', ')}: name one of them`)
  }
  return first
}

async function findInHr(hr: HrSource, name: string, enterprises: string[]): Promise<EmployeeKey[]> {
  const slash = name.indexOf('/')
  const candidates = [
    ...enterprises.map(enterpriseCode => ({ enterpriseCode, userid: name })),
    // No run may have met the named enterprise yet.
    ...(slash > 0 ? [{ enterpriseCode: name.slice(0, slash), userid: name.slice(slash + 1) }] : []),
  ]
  const rows = await hr.lookup(candidates, { anyEnterprise: true })
  return candidates.filter(key => rows.has(keyText(key)))
}
