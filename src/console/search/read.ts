import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { likeBeginning, lowerAscii } from '../../lib/text.ts'
import { ENTRY_STATES } from '../../money/journal.ts'
import type { Ask } from '../ask.ts'
import { permits } from '../auth/scope.ts'
import {
  FoundEmployee,
  findPeople,
  HR_NOT_ASKED,
  HrFailure,
  HrLeftOut,
  HrSearch,
} from '../employees/search.ts'
import type { NavEntry } from '../endpoint.ts'
import { PaymentOrderRow } from '../mirrors/read.ts'
import { KINDS } from '../money/query.ts'
import type { DepartmentKey, People } from '../people.ts'
import { RunStanding, STANDING } from '../runs/list.ts'

/** Everything that a search text may refer to. */
export const SearchResult = z.object({
  cases: z
    .array(
      z.object({
        id: z.int(),
        state: z.string(),
        category: z.string(),
        enterprise_code: z.string(),
        entity: z.string(),
        entity_key: z.string(),
        field: z.string(),
      }),
    )
    .describe('By number, or by trace id'),
  codes: z
    .array(z.object({ platform_code: z.int(), category: z.string(), cases: z.int() }))
    .describe('Codes of the platform by number, with their unresolved cases'),
  runs: z.array(RunStanding.extend({ id: z.int(), kind: z.string(), requested_at: z.date() })),
  employees: z.array(
    FoundEmployee.pick({
      enterprise_code: true,
      userid: true,
      status: true,
      open_cases: true,
      found_by: true,
    }),
  ),
  departments: z.array(
    z.object({
      enterprise_code: z.string(),
      dept_code: z.string(),
      active: z.boolean(),
      missing_since: z.date().nullable().describe('Since when it has been missing from HR'),
      deleted_at: z.date().nullable(),
    }),
  ),
  money: z
    .array(
      z.object({ kind: z.enum(KINDS), number: z.string(), target: z.string(), state: z.enum(ENTRY_STATES) }),
    )
    .describe(
      'Refunds and top-ups by their number, that of the platform or of their order or account, or trace id',
    ),
  orders: z
    .array(
      PaymentOrderRow.pick({
        enterprise_code: true,
        trade_no: true,
        out_trade_no: true,
        status: true,
        gone_at: true,
      }),
    )
    .describe('Payment orders of the mirror by their number, or that of the merchant'),
  unmatched: z
    .array(z.string())
    .describe('The number, if the platform has notified of a refund with it that dirsync does not know'),
  more: z
    .array(z.enum(['cases', 'employees', 'departments', 'money', 'orders']))
    .describe('Of which there are more than the first 20'),
  hr: HrSearch,
  hr_failure: HrFailure,
  hr_left_out: HrLeftOut,
})
export type SearchResult = z.infer<typeof SearchResult>

/** `17`, `#17` and `case 17` are the number of a case, in either language. */
const CASE = /^(?:case|异常项?)?\s*#?\s*(\d{1,15})$/iu
/** `run 17` is that of a run, in either language. */
const RUN = /^(?:run|(?:第\s*)?(?:同步)?(?:任务)?)\s*#?\s*(\d{1,15})(?:\s*号(?:同步)?任务)?$/iu
/** All codes of the platform have ten digits, of which the first is 1. */
const CODE = /^1\d{9}$/

const NOTHING: SearchResult = {
  cases: [],
  codes: [],
  runs: [],
  employees: [],
  departments: [],
  money: [],
  orders: [],
  unmatched: [],
  more: [],
  ...HR_NOT_ASKED,
}

/**
 * Everything with that name or number: cases by number and trace id, codes of the platform, runs, refunds, top-ups and payment orders, employees
 * and departments by the beginning of their keys and, as far as HR may be asked, of their names. A limited token finds what it may look at on the
 * screens of these.
 */
export async function searchEverything(
  services: { pool: Pool; people: People },
  ask: Ask,
  text: string,
  limit: number,
): Promise<SearchResult> {
  const { pool } = services
  const sees = (screen: NavEntry) => permits(ask.viewer.scopes, screen, true)
  const wanted = text.trim()
  if (wanted === '' || wanted.includes('\0')) return NOTHING
  const caseNumber = CASE.exec(wanted)?.[1]
  const runNumber = caseNumber === undefined ? RUN.exec(wanted)?.[1] : undefined
  const rows = async <Row>(isAsked: boolean, sql: string, values: unknown[]): Promise<Row[]> =>
    isAsked ? ((await pool.query(sql, values)).rows as Row[]) : []
  const [cases, codes, runs, money, orders, unmatched, found] = await Promise.all([
    rows<SearchResult['cases'][number]>(
      sees('cases'),
      `select id, state, category, enterprise_code, entity, entity_key, field from dirsync.dead_letter
       where id = $1 or left(trace_id, 200) = left($2, 200) order by id desc limit $3`,
      [caseNumber ?? null, wanted, limit + 1],
    ),
    rows<SearchResult['codes'][number]>(
      sees('cases') && CODE.test(wanted),
      `select platform_code, category, sum(n)::int as cases from dirsync.tally
       where source = 'dead_letter' and platform_code = $1 and state <> 'ignored'
       group by platform_code, category having sum(n) > 0 order by 3 desc, 2`,
      [wanted],
    ),
    rows<SearchResult['runs'][number]>(
      sees('runs') && runNumber !== undefined,
      `select r.id, r.kind, r.requested_at, ${STANDING} from dirsync.sync_run r where id = $1`,
      [runNumber],
    ),
    rows<SearchResult['money'][number]>(
      sees('money'),
      `(select 'refunds' as kind, outer_refund_no as number, outer_trade_no as target, state, sent_at from dirsync.refund
        where outer_refund_no = $1 or outer_trade_no = $1 or trade_no = $1 or left(trace_id, 200) = left($1, 200)
        order by sent_at desc limit $2)
       union all
       (select 'topups', external_code, account_openid, state, sent_at from dirsync.topup
        where external_code = $1 or account_openid = $1 or apply_charge_openid = $1 or left(trace_id, 200) = left($1, 200)
        order by sent_at desc limit $2)
       order by sent_at desc limit $2`,
      [wanted, limit + 1],
    ),
    rows<SearchResult['orders'][number]>(
      sees('mirrors'),
      // The mirror may have an order of an earlier enterprise code, too: it is shown as it was last seen.
      `select distinct on (trade_no) enterprise_code, trade_no, out_trade_no, status, gone_at
       from dirsync.payment_order
       where trade_no collate "C" = $1 or out_trade_no = $1
       order by trade_no, changed_at desc, enterprise_code desc limit $2`,
      [wanted, limit + 1],
    ),
    rows<{ number: string }>(
      sees('money'),
      `select outer_refund_no as number from dirsync.refused_notification
       where outer_refund_no = $1 and reason = 'unknown'
         and not exists (select from dirsync.refund r where r.outer_refund_no = $1)`,
      [wanted],
    ),
    // No user id begins with #, and `case 17` means nobody.
    runNumber !== undefined || (caseNumber !== undefined && !/^\d/.test(wanted))
      ? { employees: [], isCut: false, departments: [], ...HR_NOT_ASKED }
      : findPeople(services, ask, wanted, { limit: limit + 1 }),
  ])
  const departments = sees('departments')
    ? await searchDepartments(pool, wanted, found.departments, limit + 1)
    : []
  const { employees } = found
  const lists = { cases, employees, departments, money, orders }
  return {
    codes,
    runs,
    cases: cases.slice(0, limit),
    employees: employees.slice(0, limit),
    departments: departments.slice(0, limit),
    money: money.slice(0, limit),
    orders: orders.slice(0, limit),
    unmatched: unmatched.map(({ number }) => number),
    more: (['cases', 'employees', 'departments', 'money', 'orders'] as const).filter(
      kind => lists[kind].length > limit || (kind === 'employees' && found.isCut),
    ),
    hr: found.hr,
    hr_failure: found.hr_failure,
    hr_left_out: found.hr_left_out,
  }
}

/** Departments whose code begins with the text, and those that HR has by that name. */
async function searchDepartments(
  db: Pool,
  text: string,
  inHr: readonly DepartmentKey[],
  limit: number,
): Promise<SearchResult['departments']> {
  const { rows } = await db.query<SearchResult['departments'][number]>(
    `with found as (
       (select enterprise_code, dept_code from dirsync.department
        where lower(dept_code collate "C") like $1
        order by lower(dept_code collate "C"), enterprise_code limit $4)
       union
       select * from unnest($2::text[], $3::text[])
     )
     select d.enterprise_code, d.dept_code, d.active, d.first_missing_at as missing_since, d.deleted_at
     from found join dirsync.department d using (enterprise_code, dept_code)
     order by d.dept_code using ~<~, d.enterprise_code limit $4`,
    [
      likeBeginning(lowerAscii(text)),
      inHr.map(({ enterpriseCode }) => enterpriseCode),
      inHr.map(({ deptCode }) => deptCode),
      limit,
    ],
  )
  return rows
}
