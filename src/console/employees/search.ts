import type { Pool } from '../../lib/database.ts'
import { enterpriseCodes } from '../../sync/employee.ts'
import { employeeStatus } from '../../sync/figures.ts'
import type { ListedEmployee } from './list.ts'

/** A known employee in search results. */
export interface FoundEmployee extends ListedEmployee {
  found_by: 'userid' | 'case' | 'openid'
}

/**
 * Employees whose user id begins with the text, in order; employees with a case under it; and the one with this open
 * id. Names are not stored, so they cannot be searched. `enterprise/userid` searches in that enterprise.
 */
export async function searchEmployees(
  db: Pool,
  text: string,
  { limit }: { limit: number },
): Promise<FoundEmployee[]> {
  const wanted = text.trim()
  if (wanted === '' || wanted.includes('\0')) return []
  const codes = await enterpriseCodes(db, '')
  const slash = wanted.indexOf('/')
  const named = slash > 0 && codes.includes(wanted.slice(0, slash)) ? wanted.slice(0, slash) : null
  const userid = named === null ? wanted : wanted.slice(slash + 1)
  const { rows } = await db.query<FoundEmployee>(
    `with found as (
       (select enterprise_code, userid, 'userid' as found_by, 1 as rank
        from dirsync.employee
        where userid collate "C" like $1 and ($2::text is null or enterprise_code = $2)
        order by userid collate "C", enterprise_code limit $5)
       union all
       (select enterprise_code, entity_key, 'case', 2 from dirsync.dead_letter
        where enterprise_code = any ($3) and entity_key = $4 and entity = 'employee'
          and state not in ('resolved', 'ignored') limit $5)
       union all
       (select enterprise_code, userid, 'openid', 3 from dirsync.openid_binding where open_userid = $4 limit $5)
     ), once as (
       select distinct on (enterprise_code, userid) * from found order by enterprise_code, userid, rank
     )
     select o.enterprise_code, o.userid, o.found_by, coalesce(${employeeStatus('e')}, 'unknown') as status,
            e.dept_code as department, e.acknowledged_at,
            (select count(*)::int from (
               select from dirsync.dead_letter d
               where d.enterprise_code = o.enterprise_code and d.entity_key = o.userid
                 and d.entity = 'employee' and d.state not in ('resolved', 'ignored') limit 100) few) as open_cases
     from once o
     left join dirsync.employee e on e.enterprise_code = o.enterprise_code and e.userid = o.userid
     order by o.userid <> $4, o.userid collate "C", o.enterprise_code limit $5`,
    [`${userid.replace(/[\\%_]/g, '\\$&')}%`, named, named === null ? codes : [named], userid, limit],
  )
  return rows
}
