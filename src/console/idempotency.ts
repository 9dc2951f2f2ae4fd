import type { Pool } from '../lib/database.ts'
import { message } from '../texts/message.ts'
import { Problem, problemOf } from './problem.ts'

/** Identifies a request with an Idempotency-Key. */
interface Once {
  /** The sender: keys of different people do not collide. */
  owner: string
  key: string
  /** Digest of the route and its input. */
  request: string
}

/** As the API's description says. */
const MAX_KEY = 200

/**
 * Stores answers of `/api/v1` to requests with an Idempotency-Key for a day, so that a repeated request starts
 * nothing twice.
 */
export class IdempotencyKeys {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /**
   * Does the work once per key; later calls get the first answer, a JSON text.
   * @throws Problem if the key was used for another request, or the first one is still running
   */
  async once({ owner, key, request }: Once, work: () => Promise<string>): Promise<string> {
    if (key === '' || key.length > MAX_KEY)
      throw new Problem('invalid', message('said.key_length', { limit: MAX_KEY }))
    const { rowCount } = await this.#pool.query(
      `insert into dirsync.idempotency_key (owner, key, request) values ($1, $2, $3)
       on conflict (owner, key) do update set request = excluded.request, at = now(), answer = null
       where idempotency_key.at < now() - interval '1 day'`,
      [owner, key, request],
    )
    if (rowCount === 0) return this.#answerOf({ owner, key, request })
    let answer: string
    try {
      answer = await work()
    } catch (error) {
      // A refused request has started nothing, so its key is free again. After any other error the result is unknown.
      if (isRefusal(error))
        await this.#pool.query('delete from dirsync.idempotency_key where owner = $1 and key = $2', [
          owner,
          key,
        ])
      throw error
    }
    await this.#pool.query('update dirsync.idempotency_key set answer = $3 where owner = $1 and key = $2', [
      owner,
      key,
      answer,
    ])
    return answer
  }

  async #answerOf({ owner, key, request }: Once): Promise<string> {
    const { rows } = await this.#pool.query<{ request: string; answer: string | null }>(
      'select request, answer from dirsync.idempotency_key where owner = $1 and key = $2',
      [owner, key],
    )
    const kept = rows[0]
    if (kept && kept.request !== request) throw new Problem('invalid', message('said.key_of_another'))
    if (!kept || kept.answer === null) throw new Problem('changed', message('said.key_in_use'))
    return kept.answer
  }
}

/**
 * Whether an error proves that the work was not begun. A connection that is lost during the commit proves nothing.
 */
function isRefusal(error: unknown): boolean {
  const { kind } = problemOf(error)
  return kind !== 'internal' && kind !== 'database'
}
