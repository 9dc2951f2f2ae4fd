import type { FieldBlock } from '../directory/difference.ts'
import { type EmployeeField, type EmployeeKey, keyText } from '../directory/employee.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import { type EmployeeOrder, latestOrdersOf } from '../mirrors/payment-order.ts'
import { blocksOf, type OpenCase } from '../sync/claim.ts'

/** What the next attempt will know of an employee. */
export interface EmployeeMemories {
  acknowledged: Partial<Record<EmployeeField, string>>
  overwritten: Partial<Record<EmployeeField, string>>
  cases: (OpenCase & { id: number; category: string })[]
  blocks: FieldBlock[]
}

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

/** What dirsync keeps of one employee. */
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
  dead_letters: {
    id: number
    operation: string
    field: string
    category: string
    state: string
    message: string
    remedy: string
    blocked_by: string | null
    occurrences: number
    last_failed_at: Date
    next_retry_at: Date | null
  }[]
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
  const { rows } = await db.query<Omit<EmployeeStory, 'payment_orders'>>(
    `with known as (
       select active, coalesce(acknowledged_hash = source_hash, false) as in_step, platform_state, dept_code, withheld,
              vanished_at, acknowledged_at, queried_at
       from dirsync.employee where enterprise_code = $1 and userid = $2
     ), work as (
       select operation, detail, run_id, attempts, nullif(not_before, 'infinity') as not_before, replan_at, enqueued_at,
              created_at
       from dirsync.pending
       where enterprise_code = $1 and entity_key = $2 and operation <> 'delete-department'
     ), tried as (
       select id, started_at, run_id, operation, detail, outcome, duration_ms, calls, fields, platform_code, trace_id, error
       from dirsync.attempt
       where enterprise_code = $1 and entity_key = $2 and operation in ('update-employee', 'bind-openid') order by id desc limit ${ATTEMPTS}
     ), cases as (
       select id, operation, field, category, state, message, remedy, blocked_by, occurrences, last_failed_at, next_retry_at
       from dirsync.dead_letter where enterprise_code = $1 and entity_key = $2 and entity = 'employee'
     ), bound as (
       select seller_appid, open_userid, bound_at from dirsync.openid_binding where enterprise_code = $1 and userid = $2
     )
     select (select to_jsonb(k) from known k) as record,
            (select coalesce(jsonb_agg(w), '[]') from work w) as pending,
            (select coalesce(jsonb_agg(to_jsonb(t) - 'id' order by id desc), '[]') from tried t) as attempts,
            (select coalesce(jsonb_agg(c order by state in ('resolved', 'ignored'), id desc), '[]') from cases c) as dead_letters,
            (select coalesce(jsonb_agg(b order by seller_appid), '[]') from bound b) as bindings,
            (select coalesce(jsonb_agg(jsonb_build_object('scope', scope, 'message', message, 'remedy', remedy)), '[]')
             from dirsync.halt where scope in ('*', $1)) as halts`,
    [key.enterpriseCode, key.userid],
  )
  return { ...withDates(rows[0] as EmployeeStory), payment_orders: await latestOrdersOf(db, key, ORDERS) }
}

/** JSON knows no times: they come as text. */
function withDates(story: Omit<EmployeeStory, 'payment_orders'>): Omit<EmployeeStory, 'payment_orders'> {
  const date = (value: unknown) => (value === null ? null : new Date(value as string))
  const revive = <Row extends object>(row: Row): Row =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        /_at$|^not_before$/.test(name) ? date(value) : value,
      ]),
    ) as Row
  return {
    record: story.record && revive(story.record),
    pending: story.pending.map(revive),
    attempts: story.attempts.map(revive),
    dead_letters: story.dead_letters.map(revive),
    bindings: story.bindings.map(revive),
    halts: story.halts,
  }
}

/** What the next attempt will know of each of some employees, by `keyText`; nothing is begun by asking. */
export async function employeeMemories(
  db: ClientBase | Pool,
  keys: readonly EmployeeKey[],
): Promise<Map<string, EmployeeMemories>> {
  const { rows } = await db.query<EmployeeMemories & EmployeeKey>(
    `select k."enterpriseCode", k.userid, coalesce(e.acknowledged, '{}') as acknowledged, coalesce(e.overwritten, '{}') as overwritten,
            coalesce((select jsonb_agg(jsonb_build_object('id', d.id, 'category', d.category, 'field', d.field,
                                                          'sourceHash', d.source_hash, 'state', d.state, 'occurrences', d.occurrences))
                      from dirsync.dead_letter d
                      where d.enterprise_code = k."enterpriseCode" and d.entity_key = k.userid
                        and d.operation = 'update-employee' and d.entity = 'employee' and d.state <> 'resolved'), '[]') as cases,
            ${blocksOf('k."enterpriseCode"', 'k.userid')} as blocks
     from jsonb_to_recordset($1) as k ("enterpriseCode" text, userid text)
     left join dirsync.employee e on e.enterprise_code = k."enterpriseCode" and e.userid = k.userid`,
    [JSON.stringify(keys)],
  )
  return new Map(rows.map(row => [keyText(row), row]))
}
