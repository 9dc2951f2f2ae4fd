import { z } from 'zod'
import {
  beforePosition,
  decodeCursor,
  MOMENT_AND_ID,
  momentKey,
  type PageAsked,
  type Paged,
  pageByMoment,
} from '../../lib/cursor.ts'
import { type Pool, placeholders } from '../../lib/database.ts'

/** Commands of people: `dirsync.command`, which is written before anything takes effect and never changed. */
export const CommandRow = z.object({
  id: z.int(),
  name: z.string().describe('As the function or the command that does it'),
  arguments: z.record(z.string(), z.unknown()),
  requested_by: z.string().describe('The database user, and whom the shell or the console named'),
  requested_at: z.date(),
  run_id: z.int().nullable(),
  dead_letter_id: z.int().nullable(),
  address: z.string().nullable().describe('Null: the machine of the database'),
  reason: z.string().nullable(),
})
export type CommandRow = z.infer<typeof CommandRow>

export interface CommandFilter {
  /** A part of who asked; capitals do not matter. */
  who?: string | undefined
  name?: string | undefined
  run?: number | undefined
  case?: number | undefined
  from?: Date | undefined
  /** Before this moment. */
  to?: Date | undefined
}

/**
 * One page of what was asked for, the latest first.
 * @throws CursorError
 */
export async function listCommands(
  db: Pool,
  filter: CommandFilter,
  page: PageAsked,
): Promise<Paged<CommandRow>> {
  const { values, place } = placeholders(page.limit + 1)
  const conditions: string[] = []
  if (filter.name) conditions.push(`name = ${place(filter.name)}`)
  if (filter.run !== undefined) conditions.push(`run_id = ${place(filter.run)}`)
  if (filter.case !== undefined) conditions.push(`dead_letter_id = ${place(filter.case)}`)
  if (filter.from) conditions.push(`requested_at >= ${place(filter.from)}`)
  if (filter.to) conditions.push(`requested_at < ${place(filter.to)}`)
  const position = decodeCursor(MOMENT_AND_ID, page.after)
  if (position) conditions.push(beforePosition('requested_at', position, place))
  const found = (which: string) =>
    `select * from dirsync.command
     where ${[which, ...conditions].join(' and ')} order by requested_at desc, id desc limit $1`
  // A few people ask: each one's commands are at the end of an index.
  const source = filter.who
    ? `unnest(${place(await askersLike(db, filter.who))}::text[]) as asker (name)
       cross join lateral (${found('requested_by = asker.name')}) c`
    : `(${found('true')}) c`
  const { rows } = await db.query<CommandRow & { cursor_moment: number }>(
    `select c.*, ${momentKey('c.requested_at')} as cursor_moment from ${source}
     order by c.requested_at desc, c.id desc limit $1`,
    values,
  )
  return pageByMoment(rows, page.limit)
}

/** The names of everything that was asked for. */
export function commandNames(db: Pool): Promise<string[]> {
  return different(db, 'name')
}

async function askersLike(db: Pool, who: string): Promise<string[]> {
  const askers = await different(db, 'requested_by')
  return askers.filter(asker => asker.toLowerCase().includes(who.toLowerCase()))
}

/** The values of a column, from one entry of its index each. */
async function different(db: Pool, column: 'name' | 'requested_by'): Promise<string[]> {
  const { rows } = await db.query<{ value: string }>(
    `with recursive known as (
       (select ${column} as value from dirsync.command order by ${column} limit 1)
       union all
       select (select c.${column} from dirsync.command c where c.${column} > k.value order by c.${column} limit 1)
       from known k where k.value is not null
     )
     select value from known where value is not null`,
  )
  return rows.map(({ value }) => value)
}
