import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { PlatformClient } from '../../src/platform/client.ts'
import { probeAccount } from '../../src/sync/outbox/account-probe.ts'
import { raiseHalt, readHalts } from '../../src/sync/outbox/halts.ts'
import { Standing } from '../../src/sync/processes/standing.ts'
import { inWords } from '../../src/texts/message.ts'
import { createDeployment } from '../helpers/deployment.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { SILENT } from './store-under-test.ts'

test('a worker finds out at its start that the platform refuses it, without any work, and that it is right again', async () => {
  await using deployment = await createDeployment()
  const { own, settings } = deployment
  const halts = async () => {
    const { rows } = await own.pool.query('select scope, category, platform_code from dirsync.halt')
    return rows
  }
  const start = (more: Record<string, string>) =>
    spawnDirsync(['start', '--roles', 'worker'], { env: { ...settings, ...more } })
  const refused = start({ PLATFORM_APP_SECRET: 'mistyped' })
  await expect.poll(halts).toEqual([{ scope: '*', category: 'credentials', platform_code: '1000210003' }])
  await refused.kill()
  const right = start({})
  await expect.poll(halts).toEqual([])
  await right.kill()
})

test('a worker whose clock is behind lifts the halt of an earlier one', async () => {
  await using deployment = await createDeployment()
  const { own, emulator } = deployment
  const { pool } = own
  const reason = {
    category: 'credentials',
    message: inWords('m'),
    remedy: inWords('r'),
    platformCode: 1000210003,
  }
  await raiseHalt(pool, { ...reason, scope: '*' }, 60_000)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  onTestFinished(() => void vi.useRealTimers())
  await using client = new PlatformClient({
    baseUrl: emulator.url,
    appId: 'test-application',
    appSecret: 'test-secret',
    ratePerSecond: 100,
  })
  const probe = probeAccount({
    pool,
    client,
    standing: new Standing(pool, { id: randomUUID(), secretPrint: '' }),
    logger: SILENT,
  })
  probe.start()
  onTestFinished(() => probe.stop())
  await expect.poll(() => readHalts(pool)).toEqual([])
})
