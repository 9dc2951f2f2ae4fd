import { DatabaseError } from 'pg'

/** Classes of SQLSTATE that say that data is unfit: not of its type, against a constraint, too long for an index. */
const CLASSES = ['22', '23', '54']

/** Whether PostgreSQL refused what it was given, and would refuse it again. */
export function isUnfit(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && CLASSES.some(code => error.code?.startsWith(code))
}
