import type { IncomingHttpHeaders } from 'node:http'
import type { Agent, Dispatcher } from 'undici'

/** One answer, whatever its status. */
export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
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

/** How far an exchange may go. */
export interface ExchangeLimits {
  /** For everything: waiting for a connection, headers and body. */
  timeoutMs: number
  /** Of the body, as it comes over the wire: nothing is unpacked. */
  maxAnswerBytes: number
}

/**
 * Sends one request and collects the whole answer. It stands on `dispatch`, the floor below `request`: that floor alone
 * tells whether a request that failed was sent at all, and without a stream per body it is the shorter way, too.
 * @throws ExchangeError; of kind `malformed` for an answer that is too long, of which no more is read
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
    // Time-outs of its own are off: the collector's deadline covers them.
    agent.dispatch(
      { origin, path, method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 },
      handler,
    )
  })
}

class AnswerCollector implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: HttpAnswer) => void
  readonly #reject: (error: ExchangeError) => void
  readonly #signal: AbortSignal | undefined
  readonly #deadline: NodeJS.Timeout
  readonly #maxBytes: number
  #bytes = 0
  #controller: Dispatcher.DispatchController | null = null
  #failure: ExchangeError | null = null
  #status = 0
  #headers: IncomingHttpHeaders = {}
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
    this.#signal = signal
    this.#deadline = setTimeout(
      () => this.#fail('timeout', new Error(`no complete answer within ${timeoutMs} ms`)),
      timeoutMs,
    )
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** The request is on its way. Until here it waited for a connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) controller.abort(this.#failure)
    else this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#headers = headers
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

  #onAbort = (): void => this.#fail('aborted', this.#signal?.reason)

  #fail(kind: ExchangeError['kind'], cause: unknown): void {
    if (this.#failure) return
    this.#release()
    this.#failure = new ExchangeError(kind, this.#controller !== null, cause)
    this.#reject(this.#failure)
    this.#controller?.abort(this.#failure)
  }

  #release(): void {
    clearTimeout(this.#deadline)
    this.#signal?.removeEventListener('abort', this.#onAbort)
  }
}
