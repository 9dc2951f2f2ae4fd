import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that a system gives to outgoing connections, so that none takes one between a stop and a start. */
const FIRST = 12_000
const COUNT = 18_000
/** Test files that run at the same time take different ports. */
const SHARES = 16
const OWN = Number(process.env.VITEST_POOL_ID ?? 0) % SHARES
const given = new Set<number>()

/** A port of 127.0.0.1 that nothing uses, and that stays free for a server that is started there again. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = FIRST + Math.floor(Math.random() * (COUNT / SHARES)) * SHARES + OWN
    if (given.has(port)) continue
    const server = createServer().listen({ port, host: '127.0.0.1', exclusive: true })
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    given.add(port)
    return port
  }
  throw new Error('No port of 127.0.0.1 is free.')
}
