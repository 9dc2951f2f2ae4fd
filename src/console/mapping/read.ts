import { z } from 'zod'
import { EMPLOYEE_FIELDS } from '../../directory/employee.ts'
import { emptyShare } from '../../directory/hash.ts'
import { isOfHr } from '../../hr/source.ts'
import type { NamedSource } from '../../hr/sources.ts'
import type { Pool } from '../../lib/database.ts'
import { within } from '../../lib/waiting.ts'
import { UNRESOLVED } from '../../sync/cases/cases.ts'
import { HAS_MAPPING } from '../../sync/outbox/claim.ts'
import { lastFullReading } from '../../sync/runs/earlier-runs.ts'
import { SaidText } from '../../texts/failures.ts'
import { type Said, saidBy } from '../../texts/message.ts'
import { HR_MS, hrLate } from '../employees/key.ts'
import { RunsResult } from '../runs/query.ts'
import { DryRunLine } from './dry-runs.ts'

const File = z.object({ file: z.string(), sql: z.string() })

export const MappingResult = z.object({
  source: DryRunLine.shape.source,
  sources: RunsResult.shape.sources,
  enterprise_codes: z.array(z.string()).nullable().describe('The enterprises of the source; null: all'),
  employees: File.nullable().describe('null: the file cannot be read, see error'),
  departments: File.nullable(),
  error: SaidText.nullable().describe('Why HR or a file cannot be read, or what is wrong with the mapping'),
  since: z
    .date()
    .nullable()
    .describe('When a plan that passed first used this mapping; null: none has, or see error'),
  columns: z.array(
    z.object({
      name: z.string().describe('A field of employees, or enterprise_code, userid, active, updated_at'),
      source: z.string().describe('Its name in the SELECT'),
      type: z.string(),
      empty: z
        .number()
        .nullable()
        .describe('Share of empty values among employees in service, in the last good run, 0 to 1'),
      broken: z.int().describe('Open cases of rows that break a rule in this column'),
    }),
  ),
  unmanaged: z.array(z.string()).describe('Fields that are never touched on the platform'),
  rows: z.int().nullable().describe('Rows of the last good run that read all of them'),
  read_at: z.date().nullable(),
  history: z.array(z.object({ fingerprint: z.string(), first: z.date(), last: z.date() })),
})
export type MappingResult = z.infer<typeof MappingResult>

/** How many earlier mappings are listed. */
const HISTORY = 10

type MappingUse = MappingResult['history'][number]

/** The mapping of employees with figures for each column. If HR does not answer, the result says so. */
export async function readMappingPage(
  db: Pool,
  source: NamedSource,
): Promise<Omit<MappingResult, 'sources'>> {
  const { hr, name, codes } = source
  const [texts, described, reading, broken, history] = await Promise.all([
    orError(hr.mappingFiles()),
    orError(hr.mapping()),
    lastFullReading(db, source),
    brokenByColumn(db, codes),
    usedMappings(db, name),
  ])
  const mapping = 'error' in described ? null : described
  const files = 'error' in texts ? null : texts
  const rows = reading?.statistics.rows ?? null
  const shareOf = (column: string) =>
    reading && rows && column in reading.statistics.empty ? emptyShare(reading.statistics, column) : null
  const columns = [...(mapping?.columns ?? [])].map(([name, column]) => ({
    name,
    ...column,
    empty: shareOf(name),
    broken: broken.get(name) ?? 0,
  }))
  return {
    source: name,
    enterprise_codes: codes && [...codes],
    employees: files?.employees ?? null,
    departments: files?.departments ?? null,
    error: 'error' in described ? described.error : 'error' in texts ? texts.error : null,
    since: mapping ? await usedSince(db, name, mapping.fingerprint, history) : null,
    columns,
    unmanaged: mapping ? EMPLOYEE_FIELDS.filter(field => !mapping.fields.includes(field)) : [],
    rows,
    read_at: reading?.at ?? null,
    history: history.slice(0, HISTORY),
  }
}

async function orError<T extends object>(asked: Promise<T>): Promise<T | { error: Said }> {
  try {
    return await within(HR_MS, asked, () => hrLate(HR_MS))
  } catch (error) {
    if (!isOfHr(error)) throw error
    return { error: saidBy(error) }
  }
}

/** Open cases of invalid rows, by the first column that breaks a rule. */
async function brokenByColumn(db: Pool, codes: NamedSource['codes']): Promise<Map<string, number>> {
  const { rows } = await db.query<{ field: string; n: number }>(
    `select field, count(*)::int as n from dirsync.dead_letter d
     where category = 'invalid_hr_row' and ${UNRESOLVED}
       and ($1::text[] is null or enterprise_code = any ($1))
     group by field`,
    [codes],
  )
  return new Map(rows.map(({ field, n }) => [field, n]))
}

/** The mappings of passed plans of a source, with one index look-up each. */
async function usedMappings(db: Pool, source: string): Promise<MappingUse[]> {
  const used = `${HAS_MAPPING} and hr_source = $1`
  const { rows } = await db.query<MappingUse>(
    `with recursive fingerprints as (
       select (select min(mapping) from dirsync.sync_run where ${used}) as mapping
       union all
       select (select min(mapping) from dirsync.sync_run where ${used} and mapping > f.mapping)
       from fingerprints f where f.mapping is not null
     )
     select f.mapping as fingerprint,
            (select min(planned_at) from dirsync.sync_run where ${used} and mapping = f.mapping) as first,
            (select max(planned_at) from dirsync.sync_run where ${used} and mapping = f.mapping) as last
     from fingerprints f where f.mapping is not null order by last desc`,
    [source],
  )
  return rows
}

/** Only the latest uninterrupted use counts: a mapping may have been used before. */
async function usedSince(
  db: Pool,
  source: string,
  fingerprint: string,
  history: MappingUse[],
): Promise<Date | null> {
  const other = history.find(use => use.fingerprint !== fingerprint)
  const { rows } = await db.query<{ since: Date | null }>(
    `select min(planned_at) as since from dirsync.sync_run
     where mapping = $1 and ${HAS_MAPPING} and planned_at > coalesce($2, '-infinity'::timestamptz)
       and hr_source = $3`,
    [fingerprint, other?.last ?? null, source],
  )
  return rows[0]?.since ?? null
}
