import { dryRunShown } from '../console/mapping/dry-run-view.ts'
import { readDryRun } from '../console/mapping/dry-runs.ts'
import { type DryRunResult, readDryRunResult } from '../console/mapping/query.ts'
import { MappingError, placed } from '../hr/errors.ts'
import { readMappingFile } from '../hr/mapping.ts'
import { dryRunNow } from '../sync/plan/dry-run.ts'
import { lastFullReading } from '../sync/runs/earlier-runs.ts'
import { limitsOf } from '../sync/runs/safety.ts'
import { openContext } from './context.ts'
import { shellAsk } from './definition.ts'
import { excerpt } from './excerpt.ts'
import { FailedError, stopSignal, UsageError, unreadable } from './failure.ts'
import { said, say } from './language.ts'
import { colours, print, printJson, printText } from './output.ts'
import { createProgress } from './progress.ts'
import { printScreen } from './shown.ts'
import { oneSource } from './source.ts'

const SAMPLE = 20
const POLL_MS = 500

/** The state that a run would reach, in JSON documents. */
export const VERDICTS = {
  running: 'would run',
  held: 'would be held',
  source_suspect: 'would stop: HR looks wrong',
  idle: 'would do nothing',
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
    throw unreadable(file, error)
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
  const total = 3 * ((await lastFullReading(pool, source))?.statistics.rows ?? 0)
  let number: number | null = null
  const telling = setInterval(async () => {
    const found = number === null ? null : await readDryRun(pool, number).catch(() => null)
    if (found?.state === 'running' && total > 0)
      progress.show({ state: 'running', planned: total, left: Math.max(0, total - found.rows_read) })
  }, POLL_MS)
  const { id, mistake } = await dryRunNow(
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
  const found = await readDryRunResult({ pool, hr }, id, { limit: SAMPLE })
  if (options.json) printJson(found)
  else if (found.summary) {
    printScreen(dryRunShown(shellAsk(context), found, undefined), program)
    print('', say('shell.dry_run_shown', { page: `/mapping/dry-runs/${id}` }))
  } else printFailure(found, file)
  // As where it is refused before it is tried.
  if (mistake?.isOfMapping) throw new UsageError('')
  if (found.state !== 'done' || found.summary?.verdict !== 'running') throw new FailedError('')
}

/** Why there is no result; an error in the SELECT with its place in the file. */
function printFailure({ id, message, mapping, error_line, error_column }: DryRunResult, file: string): void {
  const plan = colours.bold(say('shell.dry_run_of', { id, file }))
  print(say('shell.plan_verdict', { plan, verdict: colours.red(say('shell.dry_run_failed')) }))
  const place = error_line === null ? null : { line: error_line, column: error_column }
  printText(place ? `${placed(file, place)}: ${said(message ?? [])}` : said(message ?? []))
  if (place) print(...excerpt(mapping, place))
}
