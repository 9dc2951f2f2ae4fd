import { pruneHistory } from '../src/store/history.ts'
import type { CronJob } from './cron-job.ts'

export const prune: CronJob = {
  name: 'prune',
  does: 'drops attempts, calls and decided plans after 30 days, closed dead letters after 180',
  schedule: '15 4 * * *',
  async run({ pool, logger }) {
    logger.info(await pruneHistory(pool), 'history pruned')
  },
}
