import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectHr } from '../../src/connections.ts'
import type { Scope } from '../../src/console/auth/scope.ts'
import { hashOf } from '../../src/console/auth/secret.ts'
import { endSession, openSession, revokeSession } from '../../src/console/auth/sessions.ts'
import { addToken, revokeToken } from '../../src/console/auth/tokens.ts'
import { disableUser, setRole, signOutUser } from '../../src/console/auth/users.ts'
import { startConsole } from '../../src/console/server.ts'
import { FITS } from '../../src/sync/processes/process.ts'
import { consoleConfig, openApp, plantUser, silent } from '../console/console-under-test.ts'
import { duringFile } from '../helpers/during.ts'
import { heldBytes } from '../helpers/memory.ts'
import { createTestDatabase } from '../helpers/postgres.ts'

/*
 * The streams of events, of pages and of programs, with readers who never read, leave at any moment, come in hundreds, or lose what
 * they were let in for.
 */

const STREAMS = ['/events', '/api/v1/events'] as const
/** As many as one user may have. */
const OF_ONE = { '/events': 100, '/api/v1/events': 5 }
const MOST_MB = 16

const database = duringFile(() => createTestDatabase({ migrated: true }))
const app = duringFile(() => openApp(database.url))
const url = duringFile(async () => {
  const address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  return { address, close: async () => {} }
})

type Headers = Record<string, string>

function ask(path: string, headers: Headers, method = 'GET', at = url.address): ClientRequest {
  const asked = request(at + path, { method, headers, agent: false }).on('error', () => {})
  onTestFinished(() => void asked.destroy())
  return asked.end()
}

async function open(
  path: string,
  headers: Headers,
  method = 'GET',
  at = url.address,
): Promise<IncomingMessage> {
  const [answer] = (await once(ask(path, headers, method, at), 'response')) as [IncomingMessage]
  return answer.on('error', () => {})
}

interface Access {
  name: string
  secret: string
  headers: Headers
}

const TOMORROW = new Date(Date.now() + 86_400_000)
const ORIGIN = { address: '127.0.0.1', userAgent: 'test', former: null }
let named = 0

async function newToken(scopes?: Scope[]): Promise<Access> {
  const name = `one-${named++}`
  const secret = await addToken(database.pool, 'test', { name, role: 'viewer', expiresAt: TOMORROW, scopes })
  return { name, secret, headers: { authorization: `Bearer ${secret}` } }
}

async function newSession(): Promise<Access> {
  const name = `one-${named++}`
  await plantUser(app.pool, name, 'viewer')
  const secret = (await openSession(app.pool, { name, via: 'password' }, ORIGIN)) ?? ''
  return { name, secret, headers: { cookie: `dirsync=${secret}` } }
}

const connections = () =>
  new Promise<number>((resolve, reject) =>
    app.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

describe.each(STREAMS)('%s', path => {
  test('keeps no place of those who leave at any moment, hundreds at once', async () => {
    const { headers } = await newToken()
    const leaver = fc.record({
      /** After so many pieces of the answer; below 0: without waiting for any, so many turns after it was asked for. */
      after: fc.integer({ min: -20, max: 1 }),
      reset: fc.boolean(),
    })
    for (let round = 0; round < 3; round += 1)
      await Promise.all(
        fc.sample(leaver, { seed: round, numRuns: 100 }).map(async ({ after, reset }) => {
          const asked = ask(path, headers)
          const gone = new Promise(done => asked.once('close', done))
          if (after < 0) for (let turn = after; turn < 0; turn += 1) await new Promise(setImmediate)
          else {
            const [answer] = (await once(asked, 'response')) as [IncomingMessage]
            let pieces = 0
            if (answer.statusCode === 200)
              for await (const _ of answer.on('error', () => {})) if (++pieces >= after) break
          }
          if (reset) asked.socket?.resetAndDestroy()
          asked.destroy()
          await gone
        }),
      )
    await expect.poll(connections).toBe(0)
    const streams = await Promise.all(Array.from({ length: OF_ONE[path] }, () => open(path, headers)))
    expect(streams.map(({ statusCode }) => statusCode)).toEqual(streams.map(() => 200))
  })

  test('ends with what let its reader in, and tells nothing that happens afterwards', async () => {
    await Promise.all(
      Object.entries(ENDS).map(async ([what, [letIn, end]]) => {
        const { headers, ...access } = await letIn()
        const stream = await open(path, headers)
        expect(stream.statusCode, what).toBe(200)
        const told = textOf(stream)
        await end(access)
        const { rows } = await addRuns(1)
        expect(await told, what).not.toContain(`"run":{"id":${rows[0].id},`)
        expect((await open(path, headers)).statusCode, what).toBe(401)
      }),
    )
  })

  test('goes on for one whose role changes, for every role may have it', async () => {
    const { name, headers } = await newSession()
    const stream = await open(path, headers)
    for (const role of ['admin', 'viewer'] as const) {
      await setRole(database.pool, 'test', name, role, null)
      await addRuns(1)
      await once(stream, 'data')
    }
    expect((await open(path, headers)).statusCode).toBe(200)
  })

  test('is not opened for those who may not, nor by another method', async () => {
    const { headers } = await newToken()
    const limited = await newToken(['money'])
    expect((await open(path, {})).statusCode).toBe(401)
    expect((await open(path, { authorization: 'Bearer x' })).statusCode).toBe(401)
    if (path !== '/events') expect((await open(path, limited.headers)).statusCode).toBe(403)
    for (const method of ['HEAD', 'POST', 'PUT', 'OPTIONS']) {
      const { statusCode = 0, headers: said } = await open(path, headers, method)
      expect([method, statusCode >= 400, said['content-type']]).not.toContain('text/event-stream')
      expect(statusCode).toBeGreaterThanOrEqual(400)
    }
  })
})

/** How one may come in, and lose it. */
const ENDS: Record<string, [() => Promise<Access>, (access: Omit<Access, 'headers'>) => Promise<unknown>]> = {
  'signed out': [
    newSession,
    ({ name, secret }) =>
      endSession(database.pool, secret, { name, role: 'viewer', via: 'password' }, '127.0.0.1'),
  ],
  'signed out by another': [newSession, ({ name }) => signOutUser(database.pool, 'test', name)],
  'signed in anew': [
    newSession,
    ({ name, secret }) =>
      openSession(database.pool, { name, via: 'password' }, { ...ORIGIN, former: secret }),
  ],
  'a session that is revoked': [
    newSession,
    ({ secret }) => revokeSession(database.pool, 'test', hashOf(secret).toString('hex'), null),
  ],
  'a session that is over': [
    newSession,
    ({ name }) =>
      database.pool.query(`update dirsync.console_session set expires_at = now() where user_name = $1`, [
        name,
      ]),
  ],
  'a user who is disabled': [newSession, ({ name }) => disableUser(database.pool, 'test', name)],
  'a user who is gone': [
    newSession,
    ({ name }) => database.pool.query('delete from dirsync.console_user where name = $1', [name]),
  ],
  'a token that is revoked': [() => newToken(), ({ name }) => revokeToken(database.pool, 'test', name)],
  'a token that is over': [
    () => newToken(),
    ({ name }) =>
      database.pool.query('update dirsync.api_token set expires_at = now() where name = $1', [name]),
  ],
}

test('those who never read the events are dropped, and the others are told all of them', async () => {
  const { rows } = await addRuns(40_000)
  const before = heldBytes()
  for (let user = 0; user < 4; user += 1) {
    const headers = { ...(await newToken()).headers, 'last-event-id': '0' }
    for (let place = 0; place < OF_ONE['/api/v1/events']; place += 1)
      (await open('/api/v1/events', headers)).pause()
  }
  const { headers } = await newToken()
  const told = new Set<number>()
  let place = '0'
  while (told.size < rows.length) {
    const stream = await open('/api/v1/events', { ...headers, 'last-event-id': place })
    let text = ''
    // One who reads too slowly on a busy machine is dropped as well, and goes on where they were.
    for await (const piece of untilCut(stream.setEncoding('utf8'))) {
      const parts = (text + piece).split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        place = /^id: (\d+)$/m.exec(part)?.[1] ?? place
        const run = Number(/"run":\{"id":(\d+),/.exec(part)?.[1])
        if (run >= rows[0].id) told.add(run)
      }
      if (told.size === rows.length) break
    }
  }
  await expect.poll(connections).toBe(0)
  expect((heldBytes() - before) / 1e6).toBeLessThan(MOST_MB)
})

test('a console that is told to stop ends every stream, also of those who never read', async () => {
  const config = consoleConfig(database.url)
  const console = await startConsole({
    ...{ config, roles: ['console'], version: '1.2.3', program: 'dirsync', env: {}, logger: silent },
    ...{ checkQueue: null, misfit: () => FITS, platformCodes: [] },
    hr: await connectHr(config, silent),
    platform: () => expect.unreachable(),
  })
  const ended: Promise<unknown>[] = []
  for (let user = 0; user < 20; user += 1) {
    const headers = { ...(await newToken()).headers, 'last-event-id': '0' }
    for (const path of STREAMS)
      for (let place = 0; place < OF_ONE['/api/v1/events']; place += 1) {
        const stream = await open(path, headers, 'GET', console.url)
        if (place === 0) stream.pause()
        else ended.push(new Promise(done => stream.resume().once('close', done)))
      }
  }
  await console.close()
  await Promise.all(ended)
})

/** What comes until the stream ends, in whichever way. */
async function* untilCut(stream: IncomingMessage): AsyncGenerator<string> {
  try {
    yield* stream
  } catch {
    // It was cut off.
  }
}

/** All that a stream tells, until it ends. */
async function textOf(stream: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of stream.setEncoding('utf8')) text += piece
  return text
}

const addRuns = (count: number) =>
  database.pool.query(
    `insert into dirsync.sync_run (kind, state, requested_by)
     select 'full', 'requested', 'cron' from generate_series(1, $1) returning id::int as id`,
    [count],
  )
