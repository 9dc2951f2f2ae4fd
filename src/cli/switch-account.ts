import type { Command } from 'commander'
import { accountOf } from '../connections.ts'
import {
  accountSaid,
  accountText,
  countMemory,
  isSameAccount,
  readDeployment,
  switchAccount,
} from '../sync/health/deployment.ts'
import { message } from '../texts/message.ts'
import { openContext } from './context.ts'
import { UsageError } from './failure.ts'
import { said, say } from './language.ts'
import { figure, type NamedFact, print, printJson, printNamedFacts } from './output.ts'

interface SwitchOptions {
  keepMemory?: true
  yes?: true
  json?: true
}

/** `dirsync switch-account`: makes the database belong to the account in the settings from now on. */
export function switchAccountCommand(program: Command): void {
  program
    .command('switch-account')
    .description('switch this database to the platform account that the settings name')
    .option('--keep-memory', 'the same account at another address: forget nothing')
    .option('--yes', 'do it; without it, only show what would be forgotten')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
The database remembers what one account of the platform (PLATFORM_BASE_URL and
PLATFORM_APP_ID) confirmed, and dirsync refuses to start with another one. This
command forgets what was confirmed: hashes, departments, open ids, mirrors, the
outbox. Attempts, runs, refunds, top-ups and decisions stay; open cases and runs
end. Stop every process of the deployment first.

Examples:
  dirsync switch-account
  dirsync switch-account --yes
  dirsync switch-account --keep-memory --yes`,
    )
    .action(run)
}

async function run(options: SwitchOptions): Promise<void> {
  await using context = await openContext()
  const { config, pool, actor, program } = context
  const to = accountOf(config)
  const keepMemory = options.keepMemory === true
  if (options.yes) {
    const switched = await switchAccount(pool, to, { keepMemory, actor })
    const account = accountText(to)
    if (options.json)
      printJson({ switched: switched !== null, account, forgotten: switched?.forgotten ?? null })
    else if (switched === null) print(said(message('said.remembers_already', { account: accountSaid(to) })))
    else print(said(message('said.remembers_now', { account: accountSaid(to), command: `${program} start` })))
    return
  }
  const from = await readDeployment(pool)
  const isNew = !from || !isSameAccount(from, to)
  const forgets = isNew && !keepMemory ? await countMemory(pool) : null
  const [ours, theirs] = [from && accountText(from), accountText(to)]
  if (options.json) printJson({ from: ours, to: theirs, forgets })
  else if (!isNew) print(said(message('said.remembers_already', { account: accountSaid(to) })))
  else {
    printNamedFacts([
      ['remembered', from ? said(accountSaid(from)) : say('shell.account_unknown')],
      ['settings', said(accountSaid(to))],
    ])
    if (forgets) {
      print('', say('shell.title.would_forget'))
      const counts = Object.entries(forgets) as [keyof typeof forgets, number][]
      printNamedFacts(counts.map(([name, count]): NamedFact => [name, figure(count)]))
    }
  }
  if (isNew) throw new UsageError(message('said.give_yes'))
}
