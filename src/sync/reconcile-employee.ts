import { toActual, toDesired } from '../directory/desired.ts'
import {
  diffEmployee,
  type FieldUnit,
  isAmong,
  isTold,
  isWithheld,
  overwrittenAfter,
  unkeptUnits,
} from '../directory/difference.ts'
import type { DesiredEmployee, EmployeeField, EmployeeKey } from '../directory/employee.ts'
import { parseActive } from '../directory/field-rules.ts'
import { type AcknowledgedHashes, hashFields } from '../directory/hash.ts'
import type { HrEmployeeRow } from '../hr/source.ts'
import type { Claim, OpenCase } from './claim.ts'
import type { CountedPlatform } from './counted-platform.ts'
import { failure, hiddenFields, judge, maskedFields } from './failure.ts'
import { sendUnits } from './send-units.ts'
import { employeeQuery, type Failure, type JobResult, result, unasked } from './settlement.ts'

interface EmployeeJob {
  key: EmployeeKey
  claim: Claim
  /** The present HR row, read when the job runs. */
  row: HrEmployeeRow | 'duplicate' | null
  /** Hash of the row; null where it is none. */
  hash: string | null
  /**
   * Forgets what is known of fields whose value the platform does not tell, before they are sent: should their outcome
   * stay unknown, they are sent again.
   */
  doubt: (fields: EmployeeField[]) => Promise<void>
}

/**
 * Brings one employee in step: asks the platform, sends the fields that differ, and holds back only what the platform refuses.
 * Field-bound refusals become cases; every other error of the platform is thrown for the processor to judge.
 */
export async function reconcileEmployee(job: EmployeeJob, platform: CountedPlatform): Promise<JobResult> {
  const { key, claim, row, hash } = job
  if (row === null) return checkLeaver(job, null, platform)
  if (row === 'duplicate' || hash === null)
    return invalidRow(job, null, 'userid', 'HR delivers this employee more than once', [])
  const validated = toDesired(row, Object.keys(row))
  if (!validated.ok) {
    const { problems } = validated
    return invalidRow(
      job,
      hash,
      problems[0]?.field ?? '',
      problems.map(problem => problem.message).join('; '),
      problems.map(problem => problem.field),
    )
  }
  const { desired } = validated
  if (!desired.active) return checkLeaver(job, hash, platform)

  const actual = toActual(await platform.getEmployee(employeeQuery(key)))
  const differing = diffEmployee({ desired, actual, acknowledged: claim.acknowledged })
  const unkept = unkeptUnits(differing, { desired, actual, ...claim })
  const { send, blocked, parked, givenUp } = holdBack(differing, desired, claim, hash, unkept)
  const untold = send.filter(({ unit }) => !isTold(unit, actual)).flatMap(unit => unit.fields)
  if (untold.length > 0) await job.doubt(untold)
  const sent = await sendUnits({ claim, hash, desired, actual }, send, platform)
  const unheeded = [...givenUp, ...(await unheededAgain(job, desired, sent.accepted, platform))]
  const failures = [...sent.failures, ...unheeded.map(unit => notApplied(job, hash, desired, unit))]

  const fields = sent.accepted.filter(unit => !unheeded.includes(unit)).flatMap(unit => unit.fields)
  const unconfirmed = [...blocked, ...parked, ...sent.refused, ...unheeded].flatMap(unit => unit.fields)
  const confirmed = (Object.keys(desired.fields) as EmployeeField[]).filter(
    field => !unconfirmed.includes(field),
  )
  const undoubted = sent.refused.flatMap(unit => unit.fields).filter(field => untold.includes(field))
  const complete = unconfirmed.length === 0
  const [first] = failures
  return result(
    complete ? (fields.length > 0 ? 'updated' : 'in_step') : fields.length > 0 ? 'partly_updated' : 'parked',
    {
      employee: {
        active: true,
        acknowledgedHash: complete ? hash : null,
        parkedHash: complete ? null : hash,
        // Of a row that was confirmed before, and needed nothing, every field's hash is known already.
        acknowledged:
          complete && fields.length === 0 && hash === claim.acknowledgedHash
            ? {}
            : // What was doubted while it was on its way is known again where the platform refused it.
              { ...hashFields(desired.fields, confirmed), ...pick(claim.acknowledged, undoubted) },
        overwritten: overwrittenAfter(claim.overwritten, { differing, accepted: sent.accepted, actual }),
        withheld: blocked.map(unit => unit.unit),
        platformState: 'in_service',
        deptCode: (fields.includes('dept_code') ? desired.fields.dept_code : actual.dept_code) ?? null,
      },
      failures,
      keep: [...parked, ...blocked].flatMap(unit => unit.fields),
      blockFields: sent.blockFields,
      unblockFields: fields.filter(field => isAmong(field, desired.fields[field] ?? null, claim.blocks)),
      attempt: {
        fields,
        platformCode: first?.platformCode ?? null,
        traceId: first?.traceId ?? null,
        error: first?.message ?? null,
      },
    },
  )
}

/**
 * What is sent now, and what is not: fields whose feature is off for the enterprise, fields whose case is open for this very
 * HR row (no blind retry), and those `givenUp` because the platform accepted them and did not keep them. A case that is
 * being retried lets its field through.
 */
export function holdBack(
  differing: FieldUnit[],
  desired: DesiredEmployee,
  claim: Pick<Claim, 'cases' | 'blocks'>,
  hash: string,
  unkept: FieldUnit[],
) {
  const send: FieldUnit[] = []
  const blocked: FieldUnit[] = []
  const parked: FieldUnit[] = []
  const givenUp: FieldUnit[] = []
  for (const unit of differing) {
    const open = caseOf(unit, claim)
    if (open?.state === 'retrying') send.push(unit)
    else if (open?.sourceHash === hash) parked.push(unit)
    else if (unkept.includes(unit)) (open?.category === 'not_applied' ? parked : givenUp).push(unit)
    // HR changed what failed: that is tried, also where the feature seemed to be off for everybody.
    else if (open) send.push(unit)
    else if (isWithheld(unit.unit, desired.fields[unit.unit] ?? null, claim.blocks)) blocked.push(unit)
    else send.push(unit)
  }
  return { send, blocked, parked, givenUp }
}

function caseOf(unit: FieldUnit, { cases }: Pick<Claim, 'cases'>): OpenCase | undefined {
  return cases.find(({ field }) => field !== '' && unit.fields.includes(field as EmployeeField))
}

/**
 * Values that were sent again because their case is retried, and that the platform shows not to have kept this time either:
 * that it accepted them proves nothing.
 */
async function unheededAgain(
  { key, claim }: EmployeeJob,
  desired: DesiredEmployee,
  accepted: FieldUnit[],
  platform: CountedPlatform,
): Promise<FieldUnit[]> {
  const probed = accepted.filter(unit => {
    const open = caseOf(unit, claim)
    return open?.category === 'not_applied' && open.state === 'retrying'
  })
  if (probed.length === 0) return []
  const actual = toActual(await platform.getEmployee(employeeQuery(key)))
  const differing = diffEmployee({ desired, actual, acknowledged: claim.acknowledged })
  return probed.filter(unit => differing.includes(unit))
}

function notApplied(job: EmployeeJob, hash: string, desired: DesiredEmployee, unit: FieldUnit): Failure {
  return failure({
    entity: 'employee',
    category: 'not_applied',
    field: unit.unit,
    message: 'The platform accepted this value, and shows again what it showed before.',
    remedy:
      "Find out in the platform's back office what keeps or puts back the other value (a rule, another system), or correct HR.",
    changedFields: maskedFields(unit.fields, desired.fields),
    sourceHash: hash,
    cases: job.claim.cases,
  })
}

function pick(hashes: AcknowledgedHashes, fields: EmployeeField[]): AcknowledgedHashes {
  return Object.fromEntries(fields.flatMap(field => (hashes[field] ? [[field, hashes[field]]] : [])))
}

/** An HR row that breaks a rule: no call is made for it. */
function invalidRow(
  job: EmployeeJob,
  hash: string | null,
  field: string,
  message: string,
  fields: string[],
): JobResult {
  return result('parked', {
    employee: { ...unasked(true), parkedHash: hash },
    failures: [
      failure({
        entity: 'employee',
        category: 'invalid_hr_row',
        field,
        message,
        remedy: 'Correct the row in HR; it is tried again as soon as it changes.',
        changedFields: job.row === 'duplicate' || job.row === null ? [] : hiddenFields(fields, job.row),
        sourceHash: hash,
        cases: job.claim.cases,
      }),
    ],
    // Nothing new is known of what the platform refused; other rules of the row are judged anew.
    keep: job.claim.cases.filter(open => open.category !== 'invalid_hr_row').map(open => open.field),
    attempt: { error: message },
  })
}

/**
 * An employee whom HR has as a leaver, or has no more. The interface cannot end an employment, so one whom the platform
 * still has in service is a finding for review.
 * @param hash of the leaver's HR row; null when HR has none
 */
async function checkLeaver(
  job: EmployeeJob,
  hash: string | null,
  platform: CountedPlatform,
): Promise<JobResult> {
  const memory = { ...unasked(false), acknowledgedHash: hash }
  let deptCode: string | null
  try {
    deptCode = (await platform.getEmployee(employeeQuery(job.key))).dept_code ?? null
  } catch (error) {
    if (judge(error).verdict.category !== 'not_on_platform') throw error
    return result('left', { employee: { ...memory, platformState: 'absent' }, keep: [] })
  }
  const message =
    hash === null
      ? 'HR has no row for this employee any more, but the platform still has them in service.'
      : 'HR says that this employee has left, but the platform still has them in service.'
  return result('parked', {
    employee: { ...memory, acknowledgedHash: null, parkedHash: hash, platformState: 'in_service', deptCode },
    failures: [
      failure({
        entity: 'employee',
        category: 'left_hr',
        message,
        remedy: "End the employment in the platform's back office (its interface cannot), or correct HR.",
        sourceHash: hash,
        cases: job.claim.cases,
      }),
    ],
    keep: [],
    attempt: { error: message },
  })
}

/** Learns the open id of an employee for a merchant application; the platform makes one when there is none (4.5). */
export async function bindOpenid(
  job: Pick<EmployeeJob, 'key' | 'row'>,
  sellerAppid: string,
  platform: CountedPlatform,
): Promise<JobResult> {
  const { key, row } = job
  if (row === null || row === 'duplicate' || parseActive(row.active) !== true)
    return result('obsolete', { keep: [] })
  const { open_userid } = await platform.bindOpenid({ ...employeeQuery(key), seller_appid: sellerAppid })
  return result('bound', { binding: open_userid, keep: [] })
}
