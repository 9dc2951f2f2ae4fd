import { fits } from '../lib/text.ts'
import { FEATURE_FIELDS, WRITE_ONLY_FIELDS } from './desired.ts'
import {
  type DesiredEmployee,
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeFields,
  type FieldValue,
} from './employee.ts'
import { attributeCodes, CLEAR_VALUE, DEFAULT_MOBILE_AREA, looksLikeIdentityNumber } from './field-rules.ts'
import { type AcknowledgedHashes, fieldHash } from './hash.ts'

/** Differing fields that are sent, held back and acknowledged together. */
export interface FieldUnit {
  /** The field that names the unit: `mobile` includes the area code, `card_no` the document type. */
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

/** Characters that `employee/update` takes as a work number. */
const MAX_WORK_NUMBER = 20

/** The value that clears a field; a field that is not here cannot be cleared (section 4.3). */
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
 * The units in which the platform differs from HR, in canonical order. Values that the platform does not return (write-only
 * fields, features that may be off, fields missing from its answer) are compared with the last acknowledged ones. An empty
 * value in HR differs only where the field can be cleared and the platform holds something.
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

/** Whether a merely assumed passport would replace an identity card on the platform. */
export function mistakesDocument(
  { unit }: FieldUnit,
  desired: Pick<DesiredEmployee, 'assumesPassport'>,
  { card_type, card_no }: EmployeeFields,
): boolean {
  if (unit !== 'card_no' || !desired.assumesPassport) return false
  return (card_type ?? (looksLikeIdentityNumber(card_no ?? '') ? '1' : null)) === '1'
}

/**
 * Whether HR has given the user id of one person to another: the names differ, and so do the document numbers, or one of these is
 * missing and HR said before that the employee had left. What is sent would put the newcomer into the account of the other, with
 * its orders and what is left of its limits.
 */
export function isAnotherPerson(
  { fields }: Pick<DesiredEmployee, 'fields'>,
  { name, card_no }: EmployeeFields,
  hadLeft: boolean,
): boolean {
  if (!fields.name || !name || spelling(fields.name) === spelling(name)) return false
  return fields.card_no && card_no ? fields.card_no.toUpperCase() !== card_no.toUpperCase() : hadLeft
}

/** A name without what is written now this way, now that: width, case, spaces and points. */
function spelling(name: string): string {
  return name
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[\s·•.・-]/gu, '')
}

/**
 * Parameters of `employee/update` (section 4.3) that bring the units to their desired state, with the key. A changed number
 * goes as `code` (the current one where it is known and has 1 to 20 characters; `userid` names the employee) and `new_corp_code`.
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
      const code = actual.corp_code ?? value
      if (code !== '' && fits(code, MAX_WORK_NUMBER)) params.code = code
      params.new_corp_code = value
    } else params[field] = value
  }
  return params
}

/**
 * Whether the platform's answer includes the value of a field; for the others (write-only ones, features that may be off) only
 * the acknowledged value is known.
 */
export function isTold(unit: EmployeeField, actual: EmployeeFields): boolean {
  const held = actual[unit]
  if (WRITE_ONLY_FIELDS.has(unit) || held === undefined) return false
  return held !== null || !FEATURE_FIELDS.has(unit)
}

/** Nothing acknowledged and nothing wanted is no difference: as far as is known there is nothing to clear. */
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
 * Per sent unit, the hash of the platform's value before. If the platform accepted another value and still shows that one, it
 * did not keep the new value: sending it again would change nothing. An edit on the platform leaves a third value, or comes
 * after the platform was seen to keep the value, which clears the hash.
 */
export type OverwrittenHashes = Partial<Record<EmployeeField, string>>

/** The differing units whose current value the platform has accepted while it still shows the value before. */
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
 * The record after an attempt: for accepted units the values they replaced, if the platform shows them; for units that still
 * differ the earlier record; for all others nothing.
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

/** A refusal that may mean that a field is switched off for the enterprise; it holds only a hash of the value. */
export interface FieldRefusal {
  userid: string
  valueHash: string
  /** The attributeCodes of the value; null for a field without them. */
  codes: string[] | null
}

/** A field withheld from an enterprise's employees, as it applies to one of them. */
export interface FieldBlock {
  field: string
  /** Values that have all attributeCodes of one of these lists are withheld; null: the whole field. */
  codes: string[][] | null
  /** This employee's update tests whether the platform takes the field by now. */
  probing: boolean
  /** Hash of this employee's refused value; null without one. */
  refusedHash: string | null
}

/** This many refusals of the same value count as those of two different values. */
const SAME_VALUE = 5

/** The attributeCodes of a value, without those that PostgreSQL cannot store; null for a field without them. */
export function codesOf(field: EmployeeField, value: FieldValue): string[] | null {
  if (field !== 'employee_attribute') return null
  return attributeCodes(value).map(code => code.toWellFormed().replaceAll('\0', ''))
}

/** True when a block of these codes covers a value with those: additional codes do not make it acceptable. */
export function covers(blocked: FieldBlock['codes'], codes: string[] | null): boolean {
  return blocked === null || (codes !== null && blocked.some(list => isWithin(list, codes)))
}

/** True when one of the blocks covers the value. */
export function isAmong(field: EmployeeField, value: FieldValue, blocks: readonly FieldBlock[]): boolean {
  return blocks.some(block => block.field === field && covers(block.codes, codesOf(field, value)))
}

/**
 * True when the value must not be sent: a block covers it, and this employee neither probes it nor has a value other than the
 * refused one.
 */
export function isWithheld(field: EmployeeField, value: FieldValue, blocks: readonly FieldBlock[]): boolean {
  const block = blocks.find(candidate => isAmong(field, value, [candidate]))
  if (!block || block.probing) return false
  return block.refusedHash === null || block.refusedHash === fieldHash(field, value)
}

/**
 * What to block after a refusal that may concern the value alone: refusals of at least two employees with different values
 * concern the field. For attributes the block has the codes that all refused values share.
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
