import { type Command, Option } from 'commander'
import { io } from '../lib/io.ts'
import type { Entry, EntryState, Journal } from '../money/journal.ts'
import { limitOf, oneOf } from './arguments.ts'
import { openContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import { said, who } from './language.ts'
import { printShown } from './look-up.ts'
import {
  colours,
  type Fact,
  longTime,
  print,
  printArrow,
  printFacts,
  printJson,
  shortTime,
  table,
} from './output.ts'

/** Shared by `dirsync refund` and `dirsync topup`: list, show and resolve entries of the journal. */

/** How the two differ. */
export interface MoneyKind<Row extends Entry> {
  noun: 'refund' | 'top-up'
  command: 'refund' | 'topup'
  /** What the number is called, with an example. */
  argument: string
  numberMeaning: string
  exampleNumber: string
  /** How a person may know the outcome: an example of `--reason`. */
  exampleReason: string
  /** Whether the platform sends notifications about it. */
  isNotified: boolean
  /** Loaded on use, so that `--help` is quick. */
  journal(): Promise<Journal<Row>>
  numberOf(row: Row): string
  /** Its order, or its account. */
  target: { name: string; of(row: Row): string }
  amountOf(row: Row): string
  /** Further facts: what was sent, and what happened since. */
  sent(row: Row): Fact[]
  since(row: Row): Fact[]
  /** What to do while the outcome is unknown. */
  remedy(row: Row, program: string): string
}

/** What each state says about the money. */
const MEANINGS: Record<EntryState, string> = {
  requested: 'being sent',
  unknown: 'sent, and perhaps carried out',
  accepted: 'carried out',
  rejected: 'not carried out',
  notified: 'carried out, and notified by the platform',
}

/** Adds `list`. */
export function addList<Row extends Entry>(command: Command, kind: MoneyKind<Row>): void {
  const states = (Object.keys(MEANINGS) as EntryState[]).filter(
    state => kind.isNotified || state !== 'notified',
  )
  command
    .command('list')
    .description(`list the latest ${kind.noun}s, or those in one state`)
    .option('--state <state>', `only these: ${states.join(', ')}`, oneOf('state', states))
    .option('--limit <n>', 'how many to list', limitOf, 50)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync ${kind.command} list
  dirsync ${kind.command} list --state unknown`,
    )
    .action((options: ListOptions) => list(kind, options))
}

/** Adds `show`. */
export function addShow<Row extends Entry>(command: Command, kind: MoneyKind<Row>): void {
  addNumbered(command.command('show').description('show everything about one'), kind).action(
    (number: string, options: { json?: true }) => show(kind, number, options),
  )
}

/** Adds `resolve`. */
export function addResolve<Row extends Entry>(command: Command, kind: MoneyKind<Row>): void {
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
    (number: string, options: ResolveOptions) => resolve(kind, number, options),
  )
}

/** Gives a command the number of a row as its argument, and `--json`. */
export function addNumbered<Row extends Entry>(command: Command, kind: MoneyKind<Row>, more = ''): Command {
  return command
    .argument(`<${kind.argument}>`, kind.numberMeaning)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `\nExamples:\n  dirsync ${kind.command} ${command.name()} ${kind.exampleNumber}${more}`,
    )
}

interface ListOptions {
  state?: EntryState
  limit: number
  json?: true
}

async function list<Row extends Entry>(kind: MoneyKind<Row>, options: ListOptions): Promise<void> {
  const journal = await kind.journal()
  await using context = await openContext()
  const { program } = context
  const { state, limit } = options
  const rows = await journal.list(context.pool, { state, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  const more = rows.length > limit
  if (options.json) return printJson({ more, [`${kind.command}s`]: shown })
  if (shown.length === 0)
    return print(
      state
        ? `No ${kind.noun} is in the state ${state}.`
        : `dirsync has sent no ${kind.noun} yet: ${program} ${kind.command} send --help`,
    )
  const text = table(
    [
      { title: 'NUMBER', of: kind.numberOf, gives: true },
      { title: kind.target.name.toUpperCase(), of: kind.target.of, gives: true, spare: true },
      { title: 'AMOUNT', of: kind.amountOf, align: 'right' },
      { title: 'STATE', of: row => row.state, paint: paintState },
      { title: 'SENT', of: row => shortTime(row.sent_at) },
    ],
    shown,
  )
  io().stdout.write(text)
  printShown(shown, more)
  print(`Everything about one: ${program} ${kind.command} show ${kind.numberOf(shown[0] as Row)}`)
}

async function show<Row extends Entry>(
  kind: MoneyKind<Row>,
  number: string,
  options: { json?: true },
): Promise<void> {
  const journal = await kind.journal()
  await using context = await openContext()
  const row = await journal.read(context.pool, number)
  if (!row)
    throw new FailedError(
      `dirsync has sent no ${kind.noun} ${number}: ${context.program} ${kind.command} list shows them`,
    )
  if (options.json) printJson(row)
  else printEntry(kind, row, context.program)
}

interface ResolveOptions {
  as: 'accepted' | 'rejected'
  reason: string
  json?: true
}

async function resolve<Row extends Entry>(
  kind: MoneyKind<Row>,
  number: string,
  options: ResolveOptions,
): Promise<void> {
  const reason = options.reason.trim()
  if (reason === '') throw new UsageError('--reason is empty: say how you know')
  const journal = await kind.journal()
  await using context = await openContext()
  const row = await journal.resolve(context.pool, number, options.as, reason, {
    actor: context.actor,
  })
  if (options.json) printJson(row)
  else print(`${titleOf(kind.noun)} ${number} is ${options.as}.`)
}

/** Prints everything about an entry, and what to do if its outcome is unknown. */
export function printEntry<Row extends Entry>(kind: MoneyKind<Row>, row: Row, program: string): void {
  print(colours.bold(`${titleOf(kind.noun)} ${kind.numberOf(row)}`))
  printFacts([
    ['state', `${row.state}: ${MEANINGS[row.state]}`],
    [kind.target.name, kind.target.of(row)],
    ['amount', kind.amountOf(row)],
    ...kind.sent(row),
    ['enterprise', row.enterprise_code],
    // Once the platform or a person has settled it, the message describes a doubt that is over.
    ['message', row.state === 'notified' || row.resolved_by ? null : said(row.message)],
    ['code', row.platform_code],
    ['trace', row.trace_id],
    ['sent', `${longTime(row.sent_at)} by ${who(row.requested_by)}`],
    ['outcome known', longTime(row.settled_at)],
    ...kind.since(row),
    ['resolved', row.resolved_by && `by ${who(row.resolved_by)}: ${row.resolution}`],
  ])
  if (row.state === 'unknown') printArrow(kind.remedy(row, program))
}

function titleOf(noun: string): string {
  return noun[0]?.toUpperCase() + noun.slice(1)
}

/** Colours the state in a table's cell, by what it asks of a person. */
function paintState(cell: string): string {
  const state = cell.trimEnd()
  const colour = { unknown: 'red', rejected: 'yellow', accepted: 'green', notified: 'green' } as const
  if (!Object.hasOwn(colour, state)) return cell
  return colours[colour[state as keyof typeof colour]](state) + cell.slice(state.length)
}
