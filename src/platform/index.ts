/** The platform's client as a library: `dirsync/platform`. It needs no database and reads no settings. */

export {
  type CallOutcome,
  CallsPausedError,
  type PaceRequest,
  type Pacer,
  PacerClosedError,
  type PacerSnapshot,
} from '../pacing/pacer.ts'
export { LocalPacer } from './caller.ts'
export {
  type CallOptions,
  type CallReport,
  type EveryRow,
  type PaymentOrderListQuery,
  PlatformClient,
  type PlatformClientOptions,
  type ShortList,
  type TaxpayerListQuery,
  type UnsettledRefund,
} from './client.ts'
export type { Disposition, FailureCategory } from './codes.ts'
export {
  dispositionOf,
  type FailureKind,
  OutcomeUnknownError,
  type ParameterProblem,
  PlatformError,
  type Verdict,
} from './errors.ts'
export {
  MAX_FORM_BYTES,
  type NotificationFlaw,
  type RefundNotification,
  verifyNotification,
} from './notification.ts'
export type {
  LimitAccount,
  LimitAccountQuery,
  Taxpayer,
  TaxpayerPage,
  TaxpayerPageQuery,
} from './operations/account.ts'
export type {
  DepartmentDeletion,
  EmployeeQuery,
  EmployeeUpdate,
  OpenidBinding,
  OpenidQuery,
  PlatformEmployee,
} from './operations/employee.ts'
export { OPERATIONS, type OperationName } from './operations/index.ts'
export type { RefundRequest, TopUpAnswer, TopUpApplication } from './operations/money.ts'
export type {
  OrderRecord,
  OrderRecordQuery,
  PaymentOrder,
  PaymentOrderDetail,
  PaymentOrderPage,
  PaymentOrderPageQuery,
  PaymentOrderQuery,
} from './operations/payment-order.ts'
export type { TokenAnswer } from './operations/token.ts'
export { type RefundVerdict, refundedAmount } from './refund-settlement.ts'
export { type SignAlgorithm, sign } from './request.ts'
export * from './states.ts'
export type { CreatedToken, PlatformToken, TokenStore } from './token.ts'
export { MemoryTokenStore, TokenFuseError } from './token.ts'
