/** A text as PostgreSQL can hold it: U+0000 and half characters, which it cannot, are replaced by U+FFFD. */
export function storableText(text: string): string {
  return text.includes('\0') || !text.isWellFormed() ? text.toWellFormed().replaceAll('\0', '\ufffd') : text
}

/** A value made of objects, lists, texts and the like, with each of its texts storable. */
export function storable<T>(value: T): T
export function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, storable(item)]))
}

/**
 * JSON of rows that the platform gave, for `jsonb_populate_recordset`. What PostgreSQL's texts and times cannot hold and
 * nobody misses is replaced: NUL and half characters by U+FFFD, moments before the year 1 (an empty date of some platforms) by null.
 */
export function storableJson(rows: unknown): string {
  return JSON.stringify(rows, function (this: Record<string, unknown>, name, value: unknown) {
    if (this[name] instanceof Date) return this[name].getUTCFullYear() < 1 ? null : value
    return typeof value === 'string' ? storableText(value) : value
  })
}
