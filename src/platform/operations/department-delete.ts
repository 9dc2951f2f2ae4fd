import { z } from 'zod'
import { enterpriseCode, text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** Delete a department (section 4.6). One that does not exist (1000220010) has reached its goal. */
export const departmentDelete = defineOperation({
  name: 'department/delete',
  idempotent: true,
  request: z.strictObject({ dept_code: text(50), enterprise_code: enterpriseCode.optional() }),
  /** The department code. */
  response: z.union([z.string(), z.number().transform(String), z.null().transform(() => '')]).default(''),
})

export type DepartmentDeletion = z.input<typeof departmentDelete.request>
