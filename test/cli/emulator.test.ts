import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { sign } from '../emulator/platform-under-test.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { dirsync } from './dirsync.ts'

async function createToken(
  url = '',
  appid = '',
  secret = '',
  more: Record<string, string> = {},
  algorithm?: 'sha1',
) {
  const parameters = { appid, timestamp: String(Math.floor(Date.now() / 1000)), ...more }
  const query = new URLSearchParams({ ...parameters, sign: sign(parameters, secret, algorithm) })
  const answer = await fetch(`${url}/token/create?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  return answer.json()
}

test.each([
  ['ignores what it does not know', [], 0],
  ['with --strict refuses it', ['--strict'], 1000220002],
])('`dirsync emulator` %s', async (_, flags, code) => {
  const options = ['--port', '0', '--appid', 'app1', '--secret', 'secret', ...flags]
  await using emulator = spawnDirsync(['emulator', ...options])
  const [, url] = await emulator.waitForLine(/^emulator listens on (\S+) /)
  expect(await createToken(url, 'app1', 'secret', { noSnake: 'true' })).toMatchObject({ code })
})

test('`dirsync emulator` without a secret makes one, and says it', async () => {
  await using emulator = spawnDirsync(['emulator', '--port', '0'])
  const [, url, secret] = await emulator.waitForLine(
    /^emulator listens on (\S+) for application demo-application with secret (\w{32})$/,
  )
  expect(await createToken(url, 'demo-application', secret)).toMatchObject({ code: 0 })
})

test('`dirsync emulator` says that it keeps the state of a file, and takes no seed', async () => {
  const folder = await temporaryFolder()
  const [data, seed] = [join(folder, 'state.sqlite'), join(folder, 'seed.json')]
  await writeFile(seed, '{"employees":[{"userid":"u1"}]}')
  const options = ['--port', '0', '--secret', 's', '--data', data, '--seed', seed]
  await using first = spawnDirsync(['emulator', ...options])
  await first.waitForLine(/^emulator listens on /)
  await first.kill()
  expect(first.stdout).not.toContain(data)

  await using second = spawnDirsync(['emulator', ...options])
  await second.waitForLine(/^emulator listens on /)
  expect(second.stdout).toMatch(`${data} holds a state already`)
})

test('`dirsync emulator` takes the application of the settings, and keeps its secret to itself', async () => {
  const file = join(await temporaryFolder(), 'secret')
  await writeFile(file, 'of-the-file\n')
  const env = { PLATFORM_APP_ID: 'app2', PLATFORM_APP_SECRET_FILE: file, PLATFORM_SIGN_ALGORITHM: 'sha1' }
  await using emulator = spawnDirsync(['emulator', '--port', '0'], { env })
  const [, url] = await emulator.waitForLine(/^emulator listens on (\S+) for application app2$/)
  expect(await createToken(url, 'app2', 'of-the-file', {}, 'sha1')).toMatchObject({ code: 0 })
})

test('options of `dirsync emulator` go before the settings', async () => {
  const env = {
    PLATFORM_APP_ID: 'app2',
    PLATFORM_APP_SECRET: 's2',
    PLATFORM_APP_SECRET_FILE: '/nowhere',
    PLATFORM_SIGN_ALGORITHM: 'sha1',
  }
  const options = ['--port', '0', '--appid', 'app1', '--secret', 'secret', '--sign-algorithm', 'sha256']
  await using emulator = spawnDirsync(['emulator', ...options], { env })
  const [, url] = await emulator.waitForLine(/^emulator listens on (\S+) for application app1$/)
  expect(await createToken(url, 'app1', 'secret')).toMatchObject({ code: 0 })
})

test('`dirsync emulator` refuses a file of the settings that it cannot read', async () => {
  const run = await dirsync(['emulator', '--port', '0'], { PLATFORM_APP_SECRET_FILE: '/nowhere' })
  expect(run).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('PLATFORM_APP_SECRET_FILE'),
  })
})

test('a terminal that is closed ends it in order, however often it tells', async () => {
  await using emulator = spawnDirsync(['emulator', '--port', '0', '--appid', 'app1', '--secret', 'secret'])
  await emulator.waitForLine(/^emulator listens on /)
  const telling = setInterval(() => void emulator.kill('SIGHUP'))
  onTestFinished(() => clearInterval(telling))
  expect(await emulator.exited).toEqual({ code: 0, signal: null })
})
