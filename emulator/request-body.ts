import type { IncomingMessage } from 'node:http'
import { HttpError } from './codes.ts'

/** Beyond the limit this much is read and thrown away, so that the caller gets to hear why; then it is cut off. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024

/**
 * Reads a body of at most `limit` bytes. Rejects with `HttpError` 413 for a longer one, without keeping it, and
 * with a plain error when the caller is gone before its end.
 */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else chunks = []
      if (size > limit + MAX_DISCARDED_BYTES) request.destroy()
    })
    request.on('end', () => {
      if (size <= limit) resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
      else reject(new HttpError(413, `The body is longer than ${limit} bytes.`, { connection: 'close' }))
    })
    request.on('error', reject)
    request.on('close', () => reject(new Error('The caller left before the end of the request.')))
  })
}
