import { type Command, Option } from 'commander'
import type { z } from 'zod'
import { previewRun, type RunPreview } from '../console/employees/preview.ts'
import { employeePlanShown } from '../console/employees/view.ts'
import { PlanQuery } from '../console/plan/query.ts'
import { plan as storedPlans } from '../console/plan/routes.ts'
import { sumOf } from '../console/runs/list.ts'
import type { SourceStatistics } from '../directory/hash.ts'
import type { HrError } from '../hr/errors.ts'
import { isOfHr, MappingError } from '../hr/source.ts'
import type { NamedSource } from '../hr/sources.ts'
import { ScanSpool, SpoolError } from '../hr/spool.ts'
import type { Pool } from '../lib/database.ts'
import { ENTERPRISES_OF_HR } from '../sync/outbox/employee.ts'
import { HALTS_OF_OTHERS, type Halt, readHalts } from '../sync/outbox/halts.ts'
import { departmentName } from '../sync/plan/departments.ts'
import { type PlanFilter, readNextPlan } from '../sync/plan/stored-plan.ts'
import { EMPLOYEE_KINDS, heldRun, type PlanSummary, type RunKind } from '../sync/runs/run.ts'
import { limitsOf } from '../sync/runs/safety.ts'
import { haltOf } from '../texts/failures.ts'
import { message, saidBy } from '../texts/message.ts'
import { employeeName, numberOf, periodOf } from './arguments.ts'
import { type Comparison, compareAll, printComparison } from './compare.ts'
import { type CommandContext, missingRoles, openContext } from './context.ts'
import { printLines, seeList, shellAsk, withQuery } from './definition.ts'
import { dryRunOf, VERDICT_TEXTS, VERDICTS } from './dry-run.ts'
import { explained } from './employee.ts'
import { excerptOf } from './excerpt.ts'
import { FailedError, UsageError } from './failure.ts'
import { named, said, say } from './language.ts'
import {
  colours,
  countsText,
  type NamedFact,
  print,
  printArrow,
  printAside,
  printJson,
  printNamedFacts,
  printText,
  printTitle,
} from './output.ts'
import { createProgress } from './progress.ts'
import { printScreen } from './shown.ts'
import { namedSource, sourcesDiffer } from './source.ts'

interface PlanOptions extends z.output<typeof PlanFilter> {
  cursor?: string
  full?: true
  maxAge?: number
  employee?: string
  mapping?: string
  source?: string
  json?: true
  csv?: true
  ask?: true
}

/** `dirsync plan`: what a run would do, without doing it. */
export function planCommand(program: Command): void {
  const command = program
    .command('plan')
    .description('show what a run would do, or the stored plan of a held run; writes nothing')
    .argument('[run]', 'number of a held run', numberOf('run'))
    .addOption(
      new Option('--full', 'ask the platform about every employee, field by field').conflicts('employee'),
    )
    .option(
      '--max-age <time>',
      'with --full: skip employees that the platform confirmed within this time',
      periodOf('--max-age'),
    )
    .addOption(new Option('--employee <id>', 'one employee, field by field').argParser(employeeName))
    .option('--mapping <file>', 'what another SELECT of employees would change, against the one in use')
    .option(
      '--source <name>',
      'one of the HR systems of HR_SOURCES; --mapping needs it where there are several',
    )
    .option('--csv', 'with the number of a run: its whole plan, entity by entity')
    .option('--ask', 'with the number of a run: ask the platform for its values of the rows that are listed')
  const query = withQuery(command, PlanQuery, { limit: 20 })
  command
    .addHelpText(
      'after',
      `
Reads HR. The platform is asked only with --full, --employee or --ask, and
nothing is ever written to it.
Without the number of a run: exit 0 when the run would go through, at once or
after a halt, 1 when it would be held or stopped, 2 when the SELECT is wrong.
Of several HR systems, each has a run of its own.
Approving a held run sends its plan as it was stored; rows that HR has changed
since wait for the next plan.

Examples:
  dirsync plan
  dirsync plan --full
  dirsync plan --full --max-age 6h
  dirsync plan --employee e10172
  dirsync plan --mapping new-employees.sql
  dirsync plan --source shanghai
  dirsync plan 12
  dirsync plan 12 --reason left --limit 100
  dirsync plan 12 --field mobile --odd yes --ask
  dirsync plan 12 --csv > plan.csv`,
    )
    .action((run: number | undefined, options: PlanOptions) => {
      const isLimited = command.getOptionValueSource('limit') !== 'default'
      if (isLimited && run === undefined)
        throw new UsageError(message('said.only_with_held', { option: '--limit' }))
      // By default a page is listed, but a file has all rows.
      const isWhole = options.csv && !isLimited
      return plan(run, options, query({ ...options, ...(isWhole && { limit: Number.MAX_SAFE_INTEGER }) }))
    })
}

async function plan(
  run: number | undefined,
  options: PlanOptions,
  query: z.output<typeof PlanQuery>,
): Promise<void> {
  const { full, maxAge, employee, mapping, source, csv, ask, json } = options
  const [ofRun] = [...(ask ? ['ask'] : []), ...Object.keys(query).filter(name => name !== 'limit')]
  if (ofRun && run === undefined)
    throw new UsageError(message('said.only_with_held', { option: `--${ofRun}` }))
  if (mapping !== undefined) {
    if (run !== undefined || full || employee !== undefined || maxAge !== undefined || csv)
      throw new UsageError(message('said.goes_with_alone', { option: '--mapping', other: '--json' }))
    return await dryRunOf(mapping, options)
  }
  if (csv && run === undefined) throw new UsageError(message('said.only_with_held', { option: '--csv' }))
  if (ask && csv) throw new UsageError(message('said.either_option', { one: '--csv', other: '--ask' }))
  if (csv && json) throw new UsageError(message('said.either_option', { one: '--csv', other: '--json' }))
  if (csv && query.cursor !== undefined)
    throw new UsageError(message('said.either_option', { one: '--csv', other: '--cursor' }))
  if (run !== undefined && (full || employee !== undefined || maxAge !== undefined))
    throw new UsageError(message('said.run_or_full'))
  if (maxAge !== undefined && !full)
    throw new UsageError(message('said.only_with', { option: '--max-age', other: '--full' }))
  if (source !== undefined && (run !== undefined || employee !== undefined))
    throw new UsageError(message('said.source_neither'))
  if (run !== undefined) return await storedPlan(run, query, options)
  return await (employee === undefined ? planRun(options) : planEmployee(employee, options))
}

/** The plan of a held run, as it was stored. */
async function storedPlan(
  id: number,
  query: z.output<typeof PlanQuery>,
  options: { json?: true; csv?: true; ask?: true },
): Promise<void> {
  await using context = await openContext()
  const { pool, logger } = context
  const hr = await context.hr()
  const { one, csv, ask } = storedPlans({ ...context, hr })
  const { cursor: _, limit, ...filter } = query
  if (options.csv) await printLines(context, csv, { params: { id }, input: filter }, limit)
  else {
    // Without a process that counts what is in the plan, this one does.
    if ((await missingRoles(pool)).includes('scheduler'))
      while (await readNextPlan({ pool, hr, logger }, new AbortController().signal));
    await seeList(context, options.ask ? { ...one, run: ask.run } : one, query, options, { id })
  }
}

async function planEmployee(name: string, options: PlanOptions): Promise<void> {
  await using context = await openContext()
  const employee = await explained(context, name)
  const named = (status: string) =>
    employee.fields.filter(field => field.status === status).map(({ field }) => field)
  if (options.json) {
    const fields = { to_send: named('to_send'), held_back: named('held_back') }
    printJson({ ...employee, ...fields })
  } else printScreen(employeePlanShown(shellAsk(context), employee), context.program)
  if (employee.hr_error !== null || employee.platform_error !== null) throw new FailedError('')
}

async function planRun(options: PlanOptions): Promise<void> {
  await using context = await openContext()
  await context.assertAccount()
  const hr = await context.hr()
  const named = namedSource(hr.all, options.source)
  const differ = await sourcesDiffer(context)
  if (differ) printAside(said(differ))
  const plans: SourcePlan[] = []
  for (const source of named ? [named] : hr.all) {
    const planned = await planSource(context, source, options)
    const held = await heldAlready(context, source, planned.preview)
    const plan = { ...planned, ...(await haltsOf(context, source)), held }
    plans.push(plan)
    if (!options.json) await printSourcePlan(plan, options, context.program)
  }
  if (options.json) printJson(documentOf(plans, options))
  // The SELECT is a setting.
  if (plans.some(({ error }) => error instanceof MappingError)) throw new UsageError('')
  if (plans.some(({ preview, error }) => error || !preview || !passes(preview))) throw new FailedError('')
}

/** What a run of one source would do. */
interface SourcePlan {
  source: string
  /** Null if HR did not answer, or its mapping is wrong. */
  preview: RunPreview | null
  comparison: Comparison | null
  /** Why there is no preview, or with one, no comparison, since the platform answered about nobody. */
  error: HrError | FailedError | null
  /** Keeps back all that a run of it would do: of everything, or of an enterprise if all of its are halted; null: none. */
  halt: Halt | null
  /** Keep back what a run of it would do of some of its enterprises. */
  partly: Halt[]
  /** The runs that are held already with what it would be held for: another one would be superseded by them. */
  held: { employees: number | null; departments: number | null }
}

async function heldAlready(
  { pool }: CommandContext,
  { name }: NamedSource,
  preview: RunPreview | null,
): Promise<SourcePlan['held']> {
  const heldOf = async (state: string | undefined, kinds: readonly RunKind[]) =>
    state === 'held' ? ((await heldRun(pool, kinds, name))?.id ?? null) : null
  return {
    employees: await heldOf(preview?.employees.state, EMPLOYEE_KINDS),
    departments: await heldOf(preview?.departments?.verdict.state, ['departments']),
  }
}

async function haltsOf(
  { pool }: CommandContext,
  { codes }: NamedSource,
): Promise<Pick<SourcePlan, 'halt' | 'partly'>> {
  // A halt because of HR ends as a run reads HR, which is there if there is a plan.
  const halts = (await readHalts(pool)).filter(({ category }) => !HALTS_OF_OTHERS.includes(category))
  const everything = halts.find(({ scope }) => scope === '*')
  if (everything || halts.length === 0) return { halt: everything ?? null, partly: [] }
  const known = codes ?? (await enterprisesOfHr(pool))
  const inForce = halts.filter(({ scope }) => known.includes(scope))
  return inForce.length === known.length
    ? { halt: inForce[0] ?? null, partly: [] }
    : { halt: null, partly: inForce }
}

async function enterprisesOfHr(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ code: string }>(ENTERPRISES_OF_HR)
  return rows.map(({ code }) => code)
}

async function planSource(
  context: CommandContext,
  source: NamedSource,
  options: PlanOptions,
): Promise<Pick<SourcePlan, 'source' | 'preview' | 'comparison' | 'error'>> {
  const { name } = source
  let preview: RunPreview | null = null
  try {
    await using spool = options.full && (await ScanSpool.open())
    preview = await previewRun({
      pool: context.pool,
      source,
      kind: kindOf(options),
      maxAgeMs: options.maxAge ?? null,
      limits: limitsOf(context.config),
      sellerAppids: context.config.SELLER_APPIDS,
      spool: spool || undefined,
    })
    const isSuspect = preview.employees.state === 'source_suspect'
    const comparison = options.full && !isSuspect ? await compared(context, preview, options) : null
    return { source: name, preview, comparison, error: null }
  } catch (error) {
    if (error instanceof SpoolError) throw new FailedError(message('said.no_room', { reason: error.message }))
    // With several sources, the others may still answer.
    if (!(isOfHr(error) || error instanceof FailedError) || name === '') throw error
    return { source: name, preview, comparison: null, error }
  }
}

function kindOf({ full }: PlanOptions): 'full' | 'changes' {
  return full ? 'full' : 'changes'
}

function passes({ employees, departments, departmentsError }: RunPreview): boolean {
  if (departmentsError) return false
  return employees.state === 'running' && (departments?.verdict.state ?? 'running') === 'running'
}

/** A run that is not sure of the employees passes, but deletes no department, or none of some enterprises. */
function departmentsState({ deletions, verdict: { state, message } }: Departments): keyof typeof VERDICTS {
  return state === 'running' && message !== null && deletions.length === 0 ? 'idle' : state
}

type Departments = NonNullable<RunPreview['departments']>

/** A list for several sources; for a single or named source, its plan alone. */
function documentOf(plans: readonly SourcePlan[], options: PlanOptions): unknown {
  const documents = plans.map(({ source, preview, comparison, error, halt, partly, held }) => ({
    ...(source !== '' && { source }),
    ...(preview ? document(kindOf(options), preview, comparison) : { kind: kindOf(options) }),
    ...(error && { error: saidBy(error) }),
    halt,
    halts_of_enterprises: partly,
    held_runs: held,
  }))
  if (documents.length === 1) return documents[0]
  // Of several, that of everything.
  return { sources: documents, halt: plans.find(({ halt }) => halt?.scope === '*')?.halt ?? null }
}

async function printSourcePlan(plan: SourcePlan, options: PlanOptions, program: string): Promise<void> {
  const { source, preview, error } = plan
  if (source !== '') printTitle(say('shell.hr_source', { source }))
  if (error) printText(colours.red(said(saidBy(error))))
  if (error instanceof MappingError) print(...(await excerptOf(error)))
  if (preview) printPlan(kindOf(options), preview, plan, program)
}

async function compared(
  context: CommandContext,
  { rows, employees: { difference } }: RunPreview,
  options: PlanOptions,
): Promise<Comparison> {
  const progress = createProgress(say('shell.asking'), options.json === true)
  try {
    return await compareAll(context, rows(), difference.inScope - difference.skipped, progress)
  } finally {
    progress.end()
  }
}

function document(
  kind: string,
  { employees, departments, departmentsError, openids, rejected, undecided }: RunPreview,
  platform: Comparison | null,
) {
  const { difference, state, message } = employees
  return {
    kind,
    verdict: VERDICTS[state],
    message: message ?? null,
    in_scope: difference.inScope,
    // How an HR that looks wrong differs is no plan.
    ...(state === 'source_suspect'
      ? { planned: null }
      : {
          planned: sumOf(difference.reasons),
          reasons: difference.reasons,
          rejected,
          undecided,
          sample: difference.sample,
        }),
    keyless: employees.source.keyless,
    stray: employees.source.stray ?? 0,
    ...(employees.plan?.skipped !== undefined && { skipped: employees.plan.skipped }),
    first: difference.first,
    departments: departments && {
      total: departments.total,
      verdict: VERDICTS[departmentsState(departments)],
      message: departments.verdict.message,
      deletions: departments.deletions.map(departmentName),
    },
    departments_error: departmentsError,
    openids: { missing: openids },
    platform,
  }
}

function printPlan(
  kind: string,
  { employees, departments, departmentsError, openids, rejected, undecided }: RunPreview,
  { comparison, halt, partly, held, source }: Omit<SourcePlan, 'preview'>,
  program: string,
): void {
  const { difference, state, message } = employees
  const { asked: to_ask, ...differing } = difference.reasons
  const planned = countsText({ ...(to_ask !== undefined && { to_ask }), ...differing }, 'reason')
  const verdict = say(VERDICT_TEXTS[state])
  const painted = state === 'running' && !halt ? colours.green(verdict) : colours.yellow(verdict)
  print(
    say('shell.plan_verdict', {
      plan: colours.bold(say('shell.plan_of_kind', { kind: named('run_kind', kind) })),
      verdict: painted,
    }),
  )
  if (message) printText(said(message))
  if (state !== 'source_suspect') printWaits(halt, partly)
  const ofEmployees: NamedFact[] = [
    [
      'employees',
      say('shell.employees_in_scope', {
        planned: planned || say('shell.nothing_to_do'),
        count: difference.inScope,
      }),
    ],
    ['rejected', rejected > 0 ? say('shell.rejected_rest', { count: rejected }) : null],
    ['undecided', undecided.map(one => say('shell.undecided_in', one)).join(say('shell.comma'))],
    ['skipped', skippedText(employees.plan)],
    ['sample', difference.sample.join(', ')],
  ]
  printNamedFacts([
    // How an HR that looks wrong differs is no plan.
    ...(state === 'source_suspect' ? [] : ofEmployees),
    ['left_out', leftOut(employees.source)],
    ['departments', departmentsLine({ departments, departmentsError }, source)],
    ['open_ids', say('shell.openids_missing', { count: openids })],
  ])
  if (difference.first) printText(say('shell.first_run'))
  if (comparison) printComparison(comparison)
  print('')
  const isSuspect = state === 'source_suspect'
  printHeldAlready(held)
  const preview = { employees, departments, openids }
  const commands = isSuspect ? [] : commandsFor(kind, preview, held, program, source)
  const command = commands.join(say('hr_check.semicolon'))
  print(say('shell.nothing_written') + (command && say('shell.to_do_it', { command })))
}

function printHeldAlready(held: SourcePlan['held']): void {
  for (const run of Object.values(held))
    if (run !== null) printText(said(message('said.held_already', { run })))
}

/** What does the parts of a plan: those without anything to do need no run. */
function commandsFor(
  kind: string,
  { employees, departments, openids }: Pick<RunPreview, 'employees' | 'departments' | 'openids'>,
  held: SourcePlan['held'],
  program: string,
  source: string,
): string[] {
  const ofSource = source && ` --source ${source}`
  const resync = (option: string, state: string, run: number | null = null) => {
    const command = run === null ? `${program} resync${option} --wait` : `${program} plan ${run}`
    return state === 'held'
      ? say('shell.then_approve', { command, approve: `${program} approve ${run ?? 'RUN'}` })
      : command
  }
  return [
    ...(sumOf(employees.difference.reasons) > 0
      ? [resync(`${kind === 'full' ? ' --full' : ''}${ofSource}`, employees.state, held.employees)]
      : []),
    ...(departments && departments.deletions.length > 0
      ? [resync(` --departments${ofSource}`, departments.verdict.state, held.departments)]
      : []),
    ...(openids > 0 ? [resync(' --openids', 'running')] : []),
  ]
}

/** Further halts are only counted. */
const MOST_HALTS = 3

/** That a run would wait, as a whole or in part, and for what. */
function printWaits(halt: Halt | null, partly: readonly Halt[]): void {
  const halts = halt ? [halt] : partly
  for (const { scope, category, message: reason, remedy } of halts.slice(0, MOST_HALTS)) {
    printText(said(category === 'paused' ? reason : message('said.halt', { what: haltOf(scope), reason })))
    printArrow(said(remedy))
  }
  if (halts.length > MOST_HALTS) printText(say('departments.and_more', { count: halts.length - MOST_HALTS }))
  if (halts.length > 0) printText(say(halt ? 'shell.plan_waits' : 'shell.plan_waits_partly'))
}

/** Rows of HR that no run plans; null: there are none. */
function leftOut({ keyless, stray = 0 }: SourceStatistics): string | null {
  return (
    [
      keyless > 0 ? say('shell.rows_keyless', { count: keyless }) : [],
      stray > 0 ? say('shell.rows_stray', { count: stray }) : [],
    ]
      .flat()
      .join(say('shell.comma')) || null
  )
}

/** How many were left out by `--max-age`; null without it. */
function skippedText(plan: PlanSummary | null | undefined): string | null {
  return plan?.skipped === undefined ? null : say('shell.confirmed_recently', { count: plan.skipped })
}

function departmentsLine(
  { departments, departmentsError }: Pick<RunPreview, 'departments' | 'departmentsError'>,
  source: string,
): string {
  if (departmentsError) return say('shell.departments_unplanned', { why: said(departmentsError) })
  if (!departments)
    return say('shell.no_departments_sql', { setting: source ? 'departments_sql' : 'HR_DEPARTMENTS_SQL' })
  const { deletions, verdict } = departments
  const why = said(verdict.message)
  if (deletions.length === 0) return why ?? say('shell.none_to_delete')
  const names = deletions.slice(0, 20).map(departmentName).join(', ')
  const go = say(verdict.state === 'held' ? 'shell.departments_held' : 'shell.departments_to_delete', {
    count: deletions.length,
    names,
  })
  return why === null ? go : say('shell.departments_but', { go, why })
}
