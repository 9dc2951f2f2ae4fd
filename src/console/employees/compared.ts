import { toActual } from '../../directory/desired.ts'
import { type EmployeeFields, type EmployeeKey, keyText } from '../../directory/employee.ts'
import { type HrEmployeeRow, HrUnavailableError, isOfHr } from '../../hr/source.ts'
import type { EmployeeLookup } from '../../hr/sources.ts'
import type { Pool } from '../../lib/database.ts'
import { within } from '../../lib/waiting.ts'
import type { PlatformClient } from '../../platform/client.ts'
import { PlatformError } from '../../platform/errors.ts'
import { present } from '../../sync/employee.ts'
import { message, type Said, saidBy } from '../../texts/message.ts'
import { type EmployeePreview, previewEmployee } from './preview.ts'
import { type Step, stepsOf } from './steps.ts'
import { type EmployeeMemories, type EmployeeStory, employeeMemories, readEmployeeStory } from './story.ts'

/**
 * One employee as shown to a person: HR compared with the platform, field by field, and dirsync's own data. Nothing
 * is written, values are masked, and failures of HR or the platform are shown, not thrown.
 */

/** How long a page waits for HR. */
const HR_MS = 3000
/** How long a person waits for one answer of the platform. */
const PLATFORM_MS = 15_000

/** One employee in HR and on the platform, as far as they answer. */
export interface EmployeeView {
  key: EmployeeKey
  /** Null if HR cannot be read. */
  preview: EmployeePreview | null
  hrError: Said | null
  platform: 'in_service' | 'absent' | 'unknown' | 'not_asked'
  platformError: Said | null
}

/** An employee as its page shows it. */
export interface EmployeePage extends EmployeeView {
  story: EmployeeStory
  /** The last attempt, step by step. */
  steps: Step[]
}

/**
 * @param hr null if this process has no HR
 * @param client null if this process has no platform
 * @param options.ask whether to ask the platform, which costs one call of its rate
 */
export async function employeePage(
  db: Pool,
  hr: EmployeeLookup | null,
  client: PlatformClient | null,
  key: EmployeeKey,
  { ask }: { ask: boolean },
): Promise<EmployeePage> {
  const [view, story] = await Promise.all([
    lookAt({ db, hr, client: ask ? client : null, hrMs: HR_MS }, key),
    readEmployeeStory(db, key),
  ])
  return { ...view, story, steps: stepsOf(story) }
}

/** Looks up one employee in HR and, with a client, on the platform. */
export async function lookAt(
  place: { db: Pool; hr: EmployeeLookup | null; client: PlatformClient | null; hrMs?: number },
  key: EmployeeKey,
): Promise<EmployeeView> {
  const { db, hr, client, hrMs } = place
  const [found, answer, memories] = await Promise.all([
    readHr(db, hr, key, hrMs),
    client && askPlatform(client, key, AbortSignal.timeout(PLATFORM_MS)),
    employeeMemories(db, [key]),
  ])
  const actual = isEmployee(answer) ? answer : null
  const platform =
    answer === null ? 'not_asked' : actual ? 'in_service' : answer === 'absent' ? 'absent' : 'unknown'
  const view = {
    key,
    platform,
    platformError:
      answer instanceof PlatformError ? [answer.verdict.said.meaning, answer.verdict.said.remedy] : null,
  } as const
  if ('error' in found) return { ...view, preview: null, hrError: found.error }
  const preview = previewOf(found.row, actual, memories.get(keyText(key)))
  return { ...view, preview, hrError: null }
}

type HrRow = HrEmployeeRow | 'duplicate' | null

/** The row of HR, or why it cannot be read. Without a limit, waits as long as a job does. */
async function readHr(
  db: Pool,
  hr: EmployeeLookup | null,
  key: EmployeeKey,
  timeoutMs?: number,
): Promise<{ row: HrRow } | { error: Said }> {
  if (hr === null) return { error: message('said.hr_not_read_here') }
  try {
    const reading = hr.lookup([key], {
      expected: missing => present(db, missing),
      ...(timeoutMs !== undefined && { timeoutMs }),
    })
    // The mapping may have to be described first, which has limits of its own.
    const rows = await (timeoutMs === undefined
      ? reading
      : within(timeoutMs, reading, () => tooSlow(timeoutMs)))
    return { row: rows.get(keyText(key)) ?? null }
  } catch (error) {
    if (isOfHr(error)) return { error: saidBy(error) }
    throw error
  }
}

function tooSlow(ms: number): Error {
  return new HrUnavailableError(message('said.hr_late', { seconds: ms / 1000 }))
}

const NO_MEMORY: EmployeeMemories = { acknowledged: {}, overwritten: {}, cases: [], blocks: [] }

/** What reconciling an employee would do, given the platform's answer. */
export function previewOf(
  row: HrRow,
  actual: EmployeeFields | null,
  memory: EmployeeMemories = NO_MEMORY,
): EmployeePreview {
  const columns = row === null || row === 'duplicate' ? [] : Object.keys(row)
  return previewEmployee({ row, columns, actual, memory })
}

/** What the platform says about an employee. `absent` is an answer too. */
export type PlatformAnswer = EmployeeFields | 'absent' | PlatformError

/** Asks the platform about an employee; an error of the platform is returned. */
export async function askPlatform(
  client: PlatformClient,
  { enterpriseCode, userid }: EmployeeKey,
  signal?: AbortSignal,
): Promise<PlatformAnswer> {
  const query = enterpriseCode === '' ? { userid } : { userid, enterprise_code: enterpriseCode }
  try {
    // A person waits for the answer about one employee; bulk comparisons take their turn.
    return toActual(await client.employees.get(query, signal && { signal, priority: 1 }))
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return error.verdict.category === 'not_on_platform' ? 'absent' : error
  }
}

function isEmployee(answer: PlatformAnswer | null): answer is EmployeeFields {
  return answer !== null && answer !== 'absent' && !(answer instanceof PlatformError)
}
