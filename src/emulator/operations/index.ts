import type { Operation } from '../operation.ts'
import { bindOpenId } from './bind-openid.ts'
import { createToken } from './create-token.ts'
import { deleteDepartment } from './delete-department.ts'
import { getEmployee } from './get-employee.ts'
import { queryToken } from './query-token.ts'
import { updateEmployee } from './update-employee.ts'

/** Every emulated operation by its name. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  [createToken, queryToken, updateEmployee, getEmployee, bindOpenId, deleteDepartment].map(operation => [
    operation.name,
    operation,
  ]),
)
