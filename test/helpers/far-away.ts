import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A server by way of a network that takes its time. @param milliseconds of one direction */
export async function startFarAway(
  target: string,
  milliseconds: number,
): Promise<AsyncDisposable & { url: string }> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const relay = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.setNoDelay(true)
    from.on('data', chunk => setTimeout(() => to.writable && to.write(chunk), milliseconds))
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      setTimeout(() => to.end(), milliseconds)
    })
  }
  const server = createServer(near => {
    const far = connect(Number(port), hostname)
    relay(near, far)
    relay(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
