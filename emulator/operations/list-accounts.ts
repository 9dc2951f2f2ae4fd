import { amountNumber } from '../amount.ts'
import { text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** Query enterprise limit accounts (specification 4.9). An account_openid that nobody has gives an empty list. */
export const listAccounts = defineOperation({
  name: 'assets/limit/enterprise/get',
  encoding: 'form',
  takesToken: true,
  parameters: object =>
    object({
      account_openid: text(1, 32).optional(),
      enterprise_code: text(1, 20).default(''),
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
