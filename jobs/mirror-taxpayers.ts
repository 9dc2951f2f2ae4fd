import type { CronJob } from './cron-job.ts'

export const mirrorTaxpayers: CronJob = {
  name: 'mirror-taxpayers',
  does: 'reads taxpayers again, where MIRRORS has taxpayers',
  schedule: '30 3 * * *',
  async run({ mirrors, requestRun }) {
    if (mirrors.includes('taxpayers')) await requestRun('taxpayers')
  },
}
