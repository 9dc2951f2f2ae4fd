import type { Command } from 'commander'
import { Commands } from '../sync/commands.ts'
import { numberOf } from './arguments.ts'
import { type CommandContext, openContext, warnWhenNobodyWorks } from './context.ts'
import { UsageError } from './failure.ts'
import { print, printJson } from './output.ts'

interface DecisionOptions {
  reason?: string
  json?: true
}

/** `dirsync approve`, `reject` and `cancel`: a person's word about a run; `pause` and `resume`: about all calls. */
export function decideCommands(program: Command): void {
  const deciding = (name: string, summary: string, description: string, examples: string) =>
    program
      .command(name)
      .summary(summary)
      .description(description)
      .addHelpText('after', `\nExamples:\n${examples}`)
  deciding(
    'approve',
    'let a held run go on',
    'let a held run go on: the plan is sent as it was stored; rows that HR has changed since wait for the next plan',
    '  dirsync runs            find the run that is held\n  dirsync plan 12         look at its plan\n  dirsync approve 12',
  )
    .argument('<run>', 'number of the run', numberOf('run'))
    .option('--json', 'print one JSON document')
    .action(approve)
  deciding(
    'reject',
    'end a held run; nothing is sent',
    'end a held run; nothing is sent. The next run judges HR anew.',
    '  dirsync reject 12 --reason "HR import was broken"',
  )
    .argument('<run>', 'number of the run', numberOf('run'))
    .option('--reason <text>', 'why, for whoever looks at the run later')
    .option('--json', 'print one JSON document')
    .action(reject)
  deciding(
    'cancel',
    "take a run's waiting work back",
    "take a run's waiting work back; what is in hand ends. The next run judges it anew.",
    '  dirsync cancel 12 --reason "wrong day"',
  )
    .argument('<run>', 'number of the run', numberOf('run'))
    .option('--reason <text>', 'why, for whoever looks at the run later')
    .option('--json', 'print one JSON document')
    .action(cancel)
  deciding(
    'pause',
    'stop all calls to the platform',
    'stop all calls of this deployment to the platform, until resume; work waits and nothing is lost',
    '  dirsync pause --reason "platform maintenance until 18:00"',
  )
    .requiredOption('--reason <text>', 'why; status shows it')
    .option('--json', 'print one JSON document')
    .action(pause)
  deciding(
    'resume',
    'let calls go on after pause',
    'let calls to the platform go on after pause',
    '  dirsync resume',
  )
    .option('--json', 'print one JSON document')
    .action(resume)
}

async function approve(run: number, options: DecisionOptions): Promise<void> {
  await using context = await openContext()
  await commandsOf(context).approve(run)
  if (options.json) printJson({ run, decision: 'approved' })
  else
    print(
      `Run ${run} is approved: its plan is sent as it was stored.`,
      `Follow it with: ${context.program} runs ${run}`,
    )
  await warnWhenNobodyWorks(context)
}

async function reject(run: number, options: DecisionOptions): Promise<void> {
  await using context = await openContext()
  await commandsOf(context).reject(run, options.reason ?? null)
  if (options.json) printJson({ run, decision: 'rejected' })
  else print(`Run ${run} is rejected: nothing was sent. The next run judges HR anew.`)
}

async function cancel(run: number, options: DecisionOptions): Promise<void> {
  await using context = await openContext()
  await commandsOf(context).cancel(run, options.reason ?? null)
  if (options.json) printJson({ run, decision: 'cancelled' })
  else
    print(
      `Run ${run} is cancelled: what waited is taken back, what is in hand ends. The next run judges it anew.`,
      `To stop all calls instead: ${context.program} pause --reason "…"`,
    )
}

async function pause(options: { reason: string; json?: true }): Promise<void> {
  if (options.reason.trim() === '') throw new UsageError('--reason is empty: say why')
  await using context = await openContext()
  const reason = await commandsOf(context).pause(options.reason)
  if (options.json) printJson({ paused: true, reason })
  else
    print(`All calls to the platform are paused: ${reason}`, `Let them go on with: ${context.program} resume`)
}

async function resume(options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const wasPaused = await commandsOf(context).resume()
  if (options.json) printJson({ paused: false, was_paused: wasPaused })
  else print(wasPaused ? 'Calls to the platform go on.' : 'Calls were not paused.')
  if (wasPaused) await warnWhenNobodyWorks(context)
}

function commandsOf({ pool, actor }: CommandContext): Commands {
  return new Commands(pool, actor)
}
