import type { Command } from 'commander'
import { environment } from '../config.ts'
import { createLogger } from '../logger.ts'
import { parseRoles, ROLES, startService } from '../main.ts'
import { latestRuns } from '../store/run.ts'
import { FailedError } from './failure.ts'
import { firstSync } from './first-sync.ts'
import { printSummary } from './print-summary.ts'
import { openSettings } from './settings.ts'
import { stopSignal } from './stop-signal.ts'

/** `dirsync start`: the service, or one sync of everything with `--once`. */
export function startCommand(program: Command): void {
  program
    .command('start')
    .description('run the service; without settings: everything embedded')
    .option('--roles <roles>', `roles of this process: ${ROLES.join(', ')}`, ROLES.join(','))
    .option('--once', 'one sync of everything to the end, a summary, exit')
    .option('--json', 'print the summary as JSON')
    .option('--fresh', 'embedded: forget all data and start over')
    .addHelpText(
      'after',
      `
Without DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL everything runs embedded, with its data in .dirsync/.

Examples:
  dirsync start                       the whole service in one process
  dirsync start --roles worker        one more worker beside it
  dirsync start --once --json         sync once, for a cron job of your own`,
    )
    .action(start)
}

async function start(options: { roles: string; once?: true; json?: true; fresh?: true }): Promise<void> {
  const roles = parseRoles(options.roles)
  const env = environment()
  const watched = process.stderr.isTTY === true
  // Somebody who watches the progress bar wants to see trouble only.
  const level = env.LOG_LEVEL ?? (watched || options.once ? 'warn' : 'info')
  const logger = createLogger({ level, pretty: watched })
  const say = (line: string) => {
    if (!options.json) process.stderr.write(`${line}\n`)
  }

  const stopped = stopSignal()
  await using settings = await openSettings(logger, options.fresh ? { fresh: true } : {})
  const { config, embedded } = settings
  say(
    embedded
      ? 'dirsync: no settings found, so everything runs embedded: PostgreSQL, the queue on it, the platform emulator and a sample HR database, with data in .dirsync/'
      : `dirsync: roles ${roles.join(', ')}; queue in ${config.REDIS_URL ? 'Redis' : 'PostgreSQL'}`,
  )
  const service = await startService({
    config,
    roles: options.once ? ['scheduler', 'worker'] : roles,
    logger,
    schedule: !options.once,
  })
  try {
    const isWhole = options.once || (roles.includes('scheduler') && roles.includes('worker'))
    if (isWhole) {
      const first = (await latestRuns(service.pool, 1)).length === 0
      const sync = await firstSync({
        pool: service.pool,
        everything: options.once === true || first,
        stopped,
        quiet: options.json === true,
      })
      if (sync) printSummary(sync, options.json === true)
      if (options.once && sync && !sync.ok) throw new FailedError('')
    }
    if (options.once) return
    say('Running. Stop with Ctrl-C; look closer with: npx dirsync status')
    await stopped
    say('Stopping …')
  } finally {
    await service.stop()
  }
}
