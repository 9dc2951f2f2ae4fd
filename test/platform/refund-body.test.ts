import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { PlatformClient } from '../../src/platform/client.ts'
import { duringTest } from '../helpers/during.ts'
import { APP_SECRET, envelope, FakePlatform, ok } from './fake-platform.ts'

const REFUND = 'seller/v3/pay/syncRefund'
const APP = 'mall0001'

const platform = duringTest(FakePlatform.start)
const client = duringTest(
  () =>
    new PlatformClient({
      baseUrl: platform.url,
      appId: APP,
      appSecret: APP_SECRET,
      ratePerSecond: 10_000,
      clock: () => 1_770_000_000_123,
    }),
)

const BASE = {
  outerTradeNo: `${APP}-T1`,
  outerRefundNo: `${APP}-R1`,
  reason: '商品损坏 "=&+%',
  refundAmount: '100.00',
}

test('the body is JSON with the decimals as given, signed byte for byte; the rest is in the query string', async () => {
  platform.plan(REFUND, ok('2026112100000001'))
  const tradeNo = await client.refunds.create({
    ...BASE,
    enterprise_code: '企业1',
    costAmount: '0.10',
    tradeInfo: { isThirdOrders: '2', goodsDetail: [{ skuName: '杯𠮷', quantity: 2, price: '12.30' }] },
  })
  expect(tradeNo).toBe('2026112100000001')

  const [request] = platform.of(REFUND)
  expect(request?.contentType).toBe('application/json')
  expect(request?.body).toBe(
    '{"outerTradeNo":"mall0001-T1","outerRefundNo":"mall0001-R1","reason":"商品损坏 \\"=&+%","refundAmount":100.00,' +
      '"costAmount":0.10,"tradeInfo":{"isThirdOrders":2,"goodsDetail":[{"skuName":"杯𠮷","quantity":2,"price":12.30}]}}',
  )
  const { sign, ...query } = Object.fromEntries(request?.query ?? [])
  expect(query).toEqual({
    appid: APP,
    access_token: 'token-1',
    grant_type: 'client_credential',
    version: '1.0.0',
    timestamp: '1770000000',
    enterprise_code: '企业1',
  })
  const signed =
    `_body=${request?.body}&access_token=token-1&appid=mall0001&appsecret=${APP_SECRET}&enterprise_code=企业1` +
    '&grant_type=client_credential&timestamp=1770000000&version=1.0.0'
  expect(sign).toBe(createHash('sha256').update(signed, 'utf8').digest('hex'))
})

test('a body holding non-ASCII text has the signature that was worked out elsewhere', async () => {
  await client.refunds.create(BASE)
  // printf '%s' '_body={…}&access_token=token-1&…' | sha256sum
  expect(platform.of(REFUND)[0]?.query.get('sign')).toBe(
    'a774cd768c4f7640e492da646452b030a77f24090380f585220d181243805f6a',
  )
})

test('whatever has no value is left out, wherever it stands, and texts are trimmed', async () => {
  await client.refunds.create({
    ...BASE,
    reason: ' damaged ',
    notifyUrl: '',
    tradeInfo: { shopName: ' a ', cityName: '', goodsDetail: [{ skuCode: ' ', skuName: ' b ' }] },
  })
  expect(JSON.parse(platform.of(REFUND)[0]?.body ?? '')).toEqual({
    ...BASE,
    reason: 'damaged',
    refundAmount: 100,
    tradeInfo: { shopName: 'a', goodsDetail: [{ skuName: 'b' }] },
  })
})

test.each(['0.1', '100.00', '99999999.99', '0.01', '7'])('the amount %s is sent as it is', async amount => {
  await client.refunds.create({ ...BASE, refundAmount: amount })
  expect(platform.of(REFUND)[0]?.body).toContain(`"refundAmount":${amount}}`)
})

test('the same body is sent again when the token was refused: nothing had happened', async () => {
  platform.plan(REFUND, envelope(1000210004, 'tokeninfo check failed!', null), ok('T9'))
  expect(await client.refunds.create(BASE)).toBe('T9')
  const [first, second] = platform.of(REFUND)
  expect(second?.body).toBe(first?.body)
  expect(second?.query.get('access_token')).toBe('token-2')
  expect(second?.query.get('sign')).not.toBe(first?.query.get('sign'))
})

test('the operation by its name takes the same request', async () => {
  platform.plan(REFUND, ok('T1'))
  expect(await client.call(REFUND, BASE)).toBe('T1')
})

test('a broken rule sends nothing, not even for a token', async () => {
  await expect(client.refunds.create({ ...BASE, outerRefundNo: 'other-R1' })).rejects.toMatchObject({
    code: 'PLATFORM_INVALID_REQUEST',
    problems: [{ field: 'outerRefundNo', rule: 'must begin with the application id' }],
  })
  expect(platform.requests).toEqual([])
})

test('a top-up is a form whose amount is the text as given', async () => {
  const external_code = APP.padEnd(30, '0')
  platform.plan('enterprise/account/applyCharge', ok({ apply_charge_openid: 'C1', external_code }))
  const answer = await client.topUps.apply({
    account_openid: 'A1',
    amount: '12345678.90',
    service_provider: 1,
    external_code,
    taxpayer: '公司',
  })
  expect(answer).toEqual({ apply_charge_openid: 'C1', external_code })
  expect(Object.fromEntries(platform.of('enterprise/account/applyCharge')[0]?.form ?? [])).toEqual({
    account_openid: 'A1',
    amount: '12345678.90',
    service_provider: '1',
    external_code,
    taxpayer: '公司',
  })
})
