import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { Agent, fetch, request } from 'undici'
import { expect, test } from 'vitest'
import type { Config } from '../../src/config.ts'
import { connectHr } from '../../src/connections.ts'
import { addToken } from '../../src/console/auth/tokens.ts'
import { startConsole } from '../../src/console/server.ts'
import { FITS } from '../../src/sync/processes/process.ts'
import { duringFile } from '../helpers/during.ts'
import { freePort } from '../helpers/free-port.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'
import { consoleConfig, recordLog, silent } from './console-under-test.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))

async function startOn(databaseUrl: string, settings: Partial<Config>, logger: typeof silent) {
  const config = { ...consoleConfig(databaseUrl), ...settings }
  return startConsole({
    config,
    roles: ['console'],
    version: '1.2.3',
    checkQueue: null,
    misfit: () => FITS,
    platformCodes: [],
    hr: await connectHr(config, silent),
    platform: () => {
      throw new Error('the platform must not be called here')
    },
    env: {},
    program: 'dirsync',
    logger,
  })
}

async function start(settings: Partial<Config> = {}, logger: typeof silent = silent) {
  const console = await startOn(database.url, settings, logger)
  return Object.assign(console, { [Symbol.asyncDispose]: () => console.close() })
}

test('it answers over HTTP at the address that it logs', async () => {
  const { logger, lines } = recordLog()
  await using console = await start({}, logger)
  expect(console.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
  expect(lines).toContainEqual(expect.objectContaining({ level: 30, url: console.url }))
  expect((await fetch(`${console.url}/healthz`)).status).toBe(200)
  expect((await fetch(`${console.url}/readyz`)).status).toBe(503)
  console.setPhase('running')
  expect((await fetch(`${console.url}/readyz`)).status).toBe(200)
  expect(await (await fetch(`${console.url}/metrics`)).text()).toContain('dirsync_database_up 1')
})

test('listening on every address, it names one that a person can open', async () => {
  await using console = await start({ CONSOLE_HOST: '0.0.0.0' })
  expect(console.url).toMatch(/^http:\/\/localhost:\d+$/)
  expect((await fetch(`${console.url}/healthz`)).status).toBe(200)
})

test('in a trial, the settings tell the port that was free', async () => {
  await using console = await start({ embedded: true })
  const expiresAt = new Date(Date.now() + 3_600_000)
  const token = await addToken(database.pool, 'test', { name: 'settings', role: 'admin', expiresAt })
  const answer = await fetch(`${console.url}/api/v1/settings?q=CONSOLE_PORT`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const { port } = new URL(console.url)
  expect(await answer.json()).toMatchObject({
    settings: [{ name: 'CONSOLE_PORT', value: port, line: `CONSOLE_PORT=${port}` }],
  })
})

test('a taken port stops the start with one sentence that names the setting', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await expect(start({ CONSOLE_PORT: port })).rejects.toMatchObject({
    name: 'ConsoleError',
    code: 'CONSOLE_PORT_TAKEN',
    message: expect.stringMatching(new RegExp(`^CONSOLE_PORT holds ${port} but [^\\n]+$`)),
  })
  other.close()
  await once(other, 'close')
})

test.each(['192.0.2.1', 'no-such-host.invalid'])(
  'the address %s, which is not ours, is refused by name',
  async host => {
    await expect(start({ CONSOLE_HOST: host })).rejects.toMatchObject({
      code: 'CONSOLE_ADDRESS_REFUSED',
      message: expect.stringMatching(/^CONSOLE_HOST holds "[^\n]+$/),
    })
  },
)

test('close ends idle connections and half-sent requests, frees the port, and may be repeated', async () => {
  const port = await freePort()
  await using console = await start({ CONSOLE_PORT: port })
  const agent = new Agent({ keepAliveTimeout: 60_000 })
  const { body } = await request(`${console.url}/metrics`, { dispatcher: agent })
  await body.dump()
  const half = connect(port, '127.0.0.1')
  await once(half, 'connect')
  half.on('error', () => {}) // it is about to be reset
  half.write('GET /healthz HTTP/1.1\r\nHost: ')
  const dropped = once(half, 'close')

  await Promise.all([console.close(), console.close(), dropped])
  await agent.close()
  await using next = await start({ CONSOLE_PORT: port })
  expect(next.url).toBe(console.url)
})

test('requests that drip in are ended, whether it is their headers or their body that never comes', async () => {
  await using console = await start()
  const { port } = new URL(console.url)
  const drip = async (beginning: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(beginning)
    const drops = setInterval(() => socket.write('x'), 250)
    let answer = ''
    socket.on('data', data => {
      clearInterval(drops)
      answer += data
    })
    // A byte may still come after the end, which is an error of the socket's, and none of the console's.
    socket.on('error', () => {})
    await new Promise(resolve => socket.on('close', resolve))
    return answer
  }
  const answers = await Promise.all([
    drip('GET /sign-in HTTP/1.1\r\nHost: localhost\r\nX-Slow: '),
    drip(
      'POST /sign-in HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n',
    ),
  ])
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 408 /)
}, 30_000)

test('a viewer who breaks off frees the place for the next request', async () => {
  await using console = await start()
  const expiresAt = new Date(Date.now() + 86_400_000)
  const token = await addToken(database.pool, 'test', { name: 'hasty', role: 'viewer', expiresAt })
  const headers = { authorization: `Bearer ${token}` }
  await using lock = await lockCases()
  // More than may be in hand at a time, all of them waiting for the database.
  const broken = Array.from({ length: 10 }, async () => {
    const controller = new AbortController()
    const asked = fetch(`${console.url}/api/v1/cases`, { headers, signal: controller.signal })
    await expect.poll(lock.waiting).toBeGreaterThan(0)
    controller.abort()
    await asked.catch(() => {})
  })
  await Promise.all(broken)
  await lock.release()
  expect((await fetch(`${console.url}/api/v1/cases`, { headers })).status).toBe(200)
})

/** Keeps everybody from reading cases until it is released. */
async function lockCases() {
  const client = await database.pool.connect()
  await client.query('begin; lock dirsync.dead_letter in access exclusive mode')
  const release = async () => {
    await client.query('rollback')
  }
  return {
    release,
    async waiting() {
      return (await database.pool.query(`${WAITING_FOR_A_LOCK} and wait_event = 'relation'`)).rows.length
    },
    [Symbol.asyncDispose]: async () => {
      await release()
      client.release()
    },
  }
}

test('close leaves no connection to the database', async () => {
  const own = await createTestDatabase({ migrated: true })
  const console = await startOn(own.url, {}, silent)
  await (await fetch(`${console.url}/readyz`)).text()
  const connections = async () => {
    const { rows } = await database.pool.query(
      `select count(*)::int as n from pg_stat_activity where datname = $1 and application_name like 'dirsync%'`,
      [own.name],
    )
    return rows[0].n
  }
  expect(await connections()).toBeGreaterThan(0)
  await console.close()
  await expect.poll(connections).toBe(0)
  await own.close()
})
