import { expect, test } from 'vitest'
import { CRON_JOBS } from '../../jobs/index.ts'
import { MIRRORS, type Mirror } from '../../src/sync/mirror-kind.ts'

test('the cron jobs of the mirrors ask for those that are switched on, and for no other', async () => {
  const asked: string[] = []
  const tick = async (mirrors: Mirror[]) => {
    const context = { mirrors, requestRun: async (kind: string) => void asked.push(kind) }
    for (const job of CRON_JOBS.filter(({ name }) => name.startsWith('mirror-')))
      await job.run(context as never)
  }
  await tick([])
  expect(asked).toEqual([])
  await tick(['taxpayers', 'orders'])
  expect(asked).toEqual(['orders', 'taxpayers'])
  asked.length = 0
  await tick([...MIRRORS])
  expect(asked).toHaveLength(3)
})
