import { EventEmitter, once } from 'node:events'
import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { listening } from '../helpers/listening.ts'

/** A merchant's server for notifications: keeps what arrives, and answers as it is told. */
export async function startMerchant() {
  const arrived = new EventEmitter()
  const server = await listening(async (request, response) => {
    const body = await text(request)
    merchant.forms.push(Object.fromEntries(new URLSearchParams(body)))
    merchant.headers.push({ method: request.method, ...request.headers })
    merchant.answer(request, response)
    arrived.emit('received')
  })
  const merchant = {
    ...server,
    url: `${server.origin}/notify?merchant=1`,
    /** The forms received, oldest first. */
    forms: [] as Record<string, string>[],
    headers: [] as Record<string, unknown>[],
    /** The answer to the requests from now on. */
    answer: ((_request, response) => response.end('success')) as RequestListener,
    /** Waits until so many have come since the start. */
    async received(count: number): Promise<void> {
      while (merchant.forms.length < count) await once(arrived, 'received')
    },
  }
  return merchant
}
