import { askPlatform, previewOf } from '../console/employees/compared.ts'
import type { EmployeePreview } from '../console/employees/preview.ts'
import { employeeMemories } from '../console/employees/story.ts'
import { type EmployeeFields, type EmployeeKey, keyText, qualified } from '../directory/employee.ts'
import { type HrEmployeeRow, keyOfRow } from '../hr/scan.ts'
import type { Pool } from '../lib/database.ts'
import type { PlatformClient } from '../platform/client.ts'
import { PlatformError } from '../platform/errors.ts'
import { saidBy } from '../texts/message.ts'
import type { CommandContext } from './context.ts'
import { FailedError } from './failure.ts'
import { named, say } from './language.ts'
import { countsText, print, printTable, printText, printTitle } from './output.ts'
import type { Progress } from './progress.ts'

/**
 * Compares HR with the platform field by field, for all employees. Nothing is written; values are masked.
 */

/** Employees whose memories are read together, and who are compared concurrently. */
const BATCH = 100
const SAMPLE = 10

/** The result of comparing all employees. */
export interface Comparison {
  asked: number
  in_sync: number
  to_update: number
  held_back: number
  not_on_platform: number
  invalid_hr_row: number
  /** The platform refused to say: of one employee, or of their whole enterprise, of which no more are asked about then. */
  refused: number
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
 * @throws PlatformError, FailedError if it answers nothing about as many as a batch has, or about all
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
    in_sync: 0,
    to_update: 0,
    held_back: 0,
    not_on_platform: 0,
    invalid_hr_row: 0,
    refused: 0,
    unanswered: 0,
    fields: {},
    sample: [],
  }
  let done = 0
  let isAnswered = false
  const refusing = new Set<string>()
  /** Asked about since the platform last answered. */
  let silent = 0
  let first: PlatformError | undefined
  for await (const batch of batchesOf(rows)) {
    const preview = await previewer(context.pool, batch)
    const ask = (row: HrEmployeeRow) => compareOne(comparison, client, row, preview, refusing)
    const answers = await Promise.all(batch.map(ask))
    const failures = answers.filter(answer => answer instanceof PlatformError)
    isAnswered ||= answers.includes('answered')
    // A refusal of everyone has another cause than the one who was asked about.
    const isHeard = answers.includes('answered') || (isAnswered && failures.some(isRefusal))
    // The refusal of an enterprise says nothing about the others, which may come later.
    const general = failures.filter(({ verdict }) => verdict.scope !== 'enterprise')
    silent = isHeard ? 0 : silent + general.length
    // A few after many answers, as in the last batch, are no reason to throw these away.
    if (general[0] && silent >= BATCH) throw new FailedError(saidBy(general[0]))
    first ??= failures[0]
    done += batch.length
    progress.show({ state: 'running', planned: total, left: Math.max(0, total - done) })
  }
  if (first && !isAnswered) throw new FailedError(saidBy(first))
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

const isRefusal = ({ platformCode }: PlatformError) => platformCode !== undefined

/** Adds one employee to the comparison. @param refusing enterprises about which the platform refuses to be asked @returns the error if the platform gave no answer, or refused one */
async function compareOne(
  comparison: Comparison,
  client: PlatformClient,
  row: HrEmployeeRow,
  preview: Preview,
  refusing: Set<string>,
): Promise<'answered' | 'not asked' | PlatformError> {
  const key = keyOfRow(row)
  const { hr } = preview(row, null)
  if (hr === 'invalid' || hr === 'duplicate') comparison.invalid_hr_row += 1
  if (hr !== 'present') return 'not asked'
  if (refusing.has(key.enterpriseCode)) {
    comparison.refused += 1
    return 'not asked'
  }
  const answer = await askPlatform(client, key)
  comparison.asked += 1
  if (answer instanceof PlatformError) {
    const { disposition, scope } = answer.verdict
    // Any other call would fail in the same way.
    if (disposition === 'halt' && scope === 'all') throw answer
    if (scope === 'enterprise') refusing.add(key.enterpriseCode)
    comparison[isRefusal(answer) ? 'refused' : 'unanswered'] += 1
    return answer
  }
  if (answer === 'absent') comparison.not_on_platform += 1
  else count(comparison, key, preview(row, answer))
  return 'answered'
}

function count(comparison: Comparison, key: EmployeeKey, { fields }: EmployeePreview): void {
  const differing = fields.filter(({ status }) => status === 'to_send' || status === 'held_back')
  if (differing.some(({ status }) => status === 'to_send')) comparison.to_update += 1
  else if (differing.length > 0) comparison.held_back += 1
  else comparison.in_sync += 1
  const employee = qualified(key.enterpriseCode, key.userid)
  for (const { field, hr, platform, status } of differing) {
    comparison.fields[field] ??= { to_send: 0, held_back: 0 }
    comparison.fields[field][status === 'to_send' ? 'to_send' : 'held_back'] += 1
    if (comparison.sample.length < SAMPLE && status === 'to_send')
      comparison.sample.push({ employee, field, hr, platform })
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
