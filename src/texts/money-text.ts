import { ASSET_CODE } from '../platform/states.ts'
import { numbers } from './figures.ts'
import { type Language, translator } from './texts.ts'

/** The platform names no currency: it is Chinese, and so are its amounts (docs/money.md). */
const CURRENCY = 'CNY'

/** Longer fractions are unknown to the platform; none is rounded. */
const EXACT = { maximumFractionDigits: 20 } as const
const POINTS = { ...EXACT, minimumFractionDigits: 2, trailingZeroDisplay: 'stripIfInteger' } as const

/**
 * An amount for people, with its currency, or in points.
 * @param text a decimal, as the database and the platform have it: as a number it would lose digits
 * @param asset `assetCode` of a payment order; amounts of any other but points are money
 */
export function moneyText(language: Language, text: string, asset: string | null = null): string {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return text
  const decimal = text as `${number}`
  if (asset !== ASSET_CODE.POINT.value)
    return numbers(language, { style: 'currency', currency: CURRENCY, ...EXACT }).format(decimal)
  const count = /^1(\.0*)?$/.test(text) ? 1 : 2
  return translator(language)('money.points', { amount: numbers(language, POINTS).format(decimal), count })
}
