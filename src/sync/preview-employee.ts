import { FEATURE_FIELDS } from '../core/actual.ts'
import { type RowProblem, toDesired } from '../core/desired.ts'
import { diffEmployee, type FieldUnit } from '../core/diff.ts'
import {
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeFields,
  type FieldValue,
} from '../core/employee.ts'
import { hideValue, maskValue } from '../core/masking.ts'
import { rowHash } from '../core/row-hash.ts'
import { unkeptUnits } from '../core/unkept.ts'
import type { HrEmployeeRow } from '../hr/source.ts'
import type { EmployeeMemories } from '../store/employee-story.ts'
import { holdBack } from './reconcile-employee.ts'

/** One field, HR against the platform; values are masked. */
export interface FieldPreview {
  field: EmployeeField
  hr: FieldValue
  /** Undefined when it is not known: not asked, not told, or the feature is off. */
  platform: FieldValue | undefined
  standing: 'in_step' | 'to_send' | 'held_back' | 'invalid' | 'unknown'
  /** Why it is held back or invalid, or what to know about the comparison. */
  note: string | null
}

/** What an attempt would do about one employee. */
export interface EmployeePreview {
  hr: 'present' | 'left' | 'absent' | 'duplicate' | 'invalid'
  problems: RowProblem[]
  fields: FieldPreview[]
}

/**
 * What reconciling an employee would do now, without doing it.
 * @param actual the platform's answer as `toActual` gives it; null when it has no such employee or was not asked
 */
export function previewEmployee(input: {
  row: HrEmployeeRow | 'duplicate' | null
  columns: readonly string[]
  actual: EmployeeFields | null
  memory: EmployeeMemories
}): EmployeePreview {
  const { row, columns, actual, memory } = input
  if (row === null || row === 'duplicate')
    return { hr: row === null ? 'absent' : 'duplicate', problems: [], fields: [] }
  const validated = toDesired(row, columns)
  if (!validated.ok) {
    const { problems } = validated
    return { hr: 'invalid', problems, fields: rawFields(row, columns, actual, problems) }
  }
  const { desired } = validated
  const differing = actual ? diffEmployee({ desired, actual, acknowledged: memory.acknowledged }) : []
  const unkept = actual ? unkeptUnits(differing, { desired, actual, ...memory }) : []
  const { send, blocked, parked, givenUp } = holdBack(
    differing,
    desired,
    memory,
    rowHash(columns, row),
    unkept,
  )
  const isIn = (units: FieldUnit[], field: EmployeeField) => units.some(unit => unit.fields.includes(field))
  const judge = (field: EmployeeField): Pick<FieldPreview, 'standing' | 'note'> => {
    if (actual === null) return { standing: 'unknown', note: null }
    if (isIn(send, field)) return { standing: 'to_send', note: null }
    if (isIn(blocked, field))
      return { standing: 'held_back', note: 'its feature is switched off for the enterprise' }
    if (isIn(givenUp, field))
      return { standing: 'held_back', note: 'the platform accepted it before, and did not keep it' }
    if (isIn(parked, field)) {
      const open = memory.cases.find(({ field: named }) => unitHolds(parked, named, field))
      return {
        standing: 'held_back',
        note: open ? `dead letter ${open.id}: ${open.category}` : 'dead letter',
      }
    }
    return { standing: 'in_step', note: remark(desired.fields[field] ?? null, actual[field]) }
  }
  const fields = managed(desired.fields).map(field => ({
    field,
    hr: maskValue(field, desired.fields[field] ?? null),
    platform: shown(field, actual),
    ...judge(field),
  }))
  return { hr: desired.active ? 'present' : 'left', problems: [], fields }
}

function unitHolds(units: FieldUnit[], named: string, field: EmployeeField): boolean {
  return units.some(unit => unit.fields.includes(field) && unit.fields.includes(named as EmployeeField))
}

function managed(fields: EmployeeFields): EmployeeField[] {
  return EMPLOYEE_FIELDS.filter(field => field in fields)
}

/** The platform's value as far as it tells one. */
function shown(field: EmployeeField, actual: EmployeeFields | null): FieldValue | undefined {
  const value = actual?.[field]
  if (value === undefined || (value === null && FEATURE_FIELDS.has(field))) return undefined
  return maskValue(field, value)
}

function remark(wanted: FieldValue, held: FieldValue | undefined): string | null {
  return wanted === null && held ? 'HR has none, the platform keeps its own' : null
}

function rawFields(
  row: HrEmployeeRow,
  columns: readonly string[],
  actual: EmployeeFields | null,
  problems: RowProblem[],
): FieldPreview[] {
  return EMPLOYEE_FIELDS.filter(field => columns.includes(field)).map(field => {
    const problem = problems.find(found => found.field === field)
    return {
      field,
      hr: problem ? hideValue(row[field] ?? null) : maskValue(field, row[field] ?? null),
      platform: shown(field, actual),
      standing: problem ? 'invalid' : 'unknown',
      note: problem?.message ?? null,
    }
  })
}
