import type { Pool } from '../../lib/database.ts'
import { ALIVE } from './process.ts'

/** SQL condition on a process: the platform refuses its application secret, and it leaves the work to others. */
export const IS_REFUSED = 'refused_at is not null'

/** SQL condition: another living process makes calls, with a secret other than `$1` that the platform has not refused. */
const OTHERS_WORK = `exists (
  select from dirsync.process o
  where o.${ALIVE} and o.pacer is not null and not o.${IS_REFUSED} and o.secret_print is distinct from $1)`

/**
 * The application secret of this process. If the platform refuses it while others work with another one, all processes that have
 * it leave the work to them (`dirsync.process.refused_at`): a halt would stop those that the platform accepts.
 */
export class OwnSecret {
  readonly #db: Pool
  readonly #print: string
  readonly #watching: ((isRefused: boolean) => void)[] = []
  #isRefused = false

  /** @param print tells secrets apart */
  constructor(db: Pool, print: string) {
    this.#db = db
    this.#print = print
  }

  /** Whether this process leaves the work to others. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** From now on `told` is called when that becomes so, and when it is over. */
  watch(told: (isRefused: boolean) => void): void {
    this.#watching.push(told)
    if (this.#isRefused) told(true)
  }

  /** What the database says of it. */
  see(isRefused: boolean): void {
    if (isRefused === this.#isRefused) return
    this.#isRefused = isRefused
    for (const told of this.#watching) told(isRefused)
  }

  /** It has been refused. @returns whether the work is left to others; false: none works with another secret */
  async leaveToOthers(): Promise<boolean> {
    const isLeft = await this.#note('clock_timestamp()', `${ALIVE} and ${OTHERS_WORK}`)
    if (isLeft) this.see(true)
    return isLeft
  }

  /** Takes the work up again if the others are gone, or refused themselves. @returns whether that is so */
  async returnWithoutOthers(): Promise<boolean> {
    const isAlone = await this.#note('null', `${IS_REFUSED} and not ${OTHERS_WORK}`)
    if (isAlone) this.see(false)
    return isAlone
  }

  /** The platform accepts it. */
  async isAccepted(): Promise<void> {
    await this.#note('null', IS_REFUSED)
    this.see(false)
  }

  /**
   * Whether this process is the one to ask the platform for all that have the secret. Then none of them is for as long.
   * @param everyMs how often one of them asks
   */
  isToAsk(everyMs: number): Promise<boolean> {
    return this.#note(
      'clock_timestamp()',
      `refused_at not between clock_timestamp() - $2 * interval '1 ms' and clock_timestamp()`,
      everyMs,
    )
  }

  /** For all processes that have the secret, locked in one order, so that two who do so never wait for each other. */
  async #note(refusedAt: string, condition: string, ...values: unknown[]): Promise<boolean> {
    const { rowCount } = await this.#db.query(
      `update dirsync.process set refused_at = ${refusedAt}
       where id in (select id from dirsync.process where secret_print = $1 and ${condition} order by id for update)`,
      [this.#print, ...values],
    )
    return rowCount !== null && rowCount > 0
  }
}
