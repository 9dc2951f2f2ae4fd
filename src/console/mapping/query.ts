import { z } from 'zod'
import type { EmployeeKey } from '../../directory/employee.ts'
import { MappingError, type MappingFile } from '../../hr/source.ts'
import type { EmployeeLookup, NamedSource } from '../../hr/sources.ts'
import type { Pool } from '../../lib/database.ts'
import { DIFFERENCES } from '../../sync/plan/dry-run-tables.ts'
import { SaidText } from '../../texts/failures.ts'
import { message } from '../../texts/message.ts'
import type { Ask } from '../ask.ts'
import { lookAt } from '../employees/compared.ts'
import { HR_MS } from '../employees/key.ts'
import { EmployeeResult } from '../employees/query.ts'
import { cursor, listOf, pageSize, rowNumber } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { RANGE, rangeOf } from '../range.ts'
import type { Services } from '../services.ts'
import { DryRunEntity, DryRunLine, dryRunPage, listDryRuns, readDryRun } from './dry-runs.ts'
import { type MappingResult, readMappingPage } from './read.ts'

// The mapping in use

export const SourceQuery = z.object({
  source: z.string().max(20).optional().describe('Name of one of several HR sources; absent: the first one'),
})

/** @throws Problem if there is no source of that name */
export function sourceOf({ hr }: Services, name: string | undefined): NamedSource {
  const source = name === undefined || name === '' ? hr.all[0] : hr.named(name)
  if (!source) throw new Problem('not_found', message('said.no_such_source', { name: JSON.stringify(name) }))
  return source
}

export async function readMappingResult(
  services: Services,
  name: string | undefined,
): Promise<MappingResult> {
  const page = await readMappingPage(services.pool, sourceOf(services, name))
  return { ...page, sources: namesOf(services) }
}

export function namesOf({ hr }: Services): string[] {
  return hr.areNamed ? hr.all.map(({ name }) => name) : []
}

// Trying one employee

export const TriedResult = z.object({
  enterprise_code: z.string(),
  userid: z.string(),
  hr: z.enum(['present', 'left', 'absent', 'duplicate', 'invalid', 'unknown']),
  error: SaidText.nullable(),
  fields: z
    .array(z.object({ field: z.string(), value: z.string().nullable(), problem: SaidText.nullable() }))
    .describe('Values are masked'),
  problems: EmployeeResult.shape.problems,
})
export type TriedResult = z.infer<typeof TriedResult>

/** Reads one employee with the mapping in use, and validates the row as a sync would. */
export async function tryEmployee(
  place: { db: Pool; hr: EmployeeLookup },
  key: EmployeeKey,
): Promise<TriedResult> {
  const { hr, hr_error, fields, problems } = await lookAt({ ...place, client: null, hrMs: HR_MS }, key)
  return {
    ...{ enterprise_code: key.enterpriseCode, userid: key.userid, hr, error: hr_error },
    fields: fields.map(({ field, hr: value, note }) => ({ field, value, problem: note })),
    problems,
  }
}

// Dry runs

export const DryRunsQuery = z.object({
  source: SourceQuery.shape.source.describe('Only those of this one of several HR sources; absent: all'),
  ...RANGE,
  cursor,
  limit: pageSize,
})
export const DryRunsResult = listOf(DryRunLine)
export type DryRunsResult = z.infer<typeof DryRunsResult>

export async function readDryRuns(
  services: Services,
  ask: Ask,
  query: z.output<typeof DryRunsQuery>,
): Promise<DryRunsResult> {
  return listDryRuns(services.pool, {
    ...{ after: query.cursor, limit: query.limit, ...rangeOf(ask, query) },
    source: query.source ? sourceOf(services, query.source).name : undefined,
  })
}

export const DryRunParams = z.object({ id: rowNumber })
export const DryRunQuery = z.object({
  what: z.enum(DIFFERENCES).optional().describe('Only employees with this difference'),
  cursor,
  limit: pageSize,
})

const Counted = z.array(z.object({ field: z.string(), n: z.int() }))

export const DryRunResult = DryRunLine.extend({
  mapping: z.string(),
  error_line: z.int().nullable().describe('The line of the error in the SELECT, from 1'),
  error_column: z.int().nullable(),
  summary: z
    .object({
      rows: z.int(),
      rows_today: z.int(),
      in_scope: z.int(),
      verdict: z
        .enum(['running', 'held', 'source_suspect'])
        .describe('The state that a run with it would reach'),
      verdict_message: SaidText.nullable(),
      planned: z.record(z.string(), z.int()).describe('What it would plan, by reason'),
      compared: z.record(z.string(), z.int()).describe('Employees by kind of difference'),
      columns: Counted.describe('Employees by field that changes'),
      departments: z.array(z.object({ department: z.string(), n: z.int() })),
      broken: Counted.describe('Employees by column that breaks a rule'),
      broken_today: Counted,
      added_columns: z.array(z.string()),
      removed_columns: z.array(z.string()),
      empty: z
        .record(z.string(), z.number())
        .describe('Share of empty values per column among employees in service, 0 to 1'),
      stored: z.int().describe('Employees whose differences are stored'),
    })
    .nullable(),
  adopt: z
    .object({
      file: z.string(),
      is_in_use: z.boolean().describe('true: the file holds this SELECT already'),
      shared_with: z.array(z.string()).describe('Other HR sources that have this file as their mapping'),
    })
    .nullable()
    .describe('The file of the mapping in use; null: it cannot be read'),
  ...listOf(DryRunEntity).shape,
})
export type DryRunResult = z.infer<typeof DryRunResult>

export async function readDryRunResult(
  { pool, hr }: Pick<Services, 'pool' | 'hr'>,
  id: number,
  query: z.output<typeof DryRunQuery>,
): Promise<DryRunResult> {
  const found = await readDryRun(pool, id)
  if (!found) throw new Problem('not_found', message('said.no_such_dry_run', { id }))
  const { cursor: after, limit, what: reason } = query
  const source = found.source === '' ? hr.all[0] : hr.named(found.source)
  const others = found.source === '' ? [] : hr.all.filter(({ name }) => name !== found.source)
  const [page, file, ...files] = await Promise.all([
    dryRunPage(pool, id, { after, limit, reason }),
    employeesFile(source),
    ...others.map(employeesFile),
  ])
  const { summary } = found
  return {
    ...found,
    summary: summary && {
      rows: summary.rows,
      rows_today: summary.rowsToday,
      in_scope: summary.inScope,
      verdict: summary.verdict,
      verdict_message: summary.verdictMessage,
      planned: summary.planned,
      compared: summary.compared,
      columns: summary.columns,
      departments: summary.departments,
      broken: summary.broken,
      broken_today: summary.brokenToday,
      added_columns: summary.addedColumns,
      removed_columns: summary.removedColumns,
      empty: summary.empty,
      stored: summary.stored,
    },
    adopt:
      source && file
        ? {
            file: file.file,
            is_in_use: isInUse(source, file, found.mapping),
            shared_with: others.flatMap((other, i) => (files[i]?.file === file.file ? [other.name] : [])),
          }
        : null,
    ...page,
  }
}

/** What is shown to those who may not choose a SELECT: its keys hold whatever it says, such as a column that is masked elsewhere. */
export function withoutKeys(result: DryRunResult): DryRunResult {
  const { summary } = result
  return {
    ...result,
    summary: summary && { ...summary, verdict_message: null, departments: [] },
    items: [],
    next: null,
  }
}

/** Whether a text has the SELECT of the mapping in use; what follows its final semicolon counts in neither. */
function isInUse({ hr }: NamedSource, { file, sql }: MappingFile, text: string): boolean {
  try {
    return statementOf(hr.selectOf({ file, sql: text })) === statementOf(sql)
  } catch (error) {
    // It was one when it was tried: of a source of another kind.
    if (error instanceof MappingError) return false
    throw error
  }
}

/** Browsers send CRLF line ends, and a file ends with one. */
const statementOf = (text: string) => text.replaceAll('\r\n', '\n').trim()

/** The present mapping of employees; null if the file cannot be read. */
export async function employeesFile(source: NamedSource | null | undefined): Promise<MappingFile | null> {
  try {
    return source ? (await source.hr.mappingFiles()).employees : null
  } catch (error) {
    if (error instanceof MappingError) return null
    throw error
  }
}
