/**
 * JSON of rows that the platform gave, for `jsonb_populate_recordset`. What PostgreSQL's texts and times cannot hold and
 * nobody misses is replaced: NUL and half characters by U+FFFD, moments before the year 1 (an empty date of some platforms) by null.
 */
export function storableJson(rows: unknown): string {
  return JSON.stringify(rows, function (this: Record<string, unknown>, name, value: unknown) {
    if (this[name] instanceof Date) return this[name].getUTCFullYear() < 1 ? null : value
    return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : value
  })
}
