import type { Command } from 'commander'
import { openContext } from './context.ts'
import { print, printJson } from './output.ts'

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
the schema. Where the database user may not create roles, it prints what
somebody who may has to run once.

Examples:
  dirsync migrate
  DATABASE_URL=postgres://owner@db/dirsync dirsync migrate`,
    )
    .action(run)
}

async function run(options: { json?: true }): Promise<void> {
  await using context = await openContext({ unmigrated: true })
  const { config, logger, pool } = context
  const [{ migrate }, { createQueueBackend }] = await Promise.all([
    import('../store/migrate.ts'),
    import('../queue/backend.ts'),
  ])
  const { applied, reviewerStatements } = await migrate(pool)
  const queue = createQueueBackend({ redisUrl: config.REDIS_URL, databaseUrl: config.DATABASE_URL, logger })
  try {
    await queue.prepare()
  } finally {
    await queue.close()
  }
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
