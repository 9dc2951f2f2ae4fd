import type { CallOptions } from '../../src/platform/caller.ts'
import type { PlatformClient } from '../../src/platform/client.ts'
import { OutcomeUnknownError, PlatformError, type PlatformFailure } from '../../src/platform/errors.ts'
import { cents } from '../../src/platform/refund-settlement.ts'
import { ORDER_RECORD_STATUS, PAYMENT_ORDER_STATUS } from '../../src/platform/states.ts'
import type { OnItsWay } from './play.ts'
import type { SimulatedProcess, StandsStill } from './schedule.ts'

/** What a call meets instead of its answer, and what of it dirsync's client can tell. */
const FAULTS = {
  lost: { kind: 'timeout', outcomeKnown: false },
  not_json: { kind: 'malformed', outcomeKnown: false },
  reset: { kind: 'connection', outcomeKnown: false },
  unavailable: { kind: 'http', httpStatus: 503, outcomeKnown: false },
  unlisted: { kind: 'business', platformCode: 1000999999, outcomeKnown: false },
  refused: { kind: 'business', platformCode: 1000220002, outcomeKnown: true },
  wrong_secret: { kind: 'business', platformCode: 1000210003, outcomeKnown: true },
  busy: { kind: 'http', httpStatus: 429, retryAfterMs: 1000, outcomeKnown: true },
  not_sent: { kind: 'connection', outcomeKnown: true },
  aborted: { kind: 'aborted', outcomeKnown: true },
  given_up: { kind: 'aborted', outcomeKnown: false },
} as const satisfies Record<string, Omit<PlatformFailure, 'operation'>>
export type MoneyFault = Exclude<keyof typeof FAULTS, 'aborted' | 'given_up'>

/** With these a call has its effect all the same, … */
const WITH_EFFECT: readonly (MoneyFault | undefined)[] = [undefined, 'lost', 'not_json']
/** … and these say that its number is free again. */
const TURNED_AWAY: readonly (MoneyFault | undefined)[] = ['wrong_secret', 'busy']

/** One call that moves money. */
export interface Sending {
  kind: 'refund' | 'topup'
  number: string
  /** The order, or the account. */
  of: string
  amount: string
  fate: 'on its way' | 'carried out' | 'not carried out' | 'turned away'
  /** Seconds of the platform's time. */
  sentAt: number
  /** From then on the records show it, or that it has failed. */
  shownAt: number
  /** The platform accepts it, and does not complete it. */
  fails: boolean
}

/** Seconds after which a request is too old for the platform: five minutes by its clock, and five that ours may be ahead. */
const TOO_OLD = 600
/** Seconds after which the client waits no longer for an answer. */
const TIMEOUT = 10
/** Hundredths of each order. */
const TOTAL = 1500n
/** What the back office refunds at a time. */
const ELSEWHERE = '5.00'

const NETWORK: SimulatedProcess = { name: 'network', dead: false, still: null }

/**
 * The platform's money as its specification has it: a number is carried out once, its records show a refund some time later,
 * and a request that has left may arrive although its sender waits no longer, or is dead.
 */
export class MoneyPlatform implements StandsStill {
  still: Promise<void> | null = null
  /** Seconds that have passed. */
  now = 0
  /** Seconds by which everything that dirsync has written down was moved into the past. */
  moved = 0
  /** Seconds until its records show the refunds that come now. */
  lag = 0
  /** So many of the next refunds are accepted and fail. */
  failures = 0
  readonly sendings: Sending[] = []
  /** Refunds of the vendor's back office, of which dirsync hears nothing. */
  readonly elsewhere: Pick<Sending, 'of' | 'amount' | 'shownAt' | 'fails'>[] = []
  /** What the next calls meet: those that move money, and those that ask. */
  readonly faults: Record<'send' | 'ask', MoneyFault[]> = { send: [], ask: [] }
  readonly #waiting = new Set<{ sends: boolean; fail: (error: PlatformError) => void; operation: string }>()
  readonly #turn: (process: SimulatedProcess, label: string) => Promise<void>
  readonly #onSend: (sending: Sending) => Promise<void>

  /** @param onSend called when a call leaves a process that moves money */
  constructor(
    turn: (process: SimulatedProcess, label: string) => Promise<void>,
    onSend: (sending: Sending) => Promise<void>,
  ) {
    this.#turn = turn
    this.#onSend = onSend
  }

  /** Time passes for all. */
  pass(seconds: number): void {
    this.now += seconds
    this.moved += seconds
    if (seconds > TIMEOUT)
      for (const { operation, fail, sends } of this.#waiting) fail(failed('lost', operation, sends))
  }

  /**
   * The back office refunds more than dirsync does at a time: of less, no one could tell whose it is. The records show it after
   * what came before, and what comes after it later.
   */
  refundElsewhere(of: string): void {
    const refunded = { of, amount: ELSEWHERE, shownAt: this.now + this.lag, fails: false }
    if (this.#taken(of) + amountOf(refunded) > TOTAL) return
    for (const { shownAt } of this.#refundsOf(of)) refunded.shownAt = Math.max(refunded.shownAt, shownAt)
    this.elsewhere.push(refunded)
  }

  isCalled(what: OnItsWay): boolean {
    return [...this.#waiting].some(({ sends }) => sends || what === 'a call')
  }

  isOnItsWay({ fate, sentAt }: Sending): boolean {
    return fate === 'on its way' && this.now - sentAt <= TOO_OLD
  }

  /** The client of a process for one activity, and the calls that move money which it has made. */
  client(process: SimulatedProcess): { client: PlatformClient; sent: Sending[] } {
    const sent: Sending[] = []
    const from = this.moved
    const isLate = ({ sendBefore = Number.POSITIVE_INFINITY }: CallOptions) =>
      Date.now() + (this.moved - from) * 1000 > sendBefore
    const call = <T>(operation: string, options: CallOptions, effect: () => T, sending?: Sending) =>
      this.#call(process, operation, { options, isLate, effect, sending, sent })
    const send = (
      kind: Sending['kind'],
      what: Pick<Sending, 'number' | 'of' | 'amount'>,
      options: CallOptions,
    ) =>
      call(kind, options, () => tradeOf(what.of), {
        ...what,
        kind,
        fate: 'on its way',
        sentAt: 0,
        shownAt: 0,
        fails: false,
      })
    const paymentOrder = ({ trade_no }: { trade_no: string }, options: CallOptions = {}) =>
      call('payment order', options, () => this.paymentOrder(trade_no.replace(tradeOf(''), '')))
    const client = {
      // Its answers have no date: the two clocks of dirsync have to do.
      clockOffset: { measuredMs: null, appliedMs: 0 },
      refunds: {
        create: (request: Record<string, string>, options: CallOptions = {}) => {
          const { outerRefundNo: number = '', outerTradeNo: of = '', refundAmount: amount = '' } = request
          return send('refund', { number, of, amount }, options)
        },
      },
      topUps: {
        apply: async (application: Record<string, string>, options: CallOptions = {}) => {
          const { external_code: number = '', account_openid: of = '', amount = '' } = application
          return { apply_charge_openid: await send('topup', { number, of, amount }, options) }
        },
      },
      orders: {
        record: ({ outer_trade_no }: { outer_trade_no: string }, options: CallOptions = {}) =>
          call('record', options, () => this.#record(outer_trade_no)),
      },
      paymentOrders: { get: paymentOrder, find: paymentOrder },
    }
    return { client: client as unknown as PlatformClient, sent }
  }

  #record(outer_trade_no: string) {
    const refunded = this.refunded(outer_trade_no)
    const { NOT_REFUNDED, REFUNDED } = ORDER_RECORD_STATUS
    return {
      outer_trade_no,
      pay_amount: decimal(TOTAL),
      refund_amount: decimal(refunded),
      status: (refunded === 0n ? NOT_REFUNDED : REFUNDED).value,
    }
  }

  /** The payment order of an order. What is under way counts as refunded, until it has failed. */
  paymentOrder(order: string) {
    const isUnderWay = this.#refundsOf(order).some(({ shownAt }) => shownAt > this.now)
    const refunded = this.#taken(order)
    const { REFUNDING, REFUNDED, COMPLETED } = PAYMENT_ORDER_STATUS
    return {
      out_trade_no: order,
      pay_amount: decimal(TOTAL),
      refund_amount: decimal(refunded),
      status: (isUnderWay ? REFUNDING : refunded === 0n ? COMPLETED : REFUNDED).value,
    }
  }

  /** Whether the platform has accepted a refund and not completed it. */
  hasFailed({ fate, fails, shownAt }: Sending): boolean {
    return fate === 'carried out' && fails && shownAt <= this.now
  }

  /** Hundredths that are refunded of an order, as its record shows it. */
  refunded(order: string): bigint {
    return sumOf(this.#refundsOf(order).filter(({ shownAt, fails }) => shownAt <= this.now && !fails))
  }

  /** With what is under way. */
  #taken(order: string): bigint {
    return sumOf(this.#refundsOf(order).filter(({ shownAt, fails }) => shownAt > this.now || !fails))
  }

  #refundsOf(order: string): Pick<Sending, 'of' | 'amount' | 'shownAt' | 'fails'>[] {
    return [...this.sendings.filter(({ fate }) => fate === 'carried out'), ...this.elsewhere].filter(
      ({ of }) => of === order,
    )
  }

  async #call<T>(
    by: SimulatedProcess,
    operation: string,
    { options, isLate, effect, sending, sent }: CallParts<T>,
  ): Promise<T> {
    const sends = sending !== undefined
    const fault = this.faults[sends ? 'send' : 'ask'].shift()
    await this.#turn(by, `sends ${operation}`)
    if (options.signal?.aborted || isLate(options)) throw failed('aborted', operation, sends)
    if (fault === 'not_sent') throw failed(fault, operation, sends)
    if (sending) {
      await this.#onSend(sending)
      sending.sentAt = this.now
      sent.push(sending)
      this.sendings.push(sending)
    }
    const broken = Promise.withResolvers<never>()
    broken.promise.catch(() => {})
    const mine = { operation, sends, fail: broken.reject }
    this.#waiting.add(mine)
    options.signal?.addEventListener('abort', () => broken.reject(failed('given_up', operation, sends)))
    const answer = this.#arrive(operation, effect, fault, sending)
    answer.catch(() => {})
    try {
      await Promise.race([answer.catch(() => {}), broken.promise])
      await Promise.race([this.#turn(by, `answer of ${operation}`), broken.promise])
      return await answer
    } finally {
      this.#waiting.delete(mine)
    }
  }

  async #arrive<T>(
    operation: string,
    effect: () => T,
    fault: MoneyFault | undefined,
    sending: Sending | undefined,
  ): Promise<T> {
    await this.#turn(NETWORK, `${operation} arrives`)
    while (this.still) await this.still
    const met = fault ?? (sending && this.#refusal(sending))
    if (sending && WITH_EFFECT.includes(met)) {
      const before = this.elsewhere.filter(({ of }) => of === sending.of).map(({ shownAt }) => shownAt)
      sending.shownAt = Math.max(this.now + this.lag, ...before)
      sending.fate = 'carried out'
      if (sending.kind === 'refund' && this.failures > 0) {
        this.failures -= 1
        sending.fails = true
      }
    } else if (sending) sending.fate = TURNED_AWAY.includes(met) ? 'turned away' : 'not carried out'
    if (met !== undefined) throw failed(met, operation, sending !== undefined)
    return effect()
  }

  /** Codes for a number that exists, and for more than is left of an order, are not in the specification. */
  #refusal(sending: Sending): MoneyFault | undefined {
    const { kind, number, of } = sending
    if (!this.isOnItsWay(sending)) return 'reset'
    const isUsed = this.sendings.some(
      other => other.kind === kind && other.number === number && other.fate === 'carried out',
    )
    const isTooMuch = kind === 'refund' && this.#taken(of) + amountOf(sending) > TOTAL
    return isUsed || isTooMuch ? 'unlisted' : undefined
  }
}

interface CallParts<T> {
  options: CallOptions
  isLate: (options: CallOptions) => boolean
  effect: () => T
  sending: Sending | undefined
  sent: Sending[]
}

function failed(fault: keyof typeof FAULTS, operation: string, sends: boolean): PlatformError {
  const error = new PlatformError({ ...FAULTS[fault], operation })
  return !sends || error.outcomeKnown ? error : new OutcomeUnknownError(error)
}

const amountOf = ({ amount }: Pick<Sending, 'amount'>) => cents(amount) ?? 0n
const sumOf = (refunds: Pick<Sending, 'amount'>[]) =>
  refunds.reduce((sum, refund) => sum + amountOf(refund), 0n)

/** The platform's own number. */
export const tradeOf = (of: string) => `trade-${of}`

function decimal(hundredths: bigint): string {
  return (Number(hundredths) / 100).toFixed(2)
}
