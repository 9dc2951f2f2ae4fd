/** A number that `JSON.stringify` writes digit for digit. */
export interface RawNumber {
  readonly rawJSON: string
}

/** What TypeScript's library does not know of yet: JSON with the numbers' source text. */
const exact = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): RawNumber
}

/** Whole numbers that binary floating point holds exactly, however they are written. */
const SAFE_WHOLE = /^-?\d{1,15}$/

/** Parses JSON; numbers become their source text, but for whole numbers of up to 15 digits. */
export function parseExactly(text: string): unknown {
  return exact.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && !SAFE_WHOLE.test(source) ? source : value,
  )
}

/** A decimal text as the JSON number that is written with the same digits. */
export function rawNumber(decimal: string): RawNumber {
  return exact.rawJSON(decimal)
}
