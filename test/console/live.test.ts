import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { addToken } from '../../src/console/auth/tokens.ts'
import { disableUser } from '../../src/console/auth/users.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { openApp, signInAs, type TestApp } from './console-under-test.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))

/** A console that listens. */
async function listening(databaseUrl = database.url): Promise<TestApp & { url: string }> {
  const console = await openApp(databaseUrl)
  const url = await console.app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => console[Symbol.asyncDispose]())
  return Object.assign(console, { url })
}

async function watch(url: string, headers: Record<string, string>): Promise<IncomingMessage> {
  const asked = request(`${url}/events`, { headers, agent: false }).end()
  onTestFinished(() => void asked.destroy())
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.setEncoding('utf8')
  return answer
}

/** Waits for an event that names the topics. */
async function untilMoved(stream: IncomingMessage, ...topics: string[]): Promise<void> {
  let text = ''
  while (!topics.every(topic => new RegExp(`^data:.*\\b${topic}\\b`, 'm').test(text)))
    text += (await once(stream, 'data'))[0]
}

const tokenOf = async (name: string) => {
  const expiresAt = new Date(Date.now() + 86_400_000)
  return {
    authorization: `Bearer ${await addToken(database.pool, 'test', { name, role: 'viewer', expiresAt })}`,
  }
}

test('a disabled user watches for ten more minutes at most, and cannot reconnect', async () => {
  const console = await listening()
  const cookie = await signInAs(console, 'reviewer')
  const stream = await watch(console.url, { cookie })
  expect(stream.statusCode).toBe(200)
  stream.resume()
  await disableUser(database.pool, 'test', 'somebody-reviewer')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 60_000 + 1 })
  onTestFinished(() => void vi.useRealTimers())
  await once(stream, 'end')
  vi.useRealTimers()
  expect((await watch(console.url, { cookie })).statusCode).toBe(401)
})

test('one who opens a hundred streams leaves room for the others', async () => {
  const console = await listening()
  const [greedy, other] = [await tokenOf('greedy'), await tokenOf('other')]
  const streams = await Promise.all(Array.from({ length: 100 }, () => watch(console.url, greedy)))
  expect(new Set(streams.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
  const refused = await watch(console.url, greedy)
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '30'])
  expect((await watch(console.url, other)).statusCode).toBe(200)

  streams[0]?.destroy()
  await vi.waitFor(async () => expect((await watch(console.url, greedy)).statusCode).toBe(200), {
    timeout: 60_000,
  })
})

test('every part is asked for anew when the database goes away, and when it comes back', async () => {
  await using proxy = await startTcpProxy(database.url)
  const console = await listening(proxy.url)
  const stream = await watch(console.url, await tokenOf('watcher'))
  await untilMoved(stream, 'work', 'cases', 'halts')
  await proxy.refuse()
  await untilMoved(stream, 'work', 'cases', 'halts', 'platform')
  await proxy.accept()
  await untilMoved(stream, 'work', 'cases', 'halts', 'platform')
})
