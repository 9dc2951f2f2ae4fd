import { platformDay } from '../../src/lib/text.ts'
import type { CallOptions } from '../../src/platform/caller.ts'
import type { PlatformClient } from '../../src/platform/client.ts'
import { PlatformError, type PlatformFailure } from '../../src/platform/errors.ts'
import { PAYMENT_ORDER_STATUS } from '../../src/platform/states.ts'
import type { Mirror } from '../../src/sync/runs/mirror-kind.ts'
import type { SimulatedProcess, StandsStill } from './schedule.ts'

/** What a call meets instead of its answer, and what of it dirsync's client can tell. */
const FAILURES = {
  lost: { kind: 'timeout' },
  reset: { kind: 'connection' },
  unavailable: { kind: 'http', httpStatus: 503 },
  not_json: { kind: 'malformed' },
  busy: { kind: 'http', httpStatus: 429, retryAfterMs: 1000 },
  refused: { kind: 'business', platformCode: 1000220002 },
  wrong_secret: { kind: 'business', platformCode: 1000210003 },
  enterprise_refused: { kind: 'business', platformCode: 1000240002 },
  aborted: { kind: 'aborted' },
} as const satisfies Record<string, Omit<PlatformFailure, 'operation' | 'outcomeKnown'>>
/** Answers that are odd: without a list, with one more counted than listed, with a value that fits no column. */
type Oddity = 'no_list' | 'counts_more' | 'unfit'
export type MirrorFault = Exclude<keyof typeof FAILURES, 'aborted'> | Oddity

/** A row of a mirror, as the platform has it. */
export interface Shown {
  mirror: Mirror
  enterprise: string
  id: string
  /** Counts its changes. */
  version: number
  /** The platform's count of changes at its last one. */
  since: number
  isGone: boolean
  /** Of an order: in days. */
  age: number
}

const NETWORK: SimulatedProcess = { name: 'network', dead: false, still: null }
const DAY_MS = 24 * 3_600_000
/** Fits no column of that kind. */
const UNFIT = 3_000_000_000

/** Whether an account of a version has a sub-account. */
export const hasSub = (version: number) => version % 3 !== 0

/** What the platform shows of orders, accounts and taxpayers (sections 4.7 to 4.9 and 4.13), which others change meanwhile. */
export class MirrorsPlatform implements StandsStill {
  still: Promise<void> | null = null
  /** How many changes there have been. */
  changes = 0
  readonly rows: Shown[] = []
  /** How often null came in place of orders, which may say that a day has none. */
  nulls = 0
  /** What the next calls for a mirror meet. */
  readonly faults: Record<Mirror, MirrorFault[]> = { orders: [], accounts: [], taxpayers: [] }
  /** Mirrors that the platform refuses to an enterprise, until it permits them. */
  readonly denied = new Set<string>()
  readonly #inFlight = new Set<SimulatedProcess>()
  readonly #turn: (process: SimulatedProcess, label: string) => Promise<void>

  constructor(turn: (process: SimulatedProcess, label: string) => Promise<void>) {
    this.#turn = turn
  }

  add(row: Pick<Shown, 'mirror' | 'enterprise' | 'age'>): void {
    this.changes += 1
    const id = `T${String(this.rows.length).padStart(3, '0')}`
    this.rows.push({ ...row, id, version: 1, since: this.changes, isGone: false })
  }

  change(row: Shown, isGone: boolean): void {
    this.changes += 1
    row.version += 1
    row.since = this.changes
    row.isGone = isGone
  }

  get isCalled(): boolean {
    return [...this.#inFlight].some(({ dead }) => !dead)
  }

  client(process: SimulatedProcess): PlatformClient {
    const list = ({ enterprise_code = '' }: { enterprise_code?: string }, mirror: Mirror) =>
      this.rows.filter(row => row.mirror === mirror && row.enterprise === enterprise_code && !row.isGone)
    const call = <T>(mirror: Mirror, query: Query, options: CallOptions | undefined, answer: Answer<T>) =>
      this.#call(process, mirror, `${mirror} ${query.enterprise_code ?? ''}`.trim(), options, answer)
    const calls: Record<string, (query: Query, options?: CallOptions) => Promise<unknown>> = {
      'enterprise/consume/list': (query, options) =>
        call('orders', query, options, fault => {
          if (fault === 'no_list') this.nulls += 1
          const day = list(query, 'orders').filter(row => dayOf(row) === query.time_start)
          return pageOf(day.reverse().map(orderOf), query.page_index, query.page_size, fault)
        }),
      'taxpayer/findList': (query, options) =>
        call('taxpayers', query, options, fault => {
          const rows = list(query, 'taxpayers').map(taxpayerOf)
          const found = rows.filter(row => row.taxpayer_nature === query.taxpayer_nature)
          return pageOf(found, query.page_no, query.page_size, fault)
        }),
      'assets/limit/enterprise/get': (query, options) =>
        call('accounts', query, options, fault =>
          fault === 'no_list' ? null : list(query, 'accounts').map(row => unfit(accountOf(row), fault)),
        ),
    }
    const client = {
      paymentOrders: {
        find: (query: Query, options?: CallOptions) =>
          call('orders', query, options, () => {
            const row = list(query, 'orders').find(({ id }) => id === query.trade_no)
            return row ? orderOf(row) : null
          }),
      },
      call: (operation: string, query: Query, options?: CallOptions) => calls[operation]?.(query, options),
      ping: async () => true,
    }
    return client as unknown as PlatformClient
  }

  async #call<T>(
    by: SimulatedProcess,
    mirror: Mirror,
    label: string,
    options: CallOptions = {},
    answer: Answer<T>,
  ): Promise<T> {
    const fault = this.faults[mirror].shift()
    const failed = (met: keyof typeof FAILURES) =>
      new PlatformError({ ...FAILURES[met], operation: label, outcomeKnown: true })
    await this.#turn(by, `asks for ${label}`)
    if (options.signal?.aborted) throw failed('aborted')
    this.#inFlight.add(by)
    try {
      await this.#turn(NETWORK, `${label} arrives`)
      while (this.still) await this.still
      const met = fault ?? (this.denied.has(label) ? 'refused' : undefined)
      const answered = answer(met)
      await this.#turn(by, `answer to ${label}`)
      if (options.signal?.aborted) throw failed('aborted')
      if (met !== undefined && met in FAILURES) throw failed(met as keyof typeof FAILURES)
      return answered
    } finally {
      this.#inFlight.delete(by)
    }
  }
}

type Answer<T> = (fault: MirrorFault | undefined) => T

interface Query {
  enterprise_code?: string
  time_start?: string
  trade_no?: string
  page_index?: number
  page_no?: number
  page_size?: number
  taxpayer_nature?: number
}

const dayOf = ({ age }: Shown) => platformDay(new Date(Date.now() - age * DAY_MS))

function orderOf({ id, version }: Shown) {
  const { REFUNDING, REFUNDED, COMPLETED } = PAYMENT_ORDER_STATUS
  return {
    ...{ trade_no: id, out_trade_no: null, userid: null, subject: `v${version}`, assetCode: null },
    ...{ total_amount: '9.00', pay_amount: '9.00', refund_amount: '0.00', create_time: null },
    ...{ pay_time: null, refund_time: null },
    status: [COMPLETED, REFUNDING, REFUNDED][version % 3]?.value as number,
  }
}

function accountOf({ id, version }: Shown) {
  const sub_limits = hasSub(version) ? [{ id: `${id}-sub`, name: `v${version}`, status: 1 }] : []
  return {
    account_openid: id,
    name: `v${version}`,
    product_category: 1,
    balance: '1.00',
    status: 1,
    sub_limits,
  }
}

export const IDENTIFIER = '91310000MA1K000000'

function taxpayerOf({ id, version, age }: Shown) {
  return { identifier: IDENTIFIER, taxpayer_nature: 1 + (age % 2), taxpayer_name: id, status: version }
}

function pageOf<Row extends { status: number }>(
  all: Row[],
  page = 1,
  size = 1,
  fault: MirrorFault | undefined,
) {
  const data_list = all.slice((page - 1) * size, page * size).map(row => unfit(row, fault))
  if (fault === 'no_list') return { total_count: null, data_list: null }
  return { total_count: all.length + (fault === 'counts_more' ? 1 : 0), data_list }
}

function unfit<Row extends { status: number }>(row: Row, fault: MirrorFault | undefined): Row {
  return fault === 'unfit' ? { ...row, status: UNFIT } : row
}
