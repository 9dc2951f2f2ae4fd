import {
  type CreatedToken,
  HOUR_MS,
  type PlatformToken,
  TOKEN_CREATIONS_PER_HOUR,
  TokenFuseError,
  type TokenStore,
  tokenOf,
} from '../core/platform-token.ts'

/** A token store for one process that need not remember anything when it ends. */
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
    this.#turn = renewed.catch(() => undefined) // whoever waits for this turn hears of it through `renewed`
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
    this.#creations = this.#creations.filter(time => time > now - HOUR_MS)
    const oldest = this.#creations[0]
    if (oldest !== undefined && this.#creations.length >= TOKEN_CREATIONS_PER_HOUR) {
      throw new TokenFuseError(oldest + HOUR_MS - now)
    }
    this.#creations.push(now)
    this.#token = tokenOf(await create(), new Date(now))
    return this.#token
  }
}
