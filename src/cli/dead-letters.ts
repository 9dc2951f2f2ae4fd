import type { Command } from 'commander'
import { csvLine } from '../lib/csv.ts'
import { PLATFORM_CODES } from '../platform/codes.ts'
import { countCases, everyCase, listCasesPage } from '../report/cases.ts'
import { DeadLetter, knownCategories, readCase } from '../report/review.ts'
import { type CaseFilter, FIELDS } from '../sync/case-filter.ts'
import { Commands } from '../sync/commands.ts'
import { futureOf, limitOf, numberOf, numbersOf, oneOf, reasonOf } from './arguments.ts'
import { type CommandContext, openContext, warnOfMissingRoles } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import { named, namedWithValue, said, say, who } from './language.ts'
import {
  type Column,
  coloured,
  entityName,
  examples,
  longTime,
  paintedBy,
  print,
  printFacts,
  printJson,
  printTable,
  printTitle,
  shortTime,
} from './output.ts'

/** `dirsync dead-letters`: review of what failed. */
export function deadLettersCommand(program: Command): void {
  const command = program
    .command('dead-letters')
    .alias('cases')
    .description('review what failed: list, show, retry, ignore, snooze, assign, comment, export')
    .addHelpText(
      'after',
      `
A dead letter is a case for review: one per employee or department, operation
and field. The first success resolves it. A dead letter of an enterprise means
that a field is switched off there: retrying it tries one employee, and if that
works, all employees are compared again.

Examples:
  dirsync dead-letters list --category duplicate_mobile
  dirsync dead-letters show 17
  dirsync dead-letters retry 17 18
  dirsync dead-letters ignore 17 --reason "shared phone, agreed with them"`,
    )

  filtered(command.command('list').description('list the open ones, or those that match'))
    .option('--limit <n>', 'how many to list', limitOf, 50)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples(
        'dirsync dead-letters list',
        'dirsync dead-letters list --state ignored',
        'dirsync dead-letters list --category missing_department --limit 200',
        'dirsync dead-letters list --enterprise E100 --older-than 3d --assignee -',
      ),
    )
    .action(list)

  command
    .command('show')
    .description('show everything about one')
    .argument('<id>', 'number of the dead letter', numberOf('dead letter'))
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync dead-letters show 17'))
    .action(show)

  command
    .command('retry')
    .description('try some again now, or all of one category')
    .argument('[ids...]', 'numbers of dead letters', numbersOf('dead letter'))
    .option('--category <category>', 'all open ones of this category')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync dead-letters retry 17', 'dirsync dead-letters retry --category missing_department'),
    )
    .action(retry)

  command
    .command('ignore')
    .description('accept one as it is; it reopens when the HR row changes or fails for another reason')
    .argument('<id>', 'number of the dead letter', numberOf('dead letter'))
    .requiredOption('--reason <reason>', 'why, for whoever asks later', reasonOf)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync dead-letters ignore 17 --reason "leaves at the end of the month"'),
    )
    .action(ignore)

  command
    .command('snooze')
    .description('let one rest until a time; then try it again')
    .argument('<id>', 'number of the dead letter', numberOf('dead letter'))
    .requiredOption(
      '--until <time>',
      'a time (2030-01-31, 2030-01-31T08:00), or 30m, 12h, 3d, 2w from now',
      futureOf('--until'),
    )
    .option('--reason <reason>', 'why')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples(
        'dirsync dead-letters snooze 17 --until 3d',
        'dirsync dead-letters snooze 17 --until 2030-01-31T08:00 --reason "HR fixes it"',
      ),
    )
    .action(snooze)

  command
    .command('assign')
    .description('say who takes care of one')
    .argument('<id>', 'number of the dead letter', numberOf('dead letter'))
    .option('--to <name>', 'who does')
    .option('--nobody', 'nobody does')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync dead-letters assign 17 --to mei', 'dirsync dead-letters assign 17 --nobody'),
    )
    .action(assign)

  command
    .command('comment')
    .description('add to the story of one, resolved or not')
    .argument('<id>', 'number of the dead letter', numberOf('dead letter'))
    .requiredOption('--text <text>', 'what to say')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync dead-letters comment 17 --text "called him: new number on Monday"'),
    )
    .action(comment)

  filtered(command.command('export').description('print all that match, with every column'))
    .option('--csv', 'as CSV (the default)')
    .option('--json', 'as one JSON document')
    .addHelpText(
      'after',
      examples(
        'dirsync dead-letters export --csv >dead-letters.csv',
        'dirsync dead-letters export --csv --state resolved >resolved.csv',
      ),
    )
    .action(exportAll)
}

/** Fields of the filter whose option is in the singular. */
const SINGULAR: Partial<Record<keyof CaseFilter, string>> = { states: 'state', categories: 'category' }
const FILTERS = (Object.keys(FIELDS) as (keyof CaseFilter)[]).map(field => {
  const option = SINGULAR[field] ?? field
  const flag = option.replace(/[A-Z]/g, capital => `-${capital.toLowerCase()}`)
  return { field, option, flag, schema: FIELDS[field] }
})

type FilterOptions = Record<string, unknown>

/** Adds an option for each field of the filter. */
function filtered(command: Command): Command {
  for (const { flag, schema } of FILTERS) {
    const value = flag.includes('-') ? 'value' : flag
    const does = schema.description?.replace(/^./, letter => letter.toLowerCase())
    command.option(`--${flag} <${value}>`, does ?? '', text => {
      const { success, data, error } = schema.safeParse(text)
      if (success) return data
      const [issue] = error.issues
      if (issue?.code === 'invalid_value') oneOf(flag, issue.values.map(String))(text)
      throw new UsageError(`--${flag} holds ${JSON.stringify(text)}: ${issue?.message}`)
    })
  }
  return command
}

async function list(options: FilterOptions & { limit: number; json?: true }): Promise<void> {
  await using context = await openContext()
  const filter = await filterOf(context, options)
  const [{ cases }, { count: total }] = await Promise.all([
    listCasesPage(context.pool, filter, { limit: options.limit }),
    countCases(context.pool, filter, Number.MAX_SAFE_INTEGER - 1),
  ])
  if (options.json) printJson({ total, dead_letters: cases })
  else printCases(cases, total, context.program)
}

async function show(id: number, options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const found = await readCase(context.pool, id)
  if (!found) throw new FailedError(`there is no dead letter ${id}`)
  if (options.json) printJson(found)
  else printCase(found, context.program)
}

async function retry(ids: number[] | undefined, options: { category?: string; json?: true }): Promise<void> {
  const numbers = ids ?? []
  if (numbers.length > 0 === (options.category !== undefined))
    throw new UsageError('give either the numbers of dead letters or --category, not both')
  await using context = await openContext()
  const commands = new Commands(context.pool, context.asker)
  const { category } = options
  if (category !== undefined) await assertCategories(context, [category])
  const run = await (category === undefined ? commands.retry(numbers) : commands.retryCategory(category))
  if (options.json) printJson({ run, state: 'requested' })
  else print(say('shell.retry_run', { run: String(run), command: `${context.program} runs ${run}` }))
  await warnOfMissingRoles(context)
}

async function ignore(id: number, options: { reason: string; json?: true }): Promise<void> {
  await using context = await openContext()
  await new Commands(context.pool, context.asker).ignore(id, options.reason)
  if (options.json) return printJson({ id, state: 'ignored' })
  const ignored = await readCase(context.pool, id)
  if (ignored?.entity === 'enterprise')
    print(say('shell.ignored_enterprise', { id: String(id), command: `${context.program} status` }))
  else print(say('shell.ignored', { id: String(id) }))
}

async function snooze(id: number, options: { until: Date; reason?: string; json?: true }): Promise<void> {
  const { until, reason = null } = options
  await using context = await openContext()
  await new Commands(context.pool, context.asker).snooze(id, until, reason)
  if (options.json) printJson({ id, state: 'snoozed', until })
  else print(say('shell.snoozed', { id: String(id), until: longTime(until) }))
}

async function assign(id: number, options: { to?: string; nobody?: true; json?: true }): Promise<void> {
  const assignee = options.to?.trim() || null
  if ((assignee === null) !== (options.nobody ?? false))
    throw new UsageError('give either --to and a name, or --nobody')
  await using context = await openContext()
  await new Commands(context.pool, context.asker).assign(id, assignee)
  if (options.json) printJson({ id, assignee })
  else print(assignee ? `Dead letter ${id} is assigned to ${assignee}.` : `Dead letter ${id} is nobody's.`)
}

async function comment(id: number, options: { text: string; json?: true }): Promise<void> {
  await using context = await openContext()
  await new Commands(context.pool, context.asker).comment(id, options.text)
  if (options.json) printJson({ id, comment: options.text.trim() })
  else print(`The comment is in the story: ${context.program} dead-letters show ${id}`)
}

async function exportAll(options: FilterOptions & { csv?: true; json?: true }): Promise<void> {
  if (options.csv && options.json) throw new UsageError('give either --csv or --json, not both')
  await using context = await openContext()
  const cases = everyCase(context.pool, await filterOf(context, options))
  if (options.json) {
    const all = []
    for await (const row of cases) all.push(row)
    return printJson({ dead_letters: all })
  }
  const columns = DeadLetter.keyof().options
  print(csvLine(columns))
  for await (const row of cases) print(csvLine(columns.map(column => row[column])))
}

/** Categories that a dead letter may have: those of the platform's answers, and those that dirsync itself assigns. */
const CATEGORIES: readonly string[] = [
  ...Object.values(PLATFORM_CODES)
    .filter(({ disposition }) => disposition === 'park')
    .map(({ category }) => category),
  ...[
    'invalid_hr_row',
    'unsettled_hr_row',
    'left_hr',
    'not_applied',
    'unknown_payer',
    'platform_unavailable',
    'unclassified',
    'internal_error',
  ],
]

async function filterOf(context: CommandContext, options: FilterOptions): Promise<CaseFilter> {
  const filter: CaseFilter = Object.fromEntries(FILTERS.map(({ field, option }) => [field, options[option]]))
  await assertCategories(context, filter.categories ?? [])
  return filter
}

/** @throws UsageError for a category that is neither in the catalogue nor in any case */
async function assertCategories({ pool }: CommandContext, categories: string[]): Promise<void> {
  if (categories.length === 0) return
  const known = [...new Set([...CATEGORIES, ...(await knownCategories(pool))])].sort()
  categories.forEach(oneOf('category', known))
}

function swapColumn(): Column<DeadLetter> {
  return { title: say('shell.column.swap'), of: row => row.swap_id, align: 'right' }
}

/** A list of cases, with a hint for details. */
function printCases(cases: DeadLetter[], total: number, program: string): void {
  const [first] = cases
  if (!first) {
    print(say('shell.no_dead_letters'))
    return
  }
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
    ...(cases.some(({ swap_id }) => swap_id !== null) ? [swapColumn()] : []),
    { title: say('shell.column.failed'), of: row => row.occurrences, align: 'right', spare: true },
    { title: say('shell.column.blocked_by'), of: row => row.blocked_by, spare: true },
    { title: say('shell.column.last'), of: row => shortTime(row.last_failed_at) },
  ])
  print(
    '',
    total > cases.length
      ? say('shell.shown_of', { shown: String(cases.length), total: String(total) })
      : say('shell.in_all', { total: String(total) }),
  )
  print(say('shell.what_to_do', { command: `${program} dead-letters show ${first.id}` }))
}

/** Everything about one case. */
function printCase(found: NonNullable<Awaited<ReturnType<typeof readCase>>>, program: string): void {
  const { id, state } = found
  const first = say('shell.first_failure', {
    time: longTime(found.first_failed_at),
    run: String(found.first_run_id ?? '–'),
  })
  const last = say('shell.last_failure', {
    time: longTime(found.last_failed_at),
    run: String(found.last_run_id ?? '–'),
  })
  print(
    say('shell.dead_letter_is', {
      id: String(id),
      entity: named('entity', found.entity),
      name: entityName(found),
      state: coloured(state, named('state', state)),
    }),
  )
  printFacts([
    [say('shell.fact.category'), namedWithValue('category', found.category)],
    [say('shell.fact.field'), named('field', found.field)],
    [say('shell.fact.operation'), named('operation', found.operation)],
    [say('shell.fact.message'), said(found.message)],
    [say('shell.fact.remedy'), said(found.remedy)],
    [
      say('shell.fact.values'),
      found.changed_fields
        .map(({ field, value }) => `${named('field', field)} ${said(value) ?? '–'}`)
        .join(say('shell.comma')),
    ],
    [say('shell.fact.blocked_by'), found.blocked_by],
    [
      say('shell.fact.swap'),
      found.swap_id &&
        say('shell.swap_with', { swap: String(found.swap_id), others: found.swapped_with.join(', ') }),
    ],
    [say('shell.fact.code'), found.platform_code],
    [say('shell.fact.trace'), found.trace_id],
    [
      say('shell.fact.failed'),
      [say('shell.times', { count: found.occurrences }), first, last].join(say('shell.comma')),
    ],
    [say('shell.fact.next_retry'), longTime(found.next_retry_at)],
    [
      say('shell.fact.resolved'),
      found.resolved_at &&
        say('shell.resolved_by', {
          time: longTime(found.resolved_at),
          name: who(found.resolved_by ?? ''),
          resolution: named('resolution', found.resolution),
        }),
    ],
    [say('shell.fact.note'), found.note],
    [say('shell.fact.assigned_to'), found.assignee],
  ])
  printTitle(say('shell.title.story'))
  printTable(found.events, [
    { title: say('shell.column.at'), of: event => longTime(event.at) },
    { title: say('shell.column.event'), of: event => named('event', event.event) },
    { title: say('shell.column.by'), of: event => who(event.actor), gives: true },
    { title: say('shell.column.run'), of: event => event.run_id, align: 'right' },
    { title: say('shell.column.note'), of: event => noteOf(event.note), gives: true },
  ])
  if (state === 'resolved') return
  printTitle(say('shell.title.act'))
  print(
    `  ${program} dead-letters retry ${id}`,
    `  ${program} dead-letters ignore ${id} --reason "…"`,
    `  ${program} dead-letters snooze ${id} --until 3d`,
  )
  if (found.entity === 'employee') print(`  ${program} employee ${entityName(found)}`)
}

/** The note of an event: a category, an ending, or a sentence. */
function noteOf(note: string | null): string | null {
  return said(named('resolution', named('category', note)))
}
