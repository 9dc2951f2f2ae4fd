import type { EmployeeField, EmployeeKey } from '../../directory/employee.ts'
import { type ClientBase, onlyRow, type Pool, WORK_MS } from '../../lib/database.ts'
import { type ClaimKey, PRESENT_REQUEST, presentRequest, type RequestOfClaim } from './claim.ts'

/** The states of an employee: the column `employee.status` computes them, and every display or count reads it. */
export const EMPLOYEE_STATUSES = [
  'in_sync', // the platform confirmed every field
  'waiting', // to be sent
  'held', // HR has another row, which waits for a decision about a run
  'rejected', // HR has another row, which a person rejected
  'dead_lettered', // a field or the whole is in review
  'accepted', // a field or the whole differs, and a person ignored that
  'awaiting_activation', // not yet on the platform
  'left', // HR says so
  'vanished', // HR no longer has a row
] as const

/** SQL: whether an HR source has the enterprise of a row; where there is only one HR system, it has all. */
export const hasSource = (row: string) => `(not exists (select from dirsync.hr_source)
  or exists (select from dirsync.hr_source h where ${row}.enterprise_code = any (h.enterprise_codes)))`

/**
 * SQL: what was decided about a row of a held run's plan, with the whole of it or with a part; all null but `run` where nothing was.
 * One row where there is such a run. The parameters are expressions.
 */
export const decisionAbout = (run: string, operation: string, enterpriseCode: string, entityKey: string) => `
  select r.id as run, d.part_run, coalesce(d.decided_by, r.decided_by) as decided_by,
         coalesce(d.decided_at, r.decided_at) as decided_at,
         case when d.id is null then r.decision_reason else d.why end as reason
  from dirsync.sync_run r
  left join dirsync.planned_work w on w.run_id = r.id and w.operation = ${operation}
    and w.enterprise_code = ${enterpriseCode} and w.entity_key = ${entityKey}
  left join dirsync.plan_decision d on d.id = w.decision_id
  where r.id = ${run}`

/** SQL: the same about the row of employee `e` that waits for a decision, or was rejected. */
export const HELD_DECISION = decisionAbout('e.held_run', `'update-employee'`, 'e.enterprise_code', 'e.userid')

/**
 * Employees known by these names: a user id, or `enterprise/userid`. A user id that HR has in one enterprise does not mean who had it in
 * another, of whom neither HR nor the platform has anything, as under a code that was corrected.
 */
export async function findEmployees(db: ClientBase | Pool, names: string[]): Promise<EmployeeKey[]> {
  const candidates = keysOf(names, await enterpriseCodes(db, ''))
  const { rows } = await db.query<EmployeeKey>(
    // Both forms of a name use the primary key, given the enterprises.
    `select e.enterprise_code as "enterpriseCode", e.userid
     from unnest($1::text[], $2::text[], $3::boolean[]) as k (enterprise_code, userid, is_whole)
     join dirsync.employee e on e.enterprise_code = k.enterprise_code and e.userid = k.userid
     where k.is_whole or e.vanished_at is null or e.platform_state <> 'unknown'
       or not exists (select from dirsync.employee o
                      where o.userid collate "C" = e.userid and o.vanished_at is null)
     group by 1, 2 order by 1, 2`,
    [
      candidates.map(key => key.enterpriseCode),
      candidates.map(key => key.userid),
      candidates.map(key => key.isWhole),
    ],
  )
  return rows
}

/** Those of the employees whom HR had when it was last read. */
export async function knownInHr(db: ClientBase | Pool, keys: readonly EmployeeKey[]): Promise<EmployeeKey[]> {
  const { rows } = await db.query<EmployeeKey>(
    `select e.enterprise_code as "enterpriseCode", e.userid
     from unnest($1::text[], $2::text[]) as k (enterprise_code, userid)
     join dirsync.employee e on e.enterprise_code = k.enterprise_code and e.userid = k.userid
     where e.vanished_at is null order by 1, 2`,
    [keys.map(key => key.enterpriseCode), keys.map(key => key.userid)],
  )
  return rows
}

/** SQL: the enterprise codes in a table, as `code`, by one look-up in its primary key's index per enterprise. */
export function enterprisesIn(table: 'employee' | 'department' | 'payment_order'): string {
  return `
    with recursive codes as (
      select min(enterprise_code) as code from dirsync.${table}
      union all
      select (select min(enterprise_code) from dirsync.${table} where enterprise_code > c.code)
      from codes c where c.code is not null
    )
    select code from codes where code is not null`
}

/** SQL: those of employees whom an HR source has, as `enterprise_code`. */
export const ENTERPRISES_WITH_SOURCE = `
  select enterprise_code from (${enterprisesIn('employee')}) k (enterprise_code)
  where ${hasSource('k')}`

/** The enterprise codes in use, the deployment's own among them. */
export async function enterpriseCodes(db: ClientBase | Pool, own: string): Promise<string[]> {
  const { rows } = await db.query<{ code: string }>(
    `select $1::text as code union select code from (${enterprisesIn('employee')}) found order by 1`,
    [own],
  )
  return rows.map(row => row.code)
}

/**
 * The enterprises of which a halt kept the platform from being asked: all if it was asked about no one at all, else those of some who still
 * count as in sync. It takes work out of its run, and may be over before that is sent.
 */
export async function unaskedEnterprises(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ code: string }>(
    `with known as materialized (
       select k.enterprise_code as code, h.scope is not null as halted
       from (${ENTERPRISES_WITH_SOURCE}) k left join dirsync.halt h on h.scope = k.enterprise_code
       where ${hasEmployee('k.enterprise_code', `e.status not in ('left', 'vanished') and not ${ONLY_HELD}`)}
     )
     select code from known where (select bool_and(halted) from known)
     union
     select e.enterprise_code from dirsync.pending p
     join dirsync.employee e on e.enterprise_code = p.enterprise_code and e.userid = p.entity_key
     where p.operation = 'update-employee' and p.run_id is null and e.status = 'in_sync' and ${hasSource('e')}
     order by 1`,
  )
  return rows.map(({ code }) => code)
}

/** SQL condition on an employee `e`: known only from a plan that was held. */
export const ONLY_HELD = `(e.held_run is not null and e.source_hash is null and e.vanished_at is null
  and e.platform_state = 'unknown')`

/** SQL: an enterprise with employees `e` that meet a condition. @param code an expression */
const hasEmployee = (code: string, condition: string) =>
  `exists (select from dirsync.employee e where e.enterprise_code = ${code} and ${condition})`

/** SQL condition on a department `d`: HR delivered it when it was last read. */
export const DEPARTMENT_IS_OF_HR = '(d.first_missing_at is null and not d.lost and d.deleted_at is null)'

/**
 * SQL: the enterprises that HR has, as `code`: those of its sources, or where there is one HR system, those of which it has an employee
 * or a department. A plan that is held may be a mistake: its enterprises do not count.
 */
export const ENTERPRISES_OF_HR = `
  select unnest(enterprise_codes) as code from dirsync.hr_source
  union
  select code from (${enterprisesIn('employee')}) known
  where not exists (select from dirsync.hr_source)
    and ${hasEmployee('known.code', `e.vanished_at is null and not ${ONLY_HELD}`)}
  union
  select code from (${enterprisesIn('department')}) known
  where not exists (select from dirsync.hr_source)
    and exists (select from dirsync.department d
                where d.enterprise_code = known.code and ${DEPARTMENT_IS_OF_HR})`

/** SQL condition on an employee `e`: the platform has told of them; where there are several sources, that they are in service. */
const TOLD = `(e.platform_state = 'in_service' or e.platform_state = 'absent' and not exists (select from dirsync.hr_source))`

/**
 * The enterprises that the platform is asked about: HR's, the deployment's own, and those that HR has no more, if the platform has
 * told of their employees. A wrong code never gets that far.
 */
export async function enterprisesOnPlatform(db: ClientBase | Pool, own: string): Promise<string[]> {
  const { rows } = await db.query<{ code: string }>(
    `select $1::text as code union select code from (${ENTERPRISES_OF_HR}) hr
     union
     select code from (${enterprisesIn('employee')}) known where ${hasEmployee('known.code', TOLD)}
     order by 1`,
    [own],
  )
  return rows.map(row => row.code)
}

/** What is about to be sent of an employee. */
export interface Sending {
  /** Of HR's row. */
  hash: string
  /** Fields whose value the platform does not show. */
  untold: EmployeeField[]
  /** The department to which the employee moves; null: to none. */
  movingTo: string | null
}

/** In place of a hash: what the platform holds is not known. */
export const UNKNOWN_VALUE = '?'

/**
 * Notes what is about to be sent, in case its outcome stays unknown. No value has the hash of `untold` fields, so they differ from
 * anything in HR. Where the row is another than the one that a plan has passed, the employee is not in sync until it is known to be.
 * A department that the employee may be in is not deleted.
 * @returns whether it may be sent; not once the request is no longer the present one: then nothing is noted
 */
export async function noteSending(
  db: Pool,
  key: ClaimKey,
  claimed: RequestOfClaim,
  { hash, untold, movingTo }: Sending,
): Promise<boolean> {
  const doubted = JSON.stringify(Object.fromEntries(untold.map(field => [field, UNKNOWN_VALUE])))
  const statement = {
    text: `with present as materialized (${PRESENT_REQUEST}
           ), noted as (
             update dirsync.employee
             set acknowledged = acknowledged || $8,
                 acknowledged_hash = case when source_hash = $9 then acknowledged_hash end,
                 moving_to = coalesce($10, moving_to)
             where enterprise_code = $2 and userid = $3 and exists (select from present)
           )
           select exists (select from present) as present`,
    values: [...presentRequest(key, claimed), doubted, hash, movingTo],
    query_timeout: WORK_MS,
  }
  const { rows } = await db.query<{ present: boolean }>(statement)
  return onlyRow(rows).present
}

/** Every employee that these names may mean; `isWhole`: the name has the enterprise, too. */
function keysOf(names: string[], enterpriseCodes: string[]): (EmployeeKey & { isWhole: boolean })[] {
  return names.flatMap(name =>
    enterpriseCodes.flatMap(enterpriseCode => {
      const prefix = `${enterpriseCode}/`
      const byUserid = { enterpriseCode, userid: name, isWhole: false }
      return name.startsWith(prefix)
        ? [byUserid, { enterpriseCode, userid: name.slice(prefix.length), isWhole: true }]
        : [byUserid]
    }),
  )
}

/** Hash of the employee's HR row in the last plan that passed; null without one. */
export async function plannedHash(db: Pool, { enterpriseCode, userid }: EmployeeKey): Promise<string | null> {
  const { rows } = await db.query<{ source_hash: string | null }>(
    'select source_hash from dirsync.employee where enterprise_code = $1 and userid = $2',
    [enterpriseCode, userid],
  )
  return rows[0]?.source_hash ?? null
}
