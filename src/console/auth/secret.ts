import { createHash, randomBytes } from 'node:crypto'

/** A secret that nobody can guess: 256 bits, as text that needs no quoting anywhere. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** What is kept of a secret. It is random enough that a fast hash is safe; a password needs a slow one. */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
