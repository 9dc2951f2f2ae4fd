import { describe, expect, test } from 'vitest'
import { PlatformClient } from '../../src/platform/client.ts'
import type { PlatformError } from '../../src/platform/errors.ts'
import { duringTest } from '../helpers/during.ts'
import { envelope, FakePlatform, ok, type Reply } from './fake-platform.ts'

const APP = 'mall0001'

const platform = duringTest(FakePlatform.start)
const client = duringTest(
  () => new PlatformClient({ baseUrl: platform.url, appId: APP, appSecret: 's', ratePerSecond: 10_000 }),
)

/** A reply with this text as its body: JSON numbers stay as they are written here. */
const text =
  (body: string): Reply =>
  response =>
    response.writeHead(200).end(body)

const order = (fields: string) => `{"trade_no":"T1",${fields}}`

describe('amounts', () => {
  test.each([
    ['0.1', '0.1'],
    ['100.00', '100.00'],
    ['99999999.99', '99999999.99'],
    ['1e2', '100'],
    ['1.5E+1', '15'],
    ['12345678901234567.89', '12345678901234567.89'],
    ['9007199254740993', '9007199254740993'],
    ['0', '0'],
    ['-3.50', '-3.50'],
    ['"100.00"', '100.00'],
    ['"12345678901234567.89"', '12345678901234567.89'],
    ['""', null],
    ['null', null],
  ])('%s is the text %j', async (written, amount) => {
    platform.plan('enterprise/consume/get', text(`{"code":0,"data":${order(`"pay_amount":${written}`)}}`))
    expect((await client.paymentOrders.get({ trade_no: 'T1' })).pay_amount).toBe(amount)
  })

  test.each(['"1,000.00"', '"ten"', '1e999', 'true', '{}'])('%s is no amount', async written => {
    platform.plan('enterprise/consume/get', text(`{"code":0,"data":${order(`"pay_amount":${written}`)}}`))
    await expect(client.paymentOrders.get({ trade_no: 'T1' })).rejects.toMatchObject({ kind: 'malformed' })
  })
})

test('a number that binary floating point cannot hold is the text that it was', async () => {
  const fields =
    '"userid":"u1","card_no":110101199003070011,"remark":0.10000000000000000055,"gender":1.0,"mobile":139e8'
  platform.plan('employee/get', text(`{"code":0.0,"data":{${fields}}}`))
  expect(await client.employees.get({ userid: 'u1' })).toEqual({
    userid: 'u1',
    card_no: '110101199003070011',
    remark: '0.10000000000000000055',
    gender: 1,
    mobile: '13900000000',
  })
  platform.plan('employee/get', text('{"code":0,"data":{"gender":110101199003070011}}'))
  await expect(client.employees.get({ userid: 'u1' })).rejects.toMatchObject({ kind: 'malformed' })
})

test.each([
  ['3.0', 3],
  ['"3.00"', 3],
  ['"3"', 3],
  ['""', null],
])('of an answer that is read by its source text, %s is the whole number %j', async (written, status) => {
  platform.plan('enterprise/consume/get', text(`{"code":0,"data":${order(`"status":${written}`)}}`))
  expect((await client.paymentOrders.get({ trade_no: 'T1' })).status).toBe(status)
})

test('a field that cannot be read is named, once however many rows have it, and never its value', async () => {
  const rows = ['1', '3', '"secret"'].map(status => order(`"status":${status},"pay_amount":"1,234.50"`))
  platform.plan(
    'enterprise/consume/list',
    text(`{"code":0,"data":{"total_count":3,"data_list":[${rows}]}}`),
    ok([]),
    text('<html>'),
  )
  const failure = () =>
    client.paymentOrders.page({}).then(
      () => expect.unreachable(),
      (error: PlatformError) => error,
    )
  const named = await failure()
  expect(named.unreadable).toEqual(['data_list.0.pay_amount', 'data_list.2.status'])
  expect(named.message).toContain('cannot use it: data_list.0.pay_amount, data_list.2.status.')
  expect(named.message).not.toMatch(/1,234|secret|could not be reached/)
  expect((await failure()).unreadable).toEqual(['data'])
  const page = await failure()
  expect(page.unreadable).toBeUndefined()
  expect(page.message).toContain('not what the specification says')
})

test('a token that is queried may have no time left; a new one has some', async () => {
  const spent = ok({ access_token: 't', expires_in: 0 })
  platform.plan('token/create', ok({ access_token: 't', expires_in: 60 }), spent)
  platform.plan('token/getTokenInfo', spent)
  expect(await client.tokens.info()).toEqual({ access_token: 't', expires_in: 0 })
  await expect(client.tokens.create()).rejects.toMatchObject({ kind: 'malformed' })
})

describe('a payment order', () => {
  test('every field, down to the products; what is absent is null', async () => {
    platform.plan(
      'enterprise/consume/get',
      text(`{"code":0,"msg":"OK","data":{
        "trade_no":1234567890123456,"out_trade_no":"O1","userid":"u1","payer_name":"","subject":null,
        "total_amount":10.00,"pay_amount":9.90,"refund_amount":0.00,"status":3,
        "create_time":"2026-11-21 08:00:00","pay_time":"","refund_time":"0000-00-00 00:00:00",
        "asset_code":"POINT","surprise":[1],
        "commerce_order_detail":{"shop_order_code":"S1","activity_type":2,"order_price":10.00,"logistics_amount":"0.50",
          "trade_status":99,"trade_type":1,
          "order_list":[{"order_price":10.00,"order_status":15,"trade_status":2,"time_created":"2026-11-21 00:00:00",
            "product_list":[{"spu_code":"P1","current_price":5.00,"deal_price":4.95,"purchase_num":2}]}]}}}`),
    )
    expect(await client.paymentOrders.get({ trade_no: '1234567890123456' })).toEqual({
      trade_no: '1234567890123456',
      out_trade_no: 'O1',
      userid: 'u1',
      payer_name: '',
      subject: null,
      total_amount: '10.00',
      pay_amount: '9.90',
      refund_amount: '0.00',
      status: 3,
      create_time: new Date('2026-11-21T00:00:00Z'),
      pay_time: null,
      refund_time: null,
      assetCode: 'POINT',
      commerce_order_detail: {
        shop_order_code: 'S1',
        activity_type: 2,
        buyer_name: null,
        order_price: '10.00',
        logistics_amount: '0.50',
        trade_status: 99,
        trade_type: 1,
        remark: null,
        cancel_order_reason_desc: null,
        order_list: [
          {
            delivery_name: null,
            delivery_phone: null,
            address: null,
            order_price: '10.00',
            order_status: 15,
            trade_status: 2,
            time_created: new Date('2026-11-20T16:00:00Z'),
            time_delivery: null,
            time_delivery_end: null,
            time_closed: null,
            logistics_amount: null,
            product_list: [
              {
                spu_code: 'P1',
                spu_name: null,
                product_title: null,
                sku_code: null,
                sku_name: null,
                sku_pic_url: null,
                sku_category: null,
                current_price: '5.00',
                deal_price: '4.95',
                purchase_num: 2,
              },
            ],
          },
        ],
      },
    })
  })

  test.each([
    ['"assetCode":"CASH"', 'CASH'],
    ['"asset_code":"QUOTA"', 'QUOTA'],
    ['"assetCode":"CASH","asset_code":"QUOTA"', 'CASH'],
    ['"assetCode":null,"asset_code":"THIRD"', 'THIRD'],
    ['"assetCode":"SOMETHING_NEW"', 'SOMETHING_NEW'],
    ['"status":1', null],
  ])('with %s has the asset code %s', async (fields, code) => {
    platform.plan('enterprise/consume/get', text(`{"code":0,"data":${order(fields)}}`))
    const answer = await client.paymentOrders.get({ trade_no: 'T1' })
    expect(answer.assetCode).toBe(code)
    expect(answer).not.toHaveProperty('asset_code')
  })
})

describe('the payment order list', () => {
  const page = '"total_count":1,"data_list":[{"trade_no":"T1","pay_amount":1.10}]'

  test.each([
    ['under data', `{"code":0,"msg":"OK","data":{${page}}}`],
    ['at the top level', `{${page}}`],
    ['at the top level beside a code', `{"code":0,"msg":"OK",${page}}`],
    ['at the top level beside an empty data', `{"code":0,"msg":"OK","data":null,${page}}`],
  ])('%s', async (_, body) => {
    platform.plan('enterprise/consume/list', text(body))
    const answer = await client.paymentOrders.page({})
    expect(answer).toMatchObject({ total_count: 1, data_list: [{ trade_no: 'T1', pay_amount: '1.10' }] })
  })

  test.each([
    ['{"total_count":0,"data_list":null}', 0],
    ['null', null],
  ])('no rows: %s', async (data, total_count) => {
    const page = () => text(`{"code":0,"data":${data}}`)
    platform.plan('enterprise/consume/list', page(), page())
    expect(await client.paymentOrders.page({})).toEqual({ total_count, data_list: [] })
    // As it came: a mirror has to tell the two apart.
    expect(await client.call('enterprise/consume/list', {})).toEqual({ total_count, data_list: null })
  })

  test.each(['{}', '[]', 'null', '"x"', '{"data":null}', '{"total_count":3}', 'sorry'])(
    '%s is no page',
    async body => {
      platform.plan('enterprise/consume/list', text(body))
      await expect(client.paymentOrders.page({})).rejects.toMatchObject({ kind: 'malformed' })
    },
  )

  test('an error has its code in either shape', async () => {
    platform.plan('enterprise/consume/list', envelope(1000240002, 'enterprise_code check failed', null))
    await expect(client.paymentOrders.page({})).rejects.toMatchObject({ platformCode: 1000240002 })
  })

  test('no other operation may come without its envelope', async () => {
    platform.plan('enterprise/consume/get', text(order('"status":3')))
    await expect(client.paymentOrders.get({ trade_no: 'T1' })).rejects.toMatchObject({ kind: 'malformed' })
  })
})

test('an order record is the object, or a bare trade number', async () => {
  const outer_trade_no = `${APP}-T1`
  platform.plan(
    'seller/pay/record',
    text(
      '{"code":0,"data":{"outer_trade_no":"mall0001-T1","pay_amount":10.00,"refund_amount":2.50,"status":2}}',
    ),
    text('{"code":0,"data":"2026112100000001"}'),
    text('{"code":0,"data":20261121000000012345}'),
    text('{"code":0,"data":""}'),
  )
  expect(await client.orders.record({ outer_trade_no })).toEqual({
    outer_trade_no,
    reason: null,
    pay_amount: '10.00',
    refund_amount: '2.50',
    status: 2,
    refund_time: null,
    pay_time: null,
  })
  expect(await client.orders.record({ outer_trade_no })).toBe('2026112100000001')
  expect(await client.orders.record({ outer_trade_no })).toBe('20261121000000012345')
  await expect(client.orders.record({ outer_trade_no })).rejects.toMatchObject({ kind: 'malformed' })
})

test('limit accounts, with sub-accounts or without, and with unknown categories', async () => {
  platform.plan(
    'assets/limit/enterprise/get',
    text(`{"code":0,"data":[
      {"account_openid":"A1","name":"福利","product_category":107,"balance":1000000.10,"status":1,
       "sub_limits":[{"id":9007199254740993,"name":"a","status":2}]},
      {"account_openid":"A2","balance":0,"status":7}]}`),
    text('{"code":0,"data":null}'),
    text('{"code":0,"msg":"OK"}'),
  )
  expect(await client.limitAccounts.list()).toEqual([
    {
      account_openid: 'A1',
      name: '福利',
      product_category: 107,
      balance: '1000000.10',
      status: 1,
      sub_limits: [{ id: '9007199254740993', name: 'a', status: 2 }],
    },
    { account_openid: 'A2', name: null, product_category: null, balance: '0', status: 7, sub_limits: null },
  ])
  expect(await client.limitAccounts.list({ account_openid: 'A9' })).toEqual([])
  await expect(client.limitAccounts.list()).rejects.toMatchObject({ kind: 'malformed' })
})

test('a page of taxpayers', async () => {
  platform.plan(
    'taxpayer/findList',
    text(`{"code":0,"data":{"total_count":1,"has_next":false,"data_list":[
      {"taxpayer_name":"公司","identifier":"91110000600037341L","taxpayer_nature":1,"status":1}]}}`),
  )
  expect(
    await client.call('taxpayer/findList', { identifier: '91110000600037341L', taxpayer_nature: 1 }),
  ).toEqual({
    total_count: 1,
    has_next: false,
    data_list: [{ taxpayer_name: '公司', identifier: '91110000600037341L', taxpayer_nature: 1, status: 1 }],
  })
  expect(Object.fromEntries(platform.of('taxpayer/findList')[0]?.form ?? [])).toEqual({
    identifier: '91110000600037341L',
    taxpayer_nature: '1',
  })
})

test('null in place of a page of taxpayers is an empty one that counts nothing', async () => {
  platform.plan('taxpayer/findList', ok(null), ok(null), ok(null))
  const none = { total_count: null, has_next: null, data_list: [] }
  expect(await client.taxpayers.page({ identifier: 'I' })).toEqual(none)
  // As it came: a mirror has to tell the two apart.
  const asItCame = await client.call('taxpayer/findList', { identifier: 'I' })
  expect(asItCame).toEqual({ ...none, data_list: null })
  expect(await client.taxpayers.list({ identifier: 'I' }).next()).toEqual({ done: true, value: null })
})

test('of two token queries the second waits a second, sixty a minute, and holds up nothing else', async () => {
  const answer = () => envelope(0, 'OK', { access_token: 't', expires_in: 60 })
  platform.plan('token/getTokenInfo', answer(), answer())
  await client.tokens.info()
  const abort = new AbortController()
  const next = client.tokens.info({ signal: abort.signal })
  await client.departments.delete({ dept_code: 'D1' })
  expect(platform.of('token/getTokenInfo')).toHaveLength(1)
  abort.abort()
  await expect(next).rejects.toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
  expect(platform.of('token/getTokenInfo')).toHaveLength(1)
})

describe('a text that cannot be stored or shown', () => {
  test.each([
    [String.raw`a\u0000b`, 'a\ufffdb'],
    [String.raw`a\ud83db`, 'a\ufffdb'],
    [String.raw`\ude00\uD83D`, '\ufffd\ufffd'],
    [String.raw`\ud83d\ud83d\ude00`, '\ufffd😀'],
    [String.raw`\uD83D\uDE00`, '😀'],
    [String.raw`\\u0000\\ud83d`, String.raw`\u0000\ud83d`],
    [String.raw`\"\\\u0000`, '"\\\ufffd'],
    [String.raw`\n\u00e9`, '\né'],
  ])('%s is the text %j', async (written, read) => {
    platform.plan('enterprise/consume/get', text(`{"code":0,"data":${order(`"subject":"${written}"`)}}`))
    expect((await client.paymentOrders.get({ trade_no: 'T1' })).subject).toBe(read)
  })
})

test.each([
  ['employee/get', { userid: 'u1' }, { userid: 'u2', name: 'Ben' }],
  ['employee/openid', { userid: 'u1', seller_appid: 'mall0002' }, { userid: 'u2', open_userid: 'O2' }],
  ['enterprise/consume/get', { trade_no: 'T1' }, { trade_no: 'T2' }],
  ['seller/pay/record', { outer_trade_no: `${APP}T1` }, { outer_trade_no: `${APP}T2`, refund_amount: 1 }],
] as const)('an answer of %s about another one is no answer', async (operation, query, data) => {
  platform.plan(operation, ok(data), ok({ ...data, ...query }))
  await expect(client.call(operation, query)).rejects.toMatchObject({ code: 'PLATFORM_MALFORMED' })
  expect(await client.call(operation, query)).toBeTypeOf('object')
})

test('categories come as a list, or as the text joined with commas that they are sent as', async () => {
  platform.plan('employee/get', ok({ category: ['b', 'a'] }), ok({ category: 'b,a' }), ok({ category: null }))
  const get = async () => (await client.employees.get({ userid: 'u1' })).category
  expect(await get()).toEqual(['b', 'a'])
  expect(await get()).toEqual(['b', 'a'])
  expect(await get()).toBeNull()
})

test('a deletion is confirmed by the code of its department, in any spelling, or by no code at all', async () => {
  platform.plan('department/delete', ok('D2'), ok(' d1 '), ok(null))
  await expect(client.departments.delete({ dept_code: 'D1' })).rejects.toMatchObject({
    code: 'PLATFORM_MALFORMED',
    disposition: 'retry',
  })
  expect(await client.departments.delete({ dept_code: 'D1' })).toBe(' d1 ')
  expect(await client.departments.delete({ dept_code: 'D1' })).toBe('')
})

test('headers that come twice, from the platform and from a gateway, are read once', async () => {
  const twice = ['retry-after', '7', 'retry-after', '8', 'x-trace-id', 'a', 'x-trace-id', 'b']
  platform.plan('employee/get', response => response.writeHead(503, twice).end())
  await expect(client.employees.get({ userid: 'u1' })).rejects.toMatchObject({
    code: 'PLATFORM_HTTP',
    retryAfterMs: 7000,
    traceId: 'a',
  })
})
