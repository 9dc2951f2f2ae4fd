const WEIGHTS = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
const CHECK_DIGITS = '10X98765432'

/**
 * An identity number that is right in form only: a province without a district (`310000`) was never issued to anyone.
 *
 * @param province two digits, e.g. `31`
 * @param birthDate `yyyy-MM-dd`
 * @param sequence 0 to 999; odd for men, even for women
 */
export function identityNumber(province: string, birthDate: string, sequence: number): string {
  const body = `${province}0000${birthDate.replaceAll('-', '')}${String(sequence).padStart(3, '0')}`
  return body + checkDigit(body)
}

/** The same number with a check digit that does not fit. */
export function withWrongCheckDigit(number: string): string {
  return number.slice(0, 17) + (number.endsWith('1') ? '2' : '1')
}

function checkDigit(body: string): string {
  const sum = WEIGHTS.reduce((total, weight, index) => total + weight * Number(body[index]), 0)
  return CHECK_DIGITS.charAt(sum % 11)
}
