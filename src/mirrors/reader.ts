import type { ClientBase } from 'pg'
import type { PageCursor } from '../core/mirror-pages.ts'
import type { CallOptions, PlatformClient } from '../platform/client.ts'
import type { MirrorRun, MirrorTask, PlannedTask } from '../store/mirror.ts'

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
