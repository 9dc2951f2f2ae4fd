import type { ClientBase, Pool } from 'pg'
import type { EmployeeField } from '../core/employee.ts'
import type { JobKey, JobName } from '../core/job.ts'
import { askWithheld, blockFields, dropUnprobedBlocks, unblockFields } from './field-block.ts'
import { writeOutcomes } from './outcome.ts'
import { recordFailure, releaseDependents, resolveCases, restCases } from './settled-cases.ts'
import { repeatOnDeadlock, transaction } from './transaction.ts'

/** Held by a transaction whose outcomes concern others. */
const LOCK = 0x7365746c // 'setl'

export type Outcome =
  | 'in_step'
  | 'updated'
  | 'partly_updated'
  | 'deleted'
  | 'bound'
  | 'awaiting_activation'
  | 'left'
  | 'parked'
  | 'retry'
  | 'wait'
  | 'halted'
  | 'obsolete'

/** A failure that becomes a case for review. */
export interface Failure {
  entity: 'employee' | 'department' | 'mirror'
  field: string
  category: string
  platformCode: number | null
  traceId: string | null
  message: string
  remedy: string
  changedFields: { field: string; value: string | null }[]
  blockedBy: string | null
  sourceHash: string | null
  state: 'open' | 'retry_scheduled' | 'blocked' | 'awaiting_activation'
  /** Milliseconds until dirsync tries again by itself. */
  nextRetryMs: number
}

/** What is remembered of an employee after an attempt. */
export interface EmployeeMemory {
  active: boolean
  sourceHash: string | null
  acknowledgedHash: string | null
  parkedHash: string | null
  acknowledged: Partial<Record<EmployeeField, string>>
  withheld: string[]
  platformState: 'unknown' | 'in_service' | 'absent'
  deptCode: string | null
}

/** The outcome of one job, to be written in one transaction. */
export interface Settlement {
  key: JobKey & { operation: JobName }
  /** As claimed; an outcome of an execution that was overtaken leaves everything but its attempt unwritten. */
  version: number
  execution: number
  runId: number | null
  attempt: {
    startedAt: Date
    durationMs: number
    outcome: Outcome
    /** By operation: calls, milliseconds that they waited for the pacer, and those of them that came too fast. */
    calls: Record<string, number>
    waitedMs: Record<string, number>
    tooFast: Record<string, number>
    fields: string[]
    platformCode: number | null
    traceId: string | null
    error: string | null
  }
  /**
   * The platform may hold something else of the employee than before: it accepted fields, or an earlier execution did not
   * live to tell whether it did. Whoever waits for that is tried again.
   */
  changed: boolean
  /** Null: done with it. Else it goes back to the outbox. */
  again: { delayMs: number; attempts: number } | null
  employee: EmployeeMemory | null
  failures: Failure[]
  /** Resolve the cases of this entity and operation that are neither among `failures` nor of these fields; null: resolve none. */
  keep: string[] | null
  binding: string | null
  department: 'deleted' | 'parked' | null
  blockFields: { field: string; platformCode: number | null }[]
  unblockFields: string[]
}

/** Writes the outcomes of many jobs, each whole or not at all (DESIGN, law 4: success and resolved cases together). */
export async function settle(db: Pool, settlements: Settlement[]): Promise<void> {
  const quiet: Settlement[] = []
  const others: Settlement[] = []
  for (const settlement of settlements) (isQuiet(settlement) ? quiet : others).push(settlement)
  if (quiet.length > 0) await repeatOnDeadlock(() => writeOutcomes(db, quiet))
  if (others.length > 0) await repeatOnDeadlock(() => settleInFull(db, others))
}

/** Nothing but the attempt, the outbox and the employee is touched: one statement does. */
function isQuiet(settlement: Settlement): boolean {
  const { keep, failures, binding, department, blockFields } = settlement
  return (
    !concernsOthers(settlement) &&
    keep === null &&
    failures.length === 0 &&
    binding === null &&
    department === null &&
    blockFields.length === 0
  )
}

async function settleInFull(db: Pool, settlements: Settlement[]): Promise<void> {
  await transaction(db, async client => {
    if (settlements.some(concernsOthers)) await client.query('select pg_advisory_xact_lock($1)', [LOCK])
    const { valid, done } = await writeOutcomes(client, settlements)
    await resolveCases(
      client,
      valid.filter(s => s.keep !== null),
    )
    for (const settlement of valid) await writeRest(client, settlement)
    await restCases(
      client,
      done.filter(s => s.keep !== null && s.keep.length > 0),
    )
    await reconsiderWithheld(client, valid)
    await releaseDependents(
      client,
      valid.filter(s => s.changed),
    )
  })
}

/**
 * Outcomes that release others, or wait to be released, are written one after the other: two that do not see each other
 * would both believe that there is nobody to release.
 */
function concernsOthers({ changed, failures, employee, unblockFields }: Settlement): boolean {
  return (
    changed ||
    unblockFields.length > 0 ||
    (employee !== null && employee.withheld.length > 0) ||
    failures.some(failure => failure.blockedBy !== null)
  )
}

/** The rarer parts: cases, bindings, departments, blocked fields. */
async function writeRest(client: ClientBase, settlement: Settlement): Promise<void> {
  const { key } = settlement
  for (const failure of settlement.failures) await recordFailure(client, settlement, failure)
  if (settlement.binding !== null)
    await client.query(
      `insert into dirsync.openid_binding (enterprise_code, userid, seller_appid, open_userid) values ($1, $2, $3, $4)
       on conflict (enterprise_code, userid, seller_appid) do update set open_userid = excluded.open_userid, bound_at = now()`,
      [key.enterpriseCode, key.entityKey, key.detail, settlement.binding],
    )
  if (settlement.department !== null)
    await client.query(
      `update dirsync.department set deleted_at = case when $3 = 'deleted' then now() end, parked_at = case when $3 = 'parked' then now() end
       where enterprise_code = $1 and dept_code = $2`,
      [key.enterpriseCode, key.entityKey, settlement.department],
    )
  await blockFields(client, settlement)
  await unblockFields(client, settlement)
}

/** Whoever a field was withheld from is asked for anew once it is sent again; also when that was decided during the attempt. */
async function reconsiderWithheld(client: ClientBase, settlements: Settlement[]): Promise<void> {
  const enterprises = new Set(settlements.map(({ key }) => key.enterpriseCode))
  const freed = new Set(await dropUnprobedBlocks(client, [...enterprises]))
  for (const { key, unblockFields } of settlements)
    if (unblockFields.length > 0) freed.add(key.enterpriseCode)
  const withheld = settlements.filter(
    ({ key, employee }) => employee && employee.withheld.length > 0 && !freed.has(key.enterpriseCode),
  )
  await askWithheld(client, [
    ...[...freed].map(enterpriseCode => ({ enterpriseCode, userid: null })),
    ...withheld.map(({ key }) => ({ enterpriseCode: key.enterpriseCode, userid: key.entityKey })),
  ])
}
