import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from '../lib/database.ts'
import { goodCredentials } from './auth/sessions.ts'
import { Problem } from './problem.ts'

/* Server-sent events: what the streams of pages and those of programs have in common. */

/** Keeps proxies from closing a quiet stream. */
export const KEEP_ALIVE_MS = 20_000
export const KEEP_ALIVE = ': still here\n\n'
/** How long a stream lasts. The reader then opens it again. */
const STREAM_MS = 10 * 60_000

interface Reader {
  /** The user, or the token. */
  name: string
  credential: string
  since: number
}

/** The streams that a process has open, or is opening. */
export class Streams<More extends object> {
  readonly #pool: Pool
  readonly #limits: { most: number; ofOne: number }
  readonly #readers = new Map<FastifyReply, Reader & More>()

  /** @param limits how many there may be, and how many of one user */
  constructor(pool: Pool, limits: { most: number; ofOne: number }) {
    this.#pool = pool
    this.#limits = limits
  }

  get size(): number {
    return this.#readers.size
  }

  /** What is kept of each. */
  [Symbol.iterator](): Iterator<[FastifyReply, Reader & More]> {
    return this.#readers.entries()
  }

  has(reply: FastifyReply): boolean {
    return this.#readers.has(reply)
  }

  /**
   * Takes a place of the user, until the connection closes.
   * @returns what is kept of it; null if the caller has gone already
   * @throws Problem `too_many`
   */
  enter({ viewer, credential }: FastifyRequest, reply: FastifyReply, more: More): More | null {
    const name = viewer?.name ?? ''
    const own = [...this.#readers.values()].filter(reader => reader.name === name)
    if (this.size >= this.#limits.most || own.length >= this.#limits.ofOne)
      throw new Problem('too_many', '', { retryAfter: 30 })
    if (reply.raw.destroyed) return null
    const reader = { ...more, name, credential: credential ?? '', since: Date.now() }
    this.#readers.set(reply, reader)
    reply.raw.once('close', () => this.#readers.delete(reply))
    return reader
  }

  /**
   * Ends those that have lasted long enough, or whose session or token has ended.
   * @returns false if the database could not tell which have
   */
  async endOver(): Promise<boolean> {
    const looked = [...this.#readers]
    const good = await goodCredentials(
      this.#pool,
      looked.map(([, { credential }]) => credential),
    ).catch(() => null)
    for (const [reply, { credential, since }] of looked)
      if (Date.now() - since > STREAM_MS || good?.has(credential) === false) this.#end(reply)
    return good !== null
  }

  close(): void {
    for (const reply of [...this.#readers.keys()]) this.#end(reply)
  }

  #end(reply: FastifyReply): void {
    this.#readers.delete(reply)
    // One that is being opened finds its place gone.
    if (reply.raw.headersSent) reply.raw.end()
  }
}

/** Hangs up on a caller who has no place. */
export function dropStream(reply: FastifyReply): void {
  reply.hijack().raw.destroy()
}

/** Begins a stream. The frame has set its headers on the reply; from here on we write it ourselves. */
export function openStream(reply: FastifyReply): void {
  reply.hijack()
  const headers = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined)
  reply.raw.writeHead(200, {
    ...(Object.fromEntries(headers) as Record<string, string>),
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
  })
  reply.raw.write('retry: 3000\n\n')
}

/** Writes to a stream. One whose reader has stopped reading is closed; it reconnects by itself. */
export function writeStream({ raw }: FastifyReply, text: string): void {
  if (raw.writableLength > 65_536) raw.destroy()
  else raw.write(text)
}
