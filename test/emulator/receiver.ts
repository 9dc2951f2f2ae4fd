import { EventEmitter, once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A merchant's server for notifications: keeps what arrives, and answers as it is told. */
export class Receiver extends EventEmitter implements AsyncDisposable {
  readonly #server: Server
  /** The forms received, oldest first. */
  readonly forms: Record<string, string>[] = []
  readonly headers: Record<string, unknown>[] = []
  /** The answer to the requests from now on. */
  answer: RequestListener = (_request, response) => response.end('success')

  private constructor() {
    super()
    this.#server = createServer(async (request, response) => {
      const body = await text(request)
      this.forms.push(Object.fromEntries(new URLSearchParams(body)))
      this.headers.push({ method: request.method, ...request.headers })
      this.answer(request, response)
      this.emit('received')
    })
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver()
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/notify?merchant=1`
  }

  /** Waits until so many have come since the start. */
  async received(count: number): Promise<void> {
    while (this.forms.length < count) await once(this, 'received')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}
