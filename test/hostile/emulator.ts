import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import fc from 'fast-check'
import { OPERATIONS } from '../../emulator/operations/index.ts'
import { PlatformUnderTest, sign } from '../emulator/platform-under-test.ts'
import { CALLS, type HostileAnswer, hostileAnswer, respond } from './answers.ts'
import { type Kind, must } from './kind.ts'
import { damages, distorted } from './texts.ts'
import { type Answered, type Carriage, carriage, exchange, isPlain } from './wire.ts'

/*
 * The emulator on its port, as people meet it who try dirsync: calls of every operation, signed or not, its control interface, and a
 * receiver of its notifications that answers what it likes.
 */

type Names = Record<string, string>
type Asked =
  | { what: 'call'; operation: string; parameters: unknown; signed: 'right' | 'wrong' | 'not'; sent: Sent }
  | { what: 'control'; route: string; query: unknown; body: unknown; sent: Sent }
  | { what: 'notified'; answer: HostileAnswer }

interface Sent {
  damage: ((body: Buffer) => Buffer) | null
  carriage: Carriage
}

const APP = 'mall0001'
const NOTIFICATION_TIMEOUT_MS = 100
/** The emulator's own time-outs are minutes; nobody here makes it wait. */
const PATIENCE_MS = 20_000
const TIME = '2026-01-02 03:04:05'

const STATE = {
  enterprises: [
    { enterprise_code: 'E1', features: { level: true, category: false, employee_attribute: ['a'] } },
  ],
  departments: [
    { dept_code: 'D0', dept_name: 'Zero', base: true },
    { dept_code: 'D1', dept_name: 'One', parent_code: 'D0' },
  ],
  employees: [
    {
      ...{
        userid: 'u1',
        corp_code: 'C1',
        name: 'Ann',
        gender: 1,
        card_type: 2,
        card_no: 'P1',
        email: 'a@b.c',
      },
      ...{
        mobile_area: 86,
        mobile: '13812345678',
        remark: 'r',
        dept_code: 'D1',
        level: 'L1',
        category: ['c'],
      },
      ...{ birth_day: '1990-01-01', entry_day: '2020-01-01', cost_center_id: 1, in_service: true },
      ...{ employee_attribute: [{ attributeCode: 'a', attributeValue: 'b' }], time_created: TIME },
    },
    { userid: 'u2', mobile: '13912345678', time_created: TIME },
  ],
  openids: [{ userid: 'u1', seller_appid: APP, open_userid: 'o1' }],
  orders: [
    {
      ...{
        trade_no: 'T1',
        out_trade_no: `${APP}T`,
        userid: 'u1',
        payer_name: 'Ann',
        subject: 's',
        reason: 'x',
      },
      ...{
        total_amount: '10.00',
        pay_amount: 9,
        refund_amount: 0,
        status: 3,
        create_time: TIME,
        pay_time: TIME,
      },
      ...{ asset_code: 'POINT', service_fee: false },
      commerce_order_detail: {
        ...{ buyer_name: 'Ann', order_price: '10.00', trade_status: 1 },
        order_list: [
          {
            delivery_phone: '1',
            order_price: 10,
            product_list: [{ sku_code: 'S', deal_price: '1', purchase_num: 1 }],
          },
        ],
      },
    },
    { trade_no: 'T2', out_trade_no: `${APP}T2`, total_amount: '10.00', status: 1, create_time: TIME },
  ],
  refunds: [
    {
      outer_refund_no: `${APP}R0`,
      outer_trade_no: `${APP}T`,
      refund_amount: '0.50',
      reason: 'x',
      refund_time: TIME,
    },
  ],
  accounts: [
    {
      ...{ account_openid: 'A1', name: 'Points', product_category: 1, balance: '5.00', status: 1 },
      sub_limits: [{ id: 1, name: 'Sub', status: 1 }],
    },
  ],
  topups: [
    {
      ...{ external_code: `{appid}${'1'.repeat(22)}`, account_openid: 'A1', amount: '1.00' },
      ...{ apply_charge_openid: 'c1', time_created: TIME },
    },
  ],
  taxpayers: [{ identifier: 'I1', taxpayer_name: 'x', taxpayer_nature: 2, status: 1 }],
}

const REFUND = { ...CALLS['seller/v3/pay/syncRefund'], notifyUrl: 'http://127.0.0.1:9/' }

/** What each operation takes, with values that it takes. */
const PARAMETERS: Record<string, object> = {
  ...CALLS,
  'employee/update': {
    ...{
      userid: 'u1',
      name: 'Ann',
      code: 'C2',
      gender: '2',
      email: 'b@b.c',
      mobile_area: '86',
      mobile: '13712345678',
    },
    ...{
      remark: 'r',
      dept_code: 'D0',
      level: '#default#',
      category: 'a,b',
      birth_day: '01-02',
      entry_day: '2020-01-01',
    },
    ...{ card_type: '2', card_no: 'P2', employee_attribute: '[{"attributeCode":"a","attributeValue":"b"}]' },
    cost_center_id: '2147483647',
  },
  'employee/get': { userid: 'u1', mobile_area: '86', mobile: '13812345678', email: 'A@b.c' },
  'enterprise/consume/list': {
    time_start: '2026-01-01',
    time_end: '2026-12-31',
    page_index: '1',
    page_size: '100',
  },
  'enterprise/consume/get': { trade_no: 'T1' },
  'seller/pay/record': { outer_trade_no: `${APP}T` },
  'seller/v3/pay/syncRefund': {
    ...REFUND,
    tradeInfo: {
      ...{ shopName: 's', recipientPhone: '1', isThirdOrders: '1', third_refund_amount: 0.1 },
      thirdOrders: [
        { outerTradeNo: `${APP}T`, goodsDetail: [{ skuCode: 'x', quantity: '1', price: '1.00' }] },
      ],
    },
  },
  'taxpayer/findList': {
    identifier: 'I1',
    taxpayer_name: 'x',
    taxpayer_nature: '2',
    page_no: '1',
    page_size: '1',
  },
}

/** What the control interface takes. No rule makes calls wait: that is what such a rule is for. */
const CONTROL: { route: string; query?: object; body?: unknown }[] = [
  ...Object.entries(STATE).map(([name, body]) => ({ route: `POST ${name}`, body })),
  { route: 'POST state', body: STATE },
  { route: 'POST state', body: STATE },
  { route: 'GET state', query: { userid: 'u1' } },
  { route: 'POST orders/pay', body: { trade_no: 'T2' } },
  {
    route: 'POST faults',
    body: {
      ...{
        operation: 'employee/get',
        match: { userid: 'u1' },
        errorRate: 1,
        code: 7,
        message: 'x',
        httpStatus: 503,
      },
      ...{
        retryAfter: 1,
        body: 'x',
        times: 2,
        rateLimit: { kind: 'token-bucket', limit: 1, windowMs: 1000, scope: 'all' },
      },
    },
  },
  {
    route: 'POST faults',
    body: [
      { operation: '*', reset: true },
      { operation: '*', loseAnswer: true },
    ],
  },
  { route: 'GET faults' },
  { route: 'GET calls', query: { since: '0', operation: 'employee/get', limit: '10' } },
  { route: 'GET stats' },
  {
    route: 'POST shapes',
    body: { paymentOrderList: 'data', orderRecord: 'trade_no', assetCode: 'asset_code' },
  },
  { route: 'GET notifications' },
  { route: 'POST clock', body: { offsetSeconds: 3600 } },
  { route: 'POST token/expire' },
  { route: 'POST reset' },
]

const sent = fc.record<Sent>({
  damage: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, damages),
  carriage: carriage.map(one => ({
    ...one,
    end: one.end === 'silent' || one.end === 'drip' ? 'close' : one.end,
  })),
})

const answer = fc
  .tuple(hostileAnswer, fc.boolean())
  .map(([answer, isTaken]) => (isTaken ? { ...answer, body: Buffer.from('success') } : answer))

const inputs: fc.Arbitrary<Asked> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.constantFrom(...OPERATIONS.keys()).chain(operation =>
      fc.record({
        what: fc.constant('call' as const),
        operation: fc.constant(operation),
        parameters: distorted(PARAMETERS[operation], ['enterprise_code', 'sign', 'appid', 'version']),
        signed: fc.oneof(
          { weight: 8, arbitrary: fc.constant('right' as const) },
          fc.constantFrom('wrong', 'not'),
        ),
        sent,
      }),
    ),
  },
  {
    weight: 20,
    arbitrary: fc.constantFrom(...CONTROL).chain(({ route, query = {}, body }) =>
      fc.record({
        what: fc.constant('control' as const),
        route: fc.constant(route),
        query: distorted(query),
        body: body === undefined ? fc.constant(undefined) : distorted(body, ['enterprise_code', 'status']),
        sent,
      }),
    ),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('notified' as const), answer }) },
)

export const emulatorRequests: Kind<Asked> = {
  name: 'emulator-requests',
  what: 'calls, control requests and answers to notifications, to the emulator',
  share: 60,
  few: 300,
  inputs,
  open: () => Requests.open(),
}

class Requests {
  readonly #platform: PlatformUnderTest
  readonly #receiver: Server
  /** What the receiver of notifications says. */
  #answer: HostileAnswer | null = null
  /** What nothing has happened to. */
  #untouched = ''
  readonly #crashes: Error[] = []
  readonly #onCrash = (error: Error) => this.#crashes.push(error)

  private constructor(platform: PlatformUnderTest) {
    this.#platform = platform
    this.#receiver = createServer(socket => {
      socket.on('error', () => {}).once('data', () => this.#answer && respond(socket, this.#answer))
    }).listen(0, '127.0.0.1')
    process.on('uncaughtException', this.#onCrash)
  }

  static async open(): Promise<Requests> {
    const requests = new Requests(
      await PlatformUnderTest.start({
        appId: APP,
        strict: false,
        notificationTimeoutMs: NOTIFICATION_TIMEOUT_MS,
      }),
    )
    await once(requests.#receiver, 'listening')
    await requests.#begin()
    requests.#untouched = await requests.#state()
    return requests
  }

  async meet(asked: Asked): Promise<string> {
    try {
      const outcome = await (asked.what === 'call'
        ? this.#call(asked)
        : asked.what === 'control'
          ? this.#control(asked)
          : this.#notified(asked))
      const stacks = this.#crashes.splice(0).map(({ stack }) => stack)
      must(stacks.length === 0, `it would have ended: ${stacks.join('\n')}`)
      return `${asked.what} ${outcome}`
    } catch (error) {
      // A smaller input is to be judged by itself.
      await this.#begin()
      throw error
    }
  }

  async after(): Promise<void> {
    must((await this.#platform.get({ userid: 'u1' })).code === 0, 'it does not work any more')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('uncaughtException', this.#onCrash)
    this.#receiver.close()
    await this.#platform[Symbol.asyncDispose]()
  }

  async #begin(): Promise<void> {
    await this.#platform.reset()
    await this.#platform.control('POST', 'state', STATE)
  }

  async #state(): Promise<string> {
    const { status, text } = await this.#platform.request('/_emulator/state')
    must(status === 200, `its state cannot be read: ${status} ${text}`)
    return text
  }

  async #call({ operation, parameters, signed, sent }: Asked & { what: 'call' }): Promise<string> {
    const isJson = OPERATIONS.get(operation)?.encoding === 'json'
    const business = isJson ? {} : textsOf(parameters)
    const body = isJson ? (JSON.stringify(parameters) ?? '') : new URLSearchParams(business).toString()
    const open = this.#platform.publicParameters(
      operation === 'token/create' ? undefined : await this.#platform.token(),
    )
    const right = sign({ ...open, ...(isJson ? { _body: body } : business) })
    const query = {
      ...open,
      ...(signed !== 'not' && { sign: signed === 'right' ? right : right.toUpperCase() }),
    }
    const type = isJson ? 'application/json' : 'application/x-www-form-urlencoded'
    const path = `/${operation}?${new URLSearchParams(query)}`
    const { first, isAsMeant } = await this.#exchange(path, type, body, sent)
    if (first === undefined) {
      await this.#begin()
      return 'no answer'
    }
    const { code } = first.status === 200 ? JSON.parse(first.body) : { code: first.status }
    if (signed !== 'right' && isAsMeant)
      must(code === 1000210003 || code >= 400, `it is taken unsigned: ${code}`)
    // The list of orders comes without an envelope.
    if (code !== 0 && code !== undefined)
      must((await this.#state()) === this.#untouched, 'what it refused had an effect')
    else await this.#begin()
    return String(code ?? 0)
  }

  async #control({ route, query, body, sent }: Asked & { what: 'control' }): Promise<string> {
    const [method = '', name = ''] = route.split(' ')
    const asked = new URLSearchParams(textsOf(query)).toString()
    const carriage = { ...sent.carriage, ...(sent.carriage.method === 'POST' && { method }) }
    const text = body === undefined ? '' : (JSON.stringify(body) ?? '')
    const path = `/_emulator/${name}${asked && `?${asked}`}`
    const { first } = await this.#exchange(path, 'application/json', text, { ...sent, carriage })
    // Whatever rules there are now: a call ends, and they can be taken away.
    if (route === 'POST faults') await this.#platform.get({ userid: 'u1' }).catch(() => {})
    await this.#platform.control('DELETE', 'faults')
    await this.#platform.moveClock(0)
    const state = await this.#state()
    if (first?.status !== 200 && first !== undefined)
      must(state === this.#untouched, 'what it refused had an effect')
    if (state !== this.#untouched) {
      const again = await this.#platform.request('/_emulator/state', { method: 'POST', body: state })
      must(again.status === 200, `it does not take its own state: ${again.text}`)
      must((await this.#state()) === state, 'its own state changes it')
    }
    for (const operation of [
      'employee/get',
      'enterprise/consume/list',
      'enterprise/consume/get',
      'assets/limit/enterprise/get',
    ]) {
      const { status, text } = await this.#platform.call(operation, textsOf(PARAMETERS[operation]))
      must(status === 200, `${operation} answers ${status} ${text}`)
    }
    await this.#begin()
    return String(first?.status ?? 'no answer')
  }

  async #notified({ answer }: Asked & { what: 'notified' }): Promise<string> {
    this.#answer = answer
    const { port } = this.#receiver.address() as AddressInfo
    await this.#platform.callJson('seller/v3/pay/syncRefund', {
      ...REFUND,
      notifyUrl: `http://127.0.0.1:${port}/`,
    })
    for (;;) {
      const [notification] = await this.#platform.control('GET', 'notifications')
      const [attempt] = notification.attempts
      if (attempt === undefined) continue
      must(
        (notification.state === 'delivered') === (attempt.httpStatus === 200 && attempt.answer === 'success'),
        `it is ${notification.state} after ${JSON.stringify(attempt)}`,
      )
      await this.#begin()
      return notification.state
    }
  }

  /** What is answered: in time, by a sentence. */
  async #exchange(path: string, type: string, text: string, { damage, carriage }: Sent) {
    const body = damage === null ? Buffer.from(text) : damage(Buffer.from(text))
    const all = await exchange(this.#platform.emulator.port, path, type, body, carriage, PATIENCE_MS)
    // Node.js itself refuses what is no HTTP.
    const answers = all.filter(({ headers }) => /x-trace-id/.test(headers))
    for (const answer of answers) checkAnswer(answer)
    return { first: answers[0], isAsMeant: isPlain(carriage) && body.equals(Buffer.from(text)) }
  }
}

function checkAnswer({ status, headers, body }: Answered): void {
  const seen = `${status} ${body.slice(0, 300)}`
  must(status < 500, seen)
  must(!/node_modules|\bat \S+ \(.*\.ts:\d+/.test(body), `a stack is shown: ${seen}`)
  if (body === '') return
  const said = /json/.test(headers) && status !== 200 ? String(JSON.parse(body).error) : body
  must(
    status === 200 || (/[a-z]{2} /.test(said) && !/\[object|: undefined$/.test(said)),
    `no sentence: ${seen}`,
  )
}

/** As a form can carry it. */
function textsOf(parameters: unknown): Names {
  return Object.fromEntries(
    Object.entries(Object(parameters)).map(([name, value]) => [
      name.toWellFormed(),
      typeof value === 'string' ? value.toWellFormed() : (JSON.stringify(value) ?? ''),
    ]),
  )
}
