import type { CronJob } from './cron-job.ts'

export const mirrorAccounts: CronJob = {
  name: 'mirror-accounts',
  does: 'reads limit accounts again, where MIRRORS has accounts',
  schedule: '45 * * * *',
  async run({ mirrors, requestRun }) {
    if (mirrors.includes('accounts')) await requestRun('accounts')
  },
}
