import { healingDelay, slowProbeDelay } from '../core/backoff.ts'
import { EMPLOYEE_FIELDS, type EmployeeField, type EmployeeFields } from '../core/employee.ts'
import { maskText } from '../core/mask-text.ts'
import { hideValue, maskValue } from '../core/masking.ts'
import type { Verdict } from '../platform/error-catalogue.ts'
import { PlatformError } from '../platform/errors.ts'
import type { OpenCase } from '../store/claim.ts'
import type { Failure } from '../store/settlement.ts'

/** Categories that may heal without anybody doing anything in HR: tried again at growing intervals instead of weekly. */
const HEALING = new Set(['not_on_platform', 'platform_unavailable', 'unclassified'])

interface FailureInput {
  entity: Failure['entity']
  category: string
  message: string
  remedy: string
  field?: string
  changedFields?: Failure['changedFields']
  blockedBy?: string | null
  sourceHash: string | null
  /** The cases that are open already, for the growing intervals. */
  cases: OpenCase[]
  error?: unknown
}

/** Builds a case for review: its state, and when dirsync tries again by itself. */
export function failure(input: FailureInput): Failure {
  const field = input.field ?? ''
  const before = input.cases.find(open => open.field === field)?.occurrences ?? 0
  const platform = input.error instanceof PlatformError ? input.error : null
  const healing = HEALING.has(input.category)
  return {
    entity: input.entity,
    field,
    category: input.category,
    platformCode: platform?.platformCode ?? null,
    traceId: platform?.traceId ?? null,
    message: input.message,
    remedy: input.remedy,
    changedFields: input.changedFields ?? [],
    blockedBy: input.blockedBy ?? null,
    sourceHash: input.sourceHash,
    state:
      input.category === 'not_on_platform' ? 'awaiting_activation' : healing ? 'retry_scheduled' : 'open',
    nextRetryMs: healing ? healingDelay(before + 1, Math.random()) : slowProbeDelay(Math.random()),
  }
}

/** Builds the case that a refused call becomes, by its verdict. */
export function refusal(
  error: unknown,
  verdict: Verdict,
  input: Omit<FailureInput, 'category' | 'message' | 'remedy' | 'error'>,
): Failure {
  const words =
    error instanceof PlatformError && error.platformMessage
      ? ` The platform says: ${maskText(error.platformMessage)}`
      : ''
  return failure({
    ...input,
    category: verdict.category,
    message: verdict.meaning + words,
    remedy: verdict.remedy,
    error,
  })
}

/** Names and masked values of fields, for a case. */
export function maskedFields(
  fields: readonly EmployeeField[],
  values: EmployeeFields,
): Failure['changedFields'] {
  return fields
    .filter(field => EMPLOYEE_FIELDS.includes(field) && field in values)
    .map(field => ({ field, value: maskValue(field, values[field] ?? null) }))
}

/** The same of fields that break a rule: they may hold what belongs into any other column. */
export function hiddenFields(
  fields: readonly string[],
  row: Readonly<Record<string, string | null>>,
): Failure['changedFields'] {
  return EMPLOYEE_FIELDS.filter(field => fields.includes(field) && field in row).map(field => ({
    field,
    value: hideValue(row[field] ?? null),
  }))
}
