import type { Command } from 'commander'
import { listRuns, readRunStory } from '../store/run-story.ts'
import { limitOf, numberOf } from './arguments.ts'
import { paintState } from './colours.ts'
import { openContext } from './context.ts'
import { FailedError } from './failure.ts'
import { print, printJson } from './output.ts'
import { printRunStory, tally } from './print-run.ts'
import { table } from './table.ts'
import { duration, shortTime } from './time.ts'

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
