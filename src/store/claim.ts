import type { Pool } from 'pg'
import type { EmployeeField } from '../core/employee.ts'
import type { JobKey, JobName } from '../core/job.ts'

/** An open case of the entity and operation, as far as it matters for the next attempt. */
export interface OpenCase {
  field: string
  category: string
  sourceHash: string | null
  state: string
  occurrences: number
}

/** What a worker knows when it begins a job: the outbox row and the memory of the entity. */
export interface Claim {
  /** The database's time: all processes agree on it, whatever their own clocks say. */
  startedAt: Date
  version: number
  /** Fencing token: an outcome counts only while no later execution has begun. Never used twice. */
  execution: number
  /** Executions begun without an outcome, this one included. */
  starts: number
  attempts: number
  runId: number | null
  priority: number
  /** A halt was raised after this job had been enqueued: give it back. */
  halted: boolean
  /** A halt is in force, which a call that comes through disproves. */
  underHalt: boolean
  /** Hash of the HR row as last planned. */
  sourceHash: string | null
  acknowledgedHash: string | null
  acknowledged: Partial<Record<EmployeeField, string>>
  cases: OpenCase[]
  /** Fields not to be sent for the enterprise. */
  blockedFields: string[]
}

export type ClaimKey = JobKey & { operation: JobName }

/**
 * Begins jobs: one statement for all that are wanted at the same moment.
 * @returns one claim per key; null where the outbox has no row (any more) or none that is due: nothing to do.
 */
export async function claim(db: Pool, keys: ClaimKey[]): Promise<(Claim | null)[]> {
  const { rows } = await db.query<Claim & { position: number }>({
    name: 'claim',
    text: `with wanted as (
             select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])
               with ordinality as w (operation, enterprise_code, entity_key, detail, position)
             -- Always true; expecting the same few rows whatever the arrays hold, PostgreSQL plans this once per connection.
             where position between 1 and 1000000
           ), begun as (
             update dirsync.pending p set starts = p.starts + 1, execution = nextval('dirsync.execution') from wanted w
             where p.operation = w.operation and p.enterprise_code = w.enterprise_code
               and p.entity_key = w.entity_key and p.detail = w.detail
               -- Of two jobs for a row the second must not cut short the delay that the first one asked for.
               and p.not_before <= now()
             returning w.position, p.*
           )
           select now() as "startedAt", b.position::int, b.version, b.execution, b.starts, b.attempts, b.run_id as "runId", b.priority,
                  exists (select from dirsync.halt h where h.scope in ('*', b.enterprise_code)
                            and (b.enqueued_at is null or b.enqueued_at < h.since)) as halted,
                  exists (select from dirsync.halt h where h.scope in ('*', b.enterprise_code)) as "underHalt",
                  e.source_hash as "sourceHash", e.acknowledged_hash as "acknowledgedHash", coalesce(e.acknowledged, '{}') as acknowledged,
                  coalesce((select jsonb_agg(jsonb_build_object('field', d.field, 'category', d.category, 'sourceHash', d.source_hash, 'state', d.state,
                                                                'occurrences', d.occurrences))
                            from dirsync.dead_letter d
                            where d.enterprise_code = b.enterprise_code and d.entity_key = b.entity_key
                              and d.operation = b.operation and d.state <> 'resolved'), '[]') as cases,
                  array(select f.field from dirsync.field_block f where f.enterprise_code = b.enterprise_code) as "blockedFields"
           from begun b
           left join dirsync.employee e on e.enterprise_code = b.enterprise_code and e.userid = b.entity_key`,
    values: [
      keys.map(key => key.operation),
      keys.map(key => key.enterpriseCode),
      keys.map(key => key.entityKey),
      keys.map(key => key.detail),
    ],
  })
  const claims = new Map(rows.map(row => [row.position, row]))
  return keys.map((_, i) => claims.get(i + 1) ?? null)
}
