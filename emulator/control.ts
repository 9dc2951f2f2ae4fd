import { z } from 'zod'
import { CALL_LOG_SIZE, type CallLog, type Stats } from './call-log.ts'
import { ControlError, parseControl } from './errors.ts'
import { type FaultRule, type Faults, faultRule } from './faults.ts'
import { notificationLog } from './notifications.ts'
import { OPERATIONS } from './operations/index.ts'
import { ORDER_STATUS } from './orders.ts'
import { type Platform, shapes } from './platform.ts'
import { applySeed, currentState } from './seed.ts'

interface ControlRequest {
  method: string
  /** The path below `/_emulator/`. */
  path: string
  query: URLSearchParams
  /** The parsed JSON body; undefined without one. */
  body: unknown
}

type Handler = (request: ControlRequest) => unknown

const wholeNumber = z.string().regex(/^\d+$/, 'must be a whole number').transform(Number)
const callsQuery = z.strictObject({
  since: wholeNumber.default(0),
  limit: wholeNumber.default(CALL_LOG_SIZE),
  operation: z.string().optional(),
})
const clockBody = z.strictObject({ offsetSeconds: z.number().min(-1e9).max(1e9) })
const faultRules = z.array(faultRule)

/**
 * The control interface, below `/_emulator/`, without signatures: JSON in, JSON out.
 *
 * | Request | Does |
 * |---|---|
 * | `POST enterprises`, `departments`, `employees`, `openids` | adds an array to the state, see `applySeed` |
 * | `POST orders`, `refunds`, `accounts`, `topups`, `taxpayers` | likewise |
 * | `POST orders/pay {trade_no}` or `{out_trade_no}` | pays an order that is pending or being paid |
 * | `POST state`, `GET state[?userid=]` | adds a whole seed; everything as it stands now, in the seed format |
 * | `POST reset` | empties state, tokens, limits, shapes, faults, log and counters, and sets the clock right |
 * | `POST faults`, `GET faults`, `DELETE faults` | adds a rule or an array of rules; lists; clears, and lets held calls go on |
 * | `GET calls[?since=ID&operation=NAME&limit=N]` | the last 50,000 calls, oldest first: `oldestId` is the first still held |
 * | `GET stats` | counters over all calls |
 * | `GET shapes`, `POST shapes {paymentOrderList, orderRecord, assetCode, tradeNumber}` | how answers look, see `shapes` |
 * | `GET notifications` | the refund notifications with their attempts, by refund number |
 * | `GET clock`, `POST clock {offsetSeconds}` | moves the platform's clock against the machine's |
 * | `POST token/expire` | ends every token |
 */
export class Control {
  readonly #routes: ReadonlyMap<string, Handler>

  constructor(platform: Platform, faults: Faults, log: CallLog, stats: Stats) {
    const seed = (name: string): Record<string, Handler> => ({
      [`POST ${name}`]: ({ body }) => applySeed(platform, { [name]: body ?? null }),
    })
    const clock = () => ({
      offsetSeconds: platform.clock.offsetSeconds,
      now: new Date(platform.clock.now()).toISOString(),
    })
    const routes: Record<string, Handler> = {
      ...seed('enterprises'),
      ...seed('departments'),
      ...seed('employees'),
      ...seed('openids'),
      ...seed('orders'),
      ...seed('refunds'),
      ...seed('accounts'),
      ...seed('topups'),
      ...seed('taxpayers'),
      'POST orders/pay': ({ body }) => payOrder(platform, body),
      'POST state': ({ body }) => applySeed(platform, body),
      'GET state': ({ query }) => currentState(platform, query.get('userid') ?? undefined),
      'POST reset': () => {
        platform.reset()
        faults.clear()
        log.clear()
        stats.clear()
        return {}
      },
      'POST faults': ({ body }) => {
        faults.add(readRules(body))
        return faults.list()
      },
      'GET faults': () => faults.list(),
      'DELETE faults': () => {
        faults.clear()
        return []
      },
      'GET calls': ({ query }) => ({
        oldestId: log.oldestId,
        lastId: log.lastId,
        calls: log.list(parseControl(callsQuery, Object.fromEntries(query))),
      }),
      'GET stats': () => stats.snapshot(),
      'GET shapes': () => platform.shapes,
      'POST shapes': ({ body }) => {
        platform.shapes = parseControl(shapes, body)
        return platform.shapes
      },
      'GET notifications': () => notificationLog(platform),
      'GET clock': clock,
      'POST clock': ({ body }) => {
        platform.moveClock(parseControl(clockBody, body).offsetSeconds)
        return clock()
      },
      'POST token/expire': () => ({ expired: platform.tokens.expireAll() }),
    }
    this.#routes = new Map(Object.entries(routes))
  }

  /** Answers a control request with the status and the value to send. */
  handle(request: ControlRequest): { status: number; value: unknown } {
    const handler = this.#routes.get(`${request.method} ${request.path}`)
    if (handler === undefined) {
      return {
        status: 404,
        value: { error: 'There is no such control request.', routes: [...this.#routes.keys()] },
      }
    }
    try {
      return { status: 200, value: handler(request) }
    } catch (error) {
      if (error instanceof ControlError) return { status: 400, value: { error: error.message } }
      throw error
    }
  }
}

function readRules(body: unknown): FaultRule[] {
  const rules = parseControl(faultRules, Array.isArray(body) ? body : [body])
  const unknown = rules.find(({ operation }) => operation !== '*' && !OPERATIONS.has(operation))
  if (unknown) throw new ControlError(`operation must be * or one of ${[...OPERATIONS.keys()].join(', ')}`)
  return rules
}

const whichOrder = z.union([
  z.strictObject({ trade_no: z.string() }),
  z.strictObject({ out_trade_no: z.string() }),
])

/** Pays an order that is pending or being paid, in full; throws `ControlError` for any other. */
function payOrder(platform: Platform, body: unknown): { trade_no: string; status: number } {
  const which = parseControl(whichOrder, body)
  const order =
    'trade_no' in which ? platform.orders.find(which.trade_no) : platform.orders.findOuter(which.out_trade_no)
  if (order === undefined) throw new ControlError('there is no such order')
  const { pending, paying, completed } = ORDER_STATUS
  if (order.status !== pending && order.status !== paying) {
    throw new ControlError(`order ${order.trade_no} has status ${order.status}: only 1 and 2 can be paid`)
  }
  const paid = { pay_amount: order.total_amount, pay_time: platform.clock.timeText(), status: completed }
  platform.orders.put({ ...order, ...paid })
  return { trade_no: order.trade_no, status: completed }
}
