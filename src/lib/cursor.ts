import { z } from 'zod'
import { CodedError, message } from '../texts/message.ts'
import type { PlaceValue } from './database.ts'
import { storable } from './storable.ts'

/** Marks where a page of a list ends, in a form that fits into a URL; the next page begins after it (keyset pagination). */

/** The text is not a cursor of this list. */
class CursorError extends CodedError<'CURSOR_INVALID'> {
  constructor() {
    super('CURSOR_INVALID', message('said.cursor_invalid'))
  }
}

/** A page of a list, and the cursor of the next one; null on the last page. */
export interface Paged<Item> {
  items: Item[]
  next: string | null
}

/** Which page of a list to read. */
export interface PageAsked {
  /** `next` of the page before. */
  after?: string | null | undefined
  limit: number
}

/**
 * A page of `limit` rows, for which one row more was read: there is a next page if it came.
 * @param keyOf what the list is sorted by
 */
export function onePage<Row>(
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => readonly (string | number | boolean)[],
): Paged<Row> {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, next: rows.length > limit && last ? encodeCursor(keyOf(last)) : null }
}

/** Every row of a list, read page by page. */
export async function* everyPage<Item>(
  read: (after: string | null) => Promise<Paged<Item>>,
): AsyncGenerator<Item> {
  let after: string | null = null
  do {
    const page: Paged<Item> = await read(after)
    yield* page.items
    after = page.next
  } while (after !== null)
}

/** @param position the sort key of the page's last row */
function encodeCursor(position: readonly (string | number | boolean)[]): string {
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

/** The same as `onePage` for a list of which `cursor_moment` and `id` are the key; see `momentKey`. */
export function pageByMoment<Row extends { id: number | string; cursor_moment: number }>(
  rows: readonly Row[],
  limit: number,
): Paged<Omit<Row, 'cursor_moment'>> {
  const { items, next } = onePage(rows, limit, row => [row.cursor_moment, row.id])
  return { items: items.map(({ cursor_moment: _, ...row }) => row), next }
}

/** SQL: a timestamp as a cursor key, exact to the microsecond. */
export function momentKey(column: string): string {
  return `(extract(epoch from ${column}) * 1000000)::bigint`
}

/** SQL: the timestamp of such a key. */
export function momentOfKey(key: string): string {
  return `timestamptz 'epoch' + ${key}::bigint * interval '1 microsecond'`
}

/**
 * SQL: that a row comes after a page's end in a list that begins with the latest, by a moment and then by `id`.
 * @param column with the moment
 */
export function beforePosition(
  column: string,
  [moment, id]: z.output<typeof MOMENT_AND_ID>,
  place: PlaceValue,
): string {
  return `(${column}, id) < (${momentOfKey(place(moment))}, ${place(id)})`
}
