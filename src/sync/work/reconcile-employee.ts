import { isDeepStrictEqual } from 'node:util'
import { type ActualEmployee, toActual, toDesired } from '../../directory/desired.ts'
import {
  diffEmployee,
  type FieldUnit,
  isAmong,
  isAnotherPerson,
  isTold,
  isWithheld,
  mistakesDocument,
  overwrittenAfter,
  unitOf,
  unkeptUnits,
} from '../../directory/difference.ts'
import type { DesiredEmployee, EmployeeField, EmployeeFields, EmployeeKey } from '../../directory/employee.ts'
import { parseActive } from '../../directory/field-rules.ts'
import { type AcknowledgedHashes, fieldHash, hashFields } from '../../directory/hash.ts'
import { maskValue } from '../../directory/masking.ts'
import type { HrEmployeeRow } from '../../hr/source.ts'
import { employeeParams } from '../../platform/request.ts'
import { type Message, message } from '../../texts/message.ts'
import type { Claim, OpenCase } from '../outbox/claim.ts'
import type { Sending } from '../outbox/employee.ts'
import {
  type AvailableValue,
  allBut,
  type EmployeeMemory,
  type Failure,
  failure,
  finished,
  hiddenFields,
  type JobResult,
  maskedFields,
  refusalOf,
  unasked,
  unfinished,
  unsent,
} from '../outbox/outcome.ts'
import type { CountedPlatform } from './counted-platform.ts'
import { type SentUnits, sendUnits } from './send-units.ts'

/** Null when HR has no such employee. A row has every column of the mapping that it was read with, in its order. */
export type HrRow = HrEmployeeRow | 'duplicate' | null

interface EmployeeJob {
  key: EmployeeKey
  claim: Claim
  /** The current HR row, read when the job runs. */
  row: HrRow
  /** Hash of the row; null without a row to hash. */
  hash: string | null
  /** Departments are deleted, so that it matters in which one the platform has an employee. */
  hasDepartments: boolean
  /**
   * Called before anything is sent that would leave no other trace if its outcome stayed unknown. Resolves with false if the
   * request is no longer the present one: then nothing may be sent.
   */
  noteSending: (sending: Sending) => Promise<boolean>
}

/**
 * Brings one employee in sync: asks the platform, sends the fields that differ, and holds back only those that the platform
 * refuses. A refused field becomes a case; every other error of the platform is thrown for the processor to classify.
 */
export async function reconcileEmployee(job: EmployeeJob, platform: CountedPlatform): Promise<JobResult> {
  const { row, hash } = job
  if (row === null) return checkLeaver(job, platform)
  if (row === 'duplicate' || hash === null)
    return invalidRow(job, platform, [{ field: 'userid', message: message('said.delivered_twice') }])
  const validated = toDesired(row, Object.keys(row))
  if (!validated.ok) return invalidRow(job, platform, validated.problems)
  if (!validated.desired.active) return checkLeaver(job, platform)
  const actual = toActual(await platform.getEmployee(employeeParams(job.key)))
  return bringInSync({ ...job, hash }, validated.desired, actual, platform)
}

async function bringInSync(
  given: EmployeeJob & { hash: string },
  desired: DesiredEmployee,
  actual: ActualEmployee,
  platform: CountedPlatform,
): Promise<JobResult> {
  const { hash } = given
  const claim = aboutAccount(given.claim, actual)
  const isAnew = claim !== given.claim
  const job = { ...given, claim }
  if (isOfAnother(desired, actual, claim, hash)) return anotherPerson(job, desired, actual)
  const differing = diffEmployee({ desired, actual, acknowledged: claim.acknowledged })
  const unkept = unkeptUnits(differing, { desired, actual, ...claim })
  const { send, blocked, parked, givenUp, mistaken } = holdBack(differing, {
    desired,
    actual,
    claim,
    hash,
    unkept,
  })

  const untold = fieldsOf(send.filter(({ unit }) => !isTold(unit, actual)))
  const isPlanned = hash === claim.sourceHash
  const movingTo = (fieldsOf(send).includes('dept_code') && desired.fields.dept_code) || null
  const leavesNoTrace = untold.length > 0 || movingTo !== null || (send.length > 0 && !isPlanned)
  if (leavesNoTrace && !(await job.noteSending({ hash, untold, movingTo })))
    return unfinished('retry', { delayMs: 1000, attempts: claim.attempts })
  const sent = await sendUnits({ claim, hash, desired, actual }, send, platform)
  const unheeded = [...givenUp, ...(await unheededAgain(job, desired, sent.accepted, platform))]

  const updated = fieldsOf(sent.accepted.filter(unit => !unheeded.includes(unit)))
  const unconfirmed = fieldsOf([...blocked, ...parked, ...sent.refused, ...unheeded, ...mistaken])
  const confirmed = (Object.keys(desired.fields) as EmployeeField[]).filter(
    field => !unconfirmed.includes(field),
  )
  const isComplete = unconfirmed.length === 0
  // For a row that was confirmed before, and needed nothing, every field's hash is known already.
  const isKnown = isComplete && updated.length === 0 && hash === claim.acknowledgedHash
  // A field that was doubted while in flight is known again where the platform refused it.
  const undoubted = fieldsOf(sent.refused).filter(field => untold.includes(field))
  const failures = [
    ...sent.failures,
    ...unheeded.map(unit => notApplied(job, desired, unit)),
    ...mistaken.map(unit => mistakenDocument(job, desired, unit)),
  ]
  const [first] = failures
  const outcome = isComplete
    ? updated.length > 0
      ? 'updated'
      : 'in_sync'
    : updated.length > 0
      ? 'partly_updated'
      : 'parked'
  const memory: EmployeeMemory = {
    active: true,
    acknowledgedHash: isComplete ? hash : null,
    parkedHash: isComplete ? null : hash,
    acknowledged: isKnown
      ? {}
      : { ...hashFields(desired.fields, confirmed), ...before(claim.acknowledged, undoubted) },
    overwritten: overwrittenAfter(claim.overwritten, { differing, accepted: sent.accepted, actual }),
    withheld: blocked.map(unit => unit.unit),
    platformState: 'in_service',
    isAnswered: true,
    deptCode: (updated.includes('dept_code') ? desired.fields.dept_code : actual.dept_code) ?? null,
    hadLeft: false,
    account: actual.account ?? null,
    isAnew,
  }
  return finished(outcome, {
    platformCode: first?.platformCode ?? null,
    traceId: first?.traceId ?? null,
    error: first?.message ?? null,
    stored: {
      of: 'employee',
      memory,
      isStored:
        isKnown &&
        isDeepStrictEqual(memory.overwritten, claim.overwritten) &&
        claim.atRest?.deptCode === memory.deptCode &&
        (memory.account === null || memory.account === claim.account),
      fields: updated,
      available: availableAfter(updated, desired.fields, actual),
      blockFields: sent.blockFields,
      unblockFields: updated.filter(field => isAmong(field, desired.fields[field] ?? null, claim.blocks)),
    },
    failures,
    resolve: { except: standingCases(job, desired, [...parked, ...blocked], sent), moot: unconfirmed },
  })
}

/**
 * The fields whose cases stay beside those of the failures: of what was held back, and of a number whose area code was refused, which
 * says nothing about the number. What was said of the area code of another row is over, and so is what was said of another number.
 */
function standingCases(
  { hash, claim }: { hash: string; claim: Claim },
  desired: DesiredEmployee,
  heldBack: FieldUnit[],
  { refused, failures }: Pick<SentUnits, 'refused' | 'failures'>,
): string[] {
  const isWanted = (unit: EmployeeField) =>
    claim.cases.some(
      ({ field, wanted }) => field === unit && wanted === maskValue(unit, desired.fields[unit] ?? null),
    )
  const byPartner = refused.filter(
    ({ unit }) => failures.every(({ field }) => field !== unit) && isWanted(unit),
  )
  const over = claim.cases.filter(
    ({ field, category, sourceHash }) =>
      category === 'invalid_hr_row' || (unitOf(field as EmployeeField) !== field && sourceHash !== hash),
  )
  return fieldsOf([...heldBack, ...byPartner]).filter(name => over.every(({ field }) => field !== name))
}

/**
 * What others can have after an update: the work number that was replaced, as the platform finds no one by a work number, and the
 * department of the employee, as it exists.
 */
function availableAfter(
  updated: EmployeeField[],
  { dept_code }: EmployeeFields,
  { corp_code }: EmployeeFields,
): AvailableValue[] {
  const available: AvailableValue[] = []
  if (updated.includes('corp_code') && corp_code)
    available.push({ category: 'duplicate_work_number', value: corp_code })
  if (updated.includes('dept_code') && dept_code)
    available.push({ category: 'missing_department', value: dept_code })
  return available
}

function fieldsOf(units: FieldUnit[]): EmployeeField[] {
  return units.flatMap(unit => unit.fields)
}

/** What was acknowledged of fields before they were sent. One that never was counts as empty, as where HR has no value. */
function before(acknowledged: AcknowledgedHashes, fields: EmployeeField[]): AcknowledgedHashes {
  return Object.fromEntries(fields.map(field => [field, acknowledged[field] ?? fieldHash(field, null)]))
}

/**
 * Splits the fields into those to send now and the rest: fields whose feature is off for the enterprise, fields whose case is
 * open for this very HR row (no blind retry), those `givenUp` because the platform accepted them and did not keep them, and a
 * document that is `mistaken` for another. A case that is being retried lets its field through, except the last.
 */
export function holdBack(
  differing: FieldUnit[],
  known: {
    desired: DesiredEmployee
    actual: EmployeeFields
    claim: Pick<Claim, 'cases' | 'blocks'>
    hash: string
    unkept: FieldUnit[]
  },
) {
  const { desired, actual, claim, hash, unkept } = known
  const send: FieldUnit[] = []
  const blocked: FieldUnit[] = []
  const parked: FieldUnit[] = []
  const givenUp: FieldUnit[] = []
  const mistaken: FieldUnit[] = []
  for (const unit of differing) {
    const open = caseOf(unit, hash, claim)
    if (mistakesDocument(unit, desired, actual)) mistaken.push(unit)
    else if (open?.state === 'retrying') send.push(unit)
    // A row that was invalid, and is valid by the present rules, was never sent.
    else if (open?.sourceHash === hash && open.category !== 'invalid_hr_row') parked.push(unit)
    else if (unkept.includes(unit)) (open?.category === 'not_applied' ? parked : givenUp).push(unit)
    // HR changed a failed value: it is tried, even where the feature seemed to be off for all.
    else if (open) send.push(unit)
    // Where the platform shows a value, the field is on, whatever others were refused.
    else if (isTold(unit.unit, actual)) send.push(unit)
    else if (isWithheld(unit.unit, desired.fields[unit.unit] ?? null, claim.blocks)) blocked.push(unit)
    else send.push(unit)
  }
  return { send, blocked, parked, givenUp, mistaken }
}

/** The case that decides about a unit. A number and its area code may have one each. */
function caseOf(unit: FieldUnit, hash: string, { cases }: Pick<Claim, 'cases'>): OpenCase | undefined {
  const own = cases.filter(({ field }) => field !== '' && unit.fields.includes(field as EmployeeField))
  return (
    own.find(({ state }) => state === 'retrying') ??
    own.find(({ sourceHash }) => sourceHash === hash) ??
    own[0]
  )
}

/**
 * Values that were sent again because their case is retried, and that the platform again shows not to have kept: that it
 * accepted them proves nothing.
 */
async function unheededAgain(
  { key, claim, hash }: EmployeeJob & { hash: string },
  desired: DesiredEmployee,
  accepted: FieldUnit[],
  platform: CountedPlatform,
): Promise<FieldUnit[]> {
  const probed = accepted.filter(unit => {
    const open = caseOf(unit, hash, claim)
    return open?.category === 'not_applied' && open.state === 'retrying'
  })
  if (probed.length === 0) return []
  const actual = toActual(await platform.getEmployee(employeeParams(key)))
  const differing = diffEmployee({ desired, actual, acknowledged: claim.acknowledged })
  return probed.filter(unit => differing.includes(unit))
}

/**
 * What is known of an employee and is about the account that the platform has. One that was made anew, as after an employment that
 * was ended and begun again, keeps nothing of the former's.
 */
export function aboutAccount<
  Known extends Pick<Claim, 'account' | 'acknowledgedHash' | 'acknowledged' | 'overwritten'>,
>(known: Known, { account }: ActualEmployee): Known {
  const isSame = known.account === null || account === undefined || account === known.account
  return isSame ? known : { ...known, acknowledgedHash: null, acknowledged: {}, overwritten: {} }
}

/**
 * Whether the platform's account is another person's, as far as can be told, and no one has said that it is the employee's.
 * @param hash of HR's row: whoever releases a case has seen this one
 */
export function isOfAnother(
  desired: DesiredEmployee,
  actual: EmployeeFields,
  { hadLeft, cases }: Pick<Claim, 'hadLeft' | 'cases'>,
  hash: string,
): boolean {
  const isReleased = cases.some(open => open.isReleased && open.sourceHash === hash)
  return !isReleased && isAnotherPerson(desired, actual, hadLeft)
}

/** The platform has another person under this user id. Nothing is sent. */
function anotherPerson(
  { hash, claim }: EmployeeJob,
  { fields }: DesiredEmployee,
  { card_no, dept_code, account }: ActualEmployee,
): JobResult {
  const what = message(fields.card_no && card_no ? 'said.another_person' : 'said.another_person_left')
  return finished('parked', {
    error: what,
    stored: unsent({
      ...unasked(true),
      parkedHash: hash,
      overwritten: claim.overwritten,
      ...{ hadLeft: true, account: account ?? null, isAnew: true },
      platformState: 'in_service',
      isAnswered: true,
      deptCode: dept_code ?? null,
    }),
    failures: [
      failure({
        entity: 'employee',
        category: 'another_person',
        field: 'userid',
        message: what,
        remedy: message('said.another_person_remedy'),
        changedFields: maskedFields(['name', 'card_no'], fields),
        sourceHash: hash,
        cases: claim.cases,
      }),
    ],
    // HR has somebody again. A case of its own, as a person may have put off that one.
    resolve: allBut(claim.cases.filter(({ field }) => field !== '')),
  })
}

function notApplied({ hash, claim }: EmployeeJob, desired: DesiredEmployee, unit: FieldUnit): Failure {
  return failure({
    entity: 'employee',
    category: 'not_applied',
    field: unit.unit,
    message: message('said.not_applied'),
    remedy: message('said.not_applied_remedy'),
    changedFields: maskedFields(unit.fields, desired.fields),
    sourceHash: hash,
    cases: claim.cases,
  })
}

function mistakenDocument({ hash, claim }: EmployeeJob, desired: DesiredEmployee, unit: FieldUnit): Failure {
  return failure({
    entity: 'employee',
    category: 'invalid_hr_row',
    field: unit.unit,
    message: message('said.mistaken_document'),
    remedy: message('said.mistaken_document_remedy'),
    changedFields: maskedFields(['card_no'], desired.fields),
    sourceHash: hash,
    cases: claim.cases,
  })
}

/**
 * An HR row that breaks rules: nothing is sent. Where departments are deleted, the platform is asked in which one it has the
 * employee, until it has told.
 */
async function invalidRow(
  { key, row, hash, claim, hasDepartments }: EmployeeJob,
  platform: CountedPlatform,
  problems: readonly { field: string; message: Message }[],
): Promise<JobResult> {
  const fields = problems.map(problem => problem.field)
  const isWanted = hasDepartments && (claim.isUnlocated || !claim.isInService)
  // The platform has none whose key breaks a rule.
  const isPossible = row === 'duplicate' || !fields.some(field => IN_KEY.has(field))
  const found = isWanted && isPossible ? await whereabouts(key, platform).catch(unlessRefused) : null
  const rules = problems.map(problem => problem.message)
  const what = message('said.broken_rules', { rules })
  return finished('parked', {
    error: what,
    stored: unsent({
      ...unasked(true),
      parkedHash: hash,
      overwritten: claim.overwritten,
      isAnswered: isWanted || !isPossible,
      // Of one whom it lacks, the row is what is in the way.
      ...(found?.platformState === 'in_service' && found),
    }),
    failures: [
      failure({
        entity: 'employee',
        category: 'invalid_hr_row',
        field: fields[0] ?? '',
        message: what,
        remedy: message('said.correct_row'),
        changedFields: row === 'duplicate' || row === null ? [] : hiddenFields(fields, row),
        sourceHash: hash,
        cases: claim.cases,
      }),
    ],
    // Nothing new is known of the platform's refusals; other rules of the row are checked anew.
    resolve: allBut(claim.cases.filter(open => open.category !== 'invalid_hr_row')),
  })
}

const IN_KEY: ReadonlySet<string> = new Set(['enterprise_code', 'userid'])

function unlessRefused(error: unknown): null {
  if (refusalOf(error).verdict.disposition !== 'park') throw error
  return null
}

/**
 * An employee who has left according to HR, or whom HR no longer has. The interface cannot end an employment, so one whom the
 * platform still has in service is a finding for review.
 */
async function checkLeaver(
  { key, row, hash, claim }: EmployeeJob,
  platform: CountedPlatform,
): Promise<JobResult> {
  const found = await whereabouts(key, platform)
  if (found.platformState === 'absent')
    return finished('left', {
      stored: unsent({ ...unasked(false), acknowledgedHash: hash, ...found }),
      resolve: 'all',
    })
  const what = message(row === null ? 'said.left_without_row' : 'said.left_in_hr')
  return finished('parked', {
    error: what,
    stored: unsent({ ...unasked(false), parkedHash: hash, ...found, hadLeft: true }),
    failures: [
      failure({
        entity: 'employee',
        category: 'left_hr',
        message: what,
        remedy: message('said.left_remedy'),
        sourceHash: hash,
        cases: claim.cases,
      }),
    ],
    resolve: 'all',
  })
}

/**
 * Asks about an employee whose row a person rejected. Nothing is sent: either the platform has all of the row, by an update whose
 * answer was lost, or it is only learnt where the employee is.
 */
export async function lookAtRejected(job: EmployeeJob, platform: CountedPlatform): Promise<JobResult> {
  const { key, row, hash, claim } = job
  const actual = await accountOf(key, platform)
  if (actual !== null && hash !== null && row !== null && row !== 'duplicate') {
    const validated = toDesired(row, Object.keys(row))
    if (validated.ok && hasAll(validated.desired, actual, claim, hash)) {
      const confirmed = await bringInSync({ ...job, hash }, validated.desired, actual, platform)
      return { ...confirmed, error: message('said.rejected_but_there') }
    }
  }
  const { active, overwritten, cases } = claim
  return finished('obsolete', {
    stored: unsent({ ...unasked(active), overwritten, ...whereaboutsIn(actual) }),
    resolve: allBut(cases),
  })
}

function hasAll(desired: DesiredEmployee, actual: ActualEmployee, claim: Claim, hash: string): boolean {
  const { acknowledged } = aboutAccount(claim, actual)
  return (
    desired.active &&
    !isOfAnother(desired, actual, claim, hash) &&
    diffEmployee({ desired, actual, acknowledged }).length === 0
  )
}

type Whereabouts = Pick<EmployeeMemory, 'platformState' | 'isAnswered' | 'deptCode'>

async function whereabouts(key: EmployeeKey, platform: CountedPlatform): Promise<Whereabouts> {
  return whereaboutsIn(await accountOf(key, platform))
}

function whereaboutsIn(actual: ActualEmployee | null): Whereabouts {
  return {
    platformState: actual ? 'in_service' : 'absent',
    isAnswered: true,
    deptCode: actual?.dept_code ?? null,
  }
}

/** What the platform shows of an employee; null: it has none. */
async function accountOf(key: EmployeeKey, platform: CountedPlatform): Promise<ActualEmployee | null> {
  try {
    return toActual(await platform.getEmployee(employeeParams(key)))
  } catch (error) {
    if (refusalOf(error).verdict.category !== 'not_on_platform') throw error
    return null
  }
}

/** Gets an employee's open id for a merchant application. The platform creates one when there is none (section 4.5). */
export async function bindOpenid(
  key: EmployeeKey,
  row: HrRow,
  { sellerAppid, isAnothers }: { sellerAppid: string; isAnothers: boolean },
  platform: CountedPlatform,
): Promise<JobResult> {
  if (isAnothers || row === null || row === 'duplicate' || parseActive(row.active) !== true)
    return finished('obsolete', { resolve: 'all' })
  const { open_userid } = await platform.bindOpenid({ ...employeeParams(key), seller_appid: sellerAppid })
  return finished('bound', { stored: { of: 'openid', openUserid: open_userid }, resolve: 'all' })
}
