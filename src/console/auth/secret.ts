import { createHash, randomBytes } from 'node:crypto'

/** An unguessable secret: 256 bits, as text that needs no quoting anywhere. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * The hash of a secret, for storage. A fast hash is safe because the secret is random; a password needs a slow one.
 */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
