import type { ClientBase } from '../lib/database.ts'
import type { CallOptions, PlatformClient } from '../platform/client.ts'
import type { MirrorRun, MirrorTask, PageCursor, PlannedTask } from './mirror.ts'

/** One mirror: what to read, how, and where to put it. */
export interface MirrorReader {
  /** @param now the run's time: what "today" means to it */
  plan(db: ClientBase, enterpriseCodes: string[], now: Date): Promise<ReadingPlan>
  /** The operation that reading the task calls. */
  operation(task: MirrorTask): string
  /** Reads the present page of a task. @throws PlatformError */
  read(task: MirrorTask, calls: CountedCalls): Promise<Reading>
  /** In the transaction that ends the run. */
  conclude?(db: ClientBase, run: MirrorRun): Promise<void>
}

/** What a run is to read. */
export interface ReadingPlan {
  tasks: PlannedTask[]
  /** Tasks by kind, for people. */
  reasons: Record<string, number>
  /** Every part there is, with tasks now or not. */
  parts: string[]
  /** Why there is nothing to read, where there is nothing. */
  nothing?: string
}

/** What the platform gave. */
export interface Reading {
  /** Rows that it gave. */
  rows: number
  /** Stores them, in the transaction that moves the cursor; tells how many changed and what to read next, if anything. */
  store(db: ClientBase): Promise<{ changed: number; next: PageCursor | null }>
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

/** As a parameter of a call; a single enterprise has none. */
export function enterpriseParameter(enterpriseCode: string): { enterprise_code?: string } {
  return enterpriseCode === '' ? {} : { enterprise_code: enterpriseCode }
}

export const FIRST_PAGE: PageCursor = { page: 1, pass: 1, most: 0 }

/** Passes over the pages of one list, however restless it is. */
const MAX_PASSES = 3
/** Pages of one pass: a platform that neither counts nor ends is not believed. */
const MAX_PAGES = 10_000

/**
 * The cursor after a page, or null when the list was read.
 * When rows go while pages are read, others move up and slip through. That shows at the end: the platform counts fewer rows
 * than before, or more than are known. Then another pass is made.
 * @param isLast whether it was the last page of its pass
 * @param total rows of the list by the platform's count; null when it does not say
 * @param known different rows seen so far
 */
export function nextPage(
  { page, pass, most }: PageCursor,
  { isLast, total, known }: { isLast: boolean; total: number | null; known: number },
): PageCursor | null {
  if (!isLast && page < MAX_PAGES) return { page: page + 1, pass, most: Math.max(most, total ?? 0) }
  const isWhole = total === null || (known >= total && total >= most)
  return isWhole || pass >= MAX_PASSES ? null : { page: 1, pass: pass + 1, most: 0 }
}
