import type { CronJob } from './cron-job.ts'
import { departments } from './departments.ts'
import { fullResync } from './full-resync.ts'
import { mirrorAccounts } from './mirror-accounts.ts'
import { mirrorOrders } from './mirror-orders.ts'
import { mirrorTaxpayers } from './mirror-taxpayers.ts'
import { openids } from './openids.ts'
import { prune } from './prune.ts'
import { retryDue } from './retry-due.ts'
import { sweep } from './sweep.ts'
import { syncChanges } from './sync-changes.ts'

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
