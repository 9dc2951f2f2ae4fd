import { type Command, Option } from 'commander'
import type { RunPreview } from '../report/preview.ts'
import { employeeName, maxAgeOf, numberOf } from './arguments.ts'
import type { Comparison } from './compare-all.ts'
import { type CommandContext, openContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import {
  colours,
  counted,
  entityName,
  print,
  printFacts,
  printJson,
  printText,
  printTitle,
  table,
} from './output.ts'
import { createProgress } from './progress.ts'
import { skippedText, tally } from './runs.ts'

interface PlanOptions {
  full?: true
  maxAge?: number
  employee?: string
  json?: true
  csv?: true
}

const VERDICTS = {
  running: 'would run',
  held: 'would be held',
  source_suspect: 'would stop: HR looks wrong',
}

/** `dirsync plan`: what a run would do, without doing it. */
export function planCommand(program: Command): void {
  program
    .command('plan')
    .summary('show what a run would do, or the plan of a held one')
    .description('show what a run would do, or the stored plan of a held run; writes nothing')
    .argument('[run]', 'number of a held run', numberOf('run'))
    .addOption(
      new Option('--full', 'ask the platform about every employee, field by field').conflicts('employee'),
    )
    .option(
      '--max-age <time>',
      'with --full: leave out whom the platform confirmed within this time',
      maxAgeOf,
    )
    .addOption(new Option('--employee <id>', 'one employee, field by field').argParser(employeeName))
    .option('--csv', 'with a run: all of its plan, entity by entity')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Reads HR; the platform is asked only with --full or --employee, and never
written to.
Without the number of a run: exit 0 when the run would go through, 1 when it
would be held or stopped.
Approval sends the stored plan of a held run as it is; rows that HR has changed
since are left to the next plan.

Examples:
  dirsync plan
  dirsync plan --full
  dirsync plan --full --max-age 6h
  dirsync plan --employee e10172
  dirsync plan 12
  dirsync plan 12 --csv > plan.csv`,
    )
    .action(async (run: number | undefined, options: PlanOptions) => {
      if (run !== undefined) {
        if (options.full || options.employee !== undefined || options.maxAge !== undefined)
          throw new UsageError('give either the number of a run or --full or --employee, not both')
        if (options.csv && options.json) throw new UsageError('give either --csv or --json, not both')
        const { storedPlan } = await import('./stored-plan.ts')
        return storedPlan(run, options)
      }
      if (options.csv) throw new UsageError('--csv goes with the number of a held run alone')
      if (options.maxAge !== undefined && !options.full)
        throw new UsageError('--max-age goes with --full alone')
      return options.employee === undefined ? planRun(options) : planEmployee(options.employee, options)
    })
}

async function planEmployee(name: string, options: PlanOptions): Promise<void> {
  const { lookAtEmployee } = await import('./look-at-employee.ts')
  await using context = await openContext()
  const view = await lookAtEmployee(context, name)
  const { key, preview, hrError, platform, platformError } = view
  const fields = preview?.fields ?? []
  const named = (standing: string) =>
    fields.filter(field => field.standing === standing).map(({ field }) => field)
  const [send, held] = [named('to_send'), named('held_back')]
  if (options.json)
    printJson({
      enterprise_code: key.enterpriseCode,
      userid: key.userid,
      hr: preview?.hr ?? 'unknown',
      hr_error: hrError,
      platform,
      platform_error: platformError,
      problems: preview?.problems ?? [],
      to_send: send,
      held_back: held,
      fields,
    })
  else {
    const { printView } = await import('./look-at-employee.ts')
    const shown = entityName({ enterprise_code: key.enterpriseCode, entity_key: key.userid })
    print(colours.bold(`Plan for employee ${shown}`))
    printView(view)
    print('')
    printFacts([
      ['to be sent', send.join(', ') || 'nothing'],
      ['held back', held.join(', ')],
    ])
    if (held.length > 0)
      printText(`What is held back is tried again with: ${context.program} resync --employee ${shown}`)
  }
  if (hrError !== null || platformError !== null) throw new FailedError('')
}

async function planRun(options: PlanOptions): Promise<void> {
  const [{ previewRun }, { limitsOf }] = await Promise.all([
    import('../report/preview.ts'),
    import('../sync/safety.ts'),
  ])
  await using context = await openContext()
  await context.assertAccount()
  const kind = options.full ? 'full' : 'changes'
  const preview = await previewRun({
    pool: context.pool,
    hr: await context.hr(),
    kind,
    maxAgeMs: options.maxAge ?? null,
    limits: limitsOf(context.config),
    sellerAppids: context.config.SELLER_APPIDS,
  })
  const { employees } = preview
  const isSuspect = employees.state === 'source_suspect'
  const comparison = options.full && !isSuspect ? await compared(context, preview, options) : null
  if (options.json) printJson(document(kind, preview, comparison))
  else printPlan(kind, preview, comparison, context.program)
  if (employees.state !== 'running' || preview.departments?.isHeld) throw new FailedError('')
}

async function compared(
  context: CommandContext,
  { keys }: RunPreview,
  options: PlanOptions,
): Promise<Comparison> {
  const { compareAll } = await import('./compare-all.ts')
  const progress = createProgress('asking', options.json === true)
  try {
    return await compareAll(context, keys, progress)
  } finally {
    progress.end()
  }
}

function document(
  kind: string,
  { employees, departments, openids }: RunPreview,
  platform: Comparison | null,
) {
  const { difference, state, message } = employees
  return {
    kind,
    verdict: VERDICTS[state],
    message: message ?? null,
    in_scope: difference.inScope,
    planned: total(difference.reasons),
    reasons: difference.reasons,
    sample: difference.sample,
    ...(employees.plan?.skipped !== undefined && { skipped: employees.plan.skipped }),
    first: difference.first,
    departments: departments && {
      total: departments.total,
      verdict: VERDICTS[departments.isHeld ? 'held' : 'running'],
      deletions: departments.deletions.map(departmentName),
    },
    openids: { missing: openids },
    platform,
  }
}

function printPlan(
  kind: string,
  { employees, departments, openids }: RunPreview,
  comparison: Comparison | null,
  program: string,
): void {
  const { difference, state, message } = employees
  const verdict = VERDICTS[state]
  print(
    `${colours.bold(`Plan of a ${kind} run`)}: ${state === 'running' ? colours.green(verdict) : colours.yellow(verdict)}`,
  )
  if (message) printText(message)
  printFacts([
    [
      'employees',
      `${tally(difference.reasons) || 'nothing to do'}; ${difference.inScope.toLocaleString('en')} in scope`,
    ],
    ['skipped', skippedText(employees.plan)],
    ['sample', difference.sample.join(', ')],
    ['departments', departmentsLine(departments)],
    [
      'open ids',
      openids === 0 ? 'none missing' : `${openids.toLocaleString('en')} missing, of employees in service`,
    ],
  ])
  if (difference.first) printText('It is the first run: it is not held, however much it changes.')
  if (comparison) printComparison(comparison)
  print('')
  const resync = `${program} resync${kind === 'full' ? ' --full' : ''} --wait`
  const next = {
    held: `${resync}, then ${program} approve RUN`,
    source_suspect: null,
    running: resync,
  }[state]
  print(`Nothing was written.${next === null ? '' : ` To do it: ${next}`}`)
}

function departmentsLine(departments: RunPreview['departments']): string {
  if (!departments) return 'HR_DEPARTMENTS_SQL is not set: none is ever deleted'
  const { deletions, isHeld } = departments
  if (deletions.length === 0) return 'none to delete'
  const names = deletions.slice(0, 20).map(departmentName).join(', ')
  return `${counted(deletions.length, 'department')} to delete${isHeld ? ', would be held' : ''}: ${names}`
}

function printComparison(comparison: Comparison): void {
  const { fields, sample, ...counts } = comparison
  printTitle('On the platform')
  printText(tally(counts))
  if (Object.keys(fields).length > 0) {
    print('')
    process.stdout.write(
      table(
        [
          { title: 'FIELD', of: ([field]) => field },
          { title: 'TO SEND', of: ([, count]) => count.to_send, align: 'right' },
          { title: 'HELD BACK', of: ([, count]) => count.held_back, align: 'right' },
        ],
        Object.entries(fields).sort(([, a], [, b]) => b.to_send - a.to_send),
      ),
    )
  }
  if (sample.length === 0) return
  printTitle('Sample')
  process.stdout.write(
    table(
      [
        { title: 'EMPLOYEE', of: row => row.employee },
        { title: 'FIELD', of: row => row.field },
        { title: 'HR', of: row => row.hr, gives: true },
        { title: 'PLATFORM', of: row => row.platform, gives: true },
      ],
      sample,
    ),
  )
}

function departmentName({ enterpriseCode, deptCode }: { enterpriseCode: string; deptCode: string }): string {
  return entityName({ enterprise_code: enterpriseCode, entity_key: deptCode })
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
