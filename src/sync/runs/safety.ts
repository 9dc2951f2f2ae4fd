import { emptyShare, type SourceStatistics } from '../../directory/hash.ts'
import { type Message, message } from '../../texts/message.ts'

/** What a run may do without a person's approval. */
export interface RunLimits {
  gate: GateLimits
  /** For employees to change. */
  breaker: Breaker
  /** Percentage of employees who may have left when the first run meets them. */
  maxLeavers: number
  /** For departments to delete. */
  departments: Breaker
  /** How long a department stays after HR closed it. */
  departmentGraceMs: number
  /** With `updated_at` mapped: how long changes runs may continue without reading every row. */
  readAllEveryMs: number
}

interface GateLimits {
  /** Percentage of rows that may be missing compared with the last good run. */
  maxFewerRows: number
  /** Percentage of the rows of active employees for which a column may have become empty. */
  maxEmptied: number
}

/** More than the larger of a number and a percentage of a whole trips a breaker. */
export interface Breaker {
  count: number
  percent: number
}

type LimitSetting =
  | 'GATE_MAX_FEWER_ROWS'
  | 'GATE_MAX_EMPTIED'
  | 'BREAKER_EMPLOYEES'
  | 'BREAKER_EMPLOYEES_PERCENT'
  | 'BREAKER_LEAVERS_PERCENT'
  | 'BREAKER_DEPARTMENTS'
  | 'BREAKER_DEPARTMENTS_PERCENT'
  | 'DEPARTMENT_GRACE_HOURS'
  | 'HR_READ_ALL_MINUTES'

export function limitsOf(config: Readonly<Record<LimitSetting, number>>): RunLimits {
  return {
    gate: { maxFewerRows: config.GATE_MAX_FEWER_ROWS, maxEmptied: config.GATE_MAX_EMPTIED },
    breaker: { count: config.BREAKER_EMPLOYEES, percent: config.BREAKER_EMPLOYEES_PERCENT },
    maxLeavers: config.BREAKER_LEAVERS_PERCENT,
    departments: { count: config.BREAKER_DEPARTMENTS, percent: config.BREAKER_DEPARTMENTS_PERCENT },
    departmentGraceMs: config.DEPARTMENT_GRACE_HOURS * 3_600_000,
    readAllEveryMs: config.HR_READ_ALL_MINUTES * 60_000,
  }
}

/**
 * The sanity gate: why HR looks wrong, or null when it looks right.
 * @param last statistics of the last good run that read every row; null on the first run
 * @param duplicates sample of keys that HR delivers more than once
 */
export function suspicion(
  now: SourceStatistics,
  last: SourceStatistics | null,
  duplicates: string[],
  limits: GateLimits,
): Message | null {
  if (now.rows === 0) return message('said.no_rows')
  const usable = usableRows(now)
  if (usable === 0) return message('said.no_user_ids', { rows: now.rows })
  const twice = duplication(duplicates)
  if (twice) return twice
  if (!last) return null
  // A row without a user id belongs to no employee: the one it should belong to is as good as gone.
  const before = usableRows(last)
  const fewer = percent(before - usable, before)
  // HR may archive the rows of those who left: only if it also lacks rows of employees in service is something wrong.
  const ofActive = last.active === undefined ? fewer : percent(last.active - (now.active ?? 0), last.active)
  if (Math.min(fewer, ofActive) > limits.maxFewerRows)
    return message(now.keyless > 0 ? 'said.fewer_user_ids' : 'said.fewer_rows', {
      rows: usable,
      percent: Math.round(fewer),
      before,
    })
  const alike = last.blank ? now : asBefore(now)
  const emptied = Object.keys(now.empty).filter(
    column =>
      column in last.empty &&
      100 * (emptyShare(alike, column) - emptyShare(last, column)) > limits.maxEmptied,
  )
  return emptied.length === 0
    ? null
    : message('said.emptied', { columns: emptied, percent: limits.maxEmptied })
}

/** What an earlier version can have counted as empty, at most: it did not know blanks, and counted all rows. */
function asBefore({ blank = {}, empty, ...others }: SourceStatistics): SourceStatistics {
  const counted = Object.entries(empty).map(([column, n]) => [column, n - (blank[column] ?? 0)])
  return { ...others, empty: Object.fromEntries(counted) }
}

/** Whether some rows alone could have emptied a column for too many of all rows, had none of them been empty before. */
export function mayHaveEmptied(
  some: SourceStatistics,
  last: SourceStatistics,
  limits: Pick<GateLimits, 'maxEmptied'>,
): boolean {
  const whole = { ...last, empty: some.empty }
  return Object.keys(last.empty).some(column => 100 * emptyShare(whole, column) > limits.maxEmptied)
}

/** So few rows say nothing of a column. */
const FEWEST_ROWS = 3
/** How seldom as many rows may be empty by chance, if rows of the last good run are drawn. */
const SELDOM = 0.01

/** Whether a column is empty in each of some changed rows, as hardly in as many of the last good run: what HR joins may be empty for a moment. */
export function isEmptyThroughout(
  rows: number,
  isEmpty: (column: string) => boolean,
  last: SourceStatistics,
): boolean {
  return (
    rows >= FEWEST_ROWS &&
    Object.keys(last.empty).some(column => emptyShare(last, column) ** rows < SELDOM && isEmpty(column))
  )
}

/**
 * Why HR's employees look wrong when they are counted by department, or null: far fewer have one than the last good run found.
 * @param counted active employees with a department
 */
export function missingEmployees(
  counted: number,
  last: SourceStatistics,
  limits: Pick<GateLimits, 'maxFewerRows'>,
): Message | null {
  // Earlier versions counted rows without a department, leavers' too.
  const before = last.placed ?? Math.max(0, (last.active ?? usableRows(last)) - (last.empty.dept_code ?? 0))
  if (percent(before - counted, before) <= limits.maxFewerRows) return null
  return message('said.missing_employees', { counted, before })
}

/** Rows of employees of the source: with a user id, and of no foreign enterprise. */
export function usableRows({ rows, keyless, stray = 0 }: SourceStatistics): number {
  return rows - keyless - stray
}

/**
 * Why one of several sources looks wrong when it delivers rows of foreign enterprises; null when they are so few that each can
 * be a case.
 * @param total rows of the source, where only newer ones were read; null: all were
 */
export function straying(
  now: SourceStatistics,
  total: number | null,
  { gate, breaker }: { gate: Pick<GateLimits, 'maxFewerRows'>; breaker: Pick<Breaker, 'count'> },
): Message | null {
  const { rows, keyless, stray = 0 } = now
  const isAll = total === null && stray > 0 && usableRows(now) === 0
  const isMuch = trips({ count: breaker.count, percent: gate.maxFewerRows }, stray, total ?? rows - keyless)
  if (!isAll && !isMuch) return null
  return message('said.straying', { count: stray, rows })
}

/** An enterprise of which a source delivers no row, and its known active employees. */
export interface UndeliveredEnterprise {
  code: string
  employees: number
}

/**
 * Why a source that is read for the first time with its enterprises looks wrong: it has no row of one of them, however few
 * those may be among all its rows. A slip in the file of HR_SOURCES must not make leavers of a whole enterprise.
 */
export function misassignment([first]: readonly UndeliveredEnterprise[]): Message | null {
  if (!first) return null
  const { code, employees } = first
  return code === ''
    ? message('said.misassigned_none', { employees })
    : message('said.misassigned', { code, employees })
}

/** How many enterprises a message names. */
const NAMED_ENTERPRISES = 6

/**
 * The same of the only HR after several: it may lack enterprises for good, so that a person decides. It may also be that a
 * process was started without HR_SOURCES.
 */
export function enterprisesLeave(missing: readonly UndeliveredEnterprise[]): Message | null {
  const [first, second] = missing
  if (!first) return null
  if (second) return message('said.enterprises_leave', { enterprises: namedOf(missing) })
  const { code, employees } = first
  return code === ''
    ? message('said.enterprise_leaves_none', { employees })
    : message('said.enterprise_leaves', { code, employees })
}

/** Those with the most employees, and how many others there are. */
function namedOf(missing: readonly UndeliveredEnterprise[]): Message[] {
  const byEmployees = missing.toSorted((a, b) => b.employees - a.employees)
  const named = missing.length > NAMED_ENTERPRISES ? NAMED_ENTERPRISES - 1 : NAMED_ENTERPRISES
  const others = byEmployees.slice(named)
  const employees = others.reduce((sum, other) => sum + other.employees, 0)
  return [
    ...byEmployees
      .slice(0, named)
      .map(one =>
        one.code === ''
          ? message('said.none_of_no_enterprise', { employees: one.employees })
          : message('said.none_of_enterprise', { ...one }),
      ),
    ...(others.length > 0 ? [message('said.none_of_others', { count: others.length, employees })] : []),
  ]
}

/** Why HR looks wrong when it delivers these keys more than once; null when there are none. */
export function duplication(keys: readonly string[]): Message | null {
  if (keys.length === 0) return null
  return message(keys.length === 1 ? 'said.key_twice' : 'said.keys_twice', { keys })
}

/** True when `affected` of `total` trips the breaker. */
export function trips(breaker: Breaker, affected: number, total: number): boolean {
  return affected > Math.max(breaker.count, (total * breaker.percent) / 100)
}

/** True when so many have left that the mapping rather than HR may be wrong about it. */
export function leaversAbound(left: number, total: number, maxLeavers: number): boolean {
  return percent(left, total) > maxLeavers
}

/** True when so few rows changed that neither the sanity gate nor the breaker can check them. */
export function belowNotice(
  changed: number,
  rows: number,
  { gate, breaker }: Pick<RunLimits, 'gate' | 'breaker'>,
): boolean {
  const share = percent(changed, rows)
  return !trips(breaker, changed, rows) && share <= Math.min(gate.maxEmptied, gate.maxFewerRows)
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole
}
