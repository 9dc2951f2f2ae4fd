import { fits, trimText } from '../lib/text.ts'

/** Managed employee fields in canonical order; names as in the platform specification, section 2.3. */
export const EMPLOYEE_FIELDS = [
  'name',
  'corp_code',
  'gender',
  'card_type',
  'card_no',
  'email',
  'mobile_area',
  'mobile',
  'remark',
  'dept_code',
  'level',
  'category',
  'birth_day',
  'entry_day',
  'cost_center_id',
  'employee_attribute',
] as const

export type EmployeeField = (typeof EMPLOYEE_FIELDS)[number]

/** Canonical text of a field, or null when the field is managed but empty. */
export type FieldValue = string | null

/** A field that is absent is unmanaged (HR) or not returned (platform). */
export type EmployeeFields = Partial<Record<EmployeeField, FieldValue>>

/** Identity of an employee: `userid` within an enterprise; `enterpriseCode` is empty for a single enterprise. */
export interface EmployeeKey {
  enterpriseCode: string
  userid: string
}

/** What HR wants the platform to hold, validated and normalised. */
export interface DesiredEmployee {
  key: EmployeeKey
  /** False for a leaver: never synced, a finding while still in service on the platform. */
  active: boolean
  fields: EmployeeFields
}

/** One text per key, usable as a map key. */
export function keyText(key: EmployeeKey): string {
  return JSON.stringify([key.enterpriseCode, key.userid])
}

/** One extended field of an employee (section 2.3). */
interface EmployeeAttribute {
  attributeCode: string
  attributeValue: string
}

/** Why a value cannot be sent: the broken rule and a sentence about the rule. It never holds the value itself. */
export class RuleBreak {
  /** Stable name of the rule, such as `too_long` or `check_digit`. */
  readonly rule: string
  /** One sentence without any value of the row. */
  readonly message: string

  constructor(rule: string, message: string) {
    this.rule = rule
    this.message = message
  }
}

const BAD_JSON = new RuleBreak(
  'format',
  'employee_attribute must be a JSON array of {attributeCode, attributeValue} or a JSON object of code: value',
)
const BAD_CODE = new RuleBreak(
  'length',
  'employee_attribute: each attributeCode must have 1 to 100 characters',
)
const BAD_VALUE = new RuleBreak(
  'length',
  'employee_attribute: each attributeValue must have 1 to 100 characters',
)
const BAD_TYPE = new RuleBreak(
  'format',
  'employee_attribute: each attributeValue must be text, or a whole number of at most 15 digits',
)
const TWICE = new RuleBreak('duplicate', 'employee_attribute: each attributeCode may occur once only')

/**
 * Canonical JSON text of the extended fields, sorted by code. Entries without a value are left out; when none is
 * left, the answer is null.
 */
export function normaliseEmployeeAttribute(text: string): string | null | RuleBreak {
  const trimmed = trimText(text)
  if (trimmed === '') return null
  let parsed: unknown
  try {
    parsed = JSON.parse(trimmed)
  } catch {
    return BAD_JSON
  }
  const pairs = pairsOf(parsed)
  if (pairs instanceof RuleBreak) return pairs
  const attributes = new Map<string, string>()
  for (const [rawCode, rawValue] of pairs) {
    const code = trimText(rawCode)
    if (code === '' || !fits(code, 100)) return BAD_CODE
    const value = valueText(rawValue)
    if (value instanceof RuleBreak) return value
    if (value === '') continue
    if (!fits(value, 100)) return BAD_VALUE
    if (attributes.has(code)) return TWICE
    attributes.set(code, value)
  }
  if (attributes.size === 0) return null
  return JSON.stringify(
    [...attributes]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([attributeCode, attributeValue]): EmployeeAttribute => ({ attributeCode, attributeValue })),
  )
}

/** The codes of a canonical value. */
export function attributeCodes(value: string | null): string[] {
  return value === null
    ? []
    : (JSON.parse(value) as EmployeeAttribute[]).map(({ attributeCode }) => attributeCode)
}

function pairsOf(parsed: unknown): [string, unknown][] | RuleBreak {
  if (parsed === null) return []
  if (typeof parsed !== 'object') return BAD_JSON
  if (!Array.isArray(parsed)) return Object.entries(parsed)
  const pairs: [string, unknown][] = []
  for (const item of parsed as unknown[]) {
    if (typeof item !== 'object' || item === null) return BAD_JSON
    const { attributeCode, attributeValue, ...others } = item as Record<string, unknown>
    if (typeof attributeCode !== 'string' || Object.keys(others).length > 0) return BAD_JSON
    pairs.push([attributeCode, attributeValue])
  }
  return pairs
}

/** A number beyond 2^53 has lost digits in JSON already, so it is refused rather than sent wrong. */
function valueText(value: unknown): string | RuleBreak {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return trimText(value)
  return Number.isSafeInteger(value) ? String(value) : BAD_TYPE
}
