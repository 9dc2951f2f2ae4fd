/** The operations of the specification's section 4. */
export const OPERATION_NAMES = [
  'token/create',
  'token/getTokenInfo',
  'employee/update',
  'employee/get',
  'employee/openid',
  'department/delete',
  'enterprise/consume/list',
  'enterprise/consume/get',
  'assets/limit/enterprise/get',
  'seller/v3/pay/syncRefund',
  'seller/pay/record',
  'enterprise/account/applyCharge',
  'taxpayer/findList',
] as const

export type OperationName = (typeof OPERATION_NAMES)[number]
