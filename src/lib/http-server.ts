import type { FastifyInstance } from 'fastify'
import { type Message, message } from '../texts/message.ts'

/** Why a server cannot listen: the port is taken, or the address is not allowed on this machine or to this user. */
export type ListenTrouble = 'PORT_TAKEN' | 'ADDRESS_REFUSED'

/**
 * Explains the error of a server that could not listen on the settings `<prefix>_HOST` and `<prefix>_PORT`.
 * @returns the trouble and one sentence that names the setting; null when the error is about something else
 */
export function listenTrouble(
  prefix: string,
  { host, port }: { host: string; port: number },
  cause: unknown,
): { trouble: ListenTrouble; what: Message } | null {
  const { code, syscall } = cause as { code?: string; syscall?: string }
  if (code === 'EADDRINUSE')
    return { trouble: 'PORT_TAKEN', what: message('said.listen_taken', { setting: `${prefix}_PORT`, port }) }
  if (code === 'EACCES')
    return {
      trouble: 'ADDRESS_REFUSED',
      what: message('said.listen_refused', { setting: `${prefix}_PORT`, port }),
    }
  if (syscall === 'listen' || syscall === 'getaddrinfo') {
    const values = { setting: `${prefix}_HOST`, host: JSON.stringify(host) }
    return { trouble: 'ADDRESS_REFUSED', what: message('said.listen_nowhere', values) }
  }
  return null
}

/** The address of a server, as a person on its machine would type it. */
export function listeningUrl(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Whether a host name or address is a loopback one, which no other machine can reach. */
export function isThisMachine(host: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(host)
}

/** Lets requests in flight end, for `graceMs` at most, and closes every connection. */
export async function closeServer(app: FastifyInstance, graceMs: number): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), graceMs)
  try {
    await app.close()
  } finally {
    clearTimeout(timer)
  }
}
