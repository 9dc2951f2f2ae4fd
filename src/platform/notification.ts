import { timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { fitsNotification } from './fields.ts'
import { type SignAlgorithm, sign } from './request.ts'

/** Where the platform sends its notifications. */
export const NOTIFICATION_PATH = '/notifications/refund'
/** More than a form with the longest permitted values needs, every byte percent-encoded. */
export const MAX_FORM_BYTES = 8 * 1024
/** Section 6 names seven; the platform may add some. */
const MAX_FIELDS = 16
/** Sections 6 and 8: a deviation of more than 5 minutes is rejected. */
const TIMESTAMP_TOLERANCE_MS = 5 * 60_000

/** What form serializers emit: visible ASCII characters, everything else percent-encoded. */
const FORM = /^[\x21-\x7e]+$/
const NAME = /^[a-z][a-z0-9_]*$/i

const fields = z.object({
  appid: z.string(),
  outer_trade_no: z.string().min(2).max(50),
  outer_refund_no: z.string().min(2).max(50),
  refund_amount: z.string().regex(/^\d{1,8}(\.\d{1,8})?$/),
  trade_no: z.string().max(50),
  timestamp: z.string().regex(/^\d{1,10}$/),
  sign: z.string(),
})

/** The platform's statement that a refund was completed (section 6); the amount is the decimal text as sent. */
export type RefundNotification = Pick<
  z.output<typeof fields>,
  'outer_trade_no' | 'outer_refund_no' | 'refund_amount' | 'trade_no'
>

/**
 * - `malformed`: not a form, or one with a field that is repeated or of a wrong shape, or of the seven missing or empty
 * - `wrong_application`: meant for another application
 * - `wrong_signature`: not from the platform, or altered on the way
 * - `wrong_timestamp`: more than 5 minutes old, or from the future
 */
export type NotificationFlaw = 'malformed' | 'wrong_application' | 'wrong_signature' | 'wrong_timestamp'

/**
 * Verifies that the body of a request is a refund notification of the platform (section 6), and reads it. Within 5 minutes a
 * copy of a notification passes as well: a caller that acts on one has to recognise repeats.
 * @param form the body as received, `application/x-www-form-urlencoded`
 * @param options.now milliseconds since 1970
 */
export function verifyNotification(
  form: string | Uint8Array,
  options: { appId: string; appSecret: string; signAlgorithm: SignAlgorithm; now: number },
): { ok: true; notification: RefundNotification } | { ok: false; reason: NotificationFlaw } {
  const received = parseForm(typeof form === 'string' ? form : Buffer.from(form).toString('latin1'))
  const parsed = fields.safeParse(received)
  if (received === null || !parsed.success) return { ok: false, reason: 'malformed' }
  const { appid, timestamp, sign: signature, ...notification } = parsed.data
  if (appid !== options.appId) return { ok: false, reason: 'wrong_application' }

  const { sign: _, ...signed } = received
  const expected = Buffer.from(sign(signed, options.appSecret, options.signAlgorithm))
  const given = Buffer.from(signature)
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    return { ok: false, reason: 'wrong_signature' }
  if (Math.abs(options.now - Number(timestamp) * 1000) > TIMESTAMP_TOLERANCE_MS)
    return { ok: false, reason: 'wrong_timestamp' }
  return { ok: true, notification }
}

/** The decoded fields that have a value; null unless every one is well formed and occurs once, whatever its letter case. */
function parseForm(text: string): Record<string, string> | null {
  if (text.length > MAX_FORM_BYTES || !FORM.test(text)) return null
  const pairs = text.split('&', MAX_FIELDS + 1)
  if (pairs.length > MAX_FIELDS) return null
  // The secret is signed under this name: a field of that name would pass unsigned.
  const names = new Set(['appsecret'])
  const entries: [string, string][] = []
  for (const pair of pairs) {
    const [name, value, ...more] = pair.split('=', 3).map(decode)
    if (!name || value === undefined || value === null || more.length > 0) return null
    if (!NAME.test(name) || names.has(name.toLowerCase())) return null
    if (value !== value.trim() || !fitsNotification(value)) return null
    names.add(name.toLowerCase())
    // A field that the platform adds may be without a value. It is not signed then, and says nothing.
    if (value !== '') entries.push([name, value])
  }
  return Object.fromEntries(entries)
}

/** Null for percent signs that do not encode UTF-8. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}
