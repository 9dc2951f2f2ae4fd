import type { Command } from 'commander'
import { PLAN_REASONS } from '../sync/plan/stored-plan.ts'
import { message } from '../texts/message.ts'
import { numberOf, oneOf, reasonOf } from './arguments.ts'
import { type CommandContext, openContext, warnOfMissingRoles } from './context.ts'
import { UsageError } from './failure.ts'
import { say } from './language.ts'
import { examples, print, printJson } from './output.ts'

/** A person's decisions about a run: `dirsync approve`, `reject`, `cancel`; about all calls: `pause`, `resume`. */
export function decideCommands(program: Command): void {
  aboutPart(aboutRun(program, 'approve'))
    .description(
      'let a held run go on, or a part of it: its plan is sent as it was stored; rows that HR has changed since wait for the next plan',
    )
    .addHelpText(
      'after',
      examples(
        'dirsync runs            find the run that is held',
        'dirsync plan 12         look at its plan',
        'dirsync approve 12',
        'dirsync approve 12 --department D7 --field dept_code',
        'dirsync approve 12 --employee e10172 e10173',
      ),
    )
    .action(approve)

  aboutPart(aboutRun(program, 'reject'))
    .description(
      'end a held run, or reject a part of it; rejected rows are not sent until HR changes them, or you resync the employee by name',
    )
    .option('--reason <text>', 'why, for whoever looks at the run later')
    .addHelpText(
      'after',
      examples(
        'dirsync reject 12 --reason "HR import was broken"',
        'dirsync reject 12 --odd yes --reason "not part of the move"',
      ),
    )
    .action(reject)

  program
    .command('cancel')
    .argument('[run]', 'number of the run', numberOf('run'))
    .option('--json', 'print one JSON document')
    .description(
      'take back what a run has not sent yet; calls under way are finished. The next run plans it again, and what was approved of a held plan in parts is undecided again.',
    )
    .option('--reason <text>', 'why, for whoever looks at the run later')
    .option('--dry-run <number>', 'end a dry run of another SELECT instead', numberOf('dry_run'))
    .addHelpText('after', examples('dirsync cancel 12 --reason "wrong day"', 'dirsync cancel --dry-run 7'))
    .action(cancel)

  program
    .command('pause')
    .description(
      'stop all calls of this deployment to the platform, until resume; work waits and nothing is lost',
    )
    .requiredOption('--reason <text>', 'why; status shows it', reasonOf)
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync pause --reason "platform maintenance until 18:00"'))
    .action(pause)

  program
    .command('resume')
    .description('let calls to the platform go on after a pause')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync resume'))
    .action(resume)
}

function aboutRun(program: Command, name: string): Command {
  return program
    .command(name)
    .argument('<run>', 'number of the run', numberOf('run'))
    .option('--json', 'print one JSON document')
}

/** Options that name a part of a plan. */
function aboutPart(command: Command): Command {
  return command
    .option(
      '--work <reason>',
      'only rows with this reason: new, changed, left …',
      oneOf('--work', PLAN_REASONS),
    )
    .option('--field <field>', 'only rows in which this field changes')
    .option('--from <code>', 'only employees who leave this department')
    .option('--department <code>', 'only rows of this department')
    .option('--enterprise <code>', 'only rows of this enterprise')
    .option(
      '--odd <yes>',
      'only rows whose reason and changed fields are rare in the plan, or the department that they go to',
      oneOf('--odd', ['yes']),
    )
    .option('--employee <id...>', 'only these: user ids, or enterprise/userid; for departments their codes')
}

interface DecisionOptions {
  reason?: string
  json?: true
}

interface PartOptions extends DecisionOptions {
  work?: string
  field?: string
  from?: string
  department?: string
  enterprise?: string
  odd?: string
  employee?: string[]
}

/** The part of a plan that the options name; null: all of it. */
function partOf({
  work: reason,
  employee: keys,
  odd,
  field,
  from,
  department,
  enterprise,
}: PartOptions): object | null {
  const part = { reason, field, from, department, enterprise, keys, odd: odd && true }
  return Object.values(part).some(value => value !== undefined) ? part : null
}

async function decidePart(
  context: CommandContext,
  { run, json, decision }: { run: number; json: true | undefined; decision: 'approved' | 'rejected' },
  decide: () => Promise<{ run: number; planned: number; undecided: number }>,
): Promise<void> {
  const { run: by, planned, undecided } = await decide()
  if (json) printJson({ run, decision, planned, ...(decision === 'approved' && { part: by }), undecided })
  else if (decision === 'rejected')
    print(say('plan.part_rejected', { count: planned, undecided }), rejectionLasts(context))
  else
    print(
      say('plan.part_approved', { count: planned, run: by, undecided }),
      say('shell.follow', { command: `${context.program} runs ${by}` }),
    )
}

async function approve(run: number, options: PartOptions): Promise<void> {
  await using context = await openContext()
  const part = partOf(options)
  if (part) {
    const about = { run, json: options.json, decision: 'approved' } as const
    await decidePart(context, about, () => context.commands.approvePart(run, part, null))
    return await warnOfMissingRoles(context)
  }
  const { planned, isRest } = await context.commands.approve(run)
  if (options.json) printJson({ run, decision: 'approved' })
  else
    print(
      isRest ? say('plan.rest_approved', { count: planned }) : say('plan.approved', { run }),
      say('shell.follow', { command: `${context.program} runs ${run}` }),
    )
  await warnOfMissingRoles(context)
}

async function reject(run: number, options: PartOptions): Promise<void> {
  const part = partOf(options)
  const reason = PLAN_REASONS.find(word => word === options.reason)
  if (!part && reason)
    throw new UsageError(message('said.reason_selects_nothing', { option: `--work ${reason}` }))
  await using context = await openContext()
  if (part) {
    const about = { run, json: options.json, decision: 'rejected' } as const
    return await decidePart(context, about, () =>
      context.commands.rejectPart(run, part, options.reason ?? null),
    )
  }
  const { planned, isRest } = await context.commands.reject(run, options.reason ?? null)
  if (options.json) printJson({ run, decision: 'rejected' })
  else
    print(
      isRest ? say('plan.rest_rejected', { count: planned }) : say('plan.rejected', { run }),
      rejectionLasts(context),
    )
}

function rejectionLasts({ program }: CommandContext): string {
  return say('shell.rejection_lasts', { command: `${program} resync --employee ID` })
}

async function cancel(
  run: number | undefined,
  options: DecisionOptions & { dryRun?: number },
): Promise<void> {
  const { dryRun } = options
  if (dryRun !== undefined && run === undefined) return await cancelDryRun(dryRun, options)
  if (run === undefined || dryRun !== undefined) throw new UsageError(message('said.run_or_dry_run'))
  await using context = await openContext()
  const { undecidedIn: held } = await context.commands.cancel(run, options.reason ?? null)
  if (options.json) printJson({ run, decision: 'cancelled', ...(held !== null && { undecided_in: held }) })
  else
    print(
      held === null
        ? say('shell.cancelled', { run: String(run) })
        : say('runs.part_cancelled', { run: String(run), held: String(held) }),
      say('shell.pause_instead', { command: `${context.program} pause --reason "…"` }),
    )
}

async function cancelDryRun(id: number, { json }: DecisionOptions): Promise<void> {
  await using context = await openContext()
  await context.commands.cancelDryRun(id)
  if (json) printJson({ dry_run: id, decision: 'cancelled' })
  else print(say('shell.dry_run_cancelled', { id: String(id) }))
}

async function pause(options: { reason: string; json?: true }): Promise<void> {
  await using context = await openContext()
  const reason = await context.commands.pause(options.reason)
  if (options.json) printJson({ paused: true, reason })
  else
    print(say('shell.paused', { reason }), say('shell.resume_with', { command: `${context.program} resume` }))
}

async function resume(options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const wasPaused = await context.commands.resume()
  if (options.json) printJson({ paused: false, was_paused: wasPaused })
  else print(say(wasPaused ? 'overview.resumed' : 'overview.not_paused'))
  if (wasPaused) await warnOfMissingRoles(context)
}
