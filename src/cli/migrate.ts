import type { Command } from 'commander'
import { ConfigError, loadConfig } from '../config.ts'
import { openStores } from './context.ts'
import { sentenceOf } from './failure.ts'
import { print, printJson } from './output.ts'
import type { CheckedSettings } from './settings.ts'

/** `dirsync migrate`: the schema, and the queue's. */
export function migrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary('bring the database schema up to date')
    .description('bring the database schema up to date')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Every start does the same; run it by itself where another database user owns
the schema. It needs DATABASE_URL and REDIS_URL alone, and tells what a start
would miss besides. Where the database user may not create roles, it prints what
somebody who may has to run once.

Examples:
  dirsync migrate
  DATABASE_URL=postgres://owner@db/dirsync dirsync migrate`,
    )
    .action(run)
}

async function run(options: { json?: true }): Promise<void> {
  await using stores = await openStores()
  const { checked, config, pool } = stores
  const [{ migrate }, { assertNoPooler }, { openQueueStore }] = await Promise.all([
    import('../lib/migrate.ts'),
    import('../lib/database.ts'),
    import('../queue/backend.ts'),
  ])
  await assertNoPooler(config.DATABASE_URL)
  const { applied, reviewerStatements } = await migrate(pool)
  const queue = openQueueStore({ redisUrl: config.REDIS_URL, databaseUrl: config.DATABASE_URL })
  await queue.prepare()
  tellWhatIsMissing(checked)
  if (options.json) return printJson({ applied, reviewer_statements: reviewerStatements, queue: queue.kind })
  for (const name of applied) print(`applied ${name}`)
  if (applied.length === 0) print('The schema is up to date.')
  print(queue.kind === 'redis' ? 'The queue is in Redis and ready.' : 'The queue is in PostgreSQL and ready.')
  if (reviewerStatements.length > 0)
    print(
      '',
      '-- This database user may not create roles. Somebody who may has to run, in this database:',
      ...reviewerStatements.map(statement => `${statement};`),
    )
}

/** Whoever looks why nothing works finds the reason here too. */
function tellWhatIsMissing({ embedded, env }: CheckedSettings): void {
  if (embedded) return
  try {
    loadConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`dirsync: a start needs more: ${sentenceOf(error)}\n`)
  }
}
