import { z } from 'zod'
import { Accounts, Taxpayers, TopUps } from './accounts.ts'
import { type SignAlgorithm, Tokens } from './authentication.ts'
import { Database } from './database.ts'
import { Employees, OpenIds } from './employees.ts'
import { Departments, Enterprises } from './enterprises.ts'
import { BusinessError } from './errors.ts'
import { type RateLimit, slidingLog } from './faults.ts'
import { Notifications, Notifier } from './notifications.ts'
import { Orders, Refunds } from './orders.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Section 8. */
const TOKEN_QUERIES_PER_MINUTE = 60

export interface PlatformSettings {
  /** The one application that is known, at most 32 characters. */
  appId: string
  appSecret: string
  /** Default sha256. */
  signAlgorithm?: SignAlgorithm | undefined
  /**
   * Refuse parameters and body members that are not known, with 1000220002, and calls without enterprise_code where only other
   * enterprises hold something, with 1000240002. Default false: the former are ignored, the latter find nothing.
   */
  strict?: boolean | undefined
  /** File that keeps the state; in memory without it. */
  data?: string | undefined
  /** Default 60 (section 8). */
  tokenCreationsPerHour?: number | undefined
  /** After this long a refund notification counts as not answered. Default 5000. */
  notificationTimeoutMs?: number | undefined
}

/** The limits that an operation may be under, counted per application. */
export type LimitName = 'tokenCreations' | 'tokenQueries'

/** The emulated platform: its clock, its state and its limits. */
export class Platform {
  readonly appId: string
  readonly appSecret: string
  readonly signAlgorithm: SignAlgorithm
  readonly strict: boolean
  readonly clock = new Clock()
  readonly database: Database
  readonly enterprises: Enterprises
  readonly departments: Departments
  readonly employees: Employees
  readonly openids: OpenIds
  readonly tokens: Tokens
  readonly orders: Orders
  readonly refunds: Refunds
  readonly notifications: Notifications
  readonly notifier: Notifier
  readonly accounts: Accounts
  readonly topups: TopUps
  readonly taxpayers: Taxpayers
  shapes: Shapes = FIRST_SHAPES
  limits: Record<LimitName, RateLimit>
  readonly #tokenCreationsPerHour: number

  constructor(settings: PlatformSettings) {
    this.appId = settings.appId
    this.appSecret = settings.appSecret
    this.signAlgorithm = settings.signAlgorithm ?? 'sha256'
    this.strict = settings.strict ?? false
    this.database = new Database(settings.data)
    this.enterprises = new Enterprises(this.database, this.strict)
    this.departments = new Departments(this.database)
    this.employees = new Employees(this.database)
    this.openids = new OpenIds(this.database)
    this.tokens = new Tokens(this.database, this.clock)
    this.orders = new Orders(this.database)
    this.refunds = new Refunds(this.database)
    this.notifications = new Notifications(this.database)
    this.notifier = new Notifier(this.notifications, this.clock, {
      appId: this.appId,
      appSecret: this.appSecret,
      signAlgorithm: this.signAlgorithm,
      timeoutMs: settings.notificationTimeoutMs ?? 5000,
    })
    this.accounts = new Accounts(this.database)
    this.topups = new TopUps(this.database)
    this.taxpayers = new Taxpayers(this.database)
    this.#tokenCreationsPerHour = settings.tokenCreationsPerHour ?? 60
    this.limits = this.#newLimits()
  }

  /** Throws 1000220002 for a number that does not start with the application id. */
  requireOwnNumber(name: string, value: string): void {
    if (!value.startsWith(this.appId)) {
      throw new BusinessError('parameters', `${name} must start with the application id`)
    }
  }

  /** Moves the clock against the machine's, and does what has become due. */
  moveClock(offsetSeconds: number): void {
    this.clock.offsetSeconds = offsetSeconds
    this.notifier.wake()
  }

  /** Back to an empty platform with the right time: state, tokens, limits, shapes and clock. */
  reset(): void {
    this.notifier.abort()
    this.database.clear()
    this.shapes = FIRST_SHAPES
    this.clock.offsetSeconds = 0
    this.limits = this.#newLimits()
  }

  close(): void {
    this.notifier.close()
    this.database.close()
  }

  // The tokens say how many were created in the last hour, so that a restart does not forgive them.
  #newLimits(): Record<LimitName, RateLimit> {
    return {
      tokenCreations: slidingLog(this.#tokenCreationsPerHour, HOUR_MS, this.tokens.creations(HOUR_MS)),
      tokenQueries: slidingLog(TOKEN_QUERIES_PER_MINUTE, MINUTE_MS),
    }
  }
}

const GMT_PLUS_8_MS = 8 * 3_600_000

/** The platform's clock: the machine's, moved by an offset that the control interface sets. */
export class Clock {
  #offsetMs = 0
  #dateSecond = Number.NaN
  #dateText = ''

  get offsetSeconds(): number {
    return this.#offsetMs / 1000
  }

  set offsetSeconds(seconds: number) {
    this.#offsetMs = Math.round(seconds * 1000)
  }

  /** Milliseconds since 1970. */
  now(): number {
    return Date.now() + this.#offsetMs
  }

  /** The value of the `Date` header; kept for the second it holds. */
  httpDate(): string {
    const second = Math.floor(this.now() / 1000)
    if (second !== this.#dateSecond) {
      this.#dateSecond = second
      this.#dateText = new Date(second * 1000).toUTCString()
    }
    return this.#dateText
  }

  /** `yyyy-MM-dd HH:mm:ss` in GMT+8, as the platform writes times. */
  timeText(): string {
    return new Date(this.now() + GMT_PLUS_8_MS).toISOString().slice(0, 19).replace('T', ' ')
  }
}

/** Which shape to answer with, where the specification shows two. Each defaults to the first. */
export const shapes = z.strictObject({
  /** The result of `enterprise/consume/list` at the top level without an envelope, or under `data`. */
  paymentOrderList: z.enum(['top', 'data']).default('top'),
  /** What `seller/pay/record` gives as `data`: the record, or the trade number alone. */
  orderRecord: z.enum(['object', 'trade_no']).default('object'),
  /** The name of a payment order's asset type. */
  assetCode: z.enum(['assetCode', 'asset_code']).default('assetCode'),
  /** The name of a payment order's business number. */
  tradeNumber: z.enum(['out_trade_no', 'outer_trade_no']).default('out_trade_no'),
})

export type Shapes = z.output<typeof shapes>

const FIRST_SHAPES: Shapes = shapes.parse({})
