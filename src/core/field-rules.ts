import { normaliseDate, normaliseMonthDay } from './calendar.ts'
import type { EmployeeField, FieldValue } from './employee.ts'
import { normaliseEmployeeAttribute } from './employee-attribute.ts'
import { identityNumberFault, looksLikeIdentityNumber } from './identity-number.ts'
import { RuleBreak } from './rule-break.ts'
import { fits, plainText, trimText, withoutBlanks } from './text.ts'

/** The value that clears `birth_day`, `entry_day`, `level` or `category` on the platform (section 4.3). */
export const CLEAR_VALUE = '#default#'

/** Canonical text, null for empty, or the rule that the text breaks. */
export type Normalise = (text: string) => FieldValue | RuleBreak

/** Fields that stand alone; `card_*` and `mobile*` are normalised in pairs. */
export type SingleField = Exclude<EmployeeField, 'card_type' | 'card_no' | 'mobile_area' | 'mobile'>

/** How the text of each column becomes the canonical value of its field (sections 2.3 and 4.3). */
export const FIELD_RULES: Readonly<Record<SingleField, Normalise>> = {
  name: limitedText('name', 50),
  corp_code: pattern(
    /^[0-9A-Za-z]{1,20}$/,
    new RuleBreak('format', 'corp_code must have 1 to 20 letters and digits, and nothing else'),
  ),
  gender: pattern(/^[123]$/, new RuleBreak('one_of', 'gender must be 1 (male), 2 (female) or 3 (unknown)')),
  email: normaliseEmail,
  remark: limitedText('remark', 254),
  dept_code: limitedText('dept_code', 50),
  level: normaliseLevel,
  category: normaliseCategory,
  birth_day: text => dateOr(text, 'birth_day', normaliseMonthDay, 'yyyy-MM-dd or MM-dd'),
  entry_day: text => dateOr(text, 'entry_day', () => null, 'yyyy-MM-dd'),
  cost_center_id: normaliseCostCenter,
  employee_attribute: normaliseEmployeeAttribute,
}

const BAD_EMAIL = new RuleBreak('format', 'email must be one address with one @ and no blanks')
const LONG_EMAIL = new RuleBreak('too_long', 'email must have 1 to 100 characters')
const BAD_COST_CENTER = new RuleBreak('range', 'cost_center_id must be a whole number from 1 to 2147483647')
const RESERVED_LEVEL = new RuleBreak('reserved', `level must not be ${CLEAR_VALUE}, which clears the field`)
const RESERVED_CATEGORY = new RuleBreak(
  'reserved',
  `category must not contain ${CLEAR_VALUE}, which clears the field`,
)
const LEVEL_TEXT = limitedText('level', 50)
const BAD_CATEGORY = new RuleBreak(
  'format',
  'category must be a list of texts, separated by commas or as a JSON array',
)
const BAD_CARD_TYPE = new RuleBreak('one_of', 'card_type must be 1 (identity card) or 2 (passport)')
const BAD_PASSPORT = new RuleBreak(
  'format',
  'card_no must be a passport number of 1 to 20 letters and digits, or an identity number of 18 or 15 places',
)
const IDENTITY_FAULTS = {
  format: new RuleBreak('format', 'card_no must be an identity number of 18 or 15 places'),
  birth_date: new RuleBreak('birth_date', 'card_no must hold a birth date that exists'),
  check_digit: new RuleBreak('check_digit', 'card_no must end with the right check digit'),
}

/** The document type of the row: '1' or '2', null when it has none. */
export function normaliseCardType(text: string): FieldValue | RuleBreak {
  const plain = plainText(text)
  if (plain === '') return null
  return plain === '1' || plain === '2' ? plain : BAD_CARD_TYPE
}

/**
 * A document number in capitals and its type. Without a type, what is written like an identity number is one, and
 * anything else is a passport.
 */
export function normaliseCard(
  text: string,
  cardType: string | null,
): { type: string; number: string } | null | RuleBreak {
  const number = withoutBlanks(plainText(text)).toUpperCase()
  if (number === '') return null
  const type = cardType ?? (looksLikeIdentityNumber(number) ? '1' : '2')
  if (type === '1') {
    const fault = identityNumberFault(number)
    return fault ? IDENTITY_FAULTS[fault] : { type, number }
  }
  return /^[0-9A-Z]{1,20}$/.test(number) ? { type, number } : BAD_PASSPORT
}

/** The categories of a list in canonical form: trimmed, without repetitions, sorted by code unit, joined by commas. */
export function joinCategories(categories: readonly string[]): string {
  return [...new Set(categories.map(trimText))]
    .filter(category => category !== '')
    .sort()
    .join(',')
}

function limitedText(field: SingleField, limit: number): Normalise {
  const tooLong = new RuleBreak('too_long', `${field} must have at most ${limit} characters`)
  return text => {
    const trimmed = trimText(text)
    if (trimmed === '') return null
    return fits(trimmed, limit) ? trimmed : tooLong
  }
}

function pattern(allowed: RegExp, otherwise: RuleBreak): Normalise {
  return text => {
    const plain = plainText(text)
    if (plain === '') return null
    return allowed.test(plain) ? plain : otherwise
  }
}

function normaliseEmail(text: string): FieldValue | RuleBreak {
  const email = plainText(text)
  if (email === '') return null
  if (!/^[^\s\p{Cc}\p{Cf}@]+@[^\s\p{Cc}\p{Cf}@]+$/u.test(email)) return BAD_EMAIL
  return fits(email, 100) ? email : LONG_EMAIL
}

function normaliseLevel(text: string): FieldValue | RuleBreak {
  const level = LEVEL_TEXT(text)
  return level === CLEAR_VALUE ? RESERVED_LEVEL : level
}

function normaliseCategory(text: string): FieldValue | RuleBreak {
  const categories = categoryList(trimText(text))
  if (categories instanceof RuleBreak) return categories
  const joined = joinCategories(categories)
  // A list that begins like a JSON array would be read as one the next time.
  if (joined.startsWith('[')) return BAD_CATEGORY
  return joined.includes(CLEAR_VALUE) ? RESERVED_CATEGORY : joined || null
}

function categoryList(trimmed: string): string[] | RuleBreak {
  if (!trimmed.startsWith('[')) return trimmed.split(/[,\uff0c]/)
  let parsed: unknown
  try {
    parsed = JSON.parse(trimmed)
  } catch {
    return BAD_CATEGORY
  }
  const isList =
    Array.isArray(parsed) && parsed.every(item => typeof item === 'string' && !/[,\uff0c]/.test(item))
  return isList ? (parsed as string[]) : BAD_CATEGORY
}

function normaliseCostCenter(text: string): FieldValue | RuleBreak {
  const plain = plainText(text)
  if (plain === '') return null
  if (!/^\d{1,20}$/.test(plain)) return BAD_COST_CENTER
  const id = Number(plain)
  return id >= 1 && id <= 2_147_483_647 ? String(id) : BAD_COST_CENTER
}

function dateOr(
  text: string,
  field: SingleField,
  other: (text: string) => string | null,
  forms: string,
): FieldValue | RuleBreak {
  if (trimText(text) === '') return null
  return (
    normaliseDate(text) ??
    other(text) ??
    new RuleBreak('date', `${field} must be a date that exists, written ${forms}`)
  )
}
