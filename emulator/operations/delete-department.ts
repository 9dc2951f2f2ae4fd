import { text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** Delete department (specification 4.6); see `Departments.delete` for one that is not empty. */
export const deleteDepartment = defineOperation({
  name: 'department/delete',
  encoding: 'form',
  takesToken: true,
  parameters: object =>
    object({
      enterprise_code: text(1, 20).default(''),
      dept_code: text(1, 50),
    }),
  perform(platform, { enterprise_code, dept_code }) {
    platform.enterprises.require(enterprise_code)
    return { data: dept_code, effect: platform.departments.delete(enterprise_code, dept_code) }
  },
})
