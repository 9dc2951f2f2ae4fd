import {
  fits,
  halfWidthText,
  isCalendarDate,
  normaliseDate,
  normaliseMonthDay,
  parsedJson,
  toHalfWidth,
  trimText,
  withoutBlanks,
} from '../lib/text.ts'
import { type Message, message } from '../texts/message.ts'
import type { EmployeeField, FieldValue } from './employee.ts'

/** Turns HR's texts into values for the platform, or into the rule that they break. */

/** Why a value cannot be sent: the broken rule, and a message about it. It never holds the value itself. */
export class RuleBreak {
  /** Stable name of the rule, such as `too_long` or `check_digit`. */
  readonly rule: string
  /** Without any value of the row. */
  readonly message: Message

  constructor(rule: string, broken: Message) {
    this.rule = rule
    this.message = broken
  }
}

/** The value that clears `birth_day`, `entry_day`, `level` or `category` on the platform (section 4.3). */
export const CLEAR_VALUE = '#default#'

/** Canonical text, null for empty, or the rule that the text breaks. */
type Normalise = (text: string) => FieldValue | RuleBreak

/** Fields on their own; `card_*` and `mobile*` are normalised in pairs. */
export type SingleField = Exclude<EmployeeField, 'card_type' | 'card_no' | 'mobile_area' | 'mobile'>

/** Turns the text of each column into the canonical value of its field (sections 2.3 and 4.3). */
export const FIELD_RULES: Readonly<Record<SingleField, Normalise>> = {
  name: limitedText('name', 50),
  corp_code: pattern(/^[0-9A-Za-z]{1,20}$/, new RuleBreak('format', message('said.corp_code'))),
  gender: pattern(/^[123]$/, new RuleBreak('one_of', message('said.gender'))),
  email: normaliseEmail,
  remark: limitedText('remark', 254),
  dept_code: limitedText('dept_code', 50),
  level: normaliseLevel,
  category: normaliseCategory,
  birth_day: dated('birth_day', text => normaliseDate(text) ?? normaliseMonthDay(text), 'said.date_forms'),
  entry_day: dated('entry_day', normaliseDate, 'said.date_form'),
  cost_center_id: normaliseCostCenter,
  employee_attribute: normaliseEmployeeAttribute,
}

function limitedText(field: SingleField, limit: number): Normalise {
  const tooLong = new RuleBreak('too_long', message('said.too_long', { field, limit }))
  return text => {
    const trimmed = trimText(text)
    if (trimmed === '') return null
    return fits(trimmed, limit) ? trimmed : tooLong
  }
}

function pattern(allowed: RegExp, otherwise: RuleBreak): Normalise {
  return text => {
    const plain = halfWidthText(text)
    if (plain === '') return null
    return allowed.test(plain) ? plain : otherwise
  }
}

function dated(
  field: SingleField,
  read: (text: string) => string | null,
  key: 'said.date_form' | 'said.date_forms',
): Normalise {
  const noDate = new RuleBreak('date', message(key, { field }))
  return text => (trimText(text) === '' ? null : (read(text) ?? noDate))
}

const BAD_EMAIL = new RuleBreak('format', message('said.email_form'))
const LONG_EMAIL = new RuleBreak('too_long', message('said.email_length'))

function normaliseEmail(text: string): FieldValue | RuleBreak {
  const email = halfWidthText(text)
  if (email === '') return null
  if (!/^[^\s\p{Cc}\p{Cf}@]+@[^\s\p{Cc}\p{Cf}@]+$/u.test(email)) return BAD_EMAIL
  return fits(email, 100) ? email : LONG_EMAIL
}

const RESERVED_LEVEL = new RuleBreak('reserved', message('said.level_reserved', { value: CLEAR_VALUE }))
const LEVEL_TEXT = limitedText('level', 50)

function normaliseLevel(text: string): FieldValue | RuleBreak {
  const level = LEVEL_TEXT(text)
  return level === CLEAR_VALUE ? RESERVED_LEVEL : level
}

const RESERVED_CATEGORY = new RuleBreak('reserved', message('said.category_reserved', { value: CLEAR_VALUE }))
const BAD_CATEGORY = new RuleBreak('format', message('said.category_form'))

function normaliseCategory(text: string): FieldValue | RuleBreak {
  const categories = categoryList(trimText(text))
  if (categories instanceof RuleBreak) return categories
  const joined = joinCategories(categories)
  // A list that looks like JSON would be parsed as that the next time.
  if (LOOKS_LIKE_JSON.test(joined) && !isListOf(joined, categoryList(joined))) return BAD_CATEGORY
  return joined.includes(CLEAR_VALUE) ? RESERVED_CATEGORY : joined || null
}

/** An object or `null` is no category, and `{a,b}` is an array of PostgreSQL that was cast to a text. */
const LOOKS_LIKE_JSON = /^(?:[[{"]|null$)/

/** The items of a JSON array or of a list with commas; a JSON text is one. */
function categoryList(trimmed: string): string[] | RuleBreak {
  const json = LOOKS_LIKE_JSON.test(trimmed) ? parsedJson(trimmed) : undefined
  const isPlain = json === undefined && !/^[[{]/.test(trimmed)
  if (isPlain) return trimmed.split(/[,\uff0c]/)
  const parsed = typeof json === 'string' ? [json] : json
  // An escape may be half a character, which no request can carry.
  const isCategory = (item: unknown) =>
    typeof item === 'string' && item.isWellFormed() && !/[,\uff0c]/.test(item)
  const isList = Array.isArray(parsed) && parsed.every(isCategory)
  return isList ? (parsed as string[]) : BAD_CATEGORY
}

function isListOf(joined: string, categories: string[] | RuleBreak): boolean {
  return !(categories instanceof RuleBreak) && joinCategories(categories) === joined
}

/** The categories of a list in canonical form: trimmed, without repetitions, sorted by code unit, joined by commas. */
export function joinCategories(categories: readonly string[]): string {
  return [...new Set(categories.map(trimText))]
    .filter(category => category !== '')
    .sort()
    .join(',')
}

const BAD_COST_CENTER = new RuleBreak('range', message('said.cost_center'))

function normaliseCostCenter(text: string): FieldValue | RuleBreak {
  const plain = halfWidthText(text)
  if (plain === '') return null
  if (!/^\d{1,20}$/.test(plain)) return BAD_COST_CENTER
  const id = Number(plain)
  return id >= 1 && id <= 2_147_483_647 ? String(id) : BAD_COST_CENTER
}

// Active or not

const TRUE = new Set(['t', 'true', '1', 'y', 'yes'])
const FALSE = new Set(['f', 'false', '0', 'n', 'no'])

/** A character that prints nothing and is no blank, such as a BIT of MySQL that was cast to a text: the cast of 0 is one. */
const CONTROL = /[^\P{Cc}\s]/u

/**
 * Reads the `active` column of a mapping: t/f, true/false, 1/0, y/n, yes/no in any case; nothing means active.
 * Undefined when the text is none of these.
 */
export function parseActive(text: string | null | undefined): boolean | undefined {
  // HR servers print this; hr check parses every row.
  if (text === 't') return true
  const word = halfWidthText(text ?? '').toLowerCase()
  if (word === '') return CONTROL.test(text ?? '') ? undefined : true
  if (TRUE.has(word)) return true
  return FALSE.has(word) ? false : undefined
}

// Documents: type and number

const BAD_CARD_TYPE = new RuleBreak('one_of', message('said.card_type'))
const BAD_PASSPORT = new RuleBreak('format', message('said.card_passport'))
const NO_PASSPORT = new RuleBreak('format', message('said.card_no_passport'))
const IDENTITY_FAULTS = {
  format: new RuleBreak('format', message('said.card_form')),
  birth_date: new RuleBreak('birth_date', message('said.card_birth')),
  check_digit: new RuleBreak('check_digit', message('said.card_check')),
}

/** The document type of the row: '1' or '2', null when it has none. */
export function normaliseCardType(text: string): FieldValue | RuleBreak {
  const plain = halfWidthText(text)
  if (plain === '') return null
  return plain === '1' || plain === '2' ? plain : BAD_CARD_TYPE
}

/**
 * A document number in capitals and its type. Without a type, a number in the form of an identity number is one; one that may
 * have lost a digit is neither, and any other is a passport.
 */
export function normaliseCard(
  text: string,
  cardType: string | null,
): { type: string; number: string } | null | RuleBreak {
  const number = withoutBlanks(halfWidthText(text)).toUpperCase()
  if (number === '') return null
  const type = cardType ?? (looksLikeIdentityNumber(number) ? '1' : '2')
  if (type === '1') {
    const fault = identityNumberFault(number)
    return fault ? IDENTITY_FAULTS[fault] : { type, number }
  }
  if (cardType === null && mayBeIdentityNumber(number)) return NO_PASSPORT
  return /^[0-9A-Z]{1,20}$/.test(number) ? { type, number } : BAD_PASSPORT
}

const LONG = /^[1-9]\d{5}(\d{4})(\d{2})(\d{2})\d{3}[\dX]$/
const SHORT = /^[1-9]\d{5}(\d{2})(\d{2})(\d{2})\d{3}$/
const WEIGHTS = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
const CHECK_CHARACTERS = '10X98765432'

/** Whether the text has the form of a mainland identity number (18 or 15 characters), valid or not. `X` is a capital. */
export function looksLikeIdentityNumber(text: string): boolean {
  return /^(?:\d{17}[\dX]|\d{15})$/.test(text)
}

/** Digits alone, or nearly all those of an identity number, as after a typing error. */
function mayBeIdentityNumber(text: string): boolean {
  return /^\d+X?$/.test(text) || (text.match(/\d/g)?.length ?? 0) >= 14
}

/** The 18th character of an identity number, from its first 17 digits (ISO 7064 MOD 11-2, GB 11643). */
export function identityCheckCharacter(number: string): string {
  const sum = WEIGHTS.reduce((total, weight, index) => total + weight * Number(number[index]), 0)
  return CHECK_CHARACTERS.charAt(sum % 11)
}

/**
 * What is wrong with a mainland identity number, or null when it is valid. Numbers of 18 characters are checked with their
 * check digit; the 15 of the first generation have none and mean a birth in the 1900s.
 */
export function identityNumberFault(text: string): 'format' | 'birth_date' | 'check_digit' | null {
  const long = LONG.exec(text)
  const short = long ? null : SHORT.exec(text)
  const match = long ?? short
  if (!match) return 'format'
  const year = Number(match[1]) + (short ? 1900 : 0)
  if (year < 1800 || year > 2199 || !isCalendarDate(year, Number(match[2]), Number(match[3]))) {
    return 'birth_date'
  }
  if (long && identityCheckCharacter(text) !== text[17]) return 'check_digit'
  return null
}

/** The kind of a text that identifies a person, and so is unsuitable as a user id. */
export type PersonalKind = 'identity' | 'mobile' | 'email'

/** Whether the text is an identity number, a mainland mobile number or an e-mail address, and which. */
export function personalKind(text: string): PersonalKind | null {
  const plain = halfWidthText(text)
  if (plain.length < 3) return null
  if (plain.includes('@')) return normaliseEmail(plain) instanceof RuleBreak ? null : 'email'
  const digits = plain.length < 11 ? '' : digitsOf(plain)
  if (digits.length < 11) return null
  const fault = identityNumberFault(digits.toUpperCase())
  if (fault === null || fault === 'check_digit') return 'identity'
  const mobile = normaliseMobile(plain, null)
  const isMobile =
    mobile && !(mobile instanceof RuleBreak) && /^86 1[3-9]\d{9}$/.test(`${mobile.area} ${mobile.mobile}`)
  return isMobile ? 'mobile' : null
}

// Mobile numbers: area code and number

/** The area code the platform assumes when none is given (section 2.3). */
export const DEFAULT_MOBILE_AREA = '86'

const DIGITS = /^\d*$/
const SEPARATORS = /[\p{Pd}\u2212.()]/gu
const TWO_DIGIT_CODES = new Set(
  '20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98'.split(
    ' ',
  ),
)
const MAINLAND = /^1[3-9]\d{9}$/
/** What may precede a mainland number: the country code, and the 0 that is dialled before numbers of other places. */
const BEFORE_MAINLAND = /^(?:0*86)?0?(?=1[3-9]\d{9}$)/
/** A mainland number and more: an extension behind it, or another 86 before it. */
const MAINLAND_AND_MORE = /^(?:0*86)*0?1[3-9]\d{9}/
const ONE_APART = /^\s*1[^\d.]/
const NORTH_AMERICAN = /^[2-9]\d\d[2-9]\d{6}$/
const INTERNATIONAL = /^(?:\+0*|00+)(?=[1-9])/
/** A number that begins in brackets. Without + or 00 that may be a country code, so that all digits would be another's number. */
const BRACKETED = /^\((\d+)\)/
/** A whole number as programs write it that count with fractions, such as of a column in which one value is missing. */
const WITH_FRACTION = /^(\+?\d+)\.0+$/

const BAD_AREA = new RuleBreak('format', message('said.area_form'))
const BAD_MOBILE = new RuleBreak('format', message('said.mobile_form'))
const AREA_CONFLICT = new RuleBreak('mobile_area_conflict', message('said.mobile_conflict'))

/** The digits of a phone area code without `+` or leading zeros. Empty text gives null. */
export function normaliseMobileArea(text: string): string | null | RuleBreak {
  const bare = digitsOf(text)
  if (bare === '') return null
  const digits = bare.replace(/^\+?0*/, '')
  return /^[1-9]\d{0,9}$/.test(digits) ? digits : BAD_AREA
}

/**
 * The digits of a mobile number and its area code. `+CC` and `00CC` in front of the number are parsed: they give the area code
 * where `area` is null, and must match it otherwise. Empty text gives null. What would become another number breaks the rule.
 *
 * @param area normalised area code of the row, null without one
 */
export function normaliseMobile(
  text: string,
  area: string | null,
): { area: string; mobile: string } | null | RuleBreak {
  const bare = digitsOf(text)
  if (bare === '') return null
  const international = INTERNATIONAL.exec(bare)
  const bracketed = international ? undefined : BRACKETED.exec(withoutBlanks(toHalfWidth(text)))?.[1]
  let mobile = bare
  let code = area
  if (international) {
    mobile = bare.slice(international[0].length)
    code ??= callingCode(mobile)
    if (!mobile.startsWith(code)) return AREA_CONFLICT
    mobile = mobile.slice(code.length)
  }
  code ??= DEFAULT_MOBILE_AREA
  if (code === DEFAULT_MOBILE_AREA) mobile = mobile.replace(BEFORE_MAINLAND, '')
  // No number of North America begins with 1. What may be a mainland number is none of them, unless that 1 stands apart.
  if (code === '1' && (!MAINLAND.test(mobile) || ONE_APART.test(toHalfWidth(text))))
    mobile = mobile.replace(/^1/, '')
  if (bracketed !== undefined && (code === DEFAULT_MOBILE_AREA ? !MAINLAND.test(mobile) : bracketed === code))
    return BAD_MOBILE
  const isMore = code === DEFAULT_MOBILE_AREA && !MAINLAND.test(mobile) && MAINLAND_AND_MORE.test(mobile)
  // Also a mainland number behind a plus, without its 86.
  if (isMore || (code === '1' && !NORTH_AMERICAN.test(mobile))) return BAD_MOBILE
  if (!/^(?!00)\d{6,20}$/.test(mobile)) return BAD_MOBILE
  return { area: code, mobile }
}

/** The country code at the start of an international number: one, two or three digits by the plan of ITU-T E.164. */
function callingCode(digits: string): string {
  if (digits.startsWith('1') || digits.startsWith('7')) return digits.slice(0, 1)
  return digits.slice(0, TWO_DIGIT_CODES.has(digits.slice(0, 2)) ? 2 : 3)
}

function digitsOf(text: string): string {
  if (DIGITS.test(text)) return text
  return withoutBlanks(toHalfWidth(text)).replace(WITH_FRACTION, '$1').replace(SEPARATORS, '')
}

// Extended fields

/** One extended field of an employee (section 2.3). */
interface EmployeeAttribute {
  attributeCode: string
  attributeValue: string
}

const BAD_JSON = new RuleBreak('format', message('said.attribute_form'))
const BAD_CODE = new RuleBreak('length', message('said.attribute_code'))
const BAD_VALUE = new RuleBreak('length', message('said.attribute_value'))
const BAD_TYPE = new RuleBreak('format', message('said.attribute_type'))
const TWICE = new RuleBreak('duplicate', message('said.attribute_twice'))

/**
 * Canonical JSON text of the extended fields, sorted by code. Entries without a value are left out; the result is null when
 * none is left.
 */
function normaliseEmployeeAttribute(text: string): string | null | RuleBreak {
  const trimmed = trimText(text)
  if (trimmed === '') return null
  const pairs = pairsOf(parsedJson(trimmed))
  if (pairs instanceof RuleBreak) return pairs
  const attributes = new Map<string, string>()
  for (const [rawCode, rawValue] of pairs) {
    const code = trimText(rawCode)
    if (code === '' || !fits(code, 100)) return BAD_CODE
    const value = valueText(rawValue)
    if (value instanceof RuleBreak) return value
    if (value === '') continue
    // An escape may be half a character, which no request can carry.
    if (!code.isWellFormed() || !value.isWellFormed()) return BAD_JSON
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
    const { attributeCode, attributeValue, ...others } = (item ?? {}) as Record<string, unknown>
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

// Values that clear a field

const VALUE_OF: Readonly<Record<EmployeeField, (text: string) => unknown>> = {
  ...FIELD_RULES,
  card_type: normaliseCardType,
  card_no: text => normaliseCard(text, null),
  mobile_area: normaliseMobileArea,
  mobile: text => normaliseMobile(text, null),
}

/** Whether a text of HR clears the field on the platform, as an empty one does. */
export function clearsField(field: EmployeeField, text: string): boolean {
  return VALUE_OF[field](text) === null
}
