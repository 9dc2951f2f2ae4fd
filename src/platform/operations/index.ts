import type { Operation, OperationName } from '../operation.ts'
import { limitAccountGet, taxpayerList } from './account.ts'
import { departmentDelete, employeeGet, employeeOpenid, employeeUpdate } from './employee.ts'
import { refundCreate, topUpApply } from './money.ts'
import { orderRecordGet, paymentOrderGet, paymentOrderList } from './payment-order.ts'
import { tokenCreate, tokenInfo } from './token.ts'

/** The operations of section 4, by name. */
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

/** Calls per second of the operations with their own limit (section 8). */
export const OPERATION_BUDGETS: ReadonlyMap<string, number> = new Map(
  Object.values<Operation>(OPERATIONS).flatMap(({ name, perMinute }) =>
    perMinute === undefined ? [] : [[name, perMinute / 60] as const],
  ),
)

export type { OperationName }
