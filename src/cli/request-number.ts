import { randomInt } from 'node:crypto'

/** No letter or digit that is mistaken for another one. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

/** Of a refund number and of a business number of a top-up (sections 2.9 and 4.12), in characters. */
export const REFUND_NUMBER = { mark: 'R', least: 2, most: 50 }
export const TOP_UP_NUMBER = { mark: 'T', least: 30, most: 100 }

/** A number that nobody else has: the application id, a mark, the second in UTC, and chance. */
export function newNumber(appId: string, { mark, least, most }: typeof REFUND_NUMBER, now: Date): string {
  const stem = `${appId}${mark}${now.toISOString().slice(0, 19).replace(/\D/g, '')}`
  const places = Math.min(Math.max(8, least - stem.length), most - stem.length)
  return stem + Array.from({ length: places }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}
