import { z } from 'zod'

const milliseconds = z.number().min(0).max(3_600_000)

const rateLimit = z.strictObject({
  kind: z.enum(['sliding-log', 'fixed-window', 'token-bucket']),
  limit: z.int().min(1).max(10_000_000),
  windowMs: z.number().min(1).max(86_400_000),
  /** Each operation for itself, or all that the rule covers together. */
  scope: z.enum(['operation', 'all']).default('operation'),
  /** Whether the refusal carries `Retry-After`. */
  retryAfter: z.boolean().default(true),
})

/** One rule of `POST /_emulator/faults`. */
const rule = z.strictObject({
  /** Name of an operation (its path without the leading slash), or `*`. */
  operation: z.string().min(1),
  /** Parameters a call must have, as text, for the rule to apply. */
  match: z.record(z.string(), z.string()).optional(),
  /** Time that passes before the call has its effect. Rules that match add up. */
  latencyMs: milliseconds.optional(),
  /** Up to this much more latency, at random. */
  jitterMs: milliseconds.optional(),
  /** The call waits, before it has its effect, until the rules are cleared. */
  hold: z.literal(true).optional(),
  /** Share of the matching calls that fail; every one by default. */
  errorRate: z.number().min(0).max(1).optional(),
  /** Business code of the failure; with `rateLimit`, like the four below, of calls over the limit. */
  code: z.int().optional(),
  message: z.string().optional(),
  /** Default 200 with `code` or `body`, else 429 with `retryAfter` or over a limit, else 500. */
  httpStatus: z.int().min(200).max(599).optional(),
  /** `Retry-After` of the failure, in seconds. */
  retryAfter: z.number().min(0).optional(),
  /** Body that stands in for the envelope, as it is. */
  body: z.string().optional(),
  /** The connection is reset before the call has any effect. */
  reset: z.literal(true).optional(),
  /** The call has its effect, then the connection is destroyed. */
  loseAnswer: z.literal(true).optional(),
  /**
   * After this many times the rule is gone: failures for a rule that fails calls, refusals for one that
   * limits them, calls for one that only delays or holds them.
   */
  times: z.int().min(1).optional(),
  rateLimit: rateLimit.optional(),
})

export type FaultRule = z.output<typeof rule>

/** A rule that does something to the calls that it is for. */
export const faultRule = rule.refine(
  ({ latencyMs, jitterMs, hold, rateLimit, ...given }) =>
    isFailing(given) || [latencyMs, jitterMs, hold, rateLimit].some(effect => effect !== undefined),
  'must delay, hold, fail or limit calls',
)

/** What the rules do to one call. */
interface FaultVerdict {
  latencyMs: number
  /** Resolves when the call may go on, if a rule holds it. */
  held?: Promise<void>
  /** The rule that makes the call fail. */
  failure?: FaultRule
  /** The call is over the limit of this rule. */
  refusal?: { rule: FaultRule; retryAfterMs: number | undefined }
}

interface ActiveRule {
  rule: FaultRule
  left: number
  limits: Map<string, RateLimit>
}

/** The faults in force. */
export class Faults {
  #active: ActiveRule[] = []
  #cleared = Promise.withResolvers<void>()

  add(rules: FaultRule[]): void {
    for (const rule of rules) {
      this.#active.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY, limits: new Map() })
    }
  }

  /** The rules still in force; `times` is what is left of it. */
  list(): FaultRule[] {
    return this.#active.map(({ rule, left }) => (Number.isFinite(left) ? { ...rule, times: left } : rule))
  }

  clear(): void {
    this.#active = []
    this.#cleared.resolve()
    this.#cleared = Promise.withResolvers()
  }

  /**
   * Applies the rules, in the order in which they came, to one call at time `now` (milliseconds). The first
   * refusal or failure decides; the latencies of all rules before it, and its own, add up.
   */
  judge(operation: string, parameters: ReadonlyMap<string, unknown>, now: number): FaultVerdict {
    const verdict: FaultVerdict = { latencyMs: 0 }
    for (const active of this.#active) {
      const { rule } = active
      if (!matches(rule, operation, parameters)) continue
      verdict.latencyMs += (rule.latencyMs ?? 0) + Math.random() * (rule.jitterMs ?? 0)
      if (rule.hold) verdict.held = this.#cleared.promise
      const fails = isFailing(rule)
      if (rule.rateLimit === undefined && !fails) this.#spend(active)
      if (rule.rateLimit !== undefined) {
        const wait = takeFrom(active, rule.rateLimit, operation, now)
        if (wait > 0) {
          this.#spend(active)
          return { ...verdict, refusal: { rule, retryAfterMs: rule.rateLimit.retryAfter ? wait : undefined } }
        }
      }
      if (fails && Math.random() < (rule.errorRate ?? 1)) {
        this.#spend(active)
        return { ...verdict, failure: rule }
      }
    }
    return verdict
  }

  #spend(active: ActiveRule): void {
    active.left -= 1
    if (active.left <= 0) this.#active = this.#active.filter(other => other !== active)
  }
}

function matches(rule: FaultRule, operation: string, parameters: ReadonlyMap<string, unknown>): boolean {
  if (rule.operation !== '*' && rule.operation !== operation) return false
  return Object.entries(rule.match ?? {}).every(([name, value]) => parameters.get(name) === value)
}

/** Whether calls fail by the rule that are within its limit, if it has one. */
function isFailing({ rateLimit, errorRate, reset, loseAnswer, ...answer }: FaultRule): boolean {
  const { code, httpStatus, body, retryAfter } = answer
  const answers = rateLimit === undefined ? [code, httpStatus, body, retryAfter] : []
  return [errorRate, reset, loseAnswer, ...answers].some(sign => sign !== undefined)
}

function takeFrom(
  active: ActiveRule,
  { kind, limit, windowMs, scope }: NonNullable<FaultRule['rateLimit']>,
  operation: string,
  now: number,
): number {
  const key = scope === 'all' ? '*' : operation
  let state = active.limits.get(key)
  if (state === undefined) {
    state = createRateLimit(kind, limit, windowMs)
    active.limits.set(key, state)
  }
  return state.take(now)
}

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
