import { setTimeout as delay } from 'node:timers/promises'
import type { SessionLocks } from '../lib/session-locks.ts'
import type { Mirror } from '../sync/mirror-kind.ts'
import { AccountReader } from './accounts.ts'
import { wantedMirrors } from './mirror.ts'
import type { MirrorReader } from './mirror-reader.ts'
import { MirrorWork, type MirrorWorkDependencies } from './mirror-work.ts'
import { OrderReader } from './orders.ts'
import { TaxpayerReader } from './taxpayers.ts'

/** How often to look whether a run waits. */
const POLL_MS = 500

interface MirrorRunnerOptions extends MirrorWorkDependencies {
  locks: SessionLocks
  /** Days back that payment orders are read, today included. */
  orderDays: number
  taxpayerIdentifiers: string[]
}

/**
 * The worker role's loop for mirrors: carries out their runs, each mirror by one process at a time. When a process dies its
 * lock goes with it, and another one goes on.
 */
export class MirrorRunner {
  readonly #options: MirrorRunnerOptions
  readonly #readers: Record<Mirror, MirrorReader>
  readonly #stopping = new AbortController()
  readonly #inHand = new Map<Mirror, Promise<void>>()
  #loop: Promise<void> | undefined
  #isInTrouble = false

  constructor(options: MirrorRunnerOptions) {
    this.#options = options
    this.#readers = {
      orders: new OrderReader(options.orderDays),
      accounts: new AccountReader(),
      taxpayers: new TaxpayerReader(options.taxpayerIdentifiers),
    }
  }

  start(): void {
    this.#loop ??= this.#watch()
  }

  /** Stops at once, in the middle of a run: the next runner continues there. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
    await Promise.all(this.#inHand.values())
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        for (const mirror of await wantedMirrors(this.#options.pool)) this.#take(mirror)
      } catch (error) {
        this.#tell(error)
      }
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined) // aborted: the loop ends
    }
  }

  #take(mirror: Mirror): void {
    if (this.#inHand.has(mirror)) return
    const work = this.#work(mirror)
      .catch(error => this.#tell(error))
      .finally(() => this.#inHand.delete(mirror))
    this.#inHand.set(mirror, work)
  }

  async #work(mirror: Mirror): Promise<void> {
    const { locks } = this.#options
    const lock = JSON.stringify(['dirsync', 'mirror', mirror])
    const signal = await locks.lock(lock, this.#stopping.signal)
    if (signal === null) return
    try {
      await new MirrorWork(mirror, this.#readers[mirror], this.#options).next(signal)
      this.#isInTrouble = false
    } finally {
      // Nobody waits for it; a process that ends gives back its locks anyway.
      void locks.unlock(lock)
    }
  }

  /** Once per outage of the database, not twice per second. */
  #tell(error: unknown): void {
    if (this.#stopping.signal.aborted) return
    if (!this.#isInTrouble)
      this.#options.logger.error({ err: (error as Error).message }, 'a mirror stopped; trying again')
    this.#isInTrouble = true
  }
}
