import { type AddressInfo, connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openApp } from '../console/console-under-test.ts'
import { PlatformUnderTest } from '../emulator/platform-under-test.ts'
import { heldBytes } from '../helpers/memory.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { expectStillWorks, openReceiver, requestText } from '../money/receiver-under-test.ts'

/*
 * Hundreds of callers at once who stop at some byte of a request, send the rest byte by byte and never the last one, or never read
 * an answer: of the emulator, the console and the receiver of notifications.
 */

interface Served extends AsyncDisposable {
  port: number
  /** Requests as others send them. */
  requests: string[]
  /** What is answered with the most bytes. */
  large: string
  /** Asks as somebody does who means well. @throws when the answer is not the right one */
  ask(): Promise<unknown>
}

const SLOW = 300
const UNREADING = 5
const DRIP_MS = 20
const MOST_MB = 32
/** Collecting the garbage takes longer than many answers. */
const ASKED_PER_LOOK = 50
/** Time-outs of the emulator and the receiver. */
const TIMEOUT_MS = 1000
/** Those of the console, divided. */
const SHORTER = 10

const servers: Record<string, () => Promise<Served>> = {
  async emulator() {
    const platform = await PlatformUnderTest.start({
      timeoutMs: TIMEOUT_MS,
      seed: { employees: Array.from({ length: 1000 }, (_, i) => ({ userid: `u${i}`, name: 'Ana' })) },
    })
    return {
      port: platform.emulator.port,
      requests: [
        post('/employee/get', 'userid=u1'),
        post('/nowhere', 'x'),
        post('/_emulator/employees', '[{"userid":"v1"}]'),
        get('/_emulator/state'),
      ],
      large: get('/_emulator/state'),
      ask: async () => expect((await platform.get({ userid: 'u1' })).code).toBe(0),
      [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
    }
  },
  async console() {
    const database = await createTestDatabase({ migrated: true })
    const console = await openApp(database.url)
    const { server } = console.app
    for (const name of ['headersTimeout', 'requestTimeout', 'timeout', 'keepAliveTimeout'] as const)
      server[name] /= SHORTER
    const url = await console.app.listen({ host: '127.0.0.1', port: 0 })
    return {
      port: (server.address() as AddressInfo).port,
      requests: [
        post('/sign-in', 'name=anna&password=wrong'),
        post('/api/v1/runs', '{"kind":"full"}'),
        post('/nowhere', 'x'),
        get('/overview'),
        get('/readyz'),
      ],
      large: get('/assets/uPlot.iife.min.js'),
      ask: async () => expect((await fetch(`${url}/sign-in`)).status).toBe(200),
      async [Symbol.asyncDispose]() {
        await console[Symbol.asyncDispose]()
        await database.close()
      },
    }
  },
  async receiver() {
    const database = await createTestDatabase({ migrated: true })
    const receiver = await openReceiver(database, { timeoutMs: TIMEOUT_MS, connections: 1000 })
    return {
      port: receiver.port,
      requests: [requestText('appid=a&sign=b'), get('/healthz')],
      large: get('/healthz'),
      ask: () => expectStillWorks(receiver),
      async [Symbol.asyncDispose]() {
        await receiver[Symbol.asyncDispose]()
        await database.close()
      },
    }
  },
}

function post(path: string, body: string): string {
  const lines = ['Host: localhost', 'Content-Type: application/x-www-form-urlencoded']
  return [`POST ${path} HTTP/1.1`, ...lines, `Content-Length: ${body.length}`, '', body].join('\r\n')
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
}

describe.each(Object.keys(servers))('the %s', name => {
  test('drops those who send slowly or not at all, and serves the others meanwhile', async () => {
    await using server = await (servers[name] as () => Promise<Served>)()
    const slow = fc.record({
      request: fc.constantFrom(...server.requests),
      at: fc.double({ min: 0, max: 0.999, noNaN: true }),
      drips: fc.boolean(),
    })
    await expectDropped(server, () =>
      fc.sample(slow, { seed: 1, numRuns: SLOW }).map(({ request, at, drips }) => {
        const stop = Math.floor(at * request.length)
        return send(server.port, request.slice(0, stop), drips ? request.slice(stop, -1) : '')
      }),
    )
  })
})

// test/money/transport.test.ts has the receiver's, whose answers are so short that they take long to fill a connection.
describe.each(['emulator', 'console'])('the %s', name => {
  test('drops those who ask and never read the answers', async () => {
    await using server = await (servers[name] as () => Promise<Served>)()
    const again = () =>
      (function* () {
        for (;;) yield server.large
      })()
    await expectDropped(server, () =>
      Array.from({ length: UNREADING }, () => send(server.port, '', again()).pause()),
    )
  })
})

/** @param rest is sent piece by piece, and each is read by itself: half a request would count as one that comes slowly */
function send(port: number, beginning: string, rest: Iterable<string>): Socket {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  socket.on('error', () => {}).resume()
  socket.write(beginning)
  const pieces = rest[Symbol.iterator]()
  const dripping = setInterval(() => {
    if (socket.writable && socket.writableLength === 0) socket.write(pieces.next().value ?? '')
  }, DRIP_MS)
  socket.once('close', () => clearInterval(dripping))
  return socket
}

async function expectDropped({ ask }: Served, open: () => Socket[]): Promise<void> {
  await ask()
  const before = heldBytes()
  const sockets = open()
  let left = sockets.length
  for (const socket of sockets)
    socket.once('close', () => {
      left -= 1
    })
  let most = 0
  for (let asked = 0; left > 0; asked += 1) {
    // On a busy machine a request may not come in its time; as anybody would, they ask again.
    await ask().catch(ask)
    if (asked % ASKED_PER_LOOK === 0) most = Math.max(most, heldBytes())
  }
  expect((most - before) / 1e6).toBeLessThan(MOST_MB)
}

test('the emulator keeps a caller for as long as a planted latency lasts', async () => {
  await using platform = await PlatformUnderTest.start({
    timeoutMs: TIMEOUT_MS,
    seed: { employees: [{ userid: 'u1' }] },
  })
  await platform.token()
  await platform.control('POST', 'faults', { operation: 'employee/get', latencyMs: 2 * TIMEOUT_MS })
  expect((await platform.get({ userid: 'u1' })).code).toBe(0)
})
