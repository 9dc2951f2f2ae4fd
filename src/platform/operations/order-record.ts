import { z } from 'zod'
import { decimalOrNull, textOrNull, timeOrNull, wholeOrNull } from '../answer-fields.ts'
import { externalNumber } from '../fields.ts'
import { defineOperation, foreignNumbers } from '../operation.ts'

const orderRecord = z.object({
  outer_trade_no: textOrNull,
  reason: textOrNull,
  pay_amount: decimalOrNull,
  refund_amount: decimalOrNull,
  status: wholeOrNull,
  refund_time: timeOrNull,
  pay_time: timeOrNull,
})

/** A merchant's order by its external trade number (section 4.11). */
export const orderRecordGet = defineOperation({
  name: 'seller/pay/record',
  idempotent: true,
  lookup: true,
  decimals: true,
  request: z.strictObject({ outer_trade_no: externalNumber(30, 10) }),
  /** The record of section 2.8, or the bare trade number that the description promises. */
  response: z.union([orderRecord, z.string().min(1), z.number().transform(String)]),
  check: ({ outer_trade_no }, { appId }) => foreignNumbers(appId, { outer_trade_no }),
})

export type OrderRecordQuery = z.input<typeof orderRecordGet.request>
export type OrderRecord = z.output<typeof orderRecord>
