import { toActual } from '../core/actual.ts'
import { toDesired } from '../core/desired.ts'
import { diffEmployee, type FieldUnit, isTold } from '../core/diff.ts'
import type { EmployeeField, EmployeeKey } from '../core/employee.ts'
import { hashFields } from '../core/field-hash.ts'
import type { HrEmployeeRow } from '../hr/source.ts'
import type { Claim } from '../store/claim.ts'
import { checkLeaver } from './check-leaver.ts'
import type { CountedPlatform } from './counted-platform.ts'
import { employeeQuery, unasked } from './employee-memory.ts'
import { failure, maskedFields } from './failure.ts'
import { type JobResult, result } from './job-result.ts'
import { sendUnits } from './send-units.ts'

export interface EmployeeJob {
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
  const { send, blocked, parked } = holdBack(differing, claim, hash)
  const untold = send.filter(({ unit }) => !isTold(unit, actual)).flatMap(unit => unit.fields)
  if (untold.length > 0) await job.doubt(untold)
  const sent = await sendUnits({ claim, hash, desired, actual }, send, platform)

  const fields = sent.accepted.flatMap(unit => unit.fields)
  const unconfirmed = [...blocked, ...parked, ...sent.refused].flatMap(unit => unit.fields)
  const confirmed = (Object.keys(desired.fields) as EmployeeField[]).filter(
    field => !unconfirmed.includes(field),
  )
  const complete = unconfirmed.length === 0
  const switchedOff = sent.blockFields.map(block => block.field)
  const [first] = sent.failures
  return result(
    complete ? (fields.length > 0 ? 'updated' : 'in_step') : fields.length > 0 ? 'partly_updated' : 'parked',
    {
      employee: {
        active: true,
        sourceHash: hash,
        acknowledgedHash: complete ? hash : null,
        parkedHash: complete ? null : hash,
        // Of a row that was confirmed before, and needed nothing, every field's hash is known already.
        acknowledged:
          complete && fields.length === 0 && hash === claim.acknowledgedHash
            ? {}
            : hashFields(desired.fields, confirmed),
        withheld: [...blocked.map(unit => unit.unit), ...switchedOff],
        platformState: 'in_service',
        deptCode: (fields.includes('dept_code') ? desired.fields.dept_code : actual.dept_code) ?? null,
      },
      failures: sent.failures,
      keep: [...parked, ...blocked].flatMap(unit => unit.fields),
      blockFields: sent.blockFields,
      unblockFields: fields.filter(field => claim.blockedFields.includes(field)),
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
 * What is sent now, and what is not: fields whose feature is off for the enterprise, and fields whose case is open for
 * this very HR row (no blind retry). A case that is being retried lets its field through.
 */
export function holdBack(
  differing: FieldUnit[],
  claim: Pick<Claim, 'cases' | 'blockedFields'>,
  hash: string,
) {
  const send: FieldUnit[] = []
  const blocked: FieldUnit[] = []
  const parked: FieldUnit[] = []
  for (const unit of differing) {
    const open = claim.cases.find(({ field }) => field !== '' && unit.fields.includes(field as EmployeeField))
    if (open?.state === 'retrying') send.push(unit)
    else if (open?.sourceHash === hash) parked.push(unit)
    // HR changed what failed: that is tried, also where the feature seemed to be off for everybody.
    else if (open) send.push(unit)
    else if (claim.blockedFields.includes(unit.unit)) blocked.push(unit)
    else send.push(unit)
  }
  return { send, blocked, parked }
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
    employee: { ...unasked(true), sourceHash: hash, parkedHash: hash },
    failures: [
      failure({
        entity: 'employee',
        category: 'invalid_hr_row',
        field,
        message,
        remedy: 'Correct the row in HR; it is tried again as soon as it changes.',
        changedFields:
          job.row === 'duplicate' || job.row === null ? [] : maskedFields(fields as EmployeeField[], job.row),
        sourceHash: hash,
        cases: job.claim.cases,
      }),
    ],
    // Nothing new is known of what the platform refused; other rules of the row are judged anew.
    keep: job.claim.cases.filter(open => open.category !== 'invalid_hr_row').map(open => open.field),
    attempt: { error: message },
  })
}
