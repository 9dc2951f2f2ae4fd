import { EMPLOYEE_FIELDS, type EmployeeKey, keyText } from '../../directory/employee.ts'
import type { EmployeeLookup } from '../../hr/sources.ts'
import type { Pool } from '../../lib/database.ts'
import { knownInHr } from '../../sync/outbox/employee.ts'
import { type Asker, asAsker, noteCommand } from '../../sync/runs/commands.ts'

/** In place of a field: the whole row. */
export const WHOLE_ROW = 'all'

/** A requested value is not available. */
export class RevealError extends Error {
  readonly code: 'REASON_MISSING' | 'FIELD_UNKNOWN' | 'NOT_IN_HR'

  constructor(code: RevealError['code'], message: string) {
    super(message)
    this.name = 'RevealError'
    this.code = code
  }
}

/** How long to wait for HR. */
const HR_MS = 5000

/**
 * One value of one employee as HR has it, or the whole row, unmasked, by field. Who asked, for what and why is recorded before
 * HR is read; values never are.
 * @throws RevealError, HrUnavailableError, HrDataError, MappingError
 */
export async function revealValues(
  db: Pool,
  hr: EmployeeLookup,
  asker: Asker,
  what: { key: EmployeeKey; field: string; reason: string },
): Promise<Record<string, string | null>> {
  const { key, field } = what
  const reason = what.reason.trim()
  if (reason === '') throw new RevealError('REASON_MISSING', 'say why you need to see the value')
  if (field !== WHOLE_ROW && !EMPLOYEE_FIELDS.some(name => name === field))
    throw new RevealError('FIELD_UNKNOWN', `${field} is not a field of an employee`)
  const { enterpriseCode: enterprise_code, userid } = key
  await asAsker(db, asker, client =>
    noteCommand(client, 'reveal', { enterprise_code, userid, field, reason }),
  )
  const row = (await hr.lookup([key], { expected: missing => knownInHr(db, missing), timeoutMs: HR_MS })).get(
    keyText(key),
  )
  if (row === undefined || row === 'duplicate')
    throw new RevealError('NOT_IN_HR', 'HR has no single row for this employee')
  const fields = field === WHOLE_ROW ? EMPLOYEE_FIELDS.filter(name => name in row) : [field]
  if (!fields.every(name => name in row))
    throw new RevealError('FIELD_UNKNOWN', `HR's mapping has no column ${field}`)
  return Object.fromEntries(fields.map(name => [name, row[name] ?? null]))
}
