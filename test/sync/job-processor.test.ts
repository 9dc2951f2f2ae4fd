import { expect, onTestFinished, test } from 'vitest'
import { HrSources } from '../../src/hr/sources.ts'
import { createPool } from '../../src/lib/database.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { formatJobKey } from '../../src/queue/job.ts'
import { JobProcessor } from '../../src/sync/job-processor.ts'
import { freePort } from '../helpers/free-port.ts'
import { LIMITS } from './plan-under-test.ts'
import { SILENT } from './store-under-test.ts'

test('without PostgreSQL a job fails at once, so that the queue hands it out again, and its place is free', async () => {
  const url = `postgres://nobody@127.0.0.1:${await freePort()}/none`
  const pool = createPool(url, { max: 1, name: 'test', logger: SILENT })
  const locks = new SessionLocks(url, SILENT)
  const client = new PlatformClient({ baseUrl: url, appId: 'a', appSecret: 's' })
  onTestFinished(async () => {
    await Promise.all([locks.close(), client.close(), pool.end()])
  })
  const processor = new JobProcessor({
    ...{ pool, client, locks, logger: SILENT, limits: LIMITS },
    hr: new HrSources([]),
    concurrentCalls: 1,
  })
  for (const entityKey of ['e1', 'e2', 'e3']) {
    const keys = [formatJobKey({ enterpriseCode: '', entityKey, detail: '' })]
    const job = { name: 'update-employee', keys, priority: 3 } as const
    await expect(processor.process(job, new AbortController().signal)).rejects.toThrow('ECONNREFUSED')
  }
})
