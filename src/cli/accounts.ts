import type { Command } from 'commander'
import { io } from '../lib/io.ts'
import { ACCOUNT_STATUS, PRODUCT_CATEGORY } from '../platform/states.ts'
import { FailedError } from './failure.ts'
import {
  ASKED_BY_PERSON,
  ENTERPRISE,
  enterpriseFlag,
  type LookUpOptions,
  lookUp,
  stateText,
} from './look-up.ts'
import { counted, print, printJson, printTitle, table } from './output.ts'

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
      `the platform has no such account: ${program} accounts${enterpriseFlag(options)} lists those there are`,
    )
  if (options.json) return printJson({ accounts: found })
  if (found.length === 0)
    return print('The enterprise has no limit account. In a group, name the enterprise: --enterprise CODE.')
  io().stdout.write(
    table(
      [
        { title: 'ACCOUNT', of: row => row.account_openid ?? null },
        { title: 'NAME', of: row => row.name, gives: true },
        { title: 'PRODUCT', of: row => stateText(PRODUCT_CATEGORY, row.product_category), gives: true },
        { title: 'BALANCE', of: row => row.balance, align: 'right' },
        { title: 'STATUS', of: row => stateText(ACCOUNT_STATUS, row.status) },
      ],
      found,
    ),
  )
  const subs = found.flatMap(account => (account.sub_limits ?? []).map(sub => ({ ...sub, of: account.name })))
  if (subs.length > 0) {
    printTitle('Sub-accounts')
    io().stdout.write(
      table(
        [
          { title: 'ID', of: row => row.id, align: 'right' },
          { title: 'NAME', of: row => row.name, gives: true },
          { title: 'OF', of: row => row.of, gives: true },
          { title: 'STATUS', of: row => stateText(ACCOUNT_STATUS, row.status) },
        ],
        subs,
      ),
    )
  }
  print('', `${counted(found.length, 'account')}, ${counted(subs.length, 'sub-account')}.`)
}
