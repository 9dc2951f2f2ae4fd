import { type Command, Option } from 'commander'
import { z } from 'zod'
import { RunDetails, readRunDetails } from '../console/runs/query.ts'
import { runEndShown } from '../console/runs/run-view.ts'
import { outcomesOf } from '../console/runs/words.ts'
import { io } from '../lib/io.ts'
import { untoldIn } from '../sync/outbox/halts.ts'
import { missingRolesSaid, NEEDED_ROLES, type NeededRole } from '../sync/processes/process.ts'
import type { Commands } from '../sync/runs/commands.ts'
import { MIRRORS } from '../sync/runs/mirror-kind.ts'
import { message, type Said } from '../texts/message.ts'
import { employeeNames, periodOf } from './arguments.ts'
import { type CommandContext, missingRoles, openContext, warnOfMissingRoles } from './context.ts'
import { shellAsk } from './definition.ts'
import { FailedError, stopSignal, UsageError } from './failure.ts'
import { said, say } from './language.ts'
import { print, printArrow, printAside, printJson } from './output.ts'
import { followRun } from './progress.ts'
import { printScreen } from './shown.ts'
import { namedSource, sourcesDiffer } from './source.ts'

interface ResyncOptions {
  full?: true
  maxAge?: number
  employee?: string[]
  departments?: true
  openids?: true
  orders?: true
  accounts?: true
  taxpayers?: true
  source?: string
  wait?: true
  json?: boolean
}

/** `dirsync resync`: starts a run now. */
export function resyncCommand(program: Command): void {
  const kinds = ['full', 'employee', 'departments', 'openids', ...MIRRORS]
  const kind = (flags: string, does: string) => {
    const option = new Option(flags, does)
    return option.conflicts(kinds.filter(name => name !== option.attributeName()))
  }
  program
    .command('resync')
    .description('start a run now: of what changed in HR, or of what you name')
    .addOption(kind('--full', 'ask the platform about every employee'))
    .option(
      '--max-age <time>',
      'with --full: skip employees that the platform confirmed within this time',
      periodOf('--max-age'),
    )
    .addOption(
      kind('--employee <id...>', 'these employees (user id, or enterprise/userid)').argParser(employeeNames),
    )
    .addOption(kind('--departments', 'delete departments that HR closed'))
    .addOption(kind('--openids', 'bind missing open ids'))
    .addOption(kind('--orders', 'read payment orders again'))
    .addOption(kind('--accounts', 'read limit accounts again'))
    .addOption(kind('--taxpayers', 'read the taxpayers of TAXPAYER_IDENTIFIERS again'))
    .option('--source <name>', 'one of the HR systems of HR_SOURCES (default: a run for each of them)')
    .option('--wait', 'show progress and end with the run')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
--orders, --accounts and --taxpayers also work where MIRRORS leaves them out.
With --wait: exit 0 when the run is done; 1 when it failed, is held, HR looked
wrong or went away meanwhile, everything is halted, or a later run has taken
over an employee whom you named.

Examples:
  dirsync resync --wait
  dirsync resync --employee e10172 e10173 --wait
  dirsync resync --full
  dirsync resync --full --max-age 6h
  dirsync resync --source shanghai --wait
  dirsync resync --orders --wait`,
    )
    .action(resync)
}

async function resync(options: ResyncOptions): Promise<void> {
  if (options.maxAge !== undefined && !options.full)
    throw new UsageError(message('said.only_with', { option: '--max-age', other: '--full' }))
  if (options.source !== undefined && !isBySource(options))
    throw new UsageError(message('said.source_only_with'))
  const stopped = options.wait ? stopSignal() : undefined
  let isStopped = false
  void stopped?.then(() => {
    isStopped = true
  })
  await using context = await openContext({ handlesSignals: stopped !== undefined })
  await context.assertAccount()
  const differ = options.source === undefined ? null : await sourcesDiffer(context)
  if (differ) throw new FailedError(differ)
  namedSource(context.config.sources, options.source)
  if (isStopped) throw new FailedError(message('said.nothing_was_started'))
  const runs = await request(context.commands, options)
  if (stopped) return await wait(context, runs, options, stopped)
  const [run = 0] = runs
  if (options.json) printJson({ run, state: 'requested', ...(runs.length > 1 && { runs }) })
  else
    for (const id of runs)
      print(say('shell.requested', { run: String(id), command: `${context.program} runs ${id}` }))
  await warnOfMissingRoles(context, rolesFor(options))
}

/** Whether each HR source gets a run of its own. */
function isBySource({ employee, openids, ...options }: ResyncOptions): boolean {
  return !employee && !openids && MIRRORS.every(mirror => !options[mirror])
}

/** Mirrors are planned and read by a worker alone. */
function rolesFor(options: ResyncOptions): readonly NeededRole[] {
  return MIRRORS.some(mirror => options[mirror]) ? ['worker'] : NEEDED_ROLES
}

async function request(commands: Commands, options: ResyncOptions): Promise<number[]> {
  const { source = null } = options
  if (options.employee) return [await commands.resyncEmployees(options.employee)]
  if (options.full) return commands.resyncFull(options.maxAge ?? null, source)
  if (options.departments) return commands.resync('departments', source)
  if (options.openids) return commands.resync('openids')
  return commands.resync(MIRRORS.find(mirror => options[mirror]) ?? 'changes', source)
}

/** Follows the runs to their ends, in order; they run concurrently. */
async function wait(
  context: CommandContext,
  runs: readonly number[],
  options: ResyncOptions,
  stopped: Promise<void>,
): Promise<void> {
  await using helper = await bringUpWhenEmbedded(context, options)
  const ends: EndedRun[] = []
  for (const run of runs) {
    const end = await waitFor(context, run, options, stopped, helper.roles)
    ends.push(end)
    if (options.json) continue
    printScreen(runEndShown(shellAsk(context), end.story), context.program)
    if (end.remedy) printArrow(said(end.remedy))
  }
  const ok = ends.every(end => end.ok)
  const documents = ends.map(end => ({
    ok: end.ok,
    ...z.encode(RunDetails, end.story),
    ...(end.remedy && { remedy: end.remedy }),
  }))
  if (options.json) printJson(documents.length === 1 ? documents[0] : { ok, runs: documents })
  if (!ok) throw new FailedError('')
}

interface EndedRun {
  ok: boolean
  story: RunDetails
  remedy: Said | undefined
}

/** How long to wait for processes that would do the work: a service that was just started has yet to register. */
const PATIENCE_MS = 30_000

async function waitFor(
  { pool, program }: CommandContext,
  run: number,
  options: ResyncOptions,
  stopped: Promise<void>,
  ownRoles: readonly NeededRole[],
): Promise<EndedRun> {
  const { json = false } = options
  let missingSince: number | null = null
  // If the database is restarting, it is back in a moment, and the heartbeats with it.
  const missingNow = () => missingRoles(pool, rolesFor(options)).catch(() => [])
  const waits = (missing: readonly NeededRole[]) =>
    new FailedError(message('said.run_waits', { run, reason: missingRolesSaid(missing, program) }))
  const check = async () => {
    const missing = await missingNow()
    missingSince = missing.length === 0 ? null : (missingSince ?? performance.now())
    if (missingSince !== null && performance.now() - missingSince >= PATIENCE_MS) throw waits(missing)
  }
  await check()
  if (missingSince !== null && !json)
    printAside(say('shell.waits_for_service', { seconds: PATIENCE_MS / 1000 }))
  const end = await followRun({
    pool,
    id: run,
    label: say('shell.run_label', { run: String(run) }),
    quiet: json,
    stopped,
    check,
  })
  if (!end) {
    // What this process did itself stops with it.
    const missing = ownRoles.length > 0 ? ownRoles : await missingNow()
    if (missing.length > 0) throw waits(missing)
    throw new FailedError(message('said.run_goes_on', { run, command: `${program} runs ${run}` }))
  }
  const story = await readRunDetails(pool, run)
  // A named employee that is unknown, or of whom HR could not tell, was not synced, whatever happened to the others.
  const isUnknown = story.kind === 'employees' && end.message !== null
  const isTakenOver = story.kind === 'employees' && (outcomesOf(story).not_finished ?? 0) > 0
  const { halted = 0, obsolete = 0 } = story.outcomes
  const untold = halted + obsolete > 0 ? await untoldIn(pool, run) : []
  const ok = end.state === 'done' && !isUnknown && !isTakenOver && untold.length === 0
  const more = [...untold.map(one => one.message), ...(isTakenOver ? [message('said.taken_over')] : [])]
  const problems = [...(end.message === null ? [] : [end.message]), ...more].flat()
  return {
    ok,
    story: { ...story, message: more.length === 0 ? end.message : message('said.problems', { problems }) },
    remedy: end.remedy ?? untold[0]?.remedy,
  }
}

/** In the embedded default there may be no service running; then this process does the work while it waits. */
async function bringUpWhenEmbedded(
  context: CommandContext,
  options: ResyncOptions,
): Promise<AsyncDisposable & { roles: NeededRole[] }> {
  const { pool, embedded, config, logger } = context
  const missing = embedded ? await missingRoles(pool, rolesFor(options)) : []
  if (missing.length === 0) return { roles: [], async [Symbol.asyncDispose]() {} }
  io().stderr.write(`${say('shell.does_it_itself')}\n`)
  const { startService } = await import('../main.ts')
  const service = await startService({ config, roles: missing, logger, schedule: false })
  return { roles: missing, [Symbol.asyncDispose]: () => service.stop() }
}
