import type { ClientBase, Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { Tracing } from '../lib/tracing.ts'
import { type CallOptions, isLastPage, type ListPage, type PlatformClient } from '../platform/client.ts'
import type { Message } from '../texts/message.ts'
import type { MirrorRun, MirrorTask, PageCursor, PlannedTask } from './mirror.ts'

export interface MirrorWorkDependencies {
  pool: Pool
  client: PlatformClient
  logger: Logger
  /** Enterprise code of the deployment itself; empty for a single enterprise. */
  ownEnterprise: string
  /** Default: none. */
  tracing?: Tracing
}

/** One mirror: what to read, how, and where to store it. */
export interface MirrorReader {
  /**
   * What is to be read; marks what is no longer asked for as gone.
   * @param now the run's time: what "today" means to it
   */
  plan(db: ClientBase, enterpriseCodes: string[], now: Date): Promise<ReadingPlan>
  operation(task: MirrorTask): string
  /** Reads the current page of a task. @throws PlatformError */
  read(task: MirrorTask, calls: CountedCalls): Promise<Reading>
  /** Runs in the transaction that ends the run. */
  conclude?(db: ClientBase, run: MirrorRun): Promise<void>
}

/** The tasks of a run. */
export interface ReadingPlan {
  tasks: PlannedTask[]
  /** Number of tasks by kind, for people. */
  reasons: Record<string, number>
  /** Every part of the mirror, with or without tasks now. */
  parts: string[]
  /** Why there is nothing to read, if so. */
  nothing?: Message
}

/** The platform's answer. */
export interface Reading {
  rows: number
  /** Stores them, in the transaction that moves the cursor; returns how many changed and what to read next, if anything. */
  store(db: ClientBase): Promise<{ changed: number; next: PageCursor | null }>
}

/** After everything else: mirrors can wait. */
const PRIORITY = 9

/** The platform for one reading: counts the calls, and gives each its signal and priority. */
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

export const FIRST_PAGE: PageCursor = { page: 1, pass: 1, most: 0, passRows: 0 }

/** Passes over the pages of one list, however often it changes. */
const MAX_PASSES = 3
/** Pages of one pass, in case a platform neither counts nor ends. */
const MAX_PAGES = 10_000

/** Whether a page is the last one of its pass. */
export function endsPass<Row>(
  { page, passRows }: PageCursor,
  { answer, pageSize }: { answer: ListPage<Row>; pageSize: number },
): boolean {
  return isLastPage(answer, passRows + answer.data_list.length, pageSize) || page >= MAX_PAGES
}

/**
 * The cursor after a page, or null at the end of the list. When rows are removed while pages are read, others move up and are
 * missed. That shows at the end: the platform counts fewer rows than before, or more than are known. Then another pass is made.
 * @param answer the page
 * @param known different rows seen so far; counts at the end of a pass only
 */
export function nextPage<Row>(
  cursor: PageCursor,
  { answer, pageSize, known }: { answer: ListPage<Row>; pageSize: number; known: number },
): PageCursor | null {
  const { page, pass, most, passRows } = cursor
  const total = answer.total_count
  if (!endsPass(cursor, { answer, pageSize }))
    return {
      page: page + 1,
      pass,
      most: Math.max(most, total ?? 0),
      passRows: passRows + answer.data_list.length,
    }
  const isWhole = total === null || (known >= total && total >= most)
  return isWhole || pass >= MAX_PASSES ? null : { ...FIRST_PAGE, pass: pass + 1 }
}
