import { fieldHash } from '../../directory/hash.ts'
import { type ClientBase, onlyRow, type Pool } from '../../lib/database.ts'
import { message, type Said, toStore } from '../../texts/message.ts'
import { slowProbeDelay } from '../outbox/backoff.ts'
import { type ClaimKey, namesCase, type OpenCase } from '../outbox/claim.ts'
import type { Failure, FinishedSettlement, Settlement } from '../outbox/outcome.ts'
import type { MirrorOperation } from '../runs/mirror-kind.ts'

/**
 * The states of a case for review (`dirsync.dead_letter`), and all statements that change them. Other modules decide which
 * cases are concerned; the few SQL functions that change a state are those that people call, and `record_failure`.
 */
export const CASE_STATES = [
  'open',
  'retry_scheduled',
  'awaiting_activation',
  'blocked',
  'retrying',
  'snoozed',
  'ignored',
  'resolved',
] as const
export type CaseState = (typeof CASE_STATES)[number]

/** The states of a case that still needs a solution. */
export const openStates: ReadonlySet<CaseState> = new Set(
  CASE_STATES.filter(state => state !== 'resolved' && state !== 'ignored'),
)

/** SQL: that case `d` still needs a solution. Written like the partial indexes. */
export const UNRESOLVED = `d.state not in ('resolved', 'ignored')`

/**
 * States of a case that need a person; in the others dirsync goes on by itself. A blocked one ends by itself if its holder gives up
 * the value, and stays if the holder's work ends without that.
 */
export const FOR_A_PERSON: readonly CaseState[] = ['open', 'blocked']

/** States of a case that is retried as soon as the holder of its value has changed. */
export const ENDED_BY_HOLDER: readonly CaseState[] = ['open', 'blocked']

/** Stands for the user id in the case about rows of HR that have none. */
export const NO_USER_ID = '(no user id)'

/** SQL: that a state is one of these. */
export const isOneOf = (states: readonly CaseState[]) => `in ('${states.join("', '")}')`

/** The states after a failure, by its category. */
const FAILED = ['open', 'retry_scheduled', 'awaiting_activation'] as const satisfies CaseState[]
const WAITING = [...FAILED, 'blocked'] as const satisfies CaseState[]

interface CaseTransition {
  event: string
  by: 'dirsync' | 'a person'
  /** `new`: there was no case. */
  from: readonly (CaseState | 'new')[]
  to: readonly CaseState[]
}

/** Every transition between states. The diagram in ARCHITECTURE.md is made from this, and a test holds the SQL to it. */
export const CASE_TRANSITIONS: readonly CaseTransition[] = [
  { event: 'fails', by: 'dirsync', from: ['new', ...WAITING, 'retrying'], to: FAILED },
  { event: 'fails after its time', by: 'dirsync', from: ['snoozed'], to: FAILED },
  { event: 'fails with another HR row or reason', by: 'dirsync', from: ['ignored'], to: FAILED },
  { event: 'its holder has work', by: 'dirsync', from: ['open'], to: ['blocked'] },
  { event: 'its holder has changed', by: 'dirsync', from: ['open'], to: ['retrying'] },
  { event: 'is part of a swap', by: 'dirsync', from: ['blocked'], to: ['open'] },
  { event: 'more is withheld', by: 'dirsync', from: ['ignored'], to: ['open'] },
  { event: 'is due', by: 'dirsync', from: [...WAITING, 'snoozed'], to: ['retrying'] },
  { event: 'is not reached', by: 'dirsync', from: ['retrying'], to: FAILED },
  {
    event: 'succeeds, or is obsolete',
    by: 'dirsync',
    from: [...WAITING, 'retrying', 'snoozed', 'ignored'],
    to: ['resolved'],
  },
  { event: 'retry', by: 'a person', from: [...WAITING, 'snoozed', 'ignored'], to: ['retrying'] },
  { event: 'cancel the run', by: 'a person', from: ['retrying'], to: FAILED },
  { event: 'snooze', by: 'a person', from: [...WAITING, 'retrying'], to: ['snoozed'] },
  { event: 'ignore', by: 'a person', from: [...WAITING, 'retrying', 'snoozed'], to: ['ignored'] },
  { event: 'wake', by: 'a person', from: ['snoozed'], to: WAITING },
  { event: 'undo', by: 'a person', from: ['snoozed'], to: [...WAITING, 'retrying'] },
  { event: 'undo', by: 'a person', from: ['ignored'], to: [...WAITING, 'retrying', 'snoozed'] },
  {
    event: 'switch the account',
    by: 'a person',
    from: [...WAITING, 'retrying', 'snoozed', 'ignored'],
    to: ['resolved'],
  },
]

/** A case that an outcome has opened, counted up, resolved or released, and the run of that outcome. */
export interface TouchedCase {
  id: number
  runId: number | null
}

/** A case that has just failed. */
export interface RecordedCase extends TouchedCase {
  /** Another employee holds the value that it wants … */
  waits: boolean
  /** … and has changed since the refusal. */
  isDue: boolean
}

/** Opens a case, or counts up the existing one. */
export async function recordFailure(
  client: ClientBase,
  { key, runId, startedAt }: Pick<Settlement, 'runId' | 'startedAt'> & { key: CaseKey },
  failure: Failure,
): Promise<RecordedCase> {
  const id = await recordCase(client, {
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
    nextRetryMs: failure.nextRetryMs,
  })
  if (failure.blockedBy === null) {
    const isDue = await isGivenUp(client, { id, key, startedAt }, failure)
    return { id, runId, waits: false, isDue }
  }
  // The holder may have changed between the platform's refusal and this row, or be about to. An outcome of the future is of a
  // clock that was put back since: it would count again and again.
  const { rows } = await client.query<{ changed: boolean }>(
    `update dirsync.dead_letter d
     set state = case when changed then 'retrying' else 'blocked' end
     from (select exists (select from dirsync.attempt a
                          where a.enterprise_code = $1 and a.entity_key = $4
                            and a.operation = 'update-employee'
                            and a.outcome in ('in_sync', 'updated', 'partly_updated', 'left',
                                              'awaiting_activation', 'obsolete')
                            and a.started_at + a.duration_ms * interval '1 millisecond' > $3
                            and a.started_at <= now()) as changed,
                  exists (select from dirsync.pending p
                          where p.operation = 'update-employee' and p.enterprise_code = $1
                            and p.entity_key = $4) as has_work) holder
     where d.id = $2 and d.state = 'open' and (holder.changed or holder.has_work)
     returning changed`,
    [key.enterpriseCode, id, startedAt, failure.blockedBy],
  )
  return { id, runId, waits: true, isDue: rows[0]?.changed === true }
}

/** Whether another employee has given up the work number of an open case since this execution began. */
async function isGivenUp(
  client: ClientBase,
  { id, key, startedAt }: { id: number; key: CaseKey; startedAt: Date },
  { category, changedFields }: Failure,
): Promise<boolean> {
  const number = changedFields.find(({ field }) => field === 'corp_code')?.value
  if (category !== 'duplicate_work_number' || !number) return false
  // The platform may write it otherwise.
  const spellings = [number, number.toUpperCase(), number.toLowerCase()]
  const { rows } = await client.query<{ given: boolean }>(
    `select exists (
       select from dirsync.employee e
       where e.enterprise_code = $2 and e.userid <> $3 and e.overwritten ->> 'corp_code' = any ($4)
         and e.acknowledged_at > $5 and e.acknowledged_at <= now())
       and exists (select from dirsync.dead_letter d where d.id = $1 and d.state = 'open') as given`,
    [
      ...[id, key.enterpriseCode, key.entityKey],
      spellings.map(spelling => fieldHash('corp_code', spelling)),
      startedAt,
    ],
  )
  return onlyRow(rows).given
}

type CaseKey = Pick<ClaimKey, 'enterpriseCode' | 'entityKey'> & { operation: string }

/** @param failure columns of the case, messages among them, and when dirsync retries by itself; returns the number of the case */
export async function recordCase(
  client: ClientBase,
  { nextRetryMs, ...columns }: { nextRetryMs: number; [column: string]: unknown },
): Promise<number> {
  const { rows } = await client.query<{ id: number }>(
    `select dirsync.record_failure(
       $1 || jsonb_build_object('next_retry_at', now() + $2 * interval '1 millisecond')) as id`,
    [JSON.stringify(columns), nextRetryMs],
  )
  return onlyRow(rows).id
}

/** Resolves the cases that outcomes have settled, including those that a person had ignored: their reason is gone. */
export async function resolveCases(
  client: ClientBase,
  settlements: (Pick<FinishedSettlement, 'runId' | 'failures' | 'resolve' | 'stored' | 'outcome'> & {
    key: CaseKey & { detail: string }
  })[],
): Promise<TouchedCase[]> {
  const resolving = settlements.flatMap(settlement => {
    const { key, runId, failures, resolve } = settlement
    if (resolve === 'none') return []
    const kept = [...failures.map(({ field }) => field), ...(resolve === 'all' ? [] : resolve.except)]
    const moot = resolve === 'all' ? [] : (resolve.moot ?? [])
    return [{ ...key, runId, kept, moot, resolution: isMoot(settlement) ? 'obsolete' : 'succeeded' }]
  })
  if (resolving.length === 0) return []
  const { rows } = await client.query<TouchedCase & { resolution: Resolution }>(
    `select d.id, s."runId", case when s.moot ? d.field then 'obsolete' else s.resolution end as resolution
     from jsonb_to_recordset($1)
       as s (operation text, "enterpriseCode" text, "entityKey" text, detail text, "runId" bigint, kept jsonb,
             moot jsonb, resolution text)
     join dirsync.dead_letter d
       on d.enterprise_code = s."enterpriseCode" and d.entity_key = s."entityKey"
       and d.operation = s.operation
     where d.entity <> 'enterprise' and d.state <> 'resolved' and not s.kept ? d.field
       -- Here the field names the job, or the part of a mirror.
       and (s.operation not in ('bind-openid', 'mirror-orders', 'mirror-taxpayers') or d.field = s.detail)`,
    [JSON.stringify(resolving)],
  )
  return endCases(client, rows)
}

/** Whether the outcome makes the other cases moot: there is nothing left to bring to the platform. */
function isMoot({ outcome, stored }: Pick<FinishedSettlement, 'outcome' | 'stored'>): boolean {
  return (
    ['obsolete', 'left', 'awaiting_activation'].includes(outcome) ||
    (outcome === 'parked' && stored?.of === 'employee' && !stored.memory.active)
  )
}

type Resolution = 'succeeded' | 'obsolete' | 'merged'

/** Ends cases whose reason is gone. Returns those that were not resolved already. */
export async function endCases(
  client: ClientBase,
  ending: (TouchedCase & { resolution: Resolution; said?: Said })[],
): Promise<TouchedCase[]> {
  if (ending.length === 0) return []
  const { rows } = await client.query<TouchedCase>(
    `with ended as (
       update dirsync.dead_letter d
       set state = 'resolved', resolution = e.resolution, resolved_by = 'dirsync', resolved_at = now(),
           next_retry_at = null, version = d.version + 1
       from jsonb_to_recordset($1) as e (id bigint, "runId" bigint, resolution text, said jsonb)
       where d.id = e.id and d.state <> 'resolved'
       returning d.id, e."runId", e.resolution, e.said
     )
     insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note, said)
     select id, 'resolved', "runId", case when said is null then resolution end, said from ended
     returning dead_letter_id as id, run_id as "runId"`,
    [JSON.stringify(ending)],
  )
  return rows
}

/** Ends the unresolved cases that meet a condition on `d`. Returns them. */
export async function endCasesWhere(
  client: ClientBase,
  condition: string,
  values: unknown[],
  ending: { runId: number | null; resolution: Resolution },
): Promise<TouchedCase[]> {
  const { rows } = await client.query<{ id: number }>(
    `select d.id from dirsync.dead_letter d where d.state <> 'resolved' and (${condition}) order by d.id`,
    values,
  )
  return endCases(
    client,
    rows.map(({ id }) => ({ id, ...ending })),
  )
}

/** Ends every case, on behalf of the person who has asked for it. */
export async function endAllCases(client: ClientBase, reason: Said): Promise<void> {
  await client.query(
    `with ended as (
       update dirsync.dead_letter
       set state = 'resolved', resolution = 'obsolete',
           resolved_by = dirsync.actor(), resolved_at = now(),
           next_retry_at = null, snooze_until = null, version = version + 1
       where state <> 'resolved'
       returning id
     )
     insert into dirsync.dead_letter_event (dead_letter_id, actor, event, said)
     select id, dirsync.actor(), 'resolved', $1 from ended`,
    [toStore(reason)],
  )
}

/** Marks unresolved cases as being retried. Returns them. */
export async function markRetrying(
  client: ClientBase,
  ids: number[],
  runId: number | null,
): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>(
    `with retried as (
       update dirsync.dead_letter
       set state = 'retrying', next_retry_at = null, snooze_until = null, note = null, version = version + 1
       where id = any ($1) and state <> 'resolved'
       returning id
     )
     insert into dirsync.dead_letter_event (dead_letter_id, actor, event, run_id)
     select t.id, coalesce(
              -- The person who named the case; several people may have joined the run.
              (select c.requested_by from dirsync.command c
               where c.run_id = $2 and c.name = 'retry' and ${namesCase('c', 't')}
               order by c.id desc limit 1),
              -- Or who asked for the run, of what it is planned for. What it makes possible later, dirsync retries by itself.
              (select r.requested_by from dirsync.sync_run r
               where r.id = $2 and r.kind in ('retry', 'employees') and r.state = 'planning'
                 and r.requested_by <> 'cron'),
              'dirsync'), 'retried', $2
     from retried t
     returning dead_letter_id as id`,
    [ids, runId],
  )
  return rows.map(({ id }) => id)
}

/** Cases to be retried whose job ended before it reached them wait for their next turn. */
export async function restCases(
  client: ClientBase,
  settlements: Pick<FinishedSettlement, 'key' | 'resolve'>[],
): Promise<void> {
  const resting = settlements
    .filter(({ resolve }) => typeof resolve === 'object')
    .map(({ key }) => ({ ...key, restMs: slowProbeDelay(Math.random()) }))
  if (resting.length === 0) return
  await client.query(
    `update dirsync.dead_letter d
     set (state, next_retry_at) =
           (select t.state, case t.state when 'open' then now() + s."restMs" * interval '1 millisecond' else t.at end
            from dirsync.next_turn(d) t),
         version = d.version + 1
     from jsonb_to_recordset($1)
       as s (operation text, "enterpriseCode" text, "entityKey" text, detail text, "restMs" float8)
     where d.enterprise_code = s."enterpriseCode" and d.entity_key = s."entityKey"
       and d.operation = s.operation and d.state = 'retrying' and d.entity <> 'enterprise'
       and (s.operation <> 'bind-openid' or d.field = s.detail)`,
    [JSON.stringify(resting)],
  )
}

/**
 * The same for cases of enterprises, whose probe ended before it tried the field; and for those of mirrors that a run cannot read:
 * the next run that can reads them.
 */
export async function restProbed(
  client: ClientBase,
  ids: number[],
  restMs: number,
  state: 'open' | 'retry_scheduled' = 'open',
): Promise<void> {
  await client.query(
    `update dirsync.dead_letter
     set state = $3, next_retry_at = now() + $2 * interval '1 millisecond', version = version + 1
     where id = any ($1) and state = 'retrying'`,
    [ids, restMs, state],
  )
}

/** The same for all cases whose work is gone: it was cancelled, or a mirror has read everything else. Returns how many. */
export async function endLostRetries(db: ClientBase | Pool): Promise<number> {
  const { rows } = await db.query<{ ended: number }>('select dirsync.end_lost_retries()::int as ended')
  return onlyRow(rows).ended
}

/** Cases that waited for their holder now wait for a person, since only a person can resolve a swap. */
export async function openBlocked(client: ClientBase, ids: number[]): Promise<void> {
  await client.query(
    `update dirsync.dead_letter set state = 'open' where id = any ($1) and state = 'blocked'`,
    [ids],
  )
}

/** A case that a person ignored has grown, so that it needs a new decision. */
export async function reopenIgnored(
  client: ClientBase,
  { id, runId }: TouchedCase,
  delayMs: number,
): Promise<void> {
  await client.query(
    `with reopened as (
       update dirsync.dead_letter
       set state = 'open', next_retry_at = now() + $2 * interval '1 millisecond', note = null, version = version + 1
       where id = $1 and state = 'ignored'
       returning id
     )
     insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, said)
     select id, 'reopened', $3, $4 from reopened`,
    [id, delayMs, runId, toStore(message('said.more_withheld'))],
  )
}

/** The fields of the unresolved cases of an entity and operation. */
export async function openFields(db: Pool, key: CaseKey): Promise<string[]> {
  const { rows } = await db.query<{ field: string }>(
    `select field from dirsync.dead_letter
     where enterprise_code = $1 and entity_key = $2 and operation = $3 and state <> 'resolved'`,
    [key.enterpriseCode, key.entityKey, key.operation],
  )
  return rows.map(row => row.field)
}

/** The unresolved cases of a mirror; `field` is the part that could not be read. */
export async function mirrorCases(
  db: ClientBase | Pool,
  operation: MirrorOperation,
): Promise<(OpenCase & { id: number; enterpriseCode: string })[]> {
  const { rows } = await db.query<OpenCase & { id: number; enterpriseCode: string }>(
    `select id, enterprise_code as "enterpriseCode", field, category, source_hash as "sourceHash", state,
            occurrences
     from dirsync.dead_letter
     -- Not a parameter: an index has the cases of mirrors alone.
     where operation = '${operation}' and entity = 'mirror' and state <> 'resolved' order by id`,
  )
  return rows
}
