import { APP_ID } from './contract-under-test.ts'

/** The fields of a refund (specification 2.9) with their limits, written down from its tables. */

export const MOST = '99999999.99'

type Limits = Record<string, number>

const upTo = (limit: number, names: string): Limits =>
  Object.fromEntries(names.split(' ').map(name => [name, limit]))

/** Longest texts. */
export const TEXTS = {
  request: { ...upTo(254, 'reason notifyUrl') },
  tradeInfo: {
    ...upTo(50, 'provinceCode provinceName cityCode cityName locationCode locationName'),
    ...upTo(50, 'shopPhone recipientName recipientPhone thirdTradeNo thirdRefundNo'),
    ...upTo(100, 'shopName poiCateCode poiCateDesc poi2ndCateCode poi2ndCateDesc'),
    ...upTo(100, 'poi3rdCateCode poi3rdCateDesc'),
    ...upTo(500, 'shopAddress recipientAddress'),
  },
  thirdOrder: upTo(50, 'thirdSubTradeNo thirdSubRefundNo'),
  goods: {
    ...upTo(50, 'skuCode skuName taxCode'),
    ...upTo(100, 'skuCateCode skuCateDesc sku2ndCateCode sku2ndCateDesc sku3rdCateCode sku3rdCateDesc'),
    ...upTo(20, 'taxUnit'),
  },
} satisfies Record<string, Limits>

/** Amounts from 0.01, those from 0.00, and those of which the tables name no range; none is more than 99999999.99. */
export const AMOUNTS = {
  request: { paid: ['refundAmount', 'deliveryFee'], cost: ['costAmount'], any: [] },
  tradeInfo: { paid: ['thirdRefundAmount'], cost: ['thirdCostAmount', 'thirdDeliveryFee'], any: [] },
  thirdOrder: {
    paid: ['thirdSubRefundAmount'],
    cost: ['thirdSubDeliveryFee', 'thirdSubCostAmount'],
    any: [],
  },
  goods: { paid: [], cost: ['costAmount'], any: ['price', 'taxRate', 'amount', 'gatAmount', 'freight'] },
} satisfies Record<string, { paid: string[]; cost: string[]; any: string[] }>

export type Part = keyof typeof TEXTS

/** Where the part stands in a request; an empty path is the request itself. */
export const PLACES: Record<Part, string[]> = {
  request: [''],
  tradeInfo: ['tradeInfo.'],
  thirdOrder: ['tradeInfo.thirdOrders.0.'],
  goods: ['tradeInfo.goodsDetail.0.', 'tradeInfo.thirdOrders.0.goodsDetail.0.'],
}

/** Every text as long as it may be, in characters beyond the first 65,536; every amount the highest or the least. */
function filled(part: Part, extreme: 'most' | 'least'): Record<string, unknown> {
  const { paid, cost, any } = AMOUNTS[part]
  const texts = Object.entries(TEXTS[part]).map(([name, limit]) => [
    name,
    extreme === 'most' ? '𠮷'.repeat(limit) : 'x',
  ])
  return {
    ...Object.fromEntries(texts),
    ...Object.fromEntries(paid.map(name => [name, extreme === 'most' ? MOST : '0.01'])),
    ...Object.fromEntries(cost.map(name => [name, extreme === 'most' ? MOST : '0.00'])),
    ...Object.fromEntries(any.map(name => [name, extreme === 'most' ? MOST : `-${MOST}`])),
  }
}

const ownNumber = (name: string, extreme: 'most' | 'least') =>
  extreme === 'most' ? `${APP_ID}-${name}-`.padEnd(50, '0') : `${APP_ID}-${name}`

/** A refund with every field there is, split into sub-orders (isThirdOrders 1) or with goods alone (2). */
export function fullRefund(name: string, isThirdOrders: 1 | 2, extreme: 'most' | 'least') {
  const goods = {
    ...filled('goods', extreme),
    quantity: extreme === 'most' ? 2_147_483_647 : 0,
    invoiceType: extreme === 'most' ? 2 : 1,
  }
  const { thirdCostAmount, ...tradeInfo } = filled('tradeInfo', extreme)
  return {
    ...filled('request', extreme),
    notifyUrl: `http://127.0.0.1:9/${'n'.repeat(extreme === 'most' ? 254 - 19 : 1)}`,
    outerTradeNo: ownNumber(`trade-${name}`, extreme),
    outerRefundNo: ownNumber(`refund-${name}`, extreme),
    tradeInfo: {
      ...tradeInfo,
      thirdCostAmount,
      thirdPayAmount: thirdCostAmount,
      isThirdOrders,
      thirdOrders:
        isThirdOrders === 1
          ? [
              {
                ...filled('thirdOrder', extreme),
                outerTradeNo: ownNumber(`sub-${name}`, extreme),
                goodsDetail: [goods],
              },
            ]
          : undefined,
      goodsDetail: isThirdOrders === 2 ? [goods] : undefined,
    },
  }
}
