import type { CronJob } from './cron-job.ts'

export const syncChanges: CronJob = {
  name: 'sync-changes',
  does: 'sends what changed in HR',
  schedule: '*/5 * * * *',
  run: ({ requestRun }) => requestRun('changes'),
}
