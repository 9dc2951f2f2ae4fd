import { hash } from 'node:crypto'
import {
  type DesiredEmployee,
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeFields,
  type FieldValue,
} from './employee.ts'

/** Per field, the hash of the value that the platform last confirmed; a field never confirmed is missing. */
export type AcknowledgedHashes = Partial<Record<EmployeeField, string>>

/** A short, stable mark of a field's canonical value: 16 characters, letters, digits, `-` and `_`. */
export function fieldHash(field: EmployeeField, value: FieldValue): string {
  const text = value === null ? `${field}\u0000` : `${field}\u0001${value}`
  return hash('sha256', text, 'base64url').slice(0, 16)
}

/** Hashes of `fields`, or of those of them that are wanted. */
export function hashFields(
  fields: EmployeeFields,
  wanted: readonly EmployeeField[] = EMPLOYEE_FIELDS,
): AcknowledgedHashes {
  const hashes: AcknowledgedHashes = {}
  for (const field of wanted) {
    const value = fields[field]
    if (value !== undefined) hashes[field] = fieldHash(field, value)
  }
  return hashes
}

/** What is acknowledged once the platform holds everything that HR wants. */
export function acknowledgedHashes(desired: DesiredEmployee): AcknowledgedHashes {
  return hashFields(desired.fields)
}
