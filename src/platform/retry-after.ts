/** Longer advice is cut: a wrong header must not silence dirsync for days, and asking once an hour harms nobody. */
const LONGEST_MS = 3_600_000

/**
 * Milliseconds that a `Retry-After` header asks to wait: seconds, or an HTTP date, which is compared with the answer's
 * own `Date` so that our clock does not matter. Undefined when there is none that can be read.
 */
export function retryAfterMs(
  header: string | undefined,
  dateHeader: string | undefined,
  now: number,
): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, LONGEST_MS)
  const until = Date.parse(text)
  if (Number.isNaN(until)) return undefined
  const serverNow = Date.parse(dateHeader ?? '')
  const wait = until - (Number.isNaN(serverNow) ? now : serverNow)
  return Math.min(Math.max(wait, 0), LONGEST_MS)
}
