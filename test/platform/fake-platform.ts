import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One request as the fake platform saw it. */
interface SeenRequest {
  operation: string
  query: URLSearchParams
  form: URLSearchParams
  body: string
  contentType: string | undefined
}

export type Reply = (response: ServerResponse, request: SeenRequest) => void

export const APP_ID = 'app0123456789abcdef0123456789abc'
export const APP_SECRET = 'secret-of-the-application'

/** A reply with the envelope of section 2.1. */
export function envelope(
  code: number,
  msg: string,
  data: unknown,
  headers: Record<string, string> = {},
): Reply {
  return response => response.writeHead(200, headers).end(JSON.stringify({ code, msg, data }))
}

export const ok = (data: unknown) => envelope(0, 'OK', data)

/** A reply of the transport. */
export function status(
  code: number,
  headers: Record<string, string> = {},
  body = '<html>sorry</html>',
): Reply {
  return response => response.writeHead(code, headers).end(body)
}

/** Breaks the connection after the request was read. */
export const reset: Reply = response => response.socket?.resetAndDestroy()

/** Never answers. */
export const silence: Reply = () => undefined

/**
 * A platform that answers what the test tells it to: the next planned reply of the operation, else `ok` with nothing.
 * Tokens are `token-1`, `token-2`, … unless replies for `token/create` are planned.
 */
export class FakePlatform implements AsyncDisposable {
  readonly requests: SeenRequest[] = []
  readonly #planned = new Map<string, Reply[]>()
  readonly #server: Server
  #tokens = 0
  #seen: (() => void)[] = []

  private constructor() {
    this.#server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      const url = new URL(request.url ?? '', 'http://platform')
      const seen: SeenRequest = {
        operation: url.pathname.slice(1),
        query: url.searchParams,
        form: new URLSearchParams(body),
        body,
        contentType: request.headers['content-type'],
      }
      this.requests.push(seen)
      for (const notify of this.#seen.splice(0)) notify()
      this.#replyTo(seen)(response, seen)
    })
  }

  static async start(): Promise<FakePlatform> {
    const platform = new FakePlatform()
    platform.#server.listen(0, '127.0.0.1')
    await once(platform.#server, 'listening')
    return platform
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Plans the replies to the next requests of an operation. */
  plan(operation: string, ...replies: Reply[]): void {
    this.#planned.set(operation, [...(this.#planned.get(operation) ?? []), ...replies])
  }

  of(operation: string): SeenRequest[] {
    return this.requests.filter(request => request.operation === operation)
  }

  /** Resolves when a request of the operation has come. */
  async seen(operation: string): Promise<void> {
    while (this.of(operation).length === 0) await new Promise<void>(resolve => this.#seen.push(resolve))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }

  #replyTo({ operation }: SeenRequest): Reply {
    const planned = this.#planned.get(operation)?.shift()
    if (planned) return planned
    if (operation !== 'token/create') return ok(null)
    this.#tokens += 1
    return ok({ access_token: `token-${this.#tokens}`, expires_in: 7200 })
  }
}
