import { type DryRun, dryRunPage, readDryRun } from '../console/mapping/dry-runs.ts'
import { qualified } from '../directory/employee.ts'
import { MappingError, placed } from '../hr/errors.ts'
import { readMappingFile } from '../hr/mapping.ts'
import { dryRunNow } from '../sync/dry-run.ts'
import { lastSweep } from '../sync/plan-employees.ts'
import { limitsOf } from '../sync/safety.ts'
import { openContext } from './context.ts'
import { excerpt } from './excerpt.ts'
import { FailedError, stopSignal, UsageError } from './failure.ts'
import { named, namedList, said, say } from './language.ts'
import {
  colours,
  countsText,
  figure,
  print,
  printFacts,
  printJson,
  printTable,
  printText,
  printTitle,
} from './output.ts'
import { createProgress } from './progress.ts'
import { oneSource } from './source.ts'

const SAMPLE = 20
const POLL_MS = 500

/** The state that a run would reach, in JSON documents. */
export const VERDICTS = {
  running: 'would run',
  held: 'would be held',
  source_suspect: 'would stop: HR looks wrong',
}

/** The same for people. */
export const VERDICT_TEXTS = {
  running: 'shell.would_run',
  held: 'shell.would_be_held',
  source_suspect: 'shell.would_stop',
} as const

/** `dirsync plan --mapping FILE`: what another SELECT of employees would change. It is stored, for the console too. */
export async function dryRunOf(file: string, options: { json?: true; source?: string }): Promise<void> {
  const mapping = await readMappingFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof MappingError) throw error
    throw new UsageError(`${file} cannot be read (${error.code})`)
  })
  await using context = await openContext({ handlesSignals: true })
  await context.assertAccount()
  const { pool, config, logger, actor, program } = context
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const hr = await context.hr()
  const source = oneSource(hr.all, options.source)
  const progress = createProgress(say('shell.reading'), options.json === true)
  // The new SELECT is read twice, today's once. The last run tells about how many rows each has.
  const total = 3 * ((await lastSweep(pool, source))?.statistics.rows ?? 0)
  let number: number | null = null
  const telling = setInterval(async () => {
    const found = number === null ? null : await readDryRun(pool, number).catch(() => null)
    if (found?.state === 'running' && total > 0)
      progress.show({ state: 'running', planned: total, left: Math.max(0, total - found.rowsRead) })
  }, POLL_MS)
  const id = await dryRunNow(
    { pool, hr, limits: limitsOf(config), memoryMb: config.DRY_RUN_MEMORY_MB, logger },
    { actor },
    { sql: mapping, source: source.name },
    {
      signal: stop.signal,
      begun: begun => {
        number = begun
      },
    },
  )
    .catch(error => {
      if (!(error instanceof MappingError)) throw error
      throw new MappingError(error.code, file, error.reason, { place: error.place })
    })
    .finally(() => {
      clearInterval(telling)
      progress.end()
    })
  const found = await readDryRun(pool, id)
  if (!found) throw new FailedError(`dry run ${id} is gone`)
  const { entities } = await dryRunPage(pool, id, { limit: SAMPLE })
  if (options.json) printJson(documentOf(found, entities))
  else printDryRun(found, entities, file, program)
  if (found.state !== 'done' || found.summary?.verdict !== 'running') throw new FailedError('')
}

type Entities = Awaited<ReturnType<typeof dryRunPage>>['entities']

function documentOf({ id, state, message, errorLine, errorColumn, summary }: DryRun, entities: Entities) {
  return {
    dry_run: id,
    state,
    message,
    error: errorLine === null ? null : { line: errorLine, column: errorColumn },
    verdict: summary && VERDICTS[summary.verdict],
    verdict_message: summary?.verdictMessage ?? null,
    ...(summary && {
      rows: summary.rows,
      rows_today: summary.rowsToday,
      in_scope: summary.inScope,
      planned: summary.planned,
      compared: summary.compared,
      columns: summary.columns,
      departments: summary.departments,
      broken: summary.broken,
      broken_today: summary.brokenToday,
      added_columns: summary.addedColumns,
      removed_columns: summary.removedColumns,
      empty: summary.empty,
    }),
    sample: entities.map(({ enterpriseCode, entityKey, ...entity }) => ({
      enterprise_code: enterpriseCode,
      key: entityKey,
      ...entity,
    })),
  }
}

function printDryRun(found: DryRun, entities: Entities, file: string, program: string): void {
  const { id, state, message, summary, mapping } = found
  const head = (verdict: string) =>
    print(say('shell.plan_verdict', { plan: colours.bold(say('shell.dry_run_of', { id, file })), verdict }))
  if (state !== 'done' || !summary) {
    const place = found.errorLine === null ? null : { line: found.errorLine, column: found.errorColumn }
    head(colours.red(say('shell.dry_run_failed')))
    printText(place ? `${placed(file, place)}: ${said(message ?? [])}` : said(message ?? []))
    if (place) print(...excerpt(mapping, place))
    return
  }
  const { verdict, compared, columns, broken, brokenToday } = summary
  head((verdict === 'running' ? colours.green : colours.yellow)(say(VERDICT_TEXTS[verdict])))
  if (summary.verdictMessage) printText(said(summary.verdictMessage))
  const none = say('shell.none')
  printFacts([
    [
      say('shell.fact.rows'),
      say('shell.rows_and_today', { rows: figure(summary.rows), today: figure(summary.rowsToday) }),
    ],
    [say('shell.fact.against_today'), countsText(compared, 'mapping.one') || say('shell.no_difference')],
    [say('shell.fact.columns'), fieldCounts(columns)],
    [say('shell.fact.break_rules'), fieldCounts(broken) || (brokenToday.length > 0 ? none : null)],
    [
      say('shell.fact.today'),
      broken.length + brokenToday.length > 0 ? fieldCounts(brokenToday) || none : null,
    ],
    [say('shell.fact.added'), namedList('field', summary.addedColumns)],
    [say('shell.fact.left_out'), namedList('field', summary.removedColumns)],
    [say('shell.fact.a_run_plans'), countsText(summary.planned, 'reason') || say('shell.nothing_to_do')],
  ])
  if (entities.length > 0) {
    printTitle(say('shell.title.sample'))
    printTable(entities, [
      { title: say('shell.column.key'), of: row => qualified(row.enterpriseCode, row.entityKey) },
      { title: say('shell.column.reason'), of: row => named('mapping.one', row.reason) },
      { title: say('shell.column.department'), of: row => row.department, spare: true },
      { title: say('shell.column.changes'), of: changesText, gives: true },
    ])
  }
  print('', say('shell.dry_run_kept', { count: summary.stored, id }))
  print(say('shell.dry_run_shown', { page: `/mapping/dry-runs/${id}` }))
  print(say('shell.dry_run_use', { command: `${program} resync` }))
}

function fieldCounts(counts: { field: string; n: number }[]): string {
  return counts.map(({ field, n }) => `${named('field', field)} ${figure(n)}`).join(say('shell.comma'))
}

function changesText({ changed }: Entities[number]): string {
  const shown = (value: string | null) => value ?? say('shell.empty')
  return changed
    .map(({ field, from, to }) => `${named('field', field)} ${shown(from)} → ${shown(to)}`)
    .join(say('shell.comma'))
}
