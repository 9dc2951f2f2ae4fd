import type { EmployeeKey } from '../core/employee.ts'
import type { EmployeeMemory } from '../store/settlement.ts'

/** What is remembered when the platform was not asked: nothing about its side. */
export function unasked(active: boolean): EmployeeMemory {
  return {
    active,
    acknowledgedHash: null,
    parkedHash: null,
    acknowledged: {},
    overwritten: {},
    withheld: [],
    platformState: 'unknown',
    deptCode: null,
  }
}

/** Parameters that name the employee on the platform; without an enterprise code for a single enterprise. */
export function employeeQuery(key: EmployeeKey): { userid: string; enterprise_code?: string } {
  return key.enterpriseCode === ''
    ? { userid: key.userid }
    : { userid: key.userid, enterprise_code: key.enterpriseCode }
}
