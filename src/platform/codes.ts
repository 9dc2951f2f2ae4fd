import type { EmployeeField } from '../directory/employee.ts'
import type { Message } from '../texts/message.ts'

/**
 * What to do about a failure: `retry` with growing delays, `wait` without spending an attempt, `refresh-token`, `park` it for
 * review, `done` (the goal is reached), or `halt` the work: all of it, or that of one enterprise (`scope`).
 */
export type Disposition = 'retry' | 'wait' | 'refresh-token' | 'park' | 'done' | 'halt'

/** What reviewers filter failures by: derived from code, HTTP status and circumstances. */
export type FailureCategory =
  | 'aborted'
  | 'paused'
  | 'base_department'
  | 'clock_skew'
  | 'credentials'
  | 'duplicate_email'
  | 'duplicate_mobile'
  | 'duplicate_work_number'
  | 'enterprise_code'
  | 'feature_disabled'
  | 'internal_error'
  | 'invalid_document'
  | 'invalid_mobile_area'
  | 'invalid_parameter'
  | 'missing_department'
  | 'no_permission'
  | 'not_on_platform'
  | 'outcome_unknown'
  | 'platform_unavailable'
  | 'rate_limited'
  | 'token'
  | 'token_fuse'
  | 'unclassified'
  | 'unknown_order'

/** The part of an update that is held back: `mobile` stands for the area code too, `card_no` for the document type. */
export type HeldBackField = Exclude<EmployeeField, 'mobile_area' | 'card_type'>

/** What is known about one platform code or one kind of failure. */
export interface CatalogueEntry {
  /** Short name, as metrics and the console show it. */
  readonly name: string
  /** What happened, in one sentence. */
  readonly meaning: string
  readonly disposition: Disposition
  /** The disposition if what `disposition` says, tried once per call, did not help. */
  readonly persisting?: Disposition
  readonly category: FailureCategory
  /** What the reviewer should do, in one sentence. */
  readonly remedy: string
  /** The same for values that do not come from HR, such as those of a single call that a person makes. */
  readonly remedyBesideHr?: string
  /** On `employee/update`: the only unit to hold back. */
  readonly field?: HeldBackField
  /** How far the verdict reaches beyond the one entity. */
  readonly scope?: 'all' | 'enterprise'
  /** Retries permitted before the failure is parked; the usual number when absent. */
  readonly attempts?: number
  /** State of the dead letter, when it is not simply open. */
  readonly state?: 'awaiting_activation'
  /**
   * The non-idempotent operations for which the code means that nothing was carried out; `all`: the platform answers it before
   * any operation looks at the request. For an operation that is not listed the code says nothing: "system busy" may come after
   * the effect.
   */
  readonly refuses?: 'all' | readonly string[]
  /** Operations for which the same code has another disposition. */
  readonly operations?: Readonly<Record<string, Disposition>>
}

const FEATURE_REMEDY = 'correct the value in HR, or leave the column out of the mapping.'

/** Every error code of section 7, by number. */
export const PLATFORM_CODES = {
  1000210001: {
    name: 'timestamp_refused',
    meaning: "The platform says that dirsync's clock is more than 5 minutes away from its own.",
    disposition: 'retry',
    persisting: 'halt',
    category: 'clock_skew',
    remedy: "Set this machine's clock (NTP); work continues by itself once the platform accepts the time.",
    scope: 'all',
    refuses: 'all',
  },
  1000210003: {
    name: 'application_refused',
    meaning: 'The platform does not accept the application id, its secret or the signature.',
    disposition: 'halt',
    category: 'credentials',
    remedy:
      'Run `dirsync doctor`, which tries the other algorithms; check PLATFORM_SIGN_ALGORITHM, PLATFORM_APP_ID, PLATFORM_APP_SECRET and the clock, in this order. After a change, restart dirsync: settings are read at its start.',
    scope: 'all',
    refuses: 'all',
  },
  1000210004: {
    name: 'token_refused',
    meaning: 'The platform does not accept the access token.',
    disposition: 'refresh-token',
    persisting: 'retry',
    category: 'token',
    remedy:
      'Find out whether another system creates tokens with the same application id and so invalidates ours.',
    refuses: 'all',
  },
  1000220002: {
    name: 'parameters_refused',
    meaning: 'The platform does not accept the form of a parameter.',
    disposition: 'park',
    category: 'invalid_parameter',
    remedy: 'Compare the values in HR with the field rules of the platform, correct them in HR, then retry.',
    remedyBesideHr: 'Compare the values with the field rules of the platform, and correct them.',
    refuses: ['seller/v3/pay/syncRefund', 'enterprise/account/applyCharge'],
  },
  1000220096: {
    name: 'userid_unknown',
    meaning: 'The platform has no employee in service with this userid.',
    disposition: 'park',
    category: 'not_on_platform',
    remedy:
      'Add the employee on the platform; dirsync asks again by itself and goes on as soon as it finds them.',
    remedyBesideHr: 'Correct the user id, or add the employee on the platform.',
    state: 'awaiting_activation',
  },
  1000220102: {
    name: 'employee_unknown',
    meaning: 'The platform has no such employee in service.',
    disposition: 'park',
    category: 'not_on_platform',
    remedy:
      'Add the employee on the platform; dirsync asks again by itself and goes on as soon as it finds them.',
    remedyBesideHr: 'Correct the value that names the employee, or add the employee on the platform.',
    state: 'awaiting_activation',
  },
  1002219003: {
    name: 'work_number_taken',
    meaning: 'Another employee of the enterprise has this work number.',
    disposition: 'park',
    category: 'duplicate_work_number',
    remedy:
      'Give the employee another work number in HR, or free it on the platform, then retry; the other fields are not held back.',
    remedyBesideHr: 'Give another work number, or free this one on the platform.',
    field: 'corp_code',
  },
  1000220010: {
    name: 'department_unknown',
    meaning: 'The platform has no department with this code.',
    disposition: 'park',
    category: 'missing_department',
    remedy:
      'Create the department on the platform, then retry the cases of this category, or correct the department code in HR; the other fields are not held back.',
    remedyBesideHr: 'Create the department on the platform, or correct the department code.',
    field: 'dept_code',
    operations: { 'department/delete': 'done' },
  },
  1002218004: {
    name: 'email_taken',
    meaning: 'Another employee of the enterprise has this e-mail address.',
    disposition: 'park',
    category: 'duplicate_email',
    remedy:
      'Correct the e-mail address in HR, or free it on the platform, then retry; the other fields are not held back.',
    remedyBesideHr: 'Give another e-mail address, or free this one on the platform.',
    field: 'email',
  },
  1002218007: {
    name: 'mobile_taken',
    meaning: 'Another employee of the enterprise has this mobile number.',
    disposition: 'park',
    category: 'duplicate_mobile',
    remedy:
      'Find out whose number it is (see "blocked by"; if that is empty, perhaps someone with another area code), correct it in HR, or on the platform, then retry; the other fields are not held back.',
    remedyBesideHr:
      'Find out whose number it is (employee/get with --mobile), and give another one or free it on the platform.',
    field: 'mobile',
  },
  1002219046: {
    name: 'document_refused',
    meaning: 'The document number is neither an identity card number nor a passport number.',
    disposition: 'park',
    category: 'invalid_document',
    remedy: 'Correct document type and number in HR; the other fields are not held back.',
    remedyBesideHr: 'Correct document type and number.',
    field: 'card_no',
  },
  1000220030: {
    name: 'grade_off',
    meaning: 'The enterprise has no employee grades, or not this one.',
    disposition: 'park',
    category: 'feature_disabled',
    remedy: `Set up employee grades in the enterprise's back office, ${FEATURE_REMEDY}`,
    field: 'level',
    scope: 'enterprise',
  },
  1000210028: {
    name: 'category_off',
    meaning: 'The enterprise has no employee categories, or not this one.',
    disposition: 'park',
    category: 'feature_disabled',
    remedy: `Set up employee categories in the enterprise's back office, ${FEATURE_REMEDY}`,
    field: 'category',
    scope: 'enterprise',
  },
  1000220072: {
    name: 'attribute_off',
    meaning: 'An extended field is not enabled in the enterprise, or its attributeCode is wrong.',
    disposition: 'park',
    category: 'feature_disabled',
    remedy: `Enable the extended field in the enterprise's back office, or correct its attributeCode in HR or in the mapping.`,
    field: 'employee_attribute',
  },
  1000240002: {
    name: 'enterprise_refused',
    meaning: 'The enterprise code is not bound to this application.',
    disposition: 'halt',
    category: 'enterprise_code',
    remedy:
      'Correct the enterprise code wherever it is set (mapping column, PLATFORM_ENTERPRISE_CODE, enterprise_codes of HR_SOURCES), or have it bound to the application.',
    remedyBesideHr:
      'Correct the enterprise code wherever it is set (PLATFORM_ENTERPRISE_CODE, enterprise_codes of HR_SOURCES), or have it bound to the application.',
    scope: 'enterprise',
    refuses: 'all',
  },
  1002219069: {
    name: 'area_code_unknown',
    meaning: 'The platform does not know the phone area code.',
    disposition: 'park',
    category: 'invalid_mobile_area',
    remedy: 'Correct the phone area code in HR; the other fields are not held back.',
    remedyBesideHr: 'Correct the phone area code.',
    field: 'mobile',
  },
  1002200106: {
    name: 'no_permission',
    meaning: 'The department is not in this enterprise.',
    disposition: 'park',
    category: 'no_permission',
    remedy:
      'If the enterprise had it and it is gone there, ignore this case. Otherwise check to which enterprise it belongs, and correct its enterprise code in HR.',
    remedyBesideHr:
      'Nothing to do if the enterprise had it and it is gone there. Otherwise find out to which enterprise it belongs, and name that one.',
  },
  1002212002: {
    name: 'base_department',
    meaning: 'The department is the root of the enterprise and cannot be deleted.',
    disposition: 'park',
    category: 'base_department',
    remedy: 'Mark the department as active in HR again, or ignore this case: the root always stays.',
    remedyBesideHr: 'Nothing to do: the root always stays.',
  },
  1000220120: {
    name: 'payment_order_unknown',
    meaning: 'The platform has no payment order with this number.',
    disposition: 'park',
    category: 'unknown_order',
    remedy: 'Check the payment order number.',
  },
  1000220064: {
    name: 'order_unknown_or_failed',
    meaning: 'The payment failed, or the platform has no order with this external number.',
    disposition: 'park',
    category: 'unknown_order',
    remedy: 'Check the external trade number and whether the payment went through.',
  },
} as const satisfies Readonly<Record<number, CatalogueEntry>>

/** Failures without a platform code. */
export const CIRCUMSTANCES = {
  rate_limited: {
    name: 'rate_limited',
    meaning: 'The platform asked dirsync to wait.',
    disposition: 'wait',
    category: 'rate_limited',
    remedy: 'Nothing to do; set PLATFORM_RATE_LIMIT to auto or a lower figure when this happens often.',
    remedyBesideHr:
      'Try again later; set PLATFORM_RATE_LIMIT to auto or a lower figure when this happens often.',
  },
  unavailable: {
    name: 'unavailable',
    meaning:
      'The platform could not be reached, did not answer in time, or answered with a server error (HTTP 5xx).',
    disposition: 'retry',
    category: 'platform_unavailable',
    remedy:
      'Check the network and PLATFORM_BASE_URL with `dirsync doctor`, ask the vendor whether the platform is up, then retry.',
  },
  unreadable: {
    name: 'unreadable',
    meaning: "The platform's answer is not what the specification says, so dirsync cannot use it.",
    disposition: 'retry',
    category: 'platform_unavailable',
    remedy:
      'Show the vendor the trace id and the fields that are named; if none is, check with `dirsync doctor` that PLATFORM_BASE_URL leads to the platform and to no proxy. Then retry.',
  },
  unclassified: {
    name: 'unclassified',
    meaning: 'The platform answered with a failure that the specification does not list.',
    disposition: 'retry',
    category: 'unclassified',
    remedy: "Read the platform's message, ask the vendor with the trace id if it does not help, then retry.",
    attempts: 1,
  },
  invalid_request: {
    name: 'invalid_request',
    meaning: 'A parameter breaks the rules of the specification; nothing was sent.',
    disposition: 'park',
    category: 'invalid_parameter',
    remedy: 'Correct the named value in HR; it is sent again as soon as it changes.',
    remedyBesideHr: 'Correct the named value.',
  },
  outcome_unknown: {
    name: 'outcome_unknown',
    meaning: 'It was sent, and whether the platform carried it out is unknown. It is not sent again.',
    disposition: 'park',
    category: 'outcome_unknown',
    remedy:
      "Find out before anything is sent again: of a refund by the order record's refund_amount (`dirsync refund settle`), of a top-up in the platform's back office.",
  },
  token_fuse: {
    name: 'token_fuse',
    meaning: 'Too many access tokens were created within an hour, so no further one is asked for.',
    disposition: 'halt',
    category: 'token_fuse',
    remedy:
      'Find out who invalidates the tokens (a second system with the same application id?); work continues by itself when the hour is over.',
    scope: 'all',
  },
  aborted: {
    name: 'aborted',
    meaning: 'dirsync gave the call up itself.',
    disposition: 'wait',
    category: 'aborted',
    remedy: 'Nothing to do: dirsync takes it up again by itself.',
    remedyBesideHr:
      'dirsync did not go through with the call. Ask for it again if you asked for it; dirsync itself takes up again what it asks for.',
  },
  paused: {
    name: 'paused',
    meaning: 'All calls of this deployment are paused, so this one was not made.',
    disposition: 'wait',
    category: 'paused',
    remedy: 'Resume them in the console, under Halts and processes, or with dirsync resume.',
  },
  internal: {
    name: 'internal',
    meaning: 'The call failed in dirsync, not on the platform.',
    disposition: 'retry',
    category: 'internal_error',
    remedy: "Look for the error in dirsync's log (is its database reachable?), then retry.",
  },
} as const satisfies Readonly<Record<string, CatalogueEntry>>

const PREFIXES = new Map<CatalogueEntry, `code.${string}` | `circumstance.${string}`>([
  ...Object.entries(PLATFORM_CODES).map(([code, entry]) => [entry, `code.${code}`] as const),
  ...Object.entries(CIRCUMSTANCES).map(([name, entry]) => [entry, `circumstance.${name}`] as const),
])

/** The sentences of an entry, for readers of every language. */
export interface CatalogueMessages {
  meaning: Message
  remedy: Message
}

/** @param isAboutHr whether the values of the operation come from HR */
export function messagesOf(entry: CatalogueEntry, isAboutHr: boolean): CatalogueMessages {
  const prefix = PREFIXES.get(entry) ?? 'circumstance.unclassified'
  const remedy = isAboutHr || entry.remedyBesideHr === undefined ? 'remedy' : 'remedy_beside_hr'
  return { meaning: { key: `${prefix}.meaning` }, remedy: { key: `${prefix}.${remedy}` } }
}

/** The entry of a platform code, or undefined for a code that the specification does not list. */
export function entryOfCode(code: number | undefined): CatalogueEntry | undefined {
  return code === undefined ? undefined : (PLATFORM_CODES as Readonly<Record<number, CatalogueEntry>>)[code]
}

/** Whether the catalogue lists the code as a refusal of this operation: nothing was carried out then. */
export function isKnownWithoutEffect(code: number, operation: string): boolean {
  const refuses = entryOfCode(code)?.refuses ?? []
  return refuses === 'all' || refuses.includes(operation)
}
