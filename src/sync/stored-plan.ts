import { toDesired } from '../directory/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeFields, keyText } from '../directory/employee.ts'
import { type AcknowledgedHashes, fieldHash, rowHash } from '../directory/hash.ts'
import { hideValue, maskValue } from '../directory/masking.ts'
import type { HrEmployeeRow, HrSource } from '../hr/source.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import type { Work } from './outbox.ts'

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

/** The stored plans of held runs, entity by entity; those of employees are stored where they are made, in employee-plan.ts. */

/** Stores deletions of departments as the plan of a held run. */
export async function storeDeletions(db: ClientBase, runId: number, work: Work[]): Promise<void> {
  await db.query(
    `insert into dirsync.planned_work (run_id, operation, enterprise_code, entity_key, reason, wave)
     select $2, operation, "enterpriseCode", "entityKey", 'delete', wave
     from jsonb_to_recordset($1) as w (operation text, "enterpriseCode" text, "entityKey" text, wave smallint)`,
    [JSON.stringify(work), runId],
  )
}

/** The deletions that the plan of a held run has stored. */
export async function storedDeletions(db: ClientBase, runId: number): Promise<Work[]> {
  const { rows } = await db.query<Work>(
    `select operation, enterprise_code as "enterpriseCode", entity_key as "entityKey", '' as detail, wave
     from dirsync.planned_work where run_id = $1 and operation = 'delete-department'`,
    [runId],
  )
  return rows
}

/** One entity of a stored plan, with what dirsync knows of it. */
interface PlannedEntity {
  operation: Work['operation']
  enterpriseCode: string
  entityKey: string
  /** new, changed, asked, left, vanished or delete. */
  reason: string
  /** Hash of the HR row as the plan saw it; null where HR had none. */
  sourceHash: string | null
  /** Per field the hash of the value that the platform last confirmed. */
  acknowledged: AcknowledgedHashes
  /** Department that the platform last showed for the employee. */
  deptCode: string | null
}

/** Entities of a stored plan with work, a page at a time in the order of their keys. */
async function* plannedEntities(db: Pool, runId: number, page: number): AsyncGenerator<PlannedEntity[]> {
  let after: Pick<PlannedEntity, 'enterpriseCode' | 'entityKey'> = { enterpriseCode: '', entityKey: '' }
  for (;;) {
    const { rows } = await db.query<PlannedEntity>(
      `select w.operation, w.enterprise_code as "enterpriseCode", w.entity_key as "entityKey", w.reason,
              w.source_hash as "sourceHash", coalesce(e.acknowledged, '{}') as acknowledged, e.dept_code as "deptCode"
       from dirsync.planned_work w
       left join dirsync.employee e
         on w.operation = 'update-employee' and e.enterprise_code = w.enterprise_code and e.userid = w.entity_key
       where w.run_id = $1 and w.reason is not null and (w.enterprise_code, w.entity_key) > ($2, $3)
       order by w.enterprise_code, w.entity_key limit $4`,
      [runId, after.enterpriseCode, after.entityKey, page],
    )
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = last
  }
}

/** Whether the plan of a run is stored. */
export async function isStored(db: Pool, runId: number): Promise<boolean> {
  const { rowCount } = await db.query('select from dirsync.planned_work where run_id = $1 limit 1', [runId])
  return (rowCount ?? 0) > 0
}
