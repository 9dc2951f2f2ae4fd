import { type EmployeeKey, qualified } from '../../directory/employee.ts'

/* Addresses of pages that many others link to. */

export function employeePath({ enterpriseCode, userid }: EmployeeKey): string {
  // A user id may contain a slash: then the enterprise is always given, even if it is empty.
  const name = userid.includes('/') ? `${enterpriseCode}/${userid}` : qualified(enterpriseCode, userid)
  return `/employees/${encodeURIComponent(name)}`
}

/** The address of a department: itself, and what is below it. */
export function departmentPath(enterpriseCode: string, deptCode: string): string {
  const query = new URLSearchParams({
    under: deptCode,
    ...(enterpriseCode === '' ? {} : { enterprise: enterpriseCode }),
  })
  return `/departments?${query}`
}

/** The page of a mapping. @param source of HR; empty where there is only one */
export function mappingPath(source: string): string {
  return source === '' ? '/mapping' : `/mapping?source=${encodeURIComponent(source)}`
}
