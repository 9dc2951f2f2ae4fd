import type { Operation } from '../operation.ts'
import { applyTopUp } from './apply-top-up.ts'
import { bindOpenId } from './bind-openid.ts'
import { createToken } from './create-token.ts'
import { deleteDepartment } from './delete-department.ts'
import { getEmployee } from './get-employee.ts'
import { getOrder } from './get-order.ts'
import { getOrderRecord } from './get-order-record.ts'
import { listAccounts } from './list-accounts.ts'
import { listOrders } from './list-orders.ts'
import { listTaxpayers } from './list-taxpayers.ts'
import { queryToken } from './query-token.ts'
import { refundOrder } from './refund-order.ts'
import { updateEmployee } from './update-employee.ts'

/** Every emulated operation, in the order of the specification. */
const ALL: Operation[] = [
  ...[createToken, queryToken, updateEmployee, getEmployee, bindOpenId, deleteDepartment],
  ...[listOrders, getOrder, listAccounts, refundOrder, getOrderRecord, applyTopUp, listTaxpayers],
]

/** Every emulated operation by its name. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  ALL.map(operation => [operation.name, operation]),
)
