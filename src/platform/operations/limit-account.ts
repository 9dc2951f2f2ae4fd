import { z } from 'zod'
import { decimalOrNull, listOrNull, textOrNull, wholeOrNull } from '../answer-fields.ts'
import { enterpriseCode, text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** A sub-account (section 2.7). Its id is a text: it may have more digits than a number holds. */
const subLimit = z.object({ id: textOrNull, name: textOrNull, status: wholeOrNull })

const limitAccount = z.object({
  account_openid: textOrNull,
  name: textOrNull,
  product_category: wholeOrNull,
  balance: decimalOrNull,
  status: wholeOrNull,
  sub_limits: listOrNull(subLimit),
})

/** The enterprise's limit accounts, all of them or one (section 4.9). */
export const limitAccountGet = defineOperation({
  name: 'assets/limit/enterprise/get',
  idempotent: true,
  lookup: true,
  decimals: true,
  request: z.strictObject({
    account_openid: text(32).optional(),
    enterprise_code: enterpriseCode.optional(),
  }),
  response: z
    .array(limitAccount)
    .nullish()
    .transform(accounts => accounts ?? []),
})

export type LimitAccountQuery = z.input<typeof limitAccountGet.request>

/** A limit account; `balance` is a decimal text, `sub_limits` null when the platform gives none. */
export type LimitAccount = z.output<typeof limitAccount>
