import { expect, test } from 'vitest'
import { sign } from '../emulator/platform-under-test.ts'
import { spawnDirsync } from '../helpers/process.ts'

test.each([
  ['ignores what it does not know', [], 0],
  ['with --strict refuses it', ['--strict'], 1000220002],
])('`dirsync emulator` %s', async (_, flags, code) => {
  const options = ['--port', '0', '--appid', 'app1', '--secret', 'secret', ...flags]
  await using emulator = spawnDirsync(['emulator', ...options])
  const [, url] = await emulator.waitForLine(/^emulator listens on (\S+) /)
  const parameters = { appid: 'app1', timestamp: String(Math.floor(Date.now() / 1000)), noSnake: 'true' }
  const query = new URLSearchParams({ ...parameters, sign: sign(parameters, 'secret') })
  const answer = await fetch(`${url}/token/create?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  expect(await answer.json()).toMatchObject({ code })
})

test('a terminal that is closed ends it in order, however often it tells', async () => {
  await using emulator = spawnDirsync(['emulator', '--port', '0', '--appid', 'app1', '--secret', 'secret'])
  await emulator.waitForLine(/^emulator listens on /)
  process.kill(emulator.pid, 'SIGHUP')
  expect(await emulator.kill('SIGHUP')).toEqual({ code: 0, signal: null })
})
