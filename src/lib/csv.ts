/** One line of CSV (RFC 4180, without the line's end). */
export function csvLine(values: readonly unknown[]): string {
  return values.map(cell).join(',')
}

/**
 * Before what spreadsheets take for the beginning of a formula; an apostrophe makes it a text again. Those of China and Japan accept
 * the full-width characters too. One that separates by semicolons or tabs begins a cell after each of them, and a row after a
 * line break, with or without quotes.
 */
const FORMULAS = /^(?=[\t\r\n])|(?=[=+\-@＝＋－＠])(?:^|(?<=[;\t\r\n]"*))/g

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text =
    value instanceof Date
      ? value.toISOString()
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
  const safe = text.replace(FORMULAS, "'")
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
