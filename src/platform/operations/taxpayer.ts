import { z } from 'zod'
import { rows, textOrNull, wholeOrNull } from '../answer-fields.ts'
import { enterpriseCode, text, whole, wholeOf } from '../fields.ts'
import { defineOperation } from '../operation.ts'

const MOST_PAGES = 2_147_483_647

const taxpayer = z.object({
  taxpayer_name: textOrNull,
  identifier: textOrNull,
  taxpayer_nature: wholeOrNull,
  status: wholeOrNull,
})

/** One page of taxpayers (section 4.13). */
export const taxpayerList = defineOperation({
  name: 'taxpayer/findList',
  idempotent: true,
  lookup: true,
  request: z.strictObject({
    identifier: text(45),
    enterprise_code: enterpriseCode.optional(),
    taxpayer_name: text(100).optional(),
    taxpayer_nature: wholeOf([1, 2], '1 (general taxpayer) or 2 (small-scale taxpayer; default)').optional(),
    page_no: whole(1, MOST_PAGES).optional(),
    page_size: whole(1, 100).optional(),
  }),
  response: z.object({
    total_count: wholeOrNull,
    has_next: z
      .boolean()
      .nullish()
      .transform(value => value ?? null),
    data_list: rows(taxpayer),
  }),
})

export type TaxpayerPageQuery = z.input<typeof taxpayerList.request>
export type Taxpayer = z.output<typeof taxpayer>
export type TaxpayerPage = z.output<typeof taxpayerList.response>
