/** What has been learnt of a limit that nobody told, or told too high. Times are the store's milliseconds since 1970. */
export interface LearntRate {
  /** Calls per second that are let go, of all processes together; headroom is in it already. */
  ratePerSecond: number
  /** The rate at which calls were last refused; null while it is searched, or where the rate is as it was set. */
  ceiling: number | null
  /** When it was last lowered, null if never: refusals of calls sent before are not counted again. */
  loweredAtMs: number | null
  /** When it was last changed. */
  changedAtMs: number
  /** Slots that had ever been reserved by then. */
  leasedAtChange: number
}

/** What the present rate turned out to be. Times as in {@link LearntRate}. */
export type RateEvent =
  /** A call was refused for coming too fast. `acceptedAtMs`: when the last accepted call was sent, null if none ever was. */
  | { kind: 'refused'; sentAtMs: number; acceptedAtMs: number | null }
  /** All slots were used since then, so that it is known to be permitted and a higher one is wanted. */
  | { kind: 'used'; sinceMs: number }

interface StoreMoment {
  nowMs: number
  /** Slots ever reserved. */
  leased: number
}

/** Calls per second before anything is known. */
const START_RATE = 5
/** A platform that permits less has to be given by its figure. */
const LOWEST_RATE = 0.1
/** While it is searched, the rate grows by this factor in a second … */
const GROWTH = 1.25
/** … or in so many calls, if that takes longer. */
const CALLS_PER_GROWTH = 4
/** What is left of the rate after a refusal … */
const LOWERED = 0.85
/** … and when one lowering was not enough: refused again so soon after. */
const LOWERED_AGAIN = 0.6
export const AGAIN_WITHIN_MS = 12_000
/** For so long refusals still tell of the rate before: of slots that were reserved at it, and of what the platform counts. */
const SETTLING_MS = 1000
/** The ceiling is reached again after this long … */
const RETURN_MS = 45_000
/** … or so many calls, if that takes longer: hence one call in so many is refused, or fewer. */
const RETURN_CALLS = 180
/** … but no longer than this: after an incident that left next to nothing, the rate is back within minutes. */
const LONGEST_RETURN_MS = 180_000
/** So far above the ceiling it is none any more. */
const ABANDONED = 1.4
/** Changed later than now by more than this: the store's clock was put back. */
const CLOCK_PUT_BACK_MS = 5000
/** A change below this share is not worth a write: the next one makes up for it. */
const LEAST_GROWTH = 0.005

/** Where learning begins. */
export function initialRate({ nowMs, leased }: StoreMoment): LearntRate {
  return {
    ratePerSecond: START_RATE,
    ceiling: null,
    loweredAtMs: null,
    changedAtMs: nowMs,
    leasedAtChange: leased,
  }
}

/** A rate that was set, and that nothing is known against. */
export function rateAsSet(setRate: number, moment: StoreMoment): LearntRate {
  return { ...initialRate(moment), ratePerSecond: setRate }
}

/**
 * What is known after an event. The same object: nothing new.
 * @param setRate calls per second that are never exceeded, and that it returns to
 */
export function learn(
  learnt: LearntRate,
  event: RateEvent,
  now: StoreMoment,
  setRate = Number.POSITIVE_INFINITY,
): LearntRate {
  const isFuture = learnt.changedAtMs > now.nowMs + CLOCK_PUT_BACK_MS
  const known = isFuture ? { ...learnt, loweredAtMs: null, changedAtMs: now.nowMs } : learnt
  return event.kind === 'refused' ? lowered(known, event, now) : raised(known, event.sinceMs, now, setRate)
}

function lowered(
  learnt: LearntRate,
  refusal: { sentAtMs: number; acceptedAtMs: number | null },
  now: StoreMoment,
): LearntRate {
  const { ratePerSecond, loweredAtMs } = learnt
  let left = LOWERED
  if (loweredAtMs !== null) {
    // Sent at the rate before, or to a platform that accepts nothing at all: that says nothing of the present rate.
    const settledAtMs = loweredAtMs + SETTLING_MS
    if (refusal.sentAtMs < settledAtMs || (refusal.acceptedAtMs ?? 0) < loweredAtMs) return learnt
    if (refusal.sentAtMs - loweredAtMs < AGAIN_WITHIN_MS) left = LOWERED_AGAIN
  }
  return {
    ratePerSecond: Math.max(LOWEST_RATE, ratePerSecond * left),
    ceiling: ratePerSecond,
    loweredAtMs: now.nowMs,
    changedAtMs: now.nowMs,
    leasedAtChange: now.leased,
  }
}

function raised(learnt: LearntRate, sinceMs: number, now: StoreMoment, setRate: number): LearntRate {
  const ms = now.nowMs - Math.max(sinceMs, learnt.changedAtMs)
  const rate =
    learnt.ceiling === null
      ? searched(learnt.ratePerSecond, ms)
      : curve(learnt.ratePerSecond, learnt.ceiling, ms)
  if (rate >= setRate) {
    if (learnt.ratePerSecond === setRate) return learnt
    return { ...learnt, ...rateAsSet(setRate, now), loweredAtMs: learnt.loweredAtMs }
  }
  if (rate < learnt.ratePerSecond * (1 + LEAST_GROWTH)) return learnt
  const ceiling = learnt.ceiling !== null && rate > learnt.ceiling * ABANDONED ? null : learnt.ceiling
  return { ...learnt, ratePerSecond: rate, ceiling, changedAtMs: now.nowMs, leasedAtChange: now.leased }
}

function searched(rate: number, ms: number): number {
  return rate * GROWTH ** Math.min(ms / 1000, (rate * ms) / 1000 / CALLS_PER_GROWTH)
}

/**
 * The rate after `ms` milliseconds on a cubic that is flat at the ceiling: quickly back to just below it, long there, and
 * ever faster away from it once it turns out to be none.
 */
function curve(rate: number, ceiling: number, ms: number): number {
  const returnMs = Math.min(LONGEST_RETURN_MS, Math.max(RETURN_MS, (RETURN_CALLS * 1000) / ceiling))
  const at = Math.cbrt((rate / ceiling - 1) / (1 - LOWERED))
  return ceiling * (1 + (1 - LOWERED) * (at + ms / returnMs) ** 3)
}
