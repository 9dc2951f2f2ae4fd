import type { FieldBlock } from '../directory/difference.ts'
import type { EmployeeField } from '../directory/employee.ts'
import type { Pool } from '../lib/database.ts'
import { WORK_MS } from '../lib/database.ts'
import type { JobKey, JobOperation } from '../queue/job.ts'

/** Names a job: one operation on one entity. */
export interface ClaimKey extends JobKey {
  operation: JobOperation
}

/** An unresolved case of the entity and operation, as far as it matters for the next attempt. */
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
  /** An earlier execution may have changed the platform without telling: it died, or its answer was lost. */
  sentUnknown: boolean
  attempts: number
  runId: number | null
  /** Milliseconds since it was fed to the queue; null where the outbox believes that it is not there. */
  fedMsAgo: number | null
  priority: number
  /** A halt was raised after this job had been enqueued: give it back. */
  halted: boolean
  /** A halt is in force, which a call that comes through disproves. */
  underHalt: boolean
  /** Hash of the HR row as the last plan that passed saw it; null where it saw none. */
  sourceHash: string | null
  /** A person named the entity: it is sent as HR has it now, whatever a plan saw. */
  named: boolean
  /**
   * Fingerprint of the mapping that the latest plan that passed was made with, as `mappingFor` reads it; null when none was.
   * Of several sources: the latest of the entity's own.
   */
  mapping: string | null
  acknowledgedHash: string | null
  acknowledged: Partial<Record<EmployeeField, string>>
  /** Per field that was sent, the hash of what the platform showed before. */
  overwritten: Partial<Record<EmployeeField, string>>
  cases: OpenCase[]
  /** Fields that are withheld from the enterprise's employees. */
  blocks: FieldBlock[]
}

/**
 * Begins jobs, with one statement for all that are wanted at the same moment.
 * @param sourcesAreNamed whether HR has sources with mappings of their own
 * @returns one claim per key; null where the outbox has no row, or none that is due: there is nothing to do
 */
export async function claim(db: Pool, keys: ClaimKey[], sourcesAreNamed = false): Promise<(Claim | null)[]> {
  const statement = {
    name: sourcesAreNamed ? 'claim by source' : 'claim',
    text: sourcesAreNamed ? CLAIM_BY_SOURCE : CLAIM,
    values: [
      keys.map(key => key.operation),
      keys.map(key => key.enterpriseCode),
      keys.map(key => key.entityKey),
      keys.map(key => key.detail),
    ],
    query_timeout: WORK_MS,
  }
  const { rows } = await db.query<Claim & { position: number }>(statement)
  const claims = new Map(rows.map(row => [row.position, row]))
  return keys.map((_, i) => claims.get(i + 1) ?? null)
}

/** SQL: the blocks of an enterprise as one of its employees sees them. The parameters are expressions for both. */
export function blocksOf(enterpriseCode: string, userid: string): string {
  return `coalesce((
    select jsonb_agg(jsonb_build_object(
             'field', f.field, 'codes', f.codes,
             'probing', f.probing and f.probe_userid is not distinct from ${userid},
             'refusedHash', r.value_hash))
    from dirsync.field_block f
    left join dirsync.field_refusal r
      on r.enterprise_code = f.enterprise_code and r.field = f.field and r.userid = ${userid}
    where f.enterprise_code = ${enterpriseCode}), '[]')`
}

const LATEST_MAPPING = `(select r.mapping from dirsync.sync_run r
        where r.mapping is not null and r.state in ('running', 'done')
        order by r.planned_at desc limit 1)`

/** Of each source the mapping of its latest plan, or of the latest one of named employees or cases, whichever came last. */
const MAPPINGS = `mappings as materialized (
  select s.enterprise_codes,
         (select r.mapping
          from ((select mapping, planned_at from dirsync.sync_run
                 where hr_source = s.name and mapping is not null and state in ('running', 'done')
                 order by planned_at desc limit 1)
                union all
                (select mapping, planned_at from dirsync.sync_run
                 where hr_source = '' and mapping is not null and state in ('running', 'done')
                   and position(' ' || s.name || '=' in ' ' || mapping) > 0
                 order by planned_at desc limit 1)) r
          order by r.planned_at desc limit 1) as mapping
  from dirsync.hr_source s
), `

const claimWith = (ctes: string, mapping: string) => `
with ${ctes}wanted as (
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])
    with ordinality as w (operation, enterprise_code, entity_key, detail, position)
  -- Always true. PostgreSQL then expects the same few rows whatever the arrays hold, and plans this once
  -- per connection.
  where position between 1 and 1000000
), held as materialized (
  select w.* from wanted w
  join dirsync.pending p on p.operation = w.operation and p.enterprise_code = w.enterprise_code
                        and p.entity_key = w.entity_key and p.detail = w.detail
  -- Of two jobs for a row, the second must not cut short the delay that the first one asked for.
  where p.not_before <= now()
  -- The order in which everybody locks several rows.
  order by p.operation, p.enterprise_code, p.entity_key, p.detail
  for update of p
), begun as (
  update dirsync.pending p
  set starts = p.starts + 1, execution = nextval('dirsync.execution'),
      sent_unknown = p.sent_unknown or p.starts > 0
  from held h
  where p.operation = h.operation and p.enterprise_code = h.enterprise_code
    and p.entity_key = h.entity_key and p.detail = h.detail
  returning h.position, p.*
)
select now() as "startedAt", b.position::int, b.version, b.execution, b.starts,
       b.sent_unknown as "sentUnknown", b.attempts, b.run_id as "runId", b.priority, b.named,
       (extract(epoch from now() - b.enqueued_at) * 1000)::float8 as "fedMsAgo",
       exists (select from dirsync.halt h where h.scope in ('*', b.enterprise_code)
                 and (b.enqueued_at is null or b.enqueued_at < h.since)) as halted,
       exists (select from dirsync.halt h where h.scope in ('*', b.enterprise_code)) as "underHalt",
       ${mapping} as mapping,
       e.source_hash as "sourceHash", e.acknowledged_hash as "acknowledgedHash",
       coalesce(e.acknowledged, '{}') as acknowledged, coalesce(e.overwritten, '{}') as overwritten,
       coalesce((select jsonb_agg(jsonb_build_object(
                          'field', d.field, 'category', d.category, 'sourceHash', d.source_hash,
                          'state', d.state, 'occurrences', d.occurrences))
                 from dirsync.dead_letter d
                 where d.enterprise_code = b.enterprise_code and d.entity_key = b.entity_key
                   and d.operation = b.operation and d.entity <> 'enterprise'
                   and d.state <> 'resolved'), '[]') as cases,
       ${blocksOf('b.enterprise_code', 'b.entity_key')} as blocks
from begun b
left join dirsync.employee e on e.enterprise_code = b.enterprise_code and e.userid = b.entity_key`

const CLAIM = claimWith('', LATEST_MAPPING)
const CLAIM_BY_SOURCE = claimWith(
  MAPPINGS,
  '(select m.mapping from mappings m where b.enterprise_code = any (m.enterprise_codes))',
)
