import type { Command } from 'commander'
import { Commands } from '../store/command.ts'
import { numberOf } from './arguments.ts'
import { openContext } from './context.ts'
import { print, printJson } from './output.ts'
import { warnWhenNobodyWorks } from './service-check.ts'

/** `dirsync approve` and `dirsync reject`: a person's word about a held run. */
export function decideCommands(program: Command): void {
  program
    .command('approve')
    .summary('let a held run go on')
    .description('let a held run go on: it is planned anew, without its breakers')
    .argument('<run>', 'number of the run', numberOf('run'))
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync runs            find the run that is held
  dirsync runs 12         look at its plan
  dirsync approve 12`,
    )
    .action((run: number, options: { json?: true }) => decide(run, true, options))
  program
    .command('reject')
    .summary('end a held run; nothing is written')
    .description('end a held run; nothing is written')
    .argument('<run>', 'number of the run', numberOf('run'))
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync reject 12`,
    )
    .action((run: number, options: { json?: true }) => decide(run, false, options))
}

async function decide(run: number, approve: boolean, options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const commands = new Commands(context.pool, context.actor)
  await (approve ? commands.approve(run) : commands.reject(run))
  const decision = approve ? 'approved' : 'rejected'
  if (options.json) printJson({ run, decision })
  else if (approve)
    print(
      `Run ${run} is approved: it is planned anew, without its breakers.`,
      `Follow it with: ${context.program} runs ${run}`,
    )
  else print(`Run ${run} is rejected: nothing was written.`)
  if (approve) await warnWhenNobodyWorks(context)
}
