import type { Command } from 'commander'
import { BY_ITSELF, RUN_KINDS, RUN_STATES, type RunFilter } from '../report/run-list.ts'
import { listRuns, type RunStory, readRunStory } from '../report/run-story.ts'
import type { PlanSummary } from '../sync/run.ts'
import { limitOf, numberOf, oneOf, pastOf } from './arguments.ts'
import { openContext } from './context.ts'
import { FailedError } from './failure.ts'
import { named, said, say, who } from './language.ts'
import {
  byCount,
  coloured,
  countsText,
  duration,
  entityName,
  examples,
  figure,
  longTime,
  paintedBy,
  print,
  printFacts,
  printJson,
  printTable,
  printTitle,
  shortTime,
  timeLeftText,
} from './output.ts'

/** `dirsync runs`: the latest runs, or the story of one. */
export function runsCommand(program: Command): void {
  program
    .command('runs')
    .description('list the latest runs, or tell the story of one')
    .argument('[run]', 'number of a run', numberOf('run'))
    .option('--kind <kind>', `only of this kind: ${RUN_KINDS.join(', ')}`, oneOf('kind', RUN_KINDS))
    .option('--state <state>', `only in this state: ${RUN_STATES.join(', ')}`, oneOf('state', RUN_STATES))
    .option(
      '--by <who>',
      `only those that they asked for: people, dirsync, ${BY_ITSELF.join(', ')}, or a name`,
    )
    .option('--source <name>', 'only of this HR source')
    .option('--since <time>', 'asked for since a time (2026-11-21), or 12h, 7d, 4w ago', pastOf('--since'))
    .option('--limit <n>', 'how many to list', limitOf, 20)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples(
        'dirsync runs',
        'dirsync runs --by people --since 7d',
        'dirsync runs 12     its plan, what came of it, who asked, its dead letters',
      ),
    )
    .action((run: number | undefined, options) => (run === undefined ? list(options) : show(run, options)))
}

async function list({ limit, json, ...filter }: RunFilter & { limit: number; json?: true }): Promise<void> {
  await using context = await openContext()
  const runs = await listRuns(context.pool, filter, limit)
  if (json) return printJson({ runs })
  if (runs.length === 0 && Object.keys(filter).length > 0) return print(say('shell.no_such_runs'))
  if (runs.length === 0) return print(say('shell.no_runs', { command: `${context.program} resync` }))
  printTable(runs, [
    { title: say('shell.column.run'), of: run => run.id, align: 'right' },
    { title: say('shell.column.kind'), of: run => named('run_kind', run.kind) },
    ...(runs.some(run => run.hr_source !== '')
      ? [{ title: say('shell.column.source'), of: (run: (typeof runs)[number]) => run.hr_source || null }]
      : []),
    {
      title: say('shell.column.state'),
      of: run => named('run_state', run.state),
      paint: paintedBy(run => run.state),
    },
    { title: say('shell.column.requested'), of: run => shortTime(run.requested_at) },
    { title: say('shell.column.took'), of: timeTaken, align: 'right' },
    { title: say('shell.column.planned'), of: run => run.planned, align: 'right' },
    { title: say('shell.column.outcome'), of: outcomeOf, gives: true },
  ])
}

function outcomeOf({ state, message, result }: Awaited<ReturnType<typeof listRuns>>[number]): string | null {
  return state === 'done' && !message
    ? countsText(result?.outcomes, 'outcome') || say('shell.nothing_to_do')
    : said(message)
}

async function show(id: number, options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const story = await readRunStory(context.pool, id)
  if (!story) throw new FailedError(`there is no run ${id}`)
  if (options.json) printJson(story)
  else printRunStory(story, context.program)
}

/** The whole story of a run. */
function printRunStory(run: RunStory, program: string): void {
  const { kind, keys } = run
  print(
    say('shell.run_is', {
      run: String(run.id),
      kind: named('run_kind', kind),
      state: coloured(run.state, named('run_state', run.state)),
    }),
  )
  printFacts([
    [say('shell.fact.source'), run.hr_source],
    [say('shell.fact.message'), said(run.message)],
    kind === 'retry'
      ? [say('shell.fact.cases'), keys.slice(0, 50).join(', ')]
      : [say('shell.fact.employees'), keys.join(', ')],
    [say('shell.fact.max_age'), run.max_age_s && duration(run.max_age_s * 1000)],
    [
      say('shell.fact.requested'),
      say('shell.time_by', { time: longTime(run.requested_at), name: who(run.requested_by) }),
    ],
    [say('shell.fact.planned'), longTime(run.planned_at)],
    [say(run.cancelled_at ? 'shell.fact.cancelled' : 'shell.fact.decided'), decisionText(run)],
    [say('shell.fact.reason'), run.decision_reason],
    [say('shell.fact.judged_again'), longTime(run.judged_at)],
    [say('shell.fact.finished'), longTime(run.finished_at)],
    [say('shell.fact.took'), timeTaken(run)],
    [say('shell.fact.read'), rowsRead(run)],
    [say('shell.fact.in_scope'), run.in_scope],
    [
      say('shell.fact.plan'),
      run.plan && (countsText(run.plan.reasons, 'reason') || say('shell.nothing_to_do')),
    ],
    [say('shell.fact.skipped'), skippedText(run.plan)],
    [say('shell.fact.sample'), run.plan?.sample.join(', ')],
    [say('shell.fact.left'), run.left > 0 ? say('shell.still_left', { count: run.left }) : null],
    [say('shell.fact.time_left'), run.time_left && timeLeftText(run.time_left)],
    [say('shell.fact.outcome'), countsText(run.result?.outcomes, 'outcome')],
    [say('shell.fact.rows'), countsText(run.result?.rows, 'shell.row_count')],
  ])
  printCalls(run)
  printCases(run, program)
  if (run.state === 'held') printDecision(run.id, program)
}

/** The outcome of a run, for a person who waited for it. */
export function printRunEnd(run: RunStory, program: string): void {
  // The differences to a suspect source are not a plan.
  const isPlanned = run.planned !== null && run.state !== 'source_suspect'
  print(
    say('shell.run_ended', {
      run: String(run.id),
      kind: named('run_kind', run.kind),
      state: coloured(run.state, named('run_state', run.state)),
    }),
  )
  printFacts([
    [say('shell.fact.source'), run.hr_source],
    [say('shell.fact.message'), said(run.message)],
    [
      say('shell.fact.planned'),
      isPlanned ? countsText(run.plan?.reasons, 'reason') || say('shell.nothing_to_do') : null,
    ],
    [say('shell.fact.skipped'), skippedText(run.plan)],
    [say('shell.fact.outcome'), countsText(run.result?.outcomes, 'outcome')],
    [say('shell.fact.rows'), countsText(run.result?.rows, 'shell.row_count')],
    [say('shell.fact.calls'), countsText(run.result?.calls, 'call')],
    [say('shell.fact.took'), timeTaken(run)],
  ])
  printCases(run, program)
  if (run.state === 'held') printDecision(run.id, program)
}

/** How many employees `--max-age` left out; null if it was not given. */
export function skippedText(plan: PlanSummary | null | undefined): string | null {
  return plan?.skipped === undefined ? null : say('shell.confirmed_recently', { count: plan.skipped })
}

/** Prints how to decide about a held run. */
export function printDecision(run: number, program: string): void {
  printTitle(say('shell.title.decide'))
  print(`  ${program} plan ${run}`, `  ${program} approve ${run}`, `  ${program} reject ${run} --reason "…"`)
}

function decisionText({ decided_at, decided_by, cancelled_at, finished_at }: RunStory): string | null {
  const isEnding = cancelled_at !== null && finished_at === null
  return (
    decided_at &&
    say('shell.time_by', { time: longTime(decided_at), name: who(decided_by ?? '') }) +
      (isEnding ? say('shell.calls_finish') : '')
  )
}

/** Which rows of HR a run of changes read. */
function rowsRead({ kind, planned_at, sweep, keys }: RunStory): string | null {
  if (kind !== 'changes' || !planned_at) return null
  if (sweep) return say('shell.read_all')
  return say(keys.length > 0 ? 'shell.read_triggered' : 'shell.read_newer')
}

function timeTaken(run: { started_at: Date | null; finished_at: Date | null }): string | null {
  const { started_at, finished_at } = run
  return started_at && finished_at && duration(finished_at.getTime() - started_at.getTime())
}

function printCalls({ result }: RunStory): void {
  const calls = byCount(result?.calls)
  if (calls.length === 0) return
  const meanWait = (operation: string, count: number) => {
    const waitedMs = result?.waitedMs?.[operation]
    return waitedMs === undefined ? null : duration(waitedMs / count)
  }
  printTitle(say('shell.title.calls'))
  printTable(calls, [
    { title: say('shell.column.operation'), of: ([operation]) => named('call', operation) },
    { title: say('shell.column.calls'), of: ([, count]) => figure(count), align: 'right' },
    {
      title: say('shell.column.mean_wait'),
      of: ([operation, count]) => meanWait(operation, count),
      align: 'right',
    },
    {
      title: say('shell.column.rejected'),
      of: ([operation]) => figure(result?.tooFast?.[operation] ?? 0),
      align: 'right',
    },
  ])
}

function printCases(run: RunStory, program: string): void {
  const { dead_letters: cases, dead_letters_total: total } = run
  if (cases.length === 0) return
  printTitle(say('shell.dead_letters_total', { count: String(total) }))
  printTable(cases, [
    { title: say('shell.column.id'), of: row => row.id, align: 'right' },
    { title: say('shell.column.entity'), of: entityName },
    { title: say('shell.column.field'), of: row => named('field', row.field), gives: true },
    { title: say('shell.column.category'), of: row => named('category', row.category) },
    {
      title: say('shell.column.state'),
      of: row => named('state', row.state),
      paint: paintedBy(row => row.state),
      gives: true,
    },
  ])
  if (total > cases.length) print(`  ${say('shell.and_more', { count: String(total - cases.length) })}`)
  print(`  ${say('shell.look_closer', { command: `${program} dead-letters show ${cases[0]?.id}` })}`)
}
