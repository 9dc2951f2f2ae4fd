import { toActual } from '../directory/desired.ts'
import { type EmployeeFields, type EmployeeKey, keyText } from '../directory/employee.ts'
import type { HrSource } from '../hr/source.ts'
import type { PlatformClient } from '../platform/client.ts'
import { PlatformError, verdictOf } from '../platform/errors.ts'
import { employeeMemories } from '../report/employee-story.ts'
import { type EmployeePreview, previewEmployee } from '../report/preview.ts'
import type { CommandContext } from './context.ts'
import { FailedError } from './failure.ts'
import { entityName } from './output.ts'
import type { Progress } from './progress.ts'

const BATCH = 100
const SAMPLE = 10

/** What asking the platform about every employee came to. */
export interface Comparison {
  asked: number
  in_step: number
  to_update: number
  held_back: number
  not_on_platform: number
  invalid_hr_row: number
  /** The platform gave no usable answer. */
  unanswered: number
  /** Employees per field that differs. */
  fields: Record<string, { to_send: number; held_back: number }>
  /** Some of the differences, masked. */
  sample: { employee: string; field: string; hr: string | null; platform: string | null }[]
}

/** Asks the platform about every employee and compares field by field; nothing is written. */
export async function compareAll(
  context: CommandContext,
  keys: EmployeeKey[],
  progress: Progress,
): Promise<Comparison> {
  const hr = await context.hr()
  const client = await context.platform()
  const { columns } = (await hr.inspect()).employees
  const comparison: Comparison = {
    asked: 0,
    in_step: 0,
    to_update: 0,
    held_back: 0,
    not_on_platform: 0,
    invalid_hr_row: 0,
    unanswered: 0,
    fields: {},
    sample: [],
  }
  for (let from = 0; from < keys.length; from += BATCH) {
    const batch = keys.slice(from, from + BATCH)
    await compareBatch({ context, hr, client, columns }, batch, comparison)
    progress.show({
      state: 'running',
      planned: keys.length,
      left: keys.length - from - batch.length,
      message: null,
    })
  }
  return comparison
}

async function compareBatch(
  parts: { context: CommandContext; hr: HrSource; client: PlatformClient; columns: string[] },
  keys: EmployeeKey[],
  comparison: Comparison,
): Promise<void> {
  const [rows, memories] = await Promise.all([
    parts.hr.lookup(keys),
    employeeMemories(parts.context.pool, keys),
  ])
  const preview = (key: EmployeeKey, actual: EmployeeFields | null) =>
    previewEmployee({
      row: rows.get(keyText(key)) ?? null,
      columns: parts.columns,
      actual,
      memory: memories.get(keyText(key)) ?? {
        acknowledged: {},
        overwritten: {},
        cases: [],
        blocks: [],
      },
    })
  let failed: PlatformError | null = null
  let answered = 0
  await Promise.all(
    keys.map(async key => {
      const { hr } = preview(key, null)
      if (hr === 'invalid' || hr === 'duplicate') comparison.invalid_hr_row += 1
      if (hr !== 'present') return
      const answer = await ask(parts.client, key)
      comparison.asked += 1
      if (answer instanceof PlatformError) {
        comparison.unanswered += 1
        failed = answer
        return
      }
      answered += 1
      if (answer === 'absent') comparison.not_on_platform += 1
      else count(comparison, key, preview(key, answer))
    }),
  )
  const last = failed as PlatformError | null
  if (last && answered === 0) throw new FailedError(last.message)
}

/** @throws PlatformError that stands in the way of every call */
async function ask(
  client: PlatformClient,
  { enterpriseCode, userid }: EmployeeKey,
): Promise<EmployeeFields | 'absent' | PlatformError> {
  const query = enterpriseCode === '' ? { userid } : { userid, enterprise_code: enterpriseCode }
  try {
    return toActual(await client.employees.get(query))
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const { category, disposition, scope } = verdictOf(error)
    if (category === 'not_on_platform') return 'absent'
    if (disposition === 'halt' && scope === 'all') throw error
    return error
  }
}

function count(comparison: Comparison, key: EmployeeKey, { fields }: EmployeePreview): void {
  const differing = fields.filter(({ standing }) => standing === 'to_send' || standing === 'held_back')
  if (differing.some(({ standing }) => standing === 'to_send')) comparison.to_update += 1
  else if (differing.length > 0) comparison.held_back += 1
  else comparison.in_step += 1
  const employee = entityName({ enterprise_code: key.enterpriseCode, entity_key: key.userid })
  for (const { field, hr, platform, standing } of differing) {
    comparison.fields[field] ??= { to_send: 0, held_back: 0 }
    comparison.fields[field][standing === 'to_send' ? 'to_send' : 'held_back'] += 1
    if (comparison.sample.length < SAMPLE && standing === 'to_send')
      comparison.sample.push({ employee, field, hr, platform: platform ?? null })
  }
}
