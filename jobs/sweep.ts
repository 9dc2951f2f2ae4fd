import type { CronJob } from './cron-job.ts'

export const sweep: CronJob = {
  name: 'sweep',
  does: 'feeds the queue again with what it lost',
  schedule: '*/3 * * * * *',
  run: ({ feeder }) => feeder.sweep(),
}
