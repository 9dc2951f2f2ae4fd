import { isIPv6 } from 'node:net'
import { onlyRow, type Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import type { NameIn } from '../../texts/texts.ts'
import { BoundedLine } from '../bounded-line.ts'
import { inNameOf, note } from './audit.ts'

/** Rate limits for sign-ins, by address and by name, and the record of failed ones. */

/**
 * Failures that one process records per minute, so that an attack cannot flood the audit. Those of users, and of people whom the
 * identity provider knows, are counted apart: anyone can fail with a made-up name or key at any speed, and would use up the number
 * before those that matter.
 */
const RECORDED_PER_MINUTE = { user: 30, provider: 10, stranger: 10 } as const
type Failing = keyof typeof RECORDED_PER_MINUTE
const NONE = { user: 0, provider: 0, stranger: 0 }
const MINUTE_MS = 60_000

/**
 * Limits the database connections that sign-ins may use, so that a flood of them leaves some for pages. When the line
 * is full, callers are told to come back later.
 */
const line = new BoundedLine(2, 500)

export interface SignInAttempt {
  name: string
  address: string
}

/**
 * Asks for permission to check the password of an attempt. The attempt counts as failed until it is forgiven.
 * @returns 0, or the number of seconds to wait
 * @throws BusyError
 */
export async function admitAttempt(pool: Pool, { name, address }: SignInAttempt): Promise<number> {
  const { rows } = await line.run(async () => {
    // Those of the future are from before the clock was put back: nobody could sign in until it has caught up.
    await pool.query(`delete from dirsync.sign_in_failure where last_at > now() + interval '1 second'`)
    return pool.query<{ wait: number }>('select dirsync.admit_sign_in($1, $2, $3) as wait', [
      addressKey(address),
      address,
      name,
    ])
  })
  return onlyRow(rows).wait
}

/**
 * Removes an admitted attempt from the failures.
 * @param succeeded false if its password was never checked
 */
export async function forgiveAttempt(
  pool: Pool,
  { name, address }: SignInAttempt,
  succeeded: boolean,
): Promise<void> {
  await pool.query('select dirsync.forgive_sign_in($1, $2, $3)', [addressKey(address), name, succeeded])
}

/** The key that failures are counted by. For IPv6 it is the network, since one client usually has a whole network. */
export function addressKey(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped?.[1]) return mapped[1]
  const [head = '', tail = ''] = address.split('%', 1).join().split('::')
  const groups = (text: string) => text.split(':').filter(Boolean)
  const [before, after] = [groups(head), groups(tail)]
  const all = [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after]
  return `${all
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

/** Writes failed sign-ins into dirsync.command, a few per minute, and then how many more there were. */
export class FailureRecord {
  readonly #pool: Pool
  readonly #logger: Logger
  #minute = 0
  #recorded: Record<Failing, number> = { ...NONE }
  #left = { failures: 0, ofUsers: 0 }
  #endOfMinute: NodeJS.Timeout | undefined

  constructor(pool: Pool, logger: Logger) {
    this.#pool = pool
    this.#logger = logger
  }

  /**
   * @param user the name of an existing user, which need not be theirs; else null: people type passwords into the wrong field, so
   * unknown names are not kept
   * @param of whose room in the record it takes
   */
  async add(
    user: string | null,
    address: string,
    why: NameIn<'sign_in_why'>,
    of: Failing = user === null ? 'stranger' : 'user',
  ): Promise<void> {
    const now = Date.now()
    const minute = Math.floor(now / MINUTE_MS)
    if (minute !== this.#minute) {
      this.#minute = minute
      this.#recorded = { ...NONE }
      await this.flush()
    }
    if (this.#recorded[of] >= RECORDED_PER_MINUTE[of]) {
      this.#left.failures += 1
      if (user !== null) this.#left.ofUsers += 1
      this.#endOfMinute ??= setTimeout(() => void this.flush(), (minute + 1) * MINUTE_MS - now).unref()
      return
    }
    this.#recorded[of] += 1
    await inNameOf(this.#pool, 'console', client =>
      note(client, 'sign_in_failed', {
        user,
        unknown_user: user === null && why === 'password' ? true : null,
        address,
        why,
      }),
    )
  }

  /** Records how many failures were left out so far. */
  async flush(): Promise<void> {
    clearTimeout(this.#endOfMinute)
    this.#endOfMinute = undefined
    const { failures, ofUsers } = this.#left
    if (failures === 0) return
    this.#left = { failures: 0, ofUsers: 0 }
    this.#logger.warn({ failures }, 'failed sign-ins were not recorded')
    try {
      await inNameOf(this.#pool, 'console', client =>
        note(client, 'sign_in_failed', { not_recorded: failures, not_recorded_of_users: ofUsers || null }),
      )
    } catch (error) {
      this.#logger.warn({ error }, 'the number of failed sign-ins was not recorded')
    }
  }
}
