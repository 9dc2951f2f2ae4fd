import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { toDesired } from '../../directory/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../../directory/employee.ts'
import { copyText, isKeyless, rowIsActive, smallHash } from '../../directory/hash.ts'
import { ScanRows } from '../../hr/scan.ts'
import type { HrEmployeeRow, HrScan } from '../../hr/source.ts'
import type { SourceScope } from '../../hr/sources.ts'
import { type ClientBase, COPY_MS, onlyRow } from '../../lib/database.ts'

/**
 * The set-based half of a dry run. The rows of both mappings are validated as they stream, and staged as small hashes per field
 * in two temporary tables; a join of them finds the employees for whom the mappings differ. All functions work on one
 * connection inside one transaction, which drops the tables at its end.
 */

export type Side = 'new_row' | 'today_row'

/** One row per HR row of one mapping. */
const STAGED = `(
  enterprise_code text,
  userid          text,
  active          boolean,
  department      text,     -- null: none, or the row breaks rules
  hashes          bigint[], -- per field in canonical order; 0: it is empty, null: it is not managed or the row breaks rules
  broken          text[]    -- columns that break rules
) on commit drop`

/**
 * Stages the rows of a scan.
 * @param codes the enterprises of the source; null: all
 */
export async function stageSide(
  db: ClientBase,
  side: Side,
  scan: HrScan,
  codes: SourceScope['codes'],
  signal: AbortSignal,
): Promise<void> {
  await db.query("set local work_mem = '256MB'")
  await db.query(`create temp table ${side} ${STAGED}`)
  const rows = new ScanRows(scan.columns)
  const toLines = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const lines = rows.push(chunk).map(row => stagedLine(row, scan.columns))
      // Thousands of rows arrive in one turn of the event loop; other work gets its turn in between.
      setImmediate(done, null, lines.join(''))
    },
  })
  const copy = Object.assign(copyFrom(`copy ${side} from stdin`), { query_timeout: COPY_MS })
  try {
    await pipeline(scan.stream, toLines, db.query(copy), { signal })
  } finally {
    await scan.close()
  }
  if (codes) await db.query(`delete from ${side} where enterprise_code <> all ($1)`, [codes])
  await db.query(`analyze ${side}`)
}

/** One row as COPY text; empty for a row without a usable key. */
function stagedLine(row: HrEmployeeRow, columns: readonly string[]): string {
  const { enterprise_code, userid } = row
  if (!userid || isKeyless(row)) return ''
  const validated = toDesired(row, columns)
  const active = validated.ok ? validated.desired.active : rowIsActive(row)
  const fields = validated.ok ? validated.desired.fields : {}
  const broken = validated.ok ? [] : [...new Set<string>(validated.problems.map(({ field }) => field))]
  const hashes = EMPLOYEE_FIELDS.map(field => hashOf(fields[field]))
  const values = [
    copyText(enterprise_code ?? ''),
    copyText(userid),
    active ? 't' : 'f',
    copyText(fields.dept_code || null),
    `{${hashes.join(',')}}`,
    `{${broken.join(',')}}`,
  ]
  return `${values.join('\t')}\n`
}

function hashOf(value: string | null | undefined): string {
  if (value === undefined) return 'NULL'
  return value === null || value === '' ? '0' : String(smallHash(value))
}

/** The change of an employee under the other mapping. */
export const DIFFERENCES = ['appears', 'disappears', 'breaks', 'mends', 'changes'] as const
export type DifferenceKind = (typeof DIFFERENCES)[number]

export interface Counted {
  field: string
  n: number
}

/** The difference in figures, over all employees. */
export interface DifferenceFigures {
  rowsToday: number
  compared: Partial<Record<DifferenceKind, number>>
  /** Highest first. */
  columns: Counted[]
  /** The 50 departments with the most of them. */
  departments: { department: string; n: number }[]
  /** Active employees per column that breaks a rule. */
  broken: Counted[]
  brokenToday: Counted[]
}

const NAMES = `array['${EMPLOYEE_FIELDS.join("', '")}']`

/** Joins and counts both sides. A previously unmapped column changes only employees for whom HR has a value. */
export async function compareSides(db: ClientBase): Promise<DifferenceFigures> {
  await db.query(
    `create temp table dry_difference on commit drop as
     select * from (
       select coalesce(n.enterprise_code, t.enterprise_code) as enterprise_code,
              coalesce(n.userid, t.userid) as userid, coalesce(n.department, t.department) as department,
              case when n.active and t.active is not true then 'appears'
                   when t.active and n.active is not true then 'disappears'
                   when n.active is not true then null
                   when n.broken <> '{}' and t.broken = '{}' then 'breaks'
                   when n.broken = '{}' and t.broken <> '{}' then 'mends'
                   when n.broken = '{}' then 'changes' end as reason,
              case when n.active is not true or t.active is not true then '{}'
                   when n.broken <> '{}' or t.broken <> '{}' then n.broken || t.broken
                   else array(select name from unnest(${NAMES}, n.hashes, t.hashes) as f (name, new, today)
                              where new is distinct from today and new is not null
                                and (today is not null or new <> 0)) end as fields
       from (select distinct on (enterprise_code, userid) * from new_row order by enterprise_code, userid) n
       full join (select distinct on (enterprise_code, userid) *
                  from today_row order by enterprise_code, userid) t
         on t.enterprise_code = n.enterprise_code and t.userid = n.userid
       where n.active is distinct from t.active or n.broken is distinct from t.broken
         or n.hashes is distinct from t.hashes) differing
     where reason is not null and (reason <> 'changes' or fields <> '{}')`,
  )
  await db.query('analyze dry_difference')
  const counted = (from: string) => `(
    select coalesce(jsonb_agg(c order by n desc, field), '[]')
    from (select field, count(*)::int as n from ${from} group by field) c)`
  const { rows } = await db.query<DifferenceFigures>(
    `select (select count(*)::int from today_row) as "rowsToday",
            (select coalesce(jsonb_object_agg(reason, n), '{}')
             from (select reason, count(*)::int as n from dry_difference group by reason) c) as compared,
            ${counted(`dry_difference, unnest(fields) as f (field) where reason = 'changes'`)} as columns,
            (select coalesce(jsonb_agg(c order by n desc, department), '[]')
             from (select department, count(*)::int as n from dry_difference where department is not null
                   group by department order by 2 desc, 1 limit 50) c) as departments,
            ${counted('new_row, unnest(broken) as f (field) where active')} as broken,
            ${counted('today_row, unnest(broken) as f (field) where active')} as "brokenToday"`,
  )
  return onlyRow(rows)
}

export interface DifferingEmployee {
  enterpriseCode: string
  entityKey: string
  reason: DifferenceKind
  department: string | null
  fields: (EmployeeField | 'userid' | 'enterprise_code' | 'active')[]
}

/** Some of the employees for whom the mappings differ, with a share for each kind, so that a rare one is not crowded out. */
export async function someDifferences(db: ClientBase, limit: number): Promise<DifferingEmployee[]> {
  const { rows } = await db.query<DifferingEmployee>(
    `select enterprise_code as "enterpriseCode", userid as "entityKey", reason, department, fields
     from (select *, row_number() over (partition by reason order by enterprise_code, userid) as place
           from dry_difference) d
     order by place, reason limit $1`,
    [limit],
  )
  return rows
}
