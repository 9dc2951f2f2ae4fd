import { lockTransaction } from '../../lib/advisory-lock.ts'
import { type Pool, transaction } from '../../lib/database.ts'
import type { CallReport } from '../../platform/client.ts'
import { ALIVE, type Aside, IS_OUTAGE } from './process.ts'

/** How often a process that stands aside asks the platform whether that is over. Of a secret, one process for all that have it. */
const ASKS_EVERY_MS: Record<Aside, number> = {
  // A refusal costs a token creation, of which the platform permits 60 an hour.
  secret: 300_000,
  unreachable: 10_000,
}

/** One that stands aside again so soon after it came back asks half as often as before, down to the longest. */
const SOON_MS = 600_000
const LONGEST_MS = 300_000

/** Each of those aside asks so seldom while all are known to be in the same outage: whose own trouble is over sooner works then. */
const IN_OUTAGE_MS = 60_000

/** For how long others have to be gone, which they are for a moment when they are restarted. */
const GONE_MS = 60_000

/** Asks the platform whether it answers this process at all. */
type Ping = () => Promise<boolean>

/** How a call ends to which nothing has answered. */
const WITHOUT_ANSWER = ['PLATFORM_CONNECTION', 'PLATFORM_TIMEOUT']

/** SQL: a living process `o` makes calls, and the condition holds of it. */
const anotherWorks = (condition: string) => `exists (
  select from dirsync.process o
  where o.${ALIVE} and o.pacer is not null and o.aside_for is null and ${condition})`

/**
 * Whether this process works, or stands aside (`dirsync.process.aside_for`). What may fail for one process alone is no halt while
 * others work: that would stop them, and end with their next probe, again and again. If it fails for them too, they stand aside one
 * after the other, and the last one halts everything.
 */
export class Standing {
  readonly #db: Pool
  readonly #id: string
  readonly #secretPrint: string
  readonly #watching: ((aside: Aside | null) => void)[] = []
  #aside: Aside | null = null
  #aloneSince: number | null = null
  #returnedAt = Number.NEGATIVE_INFINITY
  /** How often it has stood aside in a row. */
  #times = 0
  #unanswered = 0
  #pinging: Promise<boolean | null> | undefined

  /**
   * @param me.id of its row in `dirsync.process`
   * @param me.secretPrint tells application secrets apart
   */
  constructor(db: Pool, me: { id: string; secretPrint: string }) {
    this.#db = db
    this.#id = me.id
    this.#secretPrint = me.secretPrint
  }

  /** Why it stands aside; null: it works. */
  get aside(): Aside | null {
    return this.#aside
  }

  /** How many calls in a row, whatever they were for, nothing has answered, not even a gateway. */
  get unanswered(): number {
    return this.#unanswered
  }

  /** Notes what became of a call of this process. */
  called({ code }: Pick<CallReport, 'code'>): void {
    if (code === 'PLATFORM_ABORTED') return
    this.#unanswered = WITHOUT_ANSWER.includes(String(code)) ? this.#unanswered + 1 : 0
  }

  /** From now on `told` is called when that changes. */
  watch(told: (aside: Aside | null) => void): void {
    this.#watching.push(told)
  }

  /** What the database says of it. */
  see(aside: Aside | null): void {
    if (aside === this.#aside) return
    if (aside === null) this.#returnedAt = performance.now()
    else if (this.#aside === null)
      this.#times = performance.now() - this.#returnedAt < SOON_MS ? this.#times + 1 : 1
    this.#aside = aside
    for (const told of this.#watching) told(aside)
  }

  /** The secret was refused: all who have it stand aside, if somebody works with another one. @returns whether that is so */
  async leaveForSecret(): Promise<boolean> {
    const isLeft = await this.#note(
      `aside_for = 'secret', asked_at = clock_timestamp()`,
      `secret_print = $1 and pacer is not null and ${anotherWorks('o.secret_print is distinct from $1')}`,
      [this.#secretPrint],
    )
    if (isLeft) this.see('secret')
    return isLeft
  }

  /** Stands aside with those whose secret, the same as this one's, was refused a moment ago. @returns whether there are such */
  async joinRefused(): Promise<boolean> {
    const isRefused = `o.${ALIVE} and o.aside_for = 'secret' and o.secret_print = p.secret_print`
    const hasJoined = await this.#note(
      `aside_for = 'secret', asked_at = (select max(asked_at) from dirsync.process o where ${isRefused})`,
      `id = $1 and exists (select from dirsync.process o where ${isRefused})`,
      [this.#id],
    )
    if (hasJoined) this.see('secret')
    return hasJoined
  }

  /**
   * The platform answers no call of this process. If it answers no ping either, and another process works, this one stands aside. All
   * that is in hand fails at once, and is told by one ping.
   * @returns whether it stands aside; null: that cannot be told just now, since the ping was not made
   */
  async leaveIfCutOff(ping: Ping): Promise<boolean | null> {
    if (this.#aside === 'unreachable') return true
    this.#pinging ??= this.#isCutOff(ping).finally(() => {
      this.#pinging = undefined
    })
    const isCutOff = await this.#pinging
    return isCutOff ? this.#leaveForNetwork() : isCutOff
  }

  async #isCutOff(ping: Ping): Promise<boolean | null> {
    const { rowCount } = await this.#db.query(`select where ${anotherWorks('o.id <> $1')}`, [this.#id])
    if (rowCount === 0) return false
    return ping().then(
      isAnswered => !isAnswered,
      () => null,
    )
  }

  async #leaveForNetwork(): Promise<boolean> {
    const isLeft = await this.#note(
      `aside_for = 'unreachable', asked_at = clock_timestamp()`,
      `id = $1 and ${anotherWorks('o.id <> $1')}`,
      [this.#id],
    )
    if (isLeft) this.see('unreachable')
    return isLeft
  }

  /**
   * Whether nobody else has worked for a minute, or nobody with another secret: then this one has to, if only to say what is wrong. To
   * be called every few seconds.
   */
  async isAlone(): Promise<boolean> {
    const since = this.#aloneSince
    // A look that fails, as without the database, says nothing of the time until the next one.
    this.#aloneSince = null
    const isBetterOff = `o.id <> p.id and (p.aside_for = 'unreachable' or o.secret_print is distinct from p.secret_print)`
    const { rowCount } = await this.#db.query(
      `select from dirsync.process p where id = $1 and not ${anotherWorks(isBetterOff)}`,
      [this.#id],
    )
    if (rowCount === 0) return false
    this.#aloneSince = since ?? performance.now()
    return performance.now() - this.#aloneSince >= GONE_MS
  }

  /** The platform answers again, or nobody else works: this process does. Its secret may be refused by now, which stands. */
  async workAgain(): Promise<void> {
    this.#aloneSince = null
    if (await this.#note('aside_for = null', `id = $1 and aside_for = 'unreachable'`, [this.#id]))
      this.see(null)
  }

  /** The secret has been accepted, or nobody has a better one: those who stood aside for it work again. */
  async trustSecret(): Promise<void> {
    this.#aloneSince = null
    await this.#note('aside_for = null', `aside_for = 'secret' and secret_print = $1`, [this.#secretPrint])
    if (this.#aside === 'secret') this.see(null)
  }

  /**
   * Whether it is time for this process to ask the platform again. Then it is not for a while: of a secret, for all who have it.
   * @param isAlone nobody works who could be waited for
   */
  isToAsk(isAlone: boolean): Promise<boolean> {
    const asks = 'asked_at = clock_timestamp()'
    const isDueAfter = (pause: string) =>
      `asked_at not between clock_timestamp() - ${pause} * interval '1 ms' and clock_timestamp()`
    if (this.#aside === 'secret') {
      // Those with another secret are refused by now, perhaps since this one is right.
      const isChanged = `exists (select from dirsync.halt where scope = '*' and category = 'credentials' and since > asked_at)`
      return this.#note(
        asks,
        `aside_for = 'secret' and secret_print = $1 and (${isDueAfter('$2')} or ${isChanged})`,
        [this.#secretPrint, isAlone ? GONE_MS : ASKS_EVERY_MS.secret],
      )
    }
    const pauseMs = Math.min(ASKS_EVERY_MS.unreachable * 2 ** (this.#times - 1), LONGEST_MS)
    const pause = `greatest($2, case when ${IS_OUTAGE} then ${IN_OUTAGE_MS} end)`
    return this.#note(asks, `aside_for = 'unreachable' and id = $1 and ${isDueAfter(pause)}`, [
      this.#id,
      isAlone ? 0 : pauseMs,
    ])
  }

  /** One process after the other: two who look at once whether another one works would both see that. */
  #note(changes: string, condition: string, values: unknown[]): Promise<boolean> {
    return transaction(this.#db, async client => {
      await lockTransaction(client, 'standing')
      const { rowCount } = await client.query(
        `update dirsync.process p set ${changes} where ${condition}`,
        values,
      )
      return rowCount !== null && rowCount > 0
    })
  }
}
