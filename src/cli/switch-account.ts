import type { Command } from 'commander'
import { openContext } from './context.ts'
import { UsageError } from './failure.ts'
import { print, printFacts, printJson, words } from './output.ts'

interface SwitchOptions {
  keepMemory?: true
  yes?: true
  json?: true
}

/** `dirsync switch-account`: the account that the settings name takes the place of the one that is remembered. */
export function switchAccountCommand(program: Command): void {
  program
    .command('switch-account')
    .summary('let another platform account follow')
    .description('let the account of the settings follow the one that this database remembers')
    .option('--keep-memory', 'the same account at another address: forget nothing')
    .option('--yes', 'do it; without it, show what would be forgotten')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
The database remembers what one account of the platform (PLATFORM_BASE_URL and
PLATFORM_APP_ID) confirmed, and a start with another one is refused. This
forgets what was confirmed: hashes, departments, open ids, mirrors, the outbox.
Attempts, runs, refunds, top-ups and decisions stay; open cases and runs end.
Stop every process of the deployment first.

Examples:
  dirsync switch-account
  dirsync switch-account --yes
  dirsync switch-account --keep-memory --yes`,
    )
    .action(run)
}

async function run(options: SwitchOptions): Promise<void> {
  const [{ accountOf }, { accountText, isSameAccount, readDeployment }, { countMemory, switchAccount }] =
    await Promise.all([
      import('../connections.ts'),
      import('../sync/deployment.ts'),
      import('../sync/deployment.ts'),
    ])
  await using context = await openContext()
  const { config, pool, actor, program } = context
  const to = accountOf(config)
  const keepMemory = options.keepMemory === true
  if (options.yes) {
    const switched = await switchAccount(pool, to, { keepMemory, actor })
    const account = accountText(to)
    if (options.json)
      printJson({ switched: switched !== null, account, forgotten: switched?.forgotten ?? null })
    else if (switched === null) print(`This database is the memory of ${account} already.`)
    else print(`This database is now the memory of ${account}.`, `Go on with: ${program} start`)
    return
  }
  const from = await readDeployment(pool)
  const isNew = !from || !isSameAccount(from, to)
  const forgets = isNew && !keepMemory ? await countMemory(pool) : null
  const [ours, theirs] = [from && accountText(from), accountText(to)]
  if (options.json) printJson({ from: ours, to: theirs, forgets })
  else {
    printFacts([
      ['remembered', ours ?? 'an account that was never written down'],
      ['settings', theirs],
    ])
    if (forgets) {
      print('', 'Would be forgotten or ended')
      printFacts(Object.entries(forgets).map(([name, count]) => [words(name), count.toLocaleString('en')]))
    }
  }
  if (isNew) throw new UsageError('nothing was changed: give --yes to switch')
}
