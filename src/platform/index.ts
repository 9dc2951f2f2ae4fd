/** The platform's client as a library: `dirsync/platform`. It needs no database and reads no setting. */

export type { CallOutcome, PaceRequest, Pacer, PacerSnapshot } from '../core/pacing.ts'
export type { CreatedToken, PlatformToken, TokenStore } from '../core/platform-token.ts'
export type { RefundVerdict } from '../core/refund-settlement.ts'
export {
  type CallOptions,
  type CallReport,
  type PaymentOrderListQuery,
  PlatformClient,
  type PlatformClientOptions,
  type TaxpayerListQuery,
  type UnsettledRefund,
} from './client.ts'
export { dispositionOf, type Verdict } from './error-catalogue.ts'
export { type FailureKind, OutcomeUnknownError, type ParameterProblem, PlatformError } from './errors.ts'
export { type NotificationFlaw, type RefundNotification, verifyNotification } from './notification.ts'
export type { DepartmentDeletion } from './operations/department-delete.ts'
export type { EmployeeQuery, PlatformEmployee } from './operations/employee-get.ts'
export type { OpenidBinding, OpenidQuery } from './operations/employee-openid.ts'
export type { EmployeeUpdate } from './operations/employee-update.ts'
export { OPERATIONS, type OperationName } from './operations/index.ts'
export type { LimitAccount, LimitAccountQuery } from './operations/limit-account.ts'
export type { OrderRecord, OrderRecordQuery } from './operations/order-record.ts'
export type {
  PaymentOrder,
  PaymentOrderDetail,
  PaymentOrderPage,
  PaymentOrderPageQuery,
  PaymentOrderQuery,
} from './operations/payment-order.ts'
export type { RefundRequest } from './operations/refund.ts'
export type { Taxpayer, TaxpayerPage, TaxpayerPageQuery } from './operations/taxpayer.ts'
export type { TokenAnswer } from './operations/token.ts'
export type { TopUpAnswer, TopUpApplication } from './operations/top-up.ts'
export { LocalPacer } from './pacer.ts'
export type { Disposition, FailureCategory } from './platform-codes.ts'
export { type SignAlgorithm, sign } from './signing.ts'
export * from './states.ts'
export { MemoryTokenStore } from './token.ts'
