import type { Command } from 'commander'
import { bulk as bulkActions } from '../console/bulk/routes.ts'
import { knownCategories } from '../console/cases/dead-letter.ts'
import { FilterInput, ListInput } from '../console/cases/query.ts'
import { cases } from '../console/cases/routes.ts'
import { message } from '../texts/message.ts'
import { namesIn } from '../texts/texts.ts'
import { futureOf, numberOf, numbersOf, oneOf, reasonOf } from './arguments.ts'
import { type CommandContext, openContext, warnOfMissingRoles } from './context.ts'
import { act, printLines, see, withQuery } from './definition.ts'
import { UsageError } from './failure.ts'
import { say } from './language.ts'
import { examples, print, printJson } from './output.ts'

/** `dirsync dead-letters`: review of what failed. */
export function deadLettersCommand(program: Command): void {
  const command = program
    .command('dead-letters')
    .alias('cases')
    .description('review what failed: list, show, retry, ignore, snooze, wake, undo, assign, comment, export')
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

  const list = command.command('list').description('list the open ones, or those that match')
  const asked = withQuery(list, ListInput, { names: NAMES })
  list
    .addHelpText(
      'after',
      examples(
        'dirsync dead-letters list',
        'dirsync dead-letters list --state ignored',
        'dirsync dead-letters list --category missing_department --limit 200',
        'dirsync dead-letters list --enterprise E100 --older-than 3d --assignee -',
      ),
    )
    .action(async options => {
      await using context = await openContext()
      const query = asked(options)
      await assertCategories(context, query.categories)
      // Not page by page: a case that fails meanwhile would be left out, or come twice.
      await see(context, cases(context).list, { params: {}, input: query }, options)
    })

  command
    .command('show')
    .description('show everything about one')
    .argument('<id>', 'number of the dead letter', numberOf('dead_letter'))
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync dead-letters show 17'))
    .action(async (id: number, options) => {
      await using context = await openContext()
      await see(context, cases(context).one, { params: { id }, input: {} }, options)
    })

  command
    .command('retry')
    .description('try some again now, or all of one category')
    .argument('[ids...]', 'numbers of dead letters', numbersOf('dead_letter'))
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
    .argument('<id>', 'number of the dead letter', numberOf('dead_letter'))
    .requiredOption('--reason <reason>', 'why, for whoever asks later', reasonOf)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync dead-letters ignore 17 --reason "leaves at the end of the month"'),
    )
    .action(async (id: number, { reason, ...options }) => {
      await using context = await openContext()
      await act(context, cases(context).ignore, { params: { id }, input: { reason } }, options)
    })

  command
    .command('snooze')
    .description('let one rest until a time; then try it again')
    .argument('<id>', 'number of the dead letter', numberOf('dead_letter'))
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
    .action(async (id: number, { until, reason, ...options }) => {
      await using context = await openContext()
      const input = { until: until.toISOString(), reason }
      await act(context, cases(context).snooze, { params: { id }, input }, options)
    })

  command
    .command('wake')
    .description('end the snooze of one early, without trying it again')
    .argument('<id>', 'number of the dead letter', numberOf('dead_letter'))
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync dead-letters wake 17'))
    .action(async (id: number, options) => {
      await using context = await openContext()
      await act(context, cases(context).wake, { params: { id }, input: {} }, options)
    })

  command
    .command('undo')
    .description('take back the last ignore, snooze or assignment of one, within ten minutes')
    .argument('[id]', 'number of the dead letter', numberOf('dead_letter'))
    .option('--bulk <id>', 'of all that this bulk action changed, in the background', numberOf('bulk_action'))
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync dead-letters undo 17', 'dirsync dead-letters undo --bulk 3'))
    .action(async (id: number | undefined, { bulk, ...options }) => {
      if ((id === undefined) === (bulk === undefined)) throw new UsageError(message('said.case_or_bulk'))
      await using context = await openContext()
      const endpoint = bulk === undefined ? cases(context).undo : bulkActions(context).undo
      await act(context, endpoint, { params: { id: bulk ?? id }, input: {} }, options)
    })

  command
    .command('assign')
    .description('say who takes care of one')
    .argument('<id>', 'number of the dead letter', numberOf('dead_letter'))
    .option('--to <name>', 'who does')
    .option('--nobody', 'nobody does')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync dead-letters assign 17 --to mei', 'dirsync dead-letters assign 17 --nobody'),
    )
    .action(async (id: number, { to, nobody = false, ...options }) => {
      const assignee = to?.trim() || null
      if ((assignee === null) !== nobody) throw new UsageError(message('said.to_or_nobody'))
      await using context = await openContext()
      await act(context, cases(context).assign, { params: { id }, input: { assignee } }, options)
    })

  command
    .command('comment')
    .description('add to the story of one, resolved or not')
    .argument('<id>', 'number of the dead letter', numberOf('dead_letter'))
    .requiredOption('--text <text>', 'what to say')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync dead-letters comment 17 --text "called him: new number on Monday"'),
    )
    .action(async (id: number, { text, ...options }) => {
      await using context = await openContext()
      await act(context, cases(context).comment, { params: { id }, input: { text } }, options)
    })

  const exported = command.command('export').description('print all that match, with every column')
  const wanted = withQuery(exported, FilterInput.extend({ order: ListInput.shape.order }), {
    limit: Number.MAX_SAFE_INTEGER,
    names: NAMES,
  })
  exported
    .option('--csv', 'as CSV (the default)')
    .addHelpText(
      'after',
      examples(
        'dirsync dead-letters export --csv >dead-letters.csv',
        'dirsync dead-letters export --csv --state resolved >resolved.csv',
      ),
    )
    .action(async options => {
      if (options.csv && options.json)
        throw new UsageError(message('said.either_option', { one: '--csv', other: '--json' }))
      await using context = await openContext()
      const { limit, ...input } = wanted(options)
      await assertCategories(context, input.categories)
      const { list, csv } = cases(context)
      if (options.json) await see(context, list, { params: {}, input: { ...input, limit } }, options)
      else await printLines(context, csv, { params: {}, input }, limit)
    })
}

/** Options are in the singular. */
const NAMES = { states: 'state', categories: 'category' }

async function retry(ids: number[] | undefined, options: { category?: string; json?: true }): Promise<void> {
  const numbers = ids ?? []
  if (numbers.length > 0 === (options.category !== undefined))
    throw new UsageError(message('said.ids_or_category'))
  await using context = await openContext()
  const { commands } = context
  const { category } = options
  if (category !== undefined) await assertCategories(context, [category])
  const run = await (category === undefined ? commands.retry(numbers) : commands.retryCategory(category))
  if (options.json) printJson({ run, state: 'requested' })
  else print(say('shell.retry_run', { run: String(run), command: `${context.program} runs ${run}` }))
  await warnOfMissingRoles(context)
}

/** @throws UsageError for a category that neither the catalogue of texts nor any case knows */
async function assertCategories({ pool }: CommandContext, categories: string[] = []): Promise<void> {
  if (categories.length === 0) return
  const known = [...new Set([...namesIn('category'), ...(await knownCategories(pool))])].sort()
  categories.forEach(oneOf('category', known))
}
