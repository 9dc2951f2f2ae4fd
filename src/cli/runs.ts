import type { Command } from 'commander'
import { RunQuery } from '../console/runs/query.ts'
import { runs } from '../console/runs/routes.ts'
import type { PlanSummary } from '../sync/run.ts'
import { numberOf } from './arguments.ts'
import { openContext } from './context.ts'
import { see, seeList, withQuery } from './definition.ts'
import { say } from './language.ts'
import { examples, print, printTitle } from './output.ts'

/** `dirsync runs`: the latest runs, or the story of one. */
export function runsCommand(program: Command): void {
  const command = program
    .command('runs')
    .description('list the latest runs, or tell the story of one')
    .argument('[run]', 'number of a run', numberOf('run'))
  const query = withQuery(command, RunQuery, { limit: 20 })
  command
    .addHelpText(
      'after',
      examples(
        'dirsync runs',
        'dirsync runs --by people --since 7d',
        'dirsync runs 12     its plan, what came of it, who asked, its dead letters',
      ),
    )
    .action(async (id: number | undefined, options) => {
      await using context = await openContext()
      const { list, one } = runs(context)
      if (id === undefined) await seeList(context, list, query(options), options)
      else await see(context, one, { params: { id }, input: {} }, options)
    })
}

/** How many were left out by `--max-age`; null without it. */
export function skippedText(plan: PlanSummary | null | undefined): string | null {
  return plan?.skipped === undefined ? null : say('shell.confirmed_recently', { count: plan.skipped })
}

/** How to decide about a held run. */
export function printDecision(run: number, program: string): void {
  printTitle(say('runs.decide'))
  print(`  ${program} plan ${run}`, `  ${program} approve ${run}`, `  ${program} reject ${run} --reason "…"`)
}
