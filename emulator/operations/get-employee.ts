import type { z } from 'zod'
import { BusinessError } from '../codes.ts'
import type { Employee } from '../employees.ts'
import { integer, type ObjectSchema, text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import type { Platform } from '../platform.ts'

const DEFAULT_MOBILE_AREA = 86

const parameters = (object: ObjectSchema) =>
  object({
    userid: text(1, 100).optional(),
    enterprise_code: text(1, 20).default(''),
    mobile_area: integer(0, 9_999_999_999).default(DEFAULT_MOBILE_AREA),
    mobile: text(6, 20).optional(),
    email: text(1, 100).optional(),
  })

/**
 * Query employee (specification 4.4). Where more than one of userid, mobile and email is given, one employee
 * must fit them all. The answer has neither employee_attribute nor cost_center_id, and level and category are
 * null while their feature is off.
 */
export const getEmployee = defineOperation({
  name: 'employee/get',
  encoding: 'form',
  takesToken: true,
  parameters,
  perform(platform, query) {
    if (query.userid === undefined && query.mobile === undefined && query.email === undefined) {
      throw new BusinessError('parameters', 'at least one of userid, mobile and email is required')
    }
    const features = platform.enterprises.require(query.enterprise_code)
    const employee = findOne(platform, query)
    const { enterprise_code, employee_attribute, cost_center_id, in_service, ...answer } = employee
    const department = employee.dept_code && platform.departments.find(enterprise_code, employee.dept_code)
    return {
      data: {
        ...answer,
        dept_name: department ? department.dept_name : null,
        level: features.level ? employee.level : null,
        category: features.category ? employee.category : null,
      },
    }
  },
})

function findOne(platform: Platform, query: z.output<ReturnType<typeof parameters>>): Employee {
  const { enterprise_code, userid, mobile_area, mobile, email } = query
  const found = new Set<string | undefined>()
  let employee: Employee | undefined
  if (email !== undefined) {
    employee = platform.employees.findByEmail(enterprise_code, email)
    found.add(employee?.userid)
  }
  if (mobile !== undefined) {
    employee = platform.employees.findByMobile(enterprise_code, mobile_area, mobile)
    found.add(employee?.userid)
  }
  if (userid !== undefined) {
    employee = platform.employees.require(enterprise_code, userid)
    found.add(employee.userid)
  }
  if (employee === undefined || found.size > 1) throw new BusinessError('employeeMissing')
  return employee
}
