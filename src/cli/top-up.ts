import { type Command, Option } from 'commander'
import type { Config } from '../config.ts'
import type { TopUp, TopUpState } from '../money/top-up.ts'
import { limitOf, newNumber, oneOf, TOP_UP_NUMBER } from './arguments.ts'
import { openContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import { colours, longTime, print, printArrow, printFacts, printJson, shortTime, table } from './output.ts'
import {
  addRequestOptions,
  paintSentState,
  type RequestOption,
  type RequestValues,
  requestOf,
  sentStateText,
  TOP_UP_STATES,
} from './request.ts'

const BANK_TRANSFER = '1'

const OPTIONS: RequestOption[] = [
  {
    field: 'account_openid',
    flag: 'account',
    value: 'account-openid',
    help: 'points account, as dirsync accounts shows it',
    required: true,
  },
  {
    field: 'amount',
    flag: 'amount',
    value: 'amount',
    help: 'amount to apply for, such as 5000.00',
    required: true,
  },
  {
    field: 'external_code',
    flag: 'number',
    value: 'external-code',
    help: 'external business number; starts with the application id (default: a new one)',
  },
  {
    field: 'taxpayer',
    flag: 'taxpayer',
    value: 'name',
    help: 'taxpayer name; this or --identifier is needed',
  },
  { field: 'identifier', flag: 'identifier', value: 'number', help: 'taxpayer identification number' },
  {
    field: 'service_provider',
    flag: 'payment',
    value: 'method',
    help: `payment method (default ${BANK_TRANSFER}, bank transfer)`,
  },
  {
    field: 'applicant_name',
    flag: 'applicant',
    value: 'name',
    help: 'who applies, in at most 100 characters',
  },
  { field: 'email', flag: 'email', value: 'address', help: 'is told when the amount has arrived' },
  { field: 'mobile', flag: 'mobile', value: 'number', help: 'as --email; mainland numbers only' },
  { field: 'remark', flag: 'remark', value: 'text', help: 'note, in at most 150 characters' },
  { field: 'invoice_remark', flag: 'invoice-remark', value: 'text', help: 'remark printed on the invoice' },
  {
    field: 'invoice_extr_remark',
    flag: 'invoice-note',
    value: 'text',
    help: 'supplementary note about the invoice',
  },
  {
    field: 'enterprise_code',
    flag: 'enterprise',
    value: 'code',
    help: 'enterprise (default PLATFORM_ENTERPRISE_CODE)',
  },
]

/** `dirsync topup`: applications for enterprise points, and what became of them. */
export function topUpCommand(program: Command): void {
  const command = program
    .command('topup')
    .summary('apply for points, see what became of it')
    .description('apply for a top-up of enterprise points: send, list, show, resolve')
    .addHelpText(
      'after',
      `
An application is written down before it is sent, and its number is never sent
twice. The interface has no question about one: whether one of unknown outcome
was carried out, the back office shows, and a person says it with resolve. Until
then no other one is sent for its account, but with --although-open NUMBER.

Examples:
  dirsync topup send --account ACCOUNT --amount 5000.00 --taxpayer "Acme Ltd."
  dirsync topup list --state unknown`,
    )
  sendCommand(command)
  command
    .command('list')
    .description('list the latest applications, or those of a state')
    .option('--state <state>', `only these: ${TOP_UP_STATES.join(', ')}`, oneOf('state', TOP_UP_STATES))
    .option('--limit <n>', 'how many to list', limitOf, 50)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync topup list
  dirsync topup list --state unknown`,
    )
    .action(list)
  numbered(command.command('show').description('tell everything about one'), 'show').action(show)
  numbered(
    command
      .command('resolve')
      .description('say what became of one whose outcome is unknown')
      .addOption(
        new Option('--as <outcome>', 'accepted: carried out; rejected: not carried out')
          .choices(['accepted', 'rejected'])
          .makeOptionMandatory(),
      )
      .requiredOption('--reason <reason>', 'how you know, for whoever asks later'),
    'resolve',
    ' --as accepted \\\n    --reason "the back office shows it"',
  ).action(resolve)
}

function sendCommand(command: Command): void {
  const send = command.command('send').description('apply for points, after a question on a terminal')
  addRequestOptions(send, OPTIONS)
  send
    .option(
      '--although-open <number>',
      'send it even though top-up <number> of this account is still open; repeat for several',
      (number: string, others: string[] = []) => [...others, number],
    )
    .addHelpText(
      'after',
      `
The file holds the request of the specification (see dirsync platform
enterprise/account/applyCharge --help); flags override its fields.

Examples:
  dirsync topup send --account ACCOUNT --amount 5000.00 --taxpayer "Acme Ltd."
  dirsync topup send --json topup.json --yes`,
    )
    .action(async (values: RequestValues & { althoughOpen?: string[] }) => {
      const { sendTopUpRequest } = await import('./send-top-up.ts')
      await sendTopUpRequest(await requestOf(values, OPTIONS), defaults, values.althoughOpen)
    })
}

function defaults(config: Config) {
  return {
    external_code: newNumber(config.PLATFORM_APP_ID, TOP_UP_NUMBER, new Date()),
    service_provider: BANK_TRANSFER,
  }
}

function numbered(command: Command, name: string, more = ''): Command {
  return command
    .argument('<external-code>', 'external business number')
    .option('--json', 'print one JSON document')
    .addHelpText('after', `\nExamples:\n  dirsync topup ${name} app1T20261121080000XYZ${more}`)
}

async function list(options: { state?: TopUpState; limit: number; json?: true }): Promise<void> {
  const { listTopUps } = await import('../money/top-up.ts')
  await using context = await openContext()
  const { state, limit } = options
  const topUps = await listTopUps(context.pool, { state, limit: limit + 1 })
  const shown = topUps.slice(0, limit)
  const more = topUps.length > limit
  if (options.json) printJson({ more, topups: shown })
  else if (shown.length === 0)
    print(
      state
        ? `There is no top-up of state ${state}.`
        : `dirsync has applied for no top-up yet: ${context.program} topup send --help`,
    )
  else printTopUps(shown, more, context.program)
}

async function show(number: string, options: { json?: true }): Promise<void> {
  const { readTopUp } = await import('../money/top-up.ts')
  await using context = await openContext()
  const topUp = await readTopUp(context.pool, number)
  if (!topUp)
    throw new FailedError(`dirsync has sent no top-up ${number}: ${context.program} topup list shows them`)
  if (options.json) printJson(topUp)
  else printTopUp(topUp, context.program)
}

async function resolve(
  number: string,
  options: { as: 'accepted' | 'rejected'; reason: string; json?: true },
): Promise<void> {
  if (options.reason.trim() === '') throw new UsageError('--reason is empty: say how you know')
  const { resolveTopUp } = await import('../money/top-up.ts')
  await using context = await openContext()
  const topUp = await resolveTopUp(context.pool, number, options.as, options.reason.trim(), context.actor)
  if (options.json) printJson(topUp)
  else print(`Top-up ${number} is ${options.as}.`)
}

/** Top-up applications under each other, and how to look closer. */
function printTopUps(topUps: TopUp[], more: boolean, program: string): void {
  process.stdout.write(
    table(
      [
        { title: 'NUMBER', of: row => row.external_code, gives: true },
        { title: 'ACCOUNT', of: row => row.account_openid, gives: true, spare: true },
        { title: 'AMOUNT', of: row => row.amount, align: 'right' },
        { title: 'STATE', of: row => row.state, paint: paintSentState },
        { title: 'SENT', of: row => shortTime(row.sent_at) },
      ],
      topUps,
    ),
  )
  print('', more ? `${topUps.length} shown, and there are more (--limit).` : `${topUps.length} in all.`)
  print(`Everything about one: ${program} topup show ${topUps[0]?.external_code}`)
}

/** Everything about a top-up application, and what to do where its outcome is unknown. */
function printTopUp(topUp: TopUp, program: string): void {
  const { external_code: number, state } = topUp
  print(colours.bold(`Top-up ${number}`))
  printFacts([
    ['state', sentStateText(state)],
    ['account', topUp.account_openid],
    ['amount', topUp.amount],
    ['enterprise', topUp.enterprise_code],
    // Once a person has said it, the message tells of a doubt that is over.
    ['message', topUp.resolved_by ? null : topUp.message],
    ['code', topUp.platform_code],
    ['although open', topUp.although_open.join(', ') || null],
    ['application', topUp.apply_charge_openid],
    ['trace', topUp.trace_id],
    ['sent', `${longTime(topUp.sent_at)} by ${topUp.requested_by}`],
    ['outcome known', longTime(topUp.settled_at)],
    ['resolved', topUp.resolved_by && `by ${topUp.resolved_by}: ${topUp.resolution}`],
  ])
  if (state === 'unknown')
    printArrow(
      `See in the platform's back office whether it is there, then: ${program} topup resolve ${number} --as accepted (or rejected) --reason "…"`,
    )
}
