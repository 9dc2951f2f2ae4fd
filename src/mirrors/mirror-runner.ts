import { setTimeout as delay } from 'node:timers/promises'
import type { ClientBase } from '../lib/database.ts'
import type { SessionLocks } from '../lib/session-locks.ts'
import type { CallOptions, PlatformClient } from '../platform/client.ts'
import type { Mirror } from '../sync/mirror-kind.ts'
import { AccountReader } from './accounts.ts'
import {
  type MirrorRun,
  type MirrorTask,
  type PageCursor,
  type PlannedTask,
  wantedMirrors,
} from './mirror.ts'
import { MirrorWork, type MirrorWorkDependencies } from './mirror-work.ts'
import { OrderReader } from './orders.ts'
import { TaxpayerReader } from './taxpayers.ts'

/** So often it is looked whether a run waits. */
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
  #troubled = false

  constructor(options: MirrorRunnerOptions) {
    this.#options = options
    this.#readers = {
      orders: new OrderReader({ days: options.orderDays }),
      accounts: new AccountReader(),
      taxpayers: new TaxpayerReader({ identifiers: options.taxpayerIdentifiers }),
    }
  }

  start(): void {
    this.#loop ??= this.#watch()
  }

  /** Stops in the middle of whatever is going on: the next runner continues there. */
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
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined) // stopping: the loop sees it
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
      this.#troubled = false
    } finally {
      // Nobody waits for it; a process that ends gives back its locks anyway.
      void locks.unlock(lock)
    }
  }

  /** Once per outage of the database, not twice per second. */
  #tell(error: unknown): void {
    if (this.#stopping.signal.aborted) return
    if (!this.#troubled)
      this.#options.logger.error({ err: (error as Error).message }, 'a mirror stopped; trying again')
    this.#troubled = true
  }
}

/** After everything else: what is mirrored can wait. */
const PRIORITY = 9

/** The platform as one reading sees it: counts the calls, and gives each its signal and priority. */
export class CountedCalls {
  count = 0
  readonly #client: PlatformClient
  readonly #options: CallOptions

  constructor(client: PlatformClient, signal: AbortSignal) {
    this.#client = client
    this.#options = { signal, priority: PRIORITY }
  }

  make<T>(call: (client: PlatformClient, options: CallOptions) => Promise<T>): Promise<T> {
    this.count += 1
    return call(this.#client, this.#options)
  }
}

/** What a run is to read. */
export interface ReadingPlan {
  tasks: PlannedTask[]
  /** Tasks by kind, for people. */
  reasons: Record<string, number>
  /** Every part there is, with work now or not. */
  parts: string[]
  /** Why there is nothing to read, where there is nothing. */
  nothing?: string
}

/** What the platform gave for the present page of a task. */
export interface Reading {
  /** The operation that was called. */
  operation: string
  /** Rows that it gave. */
  rows: number
  /** Stores them, in the transaction that moves the cursor; tells how many rows changed and what to read next, if anything. */
  store(db: ClientBase): Promise<{ changed: number; next: PageCursor | null }>
}

/** One mirror: what to read, how, and where to put it. */
export interface MirrorReader {
  plan(db: ClientBase, enterpriseCodes: string[], now: Date): Promise<ReadingPlan>
  /** The operation that reading the task calls. */
  operation(task: MirrorTask): string
  /** @throws PlatformError */
  read(task: MirrorTask, calls: CountedCalls): Promise<Reading>
  /** In the transaction that ends the run. */
  conclude?(db: ClientBase, run: MirrorRun): Promise<void>
}

/** As a parameter of a call; a single enterprise has none. */
export function enterpriseParameter(enterpriseCode: string): { enterprise_code?: string } {
  return enterpriseCode === '' ? {} : { enterprise_code: enterpriseCode }
}
