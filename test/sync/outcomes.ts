import { type Claim, type ClaimKey, claim } from '../../src/sync/outbox/claim.ts'
import {
  type Again,
  type EmployeeMemory,
  type Failure,
  type Finished,
  finished,
  type JobResult,
  type Outcome,
  type Settlement,
  type StoredEmployee,
  type Unfinished,
  unfinished,
} from '../../src/sync/outbox/outcome.ts'
import { inWords } from '../../src/texts/message.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export const employee = (entityKey: string, enterpriseCode = ''): ClaimKey => ({
  operation: 'update-employee',
  enterpriseCode,
  entityKey,
  detail: '',
})

/** Begins a job that is in the outbox. One that has begun has lost its process, and the moment after that is over. */
export async function begin(store: StoreUnderTest, key: ClaimKey): Promise<Claim> {
  await store.pool.query(
    `update dirsync.pending set in_hand = false
     where in_hand and operation = $1 and enterprise_code = $2 and entity_key = $3 and detail = $4`,
    [key.operation, key.enterpriseCode, key.entityKey, key.detail],
  )
  const [begun] = await claim(store.pool, [key], {})
  if (!begun) throw new Error(`there is no work for ${key.entityKey}`)
  return begun
}

/** What came of a job, but for an outcome that changes nothing. */
export type Differs = Partial<
  Omit<Settlement, 'outcome' | 'again'> &
    Pick<Finished, 'failures' | 'resolve'> &
    Omit<StoredEmployee, 'of' | 'memory'>
> & {
  outcome?: Outcome
  /** It is to be tried again. */
  again?: Again
  employee?: EmployeeMemory
  binding?: string
  department?: 'deleted' | 'parked'
}

/** What came of a job: the employee was in sync and nothing more, but for what is given. */
export function outcome(key: ClaimKey, claimed: Claim, differs: Differs = {}): Settlement {
  const {
    outcome: name,
    again,
    employee,
    fields = [],
    available = [],
    blockFields = [],
    unblockFields = [],
    isStored = false,
    binding,
    department,
    failures = [],
    resolve = 'none',
    ...given
  } = differs
  const touched = [...fields, ...blockFields, ...unblockFields].length > 0
  const stored: Finished['stored'] = binding
    ? { of: 'openid', openUserid: binding }
    : department
      ? { of: 'department', state: department }
      : employee || touched
        ? {
            of: 'employee',
            memory: employee ?? memory(),
            isStored,
            fields,
            available,
            blockFields,
            unblockFields,
          }
        : null
  const result: JobResult = again
    ? unfinished((name ?? 'retry') as Unfinished['outcome'], again)
    : finished((name ?? 'in_sync') as Finished['outcome'], { stored, failures, resolve })
  return {
    ...result,
    key,
    version: claimed.version,
    execution: claimed.execution,
    runId: claimed.runId,
    startedAt: new Date(),
    durationMs: 5,
    calls: {},
    waitedMs: {},
    rateLimited: {},
    changed: fields.length > 0,
    sentUnknown: false,
    ...given,
  }
}

/** What is remembered of an employee whom the platform has. */
export function memory(differs: Partial<EmployeeMemory> = {}): EmployeeMemory {
  return {
    active: true,
    acknowledgedHash: null,
    parkedHash: null,
    acknowledged: {},
    overwritten: {},
    withheld: [],
    platformState: 'in_service',
    isAnswered: true,
    deptCode: null,
    ...{ hadLeft: false, account: null, isAnew: false },
    ...differs,
  }
}

/** A refusal of the mobile number. */
export function refusal(differs: Partial<Failure> = {}): Failure {
  return {
    entity: 'employee',
    field: 'mobile',
    category: 'duplicate_mobile',
    platformCode: 1002218007,
    traceId: null,
    message: inWords('the number is taken'),
    remedy: inWords('correct it in HR'),
    changedFields: [],
    blockedBy: null,
    sourceHash: null,
    state: 'open',
    nextRetryMs: 604_800_000,
    ...differs,
  }
}
