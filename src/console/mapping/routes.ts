import { z } from 'zod'
import { MappingError } from '../../hr/source.ts'
import { requestDryRun } from '../../sync/plan/dry-run.ts'
import { saidBy } from '../../texts/message.ts'
import type { Ask } from '../ask.ts'
import { mayAs } from '../auth/viewer.ts'
import { resolveKey } from '../employees/key.ts'
import { action, type Endpoint, read } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { dryRunShown, dryRunsBody } from './dry-run-view.ts'
import {
  DryRunParams,
  DryRunQuery,
  DryRunResult,
  DryRunsQuery,
  DryRunsResult,
  employeesFile,
  namesOf,
  readDryRunResult,
  readDryRuns,
  readMappingResult,
  SourceQuery,
  sourceOf,
  TriedResult,
  tryEmployee,
  withoutKeys,
} from './query.ts'
import { MappingResult } from './read.ts'
import { mappingBody } from './view.ts'

/** A form writes a Chinese character in nine bytes. */
const MAPPING_BODY_BYTES = 1024 * 1024
const mappingText = z
  .string()
  .min(1)
  .max(100_000)
  .describe('One SELECT of employees, as HR_EMPLOYEES_SQL holds one; read-only, in HR’s database')

export const screen: Screen = {
  name: 'mapping',
  topics: {
    dry_runs: `
      select string_agg(concat_ws('|', id, state, phase, rows_read), ',' order by id)
      from dirsync.dry_run where state in ('requested', 'running')`,
  },
  endpoints: mapping,
}

function mapping(services: Services): Endpoint[] {
  return [
    read({
      path: '/mapping',
      role: 'viewer',
      summary: 'The columns of the mapping: types, share of empty values, rule breaks; unmanaged fields',
      query: SourceQuery,
      result: MappingResult,
      run: (_ask, { input }) => readMappingResult(services, input.source),
      page: (ask, result) => ({
        title: ask.t('mapping.title'),
        body: mappingBody(ask, result, null),
      }),
    }),
    action({
      path: '/mapping/try',
      role: 'operator',
      summary: 'What the mapping gives for one employee, and the rules that the row breaks. Changes nothing',
      body: z.object({ key: z.string().trim().min(1).max(400).describe('User id, or enterprise/userid') }),
      looks: 'try_mapping',
      result: TriedResult,
      async run(_ask, { input }) {
        const { pool: db, hr } = services
        return tryEmployee({ db, hr }, await resolveKey(services, input.key))
      },
      page: async (ask, tried) => ({
        title: ask.t('mapping.title'),
        body: mappingBody(
          ask,
          await readMappingResult(services, services.hr.of(tried.enterprise_code)?.name),
          tried,
        ),
      }),
    }),
    read({
      path: '/mapping/dry-runs',
      role: 'viewer',
      summary: 'Dry runs of other SELECTs, the latest first',
      query: DryRunsQuery,
      result: DryRunsResult,
      run: (ask, { input }) => readDryRuns(services, ask, input),
      page: async (ask, result, { input }) => {
        const source = sourceOf(services, input.source)
        return dryRunsPage(
          ask,
          result,
          { text: (await employeesFile(source))?.sql ?? '', source: source.name, sources: namesOf(services) },
          null,
          input,
        )
      },
    }),
    action({
      path: '/mapping/dry-runs',
      role: 'operator',
      summary:
        'Finds out what a SELECT, or a run with the one in use, would change, without changing anything',
      body: SourceQuery.extend({ mapping: mappingText.optional() }),
      bodyLimit: MAPPING_BODY_BYTES,
      starts: ({ id }) => `/mapping/dry-runs/${id}`,
      result: z.object({ id: z.int() }),
      run: (ask, { input }) => request(services, ask, input),
      next: (_ask, { id }) => ({ to: `/mapping/dry-runs/${id}` }),
      refused: async (ask, problem, { input }) => {
        // Of the text in the form it is the mistake alone; the mapping in use is in a file, which has to be named.
        const { reason, place } =
          problem.cause instanceof MappingError && input.mapping !== undefined
            ? problem.cause
            : { reason: problem.said, place: null }
        const dryRuns = await readDryRuns(services, ask, { limit: 20 })
        const text = input.mapping ?? (await employeesFile(sourceOf(services, input.source)))?.sql ?? ''
        const given = { text, source: input.source ?? '', sources: namesOf(services) }
        return dryRunsPage(ask, dryRuns, given, { message: reason, place })
      },
    }),
    read({
      path: '/mapping/dry-runs/:id',
      role: 'viewer',
      summary:
        'One dry run: progress, figures and, for operators, the employees for whom the SELECT makes a difference',
      params: DryRunParams,
      query: DryRunQuery,
      result: DryRunResult,
      run: async (ask, { params, input }) => {
        const result = await readDryRunResult(services, params.id, input)
        return mayAs(ask.viewer.role, 'operator') ? result : withoutKeys(result)
      },
      shown: (ask, result, { input }) => dryRunShown(ask, result, input.what),
    }),
    action({
      path: '/mapping/dry-runs/:id/cancel',
      role: 'operator',
      summary: 'Ends a dry run that is not over',
      params: DryRunParams,
      result: z.object({ id: z.int() }),
      run: async (ask, { params }) => ({ id: await ask.commands.cancelDryRun(params.id) }),
      next: (_ask, { id }) => ({ to: `/mapping/dry-runs/${id}` }),
    }),
  ]
}

async function request(
  services: Services,
  { asker }: Ask,
  { mapping, source }: { mapping?: string | undefined; source?: string | undefined },
): Promise<{ id: number }> {
  const { name, hr } = sourceOf(services, source)
  try {
    const text = mapping ?? (await hr.mappingFiles()).employees.sql
    // Browsers send CRLF line ends in forms.
    return { id: await requestDryRun(services, asker, { sql: text.replaceAll('\r\n', '\n'), source: name }) }
  } catch (error) {
    if (!(error instanceof MappingError)) throw error
    throw new Problem('invalid', saidBy(error), { field: 'mapping', cause: error })
  }
}

function dryRunsPage(
  ask: Ask,
  result: DryRunsResult,
  given: Parameters<typeof dryRunsBody>[2],
  mistake: Parameters<typeof dryRunsBody>[3],
  filter: Parameters<typeof dryRunsBody>[4] = {},
) {
  return {
    title: ask.t('mapping.dry_runs'),
    body: dryRunsBody(ask, result, given, mistake, filter),
  }
}
