import type { Command } from 'commander'
import { listRuns, type RunStory, readRunStory } from '../report/run-story.ts'
import type { PlanSummary } from '../sync/run.ts'
import { limitOf, numberOf } from './arguments.ts'
import { openContext } from './context.ts'
import { FailedError } from './failure.ts'
import {
  byCount,
  coloured,
  countsText,
  duration,
  entityName,
  examples,
  figure,
  longTime,
  paintState,
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
    .option('--limit <n>', 'how many to list', limitOf, 20)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync runs', 'dirsync runs 12     its plan, what came of it, who asked, its dead letters'),
    )
    .action((run: number | undefined, options) => (run === undefined ? list(options) : show(run, options)))
}

async function list(options: { limit: number; json?: true }): Promise<void> {
  await using context = await openContext()
  const runs = await listRuns(context.pool, options.limit)
  if (options.json) return printJson({ runs })
  if (runs.length === 0) return print(`There are no runs yet: ${context.program} resync starts one.`)
  printTable(runs, [
    { title: 'RUN', of: run => run.id, align: 'right' },
    { title: 'KIND', of: run => run.kind },
    { title: 'STATE', of: run => run.state, paint: paintState },
    { title: 'REQUESTED', of: run => shortTime(run.requested_at) },
    { title: 'TOOK', of: timeTaken, align: 'right' },
    { title: 'PLANNED', of: run => run.planned, align: 'right' },
    { title: 'OUTCOME', of: outcomeOf, gives: true },
  ])
}

function outcomeOf({ state, message, result }: Awaited<ReturnType<typeof listRuns>>[number]): string | null {
  return state === 'done' && !message ? countsText(result?.outcomes) || 'nothing to do' : message
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
  print(`Run ${run.id}: ${kind}, ${coloured(run.state)}`)
  printFacts([
    ['message', run.message],
    kind === 'retry' ? ['cases', keys.slice(0, 50).join(', ')] : ['employees', keys.join(', ')],
    ['max age', run.max_age_s && duration(run.max_age_s * 1000)],
    ['requested', `${longTime(run.requested_at)} by ${run.requested_by}`],
    ['planned', longTime(run.planned_at)],
    [run.cancelled_at ? 'cancelled' : 'decided', decisionText(run)],
    ['reason', run.decision_reason],
    ['judged again', longTime(run.judged_at)],
    ['finished', longTime(run.finished_at)],
    ['took', timeTaken(run)],
    ['read', rowsRead(run)],
    ['in scope', run.in_scope],
    ['plan', run.plan && (countsText(run.plan.reasons) || 'nothing to do')],
    ['skipped', skippedText(run.plan)],
    ['sample', run.plan?.sample.join(', ')],
    ['left', run.left > 0 ? `${figure(run.left)} still to be done` : null],
    ['time left', run.time_left && timeLeftText(run.time_left)],
    ['outcome', countsText(run.result?.outcomes)],
    ['rows', countsText(run.result?.rows)],
  ])
  printCalls(run)
  printCases(run, program)
  if (run.state === 'held') printDecision(run.id, program)
}

/** What a run came to, for whoever waited for it. */
export function printRunEnd(run: RunStory, program: string): void {
  // What a suspect source differs in is no plan.
  const isPlanned = run.planned !== null && run.state !== 'source_suspect'
  print(`Run ${run.id} (${run.kind}): ${coloured(run.state)}`)
  printFacts([
    ['message', run.message],
    ['planned', isPlanned ? countsText(run.plan?.reasons) || 'nothing to do' : null],
    ['skipped', skippedText(run.plan)],
    ['outcome', countsText(run.result?.outcomes)],
    ['rows', countsText(run.result?.rows)],
    ['calls', countsText(run.result?.calls)],
    ['took', timeTaken(run)],
  ])
  printCases(run, program)
  if (run.state === 'held') printDecision(run.id, program)
}

/** How many were left out by `--max-age`; null where nobody asked for that. */
export function skippedText(plan: PlanSummary | null | undefined): string | null {
  return plan?.skipped === undefined ? null : `${figure(plan.skipped)} confirmed recently enough`
}

/** How to decide about a held run. */
export function printDecision(run: number, program: string): void {
  printTitle('Decide')
  print(`  ${program} plan ${run}`, `  ${program} approve ${run}`, `  ${program} reject ${run} --reason "…"`)
}

function decisionText({ decided_at, decided_by, cancelled_at, finished_at }: RunStory): string | null {
  const isEnding = cancelled_at !== null && finished_at === null
  return (
    decided_at &&
    `${longTime(decided_at)} by ${decided_by}${isEnding ? '; calls under way are finished' : ''}`
  )
}

/** Which rows of HR a run of changes read. */
function rowsRead({ kind, planned_at, sweep, keys }: RunStory): string | null {
  if (kind !== 'changes' || !planned_at) return null
  if (sweep) return 'every HR row'
  return keys.length > 0 ? "the rows that HR's trigger named" : 'rows newer than before'
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
  printTitle('Calls')
  printTable(calls, [
    { title: 'OPERATION', of: ([operation]) => operation },
    { title: 'CALLS', of: ([, count]) => figure(count), align: 'right' },
    { title: 'MEAN WAIT', of: ([operation, count]) => meanWait(operation, count), align: 'right' },
    { title: 'REJECTED', of: ([operation]) => figure(result?.tooFast?.[operation] ?? 0), align: 'right' },
  ])
}

function printCases(run: RunStory, program: string): void {
  const { dead_letters: cases, dead_letters_total: total } = run
  if (cases.length === 0) return
  printTitle(`Dead letters: ${total}`)
  printTable(cases, [
    { title: 'ID', of: row => row.id, align: 'right' },
    { title: 'ENTITY', of: entityName },
    { title: 'FIELD', of: row => row.field, gives: true },
    { title: 'CATEGORY', of: row => row.category },
    { title: 'STATE', of: row => row.state, paint: paintState, gives: true },
  ])
  if (total > cases.length) print(`  … and ${total - cases.length} more`)
  print(`  Look closer: ${program} dead-letters show ${cases[0]?.id}`)
}
