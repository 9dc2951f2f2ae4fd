import { type FieldUnit, updateParams } from '../core/diff.ts'
import type { DesiredEmployee, EmployeeField, EmployeeFields } from '../core/employee.ts'
import { PlatformError } from '../platform/errors.ts'
import type { Claim } from '../store/claim.ts'
import type { Failure } from '../store/settlement.ts'
import type { CountedPlatform } from './counted-platform.ts'
import { employeeQuery } from './employee-memory.ts'
import { maskedFields, refusal } from './failure.ts'
import { judge } from './judge.ts'

interface Sending {
  claim: Claim
  hash: string
  desired: DesiredEmployee
  actual: EmployeeFields
}

export interface Sent {
  accepted: FieldUnit[]
  refused: FieldUnit[]
  failures: Failure[]
  blockFields: { field: string; platformCode: number | null }[]
}

/**
 * Sends the units in one update. When the platform refuses one field, it becomes a case and the rest goes through without
 * it; when it does not say which (1000220002), each unit is sent alone, so that a bad field holds back nothing but itself.
 * @throws PlatformError that is not bound to a field
 */
export async function sendUnits(job: Sending, units: FieldUnit[], platform: CountedPlatform): Promise<Sent> {
  const sent: Sent = { accepted: [], refused: [], failures: [], blockFields: [] }
  // Batches still to be sent; usually one, a unit each once nobody knows which one is bad.
  const batches = units.length > 0 ? [units] : []
  for (let batch = batches.shift(); batch; batch = batches.shift()) {
    try {
      await platform.updateEmployee(updateParams(job.desired, job.actual, batch))
      sent.accepted.push(...batch)
    } catch (error) {
      const bad = await refuse(job, batch, error, sent, platform)
      const rest = batch.filter(unit => unit !== bad)
      if (bad === null) batches.push(...batch.map(unit => [unit]))
      else if (rest.length > 0) batches.unshift(rest)
    }
  }
  return sent
}

/** The unit that the platform refused, as a case; null when it is unknown which of several it was. */
async function refuse(
  job: Sending,
  batch: FieldUnit[],
  thrown: unknown,
  sent: Sent,
  platform: CountedPlatform,
): Promise<FieldUnit | null> {
  const { error, verdict } = judge(thrown)
  const problems = error.problems ?? []
  const named = batch.find(
    unit =>
      unit.unit === verdict.field ||
      problems.some(({ field }) => unit.fields.includes(field as EmployeeField)),
  )
  if (!named && (verdict.category !== 'invalid_parameter' || verdict.disposition !== 'park')) throw error
  const bad = named ?? (batch.length === 1 ? batch[0] : undefined)
  if (!bad) return null
  sent.refused.push(bad)
  sent.failures.push(
    refusal(error, verdict, {
      entity: 'employee',
      field: verdict.category === 'invalid_mobile_area' ? 'mobile_area' : bad.unit,
      changedFields: maskedFields(bad.fields, job.desired.fields),
      blockedBy: await holder(job, verdict.category, platform),
      sourceHash: job.hash,
      cases: job.claim.cases,
    }),
  )
  if (verdict.category === 'feature_disabled')
    sent.blockFields.push({
      field: bad.unit,
      platformCode: error.platformCode ?? null,
    })
  return bad
}

/** User id of whoever has the mobile number or e-mail address already; null when the platform does not tell. */
async function holder(job: Sending, category: string, platform: CountedPlatform): Promise<string | null> {
  const { mobile, mobile_area, email } = job.desired.fields
  const { enterprise_code } = employeeQuery(job.desired.key)
  const enterprise = enterprise_code === undefined ? {} : { enterprise_code }
  const query =
    category === 'duplicate_mobile' && mobile
      ? { ...enterprise, mobile, ...(mobile_area ? { mobile_area } : {}) }
      : category === 'duplicate_email' && email
        ? { ...enterprise, email }
        : null
  if (!query) return null
  try {
    return (await platform.getEmployee(query)).userid ?? null
  } catch (error) {
    // Naming the holder is a kindness: without an answer the case is still complete.
    if (error instanceof PlatformError && error.kind === 'business') return null
    throw error
  }
}
