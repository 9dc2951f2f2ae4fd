import { type Claim, type ClaimKey, claim } from '../../src/sync/claim.ts'
import type { Settlement } from '../../src/sync/outcome.ts'
import { type EmployeeMemory, type Failure, result } from '../../src/sync/outcome.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export const employee = (entityKey: string, enterpriseCode = ''): ClaimKey => ({
  operation: 'update-employee',
  enterpriseCode,
  entityKey,
  detail: '',
})

/** Begins a job that is in the outbox. */
export async function begin(store: StoreUnderTest, key: ClaimKey): Promise<Claim> {
  const [begun] = await claim(store.pool, [key])
  if (!begun) throw new Error(`there is no work for ${key.entityKey}`)
  return begun
}

/** What came of a job: it was in step and nothing more, but for what is given. */
export function outcome(key: ClaimKey, claimed: Claim, differs: Partial<Settlement> = {}): Settlement {
  return {
    ...result('in_step'),
    key,
    version: claimed.version,
    execution: claimed.execution,
    runId: claimed.runId,
    startedAt: new Date(),
    durationMs: 5,
    calls: {},
    waitedMs: {},
    tooFast: {},
    changed: (differs.fields?.length ?? 0) > 0,
    sentUnknown: false,
    ...differs,
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
    deptCode: null,
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
    message: 'the number is taken',
    remedy: 'correct it in HR',
    changedFields: [],
    blockedBy: null,
    sourceHash: null,
    state: 'open',
    nextRetryMs: 604_800_000,
    ...differs,
  }
}
