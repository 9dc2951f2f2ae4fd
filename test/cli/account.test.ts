import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { createCompany } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { dirsync } from './dirsync.ts'

const EMPLOYEES = 60

/** In sync with its platform when the first test begins. */
const company = duringFile(() => createCompany({ employees: EMPLOYEES }))
/** Another platform, whose employees have the same user ids and other names. */
let other: Emulator

beforeAll(async () => {
  const { employees, departments } = await company.control<{ employees: object[]; departments: object[] }>(
    'GET',
    'state',
  )
  other = await startEmulator({
    appId: 'test-application',
    appSecret: 'test-secret',
    seed: { departments, employees: employees.map(employee => ({ ...employee, name: 'Somebody' })) },
  })
  expect(await dirsync(['start', '--once'], company.settings)).toMatchObject({ code: 0 })
})
afterAll(async () => {
  await other.close()
})

const elsewhere = (settings: Record<string, string> = { PLATFORM_BASE_URL: other.url }) => ({
  ...company.settings,
  ...settings,
})
/** How many there have the name that HR has. */
async function named(): Promise<number> {
  const { employees } = await controlOf(other.url)<{ employees: { name: string }[] }>('GET', 'state')
  return employees.filter(({ name }) => name !== 'Somebody').length
}

test('the account in use is named once, with nothing to do', async () => {
  const looked = await dirsync(['switch-account'], company.settings)
  expect(looked).toMatchObject({ code: 0, stderr: '' })
  expect(looked.stdout).toMatch(
    /^This database already remembers application .+: there is nothing to do\.\n$/,
  )
})

test('another address or application is refused, in one sentence that says how to go on', async () => {
  const refused = await dirsync(['start', '--once'], elsewhere())
  expect(refused.stderr).toMatch(/^dirsync: this database .* `npx dirsync switch-account --yes` .*$/m)
  expect(refused.stderr).toContain(`application test-application at ${company.emulator.url}`)
  expect(refused.stderr).toContain(`application test-application at ${other.url}`)
  expect(refused.code).toBe(2)

  for (const command of [
    ['start', '--once'],
    ['resync'],
    ['plan'],
    ['platform', 'employee/get', '--userid', 'e0001'],
  ])
    expect(await dirsync(command, elsewhere({ PLATFORM_APP_ID: 'another' }))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('name application another at'),
    })
})

test('doctor finds it, and read-only commands still work', async () => {
  const examined = (await dirsync(['doctor', '--json'], elsewhere())).json()
  expect(examined.findings).toContainEqual({
    ...{ check: 'account', status: 'failed' },
    what: expect.stringContaining('switch-account'),
  })
  expect(await dirsync(['status'], elsewhere())).toMatchObject({ code: 0 })
})

test('the account is not switched while the service runs', async () => {
  const service = await company.start()
  const refused = await dirsync(['switch-account', '--yes'], elsewhere())
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(`^dirsync: dirsync is running as \\S+ .${process.pid}.: stop it first`),
  })
  await service.stop()
})

test('switched, the other account gets everything', async () => {
  const shown = await dirsync(['switch-account', '--json'], elsewhere())
  expect(shown).toMatchObject({ code: 2, stderr: 'dirsync: nothing was changed: give --yes to switch\n' })
  expect(shown.json()).toMatchObject({ forgets: { employees: EMPLOYEES, outbox: 0 } })
  expect(await dirsync(['start', '--once'], company.settings)).toMatchObject({ code: 0 })

  expect(await dirsync(['switch-account', '--yes'], elsewhere())).toMatchObject({ code: 0, stderr: '' })
  expect(await dirsync(['start', '--once'], elsewhere())).toMatchObject({ code: 0 })
  expect(await named()).toBe(EMPLOYEES)
  expect(await dirsync(['start', '--once'], company.settings)).toMatchObject({ code: 2 })
})

test('the same account at another address keeps its memory', async () => {
  const moved = elsewhere({ PLATFORM_BASE_URL: other.url.replace('127.0.0.1', 'localhost') })
  expect(await dirsync(['plan'], moved)).toMatchObject({ code: 2 })
  expect(await dirsync(['switch-account', '--keep-memory', '--yes'], moved)).toMatchObject({ code: 0 })
  const plan = await dirsync(['plan', '--json'], moved)
  expect(plan).toMatchObject({ code: 0 })
  expect(plan.json()).toMatchObject({ planned: 0, first: false })
})

test('the trial is one account, whatever port its emulator gets', { timeout: 240_000 }, async () => {
  const cwd = await temporaryFolder()
  const port = async () => Number(await readFile(join(cwd, '.dirsync/emulator/port'), 'utf8'))
  await using service = spawnDirsync(['start', '--roles', 'console'], { cwd })
  await service.waitForLine(/Running/)
  expect(await service.kill()).toMatchObject({ code: 0 })
  const first = await port()
  await using taken = createServer()
  // Another program may have taken it already.
  await once(taken.listen(first, '127.0.0.1'), 'listening').catch(() => {})
  const get = ['platform', 'employee/get', '--userid', 'e10172', '--enterprise_code', 'E100']
  expect(await spawnDirsync(get, { cwd }).exited).toMatchObject({ code: 0 })
  expect(await port()).not.toBe(first)
})
