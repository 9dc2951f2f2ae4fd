/** An access token of the platform (section 2.2) and its life, in this process's time. */
export interface PlatformToken {
  accessToken: string
  createdAt: Date
  expiresAt: Date
}

/** What token creation answers: the token and its validity in seconds. */
export interface CreatedToken {
  accessToken: string
  expiresIn: number
}

/** Where the access token lives, shared by everyone who uses the same application. */
export interface TokenStore {
  /** The present token, or null when there is none that can be read. */
  read(): Promise<PlatformToken | null>
  /**
   * Gets a token, creating one only when the stored one will not do. Whoever calls at the same time waits and gets the
   * same new token. A creation is counted before it is tried.
   * @throws TokenFuseError when the hour's creations are used up
   */
  refresh(
    usable: (token: PlatformToken | null) => boolean,
    create: () => Promise<CreatedToken>,
  ): Promise<PlatformToken>
  /** Forgets exactly this token; does nothing when another one is stored by now. */
  drop(accessToken: string): Promise<void>
}

/** Creations permitted in any hour. The platform permits 60 (section 8); the rest is left for other clients and people. */
export const TOKEN_CREATIONS_PER_HOUR = 50

export const HOUR_MS = 3_600_000

/** Too many tokens were created in the last hour; no further one was asked for. */
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

/** A token as it comes from its creation, with its life counted from `createdAt`. */
export function tokenOf(created: CreatedToken, createdAt: Date): PlatformToken {
  const expiresAt = new Date(createdAt.getTime() + created.expiresIn * 1000)
  return { accessToken: created.accessToken, createdAt, expiresAt }
}
