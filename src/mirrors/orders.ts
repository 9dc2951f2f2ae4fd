import type { ClientBase } from '../lib/database.ts'
import { platformDay } from '../lib/text.ts'
import { RowsSeen } from '../platform/client.ts'
import type { PaymentOrder, PaymentOrderAnswer } from '../platform/operations/payment-order.ts'
import { enterpriseParams } from '../platform/request.ts'
import { message } from '../texts/message.ts'
import type { MirrorRun, MirrorTask, PlannedTask } from './mirror.ts'
import {
  type CountedCalls,
  endsPass,
  listName,
  type MirrorReader,
  nextPage,
  notesOfShort,
  type Reading,
  type ReadingMemory,
  type ReadingPlan,
} from './mirror-reader.ts'
import {
  daysRead,
  hasOrders,
  mirroredOrder,
  missingOrders,
  noteDayRead,
  olderDays,
  ordersToAsk,
  recordUnknownPayers,
  storeAskedOrder,
  storeListedOrders,
} from './payment-order.ts'

const LIST = 'enterprise/consume/list'
const GET = 'enterprise/consume/get'
const PAGE_SIZE = 100
/** Part of the orders that are read one by one: if it is refused, the days are read all the same. */
const OLDER = 'older_orders'

/**
 * Payment orders (sections 4.7 and 4.8): day by day, page by page within a day. Every day of a moving window; of earlier days,
 * those that were missed, and now and then those with an order that may still be refunded. Orders of other days are read one by
 * one while something is in progress, or after dirsync refunded them.
 */
export class OrderReader implements MirrorReader {
  readonly #days: number

  /** @param days length of the window, today included */
  constructor(days: number) {
    this.#days = days
  }

  async plan(db: ClientBase, enterpriseCodes: string[], now: Date): Promise<ReadingPlan> {
    const window = { start: windowStart(now, this.#days), today: platformDay(now) }
    const tasks: PlannedTask[] = []
    for (const enterpriseCode of enterpriseCodes) {
      const days = [
        ...daysToRead(now, this.#days, await daysRead(db, enterpriseCode, window.start)),
        ...(await olderDays(db, enterpriseCode, window)),
      ]
      for (const day of days) tasks.push({ enterpriseCode, part: '', entityKey: day, detail: 'day' })
      for (const tradeNo of await ordersToAsk(db, enterpriseCode, window, days))
        tasks.push({ enterpriseCode, part: OLDER, entityKey: tradeNo, detail: 'order' })
    }
    const older = tasks.filter(task => task.part === OLDER).length
    // An order that could not be read is planned again: once there are none, no refusal is left.
    return { tasks, reasons: { days: tasks.length - older, [OLDER]: older } }
  }

  operation(task: MirrorTask): string {
    return task.detail === 'order' ? GET : LIST
  }

  read(task: MirrorTask, calls: CountedCalls, memory: ReadingMemory): Promise<Reading> {
    return task.detail === 'order' ? readOrder(task, calls) : readPage(task, calls, memory)
  }

  async conclude(db: ClientBase, run: MirrorRun): Promise<void> {
    await recordUnknownPayers(db, run.id, windowStart(run.startedAt, this.#days))
  }
}

async function readPage(task: MirrorTask, calls: CountedCalls, memory: ReadingMemory): Promise<Reading> {
  const { runId, enterpriseCode, entityKey: day, page } = task
  const query = { time_start: day, time_end: day, page_index: page, page_size: PAGE_SIZE }
  // As it came: the client's `page` does not tell null from an empty list.
  const { total_count, data_list } = (await calls.make((client, options) =>
    client.call(LIST, { ...query, ...enterpriseParams(enterpriseCode) }, options),
  )) as PaymentOrderAnswer
  const answer = { total_count, data_list: data_list ?? [] }
  const isNull = data_list === null && total_count === null
  const read = { answer, pageSize: PAGE_SIZE }
  memory.orders ??= new RowsSeen<PaymentOrder>(LIST, order => order.trade_no, task.passRows)
  memory.orders.add(page, answer.data_list, endsPass(task, read))
  const { found, keyless } = memory.orders
  // An order without a number cannot be stored.
  const orders = answer.data_list.flatMap(order =>
    order.trade_no === null ? [] : [mirroredOrder(order.trade_no, order)],
  )
  return {
    rows: orders.length,
    async store(db) {
      const changed = await storeListedOrders(db, enterpriseCode, day, orders)
      const missing = await missingOrders(db, enterpriseCode, day)
      const grows = day >= platformDay(task.handedOutAt)
      const { next, short } = nextPage(task, { ...read, found, missing, grows })
      // Null may be what a platform says of a day without orders. If there are any it is odd, and the next run reads the day again.
      const isOdd = isNull && next === null && (await hasOrders(db, enterpriseCode, day))
      if (next === null && !isOdd) await noteDayRead(db, runId, enterpriseCode, day, short)
      const list = listName(enterpriseCode, day)
      const odd = isOdd ? [message('said.odd_days', { lists: 1, list })] : []
      const unnumbered =
        next === null && keyless > 0 ? [message('said.unnumbered_orders', { lists: 1, list, keyless })] : []
      return { changed, next, notes: [...notesOfShort(list, short), ...odd, ...unnumbered] }
    },
  }
}

async function readOrder(task: MirrorTask, calls: CountedCalls): Promise<Reading> {
  const { enterpriseCode, entityKey: trade_no, handedOutAt: askedAt } = task
  const order = await calls.make((client, options) =>
    client.paymentOrders.find({ trade_no, ...enterpriseParams(enterpriseCode) }, options),
  )
  return {
    rows: order === null ? 0 : 1,
    async store(db) {
      const found = order && mirroredOrder(trade_no, order)
      return {
        changed: await storeAskedOrder(db, { enterpriseCode, tradeNo: trade_no, askedAt }, found),
        next: null,
      }
    },
  }
}

const DAY_MS = 24 * 3_600_000

/** Days whose orders every run reads again: today and yesterday. */
const FRESH_DAYS = 2

/** The first day of a window that ends today: with `days` 1 today itself. */
export function windowStart(now: Date, days: number): string {
  return platformDay(new Date(now.getTime() - (days - 1) * DAY_MS))
}

/**
 * The days of the window to read, newest first: today and yesterday always, older ones once a day.
 * @param days length of the window, today included
 * @param readAt when a day was last read to the end
 */
export function daysToRead(now: Date, days: number, readAt: ReadonlyMap<string, Date>): string[] {
  const today = platformDay(now)
  return Array.from({ length: days }, (_, age) => platformDay(new Date(now.getTime() - age * DAY_MS))).filter(
    (day, age) => {
      const last = readAt.get(day)
      // Later than today: the clock was put back since.
      return age < FRESH_DAYS || last === undefined || platformDay(last) !== today
    },
  )
}
