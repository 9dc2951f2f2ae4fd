import { z } from 'zod'
import type { FieldBlock } from '../../directory/difference.ts'
import { type EmployeeField, type EmployeeKey, keyText } from '../../directory/employee.ts'
import type { Pool } from '../../lib/database.ts'
import { latestOrdersOf } from '../../mirrors/payment-order.ts'
import { NEXT_TRY, RETRIES_STOPPED } from '../../sync/cases/retries.ts'
import { IS_CASE_OF_BLOCK } from '../../sync/cases/withheld.ts'
import { employeeStatus, SHOWN_EMPLOYEE_STATUSES } from '../../sync/health/figures.ts'
import { blocksOf, HAD_LEFT, type OpenCase, openCasesOf } from '../../sync/outbox/claim.ts'
import { HELD_DECISION, hasSource } from '../../sync/outbox/employee.ts'
import { HALT_KINDS, haltWhere, holdsBack, isInForceFor } from '../../sync/outbox/halts.ts'
import { DOUBTED } from '../../sync/runs/restored.ts'
import { SaidText } from '../../texts/failures.ts'
import { DeadLetter, HasSource, RetriesStopped } from '../cases/dead-letter.ts'

/** One attempt and its outcome. */
export const Attempt = z.object({
  started_at: z.date(),
  run_id: z.int().nullable(),
  operation: z.string(),
  detail: z.string(),
  outcome: z.string(),
  duration_ms: z.number(),
  calls: z.record(z.string(), z.int()).describe('How often each operation of the platform was called'),
  fields: z.array(z.string()),
  platform_code: z.int().nullable(),
  trace_id: z.string().nullable(),
  error: SaidText.nullable(),
})

/** Work in the outbox. */
export const PendingWork = z.object({
  operation: z.string(),
  detail: z.string(),
  run_id: z.int().nullable(),
  attempts: z.int(),
  not_before: z.date().nullable().describe('null while it waits for a plan'),
  replan_at: z
    .date()
    .nullable()
    .describe('Since when it waits for a plan, because HR has changed the row meanwhile'),
  enqueued_at: z.date().nullable(),
  created_at: z.date(),
  halt: z
    .enum(HALT_KINDS)
    .nullable()
    .describe('What holds it back: that a person has paused all calls, or a halt of its work'),
  named: z.boolean().describe('A person named it: it is sent as HR has it, whatever a plan saw'),
})
/** Of `dirsync.pending p`. */
export const PENDING_COLUMNS = `operation, detail, run_id, attempts, nullif(not_before, 'infinity') as not_before, replan_at,
                enqueued_at, created_at, named, ${haltWhere(holdsBack('p'))} as halt`

/** How an employee stands; `unknown`: no run has seen the employee. */
export const EmployeeStatus = z
  .enum([...SHOWN_EMPLOYEE_STATUSES, 'unknown'])
  .describe('unknown: no run has seen the employee')
type EmployeeStatus = z.infer<typeof EmployeeStatus>

/** Everything stored about one employee, named like the columns. */
export const EmployeeStory = z.object({
  record: z
    .object({
      active: z.boolean(),
      in_sync: z.boolean(),
      platform_state: z.enum(['unknown', 'in_service', 'absent']),
      dept_code: z.string().nullable(),
      withheld: z.array(z.string()),
      status: z.enum(SHOWN_EMPLOYEE_STATUSES),
      held: z
        .object({
          run: z.int(),
          decided_by: z.string().nullable(),
          decided_at: z.string().nullable(),
          approved: z.boolean().describe('Approved, and the scheduler has yet to send it'),
          rejected: z.boolean().describe('false: it waits for a decision, or for a plan after one'),
          reason: z.string().nullable(),
          has_source: z
            .boolean()
            .describe('false: no HR source has the enterprise, so that approval leaves them out'),
          gone: z
            .enum(['left', 'vanished'])
            .nullable()
            .describe(
              'That row says that the employee has left, or HR has none; null: it has the employee in service',
            ),
        })
        .nullable()
        .describe('The run with the HR row that waits for a decision, or was rejected'),
      doubted: z
        .boolean()
        .describe('The database was restored since the platform confirmed a row: a full run asks about them'),
      vanished_at: z.date().nullable(),
      acknowledged_at: z.date().nullable(),
      queried_at: z.date().nullable(),
    })
    .nullable()
    .describe('What dirsync keeps; null when no run has seen the employee'),
  has_source: HasSource,
  pending: z.array(PendingWork),
  attempts: z.array(Attempt).describe('The latest, newest first'),
  dead_letters: z
    .array(
      DeadLetter.pick({
        id: true,
        entity: true,
        operation: true,
        field: true,
        category: true,
        state: true,
        message: true,
        remedy: true,
        blocked_by: true,
        occurrences: true,
        last_failed_at: true,
        next_retry_at: true,
      }).extend({
        holder_has_changed: z
          .boolean()
          .describe('The holder has changed since the case failed last: the value may be free'),
      }),
    )
    .describe('Those of the employee, and of the enterprise about a withheld field; open ones first'),
  bindings: z.array(
    z.object({
      seller_appid: z.string(),
      open_userid: z.string(),
      bound_at: z.date(),
      doubted: z.boolean().describe('From a backup, and not asked for since'),
    }),
  ),
  payment_orders: z
    .array(
      z.object({
        trade_no: z.string(),
        created_at: z.date().nullable(),
        subject: z.string().nullable(),
        pay_amount: z.string().nullable(),
        refund_amount: z.string().nullable(),
        status: z.int().nullable(),
        asset_code: z.string().nullable(),
        gone_at: z.date().nullable().describe('Since when the platform no longer has it'),
      }),
    )
    .describe('The latest, newest first; only where payment orders are mirrored'),
  halts: z
    .array(z.object({ scope: z.string(), message: SaidText, remedy: SaidText }))
    .describe('Why work stands still'),
  retries_stopped: RetriesStopped,
})
export type EmployeeStory = z.infer<typeof EmployeeStory>

/** The work on their row; their open ids may wait for something else. */
export function waitingUpdateOf({ pending }: Pick<EmployeeStory, 'pending'>) {
  return pending.find(({ operation }) => operation === 'update-employee')
}

const ATTEMPTS = 10
export const ORDERS = 10

/** Reads everything stored about one employee. */
export async function readEmployeeStory(db: Pool, key: EmployeeKey): Promise<EmployeeStory> {
  const read = async <Row extends object>(statement: string): Promise<Row[]> =>
    (await db.query<Row>(statement, [key.enterpriseCode, key.userid])).rows
  const [[record], [source], pending, attempts, dead_letters, bindings, payment_orders, { rows: halts }] =
    await Promise.all([
      read<NonNullable<EmployeeStory['record']>>(
        `select active, status = 'in_sync' as in_sync, platform_state, dept_code,
                withheld, vanished_at, dirsync.confirmed_at(e) as acknowledged_at,
                greatest(queried_at, dirsync.confirmed_at(e)) as queried_at,
                ${employeeStatus('e')} as status, coalesce(${DOUBTED}, false) as doubted,
                (select jsonb_build_object('run', o.run, 'decided_by', o.decided_by, 'decided_at', o.decided_at,
                                           'approved', c.approved and c.state in ('requested', 'planning'),
                                           'rejected', e.rejected, 'reason', o.reason, 'has_source', ${hasSource('e')},
                                           'gone', case when not e.held_gone then null
                                                        when e.held_hash is null then 'vanished' else 'left' end)
                 from (${HELD_DECISION}) o join dirsync.sync_run c on c.id = coalesce(o.part_run, o.run)) as held
         from dirsync.employee e where enterprise_code = $1 and userid = $2`,
      ),
      read<Pick<EmployeeStory, 'has_source' | 'retries_stopped'>>(
        `select ${hasSource('k')} as has_source, ${RETRIES_STOPPED} as retries_stopped
         from (values ($1, $2)) k (enterprise_code, userid)`,
      ),
      read<EmployeeStory['pending'][number]>(
        `select ${PENDING_COLUMNS}
         from dirsync.pending p
         where operation in ('update-employee', 'bind-openid') and enterprise_code = $1 and entity_key = $2`,
      ),
      read<EmployeeStory['attempts'][number]>(
        `select started_at, run_id, operation, detail, outcome, duration_ms, calls, fields, platform_code,
                trace_id, error
         from dirsync.attempt
         where enterprise_code = $1 and entity_key = $2 and operation in ('update-employee', 'bind-openid')
         order by id desc limit ${ATTEMPTS}`,
      ),
      read<EmployeeStory['dead_letters'][number]>(
        `select id, entity, operation, field, category, state, message, remedy, blocked_by, occurrences,
                last_failed_at, ${NEXT_TRY}, holder_has_changed
         from (select d.*, dirsync.holder_has_changed(d) as holder_has_changed from dirsync.dead_letter d
               where enterprise_code = $1 and entity_key = $2 and entity = 'employee'
               union all
               select d.*, false from (select enterprise_code, unnest(withheld) as field
                                from dirsync.employee where enterprise_code = $1 and userid = $2) b
               join dirsync.dead_letter d on ${IS_CASE_OF_BLOCK}) d
         order by state in ('resolved', 'ignored'), entity = 'enterprise', id desc`,
      ),
      read<EmployeeStory['bindings'][number]>(
        `select seller_appid, open_userid, bound_at, doubted from dirsync.openid_binding
         where enterprise_code = $1 and userid = $2 order by seller_appid`,
      ),
      latestOrdersOf(db, key, ORDERS),
      db.query<EmployeeStory['halts'][number]>(
        `select scope, message, remedy from dirsync.halt h where ${isInForceFor('$1')}`,
        [key.enterpriseCode],
      ),
    ])
  return {
    record: record ?? null,
    has_source: source?.has_source ?? true,
    retries_stopped: source?.retries_stopped ?? false,
    ...{ pending, attempts, dead_letters, bindings, halts, payment_orders },
  }
}

/** Status of an employee: of one whom a case alone names, that no HR source has the enterprise. */
export function employeeStatusOf({ record, has_source, dead_letters }: EmployeeStory): EmployeeStatus {
  return record?.status ?? (!has_source && dead_letters.length > 0 ? 'no_source' : 'unknown')
}

/** What the next attempt will know about an employee. */
export interface EmployeeMemories {
  /** Hash of the HR row that the platform confirmed last; null: it confirmed none in full. */
  acknowledgedHash: string | null
  hadLeft: boolean
  account: number | null
  acknowledged: Partial<Record<EmployeeField, string>>
  overwritten: Partial<Record<EmployeeField, string>>
  cases: (OpenCase & { id: number })[]
  blocks: FieldBlock[]
  /** The row that no run sends: a person has rejected it, or has yet to decide about it. */
  held: { run: number; hash: string | null; rejected: boolean } | null
}

/** What the next attempt will know about each employee, by `keyText`. Reading it starts nothing. */
export async function employeeMemories(
  db: Pool,
  keys: readonly EmployeeKey[],
): Promise<Map<string, EmployeeMemories>> {
  const { rows } = await db.query<EmployeeMemories & EmployeeKey>(
    `select k."enterpriseCode", k.userid, e.acknowledged_hash as "acknowledgedHash", ${HAD_LEFT} as "hadLeft",
            e.account,
            coalesce(e.acknowledged, '{}') as acknowledged, coalesce(e.overwritten, '{}') as overwritten,
            ${openCasesOf(`'update-employee'`, 'k."enterpriseCode"', 'k.userid')} as cases,
            ${blocksOf('k."enterpriseCode"', 'k.userid')} as blocks,
            (select jsonb_build_object('run', o.run, 'hash', e.held_hash, 'rejected', e.rejected)
             from (${HELD_DECISION}) o where e.rejected or o.decided_at is null) as held
     from jsonb_to_recordset($1) as k ("enterpriseCode" text, userid text)
     left join dirsync.employee e on e.enterprise_code = k."enterpriseCode" and e.userid = k.userid`,
    [JSON.stringify(keys)],
  )
  return new Map(rows.map(row => [keyText(row), row]))
}
