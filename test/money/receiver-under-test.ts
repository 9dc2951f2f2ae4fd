import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Agent, request } from 'undici'
import { expect } from 'vitest'
import { createPool } from '../../src/lib/database.ts'
import { buildReceiver, type ReceiverLimits } from '../../src/money/receiver.ts'
import { type LogLine, recordLog } from '../console/console-under-test.ts'
import { APP_ID, APP_SECRET, encode, type Fields, fieldsOf, signed } from '../helpers/notification.ts'
import type { TestDatabase } from '../helpers/postgres.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'

interface Answer {
  status: number
  body: string
}
export const SUCCESS: Answer = { status: 200, body: 'success' }
export const failed = (status: number): Answer => ({ status, body: 'fail' })

/** The receiver on a real port and database, with a clock that stands still unless a test moves it. */
export interface TestReceiver extends AsyncDisposable {
  port: number
  clock: { now: number }
  log: LogLine[]
  /** Everything that was ever sent, for a look into the log. */
  sent: Fields[]
  /** Has the journal know one more refund; what a notification of it says. */
  refund(): Promise<Fields>
  stateOf(fields: Fields): Promise<string | null>
  post(body: string | Buffer, options?: PostOptions): Promise<Answer>
  /** Sends a signed notification. */
  notify(fields: Fields): Promise<Answer>
  connections(): Promise<number>
  /** Opens a connection that collects what comes. */
  open(): Promise<RawConnection>
}

interface PostOptions {
  method?: string
  path?: string
  headers?: Record<string, string>
}

interface RawConnection {
  socket: Socket
  /** What came so far. */
  readonly received: string
  /** Resolves with all that came, when the server has closed. */
  closed: Promise<string>
}

export async function openReceiver(
  database: TestDatabase,
  limits: Partial<ReceiverLimits> = {},
): Promise<TestReceiver> {
  const { logger, lines: log } = recordLog()
  const clock = { now: Date.now() }
  const pool = createPool(database.url, { max: 4, name: 'notifications', logger, timeoutMs: 3000 })
  const app = buildReceiver({
    pool,
    appId: APP_ID,
    appSecret: APP_SECRET,
    signAlgorithm: 'sha256',
    limits: { burst: 1_000_000, perSecond: 1, timeoutMs: 10_000, connections: 100, ...limits },
    clock: () => clock.now,
    logger,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const agent = new Agent({ connections: 4 })
  const sent: Fields[] = []

  const post = async (body: string | Buffer, options: PostOptions = {}): Promise<Answer> => {
    const {
      method = 'POST',
      path = '/notifications/refund',
      headers = { 'content-type': FORM_TYPE },
    } = options
    const answer = await request(`http://127.0.0.1:${port}${path}`, {
      method: method as 'POST',
      headers,
      body,
      dispatcher: agent,
    })
    return { status: answer.statusCode, body: await answer.body.text() }
  }
  return {
    port,
    clock,
    log,
    sent,
    post,
    async refund() {
      const { rows } = await database.pool.query(`select count(*)::int as n from dirsync.refund`)
      const fields = fieldsOf(rows[0].n, clock.now)
      await database.pool.query(
        `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, requested_by)
         values ($1, $2, $3, 'test')`,
        [fields.outer_refund_no, fields.outer_trade_no, fields.refund_amount],
      )
      return fields
    },
    async stateOf({ outer_refund_no }) {
      const { rows } = await database.pool.query(
        'select state from dirsync.refund where outer_refund_no = $1',
        [outer_refund_no],
      )
      return rows[0]?.state ?? null
    },
    notify(fields) {
      const form = signed(fields)
      sent.push(form)
      return post(encode(form))
    },
    connections: () =>
      new Promise((resolve, reject) => {
        app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
      }),
    async open() {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      let received = ''
      socket.setEncoding('latin1').on('data', chunk => {
        received += chunk
      })
      socket.on('error', () => {}) // a server that hangs up may do so by a reset
      const closed = new Promise<string>(resolve => socket.once('close', () => resolve(received)))
      return {
        socket,
        closed,
        get received() {
          return received
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await agent.destroy()
      await app.close()
      await pool.end()
    },
  }
}

/** A whole request as bytes. */
export function requestText(
  body: string,
  headers: string[] = [],
  line = 'POST /notifications/refund HTTP/1.1',
) {
  const all = [line, 'Host: test', `Content-Type: ${FORM_TYPE}`, `Content-Length: ${body.length}`, ...headers]
  return `${all.join('\r\n')}\r\n\r\n${body}`
}

/** After whatever happened: a genuine notification is stored and answered, byte for byte. */
export async function expectStillWorks(receiver: TestReceiver): Promise<void> {
  const fields = await receiver.refund()
  const { socket, closed } = await receiver.open()
  socket.write(requestText(encode(signed(fields)), ['Connection: close']))
  const [head, body] = (await closed).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(head?.toLowerCase()).toContain('content-length: 7')
  expect(body).toBe('success')
  expect(await receiver.stateOf(fields)).toBe('notified')
}
