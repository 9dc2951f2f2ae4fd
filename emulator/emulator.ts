import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CallHandler, JSON_TYPE } from './call-handler.ts'
import { CallLog, Stats } from './call-log.ts'
import { Control } from './control.ts'
import { HttpError } from './errors.ts'
import { Faults } from './faults.ts'
import { OPERATIONS } from './operations/index.ts'
import { Platform, type PlatformSettings } from './platform.ts'
import { applySeed } from './seed.ts'

/** Longer than clients keep an idle connection, so that it is never the emulator that closes one under a call. */
const KEEP_ALIVE_MS = 120_000
/** Far more than a seed of the largest size takes on the same machine. */
const TIMEOUT_MS = 30_000

export interface EmulatorOptions extends PlatformSettings {
  /** Default 0: a free one. */
  port?: number | undefined
  /** Default 127.0.0.1. */
  host?: string | undefined
  /** What an empty platform holds at first, see `applySeed`; left alone when `data` holds anything already. */
  seed?: object | undefined
  /** How soon a request has to arrive, headers and body, and an answer has to be read. Default 30,000. */
  timeoutMs?: number | undefined
}

export interface Emulator {
  /** Base address of the operations, without a trailing slash. */
  url: string
  port: number
  /** Whether `data` held a state already, which any seed left alone. */
  keptState: boolean
  /** Ends every connection and closes the state; may be called more than once. */
  close(): Promise<void>
}

/**
 * Starts the stand-alone platform: the operations of the specification, and the control interface described at
 * `Control`, on one port. Rejects with `ControlError` for a wrong seed, and with the system's error when the
 * port is taken or the file cannot be used.
 */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const platform = new Platform(options)
  const faults = new Faults()
  const log = new CallLog()
  const stats = new Stats()
  const calls = new CallHandler(platform, faults, log, stats)
  const control = new Control(platform, faults, log, stats)
  const closing = new AbortController()
  const { timeoutMs = TIMEOUT_MS } = options
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: timeoutMs,
    requestTimeout: timeoutMs,
    connectionsCheckingInterval: timeoutMs / 10,
  }).setTimeout(timeoutMs)
  server.on('request', requestListener(platform, calls, control, closing.signal))
  const host = options.host ?? '127.0.0.1'
  const keptState = !platform.database.isEmpty()
  try {
    if (options.seed !== undefined && !keptState) applySeed(platform, options.seed)
    server.listen(options.port ?? 0, host)
    await once(server, 'listening')
  } catch (error) {
    platform.close()
    throw error
  }

  platform.notifier.wake()
  let closed: Promise<void> | undefined
  const close = async () => {
    const ended = once(server, 'close')
    server.close()
    closing.abort()
    server.closeAllConnections()
    await ended
    platform.close()
  }
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    keptState,
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

const CONTROL_PREFIX = '/_emulator/'
const MAX_CALL_BYTES = 1024 * 1024
const MAX_CONTROL_BYTES = 64 * 1024 * 1024

/**
 * Answers HTTP requests: control requests below `/_emulator/`, and the operations, which take POST only (405).
 * A path that is no operation gets 404, a body over 1 MiB 413; neither counts as a call, so neither is in the call log.
 * Every answer has `x-trace-id` and, by the platform's clock, `Date`.
 */
function requestListener(
  platform: Platform,
  calls: CallHandler,
  control: Control,
  closing: AbortSignal,
): RequestListener {
  const newTraceId = traceIds()

  return async (request, response) => {
    response.sendDate = false
    // Called as well during a planted latency, which may be longer.
    response.on('timeout', socket => {
      if (socket.writableLength > 0) socket.destroy()
    })
    const traceId = newTraceId()
    const send = (
      status: number,
      contentType: string,
      body: string,
      headers: Record<string, string> = {},
    ): void => {
      const length = Buffer.byteLength(body)
      const date = platform.clock.httpDate()
      response.writeHead(status, {
        'content-type': contentType,
        'content-length': length,
        'x-trace-id': traceId,
        date,
        ...headers,
      })
      response.end(body)
    }
    try {
      const { path, queryText } = splitUrl(request.url ?? '')
      if (path.startsWith(CONTROL_PREFIX)) {
        const body = await readControlBody(request)
        const query = new URLSearchParams(queryText)
        const method = request.method ?? ''
        const answer = control.handle({ method, path: path.slice(CONTROL_PREFIX.length), query, body })
        send(answer.status, JSON_TYPE, JSON.stringify(answer.value))
        return
      }
      const operation = OPERATIONS.get(path.slice(1))
      if (operation === undefined) throw new HttpError(404, 'There is no such operation.')
      if (request.method !== 'POST')
        throw new HttpError(405, 'Every operation takes POST.', { allow: 'POST' })
      const reply = await calls.handle({
        operation,
        queryText,
        contentType: request.headers['content-type'],
        body: await readBody(request, MAX_CALL_BYTES),
        traceId,
        closing,
        isWaiting: () => !response.destroyed,
        onGone: callback => response.once('close', callback),
      })
      if (reply.kind === 'answer') send(reply.status, reply.contentType, reply.body, reply.headers)
      else dropConnection(request, reply.kind)
    } catch (error) {
      answerError(error, response, closing, send)
    }
  }
}

function answerError(
  error: unknown,
  response: ServerResponse,
  closing: AbortSignal,
  send: (status: number, contentType: string, body: string, headers?: Record<string, string>) => void,
): void {
  // There is no one to answer: the caller has gone, or the emulator is closing its connections.
  if (response.destroyed || closing.aborted) return
  if (error instanceof HttpError) {
    send(error.status, 'text/plain; charset=utf-8', error.message, error.headers)
    return
  }
  console.error(error)
  send(500, 'text/plain; charset=utf-8', 'The emulator has a defect; its error output says which.')
}

function dropConnection(request: IncomingMessage, kind: 'reset' | 'lost'): void {
  if (kind === 'reset') request.socket.resetAndDestroy()
  else request.socket.destroy()
}

async function readControlBody(request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request, MAX_CONTROL_BYTES)
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new HttpError(400, 'The body is not valid JSON.')
  }
}

function splitUrl(url: string): { path: string; queryText: string } {
  const mark = url.indexOf('?')
  return mark < 0
    ? { path: url, queryText: '' }
    : { path: url.slice(0, mark), queryText: url.slice(mark + 1) }
}

/** Ids that are unique among emulators, too, at the price of a counter. */
function traceIds(): () => string {
  const prefix = randomBytes(6).toString('hex')
  let count = 0
  return () => {
    count += 1
    return `${prefix}${count.toString(16).padStart(8, '0')}`
  }
}

/** Beyond the limit this much is read and thrown away, so that the caller gets to hear why; then it is cut off. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024

/**
 * Reads a body of at most `limit` bytes. Rejects with `HttpError` 413 for a longer one, without keeping it, and
 * with a plain error when the caller is gone before its end.
 */
function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else chunks = []
      if (size > limit + MAX_DISCARDED_BYTES) request.destroy()
    })
    request.on('end', () => {
      if (size <= limit) resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
      else reject(new HttpError(413, `The body is longer than ${limit} bytes.`, { connection: 'close' }))
    })
    request.on('error', reject)
    request.on('close', () => reject(new Error('The caller left before the end of the request.')))
  })
}
