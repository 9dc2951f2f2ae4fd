import { z } from 'zod'
import { answerInteger, answerText, email, enterpriseCode, mobile, mobileArea, userid } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** Query an employee in service (section 4.4). */
export const employeeGet = defineOperation({
  name: 'employee/get',
  idempotent: true,
  lookup: true,
  request: z
    .strictObject({
      userid: userid.optional(),
      enterprise_code: enterpriseCode.optional(),
      mobile_area: mobileArea.optional(),
      mobile: mobile.optional(),
      email: email.optional(),
    })
    .refine(
      query => query.userid !== undefined || query.mobile !== undefined || query.email !== undefined,
      'needs at least one of userid, mobile and email',
    ),
  response: z.object({
    userid: answerText,
    corp_code: answerText,
    name: answerText,
    gender: answerInteger,
    card_type: answerInteger,
    card_no: answerText,
    email: answerText,
    mobile_area: answerText,
    mobile: answerText,
    remark: answerText,
    dept_code: answerText,
    dept_name: answerText,
    level: answerText,
    category: z.array(z.string()).nullish(),
    birth_day: answerText,
    entry_day: answerText,
    time_created: answerText,
    time_active: answerText,
  }),
})

export type EmployeeQuery = z.input<typeof employeeGet.request>

/** An employee as the platform returns it. `level` and `category` are null while their feature is off (section 2.3). */
export type PlatformEmployee = z.output<typeof employeeGet.response>
