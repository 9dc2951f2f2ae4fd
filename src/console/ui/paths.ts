import { type EmployeeKey, qualified } from '../../directory/employee.ts'
import { type CaseFilter, filterQuery } from '../../sync/cases/case-filter.ts'
import { FOR_A_PERSON } from '../../sync/cases/cases.ts'

/* Addresses of pages that many others link to. */

/**
 * A key as a part of an address. Proxies take `%2F` for a separator, or refuse it; so a slash is `~1`, and a tilde `~0`, as in a
 * JSON Pointer.
 */
export function inPath(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
}

/** The key of a part of an address, which the router has decoded. */
export function fromPath(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

export function employeePath({ enterpriseCode, userid }: EmployeeKey): string {
  // A user id may contain a slash: then the enterprise is always given, even if it is empty.
  const name = userid.includes('/') ? `${enterpriseCode}/${userid}` : qualified(enterpriseCode, userid)
  return `/employees/${inPath(name)}`
}

/** The list of the cases that match. */
export function casesPath(filter: CaseFilter): string {
  return `/cases?${filterQuery(filter)}`
}

/** The cases that need a person, as the overview counts them. */
export function casesForAPerson(filter: CaseFilter = {}): string {
  return casesPath({ ...filter, states: [...FOR_A_PERSON] })
}

/** The address of a department: itself, and what is below it. */
export function departmentPath(enterpriseCode: string, deptCode: string): string {
  const query = new URLSearchParams({
    under: deptCode,
    ...(enterpriseCode === '' ? {} : { enterprise: enterpriseCode }),
  })
  return `/departments?${query}`
}

/** The payment orders of a number, or of an employee. */
export function ordersPath(of: string | EmployeeKey): string {
  const query =
    typeof of === 'string' ? { number: of } : { employee: of.userid, enterprise: of.enterpriseCode }
  return `/mirrors/orders?${new URLSearchParams(query)}`
}

/** The page of a mapping. @param source of HR; empty where there is only one */
export function mappingPath(source: string): string {
  return source === '' ? '/mapping' : `/mapping?source=${encodeURIComponent(source)}`
}
