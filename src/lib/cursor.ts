import { z } from 'zod'

/** Where a page of a list ends: an address can carry it, and the next page begins behind it (keyset paging). */

/** The text is not a cursor of this list. */
export class CursorError extends Error {
  readonly code = 'CURSOR_INVALID'

  constructor() {
    super('cursor: no list has given this one; begin at the first page')
    this.name = 'CursorError'
  }
}

/** @param position what the list is sorted by, of the last row of the page */
export function encodeCursor(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/**
 * The position that a cursor means; null for the first page.
 * @throws CursorError when this list has not made it
 */
export function decodeCursor<Position extends z.ZodType>(
  schema: Position,
  cursor: string | null | undefined,
): z.output<Position> | null {
  if (cursor === null || cursor === undefined) return null
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')))
  } catch {
    throw new CursorError()
  }
}

/** The position in a list that is sorted by a moment, then by number. */
export const MOMENT_AND_ID = z.tuple([z.int().nonnegative(), z.int().nonnegative()])

/** SQL: a moment as a key of a cursor, exact to the microsecond. */
export function momentKey(column: string): string {
  return `(extract(epoch from ${column}) * 1000000)::bigint`
}

/** SQL: the moment that such a key means. */
export function momentOfKey(key: string): string {
  return `timestamptz 'epoch' + ${key}::bigint * interval '1 microsecond'`
}
