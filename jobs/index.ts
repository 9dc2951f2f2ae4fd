import type { Pool } from '../src/lib/database.ts'
import type { Logger } from '../src/lib/logger.ts'
import { endLostRetries } from '../src/sync/cases/cases.ts'
import { requestDueRetries } from '../src/sync/cases/retries.ts'
import { noteStatuses } from '../src/sync/health/figures.ts'
import type { Feeder } from '../src/sync/outbox/feeder.ts'
import type { Mirror } from '../src/sync/runs/mirror-kind.ts'
import type { RunKind } from '../src/sync/runs/run.ts'
import { pruneHistory } from './prune.ts'

/** The resources of a tick. */
export interface JobContext {
  pool: Pool
  feeder: Feeder
  logger: Logger
  /**
   * Requests a run of the kind, unless one is waiting or in progress; while one is held, HR is checked again.
   * @returns the runs that will do the work
   */
  requestRun(kind: RunKind): Promise<number[]>
}

export interface CronJob {
  /** Also names its setting: `sync-changes` is scheduled by SCHEDULE_SYNC_CHANGES. */
  name: string
  /** One line for people. */
  does: string
  /** Default cron expression, in the time zone of the process; six fields begin with seconds. */
  schedule: string
  /** The kind of run that it requests; one of a mirror is requested if MIRRORS lists that. */
  kind?: RunKind
  /** It may not be switched off, nor paused (`dirsync.pause_effect`). */
  isNeeded?: true
  /** @returns the runs that it requested or joined, if it is about runs */
  // biome-ignore lint/suspicious/noConfusingVoidType: most jobs are not about runs, and return nothing
  run(context: JobContext): Promise<readonly number[] | void>
}

/** Every cron job: what it does, and when. */
export const CRON_JOBS: readonly CronJob[] = [
  requesting('changes', 'sync-changes', 'sends changes in HR', '*/5 * * * *'),
  requesting('full', 'full-resync', 'compares every employee with the platform', '0 2 * * *'),
  requesting('departments', 'departments', 'deletes departments that HR closed', '30 * * * *'),
  requesting('openids', 'openids', 'fetches missing open ids', '*/15 * * * *'),
  mirror('orders', 'payment orders', '15 * * * *'),
  mirror('accounts', 'limit accounts', '45 * * * *'),
  mirror('taxpayers', 'taxpayers', '30 3 * * *'),
  {
    name: 'retry-due',
    does: 'retries dead letters that are due; with off, none is retried when it is due',
    schedule: '*/10 * * * * *',
    async run({ pool }) {
      await endLostRetries(pool)
      const run = await requestDueRetries(pool)
      return run === null ? [] : [run]
    },
  },
  {
    name: 'sweep',
    does: 'puts lost jobs back into the queue',
    schedule: '*/3 * * * * *',
    isNeeded: true,
    run: ({ feeder }) => feeder.sweep(),
  },
  {
    name: 'history',
    does: 'records the state of everything, for charts; where it does not, the process that checks the alerts does',
    schedule: '*/5 * * * *',
    async run({ pool }) {
      await noteStatuses(pool)
    },
  },
  {
    name: 'prune',
    does: 'deletes attempts, calls, dry runs, unused plans and messages after 30 days, decided plans, closed dead letters and alerts after 180',
    schedule: '15 4 * * *',
    async run({ pool, logger }) {
      logger.info(await pruneHistory(pool), 'history pruned')
    },
  },
]

function requesting(kind: RunKind, name: string, does: string, schedule: string): CronJob {
  return { name, does, schedule, kind, run: ({ requestRun }) => requestRun(kind) }
}

function mirror(kind: Mirror, rows: string, schedule: string): CronJob {
  return requesting(kind, `mirror-${kind}`, `reads ${rows} again, if MIRRORS lists ${kind}`, schedule)
}
