import { z } from 'zod'
import { answerText, enterpriseCode, text, thirdType, userid } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** Bind and query the open id of an employee for a merchant application (section 4.5). */
export const employeeOpenid = defineOperation({
  name: 'employee/openid',
  idempotent: true,
  request: z.strictObject({
    userid,
    enterprise_code: enterpriseCode.optional(),
    seller_appid: text(8),
    third_type: thirdType.optional(),
  }),
  response: z.object({ userid: answerText, open_userid: z.string().min(1), seller_appid: answerText }),
})

export type OpenidQuery = z.input<typeof employeeOpenid.request>

/** The binding (section 2.4); `open_userid` is what the merchant knows as `buyer_open_id`. */
export type OpenidBinding = z.output<typeof employeeOpenid.response>
