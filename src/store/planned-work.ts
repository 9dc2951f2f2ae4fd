import type { ClientBase, Pool } from 'pg'
import type { AcknowledgedHashes } from '../core/field-hash.ts'
import type { Work } from './pending.ts'

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
export interface PlannedEntity {
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
export async function* plannedEntities(
  db: Pool,
  runId: number,
  page: number,
): AsyncGenerator<PlannedEntity[]> {
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
