/* What PostgreSQL can hold, of what others send. */

/** A text as PostgreSQL can store it: U+0000 and unpaired surrogates become U+FFFD. */
export function storableText(text: string): string {
  return text.includes('\0') || !text.isWellFormed() ? text.toWellFormed().replaceAll('\0', '\ufffd') : text
}

/** A value of objects, lists and texts, each text made storable. */
export function storable<T>(value: T): T
export function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, storable(item)]))
}

/** Matches a possible escape of U+0000 or of a surrogate; surrogates mostly come in valid pairs. */
const ODD = /\\u(?:0000|d[89a-f])/i
const PAIR_OR_ODDITY = /\\u(d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\u(?:0000|d[89a-f][0-9a-f]{2})|\\[^u]/gi

/**
 * JSON with U+0000 and unpaired surrogates, which cannot be stored or shown, replaced by U+FFFD. They can only come as escapes:
 * JavaScript writes them so, what has been read as UTF-8 has none, and JSON has no control characters within texts.
 */
export function storableJson(json: string): string {
  if (!ODD.test(json)) return json
  return json.replace(PAIR_OR_ODDITY, (found, pair) => (pair || found[1] !== 'u' ? found : '\\ufffd'))
}

/**
 * JSON of rows that the platform gave, for `jsonb_populate_recordset`. What PostgreSQL cannot hold and carries no information is
 * replaced: NUL and unpaired surrogates by U+FFFD, times before the year 1 (some empty dates) by null.
 */
export function storableRows(rows: unknown): string {
  const json = JSON.stringify(rows, function (this: Record<string, unknown>, name, value: unknown) {
    return this[name] instanceof Date && this[name].getUTCFullYear() < 1 ? null : value
  })
  return storableJson(json)
}
