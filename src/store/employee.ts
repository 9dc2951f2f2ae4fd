import type { ClientBase, Pool } from 'pg'
import type { EmployeeKey } from '../core/employee.ts'

/** Employees known by these names: a user id, or `enterprise/userid`. */
export async function findEmployees(db: ClientBase | Pool, names: string[]): Promise<EmployeeKey[]> {
  const { rows } = await db.query<EmployeeKey>(
    `select enterprise_code as "enterpriseCode", userid from dirsync.employee
     where userid = any ($1) or enterprise_code || '/' || userid = any ($1) order by 1, 2`,
    [names],
  )
  return rows
}

/** The enterprise codes in use, the deployment's own among them. */
export async function enterpriseCodes(db: ClientBase | Pool, own: string): Promise<string[]> {
  const { rows } = await db.query(
    `select $1::text as code union select distinct enterprise_code from dirsync.employee order by 1`,
    [own],
  )
  return rows.map(row => row.code)
}

/** Employees in service × merchant applications without a binding and without an open case about it. */
export async function unboundEmployees(
  db: ClientBase | Pool,
  sellerAppids: string[],
): Promise<(EmployeeKey & { sellerAppid: string })[]> {
  const { rows } = await db.query<EmployeeKey & { sellerAppid: string }>(
    `select e.enterprise_code as "enterpriseCode", e.userid, s.appid as "sellerAppid"
     from dirsync.employee e cross join unnest($1::text[]) as s (appid)
     where e.active and e.vanished_at is null and e.platform_state = 'in_service'
       and not exists (select from dirsync.openid_binding b
                       where b.enterprise_code = e.enterprise_code and b.userid = e.userid and b.seller_appid = s.appid)
       and not exists (select from dirsync.dead_letter d
                       where d.enterprise_code = e.enterprise_code and d.entity_key = e.userid and d.operation = 'bind-openid'
                         and d.field = s.appid and d.state <> 'resolved')
     order by 1, 2, 3`,
    [sellerAppids],
  )
  return rows
}
