/** Where a page of a list ends: an address can carry it, and the next page begins behind it (keyset paging). */

/** The text is no cursor of this list. */
export class CursorError extends Error {
  readonly code = 'CURSOR_INVALID'

  constructor() {
    super('this page address is not one that dirsync made: begin at the first page')
    this.name = 'CursorError'
  }
}

/** @param keys what the list is sorted by, of the last row of the page: whole numbers */
export function encodeCursor(...keys: number[]): string {
  return keys.map(key => key.toString(36)).join('.')
}

/**
 * @param count how many keys the list is sorted by
 * @throws CursorError
 */
export function decodeCursor(cursor: string, count: number): number[] {
  const keys = cursor.split('.').map(key => (/^[0-9a-z]{1,11}$/.test(key) ? Number.parseInt(key, 36) : -1))
  if (keys.length !== count || keys.some(key => key < 0 || !Number.isSafeInteger(key)))
    throw new CursorError()
  return keys
}

/** SQL: a moment as a key of a cursor, exact to the microsecond. */
export function momentKey(column: string): string {
  return `(extract(epoch from ${column}) * 1000000)::bigint`
}

/** SQL: the moment that such a key means. */
export function momentOfKey(key: string): string {
  return `timestamptz 'epoch' + ${key}::bigint * interval '1 microsecond'`
}
