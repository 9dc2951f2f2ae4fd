import type { Pool } from '../src/lib/database.ts'
import type { Logger } from '../src/lib/logger.ts'
import type { Feeder } from '../src/sync/feeder.ts'
import type { Mirror } from '../src/sync/mirror-kind.ts'
import { requestDueRetries } from '../src/sync/retries.ts'
import type { RunKind } from '../src/sync/run.ts'
import { prune } from './prune.ts'

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

const syncChanges: CronJob = {
  name: 'sync-changes',
  does: 'sends what changed in HR',
  schedule: '*/5 * * * *',
  run: ({ requestRun }) => requestRun('changes'),
}

const fullResync: CronJob = {
  name: 'full-resync',
  does: 'asks the platform about every employee',
  schedule: '0 2 * * *',
  run: ({ requestRun }) => requestRun('full'),
}

const departments: CronJob = {
  name: 'departments',
  does: 'deletes departments that HR closed',
  schedule: '30 * * * *',
  run: ({ requestRun }) => requestRun('departments'),
}

const openids: CronJob = {
  name: 'openids',
  does: 'learns missing open ids',
  schedule: '*/15 * * * *',
  run: ({ requestRun }) => requestRun('openids'),
}

const retryDue: CronJob = {
  name: 'retry-due',
  does: 'tries dead letters again that are due',
  schedule: '*/10 * * * * *',
  async run({ pool }) {
    await requestDueRetries(pool)
  },
}

const sweep: CronJob = {
  name: 'sweep',
  does: 'feeds the queue again with what it lost',
  schedule: '*/3 * * * * *',
  run: ({ feeder }) => feeder.sweep(),
}

const mirrorOrders: CronJob = {
  name: 'mirror-orders',
  does: 'reads payment orders again, where MIRRORS has orders',
  schedule: '15 * * * *',
  async run({ mirrors, requestRun }) {
    if (mirrors.includes('orders')) await requestRun('orders')
  },
}

const mirrorAccounts: CronJob = {
  name: 'mirror-accounts',
  does: 'reads limit accounts again, where MIRRORS has accounts',
  schedule: '45 * * * *',
  async run({ mirrors, requestRun }) {
    if (mirrors.includes('accounts')) await requestRun('accounts')
  },
}

const mirrorTaxpayers: CronJob = {
  name: 'mirror-taxpayers',
  does: 'reads taxpayers again, where MIRRORS has taxpayers',
  schedule: '30 3 * * *',
  async run({ mirrors, requestRun }) {
    if (mirrors.includes('taxpayers')) await requestRun('taxpayers')
  },
}

/** Every cron job. */
export const CRON_JOBS: readonly CronJob[] = [
  syncChanges,
  fullResync,
  departments,
  openids,
  mirrorOrders,
  mirrorAccounts,
  mirrorTaxpayers,
  retryDue,
  sweep,
  prune,
]
