import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { realpath } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { EmbeddedError } from './embedded-error.ts'

const LOCK_TIMEOUT_MS = 120_000

/**
 * Runs `action` while no other process of this machine runs one for the same folder.
 *
 * The lock is a listening socket in Linux' abstract namespace: the kernel releases it with the process, so that
 * nothing is left behind by `kill -9`, and whoever waits learns of the release at once.
 *
 * @throws EmbeddedError `EMBEDDED_LOCK_TIMEOUT` when the lock is not free within two minutes
 */
export async function withFolderLock<T>(folder: string, action: () => Promise<T>): Promise<T> {
  const identity = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
  await using _lock = await acquire(`\0dirsync-${identity}`, folder)
  return await action()
}

async function acquire(name: string, folder: string): Promise<AsyncDisposable> {
  const signal = AbortSignal.timeout(LOCK_TIMEOUT_MS)
  for (;;) {
    const server = await listen(name)
    if (server) return { [Symbol.asyncDispose]: () => close(server) }
    await released(name, signal)
    if (signal.aborted) {
      throw new EmbeddedError(
        'EMBEDDED_LOCK_TIMEOUT',
        `Another process has been starting or stopping ${folder} for two minutes: end it and try again.`,
      )
    }
  }
}

async function listen(name: string): Promise<Server | null> {
  const server = createServer()
  server.listen({ path: name, exclusive: true })
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null
    throw error
  }
  server.on('connection', socket => {
    socket.on('error', () => socket.destroy())
    server.once('release', () => socket.destroy())
  })
  server.setMaxListeners(0)
  return server
}

/** Resolves when the holder's end of the connection goes away, which is when the lock may be tried again. */
function released(name: string, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const socket = connect({ path: name })
    const give = () => socket.destroy()
    signal.addEventListener('abort', give, { once: true })
    socket.resume()
    // An error (nobody listens any more) is followed by 'close' as well.
    socket.on('error', give)
    socket.on('close', () => {
      signal.removeEventListener('abort', give)
      resolve()
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.emit('release')
  })
}
