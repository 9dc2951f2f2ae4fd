import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that a system gives to outgoing connections, so that none takes one between a stop and a start. */
const FIRST = 12_000
const COUNT = 18_000

/** A port of 127.0.0.1 that nothing uses, and that stays free for a server that is started there again. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    const server = createServer().listen({ port, host: '127.0.0.1', exclusive: true })
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error('No port of 127.0.0.1 is free.')
}
