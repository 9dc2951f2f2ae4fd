import type { Command } from 'commander'
import type { TopUp } from '../money/top-up.ts'
import { newNumber, TOP_UP_NUMBER } from './arguments.ts'
import { addList, addResolve, addShow, type MoneyKind } from './money.ts'
import { addRequestOptions, type RequestOption, type RequestValues, requestOf } from './request.ts'

const BANK_TRANSFER = '1'

const OPTIONS: RequestOption[] = [
  {
    field: 'account_openid',
    flag: '--account <account-openid>',
    help: 'points account, as dirsync accounts shows it',
    required: true,
  },
  {
    field: 'amount',
    flag: '--amount <amount>',
    help: 'amount to apply for, such as 5000.00',
    required: true,
  },
  {
    field: 'external_code',
    flag: '--number <external-code>',
    help: 'external business number; starts with the application id (default: a new one)',
  },
  { field: 'taxpayer', flag: '--taxpayer <name>', help: 'taxpayer name; this or --identifier is needed' },
  { field: 'identifier', flag: '--identifier <number>', help: 'taxpayer identification number' },
  {
    field: 'service_provider',
    flag: '--payment <method>',
    help: `payment method (default ${BANK_TRANSFER}, bank transfer)`,
  },
  { field: 'applicant_name', flag: '--applicant <name>', help: 'who applies, in at most 100 characters' },
  { field: 'email', flag: '--email <address>', help: 'whom to tell when the amount has arrived' },
  { field: 'mobile', flag: '--mobile <number>', help: 'as --email; mainland numbers only' },
  { field: 'remark', flag: '--remark <text>', help: 'note, in at most 150 characters' },
  { field: 'invoice_remark', flag: '--invoice-remark <text>', help: 'remark printed on the invoice' },
  {
    field: 'invoice_extr_remark',
    flag: '--invoice-note <text>',
    help: 'supplementary note about the invoice',
  },
  {
    field: 'enterprise_code',
    flag: '--enterprise <code>',
    help: 'enterprise (default PLATFORM_ENTERPRISE_CODE)',
  },
]

const TOP_UPS: MoneyKind<TopUp> = {
  noun: 'top-up',
  command: 'topup',
  argument: 'external-code',
  numberMeaning: 'external business number',
  exampleNumber: 'app1T20261121080000XYZ',
  exampleReason: 'the back office shows it',
  isNotified: false,
  journal: async () => (await import('../money/top-up.ts')).topUpJournal,
  numberOf: topUp => topUp.external_code,
  target: { name: 'account', of: topUp => topUp.account_openid },
  amountOf: topUp => topUp.amount,
  sent: topUp => [['although open', topUp.although_open.join(', ') || null]],
  since: topUp => [['application', topUp.apply_charge_openid]],
  remedy: ({ external_code }, program) =>
    `Look in the platform's back office whether it is there, then: ${program} topup resolve ${external_code} --as accepted (or rejected) --reason "…"`,
}

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
twice. If its outcome is unknown, look in the platform's back office whether it
was carried out, and say it with resolve. Until then no other one is sent for
its account, unless you name it with --although-open NUMBER.

Examples:
  dirsync topup send --account ACCOUNT --amount 5000.00 --taxpayer "Acme Ltd."
  dirsync topup list --state unknown`,
    )
  addSend(command)
  addList(command, TOP_UPS)
  addShow(command, TOP_UPS)
  addResolve(command, TOP_UPS)
}

function addSend(command: Command): void {
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
      const { sendTopUpRequest } = await import('./send-money.ts')
      const defaults = (config: { PLATFORM_APP_ID: string }) => ({
        external_code: newNumber(config.PLATFORM_APP_ID, TOP_UP_NUMBER, new Date()),
        service_provider: BANK_TRANSFER,
      })
      await sendTopUpRequest(await requestOf(values, OPTIONS), defaults, values.althoughOpen)
    })
}
