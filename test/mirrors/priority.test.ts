import { expect, onTestFinished, test } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { CountedCalls } from '../../src/mirrors/mirror-reader.ts'
import { LocalPacer, PlatformClient } from '../../src/platform/index.ts'

test("a mirror's calls go after those of a full run, although they came first", async () => {
  const account = { appId: '12345678', appSecret: 'secret' }
  const emulator = await startEmulator({
    strict: true,
    ...account,
    seed: { employees: [{ userid: 'u1', mobile: '13900000001' }] },
  })
  onTestFinished(() => emulator.close())
  const pacer = new LocalPacer(50)
  const client = new PlatformClient({ ...account, baseUrl: emulator.url, pacer })
  onTestFinished(() => client.close())
  await client.departments.delete({ dept_code: 'D1' }).catch(() => undefined) // the token is there now

  await pacer.holdOff(500, 'all three are to wait in line')
  const order: string[] = []
  const mirror = new CountedCalls(client, new AbortController().signal)
  const done = (name: string) => () => void order.push(name)
  await Promise.all([
    mirror.make((platform, options) => platform.limitAccounts.list({}, options)).then(done('mirror')),
    client.employees.get({ userid: 'u1' }, { priority: 7 }).then(done('full')),
    client.employees.get({ mobile: '13900000001' }, { priority: 7 }).then(done('full')),
  ])
  expect(order.at(-1)).toBe('mirror')
  expect(mirror.count).toBe(1)
})
