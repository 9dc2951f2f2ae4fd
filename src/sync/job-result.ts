import type { Settlement } from '../store/settlement.ts'

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
