import { covers, type FieldRefusal, toBlock } from '../../directory/difference.ts'
import type { EmployeeField } from '../../directory/employee.ts'
import { fieldHash } from '../../directory/hash.ts'
import { type ClientBase, MOST_COUNTED } from '../../lib/database.ts'
import { message, toStore } from '../../texts/message.ts'
import { endCases, endCasesWhere, recordCase, reopenIgnored } from '../cases/cases.ts'
import { IS_CASE_OF_BLOCK, isWithheldFrom, tellWithheld, unblock } from '../cases/withheld.ts'
import { healingDelay } from '../outbox/backoff.ts'
import { UNKNOWN_VALUE } from '../outbox/employee.ts'
import type { FinishedSettlement, RefusedField } from '../outbox/outcome.ts'

/**
 * Fields that are switched off for an enterprise. The platform's refusals are collected as hashes; once only the field can
 * explain them, it is withheld from all its employees, and one case of the enterprise stands for all. It is probed with one
 * employee at a time, at growing intervals or when a person retries the case. When an update with the field succeeds, the block
 * goes, and a background run covers the employees it was withheld from.
 */

/** Stands for the enterprise code in the case of a single enterprise, which has none. */
const SINGLE_ENTERPRISE = '(single enterprise)'

/** How many refusals of a run count as evidence, the latest first. */
const EVIDENCE = 500

interface BlockRow {
  codes: string[][] | null
  probing: boolean
  probe_userid: string | null
  probes: number
}

/**
 * Records the platform's refusals, and blocks fields that must be off.
 * @returns the fields whose failure does not become a case of this employee, because the enterprise's stands for it
 */
export async function recordRefusals(client: ClientBase, settlement: FinishedSettlement): Promise<string[]> {
  const standsFor: string[] = []
  if (settlement.stored?.of !== 'employee') return standsFor
  for (const refused of settlement.stored.blockFields)
    if (await recordRefusal(client, settlement, refused)) standsFor.push(refused.field)
  return standsFor
}

async function recordRefusal(
  client: ClientBase,
  settlement: FinishedSettlement,
  refused: RefusedField,
): Promise<boolean> {
  const { key, runId } = settlement
  const { field, codes } = refused
  const isAboutValue = await noteRefusal(client, settlement, refused)
  const { rows } = await client.query<BlockRow>(
    'select * from dirsync.field_block where enterprise_code = $1 and field = $2 for update',
    [key.enterpriseCode, field],
  )
  const block = rows[0]
  if (block && covers(block.codes, codes)) {
    await mergeCases(client, settlement, field)
    if (block.probing && block.probe_userid === key.entityKey) {
      const delayMs = healingDelay(block.probes + 1, Math.random())
      await client.query(
        `update dirsync.field_block
         set probing = false, probes = probes + 1, next_probe_at = now() + $3 * interval '1 millisecond'
         where enterprise_code = $1 and field = $2`,
        [key.enterpriseCode, field, delayMs],
      )
      await countCase(client, settlement, refused, delayMs)
    }
    return true
  }
  if (isAboutValue) return false
  const found =
    refused.isWhole && !(await wasAccepted(client, key.enterpriseCode, field))
      ? { codes: null }
      : toBlock(
          { userid: key.entityKey, ...refused },
          await refusalsOf(client, key.enterpriseCode, field, runId),
        )
  if (!found) return false
  if (!block) await forgetSettled(client, settlement, field)
  await openBlock(client, settlement, refused, found.codes)
  return true
}

/** Returns whether this very value was refused before others got the field through: then it says nothing of the field. */
async function noteRefusal(
  client: ClientBase,
  { key, runId }: FinishedSettlement,
  refused: RefusedField,
): Promise<boolean> {
  const { rows } = await client.query<{ isAboutValue: boolean }>(
    `with before as (
       select run_id is null and value_hash = $4 as is_about_value from dirsync.field_refusal
       where enterprise_code = $1 and field = $2 and userid = $3
     )
     insert into dirsync.field_refusal (enterprise_code, field, userid, value_hash, codes, run_id)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (enterprise_code, field, userid) do update
     set value_hash = excluded.value_hash, codes = excluded.codes, refused_at = now(),
         run_id = case when (select is_about_value from before) then null else excluded.run_id end
     returning coalesce((select is_about_value from before), false) as "isAboutValue"`,
    [key.enterpriseCode, refused.field, key.entityKey, refused.valueHash, refused.codes, runId],
  )
  return rows[0]?.isAboutValue ?? false
}

/** Whether the platform ever accepted or showed a value of the field in the enterprise, as far as many employees tell. */
async function wasAccepted(client: ClientBase, enterpriseCode: string, field: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from (select acknowledged ->> $2 as accepted from dirsync.employee
                  where enterprise_code = $1 limit ${MOST_COUNTED}) e
     where accepted not in ($3, '${UNKNOWN_VALUE}') limit 1`,
    [enterpriseCode, field, fieldHash(field as EmployeeField, null)],
  )
  return rowCount !== 0
}

/** Of the same run: last month's refusals say nothing about today. */
async function refusalsOf(
  client: ClientBase,
  enterpriseCode: string,
  field: string,
  runId: number | null,
): Promise<FieldRefusal[]> {
  const { rows } = await client.query<FieldRefusal>(
    `select userid, value_hash as "valueHash", codes from dirsync.field_refusal
     where enterprise_code = $1 and field = $2 and run_id = $3 order by refused_at desc limit ${EVIDENCE}`,
    [enterpriseCode, field, runId],
  )
  return rows
}

/** Earlier refusals whose case has ended are over: the field is withheld from those employees as from all others. */
async function forgetSettled(
  client: ClientBase,
  { key, runId }: FinishedSettlement,
  field: string,
): Promise<void> {
  await client.query(
    `delete from dirsync.field_refusal r
     where r.enterprise_code = $1 and r.field = $2 and r.run_id is distinct from $3
       and not exists (select from dirsync.dead_letter d
                       where d.enterprise_code = $1 and d.entity = 'employee' and d.entity_key = r.userid
                         and d.operation = 'update-employee' and d.field = $2 and d.state <> 'resolved')`,
    [key.enterpriseCode, field, runId],
  )
}

/** Blocks the field, or further attributeCodes of it; the cases of single employees merge into the enterprise's. */
async function openBlock(
  client: ClientBase,
  settlement: FinishedSettlement,
  refused: RefusedField,
  codes: string[] | null,
): Promise<void> {
  const { enterpriseCode, entityKey } = settlement.key
  const delayMs = healingDelay(1, Math.random())
  const failure = settlement.failures.find(({ field }) => field === refused.field)
  await client.query(
    `insert into dirsync.field_block as b
       (enterprise_code, field, platform_code, codes, message, probe_userid, next_probe_at)
     values ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 millisecond')
     on conflict (enterprise_code, field) do update
     set codes = case when excluded.codes is not null then b.codes || excluded.codes end,
         message = excluded.message`,
    [
      enterpriseCode,
      refused.field,
      refused.platformCode,
      codes && JSON.stringify([codes]),
      toStore(failure?.message ?? []),
      entityKey,
      delayMs,
    ],
  )
  const id = await countCase(client, settlement, refused, delayMs)
  await reopenIgnored(client, { id, runId: settlement.runId }, delayMs)
  await mergeCases(client, settlement, refused.field)
  await tellWithheld(client)
}

/** The enterprise's case replaces the cases of employees whose refused fields are withheld now. */
async function mergeCases(
  client: ClientBase,
  { key, runId }: FinishedSettlement,
  field: string,
): Promise<void> {
  const { rows } = await client.query<{ id: number; userid: string; into: number }>(
    `select own.id, r.userid, d.id as into
     from dirsync.field_block b
     join dirsync.dead_letter d on ${IS_CASE_OF_BLOCK}
     join dirsync.field_refusal r
       on r.enterprise_code = b.enterprise_code and r.field = b.field
       and (b.codes is null
            or exists (select from jsonb_array_elements(b.codes) as l (list)
                       where to_jsonb(r.codes) @> l.list))
     join dirsync.dead_letter own
       on own.enterprise_code = b.enterprise_code and own.entity = 'employee' and own.entity_key = r.userid
       and own.operation = 'update-employee' and own.field = b.field
       and own.category = 'feature_disabled' and own.state <> 'resolved'
     where b.enterprise_code = $1 and b.field = $2`,
    [key.enterpriseCode, field],
  )
  await endCases(
    client,
    rows.map(({ id, into }) => ({
      id,
      runId,
      resolution: 'merged',
      said: message('said.merged', { case: into }),
    })),
  )
  await client.query(
    `update dirsync.employee set withheld = array_append(withheld, $2)
     where enterprise_code = $1 and userid = any ($3) and $2 <> all (withheld)`,
    [key.enterpriseCode, field, [key.entityKey, ...rows.map(({ userid }) => userid)]],
  )
}

/** Opens or counts up the enterprise's case. Returns its number. */
async function countCase(
  client: ClientBase,
  { key, runId, failures }: FinishedSettlement,
  { field, platformCode }: RefusedField,
  nextRetryMs: number,
): Promise<number> {
  const failure = failures.find(candidate => candidate.field === field)
  const id = await recordCase(client, {
    enterprise_code: key.enterpriseCode,
    entity: 'enterprise',
    entity_key: key.enterpriseCode || SINGLE_ENTERPRISE,
    operation: 'update-employee',
    field,
    category: 'feature_disabled',
    platform_code: platformCode,
    trace_id: failure?.traceId ?? null,
    message: failure?.message ?? [],
    remedy: [failure?.remedy ?? [], message('said.withheld_remedy')],
    state: 'open',
    last_run_id: runId,
    nextRetryMs,
  })
  await tellWithheld(client)
  return id
}

/** Unblocks fields that succeeded: their cases end, and a run is requested for the employees they were withheld from. */
export async function liftBlocks(
  client: ClientBase,
  { key, runId, stored }: FinishedSettlement,
): Promise<void> {
  if (stored?.of !== 'employee' || stored.unblockFields.length === 0) return
  const { unblockFields } = stored
  const lifted = await unblock(client, key.enterpriseCode, unblockFields, { isOn: true })
  const ended = await endCasesWhere(
    client,
    `d.enterprise_code = $1 and d.entity = 'enterprise' and d.operation = 'update-employee' and d.field = any ($2)`,
    [key.enterpriseCode, lifted],
    { runId, resolution: 'succeeded' },
  )
  if (ended.length === 0) return
  await client.query(
    `with asked as (
       insert into dirsync.sync_run (kind, keys, requested_by)
       select 'retry', $3, 'cron'
       where exists (select from dirsync.employee e where ${isWithheldFrom('$1', '$2')})
       returning id
     )
     select pg_notify('dirsync', 'run') from asked`,
    [key.enterpriseCode, unblockFields, ended.map(({ id }) => String(id)).sort()],
  )
}
