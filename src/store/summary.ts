import type { Pool } from 'pg'
import { openRefunds } from './refund.ts'
import { openTopUps } from './topup.ts'

/** Where the directory stands, and what the runs since one of them did. Counts of employees add up to `in_scope`. */
export interface SyncSummary {
  employees: {
    in_scope: number
    in_step: number
    updated: number
    partly_updated: number
    awaiting_activation: number
    dead_lettered: number
    halted: number
    waiting: number
  }
  departments: { deleted: number; already_gone: number }
  openids: { bound: number }
  /** Open cases by category. */
  dead_letters: Record<string, number>
  /** What was sent once and may have been carried out; `for_person` of it waits for a person's word. */
  outcome_unknown: { refunds: number; topups: number; for_person: number }
  /** Calls by operation. */
  platform_calls: Record<string, number>
}

/**
 * Sums up the runs from `firstRun` on.
 * @param since when they began, for the token creations, which belong to no run
 */
export async function syncSummary(db: Pool, firstRun: number, since: Date): Promise<SyncSummary> {
  const { rows } = await db.query(
    `with attempts as (
       select * from dirsync.attempt where run_id >= $1
     ), sent as (
       select distinct enterprise_code, entity_key from attempts where operation = 'update-employee' and fields <> '{}'
     ), employees as (
       select case
                when e.acknowledged_hash = e.source_hash then case when s.entity_key is null then 'in_step' else 'updated' end
                when e.parked_hash = e.source_hash then
                  case when e.platform_state = 'absent' then 'awaiting_activation'
                       when s.entity_key is null then 'dead_lettered' else 'partly_updated' end
                when exists (select from dirsync.halt h where h.scope in ('*', e.enterprise_code)) then 'halted'
                else 'waiting'
              end as standing
       from dirsync.employee e
       left join sent s on s.enterprise_code = e.enterprise_code and s.entity_key = e.userid
       where e.active and e.vanished_at is null
     ), calls as (
       select c.key as operation, sum(c.value::int) as n from attempts, jsonb_each_text(calls) c group by 1
       union all
       select 'token/create', count(*) from dirsync.token_creation where created_at >= $2 having count(*) > 0
     ), cases as (
       select category, count(*) as n from dirsync.dead_letter where state not in ('resolved', 'ignored') group by 1
     )
     select (select jsonb_object_agg(standing, n) from (select standing, count(*) as n from employees group by 1) x) as standings,
            (select count(*)::int from attempts where outcome = 'deleted' and platform_code is null) as deleted,
            (select count(*)::int from attempts where outcome = 'deleted' and platform_code is not null) as already_gone,
            (select count(*)::int from attempts where outcome = 'bound') as bound,
            (select coalesce(jsonb_object_agg(category, n), '{}') from cases) as dead_letters,
            (select coalesce(jsonb_object_agg(operation, n), '{}') from calls) as calls`,
    [firstRun, since],
  )
  const [refunds, topUps] = await Promise.all([openRefunds(db), openTopUps(db)])
  const { standings, deleted, already_gone, bound, dead_letters, calls } = rows[0]
  const of = (standing: string): number => standings?.[standing] ?? 0
  const employees = {
    in_step: of('in_step'),
    updated: of('updated'),
    partly_updated: of('partly_updated'),
    awaiting_activation: of('awaiting_activation'),
    dead_lettered: of('dead_lettered'),
    halted: of('halted'),
    waiting: of('waiting'),
  }
  const in_scope = Object.values(employees).reduce((sum, n) => sum + n, 0)
  return {
    employees: { in_scope, ...employees },
    departments: { deleted, already_gone },
    openids: { bound },
    dead_letters,
    outcome_unknown: {
      refunds: refunds.unknown,
      topups: topUps.unknown,
      for_person: refunds.for_person + topUps.unknown,
    },
    platform_calls: calls,
  }
}
