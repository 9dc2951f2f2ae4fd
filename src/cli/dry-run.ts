import { readFile } from 'node:fs/promises'
import { qualified } from '../directory/employee.ts'
import { MappingError } from '../hr/source.ts'
import { type DryRun, dryRunPage, readDryRun } from '../report/dry-runs.ts'
import { dryRunNow } from '../sync/dry-run.ts'
import { lastSweep } from '../sync/plan-employees.ts'
import { limitsOf } from '../sync/safety.ts'
import { openContext } from './context.ts'
import { FailedError, stopSignal, UsageError } from './failure.ts'
import {
  colours,
  counted,
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

const VERDICTS = {
  running: 'would run',
  held: 'would be held',
  source_suspect: 'would stop: HR looks wrong',
}

/** `dirsync plan --mapping FILE`: what another SELECT of employees would change. It is stored, for the console too. */
export async function dryRunOf(file: string, options: { json?: true; source?: string }): Promise<void> {
  const mapping = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code})`)
  })
  await using context = await openContext({ handlesSignals: true })
  await context.assertAccount()
  const { pool, config, logger, actor, program } = context
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const hr = await context.hr()
  const source = oneSource(hr.all, options.source)
  const progress = createProgress('reading', options.json === true)
  // The new SELECT is read twice, today's once; about as many rows each time as the last run found.
  const total = 3 * ((await lastSweep(pool, source))?.statistics.rows ?? 0)
  let number: number | null = null
  const telling = setInterval(async () => {
    const found = number === null ? null : await readDryRun(pool, number).catch(() => null)
    if (found?.state === 'running' && total > 0)
      progress.show({ state: 'running', planned: total, left: Math.max(0, total - found.rowsRead) })
  }, POLL_MS)
  const id = await dryRunNow(
    { pool, hr, limits: limitsOf(config), logger },
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
      throw error instanceof MappingError ? new FailedError(error.message.replace('SELECT', file)) : error
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

function printDryRun(
  { id, state, message, summary }: DryRun,
  entities: Entities,
  file: string,
  program: string,
): void {
  if (state !== 'done' || !summary) {
    print(`Dry run ${id} of ${file}: ${colours.red('failed')}`)
    printText(message ?? '')
    return
  }
  const { verdict, compared, columns, broken, brokenToday } = summary
  const painted = verdict === 'running' ? colours.green(VERDICTS[verdict]) : colours.yellow(VERDICTS[verdict])
  print(`${colours.bold(`Dry run ${id} of ${file}`)}: ${painted}`)
  if (summary.verdictMessage) printText(summary.verdictMessage)
  const listed = (counts: { field: string; n: number }[]) =>
    counts.map(({ field, n }) => `${field} ${figure(n)}`).join(', ')
  printFacts([
    ['rows', `${figure(summary.rows)}; ${figure(summary.rowsToday)} today`],
    ['against today', countsText(compared, 'reason') || 'no difference'],
    ['columns', listed(columns)],
    ['break rules', listed(broken) || (brokenToday.length > 0 ? 'none' : null)],
    ['today', broken.length + brokenToday.length > 0 ? listed(brokenToday) || 'none' : null],
    ['added', summary.addedColumns.join(', ')],
    ['left out', summary.removedColumns.join(', ')],
    ['a run plans', countsText(summary.planned, 'reason') || 'nothing to do'],
  ])
  if (entities.length > 0) {
    printTitle('Sample')
    printTable(entities, [
      { title: 'KEY', of: row => qualified(row.enterpriseCode, row.entityKey) },
      { title: 'REASON', of: row => row.reason },
      { title: 'DEPARTMENT', of: row => row.department, spare: true },
      { title: 'CHANGES', of: changesText, gives: true },
    ])
  }
  print('', `Nothing was changed or sent. ${counted(summary.stored, 'employee')} kept as dry run ${id}.`)
  print(`To use it: put it into the file of HR_EMPLOYEES_SQL, then ${program} resync`)
}

function changesText({ changed }: Entities[number]): string {
  return changed.map(({ field, from, to }) => `${field} ${from ?? '(empty)'} → ${to ?? '(empty)'}`).join(', ')
}
