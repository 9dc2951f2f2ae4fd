import { z } from 'zod'
import { LOCKS } from '../../lib/advisory-lock.ts'
import { type ClientBase, onlyRow, type Pool } from '../../lib/database.ts'

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
        hr_source: z
          .string()
          .describe('The HR source that it is about; empty: there is only one, or it is about all'),
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

/** What was read of the events. */
interface Passage {
  events: Event[]
  /** Up to which it was read: what is read next begins after it. */
  place: number
  /** Whether there is more to read now. */
  isBehind: boolean
}

/** As many as dirsync.place_events gives places to at a time. */
const PLACED_AT_A_TIME = 2000

/** How many places are looked through at a time for the events that are wanted. */
const LOOKED_THROUGH = 100_000

/**
 * Gives events their places, and reads those after one, in order.
 * @param wanted types, and beginnings of types with `*` behind them
 */
export async function readEvents(
  db: ClientBase | Pool,
  after: number,
  limit: number,
  wanted: readonly string[] = ['*'],
): Promise<Passage> {
  const { rows: given } = await db.query<{ placed: number }>({
    name: 'place events',
    text: 'select dirsync.place_events() as placed',
  })
  const beginnings = wanted.filter(name => name.endsWith('*')).map(name => name.slice(0, -1))
  const { rows } = await db.query<Omit<Event, 'id'> & { id: number | null; place: number; latest: number }>({
    name: 'events',
    text: `
      with latest as materialized (select ${latestUpTo(String(Number.MAX_SAFE_INTEGER))} as place),
      reach as materialized (select greatest($1, least(place, $1::bigint + ${LOOKED_THROUGH})) as place from latest),
      events as (
        (select e.position as id, 'run.' || e.state as type, e.at,
                jsonb_build_object('id', r.id, 'kind', r.kind, 'hr_source', coalesce(r.hr_source, ''),
                                   'state', e.state) as run,
                null::jsonb as "case"
         from dirsync.run_event e join dirsync.sync_run r on r.id = e.run_id
         where e.position > $1 and e.position <= (select place from reach)
           and ('run.' || e.state = any ($3) or 'run.' || e.state ^@ any ($4))
         order by e.position limit $2)
        union all
        (select e.position, 'case.' || e.event, e.at, null,
                jsonb_build_object('id', d.id, 'enterprise_code', d.enterprise_code, 'entity', d.entity,
                                   'entity_key', d.entity_key, 'operation', d.operation, 'field', d.field,
                                   'category', d.category, 'state', d.state)
         from dirsync.dead_letter_event e join dirsync.dead_letter d on d.id = e.dead_letter_id
         where e.position > 0 and e.position > $1 and e.position <= (select place from reach)
           and ('case.' || e.event = any ($3) or 'case.' || e.event ^@ any ($4))
         order by e.position limit $2)
        order by id limit $2
      )
      select events.*, reach.place, latest.place as latest
      from latest cross join reach left join events on true order by id`,
    values: [after, limit, wanted, beginnings],
  })
  const events = rows.flatMap(({ id, place: _, latest: __, ...event }) =>
    id === null ? [] : [{ id, ...event }],
  )
  const [{ place, latest } = { place: after, latest: after }] = rows
  const last = events.length === limit ? events.at(-1) : undefined
  return {
    events,
    place: last?.id ?? place,
    isBehind: last !== undefined || place < latest || onlyRow(given).placed >= PLACED_AT_A_TIME,
  }
}

/** SQL: the place of the latest event up to one. */
const latestUpTo = (place: string) => `
  greatest(0, (select max(position) from dirsync.run_event where position <= ${place}),
           (select max(position) from dirsync.dead_letter_event where position > 0 and position <= ${place}))`

/** Gives places to all events that are committed. */
export async function placeEvents(db: ClientBase | Pool): Promise<void> {
  let placed: number
  do {
    // While another session gives places, dirsync.place_events leaves it to that one.
    const { rows } = await db.query<{ placed: number }>({
      name: 'place all events',
      text: `
        with turn as materialized (select pg_advisory_xact_lock($1::bigint))
        select dirsync.place_events() as placed from turn`,
      values: [LOCKS.events],
    })
    placed = onlyRow(rows).placed
  } while (placed >= PLACED_AT_A_TIME)
}

/** The place of the latest event, or of the latest up to a place: whoever begins there is told what comes next. */
export async function latestPlace(
  db: ClientBase | Pool,
  upTo: number = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  await placeEvents(db)
  const { rows } = await db.query<{ place: number }>(`select ${latestUpTo('$1')} as place`, [upTo])
  return onlyRow(rows).place
}
