import { ASSET_CODE } from '../platform/states.ts'
import { numbers } from './figures.ts'
import { type Language, translator } from './texts.ts'

/** The platform names no currency: it is Chinese, and so are its amounts (docs/money.md). */
const CURRENCY = 'CNY'

/** Longer fractions are unknown to the platform; none is rounded. */
const EXACT = { maximumFractionDigits: 20 } as const
const UNITS = { ...EXACT, minimumFractionDigits: 2, trailingZeroDisplay: 'stripIfInteger' } as const

/** How amounts are called that are not money, by asset. */
const NAMED = {
  [ASSET_CODE.POINT.value]: 'money.points',
  [ASSET_CODE.QUOTA.value]: 'money.quota',
  [ASSET_CODE.THIRD.value]: 'money.third',
} as const

/**
 * An amount for people, with its currency, or in the unit of its asset.
 * @param text a decimal, as the database and the platform have it: as a number it would lose digits
 * @param asset `assetCode` of a payment order; null: it is not known, and the amount is money
 */
export function moneyText(language: Language, text: string, asset: string | null = null): string {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return text
  const decimal = text as `${number}`
  if (asset === null || asset === ASSET_CODE.CASH.value)
    return numbers(language, { style: 'currency', currency: CURRENCY, ...EXACT }).format(decimal)
  const count = /^1(\.0*)?$/.test(text) ? 1 : 2
  const amount = numbers(language, UNITS).format(decimal)
  const name = NAMED[asset as keyof typeof NAMED]
  return name ? translator(language)(name, { amount, count }) : `${amount} ${asset}`
}
