import { z } from 'zod'
import { answerText, decimal, enterpriseCode, externalNumber, text, whole } from '../fields.ts'
import { defineOperation, foreignNumbers } from '../operation.ts'

/** Apply for a top-up of enterprise points (section 4.12). */
export const topUpApply = defineOperation({
  name: 'enterprise/account/applyCharge',
  idempotent: false,
  decimals: true,
  request: z
    .strictObject({
      account_openid: text(32),
      enterprise_code: enterpriseCode.optional(),
      amount: decimal('0.01', '999999999999.99'),
      service_provider: whole(0, 2_147_483_647),
      email: text(254).optional(),
      mobile: z
        .string()
        .regex(/^1\d{10}$/, 'must be a mainland mobile number of 11 digits')
        .optional(),
      applicant_name: text(100).optional(),
      external_code: externalNumber(100, 30),
      taxpayer: text(100).optional(),
      identifier: text(45).optional(),
      remark: text(150).optional(),
      invoice_extr_remark: text(150).optional(),
      invoice_remark: text(150).optional(),
    })
    .refine(
      application => application.taxpayer !== undefined || application.identifier !== undefined,
      // Whatever else is wrong, so that everything is told at once.
      { message: 'needs one of taxpayer and identifier', when: () => true },
    ),
  /** Success is success, even if the answer does not repeat the numbers: they are empty then. */
  response: z
    .object({ apply_charge_openid: answerText, external_code: answerText })
    .nullish()
    .transform(data => ({
      apply_charge_openid: data?.apply_charge_openid ?? '',
      external_code: data?.external_code ?? '',
    })),
  check: ({ external_code }, { appId }) => foreignNumbers(appId, { external_code }),
})

/** `amount` is a decimal text. */
export type TopUpApplication = z.input<typeof topUpApply.request>
export type TopUpAnswer = z.output<typeof topUpApply.response>
