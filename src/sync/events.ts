import { z } from 'zod'
import { type ClientBase, onlyRow, type Pool } from '../lib/database.ts'

/** What happened to a run or a case. */
export const Event = z
  .object({
    id: z.int().describe('Its place; later events have greater ones'),
    type: z
      .string()
      .describe(
        '`run.` and the state that the run reached, or `case.` and what happened, such as `case.opened`',
      ),
    at: z.date(),
    run: z
      .object({
        id: z.int(),
        kind: z.string(),
        hr_source: z.string().describe('The HR source that it is about; empty where there is only one'),
        state: z.string().describe('The state that it reached'),
      })
      .nullable()
      .describe('Of `run.…`'),
    case: z
      .object({
        id: z.int(),
        enterprise_code: z.string(),
        entity: z.string(),
        entity_key: z.string(),
        operation: z.string(),
        field: z.string(),
        category: z.string(),
        state: z.string().describe('As it is when the event is sent'),
      })
      .nullable()
      .describe('Of `case.…`'),
  })
  .meta({ id: 'Event' })
export type Event = z.infer<typeof Event>

/** Gives events their places, and reads those after one, in order. */
export async function readEvents(db: ClientBase | Pool, after: number, limit: number): Promise<Event[]> {
  await db.query({ name: 'place events', text: 'select dirsync.place_events() as placed' })
  const { rows } = await db.query<Event>({
    name: 'events',
    text: `
      select * from (
        (select e.position as id, 'run.' || e.state as type, e.at,
                jsonb_build_object('id', r.id, 'kind', r.kind, 'hr_source', coalesce(r.hr_source, ''),
                                   'state', e.state) as run,
                null::jsonb as "case"
         from dirsync.run_event e join dirsync.sync_run r on r.id = e.run_id
         where e.position > $1 order by e.position limit $2)
        union all
        (select e.position, 'case.' || e.event, e.at, null,
                jsonb_build_object('id', d.id, 'enterprise_code', d.enterprise_code, 'entity', d.entity,
                                   'entity_key', d.entity_key, 'operation', d.operation, 'field', d.field,
                                   'category', d.category, 'state', d.state)
         from dirsync.dead_letter_event e join dirsync.dead_letter d on d.id = e.dead_letter_id
         where e.position > 0 and e.position > $1 order by e.position limit $2)
      ) events order by id limit $2`,
    values: [after, limit],
  })
  return rows
}

/** As many as dirsync.place_events gives places to at a time. */
const PLACED_AT_A_TIME = 2000

/** Gives places to all events that are committed. */
export async function placeEvents(db: ClientBase | Pool): Promise<void> {
  let placed: number
  do {
    const { rows } = await db.query<{ placed: number }>({
      name: 'place events',
      text: 'select dirsync.place_events() as placed',
    })
    placed = onlyRow(rows).placed
  } while (placed >= PLACED_AT_A_TIME)
}

/** The place of the latest event: whoever begins there is told what comes next. */
export async function latestPlace(db: ClientBase | Pool): Promise<number> {
  await placeEvents(db)
  const { rows } = await db.query<{ place: number }>(
    `select greatest(0, (select max(position) from dirsync.run_event where position is not null),
                     (select max(position) from dirsync.dead_letter_event where position > 0)) as place`,
  )
  return onlyRow(rows).place
}
