import type { FieldBlock } from '../directory/difference.ts'
import { type EmployeeField, type EmployeeKey, keyText } from '../directory/employee.ts'
import type { Pool } from '../lib/database.ts'
import { type EmployeeOrder, latestOrdersOf } from '../mirrors/payment-order.ts'
import { blocksOf, type OpenCase } from '../sync/claim.ts'
import type { DeadLetter } from './review.ts'

/** The row of `dirsync.employee`, without its hashes. */
interface EmployeeRecord {
  active: boolean
  in_step: boolean
  platform_state: 'unknown' | 'in_service' | 'absent'
  dept_code: string | null
  withheld: string[]
  vanished_at: Date | null
  acknowledged_at: Date | null
  queried_at: Date | null
}

/** What dirsync keeps of one employee, named as the columns. */
export interface EmployeeStory {
  /** Null when no run has seen the employee yet. */
  record: EmployeeRecord | null
  pending: {
    operation: string
    detail: string
    run_id: number | null
    attempts: number
    /** Null while it waits for a plan. */
    not_before: Date | null
    /** Since when it waits for a plan, because HR has changed the row meanwhile. */
    replan_at: Date | null
    enqueued_at: Date | null
    created_at: Date
  }[]
  /** The latest ones, newest first. */
  attempts: {
    started_at: Date
    run_id: number | null
    operation: string
    detail: string
    outcome: string
    duration_ms: number
    calls: Record<string, number>
    fields: string[]
    platform_code: number | null
    trace_id: string | null
    error: string | null
  }[]
  /** Open ones first. */
  dead_letters: Pick<
    DeadLetter,
    | 'id'
    | 'operation'
    | 'field'
    | 'category'
    | 'state'
    | 'message'
    | 'remedy'
    | 'blocked_by'
    | 'occurrences'
    | 'last_failed_at'
    | 'next_retry_at'
  >[]
  bindings: { seller_appid: string; open_userid: string; bound_at: Date }[]
  /** The latest ones, newest first; only where payment orders are mirrored. */
  payment_orders: EmployeeOrder[]
  /** The halt that keeps the employee's work back. */
  halts: { scope: string; message: string; remedy: string }[]
}

const ATTEMPTS = 10
const ORDERS = 10

/** Everything that is kept of one employee. */
export async function readEmployeeStory(db: Pool, key: EmployeeKey): Promise<EmployeeStory> {
  const read = async <Row extends object>(statement: string): Promise<Row[]> =>
    (await db.query<Row>(statement, [key.enterpriseCode, key.userid])).rows
  const [[record], pending, attempts, dead_letters, bindings, payment_orders, { rows: halts }] =
    await Promise.all([
      read<EmployeeRecord>(
        `select active, coalesce(acknowledged_hash = source_hash, false) as in_step, platform_state, dept_code,
                withheld, vanished_at, acknowledged_at, queried_at
         from dirsync.employee where enterprise_code = $1 and userid = $2`,
      ),
      read<EmployeeStory['pending'][number]>(
        `select operation, detail, run_id, attempts, nullif(not_before, 'infinity') as not_before, replan_at,
                enqueued_at, created_at
         from dirsync.pending
         where enterprise_code = $1 and entity_key = $2 and operation <> 'delete-department'`,
      ),
      read<EmployeeStory['attempts'][number]>(
        `select started_at, run_id, operation, detail, outcome, duration_ms, calls, fields, platform_code,
                trace_id, error
         from dirsync.attempt
         where enterprise_code = $1 and entity_key = $2 and operation in ('update-employee', 'bind-openid')
         order by id desc limit ${ATTEMPTS}`,
      ),
      read<EmployeeStory['dead_letters'][number]>(
        `select id, operation, field, category, state, message, remedy, blocked_by, occurrences,
                last_failed_at, next_retry_at
         from dirsync.dead_letter where enterprise_code = $1 and entity_key = $2 and entity = 'employee'
         order by state in ('resolved', 'ignored'), id desc`,
      ),
      read<EmployeeStory['bindings'][number]>(
        `select seller_appid, open_userid, bound_at from dirsync.openid_binding
         where enterprise_code = $1 and userid = $2 order by seller_appid`,
      ),
      latestOrdersOf(db, key, ORDERS),
      db.query<EmployeeStory['halts'][number]>(
        `select scope, message, remedy from dirsync.halt where scope in ('*', $1)`,
        [key.enterpriseCode],
      ),
    ])
  return { record: record ?? null, pending, attempts, dead_letters, bindings, halts, payment_orders }
}

/** What the next attempt will know of an employee. */
export interface EmployeeMemories {
  acknowledged: Partial<Record<EmployeeField, string>>
  overwritten: Partial<Record<EmployeeField, string>>
  cases: (OpenCase & { id: number; category: string })[]
  blocks: FieldBlock[]
}

/** What the next attempt will know of each employee, by `keyText`. Asking begins nothing. */
export async function employeeMemories(
  db: Pool,
  keys: readonly EmployeeKey[],
): Promise<Map<string, EmployeeMemories>> {
  const { rows } = await db.query<EmployeeMemories & EmployeeKey>(
    `select k."enterpriseCode", k.userid,
            coalesce(e.acknowledged, '{}') as acknowledged, coalesce(e.overwritten, '{}') as overwritten,
            coalesce((
              select jsonb_agg(jsonb_build_object(
                'id', d.id, 'category', d.category, 'field', d.field, 'sourceHash', d.source_hash,
                'state', d.state, 'occurrences', d.occurrences))
              from dirsync.dead_letter d
              where d.enterprise_code = k."enterpriseCode" and d.entity_key = k.userid
                and d.operation = 'update-employee' and d.entity = 'employee'
                and d.state <> 'resolved'), '[]') as cases,
            ${blocksOf('k."enterpriseCode"', 'k.userid')} as blocks
     from jsonb_to_recordset($1) as k ("enterpriseCode" text, userid text)
     left join dirsync.employee e on e.enterprise_code = k."enterpriseCode" and e.userid = k.userid`,
    [JSON.stringify(keys)],
  )
  return new Map(rows.map(row => [keyText(row), row]))
}
