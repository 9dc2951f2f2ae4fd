import type { FieldBlock } from '../../directory/difference.ts'
import type { EmployeeField } from '../../directory/employee.ts'
import type { Owners } from '../../hr/sources.ts'
import { type Pool, WORK_MS } from '../../lib/database.ts'
import type { JobKey, JobOperation } from '../../queue/job.ts'
import { holdsBack, isInForceFor } from './halts.ts'

/** The key of a job: one operation on one entity. */
export interface ClaimKey extends JobKey {
  operation: JobOperation
}

/** The columns of an entity's unresolved case that matter for the next attempt. */
export interface OpenCase {
  field: string
  category: string
  sourceHash: string | null
  state: string
  occurrences: number
  /** The masked value that its field had; null: the case has none. */
  wanted: string | null
  /** Of a case of another person: somebody has named this very case to be retried. */
  isReleased: boolean
}

/** A worker's data at the start of a job: the outbox row and the stored state of the entity. */
export interface Claim {
  /** The database's time, which all processes agree on whatever their own clocks say. */
  startedAt: Date
  version: number
  /** Fencing token: an outcome counts only while no later execution has begun. Never reused. */
  execution: number
  /** Executions begun without an outcome, this one included. */
  starts: number
  /** An earlier execution may have changed the platform without an outcome: it died, or its answer was lost. */
  sentUnknown: boolean
  attempts: number
  runId: number | null
  /** Milliseconds since it was fed to the queue; null if the outbox does not count it as queued. */
  fedMsAgo: number | null
  /** Milliseconds since a run of changes, or a person, requested it; null: no such run is known to have. */
  changeMsAgo: number | null
  priority: number
  /** A halt was raised after this job had been enqueued: give it back. */
  halted: boolean
  /** A halt is in force, which a successful call disproves. */
  underHalt: boolean
  /** Of an open id: the platform has another person under the user id. */
  isAnothers: boolean
  /** Hash of the HR row in the last plan that passed; null without one. */
  sourceHash: string | null
  /** Whether the employee is in service, by HR's last word; true for an employee whom no plan has seen yet. */
  active: boolean
  /** A person named the entity: HR's current row is sent, whatever a plan saw. */
  named: boolean
  /**
   * Fingerprint of the latest passed plan's mapping, as `mappingFor` reads it; null without one. With several sources: the
   * latest of the entity's own.
   */
  mapping: string | null
  /** Another HR row, or its absence, waits for a decision, or was rejected … */
  isHeld: boolean
  /** … with this hash; null where HR has none. */
  heldHash: string | null
  /** It was rejected, and where the employee is on the platform is not known. */
  isLost: boolean
  /** Whether the platform has yet to tell where the employee is. */
  isUnlocated: boolean
  /** The platform had the employee when it was last asked. */
  isInService: boolean
  /** HR said that its person left, or it proved another person's, and no comparison has shown since that it is the employee's. */
  hadLeft: boolean
  /** The mark of the account that was compared last; null: of none. */
  account: number | null
  acknowledgedHash: string | null
  /**
   * What is stored besides, if that says: in service, active, in this department, nothing held back, no move under way, and
   * confirmed not long ago.
   */
  atRest: { deptCode: string | null } | null
  acknowledged: Partial<Record<EmployeeField, string>>
  /** Per sent field, the hash of the platform's value before. */
  overwritten: Partial<Record<EmployeeField, string>>
  cases: OpenCase[]
  /** Fields that are withheld from the enterprise's employees. */
  blocks: FieldBlock[]
}

/**
 * Begins jobs, with one statement for all that are requested at the same time. Where it had to wait for a row that another
 * transaction was changing, a second one reads what that has written besides.
 * @param keys of entities whose locks the caller has. A row that is in hand all the same is given back for a moment
 * @param owners the sources of HR as this process knows them. A row whose enterprise has another source by now is given back:
 * only a process started since can read its HR row
 * @returns one claim per key; null where the outbox has no row, or none that is due and this process's: there is nothing to do
 */
export async function claim(db: Pool, keys: ClaimKey[], owners: Owners): Promise<(Claim | null)[]> {
  const kind = Object.keys(owners).length > 0 ? 'by source' : 'of one'
  const statement = {
    name: `claim ${kind}`,
    text: CLAIM[kind],
    values: [owners, ...keyColumns(keys)],
    query_timeout: WORK_MS,
  }
  const { rows } = await db.query<Begun>(statement)
  const claims: (Claim | null)[] = keys.map(() => null)
  for (const row of rows) claims[row.position - 1] = row
  const late = rows.filter(row => row.isLate)
  if (late.length === 0) return claims
  const lateKeys = late.map(({ position }) => keys[position - 1] as ClaimKey)
  const again = {
    text: LATE_CLAIM[kind],
    values: [late.map(({ execution }) => execution), ...keyColumns(lateKeys)],
    query_timeout: WORK_MS,
  }
  const { rows: present } = await db.query<Begun>(again)
  for (const [i, { position }] of late.entries())
    claims[position - 1] = present.find(row => row.position === i + 1) ?? null
  return claims
}

interface Begun extends Claim {
  /** In the keys of the statement, from 1. */
  position: number
  /** The row was changed after the statement's snapshot was taken: the other tables were read as they had been before. */
  isLate: boolean
}

/** The parameters that stand for keys, column by column. */
export const keyColumns = (keys: readonly ClaimKey[]) => [
  keys.map(key => key.operation),
  keys.map(key => key.enterpriseCode),
  keys.map(key => key.entityKey),
  keys.map(key => key.detail),
]

/**
 * SQL: the row of a claim that is still the present request: not requested anew since, as by a plan that has seen another HR row;
 * of no cancelled run; not rejected since it was named; and overtaken by no other execution. The parameters are those of `presentRequest`.
 */
export const PRESENT_REQUEST = `
  select from dirsync.pending p
  where p.operation = $1 and p.enterprise_code = $2 and p.entity_key = $3 and p.detail = $4
    and p.version = $5 and p.execution = $6 and p.named = $7
    and not exists (select from dirsync.sync_run r where r.id = p.run_id and r.cancelled_at is not null)`

/** What of a claim tells its request from others. */
export type RequestOfClaim = Pick<Claim, 'version' | 'execution' | 'named'>

export function presentRequest(
  { operation, enterpriseCode, entityKey, detail }: ClaimKey,
  { version, execution, named }: RequestOfClaim,
): unknown[] {
  return [operation, enterpriseCode, entityKey, detail, version, execution, named]
}

/** Whether the request of a claim is still the present one. */
export async function isPresentRequest(db: Pool, key: ClaimKey, claimed: RequestOfClaim): Promise<boolean> {
  const values = presentRequest(key, claimed)
  const statement = { text: PRESENT_REQUEST, values, query_timeout: WORK_MS }
  const { rowCount } = await db.query(statement)
  return rowCount === 1
}

/** Delay of a row that this process cannot claim: by then a worker that can may be free. */
const GIVEN_BACK_MS = 2000

/**
 * What an execution has sent may still be under way when its process has gone. The next one comes as long after it as a first
 * retry comes after a call without an answer.
 */
export const LATE_EFFECT_MS = 1000

/** SQL: command `c` names case `d`, by itself or with others. */
export const namesCase = (c: string, d: string) =>
  `coalesce(${c}.arguments -> 'ids', jsonb_build_array(${c}.arguments -> 'id')) @> to_jsonb(${d}.id)`

/** SQL: the masked value that the field of case `d` had. */
export const wantedIn = (d: string) => `(
  select f ->> 'value' from jsonb_array_elements(${d}.changed_fields) f where f ->> 'field' = ${d}.field limit 1)`

/** SQL: the unresolved cases of an operation on an entity, each an `OpenCase` with its number. The parameters are expressions. */
export function openCasesOf(operation: string, enterpriseCode: string, entityKey: string): string {
  return `coalesce((
    select jsonb_agg(jsonb_build_object(
             'id', d.id, 'field', d.field, 'category', d.category, 'sourceHash', d.source_hash,
             'state', d.state, 'occurrences', d.occurrences,
             'wanted', ${wantedIn('d')},
             'isReleased', case when d.category = 'another_person' and d.state = 'retrying' then exists (
               select from dirsync.command c
               where c.name = 'retry' and ${namesCase('c', 'd')}
                 and c.run_id = (select run_id from dirsync.dead_letter_event e
                                 where e.dead_letter_id = d.id and e.event = 'retried'
                                 order by e.id desc limit 1)) else false end))
    from dirsync.dead_letter d
    where d.enterprise_code = ${enterpriseCode} and d.entity_key = ${entityKey} and d.operation = ${operation}
      and d.entity <> 'enterprise' and d.state <> 'resolved'), '[]')`
}

/** SQL: a case says that the platform has another person under an employee's user id. The parameters are expressions. */
export const isAnothers = (enterpriseCode: string, userid: string) => `exists (
  select from dirsync.dead_letter a
  where a.enterprise_code = ${enterpriseCode} and a.entity_key = ${userid}
    and a.operation = 'update-employee' and a.category = 'another_person' and a.state <> 'resolved')`

/** SQL: an employee `e` of `Claim.hadLeft`. */
export const HAD_LEFT = 'coalesce(e.had_left or e.held_run is not null and e.held_gone, false)'

/** SQL: the blocks of an enterprise as they apply to one of its employees. The parameters are expressions for both. */
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

/** SQL: runs whose plan passed and that read HR with a mapping, in the words of the partial indexes. */
export const HAS_MAPPING = `mapping is not null and state in ('running', 'done')`

/** The latest by number: the database's clock may have been put back since. */
const LATEST_MAPPING = `(select r.mapping from dirsync.sync_run r
        where ${HAS_MAPPING}
        order by r.id desc limit 1)`

/** For each source the mapping of its latest plan, or of the latest one of named employees or cases, whichever is later. */
const MAPPINGS = `mappings as materialized (
  select s.enterprise_codes,
         (select r.mapping
          from ((select mapping, id from dirsync.sync_run
                 where hr_source = s.name and ${HAS_MAPPING}
                 order by id desc limit 1)
                union all
                (select mapping, id from dirsync.sync_run
                 where hr_source = '' and ${HAS_MAPPING}
                   and position(' ' || s.name || '=' in ' ' || mapping) > 0
                 order by id desc limit 1)) r
          order by r.id desc limit 1) as mapping
  from dirsync.hr_source s
), `

/** For how many days attempts are kept, and runs that are only worth as much as their attempts. */
export const ATTEMPTS_KEPT_DAYS = 30

/** Condition on an employee: the platform has not told where they are, nor refused to, or not since the database was restored or HR lost the enterprise. */
export const IS_UNLOCATED = 'queried_at is null'

/** Condition on an employee: that, or an update without an answer may have moved them. */
export const HAS_UNKNOWN_PLACE = `(moving_to is not null or ${IS_UNLOCATED})`

const claimWith = (ctes: string, mapping: string) => `
with ${ctes}wanted as (
  select * from unnest($2::text[], $3::text[], $4::text[], $5::text[])
    with ordinality as w (operation, enterprise_code, entity_key, detail, position)
  -- Always true. PostgreSQL then expects the same few rows whatever the arrays hold, and plans this once per
  -- connection.
  where position between 1 and 1000000
), owners as materialized (
  select $1::jsonb as mine, dirsync.hr_owners() as present
), locked as materialized (
  select w.*, p.ctid as place, (o.mine = '{}') = (o.present = '{}')
           and o.mine ->> w.enterprise_code is not distinct from o.present ->> w.enterprise_code as ours,
         -- Who claims has the entity's lock: the process that had the row in hand is gone.
         p.in_hand as abandoned
  from owners o cross join wanted w
  join dirsync.pending p on p.operation = w.operation and p.enterprise_code = w.enterprise_code
                        and p.entity_key = w.entity_key and p.detail = w.detail
  -- Of two jobs for a row, the second must not cut short the delay that the first one set.
  where p.not_before <= now()
  -- The lock order of every statement that locks several rows.
  order by p.operation, p.enterprise_code, p.entity_key, p.detail
  for update of p
), begun as (
  update dirsync.pending p
  set starts = p.starts + 1, in_hand = true, execution = nextval('dirsync.execution'),
      sent_unknown = p.sent_unknown or p.starts > 0
  from locked l
  where l.ours and not l.abandoned and p.operation = l.operation and p.enterprise_code = l.enterprise_code
    and p.entity_key = l.entity_key and p.detail = l.detail
  returning l.position, l.place, p.*
), given_back as (
  update dirsync.pending p
  set enqueued_at = null, in_hand = false,
      not_before = now() + case when l.ours then interval '${LATE_EFFECT_MS} milliseconds'
                                else interval '${GIVEN_BACK_MS} milliseconds' end
  from locked l
  where (l.abandoned or not l.ours) and p.operation = l.operation and p.enterprise_code = l.enterprise_code
    and p.entity_key = l.entity_key and p.detail = l.detail
)
${reading(mapping)}`

/** The claims of executions $1, which have begun, with the keys in the other parameters. */
const lateClaimWith = (ctes: string, mapping: string) => `
with ${ctes}begun as (
  select w.position, p.ctid as place, p.*
  from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
    with ordinality as w (execution, operation, enterprise_code, entity_key, detail, position)
  join dirsync.pending p using (operation, enterprise_code, entity_key, detail, execution)
)
${reading(mapping)}`

/** What is known of the rows in `begun`. */
const reading = (mapping: string) => `
select now() as "startedAt", b.position::int, b.version, b.execution, b.starts,
       b.place is distinct from (
         select p.ctid from dirsync.pending p
         where p.operation = b.operation and p.enterprise_code = b.enterprise_code and p.entity_key = b.entity_key
           and p.detail = b.detail) as "isLate",
       b.sent_unknown as "sentUnknown", b.attempts, b.run_id as "runId", b.priority, b.named,
       (extract(epoch from now() - b.enqueued_at) * 1000)::float8 as "fedMsAgo",
       -- Not before such a run: a full run may have asked for the employee, whose change had not been found yet.
       (select (extract(epoch from now() - greatest(b.created_at, min(r.started_at))) * 1000)::float8
        from dirsync.sync_run r
        where r.kind in ('changes', 'employees')
          -- Work of a halted enterprise has left its run, and a later run takes over what is asked for again: attempts tell which run
          -- they were of.
          and r.id = any (array_append(
            case when b.run_id is null or b.version > 1
                 then array(select a.run_id from dirsync.attempt a
                            where a.operation = b.operation and a.enterprise_code = b.enterprise_code
                              and a.entity_key = b.entity_key and a.detail = b.detail
                              and a.started_at >= b.created_at)
            end, b.run_id))
        having count(*) > 0) as "changeMsAgo",
       exists (select from dirsync.halt h where ${holdsBack('b')}) as halted,
       exists (select from dirsync.halt h where ${isInForceFor('b.enterprise_code')}) as "underHalt",
       b.operation = 'bind-openid' and ${isAnothers('b.enterprise_code', 'b.entity_key')} as "isAnothers",
       ${mapping} as mapping,
       coalesce(e.active, true) as active,
       e.source_hash as "sourceHash", e.held_run is not null as "isHeld", e.held_hash as "heldHash",
       coalesce(e.rejected and ${HAS_UNKNOWN_PLACE}, false) as "isLost",
       ${IS_UNLOCATED} as "isUnlocated",
       coalesce(e.platform_state = 'in_service', false) as "isInService",
       ${HAD_LEFT} as "hadLeft", e.account,
       e.acknowledged_hash as "acknowledgedHash",
       case when e.platform_state = 'in_service' and e.active and e.parked_hash is null and e.withheld = '{}'
                 and e.moving_to is null and e.had_left is not true
                 -- Longer ago, it is written anew: the attempts that tell of later times will be deleted.
                 and e.acknowledged_at > now() - interval '${ATTEMPTS_KEPT_DAYS / 2} days'
            then json_build_object('deptCode', e.dept_code) end as "atRest",
       coalesce(e.acknowledged, '{}') as acknowledged, coalesce(e.overwritten, '{}') as overwritten,
       ${openCasesOf('b.operation', 'b.enterprise_code', 'b.entity_key')} as cases,
       ${blocksOf('b.enterprise_code', 'b.entity_key')} as blocks
from begun b
left join dirsync.employee e on e.enterprise_code = b.enterprise_code and e.userid = b.entity_key`

const OWN_MAPPING = '(select m.mapping from mappings m where b.enterprise_code = any (m.enterprise_codes))'
const CLAIM = { 'of one': claimWith('', LATEST_MAPPING), 'by source': claimWith(MAPPINGS, OWN_MAPPING) }
const LATE_CLAIM = {
  'of one': lateClaimWith('', LATEST_MAPPING),
  'by source': lateClaimWith(MAPPINGS, OWN_MAPPING),
}
