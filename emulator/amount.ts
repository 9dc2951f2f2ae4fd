const DECIMAL = /^(\d{1,13})(?:\.(\d{1,2}))?$/

/** JSON with `rawJSON`, which Node has and TypeScript's library lacks. */
const json = JSON as JSON & { rawJSON(text: string): unknown }

/** Reads a decimal of at most two places as cents; undefined for any other text. */
export function parseAmount(text: string): bigint | undefined {
  const match = DECIMAL.exec(text)
  return match ? BigInt(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`) : undefined
}

/** Cents as a decimal of two places, for example `12.50`. */
export function amountText(cents: bigint): string {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Cents as a JSON number of two places, as the operations answer: only `JSON.stringify` reads it. */
export function amountNumber(cents: bigint): unknown {
  return json.rawJSON(amountText(cents))
}
