import type { Command } from 'commander'
import { listRuns, type RunStory, readRunStory } from '../report/run-story.ts'
import type { PlanSummary } from '../sync/run.ts'
import { limitOf, numberOf } from './arguments.ts'
import { openContext } from './context.ts'
import { FailedError } from './failure.ts'
import {
  coloured,
  duration,
  entityName,
  longTime,
  paintState,
  print,
  printFacts,
  printJson,
  printTitle,
  shortTime,
  table,
  timeLeftText,
  words,
} from './output.ts'

/** `dirsync runs`: the latest ones, or the story of one. */
export function runsCommand(program: Command): void {
  program
    .command('runs')
    .summary('list the latest runs, or tell about one')
    .description('list the latest runs, or tell the story of one')
    .argument('[run]', 'number of a run', numberOf('run'))
    .option('--limit <n>', 'how many to list', limitOf, 20)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync runs
  dirsync runs 12     its plan, what came of it, who asked, its dead letters`,
    )
    .action((run: number | undefined, options) => (run === undefined ? list(options) : show(run, options)))
}

async function list(options: { limit: number; json?: true }): Promise<void> {
  await using context = await openContext()
  const runs = await listRuns(context.pool, options.limit)
  if (options.json) return printJson({ runs })
  if (runs.length === 0) return print(`There was no run yet: ${context.program} resync starts one.`)
  process.stdout.write(
    table(
      [
        { title: 'RUN', of: run => run.id, align: 'right' },
        { title: 'KIND', of: run => run.kind },
        { title: 'STATE', of: run => run.state, paint: paintState },
        { title: 'REQUESTED', of: run => shortTime(run.requested_at) },
        {
          title: 'TOOK',
          of: ({ started_at, finished_at }) =>
            started_at && finished_at ? duration(finished_at.getTime() - started_at.getTime()) : null,
          align: 'right',
        },
        { title: 'PLANNED', of: run => run.planned, align: 'right' },
        {
          title: 'OUTCOME',
          of: run =>
            run.state === 'done' && !run.message
              ? tally(run.result?.outcomes) || 'nothing to do'
              : run.message,
          gives: true,
        },
      ],
      runs,
    ),
  )
}

async function show(id: number, options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const story = await readRunStory(context.pool, id)
  if (!story) throw new FailedError(`there is no run ${id}`)
  if (options.json) printJson(story)
  else printRunStory(story, context.program)
}

/** Counts by name as a text: `3 updated, 1 parked`. */
export function tally(counts: Readonly<Record<string, number>> | undefined): string {
  return Object.entries(counts ?? {})
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count.toLocaleString('en')} ${words(name)}`)
    .join(', ')
}

/** Who was left out by `--max-age`, as a text; null where that was not asked for. */
export function skippedText(plan: PlanSummary | null | undefined): string | null {
  return plan?.skipped === undefined ? null : `${plan.skipped.toLocaleString('en')} confirmed recently enough`
}

/** What a run came to, for whoever waited for it. */
export function printRunEnd(run: RunStory, program: string): void {
  print(`Run ${run.id} (${run.kind}): ${coloured(run.state)}`)
  printFacts([
    ['message', run.message],
    ['planned', run.planned === null ? null : tally(run.plan?.reasons) || 'nothing to do'],
    ['skipped', skippedText(run.plan)],
    ['outcome', tally(run.result?.outcomes)],
    ['rows', tally(run.result?.rows)],
    ['calls', tally(run.result?.calls)],
    ['took', tookOf(run)],
  ])
  printCases(run, program)
  if (run.state === 'held') printDecision(run.id, program)
}

/** The whole story of a run. */
function printRunStory(run: RunStory, program: string): void {
  print(`Run ${run.id}: ${run.kind}, ${coloured(run.state)}`)
  printFacts([
    ['message', run.message],
    ['employees', run.keys.length > 0 && run.kind !== 'retry' ? run.keys.join(', ') : null],
    ['cases', run.keys.length > 0 && run.kind === 'retry' ? run.keys.slice(0, 50).join(', ') : null],
    ['max age', run.max_age_s && duration(run.max_age_s * 1000)],
    ['requested', `${longTime(run.requested_at)} by ${run.requested_by}`],
    ['planned', longTime(run.planned_at)],
    [
      run.cancelled_at ? 'cancelled' : 'decided',
      run.decided_at &&
        `${longTime(run.decided_at)} by ${run.decided_by}${run.cancelled_at && !run.finished_at ? '; what is in hand ends' : ''}`,
    ],
    ['reason', run.decision_reason],
    ['judged again', run.judged_at && longTime(run.judged_at)],
    ['finished', longTime(run.finished_at)],
    ['took', tookOf(run)],
    [
      'read',
      run.kind === 'changes' && run.planned_at
        ? run.sweep
          ? 'every HR row'
          : run.keys.length > 0
            ? "the rows that HR's trigger named"
            : 'rows newer than before'
        : null,
    ],
    ['in scope', run.in_scope],
    ['plan', run.plan && (tally(run.plan.reasons) || 'nothing to do')],
    ['skipped', skippedText(run.plan)],
    ['sample', run.plan?.sample.join(', ')],
    ['left', run.left > 0 ? `${run.left.toLocaleString('en')} still to be done` : null],
    ['time left', run.time_left && timeLeftText(run.time_left)],
    ['outcome', tally(run.result?.outcomes)],
    ['rows', tally(run.result?.rows)],
  ])
  printCalls(run)
  printCases(run, program)
  if (run.state === 'held') printDecision(run.id, program)
}

function printCalls({ result }: RunStory): void {
  const calls = Object.entries(result?.calls ?? {}).sort(([, a], [, b]) => b - a)
  if (calls.length === 0) return
  printTitle('Calls')
  process.stdout.write(
    table(
      [
        { title: 'OPERATION', of: ([operation]) => operation },
        { title: 'CALLS', of: ([, count]) => count.toLocaleString('en'), align: 'right' },
        {
          title: 'MEAN WAIT',
          of: ([operation, count]) => {
            const waitedMs = result?.waitedMs?.[operation]
            return waitedMs === undefined ? null : duration(waitedMs / count)
          },
          align: 'right',
        },
        {
          title: 'REJECTED',
          of: ([operation]) => (result?.tooFast?.[operation] ?? 0).toLocaleString('en'),
          align: 'right',
        },
      ],
      calls,
    ),
  )
}

function tookOf({ started_at, finished_at }: RunStory): string | null {
  return started_at && finished_at ? duration(finished_at.getTime() - started_at.getTime()) : null
}

/** How to decide about a held run. */
export function printDecision(run: number, program: string): void {
  printTitle('Decide')
  print(`  ${program} plan ${run}`, `  ${program} approve ${run}`, `  ${program} reject ${run} --reason "…"`)
}

function printCases(run: RunStory, program: string): void {
  if (run.dead_letters.length === 0) return
  printTitle(`Dead letters: ${run.dead_letters_total}`)
  process.stdout.write(
    table(
      [
        { title: 'ID', of: row => row.id, align: 'right' },
        { title: 'ENTITY', of: row => entityName(row) },
        { title: 'FIELD', of: row => row.field, gives: true },
        { title: 'CATEGORY', of: row => row.category },
        { title: 'STATE', of: row => row.state, paint: paintState, gives: true },
      ],
      run.dead_letters,
    ),
  )
  if (run.dead_letters_total > run.dead_letters.length)
    print(`  … and ${run.dead_letters_total - run.dead_letters.length} more`)
  print(`  Look closer: ${program} dead-letters show ${run.dead_letters[0]?.id}`)
}
