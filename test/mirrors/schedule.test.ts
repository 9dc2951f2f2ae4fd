import { expect, test } from 'vitest'
import { scheduledJobs } from '../../jobs/scheduler.ts'
import { MIRRORS, type Mirror } from '../../src/sync/runs/mirror-kind.ts'

test('the cron jobs of the mirrors are scheduled for those that are switched on, and ask for them', async () => {
  const ticked = async (mirrors: readonly Mirror[]) => {
    const asked: string[] = []
    for (const { job } of scheduledJobs({}, mirrors))
      if (job.name.startsWith('mirror-'))
        await job.run({ requestRun: async (kind: string) => void asked.push(kind) } as never)
    return asked
  }
  expect(await ticked([])).toEqual([])
  expect(await ticked(['taxpayers', 'orders'])).toEqual(['orders', 'taxpayers'])
  expect(await ticked(MIRRORS)).toHaveLength(3)
})
