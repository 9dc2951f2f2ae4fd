import { normaliseDate } from './calendar.ts'
import { EMPLOYEE_FIELDS, type EmployeeField, type EmployeeFields } from './employee.ts'
import { joinCategories } from './field-rules.ts'
import { normaliseMobileArea } from './phone.ts'
import { trimText } from './text.ts'

/** The platform takes these and never returns them (`employee/get`, section 4.4). */
export const WRITE_ONLY_FIELDS: ReadonlySet<EmployeeField> = new Set(['cost_center_id', 'employee_attribute'])

const TOLD_FIELDS = EMPLOYEE_FIELDS.filter(field => !WRITE_ONLY_FIELDS.has(field))

/** Null from the platform means "the feature is off, or nothing is set" here: it tells nothing (section 2.3). */
export const FEATURE_FIELDS: ReadonlySet<EmployeeField> = new Set(['level', 'category'])

/**
 * What the platform holds, in canonical text, from the answer of `employee/get` (section 4.4). A field that the answer
 * lacks stays away (unknown); null and empty text become null. Only for `level` and `category`, whose null means
 * unknown, a known emptiness is kept apart as the empty text.
 */
export function toActual(answer: object): EmployeeFields {
  const fields: EmployeeFields = {}
  for (const field of TOLD_FIELDS) {
    const value = (answer as Partial<Record<EmployeeField, unknown>>)[field]
    if (value === undefined) continue
    if (value === null) {
      fields[field] = null
      continue
    }
    const text = canonical(field, value)
    fields[field] = text === '' && !FEATURE_FIELDS.has(field) ? null : text
  }
  return fields
}

function canonical(field: EmployeeField, value: unknown): string {
  if (field === 'category') {
    return joinCategories(Array.isArray(value) ? value.map(String) : String(value).split(','))
  }
  const text = trimText(String(value))
  if (field === 'birth_day' || field === 'entry_day') return normaliseDate(text) ?? text
  if (field === 'card_no') return text.toUpperCase()
  if (field === 'mobile_area') {
    const area = normaliseMobileArea(text)
    return typeof area === 'string' ? area : text
  }
  return text
}
