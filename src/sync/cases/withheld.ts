import { type EmployeeKey, keyText } from '../../directory/employee.ts'
import { type ClientBase, MOST_COUNTED, type Pool } from '../../lib/database.ts'
import { slowProbeDelay } from '../outbox/backoff.ts'
import { hasSource } from '../outbox/employee.ts'
import { PRIORITY, updateOf, type Work } from '../outbox/outbox.ts'
import type { FinishedSettlement } from '../outbox/outcome.ts'
import { endCases, restProbed } from './cases.ts'

/** Employees from whom blocked fields are withheld: which of them probe, which are sent again afterwards, and their number. */

/** A probe without an outcome for this long is given to another employee … */
const LOST_PROBE = '15 minutes'

/** SQL: … unless its work waits for its turn, as during a pause or a halt: the block `b` is being probed. */
export const IS_BEING_PROBED = `(b.probing and exists (
  select from dirsync.pending p
  where p.operation = 'update-employee' and p.enterprise_code = b.enterprise_code
    and p.entity_key = b.probe_userid and p.replan_at is null))`

/** SQL: `d` is the unresolved case of the enterprise about the block `b`. */
export const IS_CASE_OF_BLOCK = `d.enterprise_code = b.enterprise_code and d.entity = 'enterprise'
       and d.operation = 'update-employee' and d.field = b.field and d.state <> 'resolved'`

/**
 * Condition on an employee `e`, by an index of its own: one of the fields is withheld from them.
 * @param enterpriseCode SQL
 * @param fields SQL
 */
export const isWithheldFrom = (enterpriseCode: string, fields: string) => `(e.withheld <> '{}'
           and dirsync.withheld_fields(e.enterprise_code, e.withheld)
               && dirsync.withheld_fields(${enterpriseCode}, ${fields}))`

/** Condition on an employee `e` of HR: no work, decision or case of their own will have all their fields sent. */
const IS_LEFT = `(e.active and e.vanished_at is null and e.held_run is null
           and not exists (select from dirsync.pending p
                           where p.operation = 'update-employee' and p.enterprise_code = e.enterprise_code
                             and p.entity_key = e.userid)
           and not exists (select from dirsync.dead_letter own
                           where own.enterprise_code = e.enterprise_code and own.entity_key = e.userid
                             and own.entity = 'employee' and own.operation = 'update-employee'
                             and own.field = '' and own.state <> 'resolved'))`

/**
 * SQL: the ended cases of blocks after which employees are left from whom the field is still withheld, as the work of the run
 * that was to ask about them is lost. While such a run goes on, nothing is looked for, nor for a day after a person has
 * cancelled one. Of many, the first ones that are not held tell.
 */
export const CASES_LEFT = `
       select lifted.id from (
         select d.enterprise_code, d.field, max(d.id) as id from dirsync.dead_letter d
         where d.entity = 'enterprise' and d.operation = 'update-employee' and d.state = 'resolved'
           and not exists (select from dirsync.field_block b
                           where b.enterprise_code = d.enterprise_code and b.field = d.field)
           and ${hasSource('d')}
         group by 1, 2
         having not exists (select from dirsync.sync_run r
                            where r.kind = 'retry' and r.finished_at is null and max(d.id)::text = any (r.keys))) lifted
       where exists (
         select from (select * from dirsync.employee e
                      where ${isWithheldFrom('lifted.enterprise_code', 'array[lifted.field]')} and e.held_run is null
                      limit ${MOST_COUNTED}) e
         where ${IS_LEFT})
         -- A person who cancels such a run does not want it at once: a day later, or by a full run.
         and not exists (select from dirsync.sync_run r
                         where r.kind = 'retry' and r.state = 'cancelled' and r.finished_at > now() - interval '1 day'
                           and lifted.id::text = any (r.keys))`

/** SQL: how many employees the field of the block `b` is withheld from. Of many, the index is read to its end all the same. */
const COUNT_WITHHELD = `(
       select count(*)::int from (
         select from dirsync.employee e
         where ${isWithheldFrom('b.enterprise_code', 'array[b.field]')}
         limit ${MOST_COUNTED + 1}) few)`

/**
 * Requests employees again whose withheld field has been unblocked meanwhile, and those for whose refused field the enterprise's
 * case has taken the place of their own: the field was held back for a case that is gone, and is to be withheld.
 */
export async function askLate(client: ClientBase, settlements: FinishedSettlement[]): Promise<void> {
  const late = settlements.flatMap(({ key, stored, resolve }) => {
    if (stored?.of !== 'employee') return []
    const { withheld } = stored.memory
    const parked =
      typeof resolve === 'string' ? [] : resolve.except.filter(field => !withheld.includes(field))
    return withheld.length > 0 || parked.length > 0 ? [{ ...key, parked }] : []
  })
  if (late.length === 0) return
  await client.query(
    `insert into dirsync.pending as p (operation, enterprise_code, entity_key, priority)
     select 'update-employee', e.enterprise_code, e.userid, ${PRIORITY.full}
     from jsonb_to_recordset($1) as a ("enterpriseCode" text, "entityKey" text, parked jsonb)
     join dirsync.employee e on e.enterprise_code = a."enterpriseCode" and e.userid = a."entityKey"
     where exists (select from unnest(e.withheld) as w (field)
                   where not exists (select from dirsync.field_block b
                                     where b.enterprise_code = e.enterprise_code and b.field = w.field))
        or exists (select from dirsync.dead_letter d
                   where d.enterprise_code = e.enterprise_code and d.entity_key = e.userid
                     and d.resolution = 'merged' and a.parked ? d.field
                     and not exists (select from dirsync.dead_letter o
                                     where o.enterprise_code = d.enterprise_code and o.entity_key = d.entity_key
                                       and o.entity = 'employee' and o.operation = 'update-employee'
                                       and o.field = d.field and o.state <> 'resolved'))
     order by e.enterprise_code, e.userid
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set version = p.version + 1, enqueued_at = null, not_before = now(), replan_at = null`,
    [JSON.stringify(late)],
  )
}

/** Puts the employees into the outbox from whom the fields of ended cases are still withheld. Returns how many. */
export async function askWithheld(client: ClientBase, runId: number, ids: number[]): Promise<number> {
  const { rowCount } = await client.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, run_id, priority)
     select 'update-employee', e.enterprise_code, e.userid, $2, ${PRIORITY.full}
     from dirsync.employee e
     where e.withheld <> '{}' and ${IS_LEFT}
       and exists (select from dirsync.dead_letter d
                   where d.id = any ($1) and d.entity = 'enterprise' and d.state = 'resolved'
                     and d.enterprise_code = e.enterprise_code and d.field = any (e.withheld)
                     and not exists (select from dirsync.field_block b
                                     where b.enterprise_code = d.enterprise_code and b.field = d.field))
     order by e.enterprise_code, e.userid
     on conflict do nothing`,
    [ids, runId],
  )
  return rowCount ?? 0
}

/**
 * Begins a probe for each of the enterprises' cases among `ids`, with the next employee in order from whom the field is
 * withheld. A case without any employee left ends.
 */
export async function beginProbes(client: ClientBase, ids: number[], runId: number | null): Promise<Work[]> {
  const { rows: probes } = await client.query<{
    id: number
    enterpriseCode: string
    field: string
    userid: string | null
  }>(
    `select d.id, d.enterprise_code as "enterpriseCode", d.field, next.userid
     from dirsync.dead_letter d
     left join dirsync.field_block b on b.enterprise_code = d.enterprise_code and b.field = d.field
     left join lateral (
       select e.userid from dirsync.employee e
       where e.enterprise_code = b.enterprise_code and e.withheld <> '{}' and b.field = any (e.withheld)
         and e.active and e.vanished_at is null and e.platform_state <> 'absent'
       order by e.userid <= coalesce(b.probe_userid, ''), e.userid limit 1) next on true
     where d.id = any ($1) and d.entity = 'enterprise' and d.state <> 'resolved'`,
    [ids],
  )
  for (const { enterpriseCode, field, userid } of probes) {
    if (userid === null) await unblock(client, enterpriseCode, [field], { isOn: false })
    else
      await client.query(
        `update dirsync.field_block
         set probe_userid = $3, probing = true, next_probe_at = now() + interval '${LOST_PROBE}'
         where enterprise_code = $1 and field = $2`,
        [enterpriseCode, field, userid],
      )
  }
  const ended = probes.filter(({ userid }) => userid === null)
  await endCases(
    client,
    ended.map(({ id }) => ({ id, runId, resolution: 'obsolete' })),
  )
  const asked = probes.flatMap(({ enterpriseCode, userid }) =>
    userid === null ? [] : [{ enterpriseCode, userid }],
  )
  const employees = new Map(asked.map(key => [keyText(key), key])).values()
  return [...employees].map(updateOf)
}

/** Ends probes of enterprises without an HR source until their next turn: no employee's job gets to try the field. */
export async function restProbes(
  client: ClientBase,
  settlements: Pick<FinishedSettlement, 'key' | 'outcome'>[],
): Promise<void> {
  const ended = settlements.filter(({ outcome }) => outcome === 'obsolete').map(({ key }) => key)
  if (ended.length === 0) return
  const restMs = slowProbeDelay(Math.random())
  const { rows } = await client.query<{ id: number }>(
    `with b as (
       update dirsync.field_block b
       set probing = false, next_probe_at = now() + $2 * interval '1 millisecond'
       from jsonb_to_recordset($1) as s (operation text, "enterpriseCode" text, "entityKey" text)
       where s.operation = 'update-employee' and b.enterprise_code = s."enterpriseCode"
         and b.probe_userid = s."entityKey" and b.probing and not ${hasSource('b')}
       returning b.*
     )
     select d.id from b join dirsync.dead_letter d on ${IS_CASE_OF_BLOCK}`,
    [JSON.stringify(ended), restMs],
  )
  await restProbed(
    client,
    rows.map(({ id }) => id),
    restMs,
  )
}

/**
 * Removes blocks of fields, with their refusals. Returns those that existed.
 * @param isOn an employee got the fields through. What was refused of a field that is on or off as a whole is about its value
 *   then, and is kept, of no run; of attributes, what is still off is found out again.
 */
export async function unblock(
  client: ClientBase,
  enterpriseCode: string,
  fields: string[],
  { isOn }: { isOn: boolean },
): Promise<string[]> {
  const { rows } = await client.query<{ field: string }>(
    `with forgotten as (
       delete from dirsync.field_refusal
       where enterprise_code = $1 and field = any ($2) and (codes is not null or not $3)
     ), kept as (
       update dirsync.field_refusal set run_id = null
       where enterprise_code = $1 and field = any ($2) and codes is null and $3
     )
     delete from dirsync.field_block where enterprise_code = $1 and field = any ($2) returning field`,
    [enterpriseCode, fields, isOn],
  )
  return rows.map(({ field }) => field)
}

/** Lets one of the named employees probe each field that is withheld from them. */
export async function probeWith(client: ClientBase, employees: EmployeeKey[]): Promise<void> {
  await client.query(
    `update dirsync.field_block b
     set probe_userid = e.userid, probing = true, next_probe_at = now() + interval '${LOST_PROBE}'
     from jsonb_to_recordset($1) as n ("enterpriseCode" text, userid text)
     join dirsync.employee e on e.enterprise_code = n."enterpriseCode" and e.userid = n.userid
     where b.enterprise_code = e.enterprise_code and b.field = any (e.withheld)`,
    [JSON.stringify(employees)],
  )
}

/**
 * Updates the messages of the enterprises' cases: they say from how many employees a field is withheld. That is not a new
 * version: a person about to decide need not look at the case again.
 */
export async function tellWithheld(db: ClientBase | Pool): Promise<void> {
  await db.query(
    `with present as (
       select b.enterprise_code, b.field,
              b.message || jsonb_build_array(case
                when n = 1 then '{"key": "said.withheld_one"}'
                else jsonb_build_object(
                  'key', case when n > ${MOST_COUNTED} then 'said.withheld_more' else 'said.withheld' end,
                  'values', jsonb_build_object('count', least(n, ${MOST_COUNTED}))) end)
              || case when codes.list is null then '[]'
                      else jsonb_build_array(jsonb_build_object(
                        'key', 'said.withheld_codes', 'values', jsonb_build_object('codes', codes.list)))
                 end as message
       from dirsync.field_block b
       cross join lateral (
         select string_agg((select string_agg(code, ' with ')
                            from jsonb_array_elements_text(c.list) as s (code)), ', ') as list
         from jsonb_array_elements(b.codes) as c (list)) codes
       cross join lateral (select ${COUNT_WITHHELD} as n) counted
     )
     update dirsync.dead_letter d set message = b.message
     from present b
     where ${IS_CASE_OF_BLOCK} and d.message <> b.message`,
  )
}

/**
 * Withheld fields whose case a person ignored. Employees without one count as in review: only their own page tells, as a decision
 * about an enterprise does not write a row of each.
 */
export async function ignoredFields(
  db: Pool,
): Promise<{ enterprise_code: string; field: string; dead_letter: number }[]> {
  const { rows } = await db.query<{ enterprise_code: string; field: string; dead_letter: number }>(
    `select b.enterprise_code, b.field, d.id as dead_letter
     from dirsync.field_block b join dirsync.dead_letter d on ${IS_CASE_OF_BLOCK}
     where d.state = 'ignored' order by 1, 2 limit 20`,
  )
  return rows
}

/** A blocked field, as it is shown. */
export interface WithheldField {
  enterprise_code: string
  field: string
  /** Lists of attributeCodes that are withheld together; null: the whole field. */
  codes: string[][] | null
  /** At most one more than `MOST_COUNTED`. */
  employees: number
  since: Date
  next_probe_at: Date
  dead_letter: number | null
  /** State of its case: an ignored one is probed all the same. */
  state: string | null
}

/** The withheld fields, whatever the state of their cases. */
export async function withheldFields(db: Pool): Promise<WithheldField[]> {
  const { rows } = await db.query<WithheldField>(
    `select b.enterprise_code, b.field, b.codes, b.since, b.next_probe_at, d.id as dead_letter, d.state,
            ${COUNT_WITHHELD} as employees
     from dirsync.field_block b
     left join dirsync.dead_letter d on ${IS_CASE_OF_BLOCK}
     order by b.enterprise_code, b.field`,
  )
  return rows
}
