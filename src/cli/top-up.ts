import type { Command } from 'commander'
import { newNumber, TOP_UP_NUMBER } from './arguments.ts'
import { addList, addResolve, addShow, type MoneyKind } from './money.ts'
import { addRequestOptions, type RequestFlags, type RequestValues, requestOf } from './request.ts'

const BANK_TRANSFER = '1'

const FLAGS: RequestFlags = {
  account_openid: ['--account <account-openid>', 'points account, as dirsync accounts shows it'],
  amount: ['--amount <amount>', 'amount to apply for, such as 5000.00'],
  external_code: [
    '--number <external-code>',
    'external business number; starts with the application id (default: a new one)',
  ],
  taxpayer: ['--taxpayer <name>', 'taxpayer name; this or --identifier is needed'],
  identifier: ['--identifier <number>', 'taxpayer identification number'],
  service_provider: ['--payment <method>', `payment method (default ${BANK_TRANSFER}, bank transfer)`],
  applicant_name: ['--applicant <name>', 'who applies, in at most 100 characters'],
  email: ['--email <address>', 'whom to tell when the amount has arrived'],
  mobile: ['--mobile <number>', 'as --email; mainland numbers only'],
  remark: ['--remark <text>', 'note, in at most 150 characters'],
  invoice_remark: ['--invoice-remark <text>', 'remark printed on the invoice'],
  invoice_extr_remark: ['--invoice-note <text>', 'supplementary note about the invoice'],
  enterprise_code: ['--enterprise <code>', 'enterprise (default PLATFORM_ENTERPRISE_CODE)'],
}
const REQUIRED = ['account_openid', 'amount']

const TOP_UPS: MoneyKind = {
  kind: 'topups',
  command: 'topup',
  argument: 'external-code',
  numberMeaning: 'external business number',
  exampleNumber: 'app1T20261121080000XYZ',
  exampleReason: 'the back office shows it',
}

/** `dirsync topup`: applications for enterprise points, and their outcomes. */
export function topUpCommand(program: Command): void {
  const command = program
    .command('topup')
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
  const send = command.command('send').description('apply for points; on a terminal it asks you first')
  addRequestOptions(send, FLAGS)
  send
    .option(
      '--although-open <number>',
      'send it even though top-up <number> of this account is still open; repeat for several',
      (number: string, others: string[] = []) => [...others, number],
    )
    .addHelpText(
      'after',
      `
The file holds the platform's request (see dirsync platform
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
      await sendTopUpRequest(await requestOf(values, FLAGS, REQUIRED), defaults, values.althoughOpen)
    })
}
