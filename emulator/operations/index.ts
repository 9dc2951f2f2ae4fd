import { defineOperation, type Operation } from '../operation.ts'
import { applyTopUp, listAccounts, listTaxpayers } from './accounts.ts'
import { bindOpenId, deleteDepartment, getEmployee, updateEmployee } from './directory.ts'
import { getOrder, getOrderRecord, listOrders, refundOrder } from './orders.ts'

/** Create token (section 4.1): at most 60 per hour. */
const createToken = defineOperation({
  name: 'token/create',
  takesToken: false,
  limit: 'tokenCreations',
  parameters: object => object({}),
  perform: platform => ({ data: platform.tokens.create() }),
})

/** Query token (section 4.2): what is left of the token that the call carries. At most 60 per minute. */
const queryToken = defineOperation({
  name: 'token/getTokenInfo',
  limit: 'tokenQueries',
  parameters: object => object({}),
  perform: (platform, _parameters, { accessToken }) => ({
    data: { access_token: accessToken, expires_in: platform.tokens.require(accessToken) },
  }),
})

/** Every emulated operation, in the order of the specification. */
const ALL: Operation[] = [
  ...[createToken, queryToken, updateEmployee, getEmployee, bindOpenId, deleteDepartment],
  ...[listOrders, getOrder, listAccounts, refundOrder, getOrderRecord, applyTopUp, listTaxpayers],
]

/** Every emulated operation by its name. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  ALL.map(operation => [operation.name, operation]),
)
