import fc from 'fast-check'
import { pino } from 'pino'
import type { Entry, Journal } from '../../src/money/journal.ts'
import { JournalError } from '../../src/money/journal.ts'
import { readOpenMoney } from '../../src/money/open.ts'
import { recordNotification, refundJournal } from '../../src/money/refund.ts'
import { type SendOutcome, sendRefund, sendTopUp } from '../../src/money/send.ts'
import { refundSettler, settleNow } from '../../src/money/settle.ts'
import { topUpJournal } from '../../src/money/top-up.ts'
import { PlatformError } from '../../src/platform/errors.ts'
import { verifyNotification } from '../../src/platform/notification.ts'
import { cents, NOT_CARRIED_OUT_AFTER_MS } from '../../src/platform/refund-settlement.ts'
import { APP_ID, APP_SECRET, encode, fieldsOf, signed } from '../helpers/notification.ts'
import { clocks } from './clocks.ts'
import { type MoneyFault, MoneyPlatform, type Sending, tradeOf } from './money-platform.ts'
import { breachesOfMoney, countOf } from './money-truth.ts'
import { crowd, episodes, one, PASSING_TROUBLE, type Scenario, type Turn } from './play.ts'
import type { Process } from './process.ts'
import { as } from './schedule.ts'
import { ALONE } from './stage.ts'
import { isConnection, type World } from './world.ts'

/** Refunds and top-ups: sent, repeated, given up, notified about, settled and decided by people. */

type Kind = Sending['kind']

export type Happening =
  | { what: 'send'; process: number; kind: Kind; of: number; number: number; amount: string; named: boolean }
  | { what: 'give-up' | 'fail' }
  | { what: 'settle' | 'resolve'; process: number; which: number }
  | { what: 'notify'; process: number; which: number; says: 'the truth' | 'another amount' }
  | { what: 'fault'; call: 'send' | 'ask'; fault: MoneyFault }
  | { what: 'lag'; seconds: number }
  | { what: 'elsewhere' | 'mirror'; of: number }
  | { what: 'kill' | 'drop-connections'; process: number }
  | { what: 'lose-answer'; process: number; of: string }
  | { what: 'stand-still'; process: number; steps: number }
  | { what: 'slow'; steps: number }
  | { what: 'time'; seconds: number }
  | { what: 'clock'; whose: number | 'database'; seconds: number }

const process = fc.nat(1)
const which = fc.nat(3)
/** Of two orders, or accounts. */
const account = fc.constantFrom(0, 0, 0, 1)
const HOUR = 3600

const send = (kind: fc.Arbitrary<Kind>, number: fc.Arbitrary<number>) =>
  fc.record({
    what: fc.constant('send' as const),
    process,
    kind,
    of: account,
    number,
    amount: one('4.00', '4.00', '3.00'),
    named: fc.constantFrom(false, false, true),
  })
const orderOf = (kind: Kind, of: number) => `${APP_ID}-${kind}-${of}`

const SEND = send(one('refund', 'refund', 'topup'), fc.nat(2))

const fault = (call: 'send' | 'ask', ...faults: MoneyFault[]) =>
  fc.record({ what: fc.constant('fault' as const), call: fc.constant(call), fault: one(...faults) })
const notify = (says: Extract<Happening, { what: 'notify' }>['says']) =>
  fc.record({ what: fc.constant('notify' as const), process, which, says: fc.constant(says) })
const seconds = <What extends 'lag' | 'time'>(what: What, ...values: number[]) =>
  fc.record({ what: fc.constant(what), seconds: fc.constantFrom(...values) })

/** What gets in the way. */
const TROUBLE = {
  again: send(one('refund', 'topup'), fc.constant(0)),
  other: SEND,
  givenUp: fc.record({ what: fc.constant('give-up' as const) }),
  settled: fc.record({ what: fc.constant('settle' as const), process, which }),
  resolved: fc.record({ what: fc.constant('resolve' as const), process, which }),
  notified: notify('the truth'),
  misled: notify('another amount'),
  lost: fault('send', 'lost', 'lost', 'not_json'),
  without: fault('send', 'reset', 'unavailable', 'unlisted'),
  refused: fault('send', 'refused', 'wrong_secret', 'busy', 'not_sent'),
  unread: fault('ask', 'unavailable', 'lost', 'reset'),
  lagging: seconds('lag', 60, HOUR, 23 * HOUR, 60 * HOUR, 0),
  elsewhere: fc.record({ what: fc.constant('elsewhere' as const), of: account }),
  mirrored: fc.record({ what: fc.constant('mirror' as const), of: account }),
  failing: fc.record({ what: fc.constant('fail' as const) }),
  killed: fc.record({ what: fc.constant('kill' as const), process }),
  dropped: fc.record({ what: fc.constant('drop-connections' as const), process }),
  unanswered: PASSING_TROUBLE.lostAnswer,
  still: PASSING_TROUBLE.still,
  slow: PASSING_TROUBLE.slow,
  later: seconds('time', 7, 40, 700, 25 * HOUR),
  clock: fc.record({
    what: fc.constant('clock' as const),
    whose: fc.constantFrom(0, 1, 'database' as const),
    seconds: fc.constantFrom(400, -400, 25 * HOUR, -25 * HOUR),
  }),
} satisfies Record<string, fc.Arbitrary<Happening>>

type Trouble = keyof typeof TROUBLE
const KINDS = Object.keys(TROUBLE) as Trouble[]

/** What does harm together more than by itself, and meets too rarely where all else happens, too. */
const TOGETHER: Trouble[][] = [
  ['lost', 'slow', 'settled', 'notified'],
  ['dropped', 'lost', 'settled', 'notified'],
  ['dropped', 'still', 'later', 'resolved'],
  ['dropped', 'slow', 'notified', 'settled'],
  ['refused', 'unanswered', 'again'],
  ['lost', 'lagging', 'clock', 'settled'],
  ['without', 'clock', 'later', 'other'],
  ['elsewhere', 'lagging', 'other', 'without', 'other', 'later'],
  ['lagging', 'lost', 'without', 'mirrored', 'later', 'settled'],
  ['lagging', 'failing', 'mirrored', 'later', 'resolved', 'other', 'mirrored'],
  ['failing', 'without', 'lagging', 'resolved', 'mirrored', 'other', 'later'],
]
const arbitraries = (kinds: Trouble[]): fc.Arbitrary<Happening>[] => kinds.map(kind => TROUBLE[kind])

const TURNS: fc.Arbitrary<Turn<Happening>[]> = fc.oneof(
  fc
    .subarray(KINDS, { minLength: 3, maxLength: 10 })
    .chain(kinds => crowd<Happening>(fc.oneof(SEND, SEND, ...arbitraries(kinds)), 4, 16)),
  fc.constantFrom(...TOGETHER).chain(kinds => episodes<Happening>(SEND, arbitraries(kinds), SEND)),
  fc
    .shuffledSubarray(KINDS, { minLength: 2, maxLength: 5 })
    .chain(kinds => episodes<Happening>(SEND, arbitraries(kinds), SEND)),
)

export const money: Scenario<Happening> = {
  stage: ALONE,
  turns: TURNS,
  begin: async world => new Till(world),
}

const numberOf = (kind: Kind, of: string, number: number) =>
  `${of}-${kind === 'refund' ? `R${number}` : String(number).padStart(20, '0')}`

const FINAL = ['accepted', 'rejected', 'notified']
/** Seconds after which the vendor's word on a request that has not come is final. */
const VENDOR_KNOWS = 700

interface Row {
  kind: Kind
  number: string
  of: string
  amount: string
  state: string
  named: string[]
  can_be_asked: boolean
  /** Nothing has said that this accepted refund is completed. */
  is_unshown: boolean
  is_doubted: boolean
  /** A payment order behind its order is known, and no code of the platform leaves doubt: records tell if it never came. */
  can_be_ruled_out: boolean
}

const ROWS = `
  select 'refund' as kind, outer_refund_no as number, outer_trade_no as of, refund_amount::text as amount, state,
         '{}'::text[] as named, refunded_before is not null as can_be_asked,
         state = 'accepted' and shown_at is null and resolved_by is null as is_unshown,
         state = 'rejected' and contradicted_at > settled_at is true as is_doubted,
         platform_code is null
           and (exists (select from dirsync.payment_order where out_trade_no = outer_trade_no)
                or exists (select from dirsync.refund e
                           where e.outer_trade_no = r.outer_trade_no and e.trade_no <> '')) as can_be_ruled_out
  from dirsync.refund r
  union all
  select 'topup', external_code, account_openid, amount::text, state, although_open, false, false, false, false from dirsync.topup
  order by number`

class Till {
  readonly #world: World
  readonly #platform: MoneyPlatform
  readonly #breaches = new Set<string>()
  /** Requests whose person still waits. */
  readonly #waiting = new Set<AbortController>()
  /** When a number was first and last requested, and the state in which it was seen last. */
  readonly #firstRequestedAt = new Map<string, number>()
  readonly #requestedAt = new Map<string, number>()
  readonly #seen = new Map<string, string>()
  readonly #logger = pino(
    { level: 'error' },
    {
      write: (line: string) => {
        // A connection that dropped has its own codes.
        const { error, msg } = JSON.parse(line)
        if (/^(22|23|40|42|XX)/.test(error?.code ?? '')) this.#breaches.add(`${msg}: ${error.code}`)
      },
    },
  )

  constructor(world: World) {
    this.#world = world
    clocks.setRight()
    this.#platform = new MoneyPlatform(world.turn, sending => this.#expectWrittenDown(sending))
  }

  isOnItsWay = (call: Parameters<MoneyPlatform['isCalled']>[0]) => this.#platform.isCalled(call)

  async happen(next: Happening, acts: Promise<void>[]): Promise<void> {
    const world = this.#world
    switch (next.what) {
      case 'send':
        acts.push(this.#act(next.process, each => this.#send(each, next)))
        return
      case 'give-up':
        for (const person of [...this.#waiting].slice(0, 1)) person.abort()
        return
      case 'settle': {
        const row = await this.#pick(({ kind }) => kind === 'refund', next.which)
        if (row) acts.push(this.#act(next.process, each => this.#settleNow(each, row.number)))
        return
      }
      case 'resolve': {
        const row = await this.#pick(({ state, is_unshown }) => state === 'unknown' || is_unshown, next.which)
        if (row) acts.push(this.#act(next.process, each => this.#resolve(each, row)))
        return
      }
      case 'notify': {
        const { sendings, now } = this.#platform
        const due = sendings.filter(
          ({ kind, fate, fails, sentAt }) =>
            kind === 'refund' && fate === 'carried out' && !fails && now - sentAt < 24 * HOUR,
        )
        const sending = due[next.which % Math.max(1, due.length)]
        if (sending) acts.push(this.#act(next.process, each => this.#notify(each, sending, next.says)))
        return
      }
      case 'fault':
        this.#platform.faults[next.call].push(next.fault)
        return
      case 'fail':
        this.#platform.failures += 1
        return
      case 'lag':
        this.#platform.lag = next.seconds
        return
      case 'elsewhere':
        return this.#platform.refundElsewhere(orderOf('refund', next.of))
      case 'mirror':
        return this.#mirror(orderOf('refund', next.of))
      case 'kill':
      case 'drop-connections':
      case 'lose-answer':
      case 'stand-still':
        return world.befall(next)
      case 'slow':
        return world.standStill(this.#platform, next.steps)
      case 'time':
        return this.#pass(next.seconds)
      case 'clock':
        // Of two that are wrong at once none can be told from time that has passed.
        await this.#setClocksRight()
        if (next.whose === 'database') return this.#moveDatabaseClock(next.seconds)
        clocks.own.set(world.process(next.whose), next.seconds * 1000)
    }
  }

  async wake(process: number, acts: Promise<void>[]): Promise<void> {
    acts.push(this.#act(process, each => this.#settleDue(each)))
  }

  /** What a process does, until it ends or dies. */
  async #act(index: number, work: (process: Process) => Promise<void>): Promise<void> {
    const process = this.#world.process(index)
    const done = as(process, async () => {
      try {
        await work(process)
      } catch (error) {
        if (!process.dead && !isConnection(error)) this.#breaches.add(String((error as Error).stack))
      }
    })
    await Promise.race([done, process.died])
  }

  #deps(process: Process) {
    const { client, sent } = this.#platform.client(process)
    const { pool } = process
    return { pool, client, sent, logger: this.#logger, notCarriedOutAfterMs: NOT_CARRIED_OUT_AFTER_MS }
  }

  /** A person asks, and is told what became of it. */
  async #send(process: Process, request: Extract<Happening, { what: 'send' }>): Promise<void> {
    const { kind, amount, named } = request
    const of = orderOf(kind, request.of)
    const number = numberOf(kind, of, request.number)
    const open = named ? await this.#rows(row => row.of === of && !FINAL.includes(row.state)) : []
    const person = new AbortController()
    this.#waiting.add(person)
    const { now } = this.#platform
    this.#requestedAt.set(number, now)
    this.#firstRequestedAt.set(number, this.#firstRequestedAt.get(number) ?? now)
    const { sent, ...deps } = this.#deps(process)
    const options = { actor: 'cli:tester', signal: person.signal }
    try {
      const outcome =
        kind === 'refund'
          ? await sendRefund(
              deps,
              { outerRefundNo: number, outerTradeNo: of, refundAmount: amount, reason: 'returned' },
              options,
            )
          : await sendTopUp(
              deps,
              {
                external_code: number,
                account_openid: of,
                amount,
                service_provider: 1,
                taxpayer: 'Example Ltd',
              },
              { ...options, althoughOpen: open.map(row => row.number) },
            )
      this.#expectTold(outcome, sent)
    } catch (error) {
      if (!(error instanceof JournalError || error instanceof PlatformError)) throw error
      if (sent.some(each => each.fate === 'carried out' || this.#platform.isOnItsWay(each)))
        this.#breaches.add(`of ${number}, which was sent, it is said that it was not: ${error.message}`)
    } finally {
      this.#waiting.delete(person)
    }
  }

  #expectTold({ number, state }: SendOutcome, sent: Sending[]): void {
    const fate = sent.at(-1)?.fate
    const isTrue = { accepted: fate === 'carried out', rejected: fate === 'not carried out', unknown: true }[
      state
    ]
    if (!isTrue) this.#breaches.add(`it is said that ${number}, which is ${fate}, is ${state}`)
  }

  /** One round of the service's settler. */
  async #settleDue(process: Process): Promise<void> {
    const settler = refundSettler(this.#deps(process))
    settler.start()
    await settler.tried
    await settler.stop()
  }

  async #settleNow(process: Process, number: string): Promise<void> {
    try {
      await settleNow(this.#deps(process), number)
    } catch (error) {
      if (!(error instanceof JournalError)) throw error
    }
  }

  /** A person passes on what the vendor says, who knows what has come, and in time what will not come any more. */
  async #resolve({ pool }: Process, { kind, number }: Row): Promise<void> {
    const { sendings, now } = this.#platform
    const mine = sendings.filter(each => each.kind === kind && each.number === number)
    const accepted = mine.filter(({ fate }) => fate === 'carried out')
    // What is under way he cannot tell.
    if (accepted.some(({ shownAt }) => kind === 'refund' && shownAt > now)) return
    const isCarriedOut = accepted.some(({ fails }) => !fails)
    if (!isCarriedOut && now - (this.#requestedAt.get(number) ?? 0) < VENDOR_KNOWS) return
    const journal: Pick<Journal<Entry>, 'resolve'> = kind === 'refund' ? refundJournal : topUpJournal
    try {
      await journal.resolve(pool, number, isCarriedOut ? 'accepted' : 'rejected', 'the vendor says so', {
        actor: 'cli:tester',
        address: null,
      })
    } catch (error) {
      if (!(error instanceof JournalError)) throw error
    }
  }

  /** The platform notifies a process; what it sends may come twice, or never. */
  async #notify(process: Process, sending: Sending, says: 'the truth' | 'another amount'): Promise<void> {
    const isTrue = says === 'the truth'
    const fields = {
      ...fieldsOf(0, clocks.now),
      outer_refund_no: sending.number,
      outer_trade_no: sending.of,
      trade_no: tradeOf(sending.of),
      refund_amount: isTrue ? sending.amount : '9.99',
    }
    await this.#world.turn(process, 'a notification')
    const read = verifyNotification(encode(signed(fields)), {
      ...{ appId: APP_ID, appSecret: APP_SECRET, signAlgorithm: 'sha256' as const },
      now: Date.now(),
    })
    if (!read.ok) return
    const outcome = await recordNotification(process.pool, read.notification)
    if (outcome === 'unknown' || outcome === 'mismatch') return
    const [row] = await this.#rows(({ number }) => number === sending.number)
    if (!isTrue || row?.state !== 'notified')
      this.#breaches.add(`a notification of ${sending.number} is acknowledged, which is ${row?.state}`)
  }

  /** dirsync's mirror has the payment order of an order, as the platform shows it now. */
  async #mirror(of: string): Promise<void> {
    const { status, pay_amount, refund_amount } = this.#platform.paymentOrder(of)
    await this.#world.look(
      `insert into dirsync.payment_order as o (trade_no, out_trade_no, status, pay_amount, refund_amount)
       values ($1, $2, $3, $4, $5)
       on conflict (enterprise_code, trade_no) do update
       set status = excluded.status, refund_amount = excluded.refund_amount, changed_at = now()
       where (o.status, o.refund_amount) <> (excluded.status, excluded.refund_amount)`,
      [tradeOf(of), of, status, pay_amount, refund_amount],
    )
  }

  /** Time passes for all. */
  async #pass(seconds: number): Promise<void> {
    this.#platform.pass(seconds)
    await this.#world.pass(seconds)
  }

  async #setClocksRight(): Promise<void> {
    await this.#moveDatabaseClock(-clocks.database / 1000)
    clocks.setRight()
  }

  async #moveDatabaseClock(seconds: number): Promise<void> {
    clocks.database += seconds * 1000
    this.#platform.moved += seconds
    await this.#world.pass(seconds)
  }

  async #rows(isMeant: (row: Row) => boolean = () => true): Promise<Row[]> {
    return (await this.#world.look<Row>(ROWS)).filter(isMeant)
  }

  async #pick(isMeant: (row: Row) => boolean, which: number): Promise<Row | undefined> {
    const rows = await this.#rows(isMeant)
    return rows[which % Math.max(1, rows.length)]
  }

  // What must hold at any moment

  /** Law 14: it is written down, and beside it nothing is open that its sender did not name. */
  async #expectWrittenDown({ kind, number, of, amount }: Sending): Promise<void> {
    const rows = await this.#rows(row => row.kind === kind)
    const mine = rows.find(row => row.number === number)
    if (mine?.amount !== amount || mine.of !== of || FINAL.includes(mine.state))
      this.#breaches.add(`${number} over ${amount} is sent, and written down is ${JSON.stringify(mine)}`)
    for (const other of rows)
      if (
        other.of === of &&
        other !== mine &&
        !FINAL.includes(other.state) &&
        !mine?.named.includes(other.number)
      )
        this.#breaches.add(`${number} is sent although ${other.number} is ${other.state}`)
  }

  async expectTrue(): Promise<void> {
    const rows = await this.#rows()
    for (const [kind, noun] of [
      ['refund', 'refund'],
      ['topup', 'top-up'],
    ]) {
      const numbers = (isMeant: (sending: Sending) => boolean) =>
        this.#platform.sendings
          .filter(each => each.kind === kind && isMeant(each))
          .map(({ number }) => number)
      const breaches = breachesOfMoney({
        noun: noun as string,
        sent: countOf(numbers(({ fate }) => fate !== 'turned away')),
        carriedOut: new Set(numbers(each => each.fate === 'carried out' && !this.#platform.hasFailed(each))),
        failed: new Set(numbers(each => this.#platform.hasFailed(each))),
        onItsWay: new Set(numbers(each => this.#platform.isOnItsWay(each))),
        recorded: new Map(rows.filter(row => row.kind === kind).map(({ number, state }) => [number, state])),
      })
      for (const breach of breaches) this.#breaches.add(breach)
    }
    const states = new Map(rows.map(({ number, state }) => [number, state]))
    for (const [number, was] of this.#seen)
      if (FINAL.includes(was) && !FINAL.includes(states.get(number) ?? ''))
        this.#breaches.add(`${number} was ${was}, and is ${states.get(number)}`)
    for (const [number, state] of states) this.#seen.set(number, state)
  }

  // What must hold at rest

  async rest(): Promise<string[]> {
    const { faults } = this.#platform
    for (const ahead of Object.values(faults)) ahead.length = 0
    for (const process of this.#world.processes) process.losesAnswerOf = null
    await this.expectTrue()
    await this.#setClocksRight()
    const isShown = ({ kind, number }: Row) =>
      this.#platform.sendings.some(
        each =>
          each.kind === kind &&
          each.number === number &&
          each.shownAt > 0 &&
          each.shownAt <= this.#platform.now &&
          !each.fails,
      )
    await this.#settleAll(700, isShown)
    // Old enough to be called not carried out, and some are pending yet.
    await this.#settleAll(25 * HOUR, isShown)
    // A wrong clock may have made refunds younger than they are.
    await this.#settleAll(10 * 24 * HOUR, row => row.can_be_ruled_out || isShown(row))
    await this.#expectShown()
    for (const row of await this.#rows(({ state, is_unshown }) => state === 'unknown' || is_unshown)) {
      // As the refusal of what may still come says.
      if (row.is_unshown) await this.#act(0, each => this.#settleNow(each, row.number))
      await this.#act(0, each => this.#resolve(each, row))
    }
    await this.expectTrue()
    for (const { number, state, is_unshown } of await this.#rows())
      if (!FINAL.includes(state) || is_unshown)
        this.#breaches.add(`at rest: ${number} is ${state}, and nobody can decide about it`)
    await this.#expectSumsToFit()
    return [...this.#breaches]
  }

  /**
   * Law 15: no more is called completed than is refunded, and no refund is said to have come after all without money to say so. Others'
   * refunds of the order may be taken for either.
   */
  async #expectSumsToFit(): Promise<void> {
    const rows = await this.#rows(({ kind }) => kind === 'refund')
    for (const of of new Set(rows.map(row => row.of))) {
      await this.#mirror(of)
      for (const index of [0, 1]) await this.#act(index, each => this.#settleDue(each))
    }
    for (const [of, refunds] of Map.groupBy(
      await this.#rows(({ kind }) => kind === 'refund'),
      row => row.of,
    )) {
      const refunded = this.#platform.refunded(of)
      const completed = refunds.filter(({ state }) => /accepted|notified/.test(state))
      const sum = completed.reduce((all, { amount }) => all + (cents(amount) ?? 0n), 0n)
      if (sum > refunded)
        this.#breaches.add(`at rest: ${sum} of ${of} are called completed, and ${refunded} are refunded`)
      if (this.#platform.elsewhere.some(refund => refund.of === of)) continue
      for (const { number } of refunds.filter(({ is_doubted }) => is_doubted))
        this.#breaches.add(`at rest: it is said without cause that ${number} may have come`)
    }
  }

  /** After a while all is settled that the platform's records tell. */
  async #settleAll(seconds: number, isTold: (row: Row) => boolean): Promise<void> {
    await this.#pass(seconds)
    for (const index of [0, 1]) await this.#act(index, each => this.#settleDue(each))
    await this.expectTrue()
    for (const row of await this.#rows(({ state }) => !FINAL.includes(state)))
      if (row.state !== 'unknown' || (row.can_be_asked && isTold(row) && !this.#isBlurred(row)))
        this.#breaches.add(`at rest: ${row.number} is ${row.state} after ${seconds} s`)
  }

  /** The order record shows what others have refunded since, too: then a person has to find out. */
  #isBlurred({ number, of }: Row): boolean {
    const since = this.#firstRequestedAt.get(number) ?? 0
    return this.#platform.elsewhere.some(refund => refund.of === of && refund.shownAt >= since)
  }

  /** Law 15: who looks finds every unknown outcome, and that it waits for a person. */
  async #expectShown(): Promise<void> {
    const { pool } = this.#world.process(0)
    const open = await this.#rows(({ state }) => !FINAL.includes(state))
    const { refund, topup } = await readOpenMoney(pool)
    const counted = refund.for_person + topup.for_person
    const { rows: shown } = await pool.query(
      `select from dirsync.failed_syncs where category = 'outcome_unknown'`,
    )
    // Accepted, and nothing showed it for a week: a person has to find out, too.
    const { rows: lost } = await pool.query(
      `select from dirsync.refund where state = 'accepted' and shown_at is null and resolved_by is null
         and sent_at < now() - interval '7 days'`,
    )
    if (counted !== open.length + lost.length || shown.length !== open.length)
      this.#breaches.add(
        `at rest: of ${open.length} unknown outcomes ${counted} are counted, ${shown.length} shown`,
      )
  }
}
