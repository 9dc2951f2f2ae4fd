import type { EmployeeField, FieldValue } from './employee.ts'
import { attributeCodes } from './employee-attribute.ts'
import { fieldHash } from './field-hash.ts'

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
