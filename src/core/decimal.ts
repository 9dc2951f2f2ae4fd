const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/

/** More digits than this is no amount; it keeps `1e9999` from becoming a text of that length. */
const MOST_DIGITS = 60

/**
 * The plain decimal of a number's source text (as JSON writes numbers): digit for digit, an exponent written out.
 * `100.00` stays `100.00`, `1e2` becomes `100`. Null when the text is no such number.
 */
export function plainDecimal(source: string): string | null {
  const [text, sign = '', whole = '', fraction = '', exponent] = NUMBER.exec(source) ?? []
  if (text === undefined || whole.length + fraction.length > MOST_DIGITS) return null
  if (exponent === undefined) return text
  const shift = Number(exponent)
  if (Math.abs(shift) > MOST_DIGITS) return null
  const digits = shift < 0 ? '0'.repeat(-shift) + whole + fraction : whole + fraction.padEnd(shift, '0')
  const point = shift < 0 ? whole.length : whole.length + shift
  const before = digits.slice(0, point).replace(/^0+(?=\d)/, '')
  const after = digits.slice(point)
  return sign + before + (after === '' ? '' : `.${after}`)
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`; both are plain decimals. */
export function compareDecimals(a: string, b: string): number {
  const places = Math.max(placesOf(a), placesOf(b))
  const difference = scaled(a, places) - scaled(b, places)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Places after the point. */
function placesOf(decimal: string): number {
  return decimal.split('.')[1]?.length ?? 0
}

/** The decimal times ten to the power of `places`. */
function scaled(decimal: string, places: number): bigint {
  const [whole = '', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(places, '0'))
}
