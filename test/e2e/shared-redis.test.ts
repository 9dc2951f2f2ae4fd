import { describe, expect, onTestFinished, test } from 'vitest'
import { dirsync } from '../cli/dirsync.ts'
import { createCompany, endOf, until } from '../helpers/company.ts'
import { redisUrl } from '../helpers/redis.ts'

const EMPLOYEES = 20

describe('two deployments on one Redis', { tags: 'redis' }, () => {
  test('do not take each other’s jobs', { timeout: 60_000 }, async () => {
    const redis = await redisUrl()
    const [first, second] = await Promise.all(
      ['first', 'second'].map(() => createCompany({ employees: EMPLOYEES, redisUrl: redis })),
    )
    if (!first || !second) throw new Error('two companies are needed')
    onTestFinished(() => first[Symbol.asyncDispose]())
    onTestFinished(() => second[Symbol.asyncDispose]())
    const enqueued = async () =>
      (
        await first.db.query(
          'select entity_key, enqueued_at::text as job from dirsync.pending where enqueued_at is not null',
        )
      ).rows
    const queue = async () => (await dirsync(['status', '--json'], first.settings)).json().queue

    // The first deployment has no worker, so only the other one could take its jobs.
    await first.start(['scheduler'])
    const { rows } = await first.db.query(`select dirsync.resync('full')::int as run`)
    const fed = await until(async () => {
      const fed = await enqueued()
      return fed.length === EMPLOYEES && fed
    })
    await second.start()
    expect(await second.run('full')).toMatchObject({
      state: 'done',
      result: { outcomes: { in_sync: EMPLOYEES } },
    })
    const jobs = new Set(fed.map(({ job }) => job)).size
    expect(await queue()).toMatchObject({ waiting: jobs, active: 0 })
    expect(await enqueued()).toEqual(fed)

    await first.start(['worker'])
    expect(await endOf(first.db, rows[0].run)).toMatchObject({ state: 'done' })
  })
})
