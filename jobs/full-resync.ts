import type { CronJob } from './cron-job.ts'

export const fullResync: CronJob = {
  name: 'full-resync',
  does: 'asks the platform about every employee',
  schedule: '0 2 * * *',
  run: ({ requestRun }) => requestRun('full'),
}
