import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Tells whether an Authorization header carries the token, in a time that says nothing about either.
 * @param header as received; undefined when there was none
 */
export function hasBearerToken(header: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? ''
  return timingSafeEqual(digest(given), digest(token))
}

/** The comparison needs two texts of the same length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
