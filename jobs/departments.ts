import type { CronJob } from './cron-job.ts'

export const departments: CronJob = {
  name: 'departments',
  does: 'deletes departments that HR closed',
  schedule: '30 * * * *',
  run: ({ requestRun }) => requestRun('departments'),
}
