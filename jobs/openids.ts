import type { CronJob } from './cron-job.ts'

export const openids: CronJob = {
  name: 'openids',
  does: 'learns missing open ids',
  schedule: '*/15 * * * *',
  run: ({ requestRun }) => requestRun('openids'),
}
