import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { lockTransaction } from '../lib/advisory-lock.ts'
import type { Pool, PoolClient } from '../lib/database.ts'
import { isHeldUp, onlyRow, transaction, WORK_MS } from '../lib/database.ts'
import { abortedError, type FailureKind, PlatformError } from './errors.ts'
import { tokenCreate } from './operations/token.ts'
import {
  CREATION_WINDOW_MS,
  type CreatedToken,
  type PlatformToken,
  TOKEN_CREATIONS_PER_HOUR,
  TokenFuseError,
  type TokenStore,
} from './token.ts'

/** SQL: how many tokens were created within the last hour for the account of the latest one: what the fuse counts. */
export const RECENT_CREATIONS = `(
  select count(*)::int from dirsync.token_creation
  where created_at > now() - interval '1 hour'
    and (base_url, app_id) = (select base_url, app_id from dirsync.token_creation order by id desc limit 1))`

interface TokenRow {
  sealed_token: Buffer
  age_ms: number
  life_ms: number
}

/**
 * The access token in `dirsync.platform_token`, shared by every process of one application. Ages come from the database's clock
 * and are converted to this process's time, so that processes with different clocks agree.
 */
export class PostgresTokenStore implements TokenStore {
  readonly #pool: Pool
  readonly #account: readonly [baseUrl: string, appId: string]
  readonly #cipher: TokenCipher

  /**
   * @param options.pool must permit two connections: while one holds the lock of a renewal, another counts the creation and
   * serves the pacer
   */
  constructor(options: { pool: Pool; baseUrl: string; appId: string; appSecret: string }) {
    if ((options.pool.options.max ?? 10) < 2) {
      throw new RangeError('The token store needs a pool of at least 2 connections.')
    }
    this.#pool = options.pool
    this.#account = [options.baseUrl, options.appId]
    this.#cipher = new TokenCipher(options.appSecret, JSON.stringify(this.#account))
  }

  read(): Promise<PlatformToken | null> {
    return this.#read(this.#pool)
  }

  /** @throws PlatformError of kind `aborted` if another process takes long: the platform may have asked it to wait */
  refresh(
    usable: (token: PlatformToken | null) => boolean,
    create: () => Promise<CreatedToken>,
  ): Promise<PlatformToken> {
    return transaction(this.#pool, async client => {
      await lockTransaction(client, ['token', JSON.stringify(this.#account)])
      const stored = await this.#read(client)
      if (stored !== null && usable(stored)) return stored
      const counted = await this.#noteCreation()
      const started = await client.query<{ at: string }>('select clock_timestamp()::text as at')
      const created = await create().catch(async error => {
        if (wasNotSent(error))
          await this.#pool.query('delete from dirsync.token_creation where id = $1', [counted])
        throw error
      })
      return this.#write(client, created, started.rows[0]?.at)
    }).catch(error => {
      throw isHeldUp(error) ? abortedError(tokenCreate.name, error) : error
    })
  }

  async drop(accessToken: string): Promise<void> {
    const { rows } = await this.#pool.query<Pick<TokenRow, 'sealed_token'>>(
      'select sealed_token from dirsync.platform_token where (base_url, app_id) = ($1, $2)',
      [...this.#account],
    )
    const sealed = rows[0]?.sealed_token
    if (sealed === undefined || this.#cipher.open(sealed) !== accessToken) return
    await this.#pool.query(
      'delete from dirsync.platform_token where (base_url, app_id, sealed_token) = ($1, $2, $3)',
      [...this.#account, sealed],
    )
  }

  async #read(client: Pool | PoolClient): Promise<PlatformToken | null> {
    const statement = {
      text: `
        select sealed_token,
               extract(epoch from clock_timestamp() - created_at)::float8 * 1000 as age_ms,
               extract(epoch from expires_at - created_at)::float8 * 1000 as life_ms
        from dirsync.platform_token
        where (base_url, app_id) = ($1, $2)`,
      values: [...this.#account],
      query_timeout: WORK_MS,
    }
    const { rows } = await client.query<TokenRow>(statement)
    const row = rows[0]
    const accessToken = row === undefined ? null : this.#cipher.open(row.sealed_token)
    if (row === undefined || accessToken === null) return null
    const createdAt = Date.now() - row.age_ms
    return { accessToken, createdAt: new Date(createdAt), expiresAt: new Date(createdAt + row.life_ms) }
  }

  /**
   * Counts a creation, or throws. It does so outside the transaction that holds the lock, so that the count stands whatever the
   * outcome of the call. The lock keeps others from counting meanwhile.
   * @returns the id of its row
   */
  async #noteCreation(): Promise<string> {
    const { rows } = await this.#pool.query<{ id: string; wait_ms: null } | { id: null; wait_ms: number }>(
      `with pruned as (
         delete from dirsync.token_creation where created_at <= clock_timestamp() - $4 * interval '1 ms'
       ), recent as (
         select created_at from dirsync.token_creation
         where (base_url, app_id) = ($1, $2) and created_at > clock_timestamp() - $4 * interval '1 ms'
         order by created_at desc limit $3
       ), noted as (
         insert into dirsync.token_creation (base_url, app_id)
         select $1, $2 where (select count(*) from recent) < $3
         returning id
       )
       select id, null as wait_ms from noted
       union all
       -- The time until the oldest of the recent ones no longer counts.
       select null, extract(epoch from min(created_at) - clock_timestamp())::float8 * 1000 + $4
       from recent
       where not exists (select from noted)`,
      [...this.#account, TOKEN_CREATIONS_PER_HOUR, CREATION_WINDOW_MS],
    )
    const { id, wait_ms } = onlyRow(rows)
    if (id === null) throw new TokenFuseError(Math.max(0, Math.ceil(wait_ms)))
    return id
  }

  async #write(
    client: PoolClient,
    created: CreatedToken,
    startedAt: string | undefined,
  ): Promise<PlatformToken> {
    await client.query(
      `insert into dirsync.platform_token (base_url, app_id, sealed_token, created_at, expires_at)
       values ($1, $2, $3, $4, $4::timestamptz + $5 * interval '1 second')
       on conflict (base_url, app_id) do update
       set sealed_token = excluded.sealed_token,
           created_at = excluded.created_at,
           expires_at = excluded.expires_at`,
      [...this.#account, this.#cipher.seal(created.accessToken), startedAt, created.expiresIn],
    )
    const token = await this.#read(client)
    if (token === null) throw new Error('The access token that was just stored cannot be read back.')
    return token
  }
}

/** How a creation fails that the platform has no part in, if its outcome is known. */
const ON_OUR_SIDE: FailureKind[] = ['connection', 'timeout', 'aborted', 'paused']

/** Whether nothing of a creation was sent, so that the platform has not counted it. */
function wasNotSent(error: unknown): boolean {
  return error instanceof PlatformError && error.outcomeKnown && ON_OUR_SIDE.includes(error.kind)
}

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals the access token with a key that can be derived from the application secret alone. */
class TokenCipher {
  readonly #key: Buffer
  readonly #context: Buffer

  /** @param context the token's owner; a token sealed for one context cannot be opened for another */
  constructor(appSecret: string, context: string) {
    this.#key = Buffer.from(hkdfSync('sha256', appSecret, context, 'dirsync platform token', 32))
    this.#context = Buffer.from(context)
  }

  /** Nonce, tag and encrypted text, one after the other. */
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
      return null // the tag does not match: it was sealed with another key
    }
  }
}
