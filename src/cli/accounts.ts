import type { Command } from 'commander'
import { ACCOUNT_STATUS, PRODUCT_CATEGORY } from '../platform/states.ts'
import { openContext } from './context.ts'
import { FailedError } from './failure.ts'
import { enterpriseOf, stateText } from './look-up.ts'
import { counted, print, printJson, printTitle, table } from './output.ts'

/** `dirsync accounts`: the enterprise's limit accounts, their balances and sub-accounts. */
export function accountsCommand(program: Command): void {
  program
    .command('accounts')
    .summary('show limit accounts and their balances')
    .description('show the limit accounts of the enterprise with balances and sub-accounts, as they are now')
    .argument('[account-openid]', 'one account alone')
    .option('--enterprise <code>', 'enterprise (default PLATFORM_ENTERPRISE_CODE)')
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

async function accounts(
  account_openid: string | undefined,
  options: { enterprise?: string; json?: true },
): Promise<void> {
  const { json = false } = options
  const { orExplained } = await import('./look-up.ts')
  await using context = await openContext()
  const { limitAccounts } = await context.platform()
  const found = await orExplained(
    'assets/limit/enterprise/get',
    json,
    limitAccounts.list(
      {
        ...(account_openid === undefined ? {} : { account_openid }),
        ...enterpriseOf(context, options.enterprise),
      },
      { priority: 1 },
    ),
  )
  const ofEnterprise = options.enterprise === undefined ? '' : ` --enterprise ${options.enterprise}`
  if (account_openid !== undefined && found.length === 0)
    throw new FailedError(
      `the platform has no such account: ${context.program} accounts${ofEnterprise} lists those there are`,
    )
  if (json) return printJson({ accounts: found })
  if (found.length === 0)
    return print('The enterprise has no limit account. Of a group, name the enterprise: --enterprise CODE.')
  process.stdout.write(
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
    process.stdout.write(
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
