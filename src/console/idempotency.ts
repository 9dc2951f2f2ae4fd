import type { Pool } from '../lib/database.ts'
import { Problem, problemOf } from './problem.ts'

/** What tells one request with an Idempotency-Key from another. */
interface Once {
  /** Who sent it: keys of different people never meet. */
  owner: string
  key: string
  /** Digest of the route and its input. */
  request: string
}

/** As the API's description says. */
const MAX_KEY = 200

/** Answers of `/api/v1` to requests with an Idempotency-Key, kept for a day: a repeated request starts nothing twice. */
export class IdempotencyKeys {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /**
   * Does the work once per key, and gives its first answer, a JSON text, from then on.
   * @throws Problem when the key was used for another request, or the first one is still under way
   */
  async once({ owner, key, request }: Once, work: () => Promise<string>): Promise<string> {
    if (key === '' || key.length > MAX_KEY)
      throw new Problem('invalid', `Idempotency-Key: it has 1 to ${MAX_KEY} characters`)
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
      // What was refused has started nothing, and the key is free again. Of anything else nobody knows.
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
    if (kept && kept.request !== request)
      throw new Problem('invalid', 'Idempotency-Key: it was used for another request; make a new one')
    if (!kept || kept.answer === null)
      throw new Problem(
        'changed',
        'A request with this Idempotency-Key is still under way, or ended without an answer: see what it did before you make a new key',
      )
    return kept.answer
  }
}

/** Whether an error says that the work was not begun; a connection that is lost while it commits says nothing. */
function isRefusal(error: unknown): boolean {
  const { kind } = problemOf(error)
  return kind !== 'internal' && kind !== 'database'
}
