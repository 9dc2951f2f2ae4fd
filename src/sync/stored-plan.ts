import type { Pool } from 'pg'
import { toDesired } from '../core/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeFields, keyText } from '../core/employee.ts'
import { fieldHash } from '../core/field-hash.ts'
import { hideValue, maskValue } from '../core/masking.ts'
import { rowHash } from '../core/row-hash.ts'
import type { HrEmployeeRow, HrSource } from '../hr/source.ts'
import { type PlannedEntity, plannedEntities } from '../store/planned-work.ts'

/** Entities of a stored plan that are looked up in HR together. */
const PAGE = 1000

/** One entity of a stored plan, beside HR as it is now. Values are masked. */
export interface PlanEntry {
  enterpriseCode: string
  entityKey: string
  reason: string
  /** Department that HR has for the employee, else the one that the platform last showed. */
  department: string | null
  /** Of a changed employee: the columns that differ from what the platform last confirmed. */
  changed: { field: string; value: string | null }[]
  /** HR has another row by now than the plan saw: approval does not send this one. */
  changedSince: boolean
}

/**
 * The stored plan of a run, page by page, with the columns that changed as far as HR still has the rows that were planned.
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function* readStoredPlan(pool: Pool, hr: HrSource, run: number): AsyncGenerator<PlanEntry[]> {
  for await (const entities of plannedEntities(pool, run, PAGE)) {
    const keys = entities
      .filter(entity => entity.operation === 'update-employee')
      .map(({ enterpriseCode, entityKey }) => ({ enterpriseCode, userid: entityKey }))
    const rows = keys.length > 0 ? await hr.lookup(keys) : new Map<string, HrEmployeeRow | 'duplicate'>()
    yield entities.map(entity =>
      entryOf(
        entity,
        rows.get(keyText({ enterpriseCode: entity.enterpriseCode, userid: entity.entityKey })) ?? null,
      ),
    )
  }
}

/** What a planned entity comes to, by the HR row as it is now. */
function entryOf(entity: PlannedEntity, row: HrEmployeeRow | 'duplicate' | null): PlanEntry {
  const { enterpriseCode, entityKey, reason, sourceHash, deptCode } = entity
  const entry = { enterpriseCode, entityKey, reason, changed: [], changedSince: false }
  if (entity.operation === 'delete-department') return { ...entry, department: entityKey }
  const present = row === 'duplicate' ? null : row
  const hash = present && rowHash(Object.keys(present), present)
  if (row === 'duplicate' || hash !== sourceHash)
    return { ...entry, department: deptCode, changedSince: true }
  if (present === null) return { ...entry, department: deptCode }
  const validated = toDesired(present, Object.keys(present))
  if (!validated.ok) {
    // What breaks a rule may be anything, in whatever column it came.
    const broken = [...new Set<string>(validated.problems.map(problem => problem.field))]
    const changed = broken.map(field => ({ field, value: hideValue(present[field] ?? null) }))
    return { ...entry, department: deptCode, changed }
  }
  const { fields } = validated.desired
  return {
    ...entry,
    department: fields.dept_code || deptCode,
    changed: reason === 'changed' ? changedColumns(fields, entity) : [],
  }
}

function changedColumns(fields: EmployeeFields, { acknowledged }: PlannedEntity): PlanEntry['changed'] {
  return EMPLOYEE_FIELDS.filter(field => {
    const value = fields[field]
    return value !== undefined && fieldHash(field, value) !== acknowledged[field]
  }).map(field => ({ field, value: maskValue(field, fields[field] ?? null) }))
}
