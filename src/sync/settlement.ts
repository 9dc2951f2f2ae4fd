import type { EmployeeField, EmployeeKey } from '../directory/employee.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import { repeatWhatIsFenced, storable, transaction, WORK_MS } from '../lib/database.ts'
import type { JobKey, JobName } from '../queue/job.ts'
import {
  type RecordedCase,
  recordFailure,
  releasedBy,
  resolveCases,
  restCases,
  reviewSwaps,
  tryAtOnce,
} from './cases.ts'
import { liftBlocks, type RefusedField, recordRefusals } from './field-blocks.ts'
import { isUnfit, openFields, refusedSettlement, writeOutcomes } from './outcome.ts'
import { askLate } from './withheld.ts'

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
  | 'replan'

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
  acknowledgedHash: string | null
  parkedHash: string | null
  acknowledged: Partial<Record<EmployeeField, string>>
  /** Per field that was sent, the hash of what the platform showed before. */
  overwritten: Partial<Record<EmployeeField, string>>
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
   * The platform may hold something else of the employee than before: it accepted fields, or an execution could not tell
   * whether it did. Whoever waits for that is tried again.
   */
  changed: boolean
  /** What this execution, or one before it, sent has an outcome that nobody heard of. */
  sentUnknown: boolean
  /** Null: done with it. Else it goes back to the outbox. */
  again: { delayMs: number; attempts: number } | null
  employee: EmployeeMemory | null
  failures: Failure[]
  /** Resolve the cases of this entity and operation that are neither among `failures` nor of these fields; null: resolve none. */
  keep: string[] | null
  binding: string | null
  department: 'deleted' | 'parked' | null
  /** Refusals that may mean that a field is switched off for the enterprise. */
  blockFields: RefusedField[]
  /** Blocked fields that got through. */
  unblockFields: string[]
}

/**
 * Writes the outcomes of many jobs, each whole or not at all (law 4: success and resolved cases together). One that
 * PostgreSQL refuses becomes a case that says so, and the others are written without it. What is given up because
 * PostgreSQL is silent is written again: if it was committed after all, its executions are over, and nothing happens a
 * second time.
 */
export async function settle(db: Pool, settlements: Settlement[]): Promise<void> {
  const quiet: Settlement[] = []
  const others: Settlement[] = []
  for (const settlement of settlements.map(storable)) (isQuiet(settlement) ? quiet : others).push(settlement)
  if (quiet.length > 0) await settleSome(db, quiet, () => writeOutcomes(db, quiet))
  if (others.length > 0) await settleSome(db, others, () => settleInFull(db, others))
}

/** Writes outcomes together; where PostgreSQL refuses one of them, each by itself. */
async function settleSome(db: Pool, settlements: Settlement[], write: () => Promise<unknown>): Promise<void> {
  try {
    await repeatWhatIsFenced(write)
  } catch (error) {
    if (!isUnfit(error)) throw error
    for (const settlement of settlements) await settleAlone(db, settlement)
  }
}

async function settleAlone(db: Pool, settlement: Settlement): Promise<void> {
  try {
    await repeatWhatIsFenced(() => settleInFull(db, [settlement]))
  } catch (error) {
    if (!isUnfit(error)) throw error
    const refused = refusedSettlement(settlement, error, await openFields(db, settlement))
    await repeatWhatIsFenced(() => settleInFull(db, [refused]))
  }
}

/** Nothing but the attempt, the outbox and the employee is touched: one statement does. */
function isQuiet(settlement: Settlement): boolean {
  const { failures, binding, department, blockFields } = settlement
  return (
    !concernsOthers(settlement) &&
    failures.length === 0 &&
    binding === null &&
    department === null &&
    blockFields.length === 0
  )
}

async function settleInFull(db: Pool, settlements: Settlement[]): Promise<void> {
  const write = async (client: ClientBase) => {
    if (settlements.some(concernsOthers)) await client.query('select pg_advisory_xact_lock($1)', [LOCK])
    const { valid, done } = await writeOutcomes(client, settlements)
    const resolved = await resolveCases(
      client,
      valid.filter(s => s.keep !== null),
    )
    const recorded: RecordedCase[] = []
    for (const settlement of valid) {
      const standsFor = await recordRefusals(client, settlement)
      for (const failure of settlement.failures)
        if (!standsFor.includes(failure.field))
          recorded.push(await recordFailure(client, settlement, failure))
      await writeRest(client, settlement)
    }
    await restCases(
      client,
      done.filter(s => s.keep !== null && s.keep.length > 0),
    )
    await askLate(client, valid)
    await tryAtOnce(client, [
      ...recorded.filter(({ isDue }) => isDue),
      ...(await releasedBy(
        client,
        valid.filter(s => s.changed),
      )),
      ...(await reviewSwaps(client, recorded, resolved)),
    ])
  }
  await transaction(db, write, WORK_MS)
}

/**
 * Outcomes that release others, wait to be released, or end a case that may be part of a swap are written one after the
 * other: two that do not see each other would both believe that there is nobody to release.
 */
function concernsOthers(settlement: Settlement): boolean {
  const { changed, keep, failures, employee, blockFields, unblockFields } = settlement
  return (
    changed ||
    keep !== null ||
    blockFields.length > 0 ||
    unblockFields.length > 0 ||
    (employee !== null && employee.withheld.length > 0) ||
    failures.some(failure => failure.blockedBy !== null)
  )
}

/** The rarer parts: bindings, departments, blocked fields. */
async function writeRest(client: ClientBase, settlement: Settlement): Promise<void> {
  const { key } = settlement
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
  await liftBlocks(client, settlement)
}

/** What executing a job came to; the processor adds the key, the claim and the times. */
export type JobResult = Pick<
  Settlement,
  'again' | 'employee' | 'failures' | 'keep' | 'binding' | 'department' | 'blockFields' | 'unblockFields'
> & {
  attempt: Pick<Settlement['attempt'], 'outcome' | 'fields' | 'platformCode' | 'traceId' | 'error'>
}

/** A result in which nothing happened but the outcome; the rest is added by spreading. */
export function result(
  outcome: Settlement['attempt']['outcome'],
  rest: Partial<Omit<JobResult, 'attempt'>> & { attempt?: Partial<JobResult['attempt']> } = {},
): JobResult {
  return {
    again: null,
    employee: null,
    failures: [],
    keep: null,
    binding: null,
    department: null,
    blockFields: [],
    unblockFields: [],
    ...rest,
    attempt: { outcome, fields: [], platformCode: null, traceId: null, error: null, ...rest.attempt },
  }
}

/** What is remembered when the platform was not asked: nothing about its side. */
export function unasked(active: boolean): EmployeeMemory {
  return {
    active,
    acknowledgedHash: null,
    parkedHash: null,
    acknowledged: {},
    overwritten: {},
    withheld: [],
    platformState: 'unknown',
    deptCode: null,
  }
}

/** Parameters that name the employee on the platform; without an enterprise code for a single enterprise. */
export function employeeQuery(key: EmployeeKey): { userid: string; enterprise_code?: string } {
  return key.enterpriseCode === ''
    ? { userid: key.userid }
    : { userid: key.userid, enterprise_code: key.enterpriseCode }
}
