import { departmentDelete } from './department-delete.ts'
import { employeeGet } from './employee-get.ts'
import { employeeOpenid } from './employee-openid.ts'
import { employeeUpdate } from './employee-update.ts'
import { tokenCreate, tokenInfo } from './token.ts'

/** Every operation the client knows, by name. */
export const OPERATIONS = {
  'token/create': tokenCreate,
  'token/getTokenInfo': tokenInfo,
  'employee/update': employeeUpdate,
  'employee/get': employeeGet,
  'employee/openid': employeeOpenid,
  'department/delete': departmentDelete,
} as const

export type OperationName = keyof typeof OPERATIONS
