import { z } from 'zod'
import type { EmployeeKey } from '../../directory/employee.ts'
import { likeBeginning } from '../../hr/rows.ts'
import { SEARCHED, type Searched } from '../../hr/server.ts'
import type { Pool } from '../../lib/database.ts'
import { enterpriseCodes } from '../../sync/employee.ts'
import { employeeStatus } from '../../sync/figures.ts'
import type { Ask } from '../ask.ts'
import { mayAs } from '../auth/viewer.ts'
import type { DepartmentKey, People } from '../people.ts'
import { ListedEmployee } from './list.ts'

/** An employee in search results. */
export const FoundEmployee = ListedEmployee.extend({
  found_by: z
    .enum(['userid', 'case', 'openid', ...SEARCHED])
    .describe('What the text is of the employee, or begins'),
})
export type FoundEmployee = z.infer<typeof FoundEmployee>

/** What came of asking HR. */
export const HrSearch = z
  .enum(['asked', 'away', 'not_asked'])
  .describe('away: HR did not answer in time; not_asked: found without it, or the caller is a viewer')

/** What HR has by the text, besides what dirsync knows itself. */
interface Found {
  employees: FoundEmployee[]
  departments: DepartmentKey[]
  hr: z.infer<typeof HrSearch>
}

/**
 * Employees by user id, case or open id, and, for those who may see them, by name, work number, mobile number or e-mail address,
 * asked of HR; with departments that HR has by that name. That HR was searched is recorded, not what for.
 */
export async function findPeople(
  { pool, people }: { pool: Pool; people: People },
  ask: Ask,
  text: string,
  limit: number,
): Promise<Found> {
  const wanted = text.trim()
  const own = await searchEmployees(pool, wanted, { limit })
  const isKnown = own.some(({ userid, found_by }) => userid === wanted || found_by === 'openid')
  const by = columnsOf(wanted)
  if (isKnown || by.length === 0 || !mayAs(ask.viewer.role, 'reviewer'))
    return { employees: own, departments: [], hr: 'not_asked' }
  await ask.commands.note('search', { by })
  const { employees, departments, isComplete } = await people.search(
    asWritten(wanted, by),
    by,
    ask.viewer.name,
    limit,
  )
  const found = employees.length === 0 ? own : await searchEmployees(pool, wanted, { limit, inHr: employees })
  return { employees: found, departments, hr: isComplete ? 'asked' : 'away' }
}

/** The columns that a text may be the beginning of. A single letter would be that of half a company. */
function columnsOf(text: string): Searched[] {
  if (/^\p{Script=Han}/u.test(text)) return ['name']
  if (text.length < 2) return []
  if (text.includes('@')) return ['email']
  if (/^\+?[\d\s()-]+$/.test(text)) return ['corp_code', 'mobile']
  return ['name', 'corp_code', 'email']
}

/** A mobile number is stored without signs, and without the area of the mainland. */
function asWritten(text: string, by: readonly Searched[]): string {
  if (!by.includes('mobile')) return text
  const digits = text.replace(/\D/g, '')
  return /^86\d{11}$/.test(digits) ? digits.slice(2) : digits
}

/**
 * Employees whose user id begins with the text, in order; employees with a case under it; the one with this open id; and those
 * whom HR has by it. `enterprise/userid` searches in that enterprise.
 */
export async function searchEmployees(
  db: Pool,
  text: string,
  { limit, inHr = [] }: { limit: number; inHr?: (EmployeeKey & { by: Searched })[] },
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
       union all
       (select * from unnest($6::text[], $7::text[], $8::text[], $9::int[]) limit $5)
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
    [
      likeBeginning(userid),
      named,
      named === null ? codes : [named],
      userid,
      limit,
      inHr.map(({ enterpriseCode }) => enterpriseCode),
      inHr.map(found => found.userid),
      inHr.map(({ by }) => by),
      inHr.map(() => 4),
    ],
  )
  return rows
}
