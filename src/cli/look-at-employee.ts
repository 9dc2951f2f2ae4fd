import { toActual } from '../directory/desired.ts'
import { type EmployeeFields, type EmployeeKey, keyText } from '../directory/employee.ts'
import { HrDataError, type HrSource, HrUnavailableError } from '../hr/source.ts'
import type { PlatformClient } from '../platform/client.ts'
import { PlatformError, verdictOf } from '../platform/errors.ts'
import { employeeMemories } from '../report/employee-story.ts'
import { type EmployeePreview, type FieldPreview, previewEmployee } from '../report/preview.ts'
import { enterpriseCodes, findEmployees } from '../sync/employee.ts'
import type { CommandContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import { colours, print, printArrow, printText, table } from './output.ts'

/** Longer than this nobody waits for an answer of the platform. */
const PATIENCE_MS = 15_000

/** HR and the platform side by side, as far as both answer. */
interface EmployeeView {
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

/**
 * The one employee whom a person means by a user id, or `enterprise/userid`.
 * @param hr null when HR is away: then dirsync's own memory has to know
 * @throws FailedError when nobody knows such an employee, UsageError when several are meant
 */
async function findEmployee(
  { pool, config }: CommandContext,
  hr: HrSource | null,
  name: string,
): Promise<EmployeeKey> {
  const known = await findEmployees(pool, [name])
  const inHr = hr
    ? await findInHr(hr, name, await enterpriseCodes(pool, config.PLATFORM_ENTERPRISE_CODE))
    : []
  const found = [...new Map([...known, ...inHr].map(key => [keyText(key), key])).values()]
  const [first, second] = found
  if (!first)
    throw new FailedError(
      hr
        ? `neither HR nor dirsync knows an employee ${name}`
        : `dirsync knows no employee ${name}, and HR cannot be asked`,
    )
  if (second) {
    const names = found.map(({ enterpriseCode, userid }) => `${enterpriseCode}/${userid}`)
    throw new UsageError(`${name} may be any of ${names.join(', ')}: name one of them`)
  }
  return first
}

async function findInHr(hr: HrSource, name: string, enterprises: string[]): Promise<EmployeeKey[]> {
  const slash = name.indexOf('/')
  const candidates = [
    ...enterprises.map(enterpriseCode => ({ enterpriseCode, userid: name })),
    // No run may have met the named enterprise yet.
    ...(slash > 0 ? [{ enterpriseCode: name.slice(0, slash), userid: name.slice(slash + 1) }] : []),
  ]
  const rows = await hr.lookup(candidates, { anyEnterprise: true })
  return candidates.filter(key => rows.has(keyText(key)))
}

const STANDINGS: Record<FieldPreview['standing'], string> = {
  in_step: 'in step',
  to_send: 'to be sent',
  held_back: 'held back',
  invalid: 'invalid',
  unknown: '',
}

const IN_HR: Record<EmployeePreview['hr'], string> = {
  present: 'HR has the employee.',
  left: 'HR says that the employee has left: nothing is sent.',
  absent: 'HR has no row for the employee: nothing is sent.',
  duplicate: 'HR delivers the employee more than once: nothing is sent.',
  invalid: 'The HR row breaks rules: nothing is sent until it is corrected.',
}

const ON_PLATFORM: Record<EmployeeView['platform'], string> = {
  in_service: 'The platform has the employee in service.',
  absent: 'The platform has no such employee in service.',
  unknown: '',
}

/** HR against the platform, field by field; every value is masked already. */
export function printView({ preview, hrError, platform, platformError }: EmployeeView): void {
  if (hrError) print(colours.yellow(`  HR cannot be asked: ${hrError}`))
  if (preview) print(`  ${IN_HR[preview.hr]}`)
  if (platformError) printText(`The platform did not answer: ${platformError}`)
  else print(`  ${ON_PLATFORM[platform]}`)
  if (!preview || preview.fields.length === 0) return
  print('')
  process.stdout.write(
    table(
      [
        { title: 'FIELD', of: row => row.field },
        { title: 'HR', of: row => row.hr, gives: true },
        {
          title: 'PLATFORM',
          of: row => (row.platform === undefined ? 'not told' : row.platform),
          gives: true,
        },
        { title: 'STANDING', of: row => STANDINGS[row.standing], paint: paintStanding },
      ],
      preview.fields,
    ),
  )
  for (const { message } of preview.problems) printArrow(message)
  for (const { field, standing, note } of preview.fields)
    if (note !== null && standing !== 'invalid') printArrow(`${field}: ${note}`)
}

function paintStanding(cell: string, { standing }: FieldPreview): string {
  if (standing === 'to_send') return colours.cyan(cell)
  if (standing === 'held_back') return colours.yellow(cell)
  return standing === 'invalid' ? colours.red(cell) : cell
}
