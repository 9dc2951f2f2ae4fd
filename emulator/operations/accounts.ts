import { z } from 'zod'
import { derivedId } from '../employees.ts'
import { BusinessError } from '../errors.ts'
import { amountNumber, decimal, enterpriseCode, integer, text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** Query enterprise limit accounts (section 4.9). An unknown account_openid gives an empty list. */
export const listAccounts = defineOperation({
  name: 'assets/limit/enterprise/get',
  parameters: object =>
    object({
      account_openid: text(1, 32).optional(),
      enterprise_code: enterpriseCode,
    }),
  perform(platform, { account_openid, enterprise_code }) {
    platform.enterprises.require(enterprise_code)
    const accounts = platform.accounts
      .list(enterprise_code)
      .filter(account => account_openid === undefined || account.account_openid === account_openid)
    return {
      data: accounts.map(({ name, product_category, balance, status, sub_limits, ...account }) => ({
        account_openid: account.account_openid,
        name,
        product_category,
        balance: amountNumber(balance),
        status,
        ...(sub_limits && { sub_limits }),
      })),
    }
  },
})

/**
 * Apply for points top-up (section 4.12). Where the enterprise holds limit accounts, the account must be one of them and
 * valid; where it holds taxpayers, taxpayer and identifier, as far as given, must be those of one that is not disabled;
 * otherwise 1000220002. An external_code that an application has gets 1000229003. The application is kept and changes no
 * balance: the money is yet to arrive.
 */
export const applyTopUp = defineOperation({
  name: 'enterprise/account/applyCharge',
  parameters: object =>
    object({
      account_openid: text(1, 32),
      enterprise_code: enterpriseCode,
      amount: decimal('0.01', '9999999999999.99'),
      service_provider: integer(0, 2_147_483_647),
      email: text(1, 254).optional(),
      mobile: z
        .string()
        .regex(/^1\d{10}$/, 'must be a mainland mobile number')
        .optional(),
      applicant_name: text(1, 100).optional(),
      external_code: text(30, 100),
      taxpayer: text(1, 100).optional(),
      identifier: text(1, 45).optional(),
      remark: text(1, 150).optional(),
      invoice_extr_remark: text(1, 150).optional(),
      invoice_remark: text(1, 150).optional(),
    }),
  perform(platform, { enterprise_code, account_openid, external_code, amount, taxpayer, identifier }) {
    platform.requireOwnNumber('external_code', external_code)
    if (taxpayer === undefined && identifier === undefined) {
      throw new BusinessError('parameters', 'one of taxpayer and identifier is required')
    }
    platform.enterprises.require(enterprise_code)
    if (!platform.accounts.accepts(enterprise_code, account_openid)) {
      throw new BusinessError('parameters', 'account_openid is that of no valid account')
    }
    if (!platform.taxpayers.accepts(enterprise_code, identifier, taxpayer)) {
      throw new BusinessError('parameters', 'taxpayer and identifier are those of no valid taxpayer')
    }
    platform.topups.requireFree(external_code)
    const apply_charge_openid = derivedId(external_code)
    const made = { apply_charge_openid, time_created: platform.clock.timeText() }
    platform.topups.put({ external_code, enterprise_code, account_openid, amount, ...made })
    return { data: { apply_charge_openid, external_code } }
  },
})

/** Taxpayer list query (section 4.13): of one identifier and, when it is given, one name. */
export const listTaxpayers = defineOperation({
  name: 'taxpayer/findList',
  parameters: object =>
    object({
      enterprise_code: enterpriseCode,
      identifier: text(1, 45),
      taxpayer_name: text(1, 100).optional(),
      taxpayer_nature: integer(1, 2).default(2),
      page_no: integer(1, 2_147_483_647).default(1),
      page_size: integer(1, 100).default(50),
    }),
  perform(platform, query) {
    const { enterprise_code, page_no, page_size } = query
    platform.enterprises.require(enterprise_code)
    const filter = {
      enterpriseCode: enterprise_code,
      identifier: query.identifier,
      name: query.taxpayer_name,
      nature: query.taxpayer_nature,
    }
    const { total, taxpayers } = platform.taxpayers.page(filter, page_no, page_size)
    const data_list = taxpayers.map(({ taxpayer_name, identifier, taxpayer_nature, status }) => ({
      taxpayer_name,
      identifier,
      taxpayer_nature,
      status,
    }))
    return { data: { total_count: total, has_next: page_no * page_size < total, data_list } }
  },
})
