import type { CronJob } from './cron-job.ts'

export const mirrorOrders: CronJob = {
  name: 'mirror-orders',
  does: 'reads payment orders again, where MIRRORS has orders',
  schedule: '15 * * * *',
  async run({ mirrors, requestRun }) {
    if (mirrors.includes('orders')) await requestRun('orders')
  },
}
