import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** HR by way of a relay. Once told to, it keeps all answers back until two connections wait for one; it counts what was asked. */
export async function startGate(
  target: string,
): Promise<AsyncDisposable & { url: string; hold(): void; asked(text: string): number }> {
  const { hostname, port } = new URL(target)
  const asking = new Set<Socket>()
  const kept: (() => void)[] = []
  let isHeld = false
  let questions = ''
  const release = () => {
    isHeld = false
    for (const pass of kept.splice(0)) pass()
  }
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const store = connect(Number(port), hostname)
    for (const socket of [client, store]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => [client, store].map(one => one.destroy()))
    }
    client.on('data', question => {
      asking.add(client)
      questions += question.toString('latin1')
      store.write(question)
      if (asking.size > 1) release()
    })
    store.on('data', answer => {
      const pass = () => {
        asking.delete(client)
        client.write(answer)
      }
      if (isHeld) kept.push(pass)
      else pass()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    hold() {
      asking.clear()
      isHeld = true
    },
    /** How often a text was sent to HR so far. */
    asked: text => questions.split(text).length - 1,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
