import { FEATURE_FIELDS, WRITE_ONLY_FIELDS } from './actual.ts'
import {
  type DesiredEmployee,
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeFields,
  type FieldValue,
} from './employee.ts'
import { type AcknowledgedHashes, fieldHash } from './field-hash.ts'
import { CLEAR_VALUE } from './field-rules.ts'
import { DEFAULT_MOBILE_AREA } from './phone.ts'

/** Fields that differ and are sent together, held back together and acknowledged together. */
export interface FieldUnit {
  /** The field that names the unit: `mobile` stands for the area code too, `card_no` for the document type. */
  unit: EmployeeField
  fields: EmployeeField[]
}

const PARTNERS: Partial<Record<EmployeeField, EmployeeField>> = {
  mobile: 'mobile_area',
  card_no: 'card_type',
}
const UNITS: readonly FieldUnit[] = EMPLOYEE_FIELDS.filter(
  field => field !== 'mobile_area' && field !== 'card_type',
).map(unit => {
  const partner = PARTNERS[unit]
  return { unit, fields: partner ? [partner, unit] : [unit] }
})

/** What is sent to clear a field; a field that is not here cannot be cleared (section 4.3). */
const CLEARING: Partial<Record<EmployeeField, string>> = {
  birth_day: CLEAR_VALUE,
  entry_day: CLEAR_VALUE,
  level: CLEAR_VALUE,
  category: CLEAR_VALUE,
  remark: '',
}

/** The unit that a field belongs to: `mobile` for `mobile_area`, `card_no` for `card_type`, else the field itself. */
export function unitOf(field: EmployeeField): EmployeeField {
  if (field === 'mobile_area') return 'mobile'
  return field === 'card_type' ? 'card_no' : field
}

/**
 * The units in which the platform differs from HR, in canonical order. What the platform does not tell (write-only
 * fields, features that may be off, fields missing from its answer) is compared with what was last acknowledged.
 * HR having no value differs only where the field can be cleared and the platform holds something.
 *
 * @param actual the platform's answer as {@link toActual} gives it
 */
export function diffEmployee(input: {
  desired: DesiredEmployee
  actual: EmployeeFields
  acknowledged: AcknowledgedHashes
}): FieldUnit[] {
  const { desired, actual, acknowledged } = input
  return UNITS.filter(({ unit, fields }) => {
    const wanted = desired.fields[unit]
    if (wanted === undefined || (wanted === null && CLEARING[unit] === undefined)) return false
    if (!isTold(unit, actual)) return differsFromAcknowledged(fields, desired.fields, acknowledged)
    return fields.some(field => !isEqual(field, desired.fields[field] ?? null, actual[field] ?? null))
  })
}

/**
 * Parameters of `employee/update` (section 4.3) that bring the units to their desired state, with the key. A number
 * that changes goes as `code` (the present one where it is known) and `new_corp_code`.
 */
export function updateParams(
  desired: DesiredEmployee,
  actual: EmployeeFields,
  units: readonly FieldUnit[],
): Record<string, string> & { userid: string } {
  const { enterpriseCode, userid } = desired.key
  const params: Record<string, string> & { userid: string } = { userid }
  if (enterpriseCode !== '') params.enterprise_code = enterpriseCode
  for (const field of units.flatMap(unit => unit.fields)) {
    const value = desired.fields[field] ?? CLEARING[field]
    if (value === undefined) continue
    if (field === 'corp_code') {
      params.code = actual.corp_code ?? value
      params.new_corp_code = value
    } else params[field] = value
  }
  return params
}

/**
 * Whether the platform's answer tells what it holds of a field; of the others (write-only ones, features that may be off)
 * only what was acknowledged is known.
 */
export function isTold(unit: EmployeeField, actual: EmployeeFields): boolean {
  const held = actual[unit]
  if (WRITE_ONLY_FIELDS.has(unit) || held === undefined) return false
  return held !== null || !FEATURE_FIELDS.has(unit)
}

/** Nothing acknowledged and nothing wanted is no difference: there is nothing to clear as far as anyone knows. */
function differsFromAcknowledged(
  fields: readonly EmployeeField[],
  desired: EmployeeFields,
  acknowledged: AcknowledgedHashes,
): boolean {
  return fields.some(field => {
    const value = desired[field] ?? null
    const last = acknowledged[field]
    return last === undefined ? value !== null : last !== fieldHash(field, value)
  })
}

function isEqual(field: EmployeeField, wanted: FieldValue, held: FieldValue): boolean {
  if (wanted === null) return held === null || held === ''
  if (field === 'mobile_area') return wanted === (held ?? DEFAULT_MOBILE_AREA)
  if (held === null) return false
  if (field === 'corp_code' || field === 'card_no') return wanted.toUpperCase() === held.toUpperCase()
  if (field === 'birth_day' && wanted.length === 5) return wanted === held.slice(-5)
  return wanted === held
}
