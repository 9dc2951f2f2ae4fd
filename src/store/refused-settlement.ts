import type { DatabaseError, Pool } from 'pg'
import { slowProbeDelay } from '../core/backoff.ts'
import type { Settlement } from './settlement.ts'

/** The fields of the unresolved cases of an outcome's entity and operation. */
export async function openFields(db: Pool, { key }: Settlement): Promise<string[]> {
  const { rows } = await db.query<{ field: string }>(
    `select field from dirsync.dead_letter
     where enterprise_code = $1 and entity_key = $2 and operation = $3 and state <> 'resolved'`,
    [key.enterpriseCode, key.entityKey, key.operation],
  )
  return rows.map(row => row.field)
}

/**
 * What is written in place of an outcome that PostgreSQL refuses: the job is over, and a case tells why. Nothing new is
 * taken as known of the entity; its next attempt asks the platform first, as every attempt does.
 * @param open fields of its unresolved cases, which all stay
 */
export function refusedSettlement(settlement: Settlement, error: DatabaseError, open: string[]): Settlement {
  const { key, attempt, employee } = settlement
  const sourceHash = employee?.acknowledgedHash ?? employee?.parkedHash ?? null
  const message = `PostgreSQL refused to store what came of this job (${reasonOf(error)}).`
  return {
    ...settlement,
    attempt: { ...attempt, outcome: 'parked', fields: [], platformCode: null, traceId: null, error: message },
    again: null,
    employee: employee && {
      ...employee,
      acknowledgedHash: null,
      parkedHash: sourceHash,
      acknowledged: {},
      withheld: [],
      platformState: 'unknown',
      deptCode: null,
    },
    failures: [
      {
        entity: key.operation === 'delete-department' ? 'department' : 'employee',
        field: key.detail,
        category: 'internal_error',
        platformCode: null,
        traceId: null,
        message,
        remedy:
          'Look for an odd value of this entity in HR and on the platform, mend it, then retry; report it with this message if there is none.',
        changedFields: [],
        blockedBy: null,
        sourceHash,
        state: 'open',
        nextRetryMs: slowProbeDelay(Math.random()),
      },
    ],
    keep: open,
    binding: null,
    department: key.operation === 'delete-department' ? 'parked' : null,
    blockFields: [],
    unblockFields: [],
  }
}

/** The server's own sentence may quote the value; the names of its rules do not. */
function reasonOf({ code, constraint, table, column }: DatabaseError): string {
  const names = { constraint, table, column }
  const named = Object.entries(names).flatMap(([what, name]) => (name ? [`${what} ${name}`] : []))
  return [`SQLSTATE ${code}`, ...named].join(', ')
}
