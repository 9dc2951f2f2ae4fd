import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { APP_ID, PlatformUnderTest } from './platform-under-test.ts'

const platform = duringFile(() => PlatformUnderTest.start({ strict: false }))

const TRADE_NO = `${APP_ID}-1`
const refund = {
  outerTradeNo: TRADE_NO,
  outerRefundNo: `${APP_ID}-R1`,
  refundAmount: '10.00',
  reason: 'returned',
}

beforeEach(async () => {
  await platform.reset()
  await platform.control('POST', 'state', {
    employees: [{ userid: 'u1', name: 'Ana' }],
    orders: [
      {
        trade_no: 't1',
        out_trade_no: TRADE_NO,
        total_amount: '100',
        pay_amount: '100',
        status: 3,
        userid: 'u1',
      },
    ],
  })
})

describe('what the emulator does not know is ignored', () => {
  test('as a form parameter', async () => {
    expect(await platform.update('u1', { name: 'Ana Lima', nickname: 'A', noSnake: 'true' })).toMatchObject({
      code: 0,
    })
    expect(await platform.employee('u1')).toMatchObject({ name: 'Ana Lima' })
  })

  test('as a member of a list in a form parameter', async () => {
    const attribute = { attributeCode: 'c1', attributeValue: 'v1', attributeName: 'Colour' }
    const sent = { employee_attribute: JSON.stringify([attribute]) }
    expect(await platform.update('u1', sent)).toMatchObject({ code: 0 })
    const { employee_attribute } = await platform.employee('u1')
    expect(employee_attribute).toEqual([{ attributeCode: 'c1', attributeValue: 'v1' }])
  })

  test("as a member of the refund's body, however deep", async () => {
    const goods = { skuCode: 's1', skuName: 'Tea', colour: 'green' }
    const tradeInfo = {
      isThirdOrders: 1,
      channel: 'app',
      thirdOrders: [{ thirdSubTradeNo: 'x1', channel: 'app', goodsDetail: [goods] }],
    }
    const answer = await platform.callJson('seller/v3/pay/syncRefund', {
      ...refund,
      buyerName: 'Ana',
      tradeInfo,
    })
    expect(answer).toMatchObject({ code: 0, data: 't1' })
  })

  test("the vendor's client sends version, grantType and noSnake in the refund's body", async () => {
    const body = { ...refund, version: '1.0.0', grantType: 'client_credential', noSnake: true }
    expect(await platform.callJson('seller/v3/pay/syncRefund', body)).toMatchObject({ code: 0, data: 't1' })
  })
})

describe("a null member of the refund's body", () => {
  test('is a parameter without a value, however deep', async () => {
    const tradeInfo = {
      isThirdOrders: 1,
      provinceCode: null,
      thirdOrders: [{ thirdSubTradeNo: 'x1', goodsDetail: null }],
    }
    const sent = { ...refund, notifyUrl: null, enterpriseCode: null, tradeInfo }
    expect(await platform.callJson('seller/v3/pay/syncRefund', sent)).toMatchObject({ code: 0, data: 't1' })
    const second = { ...refund, outerRefundNo: `${APP_ID}-R2`, tradeInfo: null }
    expect(await platform.callJson('seller/v3/pay/syncRefund', second)).toMatchObject({ code: 0 })
  })

  test('is missing where the field is required', async () => {
    const answer = await platform.callJson('seller/v3/pay/syncRefund', { ...refund, reason: null })
    expect(answer).toMatchObject({ code: 1000220002, msg: expect.stringContaining('reason is required') })
  })

  test('is refused within a list, and by an emulator that is strict', async () => {
    const order = { isThirdOrders: 1, thirdOrders: [null] }
    expect(
      await platform.callJson('seller/v3/pay/syncRefund', { ...refund, tradeInfo: order }),
    ).toMatchObject({ code: 1000220002, msg: expect.stringContaining('tradeInfo.thirdOrders.0') })
    await using strict = await PlatformUnderTest.start({ strict: true })
    expect(await strict.callJson('seller/v3/pay/syncRefund', { ...refund, notifyUrl: null })).toMatchObject({
      code: 1000220002,
      msg: expect.stringContaining('notifyUrl'),
    })
  })
})

test('a known parameter is checked as ever', async () => {
  expect(await platform.update('u1', { gender: '9', nickname: 'A' })).toMatchObject({
    code: 1000220002,
    msg: expect.stringContaining('gender'),
  })
})

test('a business parameter that comes in the query and in the body is refused all the same', async () => {
  const query = { enterprise_code: 'E1' }
  const answer = await platform.callJson(
    'seller/v3/pay/syncRefund',
    { ...refund, enterprise_code: 'E2' },
    query,
  )
  expect(answer).toMatchObject({ code: 1000220002, msg: expect.stringContaining('more than once') })
})

test('an emulator that is strict refuses a forgotten enterprise_code, where only others hold something', async () => {
  const group = {
    employees: [{ enterprise_code: 'E1', userid: 'u2' }],
    accounts: [{ enterprise_code: 'E1', account_openid: 'a1', name: 'A', product_category: 1, balance: '1' }],
  }
  const forgotten: Record<string, Record<string, string>> = {
    'employee/update': { userid: 'u2' },
    'employee/get': { userid: 'u2' },
    'assets/limit/enterprise/get': {},
    'taxpayer/findList': { identifier: 'x' },
  }
  const codes = async (emulator: PlatformUnderTest) => {
    const codes: unknown[] = []
    for (const [operation, params] of Object.entries(forgotten))
      codes.push((await emulator.call(operation, params)).code)
    return codes
  }
  await using strict = await PlatformUnderTest.start({ strict: true })
  expect(await codes(strict)).toEqual([1000220096, 1000220096, 0, 0])
  await strict.control('POST', 'state', group)
  expect(await codes(strict)).toEqual([1000240002, 1000240002, 1000240002, 1000240002])
  expect(await strict.get({ userid: 'u2', enterprise_code: 'E1' })).toMatchObject({ code: 0 })
  await strict.control('POST', 'employees', [{ userid: 'u1' }])
  expect(await codes(strict)).toEqual([1000220096, 1000220096, 0, 0])
  await platform.reset()
  await platform.control('POST', 'state', group)
  expect(await codes(platform)).toEqual([1000220096, 1000220096, 0, 0])
})

test('an emulator that is strict refuses them', async () => {
  await using strict = await PlatformUnderTest.start({ strict: true })
  expect(await strict.update('u1', { nickname: 'A' })).toMatchObject({
    code: 1000220002,
    msg: expect.stringContaining('unknown parameter nickname'),
  })
  const body = { ...refund, version: '1.0.0' }
  expect(await strict.callJson('seller/v3/pay/syncRefund', body)).toMatchObject({
    code: 1000220002,
    msg: expect.stringContaining('version is given more than once'),
  })
})
