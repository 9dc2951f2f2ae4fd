import type { Logger } from 'pino'
import type { CreatedToken, PlatformToken, TokenStore } from '../core/platform-token.ts'

/** Share of a token's life after which it is renewed; the published clients do the same. */
const USED_SHARE = 0.8

/** How long a token past its share is used on before the next try to renew it, when renewing failed. */
const RENEW_AGAIN_MS = 60_000

/**
 * The process's view of the shared token: in memory while it is fresh, else re-read from the store, else renewed.
 * However many calls want one at the same moment, the store is asked once.
 */
export class TokenKeeper {
  readonly #store: TokenStore
  readonly #create: () => Promise<CreatedToken>
  readonly #clock: () => number
  readonly #log: Logger | undefined
  #token: PlatformToken | null = null
  #renewAt = 0
  #renewal: Promise<string> | null = null
  #refused: string | null = null
  #dropping: Promise<void> = Promise.resolve()

  constructor(options: {
    store: TokenStore
    create: () => Promise<CreatedToken>
    clock: () => number
    log: Logger | undefined
  }) {
    this.#store = options.store
    this.#create = options.create
    this.#clock = options.clock
    this.#log = options.log
  }

  /** The token to use now; at once when it is in memory and fresh. */
  current(): string | Promise<string> {
    if (this.#token !== null && this.#clock() < this.#renewAt) return this.#token.accessToken
    this.#renewal ??= this.#load().finally(() => {
      this.#renewal = null
    })
    return this.#renewal
  }

  /** Forgets exactly this token, here and in the store, because the platform refused it. */
  refuse(accessToken: string): Promise<void> {
    if (this.#refused !== accessToken) {
      this.#refused = accessToken
      if (this.#token?.accessToken === accessToken) this.#token = null
      this.#dropping = this.#store.drop(accessToken)
    }
    return this.#dropping
  }

  /** Creates a new token whatever the present one is like. */
  async renew(): Promise<PlatformToken> {
    const token = await this.#store.refresh(() => false, this.#create)
    this.#hold(token, renewalTime(token))
    return token
  }

  async #load(): Promise<string> {
    const usable = (token: PlatformToken | null): boolean =>
      token !== null && token.accessToken !== this.#refused && this.#clock() < renewalTime(token)
    const stored = await this.#store.read()
    if (stored !== null && usable(stored)) return this.#hold(stored, renewalTime(stored))
    try {
      const token = await this.#store.refresh(usable, this.#create)
      return this.#hold(token, renewalTime(token))
    } catch (error) {
      const now = this.#clock()
      const isAlive =
        stored !== null && stored.accessToken !== this.#refused && now < stored.expiresAt.getTime()
      if (!isAlive) throw error
      this.#log?.warn({ err: error }, 'the access token could not be renewed; the present one is used on')
      return this.#hold(stored, Math.min(now + RENEW_AGAIN_MS, stored.expiresAt.getTime()))
    }
  }

  #hold(token: PlatformToken, renewAt: number): string {
    this.#token = token
    this.#renewAt = renewAt
    return token.accessToken
  }
}

function renewalTime({ createdAt, expiresAt }: PlatformToken): number {
  return createdAt.getTime() + (expiresAt.getTime() - createdAt.getTime()) * USED_SHARE
}
