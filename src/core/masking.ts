import type { EmployeeField, FieldValue } from './employee.ts'

/** Fields that tell nothing about a person's identity; attempts and dead letters show them as they are. */
const SHOWN: ReadonlySet<EmployeeField> = new Set([
  'corp_code',
  'gender',
  'card_type',
  'mobile_area',
  'dept_code',
  'level',
  'category',
  'entry_day',
  'cost_center_id',
])

/**
 * A field's value as attempts, dead letters and the story of an employee show it: enough for a person who knows the
 * employee to recognise what is wrong, too little to reach the employee by. Null stays null.
 */
export function maskValue(field: EmployeeField, value: FieldValue): FieldValue {
  if (value === null || value === '' || SHOWN.has(field)) return value
  switch (field) {
    case 'name':
      return `${firstCharacter(value)}*`
    case 'mobile':
      return value.length >= 11 ? middleMasked(value, 3, 4) : middleMasked(value, 1, 2)
    case 'email':
      return maskEmail(value)
    case 'card_no':
      return value.length >= 15 ? middleMasked(value, 3, 2) : middleMasked(value, 1, 2)
    case 'birth_day':
      return value.length === 10 ? `****${value.slice(4)}` : value
    case 'employee_attribute':
      return maskAttributes(value)
    default:
      return `(${[...value].length} characters)`
  }
}

function firstCharacter(text: string): string {
  return String.fromCodePoint(text.codePointAt(0) ?? 0x2a)
}

/** Shows both ends, and nothing at all of a text so short that the ends would give it away. */
function middleMasked(text: string, head: number, tail: number): string {
  if (text.length < (head + tail) * 1.5) return '****'
  return `${text.slice(0, head)}****${text.slice(-tail)}`
}

function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  return at < 1 ? '***' : `${firstCharacter(email)}***${email.slice(at)}`
}

/** `code=***` per extended field, of the canonical JSON text. */
function maskAttributes(json: string): string {
  const codes = [...json.matchAll(/"attributeCode":("(?:[^"\\]|\\.)*")/g)].map(match =>
    JSON.parse(match[1] ?? '""'),
  )
  return codes.map(code => `${code}=***`).join(', ')
}
