import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { freePort } from '../helpers/free-port.ts'

/** Stands between a client and its store, and fails as networks do. */
interface TcpProxy extends AsyncDisposable {
  /** The store's URL by way of the proxy. */
  readonly url: string
  /** Resets every connection and refuses new ones. */
  refuse(): Promise<void>
  /** Ends every connection in good order, in the middle of whatever the store was saying. */
  hangUp(): void
  /**
   * Leaves the present connections open without passing a byte on ever again; new ones work. A client that closes its own
   * is gone for the store, too, but no client hears what becomes of the store's.
   */
  silence(): void
  /** Passes nothing on any more, neither on the present connections nor on new ones, which it takes all the same. */
  hang(): void
  /** Once a client has sent this text, nothing of what its store answers comes back on that connection. */
  loseAnswersAfter(text: string): void
  /** Has new connections reach another store. */
  leadTo(target: string): void
  /** Takes connections again. */
  accept(): Promise<void>
}

export async function startTcpProxy(target: string): Promise<TcpProxy> {
  let { hostname, port } = new URL(target)
  const pairs = new Set<[Socket, Socket]>()
  let fatal: string | null = null
  let hangs = false
  const held = new Set<Socket>()
  const server = createServer(client => {
    if (hangs) {
      held.add(client.on('error', () => client.destroy()))
      return
    }
    const store = connect(Number(port), hostname)
    const pair: [Socket, Socket] = [client, store]
    pairs.add(pair)
    const drop = () => {
      pairs.delete(pair)
      client.destroy()
      store.destroy()
    }
    for (const socket of pair) socket.on('error', drop).on('close', drop)
    client.on('data', sent => {
      if (fatal === null || !sent.includes(fatal)) return
      fatal = null
      store.unpipe(client).resume()
    })
    client.pipe(store).pipe(client)
  })
  const listen = async (at: number) => {
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const ownPort = await listen(await freePort())
  const url = new URL(target)
  url.host = `127.0.0.1:${ownPort}`
  const refuse = async () => {
    const closed = server.listening ? once(server, 'close') : undefined
    server.close()
    for (const client of [...[...pairs].map(([client]) => client), ...held]) client.resetAndDestroy()
    await closed
  }
  return {
    url: url.href,
    refuse,
    hangUp() {
      for (const [client, store] of pairs) {
        store.unpipe(client).pause()
        client.end()
      }
    },
    hang() {
      hangs = true
      for (const pair of pairs) for (const socket of pair) socket.unpipe().pause()
    },
    silence() {
      for (const [client, store] of pairs) {
        client.unpipe(store).resume()
        store.unpipe(client).pause()
      }
    },
    loseAnswersAfter(text) {
      fatal = text
    },
    leadTo(next) {
      ;({ hostname, port } = new URL(next))
    },
    accept: async () => {
      await listen(ownPort)
    },
    [Symbol.asyncDispose]: refuse,
  }
}
