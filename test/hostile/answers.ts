import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { toActual } from '../../src/directory/desired.ts'
import type { Pacer } from '../../src/pacing/pacer.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { OutcomeUnknownError, PlatformError } from '../../src/platform/errors.ts'
import type { OperationName } from '../../src/platform/operation.ts'
import { OPERATIONS } from '../../src/platform/operations/index.ts'
import { type Kind, must } from './kind.ts'
import { jsonValue, text } from './texts.ts'
import { LENGTH, type Length, wireOf } from './wire.ts'

/*
 * A platform that answers what it likes, over TCP, to the real client. Each call ends in a failure that says what to do or in an answer
 * that keeps its word, in its time; and the next call is answered as if nothing had been.
 */

const APP = 'mall0001'
const TIMEOUT_MS = 250
/** After this a call counts as one that never ends. */
const NEVER_MS = 20_000
const MOST_BYTES = 256 * 1024
/** What the kernel's buffers of both sides may take beyond it. */
const IN_BUFFERS = 32 * 1024 * 1024

export const CALLS: Record<OperationName, Record<string, unknown>> = {
  'token/create': {},
  'token/getTokenInfo': {},
  'employee/update': { userid: 'u1', name: 'Ann' },
  'employee/get': { userid: 'u1' },
  'employee/openid': { userid: 'u1', seller_appid: APP },
  'department/delete': { dept_code: 'D1' },
  'enterprise/consume/list': {},
  'enterprise/consume/get': { trade_no: 'T1' },
  'assets/limit/enterprise/get': {},
  'seller/v3/pay/syncRefund': {
    outerTradeNo: `${APP}T`,
    outerRefundNo: `${APP}R`,
    reason: 'x',
    refundAmount: '1.00',
  },
  'seller/pay/record': { outer_trade_no: `${APP}T1` },
  'enterprise/account/applyCharge': {
    account_openid: 'A1',
    amount: '1.00',
    service_provider: '1',
    external_code: APP.padEnd(30, '0'),
    taxpayer: 'x',
  },
  'taxpayer/findList': { identifier: 'I1' },
}

export interface HostileAnswer {
  status: string
  headers: [string, string][]
  body: Buffer
  /** How long the answer says that it is. */
  length: Length
  /** Sends only so many thousandths of it, and then what `end` says. */
  cut: number
  end: 'close' | 'keep' | 'reset' | 'silent' | 'drip' | 'more' | 'flood'
}

const NAMES = [
  ...[
    'code',
    'msg',
    'data',
    'access_token',
    'expires_in',
    'userid',
    'corp_code',
    'name',
    'gender',
    'card_type',
    'card_no',
  ],
  ...[
    'category',
    'level',
    'birth_day',
    'mobile',
    'mobile_area',
    'open_userid',
    'data_list',
    'total_count',
    'has_next',
  ],
  ...[
    'trade_no',
    'status',
    'balance',
    'sub_limits',
    'pay_amount',
    'refund_amount',
    'goods',
    'id',
    'taxpayer_name',
  ],
]

const NUMBERS = [
  '9007199254740993',
  '1e400',
  '-0',
  '1e-400',
  '0.1e1',
  '00',
  '0x1',
  'NaN',
  'Infinity',
  '-',
  '1E5',
  '.5',
]
const code = fc.oneof(
  { weight: 6, arbitrary: fc.constant('0') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '1000210004',
      '1000210001',
      '1000220096',
      '1002218007',
      '1000210003',
      '-1',
      '7',
    ),
  },
  { weight: 2, arbitrary: fc.constantFrom(...NUMBERS, '"0"', 'null', 'true', '[0]', '{}') },
)
const DEEP = 200_000
const nested = fc
  .tuple(
    fc.integer({ min: 1, max: DEEP / 4 }),
    fc.constantFrom<[string, string]>(['[', ']'], ['{"data":', '}'], ['{"a":[', ']}']),
    fc.boolean(),
  )
  .map(([depth, [open, close], closes]) => `${open.repeat(depth)}1${closes ? close.repeat(depth) : ''}`)
const data = fc.oneof(
  { weight: 6, arbitrary: jsonValue(NAMES, 300).map(value => JSON.stringify(value) ?? 'null') },
  {
    weight: 4,
    arbitrary: fc
      .array(
        fc.tuple(
          fc.constantFrom(...NAMES),
          fc.oneof(fc.constantFrom(...NUMBERS, '"x"', '1', 'null', '[]', '[{}]', '"2020-01-01"'), nested),
        ),
        {
          maxLength: 6,
        },
      )
      // A name may be there twice.
      .map(pairs => `{${pairs.map(([name, value]) => `"${name}":${value}`).join(',')}}`),
  },
  { weight: 1, arbitrary: nested },
)
const json = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(
        code,
        data,
        text(100, true),
        fc.constantFrom('', ',"code":1', ',"data":null', ',"__proto__":{"code":0}'),
      )
      .map(
        ([code, data, msg, more]) => `{"code":${code},"msg":${JSON.stringify(msg)},"data":${data}${more}}`,
      ),
  },
  { weight: 2, arbitrary: data },
  { weight: 2, arbitrary: text(3000, true) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '\ufeff{"code":0,"data":{}}',
      '{"code":0,"data":{}}x',
      "{'code':0}",
      '<html>',
      'null',
      '0',
    ),
  },
)
const body = fc.oneof(
  { weight: 20, arbitrary: json.map(answer => Buffer.from(answer)) },
  { weight: 2, arbitrary: json.map(answer => Buffer.from(answer, 'utf16le')) },
  { weight: 2, arbitrary: json.map(answer => Buffer.from(answer, 'latin1')) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)) },
  { weight: 1, arbitrary: json.map(answer => gzipSync(answer)) },
  {
    weight: 1,
    arbitrary: fc.nat(4 * MOST_BYTES).map(size => Buffer.from(`{"code":0,"data":{}${' '.repeat(size)}}`)),
  },
)
const header = fc.oneof(
  fc.constantFrom<[string, string]>(
    ['content-encoding', 'gzip'],
    ['content-encoding', 'br, gzip'],
    ['content-type', 'application/json; charset=gbk'],
    ['content-type', 'text/html'],
    ['location', 'http://127.0.0.1:9/'],
    ['location', 'file:///etc/passwd'],
    ['retry-after', '0'],
    ['retry-after', '99999999999999999999'],
    ['retry-after', '-1'],
    ['retry-after', 'Fri, 31 Dec 9999 23:59:59 GMT'],
    ['date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['date', 'Sat, 13 Sep 275760 00:00:00 GMT'],
    ['date', 'yesterday'],
    ['set-cookie', 'a=b'],
    ['x-trace-id', 'a'],
    ['x-trace-id', 'b'.repeat(5000)],
    ['x-trace-id', '\u00ff\u00fe'],
    ['connection', 'close'],
    ['connection', 'upgrade'],
    ['upgrade', 'websocket'],
    ['trailer', 'x'],
    ['transfer-encoding', 'gzip'],
    ['', ''],
    ['no colon', ''],
    ['x'.repeat(70_000), 'y'],
  ),
  fc.tuple(fc.constantFrom('x-a', 'x-trace-id', 'date', 'retry-after'), text(50)),
)

export const hostileAnswer = fc.record<HostileAnswer>({
  status: fc.oneof(
    { weight: 12, arbitrary: fc.constant('HTTP/1.1 200 OK') },
    {
      weight: 6,
      arbitrary: fc
        .constantFrom(
          201,
          204,
          206,
          301,
          302,
          304,
          307,
          400,
          401,
          403,
          404,
          408,
          413,
          421,
          425,
          429,
          500,
          502,
          503,
          504,
          999,
        )
        .map(status => `HTTP/1.1 ${status} X`),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        'HTTP/1.1 100 Continue',
        'HTTP/1.1 101 Switching',
        'HTTP/1.0 200 OK',
        'HTTP/2 200',
        'HTTP/1.1 0',
        'HTTP/1.1 2000 X',
        '',
        'SSH-2.0-x',
        'HTTP/1.1 200 OK\r\nx: y\r\n\r\nHTTP/1.1 200 OK',
      ),
    },
  ),
  headers: fc.array(header, { maxLength: 3 }),
  body,
  length: LENGTH,
  cut: fc.oneof({ weight: 12, arbitrary: fc.constant(1000) }, { weight: 2, arbitrary: fc.nat(1000) }),
  end: fc.oneof(
    { weight: 60, arbitrary: fc.constant('close' as const) },
    { weight: 30, arbitrary: fc.constantFrom('keep', 'reset', 'more') },
    { weight: 1, arbitrary: fc.constantFrom('silent', 'drip', 'flood') },
  ),
})

interface Answer extends HostileAnswer {
  operation: OperationName
}

const inputs: fc.Arbitrary<Answer> = fc
  .tuple(fc.constantFrom(...(Object.keys(CALLS) as OperationName[])), hostileAnswer)
  .map(([operation, answer]) => ({ operation, ...answer }))

export const platformAnswers: Kind<Answer> = {
  name: 'platform-answers',
  what: 'answers of the platform over TCP, to the real client',
  share: 40,
  few: 300,
  inputs,
  open: () => Platform.start(),
}

/** Lets every call go: the pacer's word is not what is tried here. */
const unpaced: Pacer = {
  async acquire() {},
  async holdOff() {},
  observe() {},
  snapshot: () => ({
    ratePerSecond: 0,
    set: null,
    learnt: false,
    ceiling: null,
    cap: null,
    waiting: 0,
    pausedForMs: 0,
  }),
  async close() {},
}

class Platform {
  readonly #server = createServer(socket => this.#serve(socket))
  readonly #sockets = new Set<Socket>()
  #client: PlatformClient | undefined
  #hostile: Answer | null = null
  #sent = 0
  #calls = 0

  static async start(): Promise<Platform> {
    const platform = new Platform()
    platform.#server.listen(0, '127.0.0.1')
    await once(platform.#server, 'listening')
    return platform
  }

  async meet(answer: Answer): Promise<string> {
    this.#hostile = answer
    this.#sent = 0
    try {
      const outcome = await this.#call(answer.operation)
      this.#hostile = null
      must(this.#sent < MOST_BYTES + IN_BUFFERS, `${this.#sent} bytes of an answer were taken`)
      await this.#expectStillWorks()
      return outcome
    } catch (error) {
      // A smaller input is to be judged by itself.
      this.#drop()
      throw error
    }
  }

  async after(): Promise<void> {
    await sleep(2 * TIMEOUT_MS)
    must(this.#sockets.size <= 64, `${this.#sockets.size} connections stay open`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await this.#client?.close()
    this.#server.close()
  }

  #drop(): void {
    void this.#client?.close()
    this.#client = undefined
  }

  /** A client that has seen nothing. */
  #connect(): PlatformClient {
    const { port } = this.#server.address() as AddressInfo
    return new PlatformClient({
      baseUrl: `http://127.0.0.1:${port}`,
      appId: APP,
      appSecret: 'secret',
      pacer: unpaced,
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MOST_BYTES,
    })
  }

  get #present(): PlatformClient {
    this.#client ??= this.#connect()
    return this.#client
  }

  async #call(operation: OperationName): Promise<string> {
    let answer: unknown
    try {
      answer = await inTime(this.#present.call(operation, CALLS[operation]))
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      const { verdict, said, code, outcomeKnown, message } = error
      must(
        verdict.disposition !== undefined && said.key !== undefined && message !== '',
        'a failure says nothing',
      )
      must(
        OPERATIONS[operation].idempotent || outcomeKnown || error instanceof OutcomeUnknownError,
        `the outcome of ${operation} is unknown, and the error does not say so`,
      )
      // Too many hostile tokens: the next call begins anew.
      if (error.kind === 'token_fuse') this.#drop()
      return code
    }
    must(JSON.stringify(answer) !== undefined, 'an answer cannot be kept')
    if (operation === 'employee/get') {
      const fields = toActual(answer as object)
      for (const value of Object.values(fields))
        must(typeof value !== 'string' || value.isWellFormed(), 'half a character gets in')
    }
    return 'read'
  }

  /** A call that comes afterwards gets its own answer, at the latest from a client without the token that came. */
  async #expectStillWorks(): Promise<void> {
    const wanted = `n${++this.#calls}`
    for (let tries = 1; ; tries += 1) {
      try {
        const { userid } = await inTime(this.#present.employees.get({ userid: wanted }))
        must(userid === wanted, `a call got another one's answer: ${userid}`)
        return
      } catch (error) {
        // A connection that has just been closed, the fuse of tokens, a token as long as a book.
        if (!(error instanceof PlatformError) || tries > 4) throw error
        if (tries > 1) {
          this.#drop()
        }
      }
    }
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    let received = ''
    socket.setEncoding('latin1').on('data', chunk => {
      received += chunk
      for (;;) {
        const head = received.indexOf('\r\n\r\n')
        const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0)
        if (head < 0 || received.length < head + 4 + length) return
        const request = received.slice(0, head + 4 + length)
        received = received.slice(head + 4 + length)
        const operation = /^POST \/([^?]*)/.exec(request)?.[1]
        const hostile = this.#hostile
        if (hostile !== null && hostile.operation === operation)
          respond(socket, hostile, bytes => {
            this.#sent += bytes
          })
        else
          socket.write(
            goodAnswer(operation === 'token/create' ? TOKEN : { userid: /userid=(\w*)/.exec(request)?.[1] }),
          )
      }
    })
  }
}

/** Sends an answer. @param onSent called with the length of every piece */
export function respond(
  socket: Socket,
  { status, headers, body, length, cut, end }: HostileAnswer,
  onSent: (bytes: number) => void = () => {},
): void {
  const send = (bytes: Buffer) => {
    socket.write(bytes)
    onSent(bytes.length)
  }
  const whole = wireOf([status, ...headers.map(pair => pair.join(': '))], body, length)
  send(whole.subarray(0, Math.ceil((whole.length * cut) / 1000)))
  if (end === 'close') socket.end()
  else if (end === 'reset') socket.resetAndDestroy()
  else if (end === 'more') socket.write(goodAnswer({ userid: 'more' }))
  else if (end === 'drip' || end === 'flood') {
    const piece = end === 'drip' ? Buffer.from(' ') : Buffer.alloc(64 * 1024, ' ')
    // Until the other side has had enough.
    const timer = setInterval(() => socket.writableLength === 0 && send(piece), 1)
    socket.on('close', () => clearInterval(timer))
  }
}

const TOKEN = { access_token: 'token', expires_in: 7200 }

function goodAnswer(data: object): string {
  const body = JSON.stringify({ code: 0, msg: 'OK', data })
  return `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

async function inTime<T>(call: Promise<T>): Promise<T> {
  const giveUp = new AbortController()
  const never = sleep(NEVER_MS, undefined, { signal: giveUp.signal }).then(() => {
    throw new Error('a call never ended')
  })
  never.catch(() => {})
  return Promise.race([call, never]).finally(() => giveUp.abort())
}
