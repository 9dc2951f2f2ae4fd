import { type FieldUnit, isTold } from './diff.ts'
import type { DesiredEmployee, EmployeeField, EmployeeFields } from './employee.ts'
import { type AcknowledgedHashes, fieldHash } from './field-hash.ts'

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
