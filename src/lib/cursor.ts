import { z } from 'zod'
import { storable } from './database.ts'

/** Marks where a page of a list ends, in a form that fits into a URL; the next page begins after it (keyset pagination). */

/** The text is not a cursor of this list. */
class CursorError extends Error {
  readonly code = 'CURSOR_INVALID'

  constructor() {
    super('cursor: no list has given this one; begin at the first page')
    this.name = 'CursorError'
  }
}

/** @param position the sort key of the page's last row */
export function encodeCursor(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/**
 * Decodes the position in a cursor; null for the first page.
 * @throws CursorError when the text is not a cursor of this list
 */
export function decodeCursor<Position extends z.ZodType>(
  schema: Position,
  cursor: string | null | undefined,
): z.output<Position> | null {
  if (cursor === null || cursor === undefined) return null
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  try {
    const position = schema.parse(JSON.parse(text))
    // No row has a text that PostgreSQL cannot hold.
    if (JSON.stringify(storable(position)) === JSON.stringify(position)) return position
  } catch {
    // Not JSON, or of another shape: the same answer.
  }
  throw new CursorError()
}

/** The position in a list that is sorted by time, then by number. */
export const MOMENT_AND_ID = z.tuple([z.int().nonnegative(), z.int().nonnegative()])

/** SQL: a timestamp as a cursor key, exact to the microsecond. */
export function momentKey(column: string): string {
  return `(extract(epoch from ${column}) * 1000000)::bigint`
}

/** SQL: the timestamp of such a key. */
export function momentOfKey(key: string): string {
  return `timestamptz 'epoch' + ${key}::bigint * interval '1 microsecond'`
}
