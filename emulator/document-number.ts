import { isDate } from './calendar.ts'

const PROVINCES = new Set(
  '11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 61 62 63 64 65 71 81 82 83'.split(
    ' ',
  ),
)
const WEIGHTS = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
const CHECK_DIGITS = '10X98765432'

/**
 * Whether a document number fits its type (specification 4.3): 1, a mainland identity number of 18 digits with
 * its check digit (or of 15 digits), an existing province and a day of the calendar; 2, a passport of 1 to 20
 * letters or digits.
 */
export function isDocumentNumber(cardType: number, cardNo: string): boolean {
  return cardType === 1 ? isIdentityNumber(cardNo) : /^[A-Za-z0-9]{1,20}$/.test(cardNo)
}

function isIdentityNumber(text: string): boolean {
  if (!PROVINCES.has(text.slice(0, 2))) return false
  if (/^\d{15}$/.test(text)) return isBirthDate(`19${text.slice(6, 12)}`)
  if (!/^\d{17}[\dXx]$/.test(text) || !isBirthDate(text.slice(6, 14))) return false
  const sum = WEIGHTS.reduce((total, weight, index) => total + weight * Number(text[index]), 0)
  return CHECK_DIGITS[sum % 11] === text[17]?.toUpperCase()
}

function isBirthDate(digits: string): boolean {
  return isDate(`${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`)
}
