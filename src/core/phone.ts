import { RuleBreak } from './rule-break.ts'
import { toHalfWidth, withoutBlanks } from './text.ts'

/** The area code the platform assumes when none is given (section 2.3). */
export const DEFAULT_MOBILE_AREA = '86'

const DIGITS = /^\d*$/
const SEPARATORS = /[\p{Pd}\u2212.()]/gu
const TWO_DIGIT_CODES = new Set(
  '20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98'.split(
    ' ',
  ),
)
const MAINLAND_WITH_CODE = /^86(?=1[3-9]\d{9}$)/

const BAD_AREA = new RuleBreak('format', 'mobile_area must be a phone area code of 1 to 10 digits')
const BAD_MOBILE = new RuleBreak(
  'format',
  'mobile must have 6 to 20 digits; blanks, hyphens and a leading +area code are allowed',
)
const AREA_CONFLICT = new RuleBreak(
  'mobile_area_conflict',
  'mobile carries another area code than mobile_area',
)

/** The digits of a phone area code without `+` or leading zeros. Empty text gives null. */
export function normaliseMobileArea(text: string): string | null | RuleBreak {
  const bare = digitsOf(text)
  if (bare === '') return null
  const digits = bare.replace(/^\+?0*/, '')
  return /^[1-9]\d{0,9}$/.test(digits) ? digits : BAD_AREA
}

/**
 * The digits of a mobile number and its area code. `+CC` and `00CC` in front of the number are understood: they give
 * the area code where `area` is null, and must agree with it otherwise. Empty text gives null.
 *
 * @param area normalised area code of the row, null when it has none
 */
export function normaliseMobile(
  text: string,
  area: string | null,
): { area: string; mobile: string } | null | RuleBreak {
  const bare = digitsOf(text)
  if (bare === '') return null
  const national = /^(?:\+|00)(?=\d)/.exec(bare)
  let mobile = bare
  let code = area
  if (national) {
    mobile = bare.slice(national[0].length)
    code ??= callingCode(mobile)
    if (!mobile.startsWith(code)) return AREA_CONFLICT
    mobile = mobile.slice(code.length)
  }
  code ??= DEFAULT_MOBILE_AREA
  if (code === DEFAULT_MOBILE_AREA) mobile = mobile.replace(MAINLAND_WITH_CODE, '')
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
  return withoutBlanks(toHalfWidth(text)).replace(SEPARATORS, '')
}
