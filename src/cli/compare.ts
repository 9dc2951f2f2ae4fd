import { askPlatform, type EmployeeView, lookAt, previewOf } from '../console/employees/compared.ts'
import type { EmployeePreview, FieldPreview } from '../console/employees/preview.ts'
import { employeeMemories } from '../console/employees/story.ts'
import { type EmployeeFields, type EmployeeKey, keyText, qualified } from '../directory/employee.ts'
import { type HrEmployeeRow, keyOfRow } from '../hr/scan.ts'
import { HrDataError, HrUnavailableError } from '../hr/source.ts'
import type { HrSources } from '../hr/sources.ts'
import type { Pool } from '../lib/database.ts'
import type { PlatformClient } from '../platform/client.ts'
import { PlatformError } from '../platform/errors.ts'
import { enterpriseCodes, findEmployees, present } from '../sync/employee.ts'
import { type Said, saidBy } from '../texts/message.ts'
import type { TextKey } from '../texts/texts.ts'
import type { CommandContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import { named, said, say } from './language.ts'
import { colours, countsText, print, printArrow, printTable, printText, printTitle } from './output.ts'
import type { Progress } from './progress.ts'

/**
 * Compares HR with the platform field by field, for one employee or all of them. Nothing is written; values are
 * masked.
 */

/**
 * Compares one employee, by the name that a person typed.
 * @throws FailedError if no such employee is known, UsageError if the name is ambiguous
 */
export async function lookAtEmployee(context: CommandContext, name: string): Promise<EmployeeView> {
  const hr = await context.hr()
  const hrError = await failureOf(hr)
  const readable = hrError === null ? hr : null
  const key = await findEmployee(context, readable, name)
  const view = await lookAt({ db: context.pool, hr: readable, client: await context.platform() }, key)
  return hrError === null ? view : { ...view, hrError }
}

/** Why HR cannot be read; dirsync's own memory is then used instead. Null if it can. */
async function failureOf(hr: HrSources): Promise<Said | null> {
  // One of several sources may be down; an employee of that source reports it.
  if (hr.areNamed) return null
  try {
    await hr.fingerprint()
    return null
  } catch (error) {
    if (error instanceof HrUnavailableError || error instanceof HrDataError) return saidBy(error)
    throw error
  }
}

/** The employee whom a person means. Without HR, dirsync's own memory has to know them. */
async function findEmployee(
  { pool, config }: CommandContext,
  hr: HrSources | null,
  name: string,
): Promise<EmployeeKey> {
  const known = await findEmployees(pool, [name])
  const { keys: inHr, silent } = hr
    ? await findInHr(pool, hr, name, config.PLATFORM_ENTERPRISE_CODE)
    : { keys: [], silent: ['HR'] }
  const found = [...new Map([...known, ...inHr].map(key => [keyText(key), key])).values()]
  const [first, second] = found
  if (!first)
    throw new FailedError(
      silent.length === 0
        ? `neither HR nor dirsync knows an employee ${name}`
        : `dirsync knows no employee ${name}, and ${silent.join(' and ')} cannot be asked`,
    )
  if (second) {
    const names = found.map(({ enterpriseCode, userid }) => `${enterpriseCode}/${userid}`)
    throw new UsageError(`${name} may be any of ${names.join(', ')}: name one of them`)
  }
  return first
}

/** Employees of that name in HR, and the sources that could not be read. */
async function findInHr(
  pool: Pool,
  hr: HrSources,
  name: string,
  ownEnterprise: string,
): Promise<{ keys: EmployeeKey[]; silent: string[] }> {
  const { keys, failures } = await hr.find([name], await enterpriseCodes(pool, ownEnterprise), {
    expected: missing => present(pool, missing),
  })
  if (failures[0] && !hr.areNamed) throw failures[0].error
  const silent = failures.map(({ source }) => `HR source ${source.name}`)
  return { keys, silent }
}

const IN_HR: Record<EmployeePreview['hr'], TextKey> = {
  present: 'shell.in_hr.present',
  left: 'shell.in_hr.left',
  absent: 'shell.in_hr.absent',
  duplicate: 'shell.in_hr.duplicate',
  invalid: 'shell.in_hr.invalid',
}

const ON_PLATFORM: Record<EmployeeView['platform'], TextKey | null> = {
  in_service: 'shell.on_platform.in_service',
  absent: 'shell.on_platform.absent',
  unknown: null,
  not_asked: null,
}

const STANDINGS: Record<FieldPreview['standing'], TextKey | null> = {
  in_step: 'shell.field_standing.in_step',
  to_send: 'shell.field_standing.to_send',
  held_back: 'shell.field_standing.held_back',
  invalid: 'shell.field_standing.invalid',
  unknown: null,
}

/** Prints one employee, field by field. */
export function printView({ preview, hrError, platform, platformError }: EmployeeView): void {
  if (hrError) print(colours.yellow(`  ${say('shell.hr_not_asked', { reason: said(hrError) })}`))
  if (preview) print(`  ${say(IN_HR[preview.hr])}`)
  if (platformError) printText(say('shell.platform_silent', { reason: said(platformError) }))
  else print(`  ${sayOr(ON_PLATFORM[platform])}`)
  if (!preview || preview.fields.length === 0) return
  print('')
  printTable(preview.fields, [
    { title: say('shell.column.field'), of: row => named('field', row.field) },
    { title: say('shell.column.hr'), of: row => row.hr, gives: true },
    {
      title: say('shell.column.platform'),
      of: row => (row.platform === undefined ? say('shell.not_told') : row.platform),
      gives: true,
    },
    { title: say('shell.column.standing'), of: row => sayOr(STANDINGS[row.standing]), paint: paintStanding },
  ])
  for (const { message } of preview.problems) printArrow(said(message))
  for (const { field, standing, note } of preview.fields)
    if (note !== null && standing !== 'invalid') printArrow(`${named('field', field)}: ${said(note)}`)
}

function sayOr(key: TextKey | null): string {
  return key === null ? '' : say(key)
}

function paintStanding(cell: string, { standing }: FieldPreview): string {
  if (standing === 'to_send') return colours.cyan(cell)
  if (standing === 'held_back') return colours.yellow(cell)
  return standing === 'invalid' ? colours.red(cell) : cell
}

/** The view as a JSON document, without its fields. */
export function viewDocument({ key, preview, hrError, platform, platformError }: EmployeeView) {
  return {
    enterprise_code: key.enterpriseCode,
    userid: key.userid,
    hr: preview?.hr ?? 'unknown',
    hr_error: hrError,
    platform,
    platform_error: platformError,
    problems: preview?.problems ?? [],
  }
}

/** Employees whose memories are read together, and who are compared concurrently. */
const BATCH = 100
const SAMPLE = 10

/** The result of comparing all employees. */
export interface Comparison {
  asked: number
  in_step: number
  to_update: number
  held_back: number
  not_on_platform: number
  invalid_hr_row: number
  /** The platform gave no usable answer. */
  unanswered: number
  /** Number of employees per differing field. */
  fields: Record<string, { to_send: number; held_back: number }>
  /** Some of the differences. */
  sample: { employee: string; field: string; hr: string | null; platform: string | null }[]
}

/**
 * Asks the platform about each employee in `rows`.
 * @param total the approximate number of rows
 * @throws PlatformError, FailedError if it answers none of a batch
 */
export async function compareAll(
  context: CommandContext,
  rows: AsyncIterable<HrEmployeeRow>,
  total: number,
  progress: Progress,
): Promise<Comparison> {
  const client = await context.platform()
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
  let done = 0
  for await (const batch of batchesOf(rows)) {
    const preview = await previewer(context.pool, batch)
    const answers = await Promise.all(batch.map(row => compareOne(comparison, client, row, preview)))
    const failure = answers.find(answer => answer instanceof PlatformError)
    if (failure && !answers.includes('answered')) throw new FailedError(failure.message)
    done += batch.length
    progress.show({ state: 'running', planned: total, left: Math.max(0, total - done) })
  }
  return comparison
}

async function* batchesOf(rows: AsyncIterable<HrEmployeeRow>): AsyncGenerator<HrEmployeeRow[]> {
  let batch: HrEmployeeRow[] = []
  for await (const row of rows) {
    batch.push(row)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Adds one employee to the comparison. */
async function compareOne(
  comparison: Comparison,
  client: PlatformClient,
  row: HrEmployeeRow,
  preview: Preview,
): Promise<'answered' | 'not asked' | PlatformError> {
  const key = keyOfRow(row)
  const { hr } = preview(row, null)
  if (hr === 'invalid' || hr === 'duplicate') comparison.invalid_hr_row += 1
  if (hr !== 'present') return 'not asked'
  const answer = await askPlatform(client, key)
  comparison.asked += 1
  if (answer instanceof PlatformError) {
    const { disposition, scope } = answer.verdict
    // Any other call would fail in the same way.
    if (disposition === 'halt' && scope === 'all') throw answer
    comparison.unanswered += 1
    return answer
  }
  if (answer === 'absent') comparison.not_on_platform += 1
  else count(comparison, key, preview(row, answer))
  return 'answered'
}

function count(comparison: Comparison, key: EmployeeKey, { fields }: EmployeePreview): void {
  const differing = fields.filter(({ standing }) => standing === 'to_send' || standing === 'held_back')
  if (differing.some(({ standing }) => standing === 'to_send')) comparison.to_update += 1
  else if (differing.length > 0) comparison.held_back += 1
  else comparison.in_step += 1
  const employee = qualified(key.enterpriseCode, key.userid)
  for (const { field, hr, platform, standing } of differing) {
    comparison.fields[field] ??= { to_send: 0, held_back: 0 }
    comparison.fields[field][standing === 'to_send' ? 'to_send' : 'held_back'] += 1
    if (comparison.sample.length < SAMPLE && standing === 'to_send')
      comparison.sample.push({ employee, field, hr, platform: platform ?? null })
  }
}

/** Prints the result of comparing all employees. */
export function printComparison(comparison: Comparison): void {
  // Without `asked`, the counts add up to the number in scope.
  const { fields, sample, asked: _, ...counts } = comparison
  printTitle(say('shell.title.on_the_platform'))
  printText(countsText(counts, 'shell.compared'))
  if (Object.keys(fields).length > 0) {
    print('')
    printTable(
      Object.entries(fields).sort(([, a], [, b]) => b.to_send - a.to_send),
      [
        { title: say('shell.column.field'), of: ([field]) => named('field', field) },
        { title: say('shell.column.to_send'), of: ([, count]) => count.to_send, align: 'right' },
        { title: say('shell.column.held_back'), of: ([, count]) => count.held_back, align: 'right' },
      ],
    )
  }
  if (sample.length === 0) return
  printTitle(say('shell.title.sample'))
  printTable(sample, [
    { title: say('shell.column.employee'), of: row => row.employee },
    { title: say('shell.column.field'), of: row => named('field', row.field) },
    { title: say('shell.column.hr'), of: row => row.hr, gives: true },
    { title: say('shell.column.platform'), of: row => row.platform, gives: true },
  ])
}

/** What reconciling an employee would do, given the platform's answer. */
type Preview = (row: HrEmployeeRow, actual: EmployeeFields | null) => EmployeePreview

/** Reads dirsync's memory of some employees. */
async function previewer(pool: Pool, rows: readonly HrEmployeeRow[]): Promise<Preview> {
  const memories = await employeeMemories(pool, rows.map(keyOfRow))
  return (row, actual) => previewOf(row, actual, memories.get(keyText(keyOfRow(row))))
}
