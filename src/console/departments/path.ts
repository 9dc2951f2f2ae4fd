/** The address of a department: itself, and what is below it. */
export function departmentPath(enterpriseCode: string, deptCode: string): string {
  const query = new URLSearchParams({
    under: deptCode,
    ...(enterpriseCode === '' ? {} : { enterprise: enterpriseCode }),
  })
  return `/departments?${query}`
}
