import { z } from 'zod'
import { worded } from '../../texts/message.ts'
import {
  decimalOrNull,
  enterpriseCode,
  listOrNull,
  text,
  textOrNull,
  whole,
  wholeOf,
  wholeOrNull,
} from '../fields.ts'
import { defineOperation, isAsked } from '../operation.ts'

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
  decimals: true,
  request: z.strictObject({
    account_openid: text(32).optional(),
    enterprise_code: enterpriseCode.optional(),
  }),
  /** Null is not the same as no accounts: mirrors mark nothing gone then. */
  response: z.array(limitAccount).nullable(),
})

export type LimitAccountQuery = z.input<typeof limitAccountGet.request>

/** A limit account; `balance` is a decimal text, `sub_limits` null when the platform returns none. */
export type LimitAccount = z.output<typeof limitAccount>

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
  request: z.strictObject({
    identifier: text(45),
    enterprise_code: enterpriseCode.optional(),
    taxpayer_name: text(100).optional(),
    taxpayer_nature: wholeOf([1, 2], worded('said.must_be_nature')).optional(),
    page_no: whole(1, MOST_PAGES).optional(),
    page_size: whole(1, 100).optional(),
  }),
  /** Null is not the same as no taxpayers, as of limit accounts. */
  response: z
    .object({
      total_count: wholeOrNull,
      has_next: z
        .boolean()
        .nullish()
        .transform(value => value ?? null),
      data_list: z.array(taxpayer).nullable(),
    })
    .nullable()
    .transform(page => page ?? { total_count: null, has_next: null, data_list: null }),
  isAbout: ({ identifier }, { data_list }) =>
    !data_list?.length || data_list.some(row => isAsked(identifier, row.identifier)),
})

export type TaxpayerPageQuery = z.input<typeof taxpayerList.request>
export type Taxpayer = z.output<typeof taxpayer>
export type TaxpayerAnswer = z.output<typeof taxpayerList.response>
/** The same, empty where the platform says null. */
export type TaxpayerPage = Omit<TaxpayerAnswer, 'data_list'> & { data_list: Taxpayer[] }
