import { keyText } from '../directory/employee.ts'
import { parseActive } from '../directory/field-rules.ts'
import { beginning, fits, trimText } from '../lib/text.ts'
import { type Message, message } from '../texts/message.ts'
import { HrDataError } from './errors.ts'
import { DEPARTMENT_COLUMNS } from './mapping.ts'
import type { HrReader, HrServer, HrValues } from './server.ts'
import type { MappedColumn, Mapping } from './statement.ts'

/** One department of the departments' mapping. */
export interface HrDepartmentRow {
  enterpriseCode: string
  deptCode: string
  /** Null for a top-level department. */
  parentCode: string | null
  active: boolean
  /** When it was closed; null when it is open, or `closed_at` is not mapped. */
  closedAt: Date | null
}

/** The number of active employees in a department. */
export interface DepartmentCount {
  enterpriseCode: string
  deptCode: string
  employees: number
}

/** All departments, and the number of active employees in each that has any. */
export interface DepartmentsInHr {
  departments: HrDepartmentRow[]
  employees: DepartmentCount[]
  /** Fingerprint of the mapping by which employees were counted. */
  mapping: string
}

/** Reads and checks all departments. */
export async function readDepartments(
  reader: HrReader,
  mapping: Mapping,
  defaultEnterprise: string,
): Promise<HrDepartmentRow[]> {
  const rows = await reader.rows({ mapping, columns: DEPARTMENT_COLUMNS, defaultEnterprise })
  return checkDepartments(mapping.file, rows)
}

/** Counts the active employees of each department that has any; an unclear `active` counts as active. */
export async function countEmployees(
  reader: HrReader,
  mapping: Mapping,
  defaultEnterprise: string,
): Promise<DepartmentCount[]> {
  const columns = ['enterprise_code', 'dept_code', 'active']
  const rows = await reader.rows({ mapping, columns, defaultEnterprise, counted: true })
  const counts = new Map<string, DepartmentCount>()
  for (const [enterprise, department, active, count] of rows) {
    const deptCode = trimText(department ?? '')
    if (deptCode === '' || parseActive(active) === false) continue
    const enterpriseCode = enterprise ?? ''
    const key = keyOf(enterpriseCode, deptCode)
    const entry = counts.get(key) ?? { enterpriseCode, deptCode, employees: 0 }
    entry.employees += Number(count)
    counts.set(key, entry)
  }
  return [...counts.values()]
}

/** The names of some departments, by `keyText` of enterprise and code. A department without a name is missing. */
export async function namesOfDepartments(
  {
    server,
    mapping,
    defaultEnterprise,
  }: {
    server: Pick<HrServer, 'reader' | 'keyComparison'>
    mapping: Mapping
    defaultEnterprise: string
  },
  wanted: readonly { enterpriseCode: string; deptCode: string }[],
  timeoutMs: number,
): Promise<Map<string, string>> {
  const comparison = server.keyComparison((mapping.columns.get('dept_code') as MappedColumn).type)
  const codes = [...new Set(wanted.map(({ deptCode }) => deptCode))]
  const values = comparison ? codes.filter(code => comparison.holds(code)) : codes
  if (values.length === 0) return new Map()
  const where = [{ column: 'dept_code', by: comparison ? 'type' : 'text', values } as const]
  const columns = ['enterprise_code', 'dept_code', 'name']
  const rows = await server.reader.rows({ mapping, columns, defaultEnterprise, where }, timeoutMs)
  const named = rows.map(([enterprise, code, name]): [string, string] => [
    keyText({ enterpriseCode: enterprise ?? '', userid: trimText(code ?? '') }),
    trimText(name ?? ''),
  ])
  return new Map(named.filter(([, name]) => name !== ''))
}

/** An error that makes all departments of HR unusable until it is fixed. */
export interface DepartmentProblem {
  rule: 'required' | 'too_long' | 'duplicate' | 'active' | 'closed_at' | 'cycle'
  /** The codes concerned; of a cycle, in their order. */
  codes: string[]
  message: Message
}

/** Departments from rows with the columns of a departments' mapping. Throws an HrDataError that names all problems. */
function checkDepartments(file: string, rows: HrValues[]): HrDepartmentRow[] {
  const { departments, problems } = examineDepartments(rows)
  if (problems.length > 0) throw new HrDataError(file, shortened(problems.map(problem => problem.message)))
  return departments
}

/** The usable departments, and all problems of the others. */
export function examineDepartments(rows: HrValues[]): {
  departments: HrDepartmentRow[]
  problems: DepartmentProblem[]
} {
  const departments = new Map<string, HrDepartmentRow>()
  const problems: DepartmentProblem[] = []
  let nameless = 0
  for (const [enterprise, code, parent, activeText, closed] of rows) {
    const deptCode = trimText(code ?? '')
    const enterpriseCode = enterprise ?? ''
    const active = parseActive(activeText)
    const closedAt = closed ? new Date(Number(closed) * 1000) : null
    const problem = (rule: DepartmentProblem['rule'], what: Message, shown = deptCode) =>
      problems.push({ rule, codes: [shown], message: what })
    if (deptCode === '') nameless += 1
    else if (!fits(deptCode, 50)) {
      const shown = `${beginning(deptCode, 50)}…`
      problem('too_long', message('said.department_too_long', { code: shown }), shown)
    } else if (departments.has(keyOf(enterpriseCode, deptCode)))
      problem('duplicate', message('said.department_twice', { code: deptCode }))
    else if (active === undefined) problem('active', message('said.department_active', { code: deptCode }))
    else if (Number.isNaN(closedAt?.getTime()))
      problem('closed_at', message('said.department_closed_at', { code: deptCode }))
    else {
      const parentCode = trimText(parent ?? '') || null
      const department = { enterpriseCode, deptCode, parentCode, active, closedAt }
      departments.set(keyOf(enterpriseCode, deptCode), department)
    }
  }
  if (nameless > 0)
    problems.push({
      rule: 'required',
      codes: Array<string>(nameless).fill(''),
      message: message('said.departments_nameless', { rows: nameless }),
    })
  for (const codes of cycles(departments))
    problems.push({
      rule: 'cycle',
      codes,
      message: message('said.departments_cycle', { path: codes.join(' → ') }),
    })
  return { departments: [...departments.values()], problems }
}

/** Every cycle of parents once, as codes from its first department back to it. */
function cycles(departments: ReadonlyMap<string, HrDepartmentRow>): string[][] {
  const done = new Set<HrDepartmentRow>()
  const found: string[][] = []
  for (const start of departments.values()) {
    const path = new Set<HrDepartmentRow>()
    let at: HrDepartmentRow | undefined = start
    while (at && !done.has(at) && !path.has(at)) {
      path.add(at)
      at = at.parentCode === null ? undefined : departments.get(keyOf(at.enterpriseCode, at.parentCode))
    }
    if (at && !done.has(at)) {
      const way = [...path]
      found.push([...way.slice(way.indexOf(at)), at].map(({ deptCode }) => deptCode))
    }
    for (const department of path) done.add(department)
  }
  return found
}

function keyOf(enterpriseCode: string, deptCode: string): string {
  return JSON.stringify([enterpriseCode, deptCode])
}

function shortened(problems: Message[]): Message {
  const first = problems.slice(0, 5)
  return problems.length === first.length
    ? message('said.problems', { problems })
    : message('said.problems_and_more', { problems: first, count: problems.length - first.length })
}
