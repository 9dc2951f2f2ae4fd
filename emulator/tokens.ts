import { randomBytes } from 'node:crypto'
import type { StatementSync } from 'node:sqlite'
import type { Clock } from './clock.ts'
import { BusinessError } from './codes.ts'
import type { Database } from './database.ts'

/** The tokens given out. A new one leaves the earlier ones valid until they expire. */
export class Tokens {
  readonly #find: StatementSync
  readonly #put: StatementSync
  readonly #expire: StatementSync
  readonly #creations: StatementSync
  readonly #clock: Clock
  readonly #lifetimeSeconds: number

  constructor({ sqlite }: Database, clock: Clock, lifetimeSeconds: number) {
    this.#find = sqlite.prepare('select expires_at from tokens where access_token = ?')
    this.#put = sqlite.prepare('insert into tokens values (?, ?, ?)')
    this.#expire = sqlite.prepare('update tokens set expires_at = ? where expires_at > ?')
    this.#creations = sqlite.prepare('select created_at from tokens where created_at > ? order by created_at')
    this.#clock = clock
    this.#lifetimeSeconds = lifetimeSeconds
  }

  create(): { access_token: string; expires_in: number } {
    const accessToken = randomBytes(16).toString('hex')
    const now = this.#clock.now()
    this.#put.run(accessToken, now, now + this.#lifetimeSeconds * 1000)
    return { access_token: accessToken, expires_in: this.#lifetimeSeconds }
  }

  /** The whole seconds for which a token is still valid; throws 1000210004 when it is not (or unknown). */
  require(accessToken: string): number {
    const row = this.#find.get(accessToken)
    const left = row === undefined ? 0 : (row.expires_at as number) - this.#clock.now()
    if (left <= 0) throw new BusinessError('token')
    return Math.floor(left / 1000)
  }

  /** Ends every token that is valid now; returns how many those were. */
  expireAll(): number {
    const now = this.#clock.now()
    return Number(this.#expire.run(now, now).changes)
  }

  /** When the tokens of the last `windowMs` milliseconds were created, in order. */
  creations(windowMs: number): number[] {
    return this.#creations.all(this.#clock.now() - windowMs).map(row => row.created_at as number)
  }
}
