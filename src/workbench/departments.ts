import { qualified } from '../directory/employee.ts'
import type { DepartmentProblem, HrDepartmentRow } from '../hr/departments.ts'
import type { HrEmployeeRow } from '../hr/source.ts'
import { trimText } from '../lib/text.ts'
import { DistinctCounter, SAMPLES } from './columns.ts'

/** Problems of HR's departments, on their own and with their employees. */
export interface DepartmentFigures {
  departments: number
  closed: number
  findings: DepartmentFinding[]
}

export interface DepartmentFinding {
  kind:
    | DepartmentProblem['rule']
    /** Its parent is not among the departments. */
    | 'no_parent'
    /** Active employees are in departments that HR does not map. */
    | 'unknown'
    /** The same, but HR has their codes under another enterprise, and the departments' mapping names no enterprises. */
    | 'elsewhere'
    /** The same, and it is the employees' mapping that names no enterprises. */
    | 'employees_elsewhere'
    /** Active employees are in departments that HR marks closed. */
    | 'closed_with_employees'
    /** Closed and without a parent: if it is the platform's base department, it can never be deleted. */
    | 'closed_top'
  /** Number of departments; for those of employees that HR does not map possibly an estimate. */
  count: number
  isExact: boolean
  /** Active employees in them, where those are the problem. */
  employees: number | null
  /** Codes of some; of a cycle joined by arrows. */
  samples: string[]
}

/** Findings that the platform might merely refuse, without an error in HR. */
export const DEPARTMENT_HINTS: ReadonlySet<DepartmentFinding['kind']> = new Set(['closed_top'])

/** Departments of active employees that HR does not map, or only under another enterprise. */
const UNKNOWN = ['unknown', 'elsewhere', 'employees_elsewhere'] as const

/** Those of one kind. */
interface Unknown {
  departments: DistinctCounter
  samples: Set<string>
  employees: number
}

/** A mapping, as far as its columns tell whether it names enterprises. */
interface Mapped {
  columns: Pick<ReadonlyMap<string, unknown>, 'has'>
}

/** Counts the active employees of each department. */
export class DepartmentCollector {
  readonly #departments: HrDepartmentRow[]
  readonly #problems: DepartmentProblem[]
  readonly #employees = new Map<string, number>()
  /** Of all enterprises. */
  readonly #codes: ReadonlySet<string>
  /** What it is to be in a department whose code HR has under another enterprise. */
  readonly #elsewhere: (typeof UNKNOWN)[number]
  readonly #unknown: Record<(typeof UNKNOWN)[number], Unknown>

  /** @param seed of this process */
  constructor(
    {
      departments,
      problems,
      columns,
    }: Mapped & { departments: HrDepartmentRow[]; problems: DepartmentProblem[] },
    employees: Mapped,
    seed: number,
  ) {
    this.#departments = departments
    this.#problems = problems
    for (const department of departments) this.#employees.set(keyOf(department), 0)
    this.#codes = new Set(departments.map(({ deptCode }) => deptCode))
    const none = () => ({ departments: new DistinctCounter(seed), samples: new Set<string>(), employees: 0 })
    this.#unknown = { unknown: none(), elsewhere: none(), employees_elsewhere: none() }
    // Where both name enterprises, each may have a department of the same code.
    const lacksEmployees = employees.columns.has('enterprise_code') ? 'unknown' : 'employees_elsewhere'
    this.#elsewhere = columns.has('enterprise_code') ? lacksEmployees : 'elsewhere'
  }

  add(row: HrEmployeeRow, isActive: boolean): void {
    const deptCode = trimText(row.dept_code ?? '')
    if (!isActive || deptCode === '') return
    const enterpriseCode = row.enterprise_code ?? ''
    const key = keyOf({ enterpriseCode, deptCode })
    const employees = this.#employees.get(key)
    if (employees !== undefined) {
      this.#employees.set(key, employees + 1)
      return
    }
    const found = this.#unknown[this.#codes.has(deptCode) ? this.#elsewhere : 'unknown']
    found.employees += 1
    found.departments.add(key)
    if (found.samples.size < SAMPLES) found.samples.add(qualified(enterpriseCode, deptCode))
  }

  get result(): DepartmentFigures {
    const closed = this.#departments.filter(({ active }) => !active)
    const employeesOf = (department: HrDepartmentRow) => this.#employees.get(keyOf(department)) ?? 0
    const busy = closed.filter(department => employeesOf(department) > 0)
    const orphans = this.#departments.filter(
      ({ enterpriseCode, parentCode }) =>
        parentCode !== null && !this.#employees.has(keyOf({ enterpriseCode, deptCode: parentCode })),
    )
    const unknown = (kind: (typeof UNKNOWN)[number]) => {
      const { departments, samples, employees } = this.#unknown[kind]
      return { kind, ...departments.result, employees, samples: [...samples] }
    }
    return {
      departments: this.#departments.length,
      closed: closed.length,
      findings: [
        ...problemFindings(this.#problems),
        finding(
          'no_parent',
          orphans.map(({ deptCode, parentCode }) => `${deptCode} → ${parentCode}`),
        ),
        ...UNKNOWN.map(unknown),
        {
          ...finding(
            'closed_with_employees',
            busy.map(({ deptCode }) => deptCode),
          ),
          employees: busy.reduce((sum, department) => sum + employeesOf(department), 0),
        },
        finding(
          'closed_top',
          closed.filter(({ parentCode }) => parentCode === null).map(({ deptCode }) => deptCode),
        ),
      ].filter(({ count }) => count > 0),
    }
  }
}

function problemFindings(problems: DepartmentProblem[]): DepartmentFinding[] {
  const byRule = Map.groupBy(problems, ({ rule }) => rule)
  return [...byRule].map(([rule, found]) =>
    rule === 'required'
      ? {
          ...finding(
            rule,
            found.flatMap(({ codes }) => codes),
          ),
          samples: [],
        }
      : finding(
          rule,
          found.map(({ codes }) => codes.join(' → ')),
        ),
  )
}

function finding(kind: DepartmentFinding['kind'], codes: string[]): DepartmentFinding {
  return { kind, count: codes.length, isExact: true, employees: null, samples: codes.slice(0, SAMPLES) }
}

function keyOf({ enterpriseCode, deptCode }: { enterpriseCode: string; deptCode: string }): string {
  return `${enterpriseCode}\0${deptCode}`
}
