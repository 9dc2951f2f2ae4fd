import { isCalendarDate } from './calendar.ts'

const LONG = /^[1-9]\d{5}(\d{4})(\d{2})(\d{2})\d{3}[\dX]$/
const SHORT = /^[1-9]\d{5}(\d{2})(\d{2})(\d{2})\d{3}$/
const WEIGHTS = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
const CHECK_CHARACTERS = '10X98765432'

/** Whether the text is written like a mainland identity number (18 or 15 places), right or wrong. `X` is a capital. */
export function looksLikeIdentityNumber(text: string): boolean {
  return /^(?:\d{17}[\dX]|\d{15})$/.test(text)
}

/** The 18th place of an identity number, from its first 17 digits (ISO 7064 MOD 11-2, GB 11643). */
export function identityCheckCharacter(digits: string): string {
  const sum = WEIGHTS.reduce((total, weight, index) => total + weight * Number(digits[index]), 0)
  return CHECK_CHARACTERS.charAt(sum % 11)
}

/**
 * What is wrong with a mainland identity number, or null when it is sound. 18 places are checked with their check
 * digit; the 15 places of the first generation have none and mean a birth in the 1900s.
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
  if (long && identityCheckCharacter(text.slice(0, 17)) !== text[17]) return 'check_digit'
  return null
}
