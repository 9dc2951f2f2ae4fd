import { ASSET_CODE } from '../platform/states.ts'
import { numbers } from './figures.ts'
import { type Language, translator } from './texts.ts'

/** The platform names no currency: it is Chinese, and so are its amounts (docs/money.md). */
const CURRENCY = 'CNY'

/** Longer fractions are unknown to the platform; none is rounded. */
const EXACT = { maximumFractionDigits: 20 } as const
const UNITS = { ...EXACT, minimumFractionDigits: 2, trailingZeroDisplay: 'stripIfInteger' } as const

const CASH = ASSET_CODE.CASH.value

/** How amounts are called that are not money, by asset. */
const NAMED = {
  [ASSET_CODE.POINT.value]: 'money.points',
  [ASSET_CODE.QUOTA.value]: 'money.quota',
  [ASSET_CODE.THIRD.value]: 'money.third',
} as const

/**
 * An amount for people, with its currency, or in the unit of its asset; the bare number where that is not known.
 * @param text a decimal, as the database and the platform have it: as a number it would lose digits
 * @param asset `assetCode` of a payment order; null: it is not known; by default money
 */
export function moneyText(language: Language, text: string, asset: string | null = CASH): string {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return text
  const decimal = text as `${number}`
  if (asset === CASH)
    return numbers(language, { style: 'currency', currency: CURRENCY, ...EXACT }).format(decimal)
  const amount = numbers(language, UNITS).format(decimal)
  if (asset === null) return amount
  const count = /^1(\.0*)?$/.test(text) ? 1 : 2
  const name = NAMED[asset as keyof typeof NAMED]
  return name ? translator(language)(name, { amount, count }) : `${amount} ${asset}`
}
