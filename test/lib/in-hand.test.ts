import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { spawnScript } from '../helpers/process.ts'

test('a process that a driver ends says what it was doing, to programs and to people', async () => {
  const server = createServer(socket => socket.end('an answer'))
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const crash = async (...args: string[]) => {
    const script = spawnScript(join(import.meta.dirname, 'fixtures/crash.ts'), [String(port), ...args])
    expect((await script.exited).code).not.toBe(0)
    return script.stderr.split('\n')
  }
  const line = (await crash()).find(text => text.startsWith('{'))
  expect(JSON.parse(line ?? '')).toMatchObject({
    level: 60,
    inHand: ['plan of run 7 (changes)'],
    error: { name: 'TypeError', message: 'activeQuery.handleCopyData is not a function' },
  })
  expect(await crash('pretty')).toContainEqual(
    expect.stringMatching(
      /FATAL: the process ends .+plan of run 7.+: activeQuery.handleCopyData is not a function$/,
    ),
  )
})
