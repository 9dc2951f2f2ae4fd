import { type ActualEmployee, toActual } from '../../directory/desired.ts'
import { type EmployeeKey, keyText } from '../../directory/employee.ts'
import { rowHash } from '../../directory/hash.ts'
import { type HrEmployeeRow, isOfHr } from '../../hr/source.ts'
import type { EmployeeLookup } from '../../hr/sources.ts'
import type { Pool } from '../../lib/database.ts'
import { within } from '../../lib/waiting.ts'
import type { PlatformClient } from '../../platform/client.ts'
import { PlatformError } from '../../platform/errors.ts'
import { employeeParams } from '../../platform/request.ts'
import { knownInHr } from '../../sync/outbox/employee.ts'
import { isUnasked, whyNotTold } from '../../sync/processes/why-not-told.ts'
import { type Said, saidBy } from '../../texts/message.ts'
import { hrLate } from './key.ts'
import { type EmployeePreview, previewEmployee } from './preview.ts'
import { type EmployeeMemories, employeeMemories } from './story.ts'

/**
 * One employee as shown to a person: HR compared with the platform, field by field. Nothing is written, values are masked,
 * and failures of HR or the platform are shown, not thrown.
 */

/** How long a person waits for one answer of the platform. */
const PLATFORM_MS = 15_000

/** One employee in HR and on the platform, as far as they answer. */
export interface EmployeeView {
  /** unknown: HR could not be asked. */
  hr: EmployeePreview['hr'] | 'unknown' | 'not_asked'
  hr_error: Said | null
  /** Whether HR's row, as it is now, is the one that the platform confirmed last; null: HR does not say. */
  row_confirmed: boolean | null
  platform: 'in_service' | 'absent' | 'unknown' | 'not_asked'
  platform_error: Said | null
  problems: EmployeePreview['problems']
  fields: EmployeePreview['fields']
}

/**
 * Looks up one employee in HR and, with a client, on the platform.
 * @param place.client asking it costs one call of its rate
 */
export async function lookAt(
  place: { db: Pool; hr: EmployeeLookup; client: PlatformClient | null; hrMs: number },
  key: EmployeeKey,
): Promise<EmployeeView & { hr: EmployeePreview['hr'] | 'unknown' }> {
  const { db, hr, client, hrMs } = place
  const [found, answer, memories] = await Promise.all([
    readHr(db, hr, key, hrMs),
    client && askPlatform(client, key, AbortSignal.timeout(PLATFORM_MS)),
    employeeMemories(db, [key]),
  ])
  const actual = isEmployee(answer) ? answer : null
  const failure = answer instanceof PlatformError ? answer : null
  const platform =
    answer === null || (failure && isUnasked(failure))
      ? 'not_asked'
      : actual
        ? 'in_service'
        : answer === 'absent'
          ? 'absent'
          : 'unknown'
  const platform_error = failure && Object.values(await whyNotTold(db, failure))
  const asked = { platform, platform_error } as const
  if ('error' in found)
    return {
      ...{ hr: 'unknown', hr_error: found.error, row_confirmed: null },
      ...asked,
      ...{ problems: [], fields: [] },
    }
  const memory = memories.get(keyText(key))
  const row_confirmed = isConfirmed(found.row, memory)
  return { ...previewOf(found.row, actual, memory), hr_error: null, row_confirmed, ...asked }
}

function isConfirmed(row: HrRow, { acknowledgedHash }: EmployeeMemories = NO_MEMORY): boolean {
  return row !== null && row !== 'duplicate' && rowHash(Object.keys(row), row) === acknowledgedHash
}

type HrRow = HrEmployeeRow | 'duplicate' | null

/** The row of HR, or why it cannot be read. */
async function readHr(
  db: Pool,
  hr: EmployeeLookup,
  key: EmployeeKey,
  timeoutMs: number,
): Promise<{ row: HrRow } | { error: Said }> {
  try {
    const reading = hr.lookup([key], { expected: missing => knownInHr(db, missing), timeoutMs })
    // The mapping may have to be described first, which has limits of its own.
    const rows = await within(timeoutMs, reading, () => hrLate(timeoutMs))
    return { row: rows.get(keyText(key)) ?? null }
  } catch (error) {
    if (isOfHr(error)) return { error: saidBy(error) }
    throw error
  }
}

const NO_MEMORY: EmployeeMemories = {
  acknowledgedHash: null,
  hadLeft: false,
  account: null,
  acknowledged: {},
  overwritten: {},
  cases: [],
  blocks: [],
  held: null,
}

/** What reconciling an employee would do, given the platform's answer. */
export function previewOf(
  row: HrRow,
  actual: ActualEmployee | null,
  memory: EmployeeMemories = NO_MEMORY,
): EmployeePreview {
  const columns = row === null || row === 'duplicate' ? [] : Object.keys(row)
  return previewEmployee({ row, columns, actual, memory })
}

/** What the platform says about an employee. `absent` is an answer too. */
export type PlatformAnswer = ActualEmployee | 'absent' | PlatformError

/** Asks the platform about an employee; an error of the platform is returned. */
export async function askPlatform(
  client: PlatformClient,
  key: EmployeeKey,
  signal?: AbortSignal,
): Promise<PlatformAnswer> {
  try {
    // A person waits for the answer about one employee; bulk comparisons take their turn.
    return toActual(await client.employees.get(employeeParams(key), signal && { signal, priority: 1 }))
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return error.verdict.category === 'not_on_platform' ? 'absent' : error
  }
}

export function isEmployee(answer: PlatformAnswer | null): answer is ActualEmployee {
  return answer !== null && answer !== 'absent' && !(answer instanceof PlatformError)
}
