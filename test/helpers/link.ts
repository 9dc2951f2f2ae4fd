import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long a server goes on with a client of which it hears nothing: what dirsync asks PostgreSQL for. */
const SERVER_NOTICES_MS = 15_000

/** The network between one process and one server: it can slow down, fall silent and cut, and be well again. */
export interface Link extends AsyncDisposable {
  /** The server's address by way of the link. */
  readonly url: string
  /** Ports of the machine from which the server sees the link's connections. */
  ports(): number[]
  /** How long whatever is sent takes, in each direction. */
  delay(milliseconds: number): void
  /** Nothing arrives any more, not even the end of a connection, until `pass`. A server gives up its silent clients. */
  silence(): void
  /** All goes through again, beginning with what was sent meanwhile. */
  pass(): void
  /** Resets all connections. New ones work. */
  cut(): void
}

export async function startLink(target: string): Promise<Link> {
  const { hostname, port } = new URL(target)
  const pairs = new Set<{ client: Socket; store: Socket }>()
  let delayMs = 0
  let whenHeard = Promise.resolve()
  let hear = () => {}
  let noticing: NodeJS.Timeout | undefined

  /** Hands on what one side says, in its order: bytes, and that it has ended. */
  const relay = (from: Socket, to: Socket) => {
    let last = Promise.resolve()
    const then = (act: () => void) => {
      const sentAt = performance.now()
      last = last.then(async () => {
        const left = sentAt + delayMs - performance.now()
        if (left > 1) await sleep(left)
        await whenHeard
        act()
      })
    }
    from.setNoDelay(true)
    from.on('data', chunk => then(() => void (to.writable && to.write(chunk))))
    from.on('error', () => {})
    from.on('close', () => then(() => to.destroy()))
  }
  const server = createServer(client => {
    const store = connect(Number(port), hostname)
    const pair = { client, store }
    pairs.add(pair)
    store.on('close', () => pairs.delete(pair))
    relay(client, store)
    relay(store, client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`

  const pass = () => {
    clearTimeout(noticing)
    delayMs = 0
    hear()
  }
  const cut = () => {
    for (const { client, store } of pairs) {
      client.resetAndDestroy()
      store.resetAndDestroy()
    }
  }
  return {
    url: url.href,
    ports: () => [...pairs].flatMap(({ store }) => store.localPort ?? []),
    delay(milliseconds) {
      delayMs = milliseconds
    },
    silence() {
      const { promise, resolve } = Promise.withResolvers<void>()
      whenHeard = promise
      hear = resolve
      const silent = [...pairs]
      noticing = setTimeout(() => {
        for (const { store } of silent) store.destroy()
      }, SERVER_NOTICES_MS)
    },
    pass,
    cut,
    async [Symbol.asyncDispose]() {
      pass()
      server.close()
      cut()
    },
  }
}
