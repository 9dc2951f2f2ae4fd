import type { Logger } from 'pino'

/** An access token of the platform (section 2.2) and its life, in this process's time. */
export interface PlatformToken {
  accessToken: string
  createdAt: Date
  expiresAt: Date
}

/** The answer of token creation: the token and its validity in seconds. */
export interface CreatedToken {
  accessToken: string
  expiresIn: number
}

/** The store of the access token, shared by all users of the same application. */
export interface TokenStore {
  /** The current token, or null when there is none that can be read. */
  read(): Promise<PlatformToken | null>
  /**
   * Gets a token, creating one only when the stored one will not do. Concurrent callers wait and get the same new token. A
   * creation is counted before it is tried.
   * @param usable whether the stored token will do; false for null, which a store may pass where none is stored
   * @throws TokenFuseError when the hour's creations are used up; other errors reach whoever makes a call as they are
   */
  refresh(
    usable: (token: PlatformToken | null) => boolean,
    create: () => Promise<CreatedToken>,
  ): Promise<PlatformToken>
  /** Deletes exactly this token; does nothing when another one is stored by now. */
  drop(accessToken: string): Promise<void>
}

/** Creations permitted in any hour. The platform permits 60 (section 8); the rest is left for other clients and people. */
export const TOKEN_CREATIONS_PER_HOUR = 50

export const CREATION_WINDOW_MS = 3_600_000

/** Too many tokens were created in the last hour; no further one was requested. */
export class TokenFuseError extends Error {
  readonly code = 'TOKEN_FUSE'
  /** Milliseconds until the next creation is permitted. */
  readonly retryAfterMs: number

  constructor(retryAfterMs: number) {
    super(
      `${TOKEN_CREATIONS_PER_HOUR} access tokens were created within an hour, which is dirsync's limit: ` +
        'find out who invalidates them (a second system with the same application id?).',
    )
    this.name = 'TokenFuseError'
    this.retryAfterMs = retryAfterMs
  }
}

/** Share of a token's life after which it is renewed; the published clients do the same. */
const USED_SHARE = 0.8

/**
 * How old at least a token that the platform has issued again is before a refusal has it created once more: a node of the platform
 * may go on refusing it. All processes together then create 48 an hour, which the fuse permits.
 */
const ISSUED_AGAIN_MS = 75_000

/** Moments of a creation, as read from a store at different times, differ by less. */
const SAME_CREATION_MS = 1000

/** How long at least to use a token past its share, when renewing failed, before the next try. */
const RENEW_AGAIN_MS = 60_000

/**
 * The process's view of the shared token: cached in memory while it is fresh, then read from the store again, then renewed.
 * Concurrent requests query the store once.
 */
export class TokenKeeper {
  readonly #store: TokenStore
  readonly #create: () => Promise<CreatedToken>
  readonly #clock: () => number
  readonly #log: Logger | undefined
  #token: PlatformToken | null = null
  #renewAt = 0
  #renewal: Promise<string> | null = null
  #refused: PlatformToken | null = null

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

  /** The latest token, whether it is still good or not; null: it has not had any. */
  get known(): string | null {
    return this.#token?.accessToken ?? null
  }

  /** Ends the use of exactly this token, here and in the store, because the platform refused it. */
  async refuse(accessToken: string): Promise<void> {
    const held = this.#token
    if (held?.accessToken !== accessToken) return
    this.#token = null
    const isIssuedAgain = accessToken === this.#refused?.accessToken && !this.#isRefused(held)
    if (isIssuedAgain && Math.abs(this.#clock() - held.createdAt.getTime()) < ISSUED_AGAIN_MS) return
    this.#refused = held
    const stored = await this.#store.read()
    if (stored !== null && this.#isRefused(stored)) await this.#store.drop(accessToken)
  }

  /** Creates a new token whatever the state of the current one. */
  async renew(): Promise<PlatformToken> {
    const token = await this.#store.refresh(() => false, this.#create)
    this.#hold(token, renewalTime(token))
    return token
  }

  async #load(): Promise<string> {
    const usable = (token: PlatformToken | null): boolean =>
      token !== null && !this.#isRefused(token) && this.#clock() < renewalTime(token)
    const stored = await this.#store.read()
    if (stored !== null && usable(stored)) return this.#hold(stored, renewalTime(stored))
    try {
      const token = await this.#store.refresh(usable, this.#create)
      return this.#hold(token, renewalTime(token))
    } catch (error) {
      const now = this.#clock()
      const isAlive = stored !== null && !this.#isRefused(stored) && now < stored.expiresAt.getTime()
      if (!isAlive) throw error
      this.#log?.warn({ error }, 'the access token could not be renewed; the present one stays in use')
      const { retryAfterMs = 0 } = error as { retryAfterMs?: number }
      const again = now + Math.max(RENEW_AGAIN_MS, retryAfterMs)
      return this.#hold(stored, Math.min(again, stored.expiresAt.getTime()))
    }
  }

  /** Whether it is the one that was refused, and not the same text issued again. */
  #isRefused({ accessToken, createdAt }: PlatformToken): boolean {
    const refused = this.#refused
    return (
      accessToken === refused?.accessToken &&
      createdAt.getTime() < refused.createdAt.getTime() + SAME_CREATION_MS
    )
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

/** A token store for one process, lost when it ends. */
export class MemoryTokenStore implements TokenStore {
  readonly #clock: () => number
  #token: PlatformToken | null = null
  #creations: number[] = []
  #turn: Promise<unknown> = Promise.resolve()

  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  async read(): Promise<PlatformToken | null> {
    return this.#token
  }

  refresh(
    usable: (token: PlatformToken | null) => boolean,
    create: () => Promise<CreatedToken>,
  ): Promise<PlatformToken> {
    const renewed = this.#turn.then(() => this.#refresh(usable, create))
    this.#turn = renewed.catch(() => undefined) // callers waiting for this turn get the failure through `renewed`
    return renewed
  }

  async drop(accessToken: string): Promise<void> {
    if (this.#token?.accessToken === accessToken) this.#token = null
  }

  async #refresh(
    usable: (token: PlatformToken | null) => boolean,
    create: () => Promise<CreatedToken>,
  ): Promise<PlatformToken> {
    if (this.#token !== null && usable(this.#token)) return this.#token
    const now = this.#clock()
    this.#creations = this.#creations.filter(time => time > now - CREATION_WINDOW_MS)
    const oldest = this.#creations[0]
    if (oldest !== undefined && this.#creations.length >= TOKEN_CREATIONS_PER_HOUR) {
      throw new TokenFuseError(oldest + CREATION_WINDOW_MS - now)
    }
    this.#creations.push(now)
    this.#token = tokenOf(await create(), new Date(now))
    return this.#token
  }
}

/** A token as it comes from its creation, with its life counted from `createdAt`. */
function tokenOf(created: CreatedToken, createdAt: Date): PlatformToken {
  const expiresAt = new Date(createdAt.getTime() + created.expiresIn * 1000)
  return { accessToken: created.accessToken, createdAt, expiresAt }
}
