import type { Command } from 'commander'
import { message } from '../texts/message.ts'
import { FailedError } from './failure.ts'
import { say } from './language.ts'
import {
  ASKED_BY_PERSON,
  amountText,
  ENTERPRISE,
  enterpriseFlag,
  type LookUpOptions,
  lookUp,
  stateText,
} from './look-up.ts'
import { columnTitle, print, printJson, printTable, printTitle } from './output.ts'

/** `dirsync accounts`: the enterprise's limit accounts, their balances and sub-accounts. */
export function accountsCommand(program: Command): void {
  program
    .command('accounts')
    .description('show the limit accounts of the enterprise with balances and sub-accounts, as they are now')
    .argument('[account-openid]', 'show this account alone')
    .option(...ENTERPRISE)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync accounts
  dirsync accounts --json | jq '.accounts[] | {name, balance}'`,
    )
    .action(accounts)
}

async function accounts(account: string | undefined, options: LookUpOptions): Promise<void> {
  const query = account === undefined ? {} : { account_openid: account }
  const { found, program } = await lookUp('assets/limit/enterprise/get', options, (client, enterprise) =>
    client.limitAccounts.list({ ...query, ...enterprise }, ASKED_BY_PERSON),
  )
  if (account !== undefined && found.length === 0)
    throw new FailedError(
      message('said.no_such_account', { command: `${program} accounts${enterpriseFlag(options)}` }),
    )
  if (options.json) return printJson({ accounts: found })
  if (found.length === 0) return print(say('shell.no_accounts'))
  printTable(found, [
    { title: columnTitle('account'), of: row => row.account_openid ?? null },
    { title: columnTitle('name'), of: row => row.name, gives: true },
    {
      title: columnTitle('product'),
      of: row => stateText('product_category', row.product_category),
      gives: true,
    },
    { title: columnTitle('balance'), of: row => amountText(row.balance), align: 'right' },
    { title: columnTitle('status'), of: row => stateText('account_status', row.status) },
  ])
  const subs = found.flatMap(account => (account.sub_limits ?? []).map(sub => ({ ...sub, of: account.name })))
  if (subs.length > 0) {
    printTitle(say('mirrors.sub_accounts'))
    printTable(subs, [
      { title: 'ID', of: row => row.id, align: 'right' },
      { title: columnTitle('name'), of: row => row.name, gives: true },
      { title: columnTitle('of'), of: row => row.of, gives: true },
      { title: columnTitle('status'), of: row => stateText('account_status', row.status) },
    ])
  }
  print('', say('shell.accounts_shown', { accounts: found.length, subs: subs.length }))
}
