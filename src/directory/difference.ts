import { FEATURE_FIELDS, WRITE_ONLY_FIELDS } from './desired.ts'
import {
  type DesiredEmployee,
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeFields,
  type FieldValue,
} from './employee.ts'
import { attributeCodes, CLEAR_VALUE, DEFAULT_MOBILE_AREA } from './field-rules.ts'
import { type AcknowledgedHashes, fieldHash } from './hash.ts'

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

// Values that the platform accepts and does not keep

/**
 * Per unit that was sent, the hash of what the platform showed before. While it shows that again after it accepted another
 * value, it did not keep the value: sending it once more would change nothing. Somebody who edits an employee on the platform
 * leaves something else, or does it after the platform was seen to have kept the value, which forgets the hash.
 */
export type OverwrittenHashes = Partial<Record<EmployeeField, string>>

/** Those of the differing units whose present value the platform has accepted, and shows again what it showed before. */
export function unkeptUnits(
  differing: readonly FieldUnit[],
  known: {
    desired: DesiredEmployee
    actual: EmployeeFields
    acknowledged: AcknowledgedHashes
    overwritten: OverwrittenHashes
  },
): FieldUnit[] {
  const { desired, actual, acknowledged, overwritten } = known
  return differing.filter(
    unit =>
      overwritten[unit.unit] === shownHash(unit, actual) &&
      unit.fields.every(field => acknowledged[field] === fieldHash(field, desired.fields[field] ?? null)),
  )
}

/**
 * What to remember after an attempt: of units that were accepted what they overwrote, as far as the platform tells it; of
 * units that still differ what was known; of all others nothing.
 */
export function overwrittenAfter(
  before: OverwrittenHashes,
  attempt: { differing: readonly FieldUnit[]; accepted: readonly FieldUnit[]; actual: EmployeeFields },
): OverwrittenHashes {
  const { differing, accepted, actual } = attempt
  const hashes: OverwrittenHashes = {}
  for (const unit of differing) {
    const known = before[unit.unit]
    if (!accepted.includes(unit)) {
      if (known !== undefined) hashes[unit.unit] = known
    } else if (isTold(unit.unit, actual)) hashes[unit.unit] = shownHash(unit, actual)
  }
  return hashes
}

function shownHash(unit: FieldUnit, actual: EmployeeFields): string {
  return unit.fields.map(field => fieldHash(field, actual[field] ?? null)).join('')
}

// Fields that are switched off for an enterprise

/** A refusal that may mean that a field is switched off for everybody; of its value only a hash. */
export interface FieldRefusal {
  userid: string
  valueHash: string
  /** The attributeCodes of the value; null for a field that has none. */
  codes: string[] | null
}

/** A field that is withheld from an enterprise's employees, as one of them sees it. */
export interface FieldBlock {
  field: string
  /** What is withheld are values that have all attributeCodes of one of these lists; null: the field as a whole. */
  codes: string[][] | null
  /** This employee is to find out whether the field gets through by now. */
  probing: boolean
  /** Hash of the value of this employee that was refused; null: none was. */
  refusedHash: string | null
}

/** Refusals of one and the same value by so many employees count as those of two different values. */
const SAME_VALUE = 5

/** The attributeCodes that a value has, without what PostgreSQL cannot store; null for a field that has none. */
export function codesOf(field: EmployeeField, value: FieldValue): string[] | null {
  if (field !== 'employee_attribute') return null
  return attributeCodes(value).map(code => code.toWellFormed().replaceAll('\0', ''))
}

/** True when a block of these codes is about a value with those: whatever has refused codes is refused, whatever else it has. */
export function covers(blocked: FieldBlock['codes'], codes: string[] | null): boolean {
  return blocked === null || (codes !== null && blocked.some(list => isWithin(list, codes)))
}

/** True when one of the blocks is about the value. */
export function isAmong(field: EmployeeField, value: FieldValue, blocks: readonly FieldBlock[]): boolean {
  return blocks.some(block => block.field === field && covers(block.codes, codesOf(field, value)))
}

/**
 * True when the value is not to be sent: a block is about it, and this employee neither probes it nor has got another value
 * than the one that was refused.
 */
export function isWithheld(field: EmployeeField, value: FieldValue, blocks: readonly FieldBlock[]): boolean {
  const block = blocks.find(candidate => isAmong(field, value, [candidate]))
  if (!block || block.probing) return false
  return block.refusedHash === null || block.refusedHash === fieldHash(field, value)
}

/**
 * What to block after a refusal that may be about the value alone: refusals of at least two employees with different values
 * are about the field. Of attributes it is the fewest codes that all of those refused had.
 * @param refusals of the field in this run, the latest included
 * @returns null: nothing yet; else the block's codes
 */
export function toBlock(
  latest: FieldRefusal,
  refusals: readonly FieldRefusal[],
): { codes: string[] | null } | null {
  if (latest.codes === null) return isAboutField(refusals) ? { codes: null } : null
  const { codes } = latest
  const candidates = refusals
    .flatMap(refusal => (refusal.codes && isWithin(refusal.codes, codes) ? [refusal.codes] : []))
    .sort((one, other) => one.length - other.length)
  const found = candidates.find(candidate =>
    isAboutField(refusals.filter(refusal => refusal.codes && isWithin(candidate, refusal.codes))),
  )
  return found ? { codes: found } : null
}

function isAboutField(refusals: readonly FieldRefusal[]): boolean {
  const employees = new Set(refusals.map(({ userid }) => userid)).size
  const values = new Set(refusals.map(({ valueHash }) => valueHash)).size
  return employees >= 2 && (values >= 2 || employees >= SAME_VALUE)
}

function isWithin(part: readonly string[], whole: readonly string[]): boolean {
  return part.every(code => whole.includes(code))
}
