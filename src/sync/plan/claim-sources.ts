import type { HrKind } from '../../hr/server.ts'
import { lockTransaction } from '../../lib/advisory-lock.ts'
import { type ClientBase, onlyRow, type Pool, repeatOnDeadlock, transaction } from '../../lib/database.ts'
import { message, toStore } from '../../texts/message.ts'
import { endCasesWhere, NO_USER_ID } from '../cases/cases.ts'
import { enterprisesIn, hasSource } from '../outbox/employee.ts'
import { KINDS_BY_SOURCE, unsentBecause } from '../runs/run.ts'
import { endForgottenWaiting, endWaiting } from './plan-tables.ts'

/** What all processes have to know of the sources that HR_SOURCES names, in the order of the file. */
export interface KnownSource {
  name: string
  kind: HrKind
  /** Without user and password. */
  address: string
  enterpriseCodes: readonly string[]
}

/**
 * Stores HR's sources, at the start of a process. Runs of sources that are no longer among them end, since no process plans
 * them; employees of their enterprises stay as they are, here and on the platform.
 * @param sources empty where there is only one HR system
 */
export async function claimSources(db: Pool, sources: readonly KnownSource[]): Promise<void> {
  // A plan that is being written holds the lock, and rows that wait for it.
  await repeatOnDeadlock(() => transaction(db, client => writeSources(client, sources)))
  await db.query(`select pg_notify('dirsync', 'run')`)
}

const NEWEST_RUN = 'select coalesce(max(id), 0) from dirsync.sync_run'

const SAME_CODES = `(h.enterprise_codes @> excluded.enterprise_codes and h.enterprise_codes <@ excluded.enterprise_codes)`

async function writeSources(client: ClientBase, sources: readonly KnownSource[]): Promise<void> {
  await lockTransaction(client, 'sources')
  const { rows } = await client.query<{ changed: number; gone: number; loses: boolean }>(
    `with named as (
         select * from jsonb_to_recordset($1)
           as s (name text, kind text, address text, "enterpriseCodes" text[], position smallint)
       ), gone as (
         delete from dirsync.hr_source h where not exists (select from named n where n.name = h.name)
         returning h.name
       ), known as (
         insert into dirsync.hr_source as h (name, position, kind, address, enterprise_codes, codes_since, codes_since_at)
         select name, position, kind, address, "enterpriseCodes", (${NEWEST_RUN}), now() from named
         on conflict (name) do update
         set position = excluded.position, kind = excluded.kind, address = excluded.address,
             enterprise_codes = excluded.enterprise_codes, seen_at = now(),
             codes_since = case when ${SAME_CODES} then h.codes_since else excluded.codes_since end,
             codes_since_at = case when ${SAME_CODES} then h.codes_since_at else now() end
         returning h.name
       )
       -- As the table was before.
       select (select count(*) from gone)::int as gone,
              (select count(*) from named n
               where not exists (select from dirsync.hr_source h
                                 where h.name = n.name and h.enterprise_codes = n."enterpriseCodes"))::int as changed,
              exists (select from named)
                and exists (select from (select code as enterprise_code from (${enterprisesIn('employee')}) known) k
                            where ${hasSource('k')}
                              and not exists (select from named n where k.enterprise_code = any (n."enterpriseCodes"))
                              and exists (select from dirsync.employee e
                                          where e.enterprise_code = k.enterprise_code and e.status not in ('left', 'vanished')))
                as loses`,
    [JSON.stringify(sources.map((source, position) => ({ ...source, position })))],
  )
  const names = sources.length === 0 ? [''] : sources.map(({ name }) => name)
  await endRunsOfOthers(client, names)
  await client.query('delete from dirsync.hr_delivery where source <> all ($1)', [names])
  if (sources.length > 0) await letGo(client, sources)
  const { changed, gone, loses } = onlyRow(rows)
  if (loses) await client.query('update dirsync.deployment set source_lost_at = now()')
  if (gone + changed === 0) return
  if (sources.length === 0 && gone > 0)
    await client.query(
      `update dirsync.deployment set one_hr_since = (${NEWEST_RUN}), one_hr_since_at = now()`,
    )
  await endCasesOfOthers(client, names)
  // The next reading of HR shows whether it answers.
  await client.query(`delete from dirsync.halt where category = 'hr_unavailable'`)
}

/** Why runs end. */
const REASON = message('said.source_gone')
const REASON_OF_REST = toStore([REASON, message('said.taken_back')])

/** Ends runs that no process plans any more. Their rows in the outbox go at the next check, as with a cancelled run. */
async function endRunsOfOthers(db: ClientBase, names: readonly string[]): Promise<void> {
  const { rows } = await db.query<{ id: number }>(
    `update dirsync.sync_run
     set state = case state when 'held' then 'rejected' else 'cancelled' end, finished_at = now(),
         message = ${unsentBecause('$3')}
     where state in ('held', 'requested', 'planning') and finished_at is null
       and kind = any ($1) and hr_source <> all ($2)
     returning id`,
    [KINDS_BY_SOURCE, names, toStore(REASON)],
  )
  const ended = rows.map(({ id }) => id)
  if (ended.length > 0) await endWaiting(db, ended)
  await db.query(
    `update dirsync.sync_run set cancelled_at = now(), message = $3
     where state = 'running' and finished_at is null and cancelled_at is null and hr_source <> ''
       and kind = any ($1) and hr_source <> all ($2)`,
    [KINDS_BY_SOURCE, names, REASON_OF_REST],
  )
}

/**
 * Work that waited for a plan of a removed source would wait for ever: a worker drops it. Nor does a removed source answer, so
 * that no halt because of it would end. Processes with earlier sources may have left any of it since these came in force.
 */
async function letGo(db: ClientBase, sources: readonly KnownSource[]): Promise<void> {
  const codes = sources.flatMap(({ enterpriseCodes }) => enterpriseCodes)
  await db.query(
    `update dirsync.pending set not_before = now(), replan_at = null
     where replan_at is not null and enterprise_code <> all ($1)`,
    [codes],
  )
  await endForgottenWaiting(db)
  await db.query(`delete from dirsync.halt where category = 'hr_unavailable' and scope <> all ($1)`, [codes])
}

/** Cases about rows that are no longer read. */
async function endCasesOfOthers(db: ClientBase, names: readonly string[]): Promise<void> {
  await endCasesWhere(
    db,
    `d.operation = 'read-hr' and d.field <> all ($1)
       -- From the time with a single HR system; several have a case each.
       or '' <> all ($1) and d.entity_key = $2 and d.operation = 'update-employee'`,
    [names, NO_USER_ID],
    { runId: null, resolution: 'obsolete' },
  )
}
