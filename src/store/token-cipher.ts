import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals the access token with a key that only who knows the application secret can derive. */
export class TokenCipher {
  readonly #key: Buffer
  readonly #context: Buffer

  /** @param context what the token belongs to; a token sealed for one context cannot be opened for another */
  constructor(appSecret: string, context: string) {
    this.#key = Buffer.from(hkdfSync('sha256', appSecret, context, 'dirsync platform token', 32))
    this.#context = Buffer.from(context)
  }

  /** Nonce, tag and encrypted text in one. */
  seal(token: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(this.#context)
    const text = Buffer.concat([cipher.update(token, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), text])
  }

  /** The token, or null when it was sealed with another secret or is damaged. */
  open(sealed: Buffer): string | null {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
    const textStart = NONCE_BYTES + TAG_BYTES
    const decipher = createDecipheriv(ALGORITHM, this.#key, sealed.subarray(0, NONCE_BYTES))
      .setAAD(this.#context)
      .setAuthTag(sealed.subarray(NONCE_BYTES, textStart))
    const text = decipher.update(sealed.subarray(textStart))
    try {
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    } catch {
      return null // the tag does not fit: not our key
    }
  }
}
