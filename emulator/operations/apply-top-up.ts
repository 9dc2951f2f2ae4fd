import { z } from 'zod'
import { BusinessError } from '../codes.ts'
import { decimal, integer, text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { applicationOpenId } from '../topups.ts'

/**
 * Apply for points top-up (specification 4.12). The account must be one of the enterprise's limit accounts and
 * valid; taxpayer and identifier, as far as given, must be those of one taxpayer that is not disabled; otherwise
 * 1000220002. An external_code that an application has gets 1000229003. The application is kept and changes no
 * balance: the money is yet to arrive.
 */
export const applyTopUp = defineOperation({
  name: 'enterprise/account/applyCharge',
  encoding: 'form',
  takesToken: true,
  parameters: object =>
    object({
      account_openid: text(1, 32),
      enterprise_code: text(1, 20).default(''),
      amount: decimal('0.01', '99999999.99'),
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
    if (platform.accounts.find(enterprise_code, account_openid)?.status !== 1) {
      throw new BusinessError('parameters', 'account_openid is that of no valid account')
    }
    if (!platform.taxpayers.hasNormal(enterprise_code, identifier, taxpayer)) {
      throw new BusinessError('parameters', 'taxpayer and identifier are those of no valid taxpayer')
    }
    platform.topups.requireFree(external_code)
    const apply_charge_openid = applicationOpenId(external_code)
    const time_created = platform.clock.timeText()
    platform.topups.put({
      external_code,
      enterprise_code,
      account_openid,
      amount,
      apply_charge_openid,
      time_created,
    })
    return { data: { apply_charge_openid, external_code } }
  },
})
