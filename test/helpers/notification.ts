import { createHash } from 'node:crypto'

export const APP_ID = 'test0001'
export const APP_SECRET = 'a-secret-that-nobody-else-knows'

export type Fields = Record<string, string>

/** The seven names of section 6. */
export const NAMES = [
  'appid',
  'outer_trade_no',
  'outer_refund_no',
  'refund_amount',
  'trade_no',
  'timestamp',
  'sign',
] as const

/** Signs as the notes say, apart from the program's own code. */
export function signed(fields: Fields, options: { secret?: string; algorithm?: string } = {}): Fields {
  const { secret = APP_SECRET, algorithm = 'sha256' } = options
  const text = Object.entries({ ...fields, appsecret: secret })
    .filter(([name, value]) => name !== 'sign' && value.trim() !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value.trim()}`)
    .join('&')
  return { ...fields, sign: createHash(algorithm).update(text).digest('hex') }
}

/** What a notification says, without its signature. @param now milliseconds since 1970 */
export function fieldsOf(number: number | string, now: number): Fields {
  return {
    appid: APP_ID,
    outer_trade_no: `${APP_ID}-trade/${number}`,
    outer_refund_no: `${APP_ID}-refund/${number}`,
    refund_amount: '12.50',
    trade_no: '2026112100000001',
    timestamp: String(Math.floor(now / 1000)),
  }
}

export const encode = (fields: Fields) => new URLSearchParams(fields).toString()

export const without = (fields: Fields, name: string) =>
  Object.fromEntries(Object.entries(fields).filter(([other]) => other !== name))

/** Every form that differs in one bit. */
export function* flipped(form: string): Generator<Buffer> {
  for (let bit = 0; bit < form.length * 8; bit++) {
    const bytes = Buffer.from(form)
    bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
    yield bytes
  }
}

/** Letters of percent escapes: their case does not change what is said. */
export const escapeLetters = (form: string) =>
  [...form.matchAll(/%([0-9A-F]{2})/g)].flatMap(([, hex]) => (hex as string).match(/[A-F]/g) ?? []).length
