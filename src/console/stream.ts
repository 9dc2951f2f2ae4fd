import type { FastifyReply } from 'fastify'

/* Server-sent events: what the streams of pages and those of programs have in common. */

/** Keeps proxies from closing a quiet stream. */
export const KEEP_ALIVE_MS = 20_000
export const KEEP_ALIVE = ': still here\n\n'
/** How long a stream lasts. The reader then opens it again, if its user still may. */
export const STREAM_MS = 10 * 60_000

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
