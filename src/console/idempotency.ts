import type { Pool } from '../lib/database.ts'
import { type Message, message } from '../texts/message.ts'
import { Problem, problemOf } from './problem.ts'

/** Identifies a request with an Idempotency-Key. */
interface Once {
  /** The sender: keys of different people do not collide. */
  owner: string
  key: string
  /** Digest of the route and its input. */
  request: string
}

/** An answer of /api/v1 to an action. */
export interface ActionAnswer {
  status: number
  /** Where to find what was created or started. */
  location: string | null
  /** A JSON text. */
  body: string
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
   * Does the work once per key; later calls get the first answer.
   * @throws Problem if the key was used for another request, or the first one is still running
   */
  async once({ owner, key, request }: Once, work: () => Promise<ActionAnswer>): Promise<ActionAnswer> {
    if (key === '' || key.length > MAX_KEY) throw keyProblem(message('said.key_length', { limit: MAX_KEY }))
    const { rowCount } = await this.#pool.query(
      `insert into dirsync.idempotency_key (owner, key, request) values ($1, $2, $3)
       on conflict (owner, key) do update set request = excluded.request, at = now(), answer = null, status = null, location = null
       where idempotency_key.at < now() - interval '1 day'`,
      [owner, key, request],
    )
    if (rowCount === 0) return this.#answerOf({ owner, key, request })
    let answer: ActionAnswer
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
    await this.#pool.query(
      `update dirsync.idempotency_key set answer = $3, status = $4, location = $5 where owner = $1 and key = $2`,
      [owner, key, answer.body, answer.status, answer.location],
    )
    return answer
  }

  async #answerOf({ owner, key, request }: Once): Promise<ActionAnswer> {
    const { rows } = await this.#pool.query<
      { request: string; body: string | null } & Omit<ActionAnswer, 'body'>
    >(
      // A version before this one stored no status.
      'select request, answer as body, coalesce(status, 200) as status, location from dirsync.idempotency_key where owner = $1 and key = $2',
      [owner, key],
    )
    const kept = rows[0]
    if (kept && kept.request !== request) throw keyProblem(message('said.key_of_another'))
    if (!kept || kept.body === null) throw new Problem('key_in_use', message('said.key_in_use'))
    return { status: kept.status, location: kept.location, body: kept.body }
  }
}

function keyProblem(said: Message): Problem {
  return new Problem('invalid', said, {
    errors: [{ path: [], header: 'Idempotency-Key', code: 'refused', said }],
  })
}

/**
 * Whether an error proves that the work was not begun. A connection that is lost during the commit proves nothing.
 */
function isRefusal(error: unknown): boolean {
  const { kind } = problemOf(error)
  return kind !== 'internal' && kind !== 'database'
}
