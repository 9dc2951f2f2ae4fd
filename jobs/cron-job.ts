import type { Pool } from 'pg'
import type { Mirror } from '../src/core/mirror.ts'
import type { Logger } from '../src/logger.ts'
import type { RunKind } from '../src/store/run.ts'
import type { Feeder } from '../src/sync/feeder.ts'

/** What a tick may use. */
export interface JobContext {
  pool: Pool
  feeder: Feeder
  logger: Logger
  /** The mirrors that are switched on. */
  mirrors: readonly Mirror[]
  /** Requests a run of the kind, unless one waits or goes on already; while one is held, HR is judged again. */
  requestRun(kind: RunKind): Promise<void>
}

/** A cron job: one file each in this folder. */
export interface CronJob {
  /** Also names its setting: `sync-changes` is scheduled by SCHEDULE_SYNC_CHANGES. */
  name: string
  /** One line for people. */
  does: string
  /** Default cron expression, in the time zone of the process; six fields begin with seconds. */
  schedule: string
  run(context: JobContext): Promise<void>
}
