import type { ClientBase, Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { Tracing } from '../lib/tracing.ts'
import {
  type CallOptions,
  isLastPage,
  type ListPage,
  MOST_PASSES,
  type PlatformClient,
  type RowsSeen,
  type ShortList,
} from '../platform/client.ts'
import type { PaymentOrder } from '../platform/operations/payment-order.ts'
import type { Standing } from '../sync/processes/standing.ts'
import { type Message, message } from '../texts/message.ts'
import type { MirrorRun, MirrorTask, PageCursor, PlannedTask } from './mirror.ts'

export interface MirrorWorkDependencies {
  pool: Pool
  client: PlatformClient
  standing: Standing
  logger: Logger
  /** Enterprise code of the deployment itself; empty for a single enterprise. */
  ownEnterprise: string
  tracing: Tracing
}

/** One mirror: what to read, how, and where to store it. */
export interface MirrorReader {
  /**
   * What is to be read; marks what is no longer asked for as gone.
   * @param now the run's time: what "today" means to it
   */
  plan(db: ClientBase, enterpriseCodes: string[], now: Date): Promise<ReadingPlan>
  operation(task: MirrorTask): string
  /**
   * Reads the current page of a task.
   * @param memory what the reader keeps from page to page of the task; empty at first, and after a new process has taken it up
   * @throws PlatformError
   */
  read(task: MirrorTask, calls: CountedCalls, memory: ReadingMemory): Promise<Reading>
  /** Runs in the transaction that ends the run. */
  conclude?(db: ClientBase, run: MirrorRun): Promise<void>
}

/** The tasks of a run. */
export interface ReadingPlan {
  /** Of every part that could be read now: the case of another one is obsolete. */
  tasks: PlannedTask[]
  /** Number of tasks by kind, for people. */
  reasons: Record<string, number>
  /** Why there is nothing to read, if so. */
  nothing?: Message
}

export interface ReadingMemory {
  orders?: RowsSeen<PaymentOrder>
}

/** The platform's answer. */
export interface Reading {
  rows: number
  /** Stores them, in the transaction that moves the cursor. */
  store(db: ClientBase): Promise<StoredReading>
}

export interface StoredReading {
  changed: number
  /** What to read next; null: the task is over. */
  next: PageCursor | null
  /** What is to be said of the list in the run's message. */
  notes?: Message[]
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

/** What a list is called in the run's message. */
export function listName(enterpriseCode: string, ...rest: string[]): string {
  return [enterpriseCode, ...rest].filter(Boolean).join(' ')
}

/** Names a list and what it lacks, if the platform counts more rows than it returned. */
export function notesOfShort(list: string, short: ShortList | null): Message[] {
  return short === null ? [] : [message('said.short_lists', { lists: 1, list, ...short })]
}

/** Names a list of which nothing is marked gone, if it may lack rows that nothing counts. */
export function notesOfOdd(list: string, isOdd: boolean): Message[] {
  return isOdd ? [message('said.odd_lists', { lists: 1, list })] : []
}

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
 * missed. That shows at the end: the platform counts fewer rows than before, or more than were found. Then another pass is made.
 * @param answer the page
 * @param found different rows that were read so far
 * @param missing how many it may count more than were found without another pass: as many as in the last reading
 * @param grows whether rows are still added in front: those that come after the first page need not be found
 * @returns short: the list is at its end, and the platform counts more than were found
 */
export function nextPage<Row>(
  cursor: PageCursor,
  read: { answer: ListPage<Row>; pageSize: number; found: number; missing?: number; grows?: boolean },
): { next: PageCursor | null; short: ShortList | null } {
  const { answer, found, missing = 0, grows = false } = read
  const { page, pass, most, passRows } = cursor
  // An empty page says nothing of how many there are, if an earlier one did.
  const counted =
    most > 0 && answer.data_list.length === 0 ? Math.max(most, answer.total_count ?? 0) : answer.total_count
  const total = grows && most > 0 && counted !== null ? Math.min(most, counted) : counted
  if (!endsPass(cursor, read))
    return {
      next: {
        page: page + 1,
        pass,
        most: Math.max(most, total ?? 0),
        passRows: passRows + answer.data_list.length,
      },
      short: null,
    }
  const isSettled = total === null || (found + missing >= total && total >= most)
  if (!isSettled && pass < MOST_PASSES) return { next: { ...FIRST_PAGE, pass: pass + 1 }, short: null }
  return { next: null, short: total !== null && found < total ? { counted: total, found } : null }
}
