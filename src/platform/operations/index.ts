import type { OperationName } from '../../core/operation-name.ts'
import type { Operation } from '../operation.ts'
import { departmentDelete } from './department-delete.ts'
import { employeeGet } from './employee-get.ts'
import { employeeOpenid } from './employee-openid.ts'
import { employeeUpdate } from './employee-update.ts'
import { limitAccountGet } from './limit-account.ts'
import { orderRecordGet } from './order-record.ts'
import { paymentOrderGet, paymentOrderList } from './payment-order.ts'
import { refundCreate } from './refund.ts'
import { taxpayerList } from './taxpayer.ts'
import { tokenCreate, tokenInfo } from './token.ts'
import { topUpApply } from './top-up.ts'

/** The operations of the specification's section 4, by name. */
export const OPERATIONS = {
  'token/create': tokenCreate,
  'token/getTokenInfo': tokenInfo,
  'employee/update': employeeUpdate,
  'employee/get': employeeGet,
  'employee/openid': employeeOpenid,
  'department/delete': departmentDelete,
  'enterprise/consume/list': paymentOrderList,
  'enterprise/consume/get': paymentOrderGet,
  'assets/limit/enterprise/get': limitAccountGet,
  'seller/v3/pay/syncRefund': refundCreate,
  'seller/pay/record': orderRecordGet,
  'enterprise/account/applyCharge': topUpApply,
  'taxpayer/findList': taxpayerList,
} as const satisfies Record<OperationName, unknown>

/** Calls per second of the operations that have a limit of their own (section 8). */
export const OPERATION_BUDGETS: ReadonlyMap<string, number> = new Map(
  Object.values<Operation>(OPERATIONS).flatMap(({ name, perMinute }) =>
    perMinute === undefined ? [] : [[name, perMinute / 60] as const],
  ),
)

export type { OperationName }
