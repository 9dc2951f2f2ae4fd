import type pg from 'pg'
import { order } from '../mirrors/mirror-under-test.ts'
import type { Dice } from './dice.ts'
import type { Platform } from './platform.ts'

/** What dirsync mirrors, and that changes on the platform all the time: payment orders, limit accounts, taxpayers. */

const IDENTIFIERS = ['91330100TEST000001', '91330100TEST000002']
/** More than a page of each. */
const FIRST_ORDERS = 250
const MOST_ORDERS = 1500
const TAXPAYERS = 240
const ACCOUNTS = 20
const MOST_AT_ONCE = 20

export const MIRROR_SETTINGS = {
  MIRRORS: 'orders,accounts,taxpayers',
  TAXPAYER_IDENTIFIERS: IDENTIFIERS.join(','),
  SCHEDULE_MIRROR_ORDERS: '*/20 * * * * *',
  SCHEDULE_MIRROR_ACCOUNTS: '*/20 * * * * *',
  SCHEDULE_MIRROR_TAXPAYERS: '*/30 * * * * *',
}

/** Rows of the platform that dirsync mirrors; `rows` of its state, as `sql` reads them from a mirror. */
const KINDS = [
  {
    what: 'order',
    rows: 'orders',
    facts: [
      'trade_no',
      'userid',
      'subject',
      'total_amount',
      'pay_amount',
      'refund_amount',
      'status',
      'asset_code',
    ],
    sql: `select trade_no, userid, subject, total_amount, pay_amount, refund_amount, status, asset_code
          from dirsync.payment_order where gone_at is null`,
  },
  {
    what: 'account',
    rows: 'accounts',
    facts: ['account_openid', 'name', 'balance', 'status', 'sub_limits'],
    sql: `select account_openid, name, balance, status,
                 (select jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name, 'status', s.status) order by s.id)
                  from dirsync.limit_sub_account s
                  where s.account_openid = a.account_openid and s.gone_at is null) as sub_limits
          from dirsync.limit_account a where gone_at is null`,
  },
  {
    what: 'taxpayer',
    rows: 'taxpayers',
    facts: ['identifier', 'taxpayer_name', 'taxpayer_nature', 'status'],
    sql: `select identifier, taxpayer_name, taxpayer_nature, status from dirsync.taxpayer where gone_at is null`,
  },
] as const

export class Mirrored {
  readonly #platform: Platform
  readonly #userids: readonly string[]
  #orders = 0
  /** How many rows have been changed. */
  edits = 0

  constructor(platform: Platform, userids: readonly string[]) {
    this.#platform = platform
    this.#userids = userids
  }

  async seed(dice: Dice): Promise<void> {
    await this.#platform.control('POST', 'state', {
      orders: Array.from({ length: FIRST_ORDERS }, () => this.#newOrder(dice)),
      accounts: Array.from({ length: ACCOUNTS }, (_, i) => account(i, dice)),
      taxpayers: Array.from({ length: TAXPAYERS }, (_, i) => taxpayer(i, dice)),
    })
  }

  /** People order, pay and are refunded; accounts lose sub-accounts; taxpayers change their nature. */
  async change(dice: Dice): Promise<string> {
    const some = <T>(of: () => T) => Array.from({ length: dice.between(0, MOST_AT_ONCE) }, of)
    const orders = some(() =>
      this.#orders < MOST_ORDERS && dice.roll() < 0.3
        ? this.#newOrder(dice)
        : this.#order(dice.between(1, this.#orders), dice),
    )
    const accounts = some(() => account(dice.between(0, ACCOUNTS - 1), dice))
    const taxpayers = some(() => taxpayer(dice.between(0, TAXPAYERS - 1), dice))
    await this.#platform.control('POST', 'state', { orders, accounts, taxpayers })
    const edits = orders.length + accounts.length + taxpayers.length
    this.edits += edits
    return `${edits} rows`
  }

  /** @returns what the mirrors have otherwise than the platform, a sentence each */
  async breaches(db: pg.Pool): Promise<string[]> {
    const state = await this.#platform.control<Record<string, Row[]>>('GET', 'state')
    const breaches: string[] = []
    for (const { what, rows, facts, sql } of KINDS) {
      const there = new Set((state[rows] ?? []).map(row => told(row, facts)))
      const here = new Set((await db.query<Row>(sql)).rows.map(row => told(row, facts)))
      for (const row of there) if (!here.has(row)) breaches.push(`the mirror lacks ${what} ${row}`)
      for (const row of here)
        if (!there.has(row)) breaches.push(`the platform lacks the mirror's ${what} ${row}`)
    }
    return breaches
  }

  #newOrder(dice: Dice): object {
    this.#orders += 1
    return this.#order(this.#orders, dice)
  }

  /** Of today or yesterday, which every run reads. */
  #order(number: number, dice: Dice): object {
    const status = dice.pick([1, 2, 3, 4, 5, 6, 7])
    return order(number, number % 2, {
      userid: this.#userids[number % this.#userids.length],
      status,
      pay_amount: status < 3 ? '0.00' : '12.50',
      refund_amount: status === 6 ? dice.pick(['4.00', '12.50']) : '0.00',
    })
  }
}

type Row = Record<string, unknown>

/** A row in words: amounts as numbers, ids as texts. */
function told(row: Row, facts: readonly string[]): string {
  const word = (name: string) => {
    const value = row[name]
    if (/amount|balance/.test(name)) return Number(value)
    if (name !== 'sub_limits') return value ?? ''
    return JSON.stringify(((value ?? []) as Row[]).map(sub => [String(sub.id), sub.name, sub.status]).sort())
  }
  return facts.map(name => `${name} ${word(name)}`).join(', ')
}

function account(i: number, dice: Dice): object {
  return {
    account_openid: `account-${i}`,
    name: `Account ${i}`,
    balance: `${dice.between(0, 9999)}.00`,
    status: dice.pick([1, 2]),
    sub_limits: Array.from({ length: dice.between(0, 3) }, (_, id) => ({
      id,
      name: `Part ${id}`,
      status: dice.pick([1, 2]),
    })),
  }
}

function taxpayer(i: number, dice: Dice): object {
  return {
    identifier: IDENTIFIERS[i % 2],
    taxpayer_name: `Taxpayer ${i}`,
    taxpayer_nature: dice.pick([1, 2]),
    status: dice.pick([1, 2]),
  }
}
