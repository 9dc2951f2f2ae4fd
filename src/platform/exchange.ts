import { addAbortListener } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Agent, Dispatcher } from 'undici'
import type { z } from 'zod'
import { maskText, maskTold } from '../directory/masking.ts'
import { storableJson } from '../lib/storable.ts'
import { shortened } from '../lib/text.ts'
import { isKnownWithoutEffect } from './codes.ts'
import { PlatformError, type PlatformFailure } from './errors.ts'
import { parseExactly, parseUnrounded } from './fields.ts'
import type { Operation } from './operation.ts'

/** One answer, whatever its status. */
export interface HttpAnswer {
  status: number
  /** By their names in lower case. */
  headers: Record<string, string | undefined>
  body: string
}

/** One request; always POST. */
export interface HttpRequest {
  /** Scheme, host and port. */
  origin: string
  /** Path and query string. */
  path: string
  headers: Record<string, string>
  body: string
}

/** No complete answer came. */
export class ExchangeError extends Error {
  readonly kind: 'timeout' | 'connection' | 'malformed' | 'aborted'
  /** False when not a byte of the request left this process, so that the platform cannot have seen it. */
  readonly sent: boolean

  constructor(kind: ExchangeError['kind'], sent: boolean, cause: unknown) {
    super(`No complete answer (${kind}).`, { cause })
    this.name = 'ExchangeError'
    this.kind = kind
    this.sent = sent
  }
}

export interface ExchangeLimits {
  /** In total: waiting for a connection, headers and body. */
  timeoutMs: number
  /** Of the body as transferred: nothing is decompressed. */
  maxAnswerBytes: number
}

/**
 * Sends one request and collects the whole answer. It uses undici's `dispatch`, the layer below `request`: only there can one
 * tell whether a failed request was sent at all. It also needs no stream per body.
 * @throws ExchangeError; of kind `malformed` for an answer that is too long, which is not read further
 */
export function exchange(
  agent: Agent,
  request: HttpRequest,
  limits: ExchangeLimits,
  signal: AbortSignal | undefined,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new ExchangeError('aborted', false, signal.reason))
    const handler = new AnswerCollector(resolve, reject, limits, signal)
    const { origin, path, headers, body } = request
    // undici's own timeouts are off: the collector's deadline covers them.
    agent.dispatch(
      { origin, path, method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 },
      handler,
    )
  })
}

class AnswerCollector implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: HttpAnswer) => void
  readonly #reject: (error: ExchangeError) => void
  readonly #abortListener: Disposable | undefined
  readonly #deadline: NodeJS.Timeout
  readonly #maxBytes: number
  #bytes = 0
  #controller: Dispatcher.DispatchController | null = null
  #failure: ExchangeError | null = null
  #status = 0
  #headers: HttpAnswer['headers'] = {}
  #chunk: Buffer | null = null
  #furtherChunks: Buffer[] = []

  constructor(
    resolve: (answer: HttpAnswer) => void,
    reject: (error: ExchangeError) => void,
    { timeoutMs, maxAnswerBytes }: ExchangeLimits,
    signal: AbortSignal | undefined,
  ) {
    this.#resolve = resolve
    this.#reject = reject
    this.#maxBytes = maxAnswerBytes
    this.#deadline = setTimeout(
      () => this.#fail('timeout', new Error(`no complete answer within ${timeoutMs} ms`)),
      timeoutMs,
    )
    this.#abortListener = signal && addAbortListener(signal, () => this.#fail('aborted', signal.reason))
  }

  /** The request is being sent. Until here it waited for a connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) controller.abort(this.#failure)
    else this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    // One that comes twice, from the platform and from a gateway, counts once.
    for (const [name, value] of Object.entries(headers))
      this.#headers[name] = Array.isArray(value) ? value[0] : value
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) this.#refuse()
    else if (this.#chunk === null) this.#chunk = chunk
    else this.#furtherChunks.push(chunk)
  }

  onResponseEnd(): void {
    if (this.#failure) return
    this.#release()
    const bytes = this.#chunk ?? Buffer.alloc(0)
    const whole = this.#furtherChunks.length === 0 ? bytes : Buffer.concat([bytes, ...this.#furtherChunks])
    this.#resolve({ status: this.#status, headers: this.#headers, body: whole.toString('utf8') })
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.#fail('connection', error)
  }

  #refuse(): void {
    this.#chunk = null
    this.#furtherChunks = []
    this.#fail('malformed', new Error(`the answer is longer than ${this.#maxBytes} bytes`))
  }

  #fail(kind: ExchangeError['kind'], cause: unknown): void {
    if (this.#failure) return
    this.#release()
    this.#failure = new ExchangeError(kind, this.#controller !== null, cause)
    this.#reject(this.#failure)
    this.#controller?.abort(this.#failure)
  }

  #release(): void {
    clearTimeout(this.#deadline)
    this.#abortListener?.[Symbol.dispose]()
  }
}

/**
 * HTTP statuses of a server that has not carried the call out: the request is refused as it stands, its sender is, or its size or
 * frequency. Others (408, 409, 499, …) may come after the platform has begun to carry it out.
 */
const REFUSALS = new Set([400, 401, 403, 404, 405, 411, 413, 414, 415, 429, 431])

/** How long to wait after too many calls when the platform does not say. */
const DEFAULT_WAIT_MS = 1000

/**
 * Reads the envelope (section 2.1) and its data.
 * @param sent the call's parameters, which a message may quote
 * @param now this process's time in milliseconds, for a `Retry-After` that is a date
 * @param rateLimitedCodes codes of the envelope that ask us to wait
 * @throws PlatformError of kind `http`, `malformed` or `business`
 */
export function readAnswer<Response extends z.ZodType>(
  operation: Operation<string, z.ZodObject, Response>,
  sent: Readonly<Record<string, string>>,
  answer: HttpAnswer,
  now: number,
  rateLimitedCodes: ReadonlySet<number>,
): z.output<Response> {
  if (answer.status !== 200) throw new PlatformError(httpFailure(operation, answer, now))
  const envelope = parseObject(storableJson(answer.body), operation.decimals ? parseExactly : parseUnrounded)
  const code = envelope?.code
  const isBare =
    operation.bareAnswer &&
    envelope !== null &&
    (envelope.data === undefined || (envelope.data === null && 'data_list' in envelope))
  if (code === 0 || (isBare && code === undefined)) {
    const data = operation.response.safeParse(isBare ? envelope : envelope?.data)
    if (data.success) return data.data
    throw malformed(operation.name, answer, unreadable(data.error))
  } else if (typeof code === 'number' && Number.isSafeInteger(code)) {
    const message = typeof envelope?.msg === 'string' ? envelope.msg : undefined
    throw new PlatformError({
      ...factsOf(operation.name, answer),
      kind: 'business',
      platformCode: code,
      platformMessage: message,
      maskedMessage: message && maskText(maskTold(message, sent)),
      retryAfterMs: rateLimitedCodes.has(code) ? DEFAULT_WAIT_MS : undefined,
      outcomeKnown: operation.idempotent || isKnownWithoutEffect(code, operation.name),
    })
  }
  throw malformed(operation.name, answer)
}

/** Without a cause: a parser's error quotes the body, which may hold personal data. */
export function malformed(operation: string, answer: HttpAnswer, fields?: string[]): PlatformError {
  const facts = factsOf(operation, answer)
  return new PlatformError({ ...facts, kind: 'malformed', unreadable: fields, outcomeKnown: false })
}

const MOST_NAMED = 5

/** Where an answer differs from its schema: the first place of each field, whichever row it is in. */
function unreadable({ issues }: z.ZodError): string[] {
  const places = new Map<string, string>()
  for (const { path } of issues) {
    const field = path.filter(step => typeof step === 'string').join('.')
    if (!places.has(field)) places.set(field, path.join('.') || 'data')
  }
  return [...places.values()].slice(0, MOST_NAMED)
}

function httpFailure(operation: Operation, answer: HttpAnswer, now: number): PlatformFailure {
  const { status, headers } = answer
  const advised = retryAfterMs(headers['retry-after'], headers.date, now)
  const wait = status === 429 ? (advised ?? DEFAULT_WAIT_MS) : status === 503 ? advised : undefined
  return {
    ...factsOf(operation.name, answer),
    kind: 'http',
    retryAfterMs: wait,
    // A gateway that gives up (5xx) may have passed the call on before; one that redirects or asks us to wait has not. Where
    // money moves we rely on refusals alone.
    outcomeKnown:
      REFUSALS.has(status) ||
      (operation.idempotent && (wait !== undefined || (status >= 300 && status < 400))),
  }
}

function factsOf(operation: string, answer: HttpAnswer) {
  return { operation, httpStatus: answer.status, traceId: traceIdOf(answer) }
}

/** Longer ids are cut: one is kept with every failure, and an index of cases takes no text of any length. */
const LONGEST_TRACE_ID = 200

/** The platform's id of the answered call. */
export function traceIdOf({ headers }: HttpAnswer): string | undefined {
  const id = headers['x-trace-id']?.replaceAll(/\p{Cc}/gu, '')
  return id === undefined ? undefined : shortened(id, LONGEST_TRACE_ID)
}

function parseObject(
  body: string,
  parse: (text: string) => unknown,
): { code?: unknown; msg?: unknown; data?: unknown } | null {
  try {
    return parse(body) as object
  } catch {
    return null
  }
}

/** Longer advice is cut: a wrong header must not silence dirsync for days, and asking once an hour does no harm. */
const LONGEST_MS = 3_600_000

/**
 * Milliseconds that a `Retry-After` header asks to wait: seconds, perhaps with a fraction, or an HTTP date, which is compared
 * with the answer's own `Date` so that our clock does not matter. Undefined when there is none that can be read.
 */
export function retryAfterMs(
  header: string | undefined,
  dateHeader: string | undefined,
  now: number,
): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), LONGEST_MS)
  // Without a time of day it is no date, whatever Date.parse makes of it: "5, 5" would be a day of 2001.
  const until = /\d:\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(until)) return undefined
  const serverNow = Date.parse(dateHeader ?? '')
  const wait = until - (Number.isNaN(serverNow) ? now : serverNow)
  return Math.min(Math.max(wait, 0), LONGEST_MS)
}
