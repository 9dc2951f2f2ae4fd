import { toActual } from '../core/actual.ts'
import { type EmployeeFields, type EmployeeKey, keyText } from '../core/employee.ts'
import { HrDataError, HrUnavailableError } from '../hr/errors.ts'
import type { HrSource } from '../hr/source.ts'
import type { PlatformClient } from '../platform/client.ts'
import { verdictOf } from '../platform/error-catalogue.ts'
import { PlatformError } from '../platform/errors.ts'
import { employeeMemories } from '../store/employee-story.ts'
import { type EmployeePreview, previewEmployee } from '../sync/preview-employee.ts'
import type { CommandContext } from './context.ts'
import { findEmployee } from './find-employee.ts'

/** Longer than this nobody waits for an answer of the platform. */
const PATIENCE_MS = 15_000

/** HR and the platform side by side, as far as both answer. */
export interface EmployeeView {
  key: EmployeeKey
  /** Null when HR cannot be asked. */
  preview: EmployeePreview | null
  hrError: string | null
  platform: 'in_service' | 'absent' | 'unknown'
  platformError: string | null
}

/** Looks at one employee, named as a person does. Personal data comes out masked. */
export async function lookAtEmployee(context: CommandContext, name: string): Promise<EmployeeView> {
  const hr = await context.hr()
  const asked = await inspectHr(hr)
  const key = await findEmployee(context, 'error' in asked ? null : hr, name)
  const answer = await askPlatform(await context.platform(), key)
  const platform = { platform: answer.state, platformError: answer.error }
  if ('error' in asked) return { key, preview: null, hrError: asked.error, ...platform }
  const [rows, memories] = await Promise.all([hr.lookup([key]), employeeMemories(context.pool, [key])])
  const memory = memories.get(keyText(key)) ?? {
    acknowledged: {},
    overwritten: {},
    cases: [],
    blocks: [],
  }
  const row = rows.get(keyText(key)) ?? null
  const preview = previewEmployee({ row, columns: asked.columns, actual: answer.actual, memory })
  return { key, preview, hrError: null, ...platform }
}

async function inspectHr(hr: HrSource): Promise<{ columns: string[] } | { error: string }> {
  try {
    return { columns: (await hr.inspect()).employees.columns }
  } catch (error) {
    if (error instanceof HrUnavailableError || error instanceof HrDataError) return { error: error.message }
    throw error
  }
}

/** Asks the platform about an employee; that it has none is an answer, anything else that fails is told. */
async function askPlatform(
  client: PlatformClient,
  { enterpriseCode, userid }: EmployeeKey,
): Promise<{ state: EmployeeView['platform']; actual: EmployeeFields | null; error: string | null }> {
  const query = enterpriseCode === '' ? { userid } : { userid, enterprise_code: enterpriseCode }
  try {
    const answer = await client.employees.get(query, {
      signal: AbortSignal.timeout(PATIENCE_MS),
      priority: 1,
    })
    return { state: 'in_service', actual: toActual(answer), error: null }
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const { category, meaning, remedy } = verdictOf(error)
    if (category === 'not_on_platform') return { state: 'absent', actual: null, error: null }
    return { state: 'unknown', actual: null, error: `${meaning} ${remedy}` }
  }
}
