/** One line of CSV (RFC 4180, without the line's end). */
export function csvLine(values: readonly unknown[]): string {
  return values.map(cell).join(',')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text =
    value instanceof Date
      ? value.toISOString()
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
  // Spreadsheets take a text that begins like this for a formula; an apostrophe makes it a text again. Those of China and Japan
  // accept the full-width characters too.
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
