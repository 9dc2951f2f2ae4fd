import type { DueDeletion } from '../../directory/department.ts'
import { type ActualEmployee, FEATURE_FIELDS, type RowProblem, toDesired } from '../../directory/desired.ts'
import { diffEmployee, type FieldUnit, unkeptUnits } from '../../directory/difference.ts'
import {
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeFields,
  type EmployeeKey,
  type FieldValue,
} from '../../directory/employee.ts'
import { isKeyless, rowHash, rowIsActive } from '../../directory/hash.ts'
import { hideValue, maskOfRow, maskValue } from '../../directory/masking.ts'
import { type HrEmployeeRow, keyOfRow } from '../../hr/scan.ts'
import { isOfHr } from '../../hr/source.ts'
import type { NamedSource } from '../../hr/sources.ts'
import type { ScanSpool } from '../../hr/spool.ts'
import { type ClientBase, type Pool, rolledBack } from '../../lib/database.ts'
import { countUnbound } from '../../sync/outbox/outbox.ts'
import { departmentFacts, departmentsVerdict } from '../../sync/plan/departments.ts'
import { type EmployeePlan, planEmployees } from '../../sync/plan/plan-employees.ts'
import { countRejected, countUndecidedRuns, skippedEmployees } from '../../sync/plan/plan-tables.ts'
import type { RunLimits } from '../../sync/runs/safety.ts'
import { aboutAccount, holdBack, isOfAnother } from '../../sync/work/reconcile-employee.ts'
import { type Message, message, type Said, saidBy } from '../../texts/message.ts'
import type { EmployeeMemories } from './story.ts'

// What a run would do

/** What runs would do if they were started now. */
export interface RunPreview {
  employees: EmployeePlan
  /**
   * The rows of active employees, except those that the run would skip, as the plan has read them; empty without a
   * spool.
   */
  rows: () => AsyncIterable<HrEmployeeRow>
  /** Null without a mapping of departments, or while they cannot be read. */
  departments: DepartmentsPreview | null
  /** Why departments cannot be read, for which employees do not wait. */
  departmentsError: Said | null
  /** Missing bindings: employees × merchant applications. */
  openids: number
  /** Employees who differ, but a person rejected the change. */
  rejected: number
  /** Employees about whom a person has yet to decide, of held runs that are decided in parts. */
  undecided: { run: number; count: number }[]
}

interface DepartmentsPreview {
  total: number
  deletions: DueDeletion[]
  verdict: ReturnType<typeof departmentsVerdict>
}

/**
 * Plans as the planner does, in a transaction that is rolled back.
 * @param options.spool stores HR's rows, so that they can be read afterwards without reading HR again
 */
export function previewRun(options: {
  pool: Pool
  source: NamedSource
  kind: 'changes' | 'full'
  /** The run's `max_age`. */
  maxAgeMs: number | null
  limits: RunLimits
  sellerAppids: string[]
  spool?: ScanSpool | undefined
}): Promise<RunPreview> {
  const { pool, source, kind, maxAgeMs, limits, sellerAppids, spool } = options
  const { hr } = source
  const reader: Parameters<typeof planEmployees>[1] = {
    inspect: () => hr.inspect(),
    scan: async reading => {
      const scan = await hr.scan(reading)
      return spool ? spool.keep(scan) : scan
    },
  }
  return rolledBack(pool, async db => {
    const run = { kind, state: 'requested', maxAgeMs } as const
    const employees = await planEmployees(db, reader, run, limits, new AbortController().signal, source)
    const skips = employees.difference.skipped > 0 ? await skippedEmployees(db) : () => false
    const rows = () => rowsToAsk(spool, source, skips)
    const openids = await countUnbound(db, sellerAppids, source.codes)
    const rejected = await countRejected(db, source.codes)
    const undecided = await countUndecidedRuns(db)
    const ofDepartments = await previewDepartments(db, source, limits)
    return { employees, rows, ...ofDepartments, openids, rejected, undecided }
  })
}

async function previewDepartments(
  db: ClientBase,
  source: NamedSource,
  limits: RunLimits,
): Promise<Pick<RunPreview, 'departments' | 'departmentsError'>> {
  if (!source.hr.hasDepartments) return { departments: null, departmentsError: null }
  try {
    const facts = await departmentFacts(db, source, await source.hr.departments(), limits)
    const { total, deletions } = facts
    const departments = { total, deletions, verdict: departmentsVerdict(facts, limits) }
    return { departments, departmentsError: null }
  } catch (error) {
    if (!isOfHr(error)) throw error
    return { departments: null, departmentsError: saidBy(error) }
  }
}

async function* rowsToAsk(
  spool: ScanSpool | undefined,
  { codes }: NamedSource,
  skips: (key: EmployeeKey) => boolean,
): AsyncGenerator<HrEmployeeRow> {
  if (!spool) return
  for await (const row of spool.rows()) {
    if (isKeyless(row) || !rowIsActive(row) || codes?.includes(row.enterprise_code ?? '') === false) continue
    if (!skips(keyOfRow(row))) yield row
  }
}

// One employee

/** One field, HR against the platform; values are masked. */
export interface FieldPreview {
  field: EmployeeField
  hr: FieldValue
  platform: FieldValue
  /** False if unknown: not asked, not shown by the platform, or the feature is off. */
  platform_told: boolean
  status: 'in_sync' | 'to_send' | 'held_back' | 'invalid' | 'unknown'
  /** Why it is held back or invalid, or a remark about the comparison. */
  note: Message | null
}

/** What an attempt would do about one employee. */
export interface EmployeePreview {
  hr: 'present' | 'left' | 'absent' | 'duplicate' | 'invalid'
  problems: RowProblem[]
  fields: FieldPreview[]
}

/**
 * What reconciling an employee would do now, without doing it.
 * @param actual the platform's answer from `toActual`; null if it has no such employee or was not asked
 */
export function previewEmployee(input: {
  row: HrEmployeeRow | 'duplicate' | null
  columns: readonly string[]
  actual: ActualEmployee | null
  memory: EmployeeMemories
}): EmployeePreview {
  const { row, columns, actual } = input
  const memory = actual ? aboutAccount(input.memory, actual) : input.memory
  if (row === null || row === 'duplicate')
    return { hr: row === null ? 'absent' : 'duplicate', problems: [], fields: [] }
  const validated = toDesired(row, columns)
  if (!validated.ok) {
    const { problems, sound } = validated
    return { hr: 'invalid', problems, fields: rawFields({ row, sound, problems }, columns, actual) }
  }
  const { desired } = validated
  const differing = actual ? diffEmployee({ desired, actual, acknowledged: memory.acknowledged }) : []
  const unkept = actual ? unkeptUnits(differing, { desired, actual, ...memory }) : []
  const hash = rowHash(columns, row)
  const { send, blocked, parked, givenUp, mistaken } = holdBack(differing, {
    desired,
    actual: actual ?? {},
    claim: memory,
    hash,
    unkept,
  })
  const isOther = actual !== null && isOfAnother(desired, actual, memory, hash)
  const other = isOther ? message('said.another_person_unsent') : null
  const unsent = desired.active ? (whyUnsent(memory, hash) ?? other) : message('said.leavers_unsent')
  const isIn = (units: FieldUnit[], field: EmployeeField) => units.some(unit => unit.fields.includes(field))
  const judge = (field: EmployeeField): Pick<FieldPreview, 'status' | 'note'> => {
    if (actual === null) return { status: 'unknown', note: null }
    if (isIn(send, field))
      return unsent ? { status: 'held_back', note: unsent } : { status: 'to_send', note: null }
    if (isIn(blocked, field)) return { status: 'held_back', note: message('said.switched_off') }
    if (isIn(givenUp, field)) return { status: 'held_back', note: message('said.not_kept') }
    if (isIn(mistaken, field)) return { status: 'held_back', note: message('said.mistaken') }
    if (isIn(parked, field)) {
      const unit = parked.find(({ fields }) => fields.includes(field))
      const open = memory.cases.find(({ field: named }) => unit?.fields.includes(named as EmployeeField))
      return {
        status: 'held_back',
        note: open
          ? message('said.see_case', { case: open.id, category: open.category })
          : message('said.a_case'),
      }
    }
    const keepsItsOwn = !desired.fields[field] && actual[field]
    return { status: 'in_sync', note: keepsItsOwn ? message('said.keeps_own') : null }
  }
  const fields = EMPLOYEE_FIELDS.filter(field => field in desired.fields).map(field => ({
    field,
    hr: maskValue(field, desired.fields[field] ?? null),
    ...shownOfPlatform(field, actual),
    ...judge(field),
  }))
  return { hr: desired.active ? 'present' : 'left', problems: [], fields }
}

/** Why no run sends the row, whatever differs. */
function whyUnsent({ held }: EmployeeMemories, hash: string): Message | null {
  if (held?.rejected === false) return message('said.held_unsent', { run: held.run })
  return held?.hash === hash ? message('said.rejected_unsent', { run: held.run }) : null
}

/** The platform's value, if it shows one. */
export function shownOfPlatform(
  field: EmployeeField,
  actual: EmployeeFields | null,
): Pick<FieldPreview, 'platform' | 'platform_told'> {
  const value = actual?.[field]
  if (value === undefined || (value === null && FEATURE_FIELDS.has(field)))
    return { platform: null, platform_told: false }
  return { platform: maskValue(field, value), platform_told: true }
}

/** The fields of an invalid row: an invalid value may be anything, so it is hidden. */
function rawFields(
  { row, sound, problems }: { row: HrEmployeeRow; sound: EmployeeFields; problems: RowProblem[] },
  columns: readonly string[],
  actual: EmployeeFields | null,
): FieldPreview[] {
  return EMPLOYEE_FIELDS.filter(field => columns.includes(field)).map(field => {
    const problem = problems.find(found => found.field === field)
    return {
      field,
      hr: problem ? hideValue(row[field] ?? null) : maskOfRow(field, row, sound),
      ...shownOfPlatform(field, actual),
      status: problem ? 'invalid' : 'unknown',
      note: problem?.message ?? null,
    }
  })
}
