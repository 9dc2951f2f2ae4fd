import type { ClientBase, Pool } from '../lib/database.ts'
import type { Work } from './outbox.ts'
import type { Settlement } from './settlement.ts'

/** Employees from whom blocked fields are withheld: who probes them, who is asked once they go, and how many there are. */

/** With full runs: behind all that anybody waits for. */
const BACKGROUND = 7

/** Employees are counted so far and no further, however many there are: looking costs the same. */
export const MOST_COUNTED = 10_000

/** A probe without an outcome for so long is given to another employee. */
const LOST_PROBE = '15 minutes'

/** Whoever was told to withhold a field that got through meanwhile is asked for anew. */
export async function askLate(client: ClientBase, settlements: Settlement[]): Promise<void> {
  const keys = settlements
    .filter(({ employee }) => employee && employee.withheld.length > 0)
    .map(({ key }) => key)
  if (keys.length === 0) return
  await client.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, priority)
     select 'update-employee', e.enterprise_code, e.userid, ${BACKGROUND}
     from jsonb_to_recordset($1) as a ("enterpriseCode" text, "entityKey" text)
     join dirsync.employee e on e.enterprise_code = a."enterpriseCode" and e.userid = a."entityKey"
     where exists (select from unnest(e.withheld) as w (field)
                   where not exists (select from dirsync.field_block b
                                     where b.enterprise_code = e.enterprise_code and b.field = w.field))
     order by e.enterprise_code, e.userid
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set version = dirsync.pending.version + 1, enqueued_at = null, not_before = now(), replan_at = null`,
    [JSON.stringify(keys)],
  )
}

/** Puts those into the outbox from whom the fields of ended cases were withheld. Returns how many. */
export async function askWithheld(client: ClientBase, runId: number, ids: number[]): Promise<number> {
  const { rowCount } = await client.query(
    `insert into dirsync.pending as p (operation, enterprise_code, entity_key, run_id, priority)
     select 'update-employee', e.enterprise_code, e.userid, $2, ${BACKGROUND}
     from dirsync.employee e
     where e.withheld <> '{}'
       and exists (select from dirsync.dead_letter d
                   where d.id = any ($1) and d.entity = 'enterprise' and d.state = 'resolved'
                     and d.enterprise_code = e.enterprise_code and d.field = any (e.withheld)
                     and not exists (select from dirsync.field_block b
                                     where b.enterprise_code = d.enterprise_code and b.field = d.field))
     order by e.enterprise_code, e.userid
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set run_id = excluded.run_id, priority = least(p.priority, excluded.priority), version = p.version + 1,
         enqueued_at = null, not_before = now(), replan_at = null, attempts = 0`,
    [ids, runId],
  )
  return rowCount ?? 0
}

/**
 * Has each of the enterprises' cases among `ids` probed by the next employee in order from whom the field is withheld. One
 * that nobody is left for ends.
 */
export async function beginProbes(client: ClientBase, ids: number[], runId: number | null): Promise<Work[]> {
  const { rows } = await client.query<{ enterpriseCode: string; userid: string }>(
    `with asked as (
       select d.id, d.enterprise_code, d.field, next.userid
       from dirsync.dead_letter d
       left join dirsync.field_block b on b.enterprise_code = d.enterprise_code and b.field = d.field
       left join lateral (
         select e.userid from dirsync.employee e
         where e.enterprise_code = b.enterprise_code and e.withheld <> '{}' and b.field = any (e.withheld)
           and e.active and e.vanished_at is null and e.platform_state <> 'absent'
         order by e.userid <= coalesce(b.probe_userid, ''), e.userid limit 1) next on true
       where d.id = any ($1) and d.entity = 'enterprise' and d.state <> 'resolved'
     ), begun as (
       update dirsync.field_block b
       set probe_userid = a.userid, probing = true, next_probe_at = now() + interval '${LOST_PROBE}'
       from asked a where b.enterprise_code = a.enterprise_code and b.field = a.field and a.userid is not null
     ), dropped as (
       delete from dirsync.field_block b using asked a
       where b.enterprise_code = a.enterprise_code and b.field = a.field and a.userid is null
     ), forgotten as (
       delete from dirsync.field_refusal r using asked a
       where r.enterprise_code = a.enterprise_code and r.field = a.field and a.userid is null
     ), ended as (
       update dirsync.dead_letter d
       set state = 'resolved', resolution = 'obsolete', resolved_by = 'dirsync', resolved_at = now(),
           next_retry_at = null, version = d.version + 1
       from asked a where d.id = a.id and a.userid is null
       returning d.id
     ), told as (
       insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note)
       select id, 'resolved', $2, 'obsolete' from ended
     )
     select distinct enterprise_code as "enterpriseCode", userid from asked where userid is not null`,
    [ids, runId],
  )
  return rows.map(({ enterpriseCode, userid }) => ({
    operation: 'update-employee',
    enterpriseCode,
    entityKey: userid,
    detail: '',
    wave: 0,
  }))
}

/** Has the fields that are withheld from named employees probed by one of them. */
export async function probeWith(
  client: ClientBase,
  employees: { enterpriseCode: string; userid: string }[],
): Promise<void> {
  await client.query(
    `update dirsync.field_block b
     set probe_userid = e.userid, probing = true, next_probe_at = now() + interval '${LOST_PROBE}'
     from jsonb_to_recordset($1) as n ("enterpriseCode" text, userid text)
     join dirsync.employee e on e.enterprise_code = n."enterpriseCode" and e.userid = n.userid
     where b.enterprise_code = e.enterprise_code and b.field = any (e.withheld)`,
    [JSON.stringify(employees)],
  )
}

/** Keeps the messages of the enterprises' cases true: they tell from how many employees a field is withheld. */
export async function tellWithheld(db: ClientBase | Pool): Promise<void> {
  await db.query(
    `with told as (
       select b.enterprise_code, b.field,
              format('%s. Withheld%s from %s %s.', rtrim(b.message, '. '),
                     ': the attribute ' || codes.list || ',',
                     case when n > ${MOST_COUNTED} then 'more than ${MOST_COUNTED}' else n::text end,
                     case when n = 1 then 'employee' else 'employees' end) as message
       from dirsync.field_block b
       cross join lateral (
         select string_agg((select string_agg(code, ' with ')
                            from jsonb_array_elements_text(c.list) as s (code)), ', ') as list
         from jsonb_array_elements(b.codes) as c (list)) codes
       cross join lateral (
         select count(*) as n from (
           select from dirsync.employee e
           where e.enterprise_code = b.enterprise_code and e.withheld <> '{}' and b.field = any (e.withheld)
           limit ${MOST_COUNTED + 1}) few) counted
     )
     update dirsync.dead_letter d set message = t.message, version = d.version + 1
     from told t
     where d.enterprise_code = t.enterprise_code and d.entity = 'enterprise' and d.operation = 'update-employee'
       and d.field = t.field and d.state <> 'resolved' and d.message <> t.message`,
  )
}

/** A blocked field, as it is shown. */
export interface WithheldField {
  enterprise_code: string
  field: string
  /** Lists of attributeCodes that are withheld together; null: the field as a whole. */
  codes: string[][] | null
  /** At most one more than `MOST_COUNTED`. */
  employees: number
  since: Date
  next_probe_at: Date
  dead_letter: number | null
  /** State of its case: an ignored one is probed all the same. */
  state: string | null
}

/** The fields that are withheld, whatever became of their cases. */
export async function withheldFields(db: Pool): Promise<WithheldField[]> {
  const { rows } = await db.query<WithheldField>(
    `select b.enterprise_code, b.field, b.codes, b.since, b.next_probe_at, d.id as dead_letter, d.state,
            (select count(*)::int from (
               select from dirsync.employee e
               where e.enterprise_code = b.enterprise_code and e.withheld <> '{}' and b.field = any (e.withheld)
               limit ${MOST_COUNTED + 1}) few) as employees
     from dirsync.field_block b
     left join dirsync.dead_letter d on d.enterprise_code = b.enterprise_code and d.entity = 'enterprise'
       and d.operation = 'update-employee' and d.field = b.field and d.state <> 'resolved'
     order by b.enterprise_code, b.field`,
  )
  return rows
}
