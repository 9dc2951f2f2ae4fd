import { decodeCursor, encodeCursor, momentKey, momentOfKey } from '../lib/cursor.ts'
import type { Pool } from '../lib/database.ts'

/** What people asked for: `dirsync.command`, which is written before anything takes effect and never changed. */
export interface CommandRow {
  id: number
  /** As the function or the command that does it. */
  name: string
  arguments: Record<string, unknown>
  /** The database user, and whom the shell or the console named. */
  requested_by: string
  requested_at: Date
  run_id: number | null
  dead_letter_id: number | null
  address: string | null
  reason: string | null
}

export interface CommandFilter {
  /** A part of who asked; capitals do not matter. */
  who?: string | undefined
  name?: string | undefined
  run?: number | undefined
  case?: number | undefined
  since?: Date | undefined
  /** Before this moment. */
  until?: Date | undefined
}

/**
 * One page of what was asked for, the latest first.
 * @param page.after `next` of the page before
 * @throws CursorError
 */
export async function listCommands(
  db: Pool,
  filter: CommandFilter,
  page: { after?: string | null | undefined; limit: number },
): Promise<{ commands: CommandRow[]; next: string | null }> {
  const values: unknown[] = [page.limit + 1]
  const add = (value: unknown) => `$${values.push(value)}`
  const conditions = ['true']
  if (filter.who) conditions.push(`strpos(lower(requested_by), ${add(filter.who.toLowerCase())}) > 0`)
  if (filter.name) conditions.push(`name = ${add(filter.name)}`)
  if (filter.run !== undefined) conditions.push(`run_id = ${add(filter.run)}`)
  if (filter.case !== undefined) conditions.push(`dead_letter_id = ${add(filter.case)}`)
  if (filter.since) conditions.push(`requested_at >= ${add(filter.since)}`)
  if (filter.until) conditions.push(`requested_at < ${add(filter.until)}`)
  if (page.after) {
    const [moment, id] = decodeCursor(page.after, 2).map(add)
    conditions.push(`(requested_at, id) < (${momentOfKey(String(moment))}, ${id})`)
  }
  const { rows } = await db.query<CommandRow & { cursor_moment: number }>(
    `select *, ${momentKey('requested_at')} as cursor_moment from dirsync.command
     where ${conditions.join(' and ')} order by requested_at desc, id desc limit $1`,
    values,
  )
  const last = rows[page.limit - 1]
  return {
    commands: rows.slice(0, page.limit).map(({ cursor_moment: _, ...row }) => row),
    next: rows.length > page.limit && last ? encodeCursor(last.cursor_moment, last.id) : null,
  }
}

/** The names of everything that was asked for, from one index entry each. */
export async function commandNames(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `with recursive known as (
       (select name from dirsync.command order by name limit 1)
       union all
       select (select c.name from dirsync.command c where c.name > k.name order by c.name limit 1)
       from known k where k.name is not null
     )
     select name from known where name is not null`,
  )
  return rows.map(({ name }) => name)
}
