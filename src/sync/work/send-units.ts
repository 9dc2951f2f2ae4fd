import { codesOf, type FieldUnit, isTold, updateParams } from '../../directory/difference.ts'
import type { DesiredEmployee, EmployeeField, EmployeeFields } from '../../directory/employee.ts'
import { DEFAULT_MOBILE_AREA } from '../../directory/field-rules.ts'
import { fieldHash } from '../../directory/hash.ts'
import type { EmployeeQuery } from '../../platform/operations/employee.ts'
import { enterpriseParams } from '../../platform/request.ts'
import type { Claim } from '../outbox/claim.ts'
import {
  type Failure,
  failureOfRefusal,
  maskedFields,
  type Refusal,
  type RefusedField,
  refusalOf,
} from '../outbox/outcome.ts'
import type { CountedPlatform } from './counted-platform.ts'

interface UpdateJob {
  claim: Claim
  hash: string
  desired: DesiredEmployee
  actual: EmployeeFields
}

export interface SentUnits {
  accepted: FieldUnit[]
  refused: FieldUnit[]
  failures: Failure[]
  blockFields: RefusedField[]
}

/**
 * Sends the units in one update. When the platform refuses one field, it becomes a case and the rest is sent without it; when
 * it does not say which (1000220002), each unit is sent alone, so that a bad field holds back only itself.
 * @throws PlatformError that is not bound to a field
 */
export async function sendUnits(
  job: UpdateJob,
  units: FieldUnit[],
  platform: CountedPlatform,
): Promise<SentUnits> {
  const sent: SentUnits = { accepted: [], refused: [], failures: [], blockFields: [] }
  const freed = new Set<FieldUnit>()
  // Batches still to be sent: usually one; a unit each when it is unknown which one is bad.
  const batches = units.length > 0 ? [units] : []
  for (let batch = batches.shift(); batch; batch = batches.shift()) {
    const refused = await sendBatch(job, batch, platform)
    if (refused === null) {
      sent.accepted.push(...batch)
      continue
    }
    const { unit } = refused
    if (unit === null) {
      batches.push(...batch.map(single => [single]))
      continue
    }
    const holder = await findHolder(job, refused.verdict.category, platform)
    if (holder === 'unheld' && !freed.has(unit)) {
      // Its holder gave it up between the two calls: the same update may succeed now.
      freed.add(unit)
      batches.unshift(batch)
      continue
    }
    sent.refused.push(unit)
    park(job, refused, unit, holder === 'unheld' ? null : (holder?.userid ?? null), sent)
    const rest = batch.filter(other => other !== unit)
    if (rest.length > 0) batches.unshift(rest)
  }
  return sent
}

/** Null when the platform accepted all of it. */
async function sendBatch(
  { desired, actual }: UpdateJob,
  batch: FieldUnit[],
  platform: CountedPlatform,
): Promise<RefusedUnit | null> {
  try {
    await platform.updateEmployee(updateParams(desired, actual, batch))
    return null
  } catch (error) {
    return refusedUnit(batch, error)
  }
}

interface RefusedUnit extends Refusal {
  /** Null when it is unknown which of several units it was. */
  unit: FieldUnit | null
}

/** The unit that the platform refused. Rethrows errors that are not bound to a field. */
function refusedUnit(batch: FieldUnit[], thrown: unknown): RefusedUnit {
  const { error, verdict } = refusalOf(thrown)
  const problems = error.problems ?? []
  const named = batch.find(
    unit =>
      unit.unit === verdict.field ||
      problems.some(({ field }) => unit.fields.includes(field as EmployeeField)),
  )
  if (!named && (verdict.category !== 'invalid_parameter' || verdict.disposition !== 'park')) throw error
  return { error, verdict, unit: named ?? (batch.length === 1 ? (batch[0] ?? null) : null) }
}

function park(
  { claim, hash, desired, actual }: UpdateJob,
  refused: Refusal,
  { unit, fields }: FieldUnit,
  blockedBy: string | null,
  sent: SentUnits,
): void {
  const { error, verdict } = refused
  sent.failures.push(
    failureOfRefusal(refused, {
      entity: 'employee',
      field: verdict.category === 'invalid_mobile_area' ? 'mobile_area' : unit,
      changedFields: maskedFields(fields, desired.fields),
      blockedBy,
      sourceHash: hash,
      cases: claim.cases,
    }),
  )
  // Where the platform shows a value, the field is switched on: it refuses this value.
  if (verdict.category !== 'feature_disabled' || isTold(unit, actual)) return
  const value = desired.fields[unit] ?? null
  sent.blockFields.push({
    field: unit,
    platformCode: error.platformCode ?? null,
    valueHash: fieldHash(unit, value),
    codes: codesOf(unit, value),
    isWhole: verdict.scope === 'enterprise',
  })
}

/**
 * The employee who has the mobile number or e-mail address already; `unheld` if the platform finds none, null when the refusal is
 * about something else.
 */
async function findHolder(
  job: UpdateJob,
  category: string,
  platform: CountedPlatform,
): Promise<{ userid: string | null } | 'unheld' | null> {
  const { mobile, mobile_area, email } = job.desired.fields
  const enterprise = enterpriseParams(job.desired.key.enterpriseCode)
  const queries: EmployeeQuery[] = []
  if (category === 'duplicate_email' && email) queries.push({ ...enterprise, email })
  if (category === 'duplicate_mobile' && mobile) {
    // A number is taken whatever its area code, and the platform finds it by its own area alone.
    const areas = new Set([mobile_area ?? DEFAULT_MOBILE_AREA, DEFAULT_MOBILE_AREA])
    for (const area of areas) queries.push({ ...enterprise, mobile, mobile_area: area })
  }
  for (const query of queries)
    try {
      return { userid: (await platform.getEmployee(query)).userid ?? null }
    } catch (error) {
      if (refusalOf(error).verdict.category !== 'not_on_platform') throw error
    }
  return queries.length > 0 ? 'unheld' : null
}
