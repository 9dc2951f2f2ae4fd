import type { ClientBase } from 'pg'
import type { JobKey } from '../core/job.ts'
import type { Failure, Settlement } from './settlement.ts'

/** What an outcome does to the cases for review; all inside the transaction that writes it. */

/** What of an outcome concerns the cases; of jobs and of mirrors. */
type Settled = Pick<Settlement, 'runId' | 'failures' | 'keep' | 'employee'> & {
  key: JobKey & { operation: string }
  attempt: Pick<Settlement['attempt'], 'outcome'>
}

/** Resolves the cases that an outcome has settled, also those that a person had accepted: their reason is gone. */
export async function resolveCases(client: ClientBase, settlements: Settled[]): Promise<void> {
  if (settlements.length === 0) return
  const rows = settlements.map(({ key, runId, failures, keep, attempt, employee }) => ({
    ...key,
    runId,
    kept: [...failures.map(failure => failure.field), ...(keep ?? [])],
    resolution: isMoot(attempt.outcome, employee) ? 'obsolete' : 'succeeded',
  }))
  await client.query(
    `with s as (
       select * from jsonb_to_recordset($1) as s (operation text, "enterpriseCode" text, "entityKey" text, detail text, "runId" bigint, kept jsonb,
         resolution text)
     ), resolved as (
       update dirsync.dead_letter d
       set state = 'resolved', resolution = s.resolution, resolved_by = 'dirsync', resolved_at = now(), next_retry_at = null,
           version = d.version + 1
       from s
       where d.enterprise_code = s."enterpriseCode" and d.entity_key = s."entityKey" and d.operation = s.operation
         and d.state <> 'resolved' and not s.kept ? d.field
         and (s.operation not in ('bind-openid', 'mirror-orders', 'mirror-taxpayers') or d.field = s.detail)
       returning d.id, s."runId", s.resolution
     )
     insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note) select id, 'resolved', "runId", resolution from resolved`,
    [JSON.stringify(rows)],
  )
}

/** Nothing went through: what the other cases were about does not matter any more. */
function isMoot(outcome: Settlement['attempt']['outcome'], employee: Settlement['employee']): boolean {
  return (
    ['obsolete', 'left', 'awaiting_activation'].includes(outcome) ||
    (outcome === 'parked' && employee?.active === false)
  )
}

/** Opens a case, or counts up the one there is. */
export async function recordFailure(
  client: ClientBase,
  settlement: Pick<Settlement, 'runId'> & {
    key: Pick<Settled['key'], 'operation' | 'enterpriseCode' | 'entityKey'>
    attempt: Pick<Settlement['attempt'], 'startedAt'>
  },
  failure: Failure,
): Promise<void> {
  const { key, runId } = settlement
  await client.query(
    `select dirsync.record_failure($1 || jsonb_build_object('next_retry_at', now() + $2 * interval '1 millisecond'))`,
    [
      JSON.stringify({
        enterprise_code: key.enterpriseCode,
        entity: failure.entity,
        entity_key: key.entityKey,
        operation: key.operation,
        field: failure.field,
        category: failure.category,
        platform_code: failure.platformCode,
        trace_id: failure.traceId,
        message: failure.message,
        remedy: failure.remedy,
        changed_fields: failure.changedFields,
        blocked_by: failure.blockedBy,
        source_hash: failure.sourceHash,
        state: failure.state,
        last_run_id: runId,
      }),
      failure.nextRetryMs,
    ],
  )
  if (failure.blockedBy === null) return
  // The holder may have changed between the platform's refusal and this row, or be about to.
  await client.query(
    `update dirsync.dead_letter d
     set state = case when changed then 'retry_scheduled' else 'blocked' end,
         next_retry_at = case when changed then now() else d.next_retry_at end
     from (select exists (select from dirsync.attempt a
                          where a.enterprise_code = $1 and a.entity_key = $4 and a.operation = 'update-employee'
                            and a.outcome in ('in_step', 'updated', 'partly_updated')
                            and a.started_at + a.duration_ms * interval '1 millisecond' > $5) as changed,
                  exists (select from dirsync.pending p
                          where p.operation = 'update-employee' and p.enterprise_code = $1 and p.entity_key = $4) as waits) holder
     where d.enterprise_code = $1 and d.entity_key = $2 and d.operation = 'update-employee' and d.field = $3 and d.state = 'open'
       and (holder.changed or holder.waits)`,
    [key.enterpriseCode, key.entityKey, failure.field, failure.blockedBy, settlement.attempt.startedAt],
  )
}

/** Cases that were to be tried again and were not, because the job ended before it came to them, wait for their next turn. */
export async function restCases(client: ClientBase, settlements: Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  await client.query(
    `update dirsync.dead_letter d
     set state = 'open', next_retry_at = now() + interval '7 days', version = d.version + 1
     from jsonb_to_recordset($1) as s (operation text, "enterpriseCode" text, "entityKey" text, detail text)
     where d.enterprise_code = s."enterpriseCode" and d.entity_key = s."entityKey" and d.operation = s.operation and d.state = 'retrying'
       and (s.operation <> 'bind-openid' or d.field = s.detail)`,
    [JSON.stringify(settlements.map(({ key }) => key))],
  )
}

/** Cases that waited for an employee who has now changed are due at once. */
export async function releaseDependents(client: ClientBase, settlements: Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  await client.query(
    `update dirsync.dead_letter d set state = 'retry_scheduled', next_retry_at = now(), version = d.version + 1
     from jsonb_to_recordset($1) as s ("enterpriseCode" text, "entityKey" text)
     where d.enterprise_code = s."enterpriseCode" and d.blocked_by = s."entityKey" and d.state in ('open', 'blocked')`,
    [JSON.stringify(settlements.map(({ key }) => key))],
  )
}
