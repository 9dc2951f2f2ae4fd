import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** `wanted` when nothing listens there on 127.0.0.1, else some other free port. */
export async function freePort(wanted?: number): Promise<number> {
  const server = createServer()
  server.listen({ port: wanted ?? 0, host: '127.0.0.1', exclusive: true })
  try {
    await once(server, 'listening')
  } catch {
    return await freePort() // taken, or not permitted
  }
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
