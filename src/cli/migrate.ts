import type { Command } from 'commander'
import { ConfigError, loadConfig } from '../config.ts'
import { assertNoPooler } from '../lib/database.ts'
import { codeOf, saidOf } from '../lib/failure.ts'
import { io } from '../lib/io.ts'
import { migrate } from '../lib/migrate.ts'
import { openQueueStore } from '../queue/backend.ts'
import type { QueueStore } from '../queue/store.ts'
import { message } from '../texts/message.ts'
import { storeTexts } from '../texts/store.ts'
import { openStores } from './context.ts'
import { said, say } from './language.ts'
import { print, printJson } from './output.ts'
import type { CheckedSettings } from './settings.ts'

/** `dirsync migrate`: brings the schema, and the queue's, up to date. */
export function migrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database schema up to date')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Every start does this too. Run it by itself where another database user owns the
schema. It needs only DATABASE_URL and REDIS_URL, and says which settings a
start would miss. Where the database user may not create roles, it prints what
an administrator has to run once.

Examples:
  dirsync migrate
  DATABASE_URL=postgres://owner@db/dirsync dirsync migrate`,
    )
    .action(run)
}

async function run(options: { json?: true }): Promise<void> {
  await using stores = await openStores()
  const { checked, config, pool } = stores
  await assertNoPooler(config.DATABASE_URL)
  const { applied, reviewerStatements } = await migrate(pool)
  await storeTexts(pool)
  const queue = openQueueStore({ redisUrl: config.REDIS_URL, databaseUrl: config.DATABASE_URL })
  const isReady = await prepare(queue)
  tellWhatIsMissing(checked)
  if (options.json) return printJson({ applied, reviewer_statements: reviewerStatements, queue: queue.kind })
  for (const name of applied) print(said(message('said.applied', { name })))
  if (applied.length === 0) print(said(message('said.schema_is_new')))
  if (isReady) print(say('shell.queue_ready', { place: queue.kind === 'redis' ? 'Redis' : 'PostgreSQL' }))
  if (reviewerStatements.length > 0)
    print('', `-- ${say('shell.for_administrator')}`, ...reviewerStatements.map(statement => `${statement};`))
}

/** Whether the queue is ready. Redis has no schema: who does not need it need not wait for it, and others say so when they start. */
async function prepare(queue: QueueStore): Promise<boolean> {
  try {
    await queue.prepare()
    const wrong = (await queue.doctor()).filter(({ ok }) => !ok)
    for (const { what, remedy } of wrong)
      io().stderr.write(`dirsync: ${said(what)}\n${remedy ? `  → ${said(remedy)}\n` : ''}`)
    return wrong.length === 0
  } catch (error) {
    const isAway = codeOf(error) === 'QUEUE_UNAVAILABLE' && !queue.isAnswer((error as Error).cause)
    if (queue.kind !== 'redis' || !isAway) throw error
    io().stderr.write(`dirsync: ${said(saidOf(error))}\n`)
    return false
  }
}

/** Tells people who wonder why nothing works which settings are missing. */
function tellWhatIsMissing({ embedded, env }: CheckedSettings): void {
  if (embedded) return
  try {
    loadConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems)
      io().stderr.write(`dirsync: ${said(message('said.start_needs', { problem }))}\n`)
  }
}
