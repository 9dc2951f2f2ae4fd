/** One limit on calls. Refused calls do not count against it. */
export interface RateLimit {
  /** Takes one call at `now` (milliseconds): 0 when it may pass, else the milliseconds until one may. */
  take(now: number): number
}

export type RateLimitKind = 'sliding-log' | 'fixed-window' | 'token-bucket'

/** A limit of `limit` calls in `windowMs` milliseconds, counted in one of three ways. */
export function createRateLimit(kind: RateLimitKind, limit: number, windowMs: number): RateLimit {
  if (kind === 'sliding-log') return slidingLog(limit, windowMs)
  return kind === 'fixed-window' ? fixedWindow(limit, windowMs) : tokenBucket(limit, windowMs)
}

/** At most `limit` calls in any stretch of `windowMs`; `history` holds the times of calls already counted. */
export function slidingLog(limit: number, windowMs: number, history: number[] = []): RateLimit {
  const ring = history.slice(-limit)
  let oldest = 0
  return {
    take(now) {
      if (ring.length < limit) {
        ring.push(now)
        return 0
      }
      const wait = (ring[oldest] ?? 0) + windowMs - now
      if (wait > 0) return wait
      ring[oldest] = now
      oldest = (oldest + 1) % limit
      return 0
    },
  }
}

/** At most `limit` calls in each window; the windows are aligned to the clock. */
function fixedWindow(limit: number, windowMs: number): RateLimit {
  let window = Number.NaN
  let count = 0
  return {
    take(now) {
      const current = Math.floor(now / windowMs)
      if (current !== window) {
        window = current
        count = 0
      }
      if (count >= limit) return (current + 1) * windowMs - now
      count += 1
      return 0
    },
  }
}

/** A bucket of `limit` tokens, full at first, that refills evenly with `limit` tokens per `windowMs`. */
function tokenBucket(limit: number, windowMs: number): RateLimit {
  // Counted in units of which a millisecond brings `limit` and a call costs `windowMs`: whole numbers stay exact.
  const full = windowMs * limit
  let level = full
  let last = Number.NaN
  return {
    take(now) {
      if (now > last) level = Math.min(full, level + (now - last) * limit)
      last = now
      if (level < windowMs) return Math.ceil((windowMs - level) / limit)
      level -= windowMs
      return 0
    },
  }
}
