import { z } from 'zod'
import type { EmployeeKey } from '../../directory/employee.ts'
import { SEARCHED, type Searched } from '../../hr/server.ts'
import type { Pool } from '../../lib/database.ts'
import { likeBeginning, lowerAscii } from '../../lib/text.ts'
import { UNRESOLVED } from '../../sync/cases/cases.ts'
import { employeeStatus } from '../../sync/health/figures.ts'
import { enterpriseCodes } from '../../sync/outbox/employee.ts'
import { SaidText } from '../../texts/failures.ts'
import type { Said } from '../../texts/message.ts'
import type { Ask } from '../ask.ts'
import { permits } from '../auth/scope.ts'
import { mayAs } from '../auth/viewer.ts'
import type { DepartmentKey, People } from '../people.ts'
import { ListedEmployee, openCases } from './list.ts'

/** An employee in search results. */
export const FoundEmployee = ListedEmployee.extend({
  found_by: z
    .enum(['userid', 'case', 'openid', ...SEARCHED])
    .describe('What the text is of the employee, or begins or ends'),
})
export type FoundEmployee = z.infer<typeof FoundEmployee>

/** What came of asking HR. */
export const HrSearch = z
  .enum(['asked', 'away', 'busy', 'failed', 'not_asked'])
  .describe(
    'away: HR did not answer in time; busy: too many are searching it; failed: it cannot be searched, `hr_failure` says ' +
      'why; not_asked: found without it; viewers have it asked for departments alone',
  )
export const HrFailure = SaidText.nullable().describe('Why HR cannot be searched')
export const HrLeftOut = z
  .array(z.string())
  .describe('The HR sources that `hr` is about, if there are several: the others were searched')

/** What HR has by the text, besides what dirsync knows itself. */
interface Found {
  employees: FoundEmployee[]
  /** Whether HR has more: those of other sources than their enterprise's are left out after it was asked. */
  isCut: boolean
  departments: DepartmentKey[]
  hr: z.infer<typeof HrSearch>
  hr_failure: Said | null
  hr_left_out: string[]
}

/** HR was not asked. */
export const HR_NOT_ASKED = { hr: 'not_asked' as const, hr_failure: null, hr_left_out: [] }

/**
 * Employees by user id, case or open id, and, for those who may see them, by name, work number, mobile number or e-mail address,
 * asked of HR; with departments that HR has by that name, for everyone. That people were searched for in HR is recorded, once an
 * hour, not what for.
 * @param enterprise only employees of this one; undefined: of all
 */
export async function findPeople(
  { pool, people }: { pool: Pool; people: People },
  ask: Ask,
  text: string,
  { enterprise, limit }: { enterprise?: string | undefined; limit: number },
): Promise<Found> {
  const wanted = text.trim()
  const { role, scopes } = ask.viewer
  const seesPeople = permits(scopes, 'employees', true)
  const seesDepartments = permits(scopes, 'departments', true)
  const own = seesPeople ? await searchEmployees(pool, wanted, { enterprise, limit }) : []
  const columns = columnsOf(wanted)
  // Names of departments stand on every page, those of people do not.
  const by = seesPeople && mayAs(role, 'reviewer') ? columns : []
  // A user id may be the work number of another person.
  const isKnown = own.some(
    ({ userid, found_by }) =>
      found_by === 'openid' || (by.length === 0 && lowerAscii(userid) === lowerAscii(wanted)),
  )
  if (isKnown || columns.length === 0 || (by.length === 0 && !seesDepartments))
    return { employees: own, isCut: false, departments: [], ...HR_NOT_ASKED }
  if (by.length > 0) await people.readings.record(ask, 'search', { by })
  ask.marks.expect({
    employees: own.map(({ enterprise_code: enterpriseCode, userid }) => ({ enterpriseCode, userid })),
    departments: [],
  })
  const { employees, departments, isCut, trouble } = await people.search(
    {
      departments: seesDepartments ? wanted : null,
      by: by.map(column =>
        column === 'mobile' ? [column, mobilesOf(wanted), lastDigitsOf(wanted)] : [column, [wanted]],
      ),
      enterprise,
    },
    ask.viewer.name,
    limit,
  )
  ask.marks.tell({ employees, departments })
  const inHr = employees.filter(
    ({ enterpriseCode }) => enterprise === undefined || enterpriseCode === enterprise,
  )
  const found = inHr.length === 0 ? own : await searchEmployees(pool, wanted, { enterprise, limit, inHr })
  return {
    employees: found,
    isCut,
    departments,
    hr: trouble?.hr ?? 'asked',
    hr_failure: trouble?.reason ?? null,
    hr_left_out: trouble?.sources ?? [],
  }
}

/** The columns that a text is searched in. A single letter would be the beginning of half a company. */
export function columnsOf(text: string): Searched[] {
  if (/^\p{Script=Han}/u.test(text)) return ['name']
  if (text.length < 2) return []
  if (text.includes('@')) return ['email']
  if (/^\+?[\d\s()-]+$/.test(text)) return ['corp_code', 'mobile']
  return ['name', 'corp_code', 'email']
}

/** Whether a text may be a user id, rather than a name or a number as people write it. */
export function maybeUserid(text: string): boolean {
  return !/\s|^\p{Script=Han}/u.test(text.trim())
}

/** How many digits a calling code has, by its first ones (ITU-T E.164). */
const AREA = /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/

/** Numbers without an area code have at most eleven digits, so longer ones have one. */
const LONGEST_MOBILE = 11

/** HR has a mobile number without signs, and the area beside it or before it. */
function mobilesOf(text: string): string[] {
  const digits = text.replace(/\D/g, '')
  const isAbroad = /^\s*(?:\+|00)/.test(text)
  const whole = isAbroad ? digits.replace(/^00/, '') : digits
  const bare = isAbroad || whole.length > LONGEST_MOBILE ? whole.replace(AREA, '') : ''
  return [whole, bare].filter(text => text !== '')
}

/** Pages mask all but the last digits of a mobile number. Fewer would be those of many people. */
function lastDigitsOf(text: string): string[] {
  const digits = text.replace(/\D/g, '')
  return !text.includes('+') && /^\d{4,8}$/.test(digits) ? [digits] : []
}

/**
 * Employees whose user id begins with the text; employees with a case under it; the one with this open id; and those whom HR has
 * by it. In the order of user ids, the text itself first. `enterprise/userid` searches in that enterprise.
 * @param options.enterprise only this enterprise's; undefined: those of all
 */
export async function searchEmployees(
  db: Pool,
  text: string,
  {
    enterprise,
    limit,
    inHr = [],
  }: { enterprise?: string | undefined; limit: number; inHr?: (EmployeeKey & { by: Searched })[] },
): Promise<FoundEmployee[]> {
  const wanted = text.trim()
  if (wanted === '' || wanted.includes('\0')) return []
  const codes = await enterpriseCodes(db, '')
  const slash = wanted.indexOf('/')
  const named = slash > 0 && codes.includes(wanted.slice(0, slash)) ? wanted.slice(0, slash) : null
  if (enterprise !== undefined && named !== null && named !== enterprise) return []
  const only = enterprise ?? named
  const userid = named === null ? wanted : wanted.slice(slash + 1)
  const { rows } = await db.query<FoundEmployee>(
    `with found as (
       (select enterprise_code, userid, 'userid' as found_by, 1 as rank
        from dirsync.employee
        where lower(userid collate "C") like $1 and ($2::text is null or enterprise_code = $2)
        order by lower(userid collate "C"), enterprise_code limit $5)
       union all
       (select enterprise_code, entity_key, 'case', 2 from dirsync.dead_letter d
        where enterprise_code = any ($3) and lower(entity_key collate "C") = $10 and entity = 'employee'
          and ${UNRESOLVED} limit $5)
       union all
       (select enterprise_code, userid, 'openid', 3 from dirsync.openid_binding
        where open_userid = $4 and ($2::text is null or enterprise_code = $2) limit $5)
       union all
       (select * from unnest($6::text[], $7::text[], $8::text[], $9::int[]) limit $5)
     ), once as (
       select distinct on (enterprise_code, userid) * from found order by enterprise_code, userid, rank
     )
     select o.enterprise_code, o.userid, o.found_by, coalesce(${employeeStatus('e')}, 'unknown') as status,
            e.dept_code as department, dirsync.confirmed_at(e) as acknowledged_at, ${openCases('o', 'e.withheld')} as open_cases
     from once o
     left join dirsync.employee e on e.enterprise_code = o.enterprise_code and e.userid = o.userid
     order by o.userid <> $4, lower(o.userid collate "C") <> $10, lower(o.userid collate "C"), o.userid collate "C",
              o.enterprise_code limit $5`,
    [
      likeBeginning(lowerAscii(userid)),
      only,
      only === null ? codes : [only],
      userid,
      limit,
      inHr.map(({ enterpriseCode }) => enterpriseCode),
      inHr.map(found => found.userid),
      inHr.map(({ by }) => by),
      inHr.map(() => 4),
      lowerAscii(userid),
    ],
  )
  return rows
}
