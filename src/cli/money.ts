import { type Command, Option } from 'commander'
import { z } from 'zod'
import { EntriesInput, type Kind, RefundsInput, STATES_OF } from '../console/money/query.ts'
import { money } from '../console/money/routes.ts'
import { message } from '../texts/message.ts'
import { openContext } from './context.ts'
import { act, see, seeList, withQuery } from './definition.ts'
import { UsageError } from './failure.ts'
import { examples } from './output.ts'

/* Shared by `dirsync refund` and `dirsync topup`: list, show and resolve what was sent. */

/** How the two differ. */
export interface MoneyKind {
  kind: Kind
  command: 'refund' | 'topup'
  /** What the number is called, with an example. */
  argument: string
  numberMeaning: string
  exampleNumber: string
  /** How a person may know the outcome: an example of `--reason`. */
  exampleReason: string
}

export function addList(command: Command, { kind, command: name }: MoneyKind): void {
  const list = command.command('list').description('list them, those whose outcome is open first')
  const query: typeof EntriesInput = kind === 'refunds' ? RefundsInput : EntriesInput
  const asked = withQuery(list, query.extend({ state: z.enum(STATES_OF[kind]).optional() }))
  list
    .addHelpText('after', examples(`dirsync ${name} list`, `dirsync ${name} list --state unknown`))
    .action(async options => {
      await using context = await openContext()
      await seeList(context, money(context).list, { ...asked(options), kind }, options)
    })
}

export function addShow(command: Command, kind: MoneyKind): void {
  addNumbered(command.command('show').description('show everything about one'), kind).action(
    async (number: string, options: { json?: true }) => {
      await using context = await openContext()
      const { refund, topUp } = money(context)
      if (kind.kind === 'refunds') await see(context, refund, { params: { number }, input: {} }, options)
      else await see(context, topUp, { params: { code: number }, input: {} }, options)
    },
  )
}

export function addResolve(command: Command, kind: MoneyKind): void {
  const resolving = command
    .command('resolve')
    .description('say what became of one whose outcome is unknown')
    .addOption(
      new Option('--as <outcome>', 'accepted: carried out; rejected: not carried out')
        .choices(['accepted', 'rejected'])
        .makeOptionMandatory(),
    )
    .requiredOption('--reason <reason>', 'how you know, for whoever asks later')
  addNumbered(resolving, kind, ` --as accepted \\\n    --reason "${kind.exampleReason}"`).action(
    async (number: string, { as, reason, ...options }: ResolveOptions) => {
      const input = { as, reason: reason.trim() }
      if (input.reason === '') throw new UsageError(message('said.reason_empty_how'))
      await using context = await openContext()
      const { resolveRefund, resolveTopUp } = money(context)
      if (kind.kind === 'refunds') await act(context, resolveRefund, { params: { number }, input }, options)
      else await act(context, resolveTopUp, { params: { code: number }, input }, options)
    },
  )
}

interface ResolveOptions {
  as: 'accepted' | 'rejected'
  reason: string
  json?: true
}

/** Gives a command the number of an entry as its argument, and `--json`. */
export function addNumbered(command: Command, kind: MoneyKind, more = ''): Command {
  return command
    .argument(`<${kind.argument}>`, kind.numberMeaning)
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples(`dirsync ${kind.command} ${command.name()} ${kind.exampleNumber}${more}`))
}
