import { type ClientBase, LOOK_MS, type Pool, transaction } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import { message, toStore } from '../../texts/message.ts'
import { endCasesWhere, endLostRetries, NO_USER_ID } from '../cases/cases.ts'
import { DEPARTMENT_IS_OF_HR, ENTERPRISES_OF_HR } from '../outbox/employee.ts'

/**
 * Condition on a halt: the platform refuses the enterprise's code, which is neither HR's nor the deployment's own ($1) any more. Calls
 * without a code are those of a lone enterprise.
 */
const IS_OF_GONE = `category = 'enterprise_code' and scope <> '*' and scope not in (
  with hr as materialized (${ENTERPRISES_OF_HR})
  select code from hr
  union
  select $1::text where $1 <> '' or not exists (select from hr where code <> ''))`

interface GoneEnterprisesDeps {
  pool: Pool
  logger: Logger
  ownEnterprise: string
}

/**
 * Ends the halts of enterprises whose code the platform refused until it was corrected, in HR or in the settings: no call with the old
 * code will ever succeed. Where there is one HR system, their work ends with them. With several, workers end it without a call, as their
 * employees stay as they are.
 */
export async function endHaltsOfGone({ pool, logger, ownEnterprise }: GoneEnterprisesDeps): Promise<void> {
  const found = { text: `select from dirsync.halt where ${IS_OF_GONE}`, values: [ownEnterprise] }
  const { rowCount } = await pool.query({ ...found, query_timeout: LOOK_MS })
  if (rowCount === 0) return
  for (const scope of await transaction(pool, db => endHalts(db, ownEnterprise)))
    logger.info({ scope }, 'the halt is over: neither HR nor the settings have the enterprise any more')
}

async function endHalts(db: ClientBase, ownEnterprise: string): Promise<string[]> {
  const { rows } = await db.query<{ scope: string; single: boolean }>(
    `with lifted as (
       delete from dirsync.halt where ${IS_OF_GONE}
       returning scope, not exists (select from dirsync.hr_source) as single
     ), waiting as materialized (
       select p.operation, p.enterprise_code, p.entity_key, p.detail
       from lifted l join dirsync.pending p on p.enterprise_code = l.scope
       -- What is in hand is refused once more, and halted anew.
       where l.single and not p.in_hand
       order by 1, 2, 3, 4 for update of p skip locked
     ), ended as (
       delete from dirsync.pending p using waiting w
       where p.operation = w.operation and p.enterprise_code = w.enterprise_code
         and p.entity_key = w.entity_key and p.detail = w.detail
       returning p.run_id, p.operation, p.enterprise_code, p.entity_key, p.detail
     ), noted as (
       insert into dirsync.attempt
         (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome, error)
       select run_id, operation, enterprise_code, entity_key, detail, now(), 0, 'obsolete',
              case enterprise_code when '' then $2
                else jsonb_set($3, '{values,code}', to_jsonb(enterprise_code)) end
       from ended
     )
     select scope, single, pg_notify('dirsync', 'feed') from lifted`,
    [
      ownEnterprise,
      toStore(message('said.own_enterprise_gone')),
      toStore(message('said.enterprise_gone', { code: '' })),
    ],
  )
  const ended = rows.filter(({ single }) => single).map(({ scope }) => scope)
  if (ended.length > 0) await forget(db, ended)
  const scopes = rows.map(({ scope }) => scope)
  if (scopes.length > 0) await unlearn(db, scopes)
  return scopes
}

/**
 * Departments go about which nobody has decided anything, cases, and what was learnt of fields that are off. Employees stay known:
 * should the enterprise come back, no department of it is deleted before the platform has told where each of them is.
 */
async function forget(db: ClientBase, codes: string[]): Promise<void> {
  await db.query(
    `with gone as materialized (
       select enterprise_code, dept_code from dirsync.department d
       where enterprise_code = any ($1) and not ${DEPARTMENT_IS_OF_HR}
         and d.deleted_at is null and d.rejected_run is null and d.parked_at is null
       order by 1, 2 for update
     )
     delete from dirsync.department d using gone g
     where d.enterprise_code = g.enterprise_code and d.dept_code = g.dept_code`,
    [codes],
  )
  await db.query(
    `with refusals as (delete from dirsync.field_refusal where enterprise_code = any ($1))
     delete from dirsync.field_block where enterprise_code = any ($1)`,
    [codes],
  )
  await endCasesWhere(
    db,
    `d.enterprise_code = any ($1) and d.entity in ('employee', 'department', 'enterprise') and d.entity_key <> $2
       and d.operation in ('update-employee', 'bind-openid', 'delete-department')`,
    [codes, NO_USER_ID],
    { runId: null, resolution: 'obsolete' },
  )
  await endLostRetries(db)
}

/**
 * What the platform holds of these enterprises is not known any more, so that no mirror asks for them. Should one come back, the
 * platform is asked before a department counts as empty.
 */
async function unlearn(db: ClientBase, codes: string[]): Promise<void> {
  await db.query(
    `with gone as materialized (
       select enterprise_code, userid from dirsync.employee
       where enterprise_code = any ($1) and (vanished_at is not null or platform_state = 'in_service')
       order by 1, 2 for update
     )
     update dirsync.employee e
     set platform_state = 'unknown', queried_at = null,
         withheld = case when e.vanished_at is null then e.withheld else '{}' end,
         acknowledged_hash = case when e.vanished_at is null then e.acknowledged_hash end
     from gone g where e.enterprise_code = g.enterprise_code and e.userid = g.userid`,
    [codes],
  )
}
