import { requestDueRetries } from '../src/store/dead-letter.ts'
import type { CronJob } from './cron-job.ts'

export const retryDue: CronJob = {
  name: 'retry-due',
  does: 'tries dead letters again that are due',
  schedule: '*/10 * * * * *',
  async run({ pool }) {
    await requestDueRetries(pool)
  },
}
